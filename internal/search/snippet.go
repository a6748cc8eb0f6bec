package search

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"sheaf.dev/internal/sheaf"
)

const (
	// leadIn is how many characters a snippet has before the first word at most.
	leadIn = 60
	// cutOff stands in a snippet for what was cut off.
	cutOff = "…"
)

// folding is a text with what Fold makes of it.
type folding struct{ text, folded string }

// snippet returns a piece of the text in which most of the words are, the first of those that have
// equally many, and where the words are in it, as start and length in code points. White space is
// one space in it.
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

// distinct counts the words that the folded text has.
func distinct(folded string, words []string) (n int) {
	for _, w := range words {
		if strings.Contains(folded, w) {
			n++
		}
	}
	return n
}

// shown is a letter as a snippet has it.
type shown struct {
	text, folded string
	runes        int
}

// piece is some letters of a text that follow each other.
type piece struct {
	letters       []shown
	before, after bool // something was cut off
}

// pieceAt returns the piece that begins a little before the byte of the folded text.
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
			// The marks at both ends take a character each.
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

// leadTo returns where in the text a piece begins of which the byte first of the folded text is to
// be seen, and how many letters and characters stand before that. Only places are kept on the way,
// which may be long.
func leadTo(text string, first int) (begin, letters, runes int) {
	from, at := skipTo(text, first)
	var passed [leadIn]struct{ start, runes int } // the last ones: each letter has a character or more
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

// skipBytes is how much of a text is passed over at once: enough for what stands before a hit.
const skipBytes = 4096

// skipTo returns a place of the text, and which byte of the folded text that is, where a letter begins:
// not behind first, and a stretch before it as far as there is one. It folds what it passes over in one
// go, which is much faster than letter by letter.
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

// letterAt returns the first place from a byte on at which a letter begins that is no white space, or
// the end of the text.
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

// runesOf returns how many characters a letter has in a snippet: white space is one.
func runesOf(text, folded string) int {
	if len(text) == 1 || folded == " " {
		return 1
	}
	return utf8.RuneCountInString(text)
}

// trim has the piece begin with a word where one begins before the first hit, and takes white space
// from both ends.
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

// ranges returns where the words are in the piece. Those that overlap are one.
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
	return merged(found)
}

// merged joins those that overlap, and turns each into its start and length.
func merged(found [][2]int) [][2]int {
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
