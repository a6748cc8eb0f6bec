package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"sheaf.dev/internal/sheaf"
)

// timeElement returns a time as HTML, with an optional attribute. A script shows a near time as "5
// minutes ago", and any other in the reader's zone; the exact UTC is in the title.
func timeElement(t any, mark string) template.HTML {
	at, ok := t.(time.Time)
	if p, is := t.(*time.Time); is && p != nil {
		at, ok = *p, true
	}
	if !ok {
		return `<span class="muted">never</span>`
	}
	at = at.UTC()
	// #nosec G203 -- only a time, in three formats, and a constant
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s"%s>%s</time>`, at.Format(sheaf.TimeFormat),
		at.Format("2006-01-02 15:04:05.000 UTC"), mark, at.Format("2 Jan 2006, 15:04")))
}

// exact returns a time as the API writes it.
func exact(t any) string {
	if p, is := t.(*time.Time); is && p != nil {
		t = *p
	}
	at, _ := t.(time.Time)
	return at.UTC().Format(sheaf.TimeFormat)
}

// figure returns a whole number with a comma between thousands: 12,480.
func figure(n any) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// many returns a number with its noun: 1 project, 2 projects, 3,000 deliveries.
func many(n any, noun string) string {
	count := figure(n)
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

// listed joins the parts for a sentence: a, b and c.
func listed(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	last := len(parts) - 1
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}

// plural returns `one` if n is 1, and `other` for any other number.
func plural(n int64, one, other string) string {
	if n == 1 {
		return one
	}
	return other
}

// bytesOf returns a size in bytes: 0 bytes, 812 bytes, 14 KB, 1.0 MB.
func bytesOf(n int64) string {
	switch {
	case n < 1000:
		return many(n, "byte")
	case n < 999_500:
		return fmt.Sprintf("%.0f KB", float64(n)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// text returns *s, or "" if s is nil.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// person returns the user's name, or else the e-mail.
func person(u sheaf.User) string {
	if u.Name != "" {
		return u.Name
	}
	return text(u.Email)
}

// initials returns one or two letters of the user's name.
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

// toneOf returns the colour of a delivery's state.
func toneOf(s sheaf.DeliveryState) string {
	switch s {
	case sheaf.Delivered:
		return "good"
	case sheaf.Failed:
		return "bad"
	case sheaf.Held:
		return "warn"
	}
	return ""
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}

// health is the state of a webhook in a word or two, and its colour.
type health struct{ Tone, Text string }

func healthOf(s sheaf.Subscription) health {
	switch {
	case s.Active && s.FailureCount > 0:
		return health{"warn", fmt.Sprintf("failing %d of %d", s.FailureCount, sheaf.MaxFailures)}
	case s.Active:
		return health{"good", "active"}
	case s.DeactivationReason != nil && *s.DeactivationReason == sheaf.ByFailures:
		return health{"bad", "deactivated"}
	}
	return health{"", "paused"}
}

// markdownOf returns the Markdown that shows a picture, or links to any other file.
func markdownOf(m sheaf.Medium) string {
	name := m.Filename
	if m.Picture() {
		name = strings.TrimSuffix(name, path.Ext(name))
	}
	link := "[" + strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`).Replace(name) + "](media:" + string(m.ID) + ")"
	if m.Picture() {
		return "!" + link
	}
	return link
}

// maxIndent is the greatest depth of JSON that is indented: as deep as the API accepts it.
const maxIndent = 32

// pretty indents JSON. It returns anything else unchanged, and also JSON that would become longer
// than four times its length and 4 KB: the length grows with the square of the depth, and 16 KB of
// brackets would become 134 MB.
func pretty(b []byte) string {
	depth, size, quoted := 0, len(b), false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
			size += 1 + 2*depth
		case c == ']' || c == '}':
			depth--
			size += 1 + 2*max(depth, 0)
		case c == ',':
			size += 1 + 2*max(depth, 0)
		case c == ':':
			size++
		}
		if depth > maxIndent || size > 4*len(b)+4<<10 {
			return string(b)
		}
	}
	var out bytes.Buffer
	if json.Indent(&out, b, "", "  ") != nil {
		return string(b)
	}
	return out.String()
}
