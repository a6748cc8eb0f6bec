package markdown

import "strings"

// A link is a place in a text that leads somewhere.
type link struct {
	start, end int    // what is replaced: a destination, or a whole wiki link or img element
	dest       string // destination as written, without <> and backslashes
	wiki       bool   // [[dest|text]]
	html       bool   // <img src="dest" alt="text">
	picture    bool   // it begins with !, or is an img element
	text       string // the text that a wiki link or an img element shows
}

// findLinks returns the links of a text in their order: [text](dest), ![text](dest), [label]: dest,
// [[page]] and <img src="dest">. Code has none. The time is linear in the length of the text.
//
// findLinks is not a Markdown parser: it may find links where a reader sees none. That does no
// harm, because only a link to a file of the tree is replaced, and an export writes the same back.
// If you change findLinks, keep this rule: what it finds must not depend on the destination of a
// link.
func findLinks(text string) []link {
	var (
		found []link
		open  codeFence
		in    indents
		code  bool // the block begins with indented code
		block = -1 // start of the current block
	)
	flush := func(end int) {
		if block >= 0 {
			s := scanner{text: text[block:end], base: block, indented: code}
			found = append(found, s.scan()...)
		}
		block = -1
	}
	for at := 0; at < len(text); {
		line, next := lineAt(text, at)
		inside := open.take(line)
		indented := !inside && in.code(line)
		switch {
		case inside || strings.TrimSpace(line) == "":
			flush(at)
		case block < 0:
			block, code = at, indented
		}
		at = next
	}
	flush(len(text))
	return found
}

// codeFence tracks blocks of code between lines of ``` or ~~~.
type codeFence struct {
	mark   byte // 0: no block is open
	length int
	quoted bool // the block is in a block quote, and ends with it
}

// take takes the next line, and reports whether it is code or a fence.
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

// unindent removes what may precede a fence: space, marks of block quotes and, with `items`, marks
// of list items.
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

// fenceOf returns the mark at the start of a line, its length if that is at least 3, and the rest
// of the line.
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
