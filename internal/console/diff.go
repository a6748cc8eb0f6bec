package console

import "strings"

// diffLines is a unified diff, as a page shows it.
type diffLines struct {
	Lines []diffLine
	Cut   bool // there is more than a page shows
}

// diffLine is a line of a diff: what is gone, what came, what stayed, or where a piece begins.
type diffLine struct {
	Kind string // "del", "ins", "same" or "at"
	Text string // without the sign before it
}

// shownLines is as much of a diff as somebody reads.
const shownLines = 2000

// readDiff makes lines of a unified diff. Its head, which names the two texts, is left out.
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
		d.Lines = append(d.Lines, newDiffLine(line))
	}
	return d
}

func newDiffLine(line string) diffLine {
	switch line[0] {
	case '-':
		return diffLine{"del", line[1:]}
	case '+':
		return diffLine{"ins", line[1:]}
	case '@':
		return diffLine{"at", line}
	case '\\':
		return diffLine{"at", strings.TrimPrefix(line, `\ `)}
	}
	return diffLine{"same", line[1:]}
}
