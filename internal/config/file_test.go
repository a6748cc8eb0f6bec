package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseFile(t *testing.T) {
	for name, test := range map[string]struct {
		content  string
		values   map[string]string
		problems int
	}{
		"empty":                  {"", map[string]string{}, 0},
		"comments and blanks":    {"# x\n\n  # addr = y\n", map[string]string{}, 0},
		"spaces, CRLF, no end":   {"  addr=a  \r\ndata = b c", map[string]string{"addr": "a", "data": "b c"}, 0},
		"byte order mark":        {"\ufeffaddr = a\n", map[string]string{"addr": "a"}, 0},
		"signs inside a value":   {"redis-url = redis://h?a=b#c\n", map[string]string{"redis-url": "redis://h?a=b#c"}, 0},
		"an empty value":         {"redis-url =\n", map[string]string{"redis-url": ""}, 0},
		"a list repeats":         {"trusted-proxy = a\ntrusted-proxy = b\n", map[string]string{"trusted-proxy": "a,b"}, 0},
		"anything else does not": {"addr = a\naddr = b\n", map[string]string{"addr": "a"}, 1},
		"quotes":                 {"addr = \"a\"\ndata = 'b'\n", map[string]string{}, 2},
		"unknown keys":           {"adr = a\n--addr = a\nADDR = a\n[serve]\n= a\n", map[string]string{}, 5},
	} {
		values, problems := parseFile(test.content)
		if diff := cmp.Diff(test.values, values); diff != "" || len(problems) != test.problems {
			t.Errorf("%s: problems %v, values (-want +got):\n%s", name, problems, diff)
		}
	}
}

func TestParseFile_ABareSecretIsNotRepeated(t *testing.T) {
	for _, line := range []string{testKey, strings.Repeat("hunterhunter", 4) + "=", "postgres://u:hunter2@h/db?sslmode=disable", "database-url postgres://u:hunter2@h/db"} {
		_, problems := parseFile(line)
		if len(problems) != 1 || strings.Contains(problems[0].Error(), line[:12]) || strings.Contains(problems[0].Error(), "hunter2") {
			t.Errorf("%q: got %v", line, problems)
		}
	}
}

func FuzzParseFile(f *testing.F) {
	f.Add("addr = a\n# comment\ntrusted-proxy = 10.0.0.0/8\n")
	f.Add("\ufeffadr\r\naddr==\x00\n'='")
	f.Add("trusted-proxy=\"\ntrusted-proxy='x'\nretention = \xff")
	f.Fuzz(func(t *testing.T, content string) {
		values, problems := parseFile(content)
		lines := strings.Count(content, "\n") + 1
		if len(values)+len(problems) > lines {
			t.Errorf("%d values and %d problems out of %d lines", len(values), len(problems), lines)
		}
		for key, value := range values {
			if _, known := statements[key]; !known {
				t.Errorf("the unknown key %q has a value", key)
			}
			if strings.Contains(value, "\n") || value != strings.TrimSpace(value) {
				t.Errorf("the value of %s is not trimmed: %q", key, value)
			}
		}
		// The values can be written and read again.
		var again strings.Builder
		for key, value := range values {
			if known, _ := statements[key]; known.list {
				delete(values, key) // a quote on each of two lines is allowed, but joined they would be quotes around the value
				continue
			}
			again.WriteString(key + " = " + value + "\n")
		}
		reread, problems := parseFile(again.String())
		if diff := cmp.Diff(values, reread); diff != "" || len(problems) > 0 {
			t.Errorf("read again: problems %v, values (-first +second):\n%s", problems, diff)
		}
	})
}
