package publish

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// Titles and descriptions are plain texts that may contain anything. In Markdown for programs they stay
// texts: on one line, without characters that hide or reorder what is around them.

// begin writes the start of a page: its title, and its description as a quote. Either may be empty.
func begin(b *bytes.Buffer, title string, description *string) {
	if title != "" {
		heading(b, "#", title)
	}
	if said := words(textOf(description)); said != "" {
		fmt.Fprintf(b, "> %s\n\n", atStart(said))
	}
}

// heading writes a heading. At its end, # would be taken for a part of the form.
func heading(b *bytes.Buffer, form, title string) {
	title = named(title)
	if plain := strings.TrimRight(title, "#"); plain != title && (plain == "" || strings.HasSuffix(plain, " ")) {
		title = plain + `\` + title[len(plain):]
	}
	fmt.Fprintf(b, "%s %s\n\n", form, title)
}

// textOf returns an optional text; nil is empty.
func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// named is words for a title. A title that shows nothing has a name too, because a link needs one.
func named(title string) string {
	if s := words(title); s != "" {
		return s
	}
	return "Untitled"
}

var (
	entity = regexp.MustCompile(`&(#?[0-9A-Za-z]{1,32};)`)
	tag    = regexp.MustCompile(`<([A-Za-z/!?])`)
	// Brackets are entities, since some readers of llms.txt look for the next bracket, escaped or not.
	marks = strings.NewReplacer(`\`, `\\`, "`", "\\`", `*`, `\*`, `_`, `\_`, `~`, `\~`, `[`, "&#91;", `]`, "&#93;")
)

// words returns a text as Markdown that shows it on one line.
func words(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), isReordering(r), r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, s)
	return marks.Replace(tag.ReplaceAllString(entity.ReplaceAllString(oneLine(s), "&amp;$1"), "&lt;$1"))
}

// isReordering reports whether a character changes the direction of the text after it until another one
// ends that, or takes no room at all. Marks of one direction (U+200E, U+200F) change nothing after a letter.
func isReordering(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0xfeff
}

var numbered = regexp.MustCompile(`^([0-9]{1,9})([.)])`)

// atStart escapes what would make the start of a line a list, a heading, a quote or a table.
func atStart(s string) string {
	if s != "" && strings.ContainsRune("#+->=|:", rune(s[0])) {
		return `\` + s
	}
	return numbered.ReplaceAllString(s, `$1\$2`)
}
