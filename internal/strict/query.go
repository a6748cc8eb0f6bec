package strict

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Query is a query string that obeys the rules of ParseQuery. Of a parameter sent more than once
// the last one counts; names match by exact case; parameters nobody asks for are ignored. Safe for
// concurrent reading.
type Query struct{ pairs []Pair }

// ParseQuery reads the raw query of a URL, the part after the question mark. Every error is a
// *FieldError, which names the parameter if it has a readable name, else query: a broken percent
// escape, a bare semicolon (some proxies split there, others do not), or, once decoded, invalid
// UTF-8 or a NUL character.
func ParseQuery(raw string) (Query, error) {
	var q Query
	for raw != "" {
		var part string
		part, raw, _ = strings.Cut(raw, "&")
		if part == "" {
			continue
		}
		pair, err := parsePair(part)
		if err != nil {
			return Query{}, err
		}
		q.pairs = append(q.pairs, pair)
	}
	return q, nil
}

// parsePair reads name=value.
func parsePair(part string) (Pair, error) {
	rawName, rawValue, _ := strings.Cut(part, "=")
	name, problem := decode(rawName)
	if problem != "" {
		return Pair{}, &FieldError{"query", problem}
	}
	value, problem := decode(rawValue)
	if problem != "" {
		return Pair{}, &FieldError{parameter(name), problem}
	}
	return Pair{name, value}, nil
}

// decode undoes the escaping of a name or a value and says what is wrong with it, if anything.
func decode(raw string) (text, problem string) {
	if strings.IndexByte(raw, ';') >= 0 {
		return "", "contains a semicolon: separate parameters with & and write a semicolon as %3B"
	}
	text, err := url.QueryUnescape(raw)
	switch {
	case err != nil:
		return "", "has a broken percent escape: write % and two hexadecimal digits, and a percent sign as %25"
	case !utf8.ValidString(text):
		return "", utf8Text
	case strings.IndexByte(text, 0) >= 0:
		return "", nulText
	}
	return text, ""
}

// parameter is how an error calls a parameter, which may have no name.
func parameter(name string) string {
	if name == "" {
		return "query"
	}
	return shown(name)
}

// Has reports whether the parameter is there, empty or not.
func (q Query) Has(name string) bool {
	_, ok := q.find(name)
	return ok
}

// Text returns the parameter's value, or "" if it is not there.
func (q Query) Text(name string) string {
	value, _ := q.find(name)
	return value
}

// Int returns the parameter as a whole number from min to max, or def if it is not there. Anything
// but plain decimal digits, with a minus sign before a negative number, is refused with a
// *FieldError, and so is an empty value.
func (q Query) Int(name string, def, min, max int) (int, error) {
	value, ok := q.find(name)
	if !ok {
		return def, nil
	}
	n, ok := decimal(value)
	if !ok || n < min || n > max {
		return 0, &FieldError{shown(name), wholeNumber(int64(min), int64(max))}
	}
	return n, nil
}

// decimal reads a whole number as a person writes one: no plus sign, and no -0.
func decimal(s string) (int, bool) {
	const longest = len("-9223372036854775808")
	if s == "" || len(s) > longest || s[0] == '+' {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && (s[0] != '-' || n < 0)
}

// find returns the last parameter of that name.
func (q Query) find(name string) (string, bool) {
	for i := len(q.pairs) - 1; i >= 0; i-- {
		if q.pairs[i].Name == name {
			return q.pairs[i].Value, true
		}
	}
	return "", false
}
