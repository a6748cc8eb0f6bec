package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// readable returns a Markdown text as a person reads it: without the marks of headings, lists,
// emphasis and code, the addresses of links and pictures, tags and comments. It is for snippets, and
// approximate: it reads the text once and knows no nesting. The result is never longer than the
// text.
func readable(text string) string {
	r := reader{out: make([]byte, 0, len(text))}
	text = withoutComments(text)
	fence := ""
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		switch mark := fenceOf(bare); {
		case fence != "":
			if mark == fence[:min(len(mark), len(fence))] && len(mark) >= len(fence) && strings.Trim(bare, mark[:1]) == "" {
				fence = ""
				continue
			}
			r.out = append(r.out, line...)
		case mark != "":
			fence = mark
		case isRule(bare), isDefinition(bare):
		case calloutOf(bare) != "":
			r.out = append(append(r.out, calloutOf(bare)...), '\n')
		default:
			r.line(unmarked(line), strings.HasPrefix(bare, "|"))
		}
	}
	return strings.ReplaceAll(string(r.out), gone, "")
}

// gone replaces a bracket that turned out to belong to a link. No text contains it.
const gone = "\x00"

// mostTarget is the largest length of a link's address. A longer one is text.
const mostTarget = 2000

// mostOpen is the largest number of open brackets in a line. More of them are text.
const mostOpen = 100

// withoutComments removes the comments of HTML, but not what stands in code. It reads the text once.
func withoutComments(text string) string {
	if !strings.Contains(text, "<!--") {
		return text
	}
	var b strings.Builder
	fence, closes := "", true    // closes: there may be an end of a comment further on
	inList, blank := false, true // whether an indented line may belong to a list, and whether the line before was empty
	for at, fresh := 0, true; at < len(text); {
		rest := text[at:]
		if fresh { // a line begins
			line, _, _ := strings.Cut(rest, "\n")
			bare := strings.TrimSpace(strings.TrimLeft(line, "> \t"))
			mark := fenceOf(bare)
			switch {
			case fence == "" && mark != "":
				fence = mark
			case fence != "" && mark != "" && mark[0] == fence[0] && len(mark) >= len(fence) && len(mark) == len(bare):
				fence = ""
				mark = bare
			}
			indented := strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")
			code := indented && blank && !inList
			switch isItem := len(bare) > 0 && strings.ContainsRune("-*+", rune(bare[0])) || startsNumber(bare); {
			case isItem:
				inList = true
			case bare != "" && !indented:
				inList = false
			}
			blank = bare == "" || code
			if fence != "" || mark != "" || code {
				end := min(len(rest), len(line)+1)
				b.WriteString(rest[:end])
				at += end
				continue
			}
		}
		fresh = false
		next := strings.IndexAny(rest, "\n`<\\")
		if next < 0 {
			b.WriteString(rest)
			break
		}
		size := 1
		switch rest[next] {
		case '\n':
			fresh = true
		case '\\':
			size = min(2, len(rest)-next)
			fresh = size == 2 && rest[next+1] == '\n'
		case '`':
			size = codeSpan(rest[next:])
		case '<':
			if closes && strings.HasPrefix(rest[next:], "<!--") {
				end := strings.Index(rest[next+4:], "-->")
				if closes = end >= 0; closes {
					b.WriteString(rest[:next])
					at += next + 4 + end + 3
					continue
				}
			}
		}
		b.WriteString(rest[:next+size])
		at += next + size
	}
	return b.String()
}

// startsNumber reports whether a line begins as an item of a numbered list does.
func startsNumber(bare string) bool {
	after := strings.TrimLeft(bare, "0123456789")
	return len(after) < len(bare) && (strings.HasPrefix(after, ".") || strings.HasPrefix(after, ")"))
}

