package seal

// The places of what a browser keeps while its person signs in at the provider.
const (
	providerSignInPlace  = "sign-in at the provider"
	providerBindingPlace = "binding to the provider"
)

// ProviderSignIn seals a sign-in that was begun at the provider.
func (b *Box) ProviderSignIn(plain []byte) []byte { return b.Seal(plain, providerSignInPlace) }

// OpenProviderSignIn returns what ProviderSignIn sealed.
func (b *Box) OpenProviderSignIn(sealed []byte) ([]byte, error) {
	return b.Open(sealed, providerSignInPlace)
}

// ProviderBinding seals an identity that waits for a password.
func (b *Box) ProviderBinding(plain []byte) []byte { return b.Seal(plain, providerBindingPlace) }

// OpenProviderBinding returns what ProviderBinding sealed.
func (b *Box) OpenProviderBinding(sealed []byte) ([]byte, error) {
	return b.Open(sealed, providerBindingPlace)
}
