package store

import (
	"testing"
	"unicode"
)

// D21: full folding as Unicode has it, so that whatever differs in case alone is the same.
func TestFold_IsFullUnicodeFolding(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"Straße": "strasse", "STRASSE": "strasse", "ẞ": "ss", "ΌΔΟΣ": "όδοσ", "όδος": "όδοσ", "ﬁ": "fi", "ŉ": "ʼn", "ᾳ": "αι", "ᾼ": "αι",
		"İ": "i\u0307", "ı": "ı", "K": "k", "ſ": "s", "e\u0301": "é", "É": "é", "Ꭰ": "Ꭰ", "ꭰ": "Ꭰ", "Ᏸ": "Ᏸ", "ᏸ": "Ᏸ", "aꮿB": "aᏯb", "𐐀": "𐐨",
	} {
		if got := Fold(s); got != want {
			t.Errorf("%q is folded to %q, want %q", s, got, want)
		}
	}
	letters := 0
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		if unicode.SimpleFold(r) == r {
			continue
		}
		letters++
		folded := Fold(string(r))
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			if got := Fold(string(other)); got != folded {
				t.Errorf("%U is folded to %q and %U to %q", r, folded, other, got)
			}
		}
		if again := Fold(folded); again != folded {
			t.Errorf("%U is folded to %q, and that to %q", r, folded, again)
		}
	}
	if letters < 2500 {
		t.Errorf("only %d letters were compared", letters)
	}
}