// codeSpan returns the length of the code between backticks at the beginning of s, or of the backticks alone.
func codeSpan(s string) int {
	ticks := len(s) - len(strings.TrimLeft(s, "`"))
	within := s[ticks:min(len(s), ticks+mostTarget)]
	if end := strings.Index(within, "\n\n"); end >= 0 {
		within = within[:end] // a span ends with its paragraph
	}
	for at := 0; at < len(within); {
		start := strings.IndexByte(within[at:], '`')
		if start < 0 {
			break
		}
		at += start
		run := len(within[at:]) - len(strings.TrimLeft(within[at:], "`"))
		if run == ticks {
			return ticks + at + run
		}
		at += run
	}
	return ticks
}

// fenceOf returns the mark that opens or closes a block of code; empty if the line has none.
func fenceOf(bare string) string {
	for _, c := range []string{"`", "~"} {
		if mark := bare[:len(bare)-len(strings.TrimLeft(bare, c))]; len(mark) >= 3 && !strings.Contains(bare[len(mark):], c) {
			return mark
		}
	}
	return ""
}

// isRule reports whether a line only draws a line, underlines a heading, or divides a table.
func isRule(bare string) bool {
	return len(bare) > 1 && strings.Trim(bare, "-=*_|: ") == ""
}

// isDefinition reports whether a line defines the address of links: [name]: https://example.com
func isDefinition(bare string) bool {
	name, address, found := strings.Cut(bare, "]:")
	return found && len(name) > 1 && name[0] == '[' && name[1] != '^' && !strings.Contains(name[1:], "[") && strings.TrimSpace(address) != ""
}

// calloutOf returns the title that a callout shows in place of its first line, such as "> [!NOTE]". It is
// empty if the line begins no callout.
func calloutOf(bare string) string {
	name, quoted := strings.CutPrefix(bare, ">")
	name, opens := strings.CutPrefix(strings.TrimSpace(name), "[!")
	name, closes := strings.CutSuffix(name, "]")
	if !quoted || !opens || !closes {
		return ""
	}
	for _, title := range []string{"Note", "Tip", "Important", "Warning", "Caution"} {
		if strings.EqualFold(name, title) {
			return title
		}
	}
	return ""
}

// unmarked returns a line without the marks of quotations, lists and headings at its beginning.
func unmarked(line string) string {
	for {
		rest := strings.TrimLeft(line, " \t")
		after := strings.TrimLeft(rest, "0123456789")
		switch {
		case strings.HasPrefix(rest, ">"):
			line = strings.TrimPrefix(rest[1:], " ")
		case len(rest) > 1 && strings.ContainsRune("-*+", rune(rest[0])) && rest[1] == ' ':
			line = rest[2:]
		case len(after) < len(rest) && len(rest)-len(after) < 10 && (strings.HasPrefix(after, ". ") || strings.HasPrefix(after, ") ")):
			return line // the number is read
		case strings.HasPrefix(rest, "[ ] "), strings.HasPrefix(rest, "[x] "), strings.HasPrefix(rest, "[X] "):
			line = rest[4:]
		case strings.HasPrefix(rest, "#"):
			if title := strings.TrimLeft(rest, "#"); strings.HasPrefix(title, " ") && len(rest)-len(title) <= 6 {
				return title[1:]
			}
			return line
		default:
			return line
		}
	}
}

// reader collects the text of lines.
type reader struct {
	out  []byte
	open []int // the places in out of the brackets that may begin a link
}

// line adds the text of a line. The marks of a table become spaces.
func (r *reader) line(s string, table bool) {
	r.open = r.open[:0]
	for at := 0; at < len(s); {
		switch c := s[at]; {
		case c == '\\' && at+1 < len(s) && s[at+1] < utf8.RuneSelf && (unicode.IsPunct(rune(s[at+1])) || unicode.IsSymbol(rune(s[at+1]))):
			r.out = append(r.out, s[at+1])
			at += 2
		case c == '`':
			at += r.code(s[at:])
		case c == '[':
			if len(r.open) < mostOpen {
				r.open = append(r.open, len(r.out))
			}
			r.out = append(r.out, c)
			at++
		case c == ']':
			at += r.link(s[at:])
		case c == '*' || c == '_' || c == '~':
			at += r.emphasis(s, at)
		case c == '|' && table:
			r.out = append(r.out, ' ')
			at++
		case c == '<':
			at += r.angle(s[at:])
		default:
			r.out = append(r.out, c)
			at++
		}
	}
}

