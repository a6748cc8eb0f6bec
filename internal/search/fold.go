package search

import (
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// A letter is the smallest piece of a text that is folded by itself: a character with the combining
// accents after it, or a run of white space. Because letters are folded one by one, every position
// in the folded text maps back to a position in the original. Marking a hit in the original text
// needs this.

// Fold returns s in the form that search compares. It ignores case, how accents are composed (both
// as store.Fold does) and the width of characters. Each run of white space becomes one space.
//
// The result is the concatenation of the folded letters of s. Letters that are in no table are
// folded in runs, together with the few known letters between them. Folding them one at a time took
// seconds for a mebibyte.
func Fold(s string) string {
	if plain(s) {
		return foldPlain(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	// hard is the start of a run that is folded at once, or -1; easy counts the known letters at
	// its end.
	hard, easy := -1, 0
	for at := 0; at < len(s); {
		n, folded, known := nextLetter(s[at:])
		at += n
		switch {
		case hard < 0 && known:
			b.WriteString(folded)
		case hard < 0:
			hard, easy = at-n, 0
		case !known:
			easy = 0
		default:
			if easy++; easy == easyMost {
				b.WriteString(store.Fold(spaced(s[hard:at])))
				hard = -1
			}
		}
	}
	if hard >= 0 {
		b.WriteString(store.Fold(spaced(s[hard:])))
	}
	return b.String()
}

// easyMost is the number of consecutive letters from the tables that ends a run of unknown letters.
const easyMost = 64

// spaced returns s with every run of white space as one space and every character in its ordinary
// width.
func spaced(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	separated := false // the previous character was a space
	for _, r := range s {
		if sheaf.SeparatesWords(r) {
			if !separated {
				b.WriteByte(' ')
			}
			separated = true
			continue
		}
		separated = false
		if r < firstWide {
			b.WriteRune(r)
		} else {
			b.WriteRune(widthOf(r))
		}
	}
	return b.String()
}

// firstWide is the first character that may have a wide or narrow form.
const firstWide = 0x2000

// plain reports whether every byte is ASCII.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// foldPlain is Fold for ASCII, the common case.
func foldPlain(s string) string {
	out := make([]byte, 0, len(s))
	separated := false // the previous character was a space
	for i := range len(s) {
		c := plainFolds[s[i]&0x7F]
		if c == ' ' && separated {
			continue
		}
		out, separated = append(out, c), c == ' '
	}
	return string(out)
}

// plainFolds maps each ASCII character to its folded form. Characters that separate words map to a
// space.
var plainFolds = func() (table [utf8.RuneSelf]byte) {
	for c := range table {
		table[c] = foldedASCII[c][0]
		if sheaf.SeparatesWords(rune(c)) {
			table[c] = ' '
		}
	}
	return table
}()

// eachLetter calls each with the position and the folded form of every letter of s, until each
// returns false.
func eachLetter(s string, each func(start, end int, folded string) bool) {
	for start := 0; start < len(s); {
		end, folded, known := nextLetter(s[start:])
		if !known {
			folded = foldLetter(s[start : start+end])
		}
		if !each(start, start+end, folded) {
			return
		}
		start += end
	}
}

// nextLetter returns the length of the first letter of s. If a table has the letter, known is true
// and folded is its folded form.
func nextLetter(s string) (length int, folded string, known bool) {
	if c := s[0]; c > ' ' && c < 0x7F && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return 1, foldedASCII[c], true // the common case
	}
	r, size := utf8.DecodeRuneInString(s)
	if sheaf.SeparatesWords(r) {
		for size < len(s) {
			next, n := utf8.DecodeRuneInString(s[size:])
			if !sheaf.SeparatesWords(next) {
				break
			}
			size += n
		}
		return size, " ", true
	}
	one := size
	for size < len(s) {
		next, n := utf8.DecodeRuneInString(s[size:])
		if begins(next) {
			break
		}
		size += n
	}
	switch {
	case size > one:
		return size, "", false
	case r < knownRunes:
		return size, foldedRunes()[r], true
	case 0x3400 <= r && r < 0xA000, 0xAC00 <= r && r <= 0xD7A3:
		return size, s[:size], true // ideographs and Hangul syllables fold to themselves
	}
	return size, "", false
}

// begins reports whether r always begins a new letter: whether r never combines with the character
// before it.
func begins(r rune) bool {
	switch { // the common cases; 0x3099 and 0x309A are combining Kana marks
	case r < 0x300, 0x3041 <= r && r < 0x3099, 0x309B <= r && r < 0xA000, 0xAC00 <= r && r <= 0xD7A3:
		return true
	}
	var b [utf8.UTFMax]byte
	n := utf8.EncodeRune(b[:], widthOf(r))
	return norm.NFC.Properties(b[:n]).BoundaryBefore()
}

// widthOf returns r in its ordinary width.
func widthOf(r rune) rune {
	if wide := width.LookupRune(r).Folded(); wide != 0 {
		return wide
	}
	return r
}

func foldLetter(s string) string { return store.Fold(strings.Map(widthOf, s)) }

// foldedASCII maps each ASCII character to its folded form.
var foldedASCII = func() (table [utf8.RuneSelf]string) {
	for c := range table {
		table[c] = strings.ToLower(string(rune(c)))
	}
	return table
}()

// knownRunes is the end of the table of folded characters. The table covers the alphabets and Kana.
const knownRunes = 0x3400

// foldedRunes maps each character below knownRunes to its folded form.
var foldedRunes = sync.OnceValue(func() *[knownRunes]string {
	var table [knownRunes]string
	for r := range rune(knownRunes) {
		table[r] = foldLetter(string(r))
	}
	return &table
})
