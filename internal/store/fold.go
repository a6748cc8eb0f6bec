package store

import (
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Fold returns s in the form in which names are searched and sorted: case and the composition of
// accents do not matter. It is computed here, not in SQL, so that both engines agree.
func Fold(s string) string {
	if ascii(s) {
		return strings.ToLower(s)
	}
	return norm.NFC.String(strings.Map(capitalCherokee, cases.Fold().String(norm.NFD.String(s))))
}

// capitalCherokee corrects package cases for Cherokee. There, Unicode folds small letters to
// capitals, because the small ones were added later; the package folds each of the two to the
// other.
func capitalCherokee(r rune) rune {
	switch {
	case 0xAB70 <= r && r <= 0xABBF:
		return r - 0xAB70 + 0x13A0
	case 0x13F8 <= r && r <= 0x13FD:
		return r - 8
	}
	return r
}

// foldOpt is Fold; nil stays nil.
func foldOpt(s *string) *string {
	if s == nil {
		return nil
	}
	f := Fold(*s)
	return &f
}

// ascii reports whether s has no byte beyond ASCII.
func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
