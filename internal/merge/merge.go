// Package merge merges two changes of one text, line by line. It is pure: it reads and keeps nothing.
package merge

import (
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// MaxLines bounds texts that are compared. If a text has more lines and both sides changed it, the
// whole text is one conflict.
const MaxLines = 20_000

// Rule says why the changes of both sides conflict.
type Rule int

// The rules. If several apply to a Hunk, it has the first.
const (
	SameLines Rule = iota + 1 // both sides changed the same lines
	Adjoining                 // one side changed or added lines beside those of the other
	SamePlace                 // both sides added lines at one place
	Repeated                  // lines repeat, so a change may be at several places, one of them beside the other side's change
	TooLong                   // a text has more than MaxLines lines
)

// Piece is a run of whole lines of a text. Line is the number of its first line, from 1. If the
// piece has no lines, Line is the line before which it lies.
type Piece struct {
	Line, Lines int
	Text        string
}

// Hunk is a place at which both sides changed the text differently.
type Hunk struct {
	Base, Ours, Theirs Piece
	Rule               Rule
}

// Lines joins what `ours` and `theirs` changed in `base`. It returns the merged text, or the places
// at which the changes conflict, in their order. A line includes its line ending, and a last line
// may have none, so both are kept as they are.
//
//	both sides made the same change                          it counts once
//	only one side changed lines, and the other none beside   the change is taken
//	everything else                                          a Hunk
//
// Lines is symmetric: with the sides exchanged the merged text is the same. Its cost is bounded by
// the length of the texts. A side whose lines differ at more than about a hundred places is read as
// one replacement of everything between the first and the last fifty.
func Lines(base, ours, theirs string) (merged string, conflicts []Hunk) {
	switch {
	case ours == theirs || theirs == base:
		return ours, nil
	case ours == base:
		return theirs, nil
	}
	var known lexicon
	b, o, t := known.cut(base), known.cut(ours), known.cut(theirs)
	if b == nil || o == nil || t == nil {
		return "", []Hunk{{Base: whole(base), Ours: whole(ours), Theirs: whole(theirs), Rule: TooLong}}
	}
	m := merger{base: b, sides: [2]side{{text: o, changes: changes(b, o)}, {text: t, changes: changes(b, t)}}}
	return m.run()
}

func whole(text string) Piece { return Piece{Line: 1, Lines: countLines(text), Text: text} }

func countLines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// lexicon numbers lines: equal lines have equal numbers. So comparing two lines costs the same
// however long they are.
type lexicon struct {
	numbers map[string]rune
}

// lines is a text cut into lines.
type lines struct {
	text    string
	starts  []int  // offset of each line, and the length of the text
	numbers []rune // of the lines in the lexicon
}

// cut cuts a text into lines, or returns nil if there are too many.
func (l *lexicon) cut(text string) *lines {
	n := countLines(text)
	if n > MaxLines {
		return nil
	}
	if l.numbers == nil {
		l.numbers = make(map[string]rune, n)
	}
	out := &lines{text: text, starts: make([]int, 0, n+1), numbers: make([]rune, 0, n)}
	for at := 0; at < len(text); {
		end := len(text)
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		number, found := l.numbers[text[at:end]]
		if !found {
			number = rune(len(l.numbers))
			l.numbers[text[at:end]] = number
		}
		out.starts, out.numbers = append(out.starts, at), append(out.numbers, number)
		at = end
	}
	out.starts = append(out.starts, len(text))
	return out
}

// piece returns the lines from `from` to before `to`, counted from 0.
func (l *lines) piece(from, to int) Piece {
	return Piece{Line: from + 1, Lines: to - from, Text: l.text[l.starts[from]:l.starts[to]]}
}

// diff is a replacement of the lines Start to End of the base by the lines ReplStart to ReplEnd of a
// side, counted from 0.
type diff = lcs.Diff

// change is a replacement of lines of the base by lines of a side.
type change struct {
	diff
	from, to int // lines of the base that the change may concern
}

// changes returns what differs, in order. Between two changes there is at least one equal line.
//
// If lines repeat, there may be several ways to read what changed. A change then concerns all lines
// beside it that another such way changes.
func changes(base, side *lines) []change {
	diffs := lcs.DiffRunes(base.numbers, side.numbers)
	settled := settledLines(base.numbers, side.numbers, diffs)
	out := make([]change, len(diffs))
	for i, d := range diffs {
		from, to := slide(base.numbers, side.numbers, d)
		for settled != nil && from > 0 && !settled[from-1] {
			from--
		}
		for settled != nil && to < len(settled) && !settled[to] {
			to++
		}
		out[i] = change{diff: d, from: from, to: to}
	}
	return out
}

// slide returns the lines of the base along which the change can slide: if the lines beside it are
// equal to those that it adds or removes, it may as well be further up or down.
func slide(base, side []rune, d diff) (from, to int) {
	up := max(slideUp(base, d.Start, d.End), slideUp(side, d.ReplStart, d.ReplEnd))
	down := max(slideDown(base, d.Start, d.End), slideDown(side, d.ReplStart, d.ReplEnd))
	return max(0, d.Start-up), min(len(base), d.End+down)
}

// slideUp returns by how many lines the run from `start` to before `end` can be moved up without
// changing the text that is left when it is removed. slideDown is the same downwards.
func slideUp(text []rune, start, end int) (n int) {
	for start < end && start-n > 0 && text[start-n-1] == text[end-n-1] {
		n++
	}
	return n
}

func slideDown(text []rune, start, end int) (n int) {
	for start < end && end+n < len(text) && text[start+n] == text[end+n] {
		n++
	}
	return n
}

type side struct {
	text    *lines
	changes []change // those not merged yet
	shift   int      // from a line of the base to the same line of the side, before the next change
}

// cluster is a set of changes that touch each other.
type cluster struct {
	from, to   int    // lines of the base that they may concern
	start, end int    // lines of the base that they replace, and those between
	count      [2]int // changes of each side
}

type merger struct {
	base      *lines
	sides     [2]side // ours and theirs
	done      int     // lines of the base that are merged
	out       strings.Builder
	conflicts []Hunk
}

func (m *merger) run() (string, []Hunk) {
	for len(m.sides[0].changes)+len(m.sides[1].changes) > 0 {
		m.settle(m.next())
	}
	if m.conflicts != nil {
		return "", m.conflicts
	}
	m.out.WriteString(m.base.piece(m.done, len(m.base.numbers)).Text)
	return m.out.String(), nil
}

// next returns the first changes that are left and touch each other: two changes touch if the lines
// that they may concern overlap or adjoin.
func (m *merger) next() (c cluster) {
	for {
		i, found := m.first(c)
		if !found {
			return c
		}
		d := m.sides[i].changes[c.count[i]]
		if c.count == [2]int{} {
			c.from, c.start, c.to, c.end = d.from, d.Start, d.to, d.End
		} else {
			c.from, c.start = min(c.from, d.from), min(c.start, d.Start)
			c.to, c.end = max(c.to, d.to), max(c.end, d.End)
		}
		c.count[i]++
	}
}

// first returns the side whose next change begins first, if the change touches the cluster.
func (m *merger) first(c cluster) (i int, found bool) {
	for j := range m.sides {
		rest := m.sides[j].changes[c.count[j]:]
		if len(rest) == 0 || c.count != [2]int{} && rest[0].from > c.to {
			continue
		}
		if !found || rest[0].from < m.sides[i].changes[c.count[i]].from {
			i, found = j, true
		}
	}
	return i, found
}

// settle merges the changes of the cluster, or adds a conflict.
func (m *merger) settle(c cluster) {
	var pieces [2]Piece
	rule := ruleOf(m.sides[0].changes[:c.count[0]], m.sides[1].changes[:c.count[1]])
	for i := range m.sides {
		pieces[i] = m.sides[i].take(c, m.sides[i].changes[:c.count[i]])
	}
	m.out.WriteString(m.base.piece(m.done, c.start).Text)
	m.done = c.end
	switch {
	case c.count[1] == 0 || pieces[0].Text == pieces[1].Text:
		m.out.WriteString(pieces[0].Text)
	case c.count[0] == 0:
		m.out.WriteString(pieces[1].Text)
	default:
		m.conflicts = append(m.conflicts, Hunk{Base: m.base.piece(c.start, c.end), Ours: pieces[0], Theirs: pieces[1], Rule: rule})
	}
}

// take returns the lines of the side in place of those of the cluster, and drops its changes.
func (s *side) take(c cluster, own []change) Piece {
	from := c.start + s.shift
	for _, d := range own {
		s.shift += d.ReplEnd - d.ReplStart - (d.End - d.Start)
	}
	s.changes = s.changes[len(own):]
	return s.text.piece(from, c.end+s.shift)
}

// ruleOf returns why these changes of the two sides conflict.
func ruleOf(ours, theirs []change) Rule {
	rule := Repeated
	for _, a := range ours {
		for _, b := range theirs {
			switch {
			case a.Start < b.End && b.Start < a.End:
				return SameLines
			case a.Start == b.Start && a.End == a.Start && b.End == b.Start:
				rule = min(rule, SamePlace)
			case a.Start <= b.End && b.Start <= a.End:
				rule = min(rule, Adjoining)
			}
		}
	}
	return rule
}
