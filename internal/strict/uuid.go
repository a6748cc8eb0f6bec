package strict

// UUID reports whether s is a well-formed UUID, 8-4-4-4-12 hexadecimal digits in either case and of any version, and
// returns it in lower case. Braces, urn: and bare digits are not well-formed. It allocates only if s has a capital.
func UUID(s string) (string, bool) {
	if len(s) != 36 {
		return "", false
	}
	capitals := false
	for i := range len(s) {
		switch i {
		case 8, 13, 18, 23:
			if s[i] != '-' {
				return "", false
			}
		default:
			if !isHex(s[i]) {
				return "", false
			}
			capitals = capitals || s[i] < 'a' && s[i] > '9'
		}
	}
	if capitals {
		return lower(s), true
	}
	return s, true
}

// lower changes the letters of a well-formed UUID; digits and hyphens already have the bit.
func lower(s string) string {
	b := []byte(s)
	for i := range b {
		b[i] |= 0x20
	}
	return string(b)
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
