package strict_test

import (
	"encoding/json"
	"regexp"
	"testing"
	"time"

	"sheaf.dev/internal/strict"
)

func TestTime_TakesRFC3339InUTC(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"2026-11-15T10:00:00Z":                "2026-11-15T10:00:00Z",
		"2026-11-15T10:00:00.000Z":            "2026-11-15T10:00:00Z",
		"2026-11-15T10:00:00.123456789+01:30": "2026-11-15T08:30:00.123456789Z",
		"2024-02-29T23:59:59-23:59":           "2024-03-01T23:58:59Z",
		"2026-11-15T10:00:00-00:00":           "2026-11-15T10:00:00Z",
		"0000-01-01T00:00:00Z":                "0000-01-01T00:00:00Z",
	} {
		got, err := strict.Time(s)
		if err != nil || got.Format(time.RFC3339Nano) != want || got.Location() != time.UTC {
			t.Errorf("%s: got %v, %v, want %s", s, got, err, want)
		}
	}
}

func TestTime_RefusesTheRest(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "now", "2026-11-15", "2026-11-15T10:00:00", "2026-11-15 10:00:00Z", "2026-11-15t10:00:00Z", "2026-11-15T10:00:00z",
		"2026-11-15T1:00:00Z", "2026-11-15T10:00:00,5Z", "2026-11-15T10:00:00.Z", "2026-11-15T10:00:00.1234567890Z",
		"2026-11-15T10:00:00+24:00", "2026-11-15T10:00:00+01:60", "2026-11-15T10:00:00+0100", "2026-11-15T10:00:00+01",
		"2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-11-15T24:00:00Z",
		"2026-11-15T10:60:00Z", "2016-12-31T23:59:60Z", "12026-11-15T10:00:00Z", "-026-11-15T10:00:00Z", "2026-11-15T10:00:00Z ",
		" 2026-11-15T10:00:00Z", "2026-11-15T10:00:00ZZ", "9999-12-31T23:59:59-01:00", "0000-01-01T00:00:00+01:00",
		"2026-11-15T10:00:00.٣Z",
	} {
		if got, err := strict.Time(s); err == nil {
			t.Errorf("%q: got %v, want a refusal", s, got)
		}
	}
}

var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// FuzzTime holds Time against a regular expression and the way encoding/json reads a time.
func FuzzTime(f *testing.F) {
	for _, seed := range []string{
		"2026-11-15T10:00:00.000Z", "2026-11-15T10:00:00+01:30", "2026-11-15T1:00:00Z", "2026-11-15T10:00:00,5Z",
		"2026-11-15T10:00:00+24:00", "9999-12-31T23:59:59-01:00", "2016-12-31T23:59:60Z",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := strict.Time(s)
		var want time.Time
		quoted, _ := json.Marshal(s)
		known := json.Unmarshal(quoted, &want) == nil && rfc3339.MatchString(s)
		known = known && want.UTC().Year() >= 0 && want.UTC().Year() <= 9999
		if (err == nil) != known {
			t.Fatalf("got %v, %v, want %v, %v", got, err, want, known)
		}
		if err == nil && !got.Equal(want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}
