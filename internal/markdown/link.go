package markdown

import "strings"

// A link is a place in a text that leads somewhere.
type link struct {
	start, end int    // of what is replaced: a destination, or a wiki link whole
	dest       string // where it leads, as it is written, without <> and backslashes
	wiki       bool   // [[dest|text]]
	picture    bool   // it begins with !
	text       string // what a wiki link shows
}

// findLinks returns the links of a text in their order: [text](dest), ![text](dest), [label]: dest
// and [[page]]. What is code stays out. It is linear in the length of the text, whatever is in it.
//
// It is no parser of Markdown: it may take for a link what none is. That does no harm, because only
// what leads to a file of the tree is replaced, and an export writes the same back. So the rule for
// whoever changes it: what it finds must not depend on what stands in the place of a destination.
func findLinks(text string) []link {
	var (
		found []link
		open  codeFence
		block = -1 // where the lines that are looked at together begin
	)
	flush := func(end int) {
		if block >= 0 {
			s := scanner{text: text[block:end], base: block}
			found = append(found, s.scan()...)
		}
		block = -1
	}
	for at := 0; at < len(text); {
		line, _, _ := strings.Cut(text[at:], "\n")
		next := min(at+len(line)+1, len(text))
		switch inside := open.take(line); {
		case inside || strings.TrimSpace(line) == "":
			flush(at)
		case block < 0:
			block = at
		}
		at = next
	}
	flush(len(text))
	return found
}

// codeFence follows blocks of code between lines of ``` or ~~~.
type codeFence struct {
	mark   byte // 0: no block is open
	length int
	quoted bool // it stands in a quotation, and ends with it
}

// take looks at the next line and reports whether it is code or a fence.
func (f *codeFence) take(line string) bool {
	bare, quoted := unindent(line, f.mark == 0)
	if f.mark != 0 && f.quoted && !quoted {
		f.mark = 0
		bare, quoted = unindent(line, true)
	}
	mark, length, info := fenceOf(bare)
	switch {
	case f.mark == 0 && length > 0 && !(mark == '`' && strings.Contains(info, "`")):
		*f = codeFence{mark, length, quoted}
		return true
	case f.mark == 0:
		return false
	case mark == f.mark && length >= f.length && strings.TrimSpace(info) == "":
		f.mark = 0
	}
	return true
}

// unindent drops what stands before a fence: space, marks of quotations, and of list items too.
func unindent(line string, items bool) (bare string, quoted bool) {
	for {
		line = strings.TrimLeft(line, " \t")
		switch {
		case strings.HasPrefix(line, ">"):
			line, quoted = line[1:], true
		case items && len(line) > 1 && strings.IndexByte("-*+", line[0]) >= 0 && line[1] == ' ':
			line = line[2:]
		default:
			number := strings.TrimLeft(line, "0123456789")
			if !items || number == line || len(number) < 2 || strings.IndexByte(".)", number[0]) < 0 || number[1] != ' ' {
				return line, quoted
			}
			line = number[2:]
		}
	}
}

// fenceOf is the mark at the beginning of a line, its length from 3 on, and what stands behind it.
func fenceOf(line string) (mark byte, length int, info string) {
	if line == "" || line[0] != '`' && line[0] != '~' {
		return 0, 0, ""
	}
	rest := strings.TrimLeft(line, line[:1])
	if length = len(line) - len(rest); length < 3 {
		return 0, 0, ""
	}
	return line[0], length, rest
}
