package strict

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// The longest name and the longest path that an error repeats, in bytes: a hostile name must not
// come back whole.
const (
	maxNameShown = 64
	maxPathShown = 256
)

// path writes a JSON pointer as a person would: payload.items[2].name. The decoder must still stand
// where the pointer was taken, because only its stack tells an array's index from an object's name
// made of digits.
func path(d *jsontext.Decoder, p jsontext.Pointer) string {
	var b strings.Builder
	level := 0
	for token := range p.Tokens() {
		level++
		if level <= d.StackDepth() && isArray(d, level) {
			b.WriteString("[" + token + "]")
		} else {
			writeName(&b, token)
		}
		if b.Len() > maxPathShown {
			return cut(b.String(), maxPathShown)
		}
	}
	if level == 0 {
		return "body"
	}
	return b.String()
}

func isArray(d *jsontext.Decoder, level int) bool {
	kind, _ := d.StackIndex(level)
	return kind == jsontext.KindBeginArray
}

// writeName appends one object name to a path: .name, or ["a name"] where a plain one would
// mislead.
func writeName(b *strings.Builder, name string) {
	name = cut(name, maxNameShown)
	if !plain(name) {
		b.WriteString("[" + strconv.Quote(name) + "]")
		return
	}
	if b.Len() > 0 {
		b.WriteByte('.')
	}
	b.WriteString(name)
}

// shown returns a path of object names alone, as errors write it.
func shown(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		writeName(&b, name)
	}
	return b.String()
}

// plain reports whether a name can stand in a path without quotes.
func plain(name string) bool {
	for i := range len(name) {
		c := name[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-') {
			return false
		}
	}
	return name != ""
}

// cut shortens s to at most limit bytes and an ellipsis, between characters.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
