package strict_test

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"sheaf.dev/internal/strict"
)

func TestParseQuery_RefusesAndNamesTheParameter(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ raw, field, text string }{
		{"limit=%", "limit", "percent escape"},
		{"a=1&limit=%zz", "limit", "percent escape"},
		{"%=1", "query", "percent escape"},
		{"a%4=1", "query", "percent escape"},
		{"=%zz", "query", "percent escape"},
		{"limit=1;offset=2", "limit", "semicolon"},
		{"a;b", "query", "semicolon"},
		{"q=%ff", "q", "UTF-8"},
		{"q=\xc0\x80", "q", "UTF-8"},
		{"%ff=1", "query", "UTF-8"},
		{"q=a%00", "q", "NUL"},
		{"q%00=a", "query", "NUL"},
		{"q+r=%00", `["q r"]`, "NUL"},
		{strings.Repeat("q", 10000) + "=%", `["` + strings.Repeat("q", 64) + `…"]`, "percent escape"},
	} {
		t.Run(cutTo(tc.raw, 20), func(t *testing.T) {
			t.Parallel()
			_, err := strict.ParseQuery(tc.raw)
			wantFieldError(t, err, tc.field, tc.text)
		})
	}
}

func cutTo(s string, n int) string { return s[:min(len(s), n)] }

func query(t *testing.T, raw string) strict.Query {
	t.Helper()
	q, err := strict.ParseQuery(raw)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestQuery_LastOfARepeatedParameterCounts(t *testing.T) {
	t.Parallel()
	q := query(t, "limit=abc&limit=10&&status=a+b%26%C3%A9%3B&flag&=x&limit=20")
	if n, err := q.Int("limit", 50, 1, 100); n != 20 || err != nil {
		t.Errorf("got %d, %v, want 20", n, err)
	}
	if got := q.Text("status"); got != "a b&é;" {
		t.Errorf("got %q, want the decoded text", got)
	}
	if !q.Has("flag") || q.Text("flag") != "" || q.Has("Limit") || q.Has("offset") || q.Text("offset") != "" {
		t.Error("presence is wrong")
	}
	if n, err := q.Int("offset", 7, 0, 10); n != 7 || err != nil {
		t.Errorf("got %d, %v, want the default", n, err)
	}
}

func TestQueryInt_TakesPlainDigitsInRangeOnly(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]int{"1": 1, "100": 100, "007": 7, "-5": -5} {
		if n, err := query(t, "n="+raw).Int("n", 0, -5, 100); n != want || err != nil {
			t.Errorf("%s: got %d, %v, want %d", raw, n, err, want)
		}
	}
	if n, err := query(t, "n=-0").Int("n", 0, -5, 100); err == nil {
		t.Errorf("-0: got %d, want a refusal", n)
	}
	for _, raw := range []string{
		"", "0", "101", "-1", "-0", "-", "%2B5", "+5", "5+", " 5", "5.0", "1e1", "0x10", "1_0", "٣", "ten",
		"99999999999999999999999", strings.Repeat("0", 100) + "5", strings.Repeat("9", 100000),
	} {
		_, err := query(t, "limit="+raw).Int("limit", 50, 1, 100)
		if err == nil || err.Error() != "`limit` must be a whole number from 1 to 100" {
			t.Errorf("%.30s: got %v, want a refusal that names the range", raw, err)
		}
	}
}

// FuzzParseQuery holds ParseQuery against net/url.
func FuzzParseQuery(f *testing.F) {
	for _, seed := range []string{
		"", "limit=1&limit=2", "a=%zz", "a;b=c", "a=%00", "a=%ff", "&&=&a", "a=b=c", "q=a+b%20c", "%C3%A9=%F0%9F%98%80", "limit=-0",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		q, err := strict.ParseQuery(raw)
		want, wantErr := url.ParseQuery(raw)
		clean := true
		for name, values := range want {
			for _, text := range append(values, name) {
				clean = clean && utf8.ValidString(text) && !strings.Contains(text, "\x00")
			}
		}
		if (err == nil) != (wantErr == nil && clean) {
			t.Fatalf("got %v, net/url says %v, clean is %v", err, wantErr, clean)
		}
		if err != nil {
			return
		}
		for name, values := range want {
			if last := values[len(values)-1]; !q.Has(name) || q.Text(name) != last {
				t.Fatalf("%q: got %q, want %q", name, q.Text(name), last)
			}
			if n, err := q.Int(name, 0, 1, 100); err == nil && (n < 1 || n > 100) {
				t.Fatalf("%q: got %d", name, n)
			}
		}
	})
}
