package seal

// letterPlace is the place of what a mail to a person needs. queue is invitations, resets or notices, and id is unique
// in it.
func letterPlace(queue, id string) string { return "letters/" + queue + "/" + id }

// Letter seals what a mail to a person needs, until it is sent.
func (b *Box) Letter(queue, id string, letter []byte) []byte {
	return b.Seal(letter, letterPlace(queue, id))
}

// OpenLetter returns what Letter sealed.
func (b *Box) OpenLetter(queue, id string, sealed []byte) ([]byte, error) {
	return b.Open(sealed, letterPlace(queue, id))
}
