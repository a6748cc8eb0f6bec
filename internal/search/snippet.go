package search

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"sheaf.dev/internal/sheaf"
)

const (
	// leadIn is the largest number of characters before the first word of a snippet.
	leadIn = 60
	// cutOff marks the ends of a snippet where text was cut off.
	cutOff = "…"
)

// folding is a text and its folded form.
type folding struct{ text, folded string }

// snippet returns a piece of the text that contains most of the words, or of the first such text.
// It also returns where the words are in the piece, as start and length in code points. White space
// becomes one space.
func snippet(words []string, texts ...folding) (string, [][2]int) {
	best, most := folding{}, -1
	for _, t := range texts {
		if n := distinct(t.folded, words); n > most && strings.TrimSpace(t.folded) != "" {
			best, most = t, n
		}
	}
	first := len(best.folded)
	for _, w := range words {
		if i := strings.Index(best.folded, w); i >= 0 {
			first = min(first, i)
		}
	}
	if first == len(best.folded) {
		first = 0
	}
	p := pieceAt(best.text, first)
	return p.text(), p.ranges(words)
}

// distinct returns how many of the words the folded text contains.
func distinct(folded string, words []string) (n int) {
	for _, w := range words {
		if strings.Contains(folded, w) {
			n++
		}
	}
	return n
}

// shown is one letter of a snippet.
type shown struct {
	text, folded string
	runes        int
}

// piece is a run of consecutive letters of a text.
type piece struct {
	letters       []shown
	before, after bool // text was cut off there
}

// pieceAt returns the piece that begins shortly before byte `first` of the folded text.
func pieceAt(text string, first int) (p piece) {
	begin, lead, runes := leadTo(text, first)
	p.before = begin > 0
	p.letters = make([]shown, 0, sheaf.MaxSnippet)
	eachLetter(text[begin:], func(start, end int, folded string) bool {
		one := shown{text[begin+start : begin+end], folded, runesOf(text[begin+start:begin+end], folded)}
		if folded == " " {
			one.text = " "
		}
		if len(p.letters) >= lead {
			// The cut-off marks at both ends take one character each.
			if p.after = runes+one.runes > sheaf.MaxSnippet-2; p.after {
				return false
			}
			runes += one.runes
		}
		p.letters = append(p.letters, one)
		return true
	})
	p.trim(lead)
	return p
}

// leadTo returns where a piece begins so that byte `first` of the folded text is in view, and how
// many letters and characters come before that byte. It keeps only positions on the way, because
// the text may be long.
func leadTo(text string, first int) (begin, letters, runes int) {
	from, at := skipTo(text, first)
	var passed [leadIn]struct{ start, runes int } // the last letters; each has at least one character
	n := 0
	begin = from
	eachLetter(text[from:], func(start, end int, folded string) bool {
		start, end = from+start, from+end
		begin = start
		if at += len(folded); at > first {
			return false
		}
		passed[n%leadIn] = struct{ start, runes int }{start, runesOf(text[start:end], folded)}
		n, begin = n+1, end
		return true
	})
	for letters < min(n, leadIn) {
		last := passed[(n-1-letters)%leadIn]
		if runes+last.runes > leadIn {
			break
		}
		begin, letters, runes = last.start, letters+1, runes+last.runes
	}
	return begin, letters, runes
}

// skipBytes is the length of the stretches that skipTo folds at once. It is more than a snippet
// shows before a hit.
const skipBytes = 4096

// skipTo returns a position in the text where a letter begins, and its position in the folded text.
// The position is not after `first`, and at least one stretch before it if the text has that much.
// Folding whole stretches is much faster than folding letter by letter.
func skipTo(text string, first int) (from, at int) {
	end := letterAt(text, skipBytes)
	passed := len(Fold(text[:end]))
	for {
		next := letterAt(text, end+skipBytes)
		ahead := len(Fold(text[end:next]))
		if next == len(text) || at+passed+ahead > first {
			return from, at
		}
		from, at, end, passed = end, at+passed, next, ahead
	}
}

// letterAt returns the first position at or after `at` where a letter begins that is not white
// space, or the end of the text.
func letterAt(text string, at int) int {
	for ; at < len(text); at++ {
		if !utf8.RuneStart(text[at]) {
			continue
		}
		if r, _ := utf8.DecodeRuneInString(text[at:]); begins(r) && !sheaf.SeparatesWords(r) {
			return at
		}
	}
	return len(text)
}

// runesOf returns the number of characters that a letter takes in a snippet. White space takes one.
func runesOf(text, folded string) int {
	if len(text) == 1 || folded == " " {
		return 1
	}
	return utf8.RuneCountInString(text)
}

// trim removes white space from both ends. If text was cut off at the start, it also removes
// everything up to the first space, if that space is before the first hit.
func (p *piece) trim(lead int) {
	if p.before {
		for i := range p.letters[:lead] {
			if p.letters[i].folded == " " {
				p.letters = p.letters[i+1:]
				break
			}
		}
	}
	for len(p.letters) > 0 && p.letters[0].folded == " " {
		p.letters = p.letters[1:]
	}
	for n := len(p.letters); n > 0 && p.letters[n-1].folded == " "; n-- {
		p.letters = p.letters[:n-1]
	}
}

func (p *piece) text() string {
	var b strings.Builder
	if p.before {
		b.WriteString(cutOff)
	}
	for _, l := range p.letters {
		b.WriteString(l.text)
	}
	if p.after {
		b.WriteString(cutOff)
	}
	return b.String()
}

// ranges returns where the words are in the piece. Overlapping ranges are merged.
func (p *piece) ranges(words []string) [][2]int {
	var folded strings.Builder
	ends, points := make([]int, len(p.letters)), make([]int, len(p.letters)+1)
	if p.before {
		points[0] = utf8.RuneCountInString(cutOff)
	}
	for i, l := range p.letters {
		folded.WriteString(l.folded)
		ends[i], points[i+1] = folded.Len(), points[i]+l.runes
	}
	var found [][2]int // from and to, in code points
	text := folded.String()
	for _, w := range words {
		for from := 0; ; {
			i := strings.Index(text[from:], w)
			if i < 0 {
				break
			}
			start := from + i
			first, _ := slices.BinarySearch(ends, start+1)
			last, _ := slices.BinarySearch(ends, start+len(w))
			found = append(found, [2]int{points[first], points[last+1]})
			from = start + len(w)
		}
	}
	// Merge overlapping ranges, and convert each from start and end to start and length.
	slices.SortFunc(found, func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	var out [][2]int
	for _, f := range found {
		if n := len(out); n > 0 && f[0] < out[n-1][0]+out[n-1][1] {
			out[n-1][1] = max(out[n-1][1], f[1]-out[n-1][0])
			continue
		}
		out = append(out, [2]int{f[0], f[1] - f[0]})
	}
	return out
}
