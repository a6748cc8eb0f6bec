package app

import "sheaf.dev/internal/sheaf"

// Put is what became of a record that a client put by its external id. Looking for it and writing it
// are one transaction: of any number of clients that put the same one at once, one makes it and the
// others find it.
type Put[T any] struct {
	Record  T
	Created bool // it was not there, nor in the trash
}

// checkPut returns what is wrong with an external id in an address, and sets the field of the change
// to it. A body that names another one would make something else when it is sent again.
func checkPut(externalID string, field *sheaf.Opt[string]) error {
	if field.Set && (field.Null || field.Value != externalID) {
		return sheaf.InvalidField("external_id", "external_id in the body must be that of the address, or be left out")
	}
	*field = sheaf.Some(externalID)
	return sheaf.CheckExternalID(externalID)
}

// taken is the refusal of an external id that another record of its kind has.
func taken(noun, externalID, holder string) error {
	return sheaf.Conflictf("external_id %q is that of the %s %s: change that one, or choose another external_id", sheaf.Clip(externalID), noun, holder)
}

// nothingToMatch is the refusal of an If-Match where there is nothing that could match.
func nothingToMatch(noun, externalID string) error {
	err := sheaf.Missing(noun)
	err.Text = noun + " not found: none has the external_id \"" + sheaf.Clip(externalID) + "\", and with If-Match none is made; leave If-Match out to make it"
	err.Person = ""
	return err
}
