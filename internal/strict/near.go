package strict

import "strings"

// sameLetters is the number of first letters that two names of a near miss have in common.
const sameLetters = 8

// Near returns the name of a field that was probably meant to be `name`, or "". Such a field has the same
// letters in another case or with other separators, begins with the same sameLetters letters, or differs
// in at most two letters. The field `name` itself does not count.
func (f *Fields) Near(name string) string {
	want := letters(name)
	for _, m := range f.object.members {
		sent := m.name.in(f.object.body, f.object.escaped)
		if len(sent) > 4*len(name) || string(sent) == name {
			continue
		}
		got := letters(string(sent))
		if got == want || len(want) >= sameLetters && strings.HasPrefix(got, want[:sameLetters]) || within(got, want, 2) {
			return string(sent)
		}
	}
	return ""
}

// letters returns the ASCII letters of a name in lower case.
func letters(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return -1
	}, name)
}

// within reports whether a becomes b by adding, removing or replacing at most `most` letters.
func within(a, b string, most int) bool {
	if a == b {
		return true
	}
	if most == 0 {
		return false
	}
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	switch {
	case len(a) == 0 || len(b) == 0:
		return len(a)+len(b) <= most
	default:
		return within(a[1:], b, most-1) || within(a, b[1:], most-1) || within(a[1:], b[1:], most-1)
	}
}
