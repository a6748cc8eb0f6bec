package sheaf

import (
	"bytes"
	"crypto/rand"
	"errors"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

var uuidV7 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func TestNewUUID_HasTheFormOfVersion7(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		id := NewUUID(time.UnixMilli(1_790_000_000_000), rand.Reader)
		if !uuidV7.MatchString(id) || seen[id] {
			t.Fatalf("got %s, twice %t", id, seen[id])
		}
		seen[id] = true
	}
	// The example of RFC 9562, A.6.
	random := bytes.NewReader([]byte{0x0c, 0xc3, 0x18, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f})
	if got := NewUUID(time.UnixMilli(0x017F22E279B0), random); got != "017f22e2-79b0-7cc3-98c4-dc0c0c07398f" {
		t.Errorf("got %s", got)
	}
}

func TestNewUUID_LaterSortsBehind(t *testing.T) {
	last := ""
	for _, ms := range []int64{0, 1, 255, 256, 1 << 20, 1_790_000_000_000, 1_790_000_000_001, 1<<48 - 1} {
		id := NewUUID(time.UnixMilli(ms), rand.Reader)
		if id <= last {
			t.Errorf("at %d ms: %s is not behind %s", ms, id, last)
		}
		last = id
	}
}

func TestNewUUID_PanicsWithoutRandomness(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("an identifier without randomness")
		}
	}()
	NewUUID(time.UnixMilli(0), iotest.ErrReader(errors.New("no")))
}

func TestParseUUID(t *testing.T) {
	const good = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"
	for in, want := range map[string]string{
		good:                                       good,
		strings.ToUpper(good):                      good,
		"017F22e2-79B0-7cc3-98C4-dc0c0c07398F":     good,
		"00000000-0000-0000-0000-000000000000":     "00000000-0000-0000-0000-000000000000",
		"ffffffff-ffff-ffff-ffff-ffffffffffff":     "ffffffff-ffff-ffff-ffff-ffffffffffff",
		"":                                         "",
		good[:35]:                                  "",
		good + "0":                                 "",
		" " + good[1:]:                             "",
		"{" + good[:34] + "}":                      "",
		strings.ReplaceAll(good, "-", ""):          "",
		"017f22e27-9b0-7cc3-98c4-dc0c0c07398f":     "",
		"017f22e2-79b0-7cc3-98c4-dc0c0c07398g":     "",
		"017f22e2-79b0-7cc3-98c4-dc0c0c07398G":     "",
		"017f22e2-79b0-7cc3-98c4-dc0c0c0739\u00e9": "",
		"017f22e2_79b0-7cc3-98c4-dc0c0c07398f":     "",
		"017f22e2-79b0-7cc3-98c4-dc0c0c07398@":     "",
		"017f22e2-79b0-7cc3-98c4-dc0c0c07398`":     "",
	} {
		if got, ok := ParseUUID(in); got != want || ok != (want != "") {
			t.Errorf("%q: got %q, %t, want %q", in, got, ok, want)
		}
	}
}

func FuzzParseUUID(f *testing.F) {
	f.Add("017f22e2-79b0-7cc3-98c4-dc0c0c07398f")
	f.Add("017F22E2-79B0-7CC3-98C4-DC0C0C07398F")
	f.Add("")
	form := regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := ParseUUID(s)
		if want := form.MatchString(s) && len(s) == 36; ok != want {
			t.Fatalf("%q: got %t, want %t", s, ok, want)
		}
		if ok && got != strings.ToLower(s) || !ok && got != "" {
			t.Fatalf("%q: got %q", s, got)
		}
	})
}

func TestParseEventID(t *testing.T) {
	const id = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"
	for in, want := range map[string]EventID{
		"evt_" + id:                  "evt_" + id,
		"evt_" + strings.ToUpper(id): "evt_" + id,
		id:                           "",
		"EVT_" + id:                  "",
		"evt-" + id:                  "",
		"evt":                        "",
		"":                           "",
		"evt_":                       "",
	} {
		got, ok := ParseEventID(in)
		if ok != (want != "") || ok && got != want {
			t.Errorf("%q: got %q, %t, want %q", in, got, ok, want)
		}
	}
}

func TestDeliveryID_IsMadeOfItsNumbers(t *testing.T) {
	for _, n := range [][2]int64{{1, 1}, {7, 42}, {1 << 40, 1 << 60}, {1<<48 - 1, 1<<62 - 1}} {
		id := NewDeliveryID(n[0], n[1])
		if subscription, event, ok := id.Numbers(); !ok || subscription != n[0] || event != n[1] {
			t.Errorf("%s of %v has the numbers %d and %d, %t", id, n, subscription, event, ok)
		}
		if id[14] != '8' {
			t.Errorf("%s is not of version 8", id)
		}
	}
	for _, other := range []DeliveryID{"0190b0a0-1234-7abc-8def-0123456789ab", "00000000-0007-8001-8000-00000000002a", "x"} {
		if _, _, ok := other.Numbers(); ok {
			t.Errorf("%s was not made of numbers", other)
		}
	}
}
