package markdown

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"sheaf.dev/internal/sheaf"
)

// Page is the content of a Markdown file: the fields of a document, and its text.
type Page struct {
	Title       string
	Description string // empty: none
	URL         string // empty: none
	Metadata    map[string]string
	Content     string
}

// Equal reports whether two pages are the same.
func (p Page) Equal(q Page) bool {
	return p.Title == q.Title && p.Description == q.Description && p.URL == q.URL && p.Content == q.Content &&
		maps.Equal(p.Metadata, q.Metadata)
}

const byteOrderMark = "\ufeff"

// Parse reads a file. The title is that of the front matter, else the heading at the start of the
// text, else the file's name or, for README and index, that of the folder. A block that looks like
// front matter but is not valid stays in the text. The error says why the file cannot become a
// document.
func Parse(path string, data []byte) (Page, error) {
	text := strings.TrimPrefix(string(data), byteOrderMark)
	switch {
	case !utf8.ValidString(text):
		return Page{}, errors.New("it is not UTF-8: save it as UTF-8")
	case strings.ContainsRune(text, 0):
		return Page{}, errors.New("it has a NUL character: it is no text")
	}
	p := Page{Content: text}
	if block, rest, ok := cutFrontMatter(text); ok && p.readFrontMatter(block) {
		p.Content = rest
	}
	if p.Title == "" {
		p.Title = implied(path, p.Content)
	}
	return p, p.check()
}

// check checks the front matter against the limits of a document. It does not check the length of
// the text, which depends on the links.
func (p Page) check() error {
	if err := sheaf.CheckName("title", p.Title, sheaf.MaxName); err != nil {
		return err
	}
	if err := sheaf.CheckLength("description", p.Description, sheaf.MaxDescription); err != nil {
		return err
	}
	for name, value := range p.Metadata {
		if strings.ContainsRune(value, 0) {
			return fmt.Errorf("%s of its front matter has a NUL character", name)
		}
	}
	if strings.ContainsRune(p.Title+p.Description, 0) {
		return errors.New("its front matter has a NUL character")
	}
	if n := len(encodeMetadata(p.Metadata)); n > sheaf.MaxMetadata {
		return fmt.Errorf("its front matter makes %d bytes of metadata, at most %d are allowed", n, sheaf.MaxMetadata)
	}
	return nil
}

// Format returns a file that Parse reads as the same page: only the text if that is enough, else
// front matter, a blank line and the text.
func Format(path string, p Page) []byte {
	if bare := []byte(p.Content); readsAs(path, bare, p) {
		return bare
	}
	var b strings.Builder
	b.WriteString(fence + "\n")
	p.writeFrontMatter(&b)
	b.WriteString(fence + "\n\n")
	b.WriteString(p.Content)
	return []byte(b.String())
}

func readsAs(path string, data []byte, p Page) bool {
	read, err := Parse(path, data)
	return err == nil && read.Equal(p)
}

// implied returns the title of a page that states none.
func implied(path, content string) string {
	if IsMDX(path) {
		content = moduleLines.ReplaceAllString(content, "")
	}
	if title := heading(content); title != "" {
		return title
	}
	name := stem(path)
	if folderOf(path) != "" && (introduces(path) == 1 || isFolder(path)) {
		name = nameIn(path, true)
	}
	return cmp.Or(shorten(withoutNotionID(name)), "untitled")
}

// moduleLines are the lines of JavaScript at the start of an MDX file.
var moduleLines = regexp.MustCompile(`^(?:\s|(?:import|export) .*)*`)

// heading returns the text of the first-level heading with which the text begins, or "".
func heading(content string) string {
	content = strings.TrimLeft(content, "\r\n")
	line, rest, _ := strings.Cut(content, "\n")
	line = strings.TrimRight(line, " \t\r")
	if text, ok := strings.CutPrefix(line, "# "); ok {
		text = strings.TrimSpace(text)
		if bare := strings.TrimRight(text, "#"); bare == "" || strings.HasSuffix(bare, " ") {
			text = bare
		}
		return shorten(plain(text))
	}
	under, _, _ := strings.Cut(rest, "\n")
	under = strings.TrimRight(under, " \t\r")
	if line != "" && under != "" && strings.Trim(under, "=") == "" {
		return shorten(plain(line))
	}
	return ""
}

var (
	linkInHeading = regexp.MustCompile(`!?\[([^\[\]]*)\]\([^()]*\)`)
	attributes    = regexp.MustCompile(`\s*\{[#.:][^{}]*\}$`)
	escaped       = regexp.MustCompile("\\\\([!-/:-@\\[-`{-~])")
)

// plain returns a heading without the marks that a reader does not see.
func plain(text string) string {
	text = attributes.ReplaceAllString(text, "")
	text = linkInHeading.ReplaceAllString(text, "$1")
	text = strings.NewReplacer("`", "", "**", "", "__", "").Replace(text)
	return escaped.ReplaceAllString(text, "$1")
}

// shorten makes a title of a text: one line, at most as long as a title may be.
func shorten(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if utf8.RuneCountInString(text) > sheaf.MaxName {
		text = strings.TrimSpace(string([]rune(text)[:sheaf.MaxName]))
	}
	return text
}
