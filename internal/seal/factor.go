package seal

// The places of a person's sealed values.
func factorPlace(user string) string { return "users/" + user + "/factor" }
func newFactorPlace(user, signIn string) string {
	return "users/" + user + "/new factor/" + signIn
}

// FactorSecret seals the secret of a person's second factor.
func (b *Box) FactorSecret(user string, secret []byte) []byte {
	return b.Seal(secret, factorPlace(user))
}

// OpenFactorSecret returns what FactorSecret sealed.
func (b *Box) OpenFactorSecret(user string, sealed []byte) ([]byte, error) {
	return b.Open(sealed, factorPlace(user))
}

// NewFactorSecret seals a secret that is offered to a person and not stored. It opens only for the same sign-in.
func (b *Box) NewFactorSecret(user, signIn string, secret []byte) []byte {
	return b.Seal(secret, newFactorPlace(user, signIn))
}

// OpenNewFactorSecret returns what NewFactorSecret sealed.
func (b *Box) OpenNewFactorSecret(user, signIn string, sealed []byte) ([]byte, error) {
	return b.Open(sealed, newFactorPlace(user, signIn))
}
