package sheaf

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of texts, in Unicode code points.
const (
	// MaxNumber limits the numbers in a file of records. JSON parsers read it exactly, and counting
	// on from it does not overflow.
	MaxNumber = 1<<53 - 1

	MaxName        = 200
	MaxDescription = 2000
	MaxIcon        = 100
	MaxQuery       = 200
	MaxKeyName     = 100
)

// MaxContent limits a document's text, in bytes.
const MaxContent = 1 << 20

// EmptySHA256 is the hash of the empty text, as records show it.
const EmptySHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// CheckName returns an error unless the text has 1 to max characters, and not only white space.
// `field` is its name in the error.
func CheckName(field, s string, max int) error {
	if strings.TrimFunc(s, unicode.IsSpace) == "" {
		return InvalidField(field, "%s must not be empty: give it 1 to %d characters", field, max)
	}
	return CheckLength(field, s, max)
}

// CheckLength returns an error if the text has more than max characters.
func CheckLength(field, s string, max int) error {
	if n := utf8.RuneCountInString(s); n > max {
		return InvalidField(field, "%s has %d characters, at most %d are allowed: shorten it", field, n, max)
	}
	return nil
}

// CheckContent returns an error unless s is a valid text of a document: UTF-8 without NUL, at most
// MaxContent bytes. `field` is its name in the error.
func CheckContent(field, s string) error {
	switch {
	case len(s) > MaxContent:
		return InvalidField(field, "%s has %d bytes, at most %d (1 MiB) are allowed: split it into several documents", field, len(s), MaxContent)
	case !utf8.ValidString(s):
		return InvalidField(field, "%s is not valid UTF-8: send it in that encoding", field)
	case strings.IndexByte(s, 0) >= 0:
		return InvalidField(field, "%s contains a NUL character: remove it", field)
	}
	return nil
}

// CheckColor returns an error unless s is #RRGGBB.
func CheckColor(s string) error { return checkColor("color", s) }

// checkColor is CheckColor for the field `field`.
func checkColor(field, s string) error {
	ok := len(s) == 7 && s[0] == '#'
	for i := 1; ok && i < len(s); i++ {
		c := s[i] | 0x20
		ok = '0' <= s[i] && s[i] <= '9' || 'a' <= c && c <= 'f'
	}
	if !ok {
		return InvalidField(field, "%s must be a hex color such as #6b7280, not %q", field, Clip(s))
	}
	return nil
}

// Clip shortens a text of a client, so that an error can repeat it.
func Clip(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}
