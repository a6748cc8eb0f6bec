package app

import "sheaf.dev/internal/sheaf"

// Put is the result of upserting a record by its external id. Looking for the record and writing it
// are one transaction: if several clients put the same one at once, one creates it and the others
// find it.
type Put[T any] struct {
	Record  T
	Created bool // it did not exist, not even in the trash
}

// checkPut returns an error unless the external id in the address is valid, and sets the field of
// the change to it. A body with another external id is refused: sent again, it would create another
// record.
func checkPut(externalID string, field *sheaf.Opt[string]) error {
	if field.Set && (field.Null || field.Value != externalID) {
		return sheaf.InvalidField("external_id", "external_id in the body must equal the one in the query, or be left out")
	}
	*field = sheaf.Some(externalID)
	return sheaf.CheckExternalID(externalID)
}

// externalIDTaken returns the refusal of an external id that another record of the same kind has.
func externalIDTaken(noun, externalID, holder string, unseen error) error {
	if unseen != nil {
		if sheaf.KindOf(unseen) != sheaf.NotFound {
			return unseen
		}
		return sheaf.Conflictf("external_id %q is taken: choose another external_id", sheaf.Clip(externalID))
	}
	return sheaf.Conflictf("external_id %q belongs to the %s %s: change that one, or choose another external_id", sheaf.Clip(externalID), noun, holder)
}

// nothingToMatch returns the refusal of an If-Match if the record does not exist.
func nothingToMatch(noun, externalID string) error {
	err := sheaf.Missing(noun)
	err.Text = noun + " not found: none has the external_id \"" + sheaf.Clip(externalID) + "\", and with If-Match none is made; leave If-Match out to make it"
	err.Person = ""
	return err
}
