// Package sheaf is the vocabulary of the service: its nouns, their bounds, the errors a rule may
// return and the JSON form in which every record is shown.
//
// It imports the standard library alone and does nothing by itself: it neither stores, nor listens,
// nor reads the clock.
package sheaf