// code adds code between backticks, and returns how much of s it has read.
func (r *reader) code(s string) int {
	ticks := s[:len(s)-len(strings.TrimLeft(s, "`"))]
	inner, _, closed := strings.Cut(s[len(ticks):min(len(s), len(ticks)+mostTarget)], ticks)
	if !closed {
		return len(ticks)
	}
	r.out = append(r.out, inner...)
	return len(ticks) + len(inner) + len(ticks)
}

// link reads the end of a link or a picture, "](address)" or "][name]", and returns how much of s it
// has read. Only the text between the brackets stays.
func (r *reader) link(s string) int {
	end := 0
	if len(r.open) > 0 && len(s) > 1 {
		switch within := s[:min(len(s), mostTarget)]; s[1] {
		case '(':
			end = strings.IndexByte(within, ')')
			if end > 0 && strings.Contains(within[2:end], "(") {
				if more := strings.IndexByte(within[end+1:], ')'); more >= 0 {
					end += 1 + more
				}
			}
		case '[':
			if next := strings.IndexByte(within[1:], ']'); next > 0 {
				end = next + 1
			}
		}
	}
	if end <= 0 {
		if n := len(r.open); n > 0 {
			r.open = r.open[:n-1]
		}
		r.out = append(r.out, ']')
		return 1
	}
	last := len(r.open) - 1
	at := r.open[last]
	r.open = r.open[:last]
	r.out[at] = gone[0]
	if at > 0 && r.out[at-1] == '!' {
		r.out[at-1] = gone[0]
	}
	return end + 1
}

// emphasis leaves out a run of marks of emphasis, and returns its length. A run between spaces, an
// underscore within a word and a single tilde are text.
func (r *reader) emphasis(s string, at int) int {
	mark := s[at]
	run := len(s[at:]) - len(strings.TrimLeft(s[at:], string(mark)))
	before, _ := utf8.DecodeLastRuneInString(s[:at])
	after, _ := utf8.DecodeRuneInString(s[at+run:])
	inWord := func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }
	alone := (at == 0 || unicode.IsSpace(before)) && (at+run == len(s) || unicode.IsSpace(after))
	if alone || mark == '_' && at > 0 && inWord(before) && inWord(after) || mark == '~' && run != 2 {
		r.out = append(r.out, s[at:at+run]...)
	}
	return run
}

// angle reads "<https://example.com>", whose address is read, or the tag of a link or a picture,
// which is not. It returns how much of s it has read.
func (r *reader) angle(s string) int {
	end := strings.IndexByte(s[:min(len(s), mostTarget)], '>')
	if end < 0 {
		r.out = append(r.out, '<')
		return 1
	}
	inner := s[1:end]
	tag := strings.ToLower(strings.TrimPrefix(inner, "/"))
	switch name, _, _ := strings.Cut(tag, " "); {
	case name == "a", name == "img", isTag(tag):
		return end + 1
	case !strings.Contains(inner, " ") && (strings.Contains(inner, "://") || strings.Contains(inner, "@")):
		r.out = append(r.out, inner...)
		return end + 1
	}
	r.out = append(r.out, '<')
	return 1
}

// isTag reports whether a page treats the tag as HTML. Pages show other tags as text.
func isTag(tag string) bool {
	switch strings.TrimSpace(strings.TrimSuffix(tag, "/")) {
	case "br", "kbd", "sub", "sup", "mark", "summary", "details", "details open":
		return true
	}
	return false
}
