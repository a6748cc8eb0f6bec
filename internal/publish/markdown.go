package publish

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// Titles and descriptions are plain texts that may contain anything. In Markdown for programs they are
// escaped, on one line, and without characters that hide or reorder the text around them.

// begin writes the start of a page: its title, and its description as a quote. Either may be empty.
func begin(b *bytes.Buffer, title string, description *string) {
	if title != "" {
		heading(b, "#", title)
	}
	if said := words(textOf(description)); said != "" {
		fmt.Fprintf(b, "> %s\n\n", atStart(said))
	}
}

// heading writes a heading. A # at the end of the title is escaped: Markdown would drop it.
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

// named returns words of a title, or "Untitled" if they show nothing, because a link needs a text.
func named(title string) string {
	if s := words(title); s != "" {
		return s
	}
	return "Untitled"
}

var (
	entity = regexp.MustCompile(`&(#?[0-9A-Za-z]{1,32};)`)
	tag    = regexp.MustCompile(`<([A-Za-z/!?])`)
	// Brackets become entities, since some readers of llms.txt look for the next bracket, escaped or not.
	marks = strings.NewReplacer(`\`, `\\`, "`", "\\`", `*`, `\*`, `_`, `\_`, `~`, `\~`, `[`, "&#91;", `]`, "&#93;")
)

// words returns Markdown that shows a text on one line.
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

// isReordering reports whether a character has no width, or changes the direction of the text from there to
// an end mark. Marks of one direction (U+200E, U+200F) change nothing after a letter.
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
