package console

import "strings"

// diffLines is a unified diff.
type diffLines struct {
	Lines []diffLine
	Cut   bool // there are more than shownLines
}

// diffLine is a line of a diff: deleted, inserted, unchanged, or the head of a hunk.
type diffLine struct {
	Kind string // "del", "ins", "same" or "at"
	Text string // without the sign before it
}

// shownLines is the number of lines that a page shows.
const shownLines = 2000

// readDiff splits a unified diff into lines. It leaves out the head, which names the two texts.
func readDiff(unified string) (d diffLines) {
	begun := false
	for line := range strings.Lines(unified) {
		line = strings.TrimSuffix(line, "\n")
		begun = begun || strings.HasPrefix(line, "@@")
		if !begun || line == "" {
			continue
		}
		if d.Cut = len(d.Lines) == shownLines; d.Cut {
			return d
		}
		out := diffLine{"same", line[1:]}
		switch line[0] {
		case '-':
			out.Kind = "del"
		case '+':
			out.Kind = "ins"
		case '@':
			out = diffLine{"at", line}
		case '\\':
			out = diffLine{"at", strings.TrimPrefix(line, `\ `)}
		}
		d.Lines = append(d.Lines, out)
	}
	return d
}
