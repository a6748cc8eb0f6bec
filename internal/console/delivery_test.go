package console

import (
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
)

// nested returns nested arrays of this depth.
func nested(depth int, inside string) string {
	return strings.Repeat("[", depth) + inside + strings.Repeat("]", depth)
}

func TestPretty_IndentsWhatStaysReadable(t *testing.T) {
	for body, want := range map[string]string{
		`{"a":[1,"x,[]{}\"\\"],"b":{}}`: "{\n  \"a\": [\n    1,\n    \"x,[]{}\\\"\\\\\"\n  ],\n  \"b\": {}\n}",
		`["\"` + nested(100, "") + `"]`: "[\n  \"\\\"" + nested(100, "") + "\"\n]",
		"not JSON":                      "not JSON",
		"]]],{":                         "]]],{",
		"":                              "",
	} {
		if got := pretty([]byte(body)); got != want {
			t.Errorf("%s becomes %q", body, got)
		}
	}
	if got := pretty([]byte(nested(32, "1"))); strings.Count(got, "\n") != 64 {
		t.Errorf("32 levels become %q", got)
	}
	for name, body := range map[string]string{"33 levels": nested(33, "1"), "8190 levels": nested(8190, ""),
		"many in 32 levels": nested(32, strings.Repeat("1,", 4000)+"1")} {
		if got := pretty([]byte(body)); got != body {
			t.Errorf("%s become %d bytes", name, len(got))
		}
	}
}

// The length is bounded, whatever the endpoint answers.
func FuzzPretty(f *testing.F) {
	for _, body := range []string{`{"a":[1,2],"b":"\""}`, nested(40, ""), nested(32, strings.Repeat("1,", 300)+"1"), `"\`, "]},:", "[" + strings.Repeat("{},", 2000) + "1]"} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if got := pretty([]byte(body)); len(got) > 4*len(body)+4<<10 {
			t.Errorf("%d bytes become %d", len(body), len(got))
		}
	})
}

// An answer that indenting would make too long is shown unchanged.
func TestDelivery_DeeplyNestedAnswersAreNotIndented(t *testing.T) {
	body := nested(8190, "")
	if got := viewAttempt(sheaf.Attempt{ResponseBody: body}, 0).Body; got != body {
		t.Errorf("16 KB become %d bytes", len(got))
	}
}
