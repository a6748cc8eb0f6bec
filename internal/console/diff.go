package console

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// diffLines is a unified diff.
type diffLines struct {
	Lines []diffLine
	Cut   bool // there are more lines
}

// diffLine is a line of a diff: deleted, inserted, unchanged, or the head of a hunk.
type diffLine struct {
	Kind  string // "del", "ins", "same" or "at"
	Text  string // without the leading sign
	Parts []diffPart
}

// diffPart is a part of a changed line. Marked are the words that the other side does not have.
type diffPart struct {
	Text   string
	Marked bool
}

// shownLines is the number of lines that a page shows.
const shownLines = 2000

// readDiff splits a unified diff into lines. It leaves out the head, which names the two texts.
func readDiff(unified string) diffLines { return readDiffUpTo(unified, shownLines) }

// readDiffUpTo is readDiff for a page that shows at most `most` lines.
func readDiffUpTo(unified string, most int) (d diffLines) {
	begun := false
	for line := range strings.Lines(unified) {
		line = strings.TrimSuffix(line, "\n")
		begun = begun || strings.HasPrefix(line, "@@")
		if !begun || line == "" {
			continue
		}
		if d.Cut = len(d.Lines) >= most; d.Cut {
			break
		}
		out := diffLine{Kind: "same", Text: line[1:]}
		switch line[0] {
		case '-':
			out.Kind = "del"
		case '+':
			out.Kind = "ins"
		case '@':
			out = diffLine{Kind: "at", Text: line}
		case '\\':
			out = diffLine{Kind: "at", Text: strings.TrimPrefix(line, `\ `)}
		}
		d.Lines = append(d.Lines, out)
	}
	d.markWords()
	return d
}

// markWords marks the changed words where inserted lines replace deleted ones.
func (d *diffLines) markWords() {
	run := func(from int, kind string) int {
		for from < len(d.Lines) && d.Lines[from].Kind == kind {
			from++
		}
		return from
	}
	for at := 0; at < len(d.Lines); at++ {
		middle := run(at, "del")
		end := run(middle, "ins")
		if at < middle && middle < end {
			markChanged(d.Lines[at:middle], d.Lines[middle:end])
		}
		at = max(at, end-1)
	}
}

// Limits of the marks: longer runs of lines have none, and neither have lines with little in common.
const (
	maxMarkedWords = 4000
	minCommonPart  = 0.3 // of the longer side
)

// wordList is a run of lines as words. Equal words have equal numbers.
type wordList struct {
	words   []string
	numbers []rune
	bytes   int // of letters and digits
}

// markChanged marks the words by which two runs of lines differ.
func markChanged(deleted, inserted []diffLine) {
	known := map[string]rune{}
	old, fresh := readWords(deleted, known), readWords(inserted, known)
	if len(old.words) > maxMarkedWords || len(fresh.words) > maxMarkedWords {
		return
	}
	oldMarks, freshMarks := make([]bool, len(old.words)), make([]bool, len(fresh.words))
	for _, change := range lcs.DiffRunes(old.numbers, fresh.numbers) {
		for i := change.Start; i < change.End; i++ {
			oldMarks[i] = true
		}
		for i := change.ReplStart; i < change.ReplEnd; i++ {
			freshMarks[i] = true
		}
	}
	common := 0
	for i, word := range old.words {
		if !oldMarks[i] {
			common += weightOf(word)
		}
	}
	if float64(common) < minCommonPart*float64(max(old.bytes, fresh.bytes)) {
		return
	}
	setParts(deleted, old.words, trimMarks(old.words, oldMarks))
	setParts(inserted, fresh.words, trimMarks(fresh.words, freshMarks))
}

// trimMarks removes the marks of space at the ends of marked words.
func trimMarks(words []string, marks []bool) []bool {
	out := slices.Clone(marks)
	marked := func(i int) bool { return i >= 0 && i < len(words) && marks[i] && words[i] != "\n" }
	for i, word := range words {
		if marks[i] && strings.TrimSpace(word) == "" && marked(i-1) != marked(i+1) {
			out[i] = false
		}
	}
	return out
}

// readWords splits lines into words, runs of space, single signs and line ends. It stops after more
// than maxMarkedWords.
func readWords(lines []diffLine, known map[string]rune) (out wordList) {
	add := func(word string) {
		number, found := known[word]
		if !found {
			number = rune(len(known))
			known[word] = number
		}
		out.words, out.numbers, out.bytes = append(out.words, word), append(out.numbers, number), out.bytes+weightOf(word)
	}
	for _, line := range lines {
		for rest := line.Text; rest != "" && len(out.words) <= maxMarkedWords; {
			n := wordLength(rest)
			add(rest[:n])
			rest = rest[n:]
		}
		add("\n")
	}
	return out
}

// wordLength returns the number of bytes of the first word.
func wordLength(s string) int {
	first, size := utf8.DecodeRuneInString(s)
	for _, is := range []func(rune) bool{isWordRune, unicode.IsSpace} {
		if is(first) {
			if n := strings.IndexFunc(s, func(r rune) bool { return !is(r) }); n > 0 {
				return n
			}
			return len(s)
		}
	}
	return size
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// weightOf returns the number of bytes of a word, and 0 for space and signs.
func weightOf(word string) int {
	if first, _ := utf8.DecodeRuneInString(word); isWordRune(first) {
		return len(word)
	}
	return 0
}

// setParts divides the lines into marked and unmarked parts.
func setParts(lines []diffLine, words []string, marks []bool) {
	at := 0
	for i := range lines {
		line := &lines[i]
		for ; words[at] != "\n"; at++ {
			if last := len(line.Parts) - 1; last >= 0 && line.Parts[last].Marked == marks[at] {
				line.Parts[last].Text += words[at]
			} else {
				line.Parts = append(line.Parts, diffPart{words[at], marks[at]})
			}
		}
		at++
	}
}
