package markdown

import (
	"html"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Other programs write more than CommonMark: Obsidian has comments, Outline and Docusaurus have
// notices, Notion puts ids into names. Sheaf would show all of this as text, so an import replaces
// it. An export must write nothing that the next import would replace. So it replaces notices too,
// and escapes text that looks like a comment.

// indents finds blocks of code that are marked only by their indentation.
type indents struct {
	list      bool // inside a list, indentation does not make code
	paragraph bool // the previous line is text, which an indented line continues
}

// code takes the next line outside of fences, and reports whether it is code.
func (i *indents) code(line string) bool {
	bare := strings.TrimLeft(line, " \t")
	if strings.TrimSpace(bare) == "" {
		i.paragraph = false
		return false
	}
	space := line[:len(line)-len(bare)]
	if (len(space) >= 4 || strings.Contains(space, "\t")) && !i.list && !i.paragraph {
		return true
	}
	if withMark, _ := unindent(line, false); withMark != "" {
		text, _ := unindent(line, true)
		i.list = text != withMark || i.list && (i.paragraph || space != "")
	}
	i.paragraph = true
	return false
}

// editComments removes Obsidian's comments from a text or, with `escape`, escapes them. A comment
// is %%on one line%%, or reaches from a line that begins with %% to the next line that begins or
// ends with it. Code has no comments. A comment on one line does not touch a word, so 100%% and %%i
// stay text. The time is linear in the length of the text.
func editComments(text string, escape bool) string {
	if !strings.Contains(text, "%%") {
		return text
	}
	var (
		b    strings.Builder
		kept int // b has the text before this position
		open codeFence
		in   indents
	)
	replace := func(start, end int) {
		b.WriteString(text[kept:start])
		if kept = end; escape {
			kept = start
			b.WriteByte('\\')
		}
	}
	for at := 0; at < len(text); {
		line, next := lineAt(text, at)
		if open.mark != 0 || in.code(line) {
			open.take(line)
			at = next
			continue
		}
		if bare := strings.TrimLeft(line, " \t"); strings.HasPrefix(bare, "%%") && !strings.Contains(bare[2:], "%%") {
			if end := commentEnd(text, next); end > 0 && escape {
				replace(at+len(line)-len(bare), next)
				at = next
				continue
			} else if end > 0 {
				replace(at, end)
				at = end
				continue
			}
		}
		if !open.take(line) {
			for _, c := range lineComments(line, escape) {
				start, end := at+c[0], at+c[1]
				if last := strings.TrimSpace(line[c[1]:]) == ""; last && c[0] == 0 {
					end = next // remove the whole line
				} else if last && !escape {
					start = at + len(strings.TrimRight(line[:c[0]], " \t"))
				}
				replace(start, end)
			}
		}
		at = next
	}
	return b.String() + text[kept:]
}

// lineAt returns the line that begins at `at`, and the start of the next one.
func lineAt(text string, at int) (line string, next int) {
	line, _, _ = strings.Cut(text[at:], "\n")
	return line, min(at+len(line)+1, len(text))
}

// commentEnd returns the end of a multi-line comment whose text begins at `at`, or 0 if it does not
// end.
func commentEnd(text string, at int) int {
	for at < len(text) {
		line, next := lineAt(text, at)
		bare := strings.TrimSpace(line)
		switch {
		case strings.HasSuffix(bare, "%%"):
			return next
		case strings.HasPrefix(bare, "%%"):
			return at + strings.Index(line, "%%") + 2
		}
		at = next
	}
	return 0
}

// lineComments returns the start and end of each comment of a line. With `escape`, the text after
// the first %% of a comment is searched too.
func lineComments(line string, escape bool) (found [][2]int) {
	code := codeSpans(line)
	apart := func(r rune, size int) bool {
		return size == 0 || !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '%'
	}
	for at := 0; at < len(line); {
		end, isCode := code[at]
		switch rest := line[at:]; {
		case isCode:
			at = end
		case rest[0] == '\\':
			at += 2
		case rest[0] == '`':
			at += len(rest) - len(strings.TrimLeft(rest, "`"))
		case strings.HasPrefix(rest, "%%"):
			end := 3 + strings.Index(rest[min(3, len(rest)):], "%%") + 2
			if end > 4 && apart(utf8.DecodeLastRuneInString(line[:at])) && apart(utf8.DecodeRuneInString(rest[end:])) {
				found = append(found, [2]int{at, at + end})
				if !escape {
					at += end
					continue
				}
			}
			at++
		default:
			at++
		}
	}
	return found
}

// A notice begins with a line of colons and its kind, and ends with a line of as many colons.
var (
	noticeBegin = regexp.MustCompile(`^ {0,3}(:{3,6}) *(info|note|tip|success|warning|caution|danger|important)(?:\[([^\[\]]*)\]| +([^\s{\[].*?))?\s*$`)
	noticeEnd   = regexp.MustCompile(`^ {0,3}(:{3,6})\s*$`)
)

// quoteNotices turns the notices of Outline and Docusaurus into block quotes that begin with the
// title or kind of the notice. A notice without an end stays text.
func quoteNotices(text string) string {
	if !strings.Contains(text, ":::") {
		return text
	}
	var (
		b    strings.Builder
		open codeFence
	)
	for at := 0; at < len(text); {
		line, next := lineAt(text, at)
		inside := open.take(line)
		if m := noticeBegin.FindStringSubmatch(line); m != nil && !inside {
			if bodyEnd, end, ok := noticeBody(text, next, m[1]); ok {
				title := strings.TrimSpace(m[3] + m[4])
				if title == "" {
					title = strings.ToUpper(m[2][:1]) + m[2][1:]
				}
				quote(&b, title, quoteNotices(text[next:bodyEnd]))
				if after, _ := lineAt(text, end); strings.TrimSpace(after) != "" {
					b.WriteByte('\n') // else the next line would belong to the quote
				}
				at = end
				continue
			}
		}
		b.WriteString(text[at:next])
		at = next
	}
	return b.String()
}

// noticeBody returns the end of a notice's text, and the position after the line that ends the
// notice.
func noticeBody(text string, at int, colons string) (end, after int, ok bool) {
	var open codeFence
	for at < len(text) {
		line, next := lineAt(text, at)
		if !open.take(line) && strings.Contains(line, colons) {
			if m := noticeEnd.FindStringSubmatch(line); m != nil && m[1] == colons {
				return at, next, true
			}
			if m := noticeBegin.FindStringSubmatch(line); m != nil && m[1] == colons {
				return 0, 0, false
			}
		}
		at = next
	}
	return 0, 0, false
}

// quote writes a block quote with a title.
func quote(b *strings.Builder, title, body string) {
	b.WriteString("> **" + title + "**\n")
	body = strings.Trim(body, "\r\n")
	if strings.TrimSpace(body) == "" {
		return
	}
	b.WriteString(">\n")
	for line := range strings.SplitSeq(body, "\n") {
		b.WriteString(strings.TrimRight("> "+line, " ") + "\n")
	}
}

// imageTag matches an HTML img element.
var (
	imageTag  = regexp.MustCompile(`^<(?i:img)((?:\s+[A-Za-z_][A-Za-z0-9_:.-]*(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'=<>` + "`" + `{}]+))?)*)\s*/?>`)
	attribute = regexp.MustCompile(`\s([A-Za-z_][A-Za-z0-9_:.-]*)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>` + "`" + `]+))`)
	inAltText = regexp.MustCompile("[\\\\`\\[\\]<>*_|^]")
)

// maxTag is the largest size of an img element in bytes.
const maxTag = 2000

// imageAt reads the img element at the start of a text. It returns its length, address and
// alternative text as Markdown. The length is 0 if there is none.
func imageAt(text string) (length int, src, alt string) {
	m := imageTag.FindStringSubmatch(text[:min(len(text), maxTag)])
	if m == nil {
		return 0, "", ""
	}
	for _, a := range attribute.FindAllStringSubmatch(m[1], -1) {
		value := strings.Join(strings.Fields(html.UnescapeString(a[2]+a[3]+a[4])), " ")
		switch strings.ToLower(a[1]) {
		case "src":
			src = value
		case "alt":
			alt = inAltText.ReplaceAllString(value, `\$0`)
		}
	}
	if src == "" || strings.ContainsFunc(src+alt, unicode.IsControl) {
		return 0, "", ""
	}
	return len(m[0]), src, alt
}

// notionID matches the id that Notion's exports append to the name of a page or folder.
var notionID = regexp.MustCompile(`^(.*\S) [0-9a-f]{32}$`)

// withoutNotionID returns a name without Notion's id.
func withoutNotionID(name string) string { return notionID.ReplaceAllString(name, "$1") }
