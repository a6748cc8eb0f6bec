package markdown

import "strings"

// scanner finds the links of one block: lines without a blank line between them.
type scanner struct {
	text  string
	base  int // start of the block in the whole text
	at    int
	found []link
	open  []opener
	code  map[int]int // start and end of each code span

	indented bool // the block begins with indented code, in which HTML is an example
}

// opener is a [ that is not closed yet.
type opener struct {
	at      int
	picture bool
}

func (s *scanner) scan() []link {
	s.code = codeSpans(s.text)
	for s.at < len(s.text) {
		switch rest := s.text[s.at:]; {
		case rest[0] == '\\':
			s.at += 2
		case rest[0] == '`':
			s.skipCode()
		case strings.HasPrefix(rest, "![[") && s.wiki(true), strings.HasPrefix(rest, "[[") && s.wiki(false):
		case rest[0] == '<' && !s.indented && s.image():
		case strings.HasPrefix(rest, "!["):
			s.open = append(s.open, opener{s.at + 1, true})
			s.at += 2
		case rest[0] == '[':
			s.open = append(s.open, opener{s.at, false})
			s.at++
		case rest[0] == ']':
			s.close()
		default:
			s.at++
		}
	}
	return s.found
}

// codeSpans pairs each run of backticks with the next run of the same length.
func codeSpans(text string) map[int]int {
	type run struct{ at, length int }
	var runs []run
	for i := 0; i < len(text); {
		if text[i] != '`' {
			i++
			continue
		}
		n := len(text[i:]) - len(strings.TrimLeft(text[i:], "`"))
		runs = append(runs, run{i, n})
		i += n
	}
	spans, next := map[int]int{}, map[int]int{}
	for i := len(runs) - 1; i >= 0; i-- {
		r := runs[i]
		if end, ok := next[r.length]; ok {
			spans[r.at] = end
		}
		next[r.length] = r.at + r.length
	}
	return spans
}

func (s *scanner) skipCode() {
	if end, ok := s.code[s.at]; ok {
		s.at = end
		return
	}
	s.at += len(s.text[s.at:]) - len(strings.TrimLeft(s.text[s.at:], "`"))
}

// maxWiki is the largest size of a wiki link in bytes.
const maxWiki = 1000

