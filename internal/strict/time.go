package strict

import (
	"errors"
	"time"
)

var errTime = errors.New("must be an RFC 3339 time such as 2026-11-15T10:00:00.000Z")

// Time reads an RFC 3339 time and returns it in UTC. It wants two digits everywhere, a capital T
// and Z, at most nine digits of fraction after a full stop, an offset below 24:00, and a year from
// 0 to 9999 in UTC as well; time.Parse alone is laxer. A leap second is refused. The error's text
// fits FieldError.Text.
func Time(s string) (time.Time, error) {
	if !shapedAsTime(s) {
		return time.Time{}, errTime
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, errTime
	}
	t = t.UTC()
	if t.Year() < 0 || t.Year() > 9999 {
		return time.Time{}, errTime
	}
	return t, nil
}

// shapedAsTime checks where digits and signs stand, and the offset, which time.Parse does not
// bound; the ranges of date and time of day are left to time.Parse.
func shapedAsTime(s string) bool {
	const shape = "0000-00-00T00:00:00"
	if len(s) <= len(shape) || !matches(s[:len(shape)], shape) {
		return false
	}
	s = s[len(shape):]
	if s[0] == '.' {
		n := digits(s[1:])
		if n < 1 || n > 9 {
			return false
		}
		s = s[1+n:]
	}
	return s == "Z" || isOffset(s)
}

func isOffset(s string) bool {
	return (matches(s, "+00:00") || matches(s, "-00:00")) && s[1:3] <= "23" && s[4:] <= "59"
}

// matches reports whether s has a digit where shape has 0 and the same characters elsewhere.
func matches(s, shape string) bool {
	if len(s) != len(shape) {
		return false
	}
	for i := range len(s) {
		if s[i] != shape[i] && !(shape[i] == '0' && isDigit(s[i])) {
			return false
		}
	}
	return true
}

// digits counts the digits that s begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
