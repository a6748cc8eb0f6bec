package console

import (
	"fmt"
	"html/template"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"sheaf.dev/internal/sheaf"
)

// timeElement shows a time. A script tells what is near relatively, "5 minutes ago", and all else in the
// reader's zone; the exact UTC stays in the title.
func timeElement(t any) template.HTML { return timeAs(t, "") }

// clockElement shows a time that stays a time of day, for the rows of a table.
func clockElement(t any) template.HTML { return timeAs(t, " data-clock") }

func timeAs(t any, mark string) template.HTML {
	at, ok := t.(time.Time)
	if p, is := t.(*time.Time); is && p != nil {
		at, ok = *p, true
	}
	if !ok {
		return `<span class="muted">never</span>`
	}
	at = at.UTC()
	// #nosec G203 -- a time alone, in three formats, and a constant
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s"%s>%s</time>`, at.Format(sheaf.TimeFormat),
		at.Format("2006-01-02 15:04:05.000 UTC"), mark, at.Format("2 Jan 2006, 15:04")))
}

// exact is a time as programs write it, for a hidden field or a name.
func exact(t any) string {
	if p, is := t.(*time.Time); is && p != nil {
		t = *p
	}
	at, _ := t.(time.Time)
	return at.UTC().Format(sheaf.TimeFormat)
}

// many counts a noun: 1 project, 2 projects, 3 deliveries.
func many(n any, noun string) string {
	count := fmt.Sprint(n)
	stem, y := strings.CutSuffix(noun, "y")
	switch {
	case count == "1":
	case y && !strings.HasSuffix(noun, "ey"):
		noun = stem + "ies" // 2 deliveries, and 2 keys
	default:
		noun += "s"
	}
	return count + " " + noun
}

// listed are several as a sentence has them: a, b and c.
func listed(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	last := len(parts) - 1
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}

// plural is the word for one, or for any other number.
func plural(n int64, one, other string) string {
	if n == 1 {
		return one
	}
	return other
}

// bytesOf says how long something is: 0 bytes, 812 bytes, 14 KB, 1.0 MB.
func bytesOf(n int64) string {
	switch {
	case n < 1000:
		return many(n, "byte")
	case n < 999_500:
		return fmt.Sprintf("%.0f KB", float64(n)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// text returns what a pointer points at, or nothing.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// person is what somebody is called: by name, else by e-mail.
func person(u sheaf.User) string {
	if u.Name != "" {
		return u.Name
	}
	return text(u.Email)
}

// initials are one or two letters for somebody.
func initials(u sheaf.User) string {
	out := ""
	for word := range strings.FieldsSeq(person(u)) {
		first, _ := utf8.DecodeRuneInString(word)
		if out += string(unicode.ToUpper(first)); utf8.RuneCountInString(out) == 2 {
			break
		}
	}
	return out
}

// article is the word before a role: "a" or "an".
func article(r sheaf.Role) string {
	if r == sheaf.Member {
		return "a"
	}
	return "an"
}