// wiki takes [[page]] or [[page|text]]; picture means that a ! precedes it.
func (s *scanner) wiki(picture bool) bool {
	start := s.at
	inside := strings.TrimPrefix(s.text[start:], "!")[2:]
	end := strings.IndexAny(inside[:min(len(inside), maxWiki)], "[]\n`<>")
	if end < 1 || !strings.HasPrefix(inside[end:], "]]") {
		return false
	}
	inside = inside[:end]
	dest, text, named := strings.Cut(inside, "|")
	dest = strings.TrimSpace(strings.TrimSuffix(dest, `\`)) // in a table, the bar is escaped
	if text = strings.TrimSpace(text); !named || text == "" {
		shown, _, _ := strings.Cut(dest, "^") // the name of a paragraph is for programs
		text = strings.ReplaceAll(strings.Trim(shown, "#"), "#", " > ")
	}
	if strings.ContainsRune(dest+text, '\\') {
		return false
	}
	s.at = start + end + len("[[]]")
	if picture {
		s.at++
	}
	s.add(link{start: start, end: s.at, dest: dest, wiki: true, picture: picture, text: text})
	return true
}

// image takes <img src="dest" alt="text">.
func (s *scanner) image() bool {
	length, src, alt := imageAt(s.text[s.at:])
	if length == 0 {
		return false
	}
	s.add(link{start: s.at, end: s.at + length, dest: src, html: true, picture: true, text: alt})
	s.at += length
	return true
}

func (s *scanner) add(l link) {
	l.start += s.base
	l.end += s.base
	s.found = append(s.found, l)
}

// close ends the innermost bracket and takes the destination after it.
func (s *scanner) close() {
	s.at++
	if len(s.open) == 0 {
		return
	}
	from := s.open[len(s.open)-1]
	s.open = s.open[:len(s.open)-1]
	rest := s.text[s.at:]
	switch {
	case strings.HasPrefix(rest, "("):
		s.destination(s.at+1, from.picture, true)
	case strings.HasPrefix(rest, ":") && !from.picture && s.beginsLine(from.at) && !strings.HasPrefix(s.text[from.at:], "[^"):
		s.destination(s.at+1, false, false)
	}
}

// maxMarks is the largest size in bytes of the marks of block quotes and lists before a definition.
const maxMarks = 64

// beginsLine reports whether only marks of block quotes and lists precede `at` on its line.
func (s *scanner) beginsLine(at int) bool {
	before := s.text[max(0, at-maxMarks):at]
	start := strings.LastIndexByte(before, '\n') + 1
	if start == 0 && at > maxMarks {
		return false
	}
	bare, _ := unindent(before[start:], true)
	return bare == ""
}

// destination takes the destination of an inline link or of a definition, if it is well-formed to
// its end.
func (s *scanner) destination(at int, picture, inline bool) {
	at = skipSpace(s.text, at)
	start, end, dest := destinationAt(s.text, at)
	if dest == "" {
		return
	}
	after := end
	if inline {
		after = closes(s.text, end)
	} else {
		after = endsLine(s.text, end)
	}
	if after < 0 {
		return
	}
	s.add(link{start: start, end: end, dest: dest, picture: picture})
	s.at = after
}

func skipSpace(text string, at int) int {
	for at < len(text) && strings.IndexByte(" \t\r\n", text[at]) >= 0 {
		at++
	}
	return at
}

// destinationAt reads <dest> or dest, which has balanced parentheses and no space. start and end
// include the angle brackets.
func destinationAt(text string, at int) (start, end int, dest string) {
	if at >= len(text) {
		return at, at, ""
	}
	if text[at] == '<' {
		for i := at + 1; i < len(text) && text[i] != '\n' && text[i] != '<'; i++ {
			switch text[i] {
			case '\\':
				i++
			case '>':
				return at, i + 1, unescape(text[at+1 : i])
			}
		}
		return at, at, ""
	}
	i, depth := at, 0
	for ; i < len(text) && text[i] > ' ' && text[i] != 0x7f && text[i] != '`' && depth < 32; i++ {
		if text[i] == '\\' && i+1 < len(text) && text[i+1] > ' ' {
			i++
		} else if text[i] == '(' {
			depth++
		} else if text[i] == ')' {
			if depth == 0 {
				break
			}
			depth--
		}
	}
	if depth > 0 {
		return at, at, ""
	}
	return at, i, unescape(text[at:i])
}

func unescape(dest string) string { return escaped.ReplaceAllString(dest, "$1") }

// closes returns the position after the ) that ends a link, or -1 if there is none. A title may
// precede the ).
func closes(text string, at int) int {
	i := skipSpace(text, at)
	if i > at && i < len(text) && text[i] != ')' {
		if i = titleEnd(text, i); i < 0 {
			return -1
		}
		i = skipSpace(text, i)
	}
	if i < len(text) && text[i] == ')' {
		return i + 1
	}
	return -1
}

// endsLine returns the end of a definition's line, or -1 if anything but a title follows on it.
func endsLine(text string, at int) int {
	i := skipBlanks(text, at)
	if i > at && i < len(text) && text[i] != '\n' {
		if i = titleEnd(text, i); i < 0 {
			return -1
		}
		i = skipBlanks(text, i)
	}
	if i < len(text) && text[i] != '\n' {
		return -1
	}
	return i
}

func skipBlanks(text string, at int) int {
	for at < len(text) && strings.IndexByte(" \t\r", text[at]) >= 0 {
		at++
	}
	return at
}

// titleEnd returns the position after a title in quotation marks or parentheses, or -1 if there is
// none.
func titleEnd(text string, at int) int {
	closing := map[byte]byte{'"': '"', '\'': '\'', '(': ')'}[text[at]]
	if closing == 0 {
		return -1
	}
	for i := at + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case closing:
			return i + 1
		case '(':
			if closing == ')' {
				return -1
			}
		}
	}
	return -1
}
