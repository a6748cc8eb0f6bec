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

// A letter is the smallest piece of a text that is folded by itself: a character with the accents
// behind it, or a run of white space. So every piece of a folded text leads back to the letters
// that it was made of, which is what marking a hit in a text as it was written needs.

// Fold returns s as search sees it: without regard to case, to how accents are composed and to the
// width of a character (as store.Fold, and width), with one space for each run of white space.
//
// It is what the letters of s are folded to, one after the other. Those that no table knows are folded
// many at once, with the few others between them: each by itself, a mebibyte of them took seconds.
func Fold(s string) string {
	if plain(s) {
		return foldPlain(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	hard, easy := -1, 0 // where letters begin that are folded at once, and how many known ones are their last
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

// easyMost is after how many letters that the tables know the others are folded.
const easyMost = 64

// spaced returns s with one space for each run of white space, and all else in its ordinary width.
func spaced(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	separated := false // the one before was a space
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

// firstWide is from which character on some have another width than the ordinary one.
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

// foldPlain is Fold of ASCII, which most texts are.
func foldPlain(s string) string {
	out := make([]byte, 0, len(s))
	separated := false // the one before was a space
	for i := range len(s) {
		c := plainFolds[s[i]&0x7F]
		if c == ' ' && separated {
			continue
		}
		out, separated = append(out, c), c == ' '
	}
	return string(out)
}

// plainFolds has what each ASCII character is folded to: whatever separates words is a space.
var plainFolds = func() (table [utf8.RuneSelf]byte) {
	for c := range table {
		table[c] = foldedASCII[c][0]
		if sheaf.SeparatesWords(rune(c)) {
			table[c] = ' '
		}
	}
	return table
}()

// eachLetter calls each for the letters of s, with where they lie in it, until each returns false.
func eachLetter(s string, each func(start, end int, folded string) bool) {
	for start := 0; start < len(s); {
		end, folded := letter(s[start:])
		if !each(start, start+end, folded) {
			return
		}
		start += end
	}
}

// letter returns the length of the first letter of s, and what it is folded to.
func letter(s string) (length int, folded string) {
	length, folded, known := nextLetter(s)
	if !known {
		folded = foldLetter(s[:length])
	}
	return length, folded
}

// nextLetter is letter, and leaves those that no table knows to be folded.
func nextLetter(s string) (length int, folded string, known bool) {
	if c := s[0]; c > ' ' && c < 0x7F && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return 1, foldedASCII[c], true // as most are
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
		return size, s[:size], true // ideographs and syllables of Hangul are never anything else
	}
	return size, "", false
}

// begins reports whether a letter begins with r, whatever stands before it: whether it never joins
// the character before it.
func begins(r rune) bool {
	switch { // as most are: the signs of Kana that are joined are 0x3099 and 0x309A
	case r < 0x300, 0x3041 <= r && r < 0x3099, 0x309B <= r && r < 0xA000, 0xAC00 <= r && r <= 0xD7A3:
		return true
	}
	var b [utf8.UTFMax]byte
	n := utf8.EncodeRune(b[:], widthOf(r))
	return norm.NFC.Properties(b[:n]).BoundaryBefore()
}

// widthOf returns the character of ordinary width that stands for r.
func widthOf(r rune) rune {
	if wide := width.LookupRune(r).Folded(); wide != 0 {
		return wide
	}
	return r
}

func foldLetter(s string) string { return store.Fold(strings.Map(widthOf, s)) }

// foldedASCII has what each ASCII character is folded to.
var foldedASCII = func() (table [utf8.RuneSelf]string) {
	for c := range table {
		table[c] = strings.ToLower(string(rune(c)))
	}
	return table
}()

// knownRunes is up to which character the table of folds reaches: the alphabets, and Kana.
const knownRunes = 0x3400

// foldedRunes has what each of the first characters is folded to.
var foldedRunes = sync.OnceValue(func() *[knownRunes]string {
	var table [knownRunes]string
	for r := range rune(knownRunes) {
		table[r] = foldLetter(string(r))
	}
	return &table
})
