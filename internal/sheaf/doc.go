// Package sheaf is the vocabulary of the service: its nouns, their limits, the errors that a rule
// may return, and the JSON form of every record.
//
// It imports only the standard library and does nothing by itself: it does not store, listen or
// read the clock.
package sheaf
