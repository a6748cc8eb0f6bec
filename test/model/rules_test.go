package model

import (
	"math"
	"regexp"
	"strings"
	"unicode/utf8"
)

// The values that fields may have (D3, D4, D15, D23, D24).

func text(v any, least, most int) bool {
	s, ok := v.(string)
	n := utf8.RuneCountInString(s)
	return ok && least <= n && n <= most && !strings.Contains(s, "\x00")
}

func orNull(valid func(any) bool) func(any) bool {
	return func(v any) bool { return v == nil || valid(v) }
}

func name(most int) func(any) bool {
	return func(v any) bool { return text(v, 1, most) && strings.TrimSpace(v.(string)) != "" }
}

func upTo(least, most int) func(any) bool { return func(v any) bool { return text(v, least, most) } }

var hexColor = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)

func isColor(v any) bool {
	s, ok := v.(string)
	return ok && hexColor.MatchString(s)
}

func isIDValue(v any) bool {
	s, ok := v.(string)
	return ok && isID(s)
}

func isInt32(v any) bool {
	f, ok := v.(float64)
	return ok && f == math.Trunc(f) && math.MinInt32 <= f && f <= math.MaxInt32
}

func is(values ...string) func(any) bool {
	return func(v any) bool {
		s, ok := v.(string)
		return ok && oneOf(values...)(s)
	}
}

func isBool(v any) bool {
	_, ok := v.(bool)
	return ok
}

// eachOf reports a list with at least one value, all known.
func eachOf(known []string) func(any) bool {
	return func(v any) bool {
		list, ok := v.([]any)
		for _, x := range list {
			ok = ok && is(known...)(x)
		}
		return ok && len(list) > 0
	}
}

// unique returns each value once, in their order.
func unique(v any) []any {
	out := []any{}
	for _, x := range v.([]any) {
		known := false
		for _, y := range out {
			known = known || x == y
		}
		if !known {
			out = append(out, x)
		}
	}
	return out
}
