package store

import (
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// fold returns s as search and sorting by name see it: without regard to case
// and to how accents are composed. It is made here, so that both engines agree.
func fold(s string) string {
	if ascii(s) {
		return strings.ToLower(s)
	}
	return norm.NFC.String(cases.Fold().String(norm.NFD.String(s)))
}

// Fold returns s as names and addresses are compared.
func Fold(s string) string { return fold(s) }

func foldOpt(s *string) *string {
	if s == nil {
		return nil
	}
	f := fold(*s)
	return &f
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
