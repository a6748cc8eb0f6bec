//go:build !race

// The race detector allocates itself, so what is measured here is measured without it:
// ./scripts/test runs both.

package strict_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/strict"
)

// hostile are bodies of up to 10 MiB that cost a careless reader dearly.
func hostile() map[string][]byte {
	const size = 10 << 20
	members := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	fill := func(before, part, after string) []byte {
		return []byte(before + strings.Repeat(part, (size-len(before)-len(after))/len(part)) + after)
	}
	return map[string][]byte{
		"200k names":         []byte(`{"x":{` + members(200_000, `"%d":0`) + `}}`),
		"200k top names":     []byte(`{` + members(200_000, `"%d":0`) + `}`),
		"750k names":         []byte(`{` + members(750_000, `"%d":0`) + `}`),
		"500k escaped names": []byte(`{` + members(500_000, `"\u006ea%d":0`) + `}`),
		"1M digits":          []byte(`{"x":` + strings.Repeat("9", 1_000_000) + `}`),
		"10M digits":         fill(`{"x":`, "9", `}`),
		"brackets":           fill(`{"x":`, "[", ``),
		"empty objects":      fill(`{"x":[0`, ",{}", `]}`),
		"small objects":      fill(`{"x":[0`, `,{"a":0}`, `]}`),
		"one string":         fill(`{"x":"`, "a", `"}`),
		"escapes":            fill(`{"x":"`, `\\`, `"}`),
		"NULs almost":        fill(`{"x":"`, `\\u0000`, `"}`),
		"long name":          fill(`{"`, "a", `":0}`),
		"long names":         []byte(`{` + members(100, `"`+strings.Repeat("a", 100_000)+`%d":0`) + `}`),
		"white space":        fill(`{`, "\n", `}`),
		"open string":        fill(`{"x":"`, "a", ``),
	}
}

// It does not run beside others: it measures what they would allocate too.
func TestParseObject_HostileBodiesAreCheap(t *testing.T) {
	for name, body := range hostile() {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		o, err := strict.ParseObject(body)
		o.Has("name")
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		allocated := after.TotalAlloc - before.TotalAlloc
		t.Logf("%-20s %5.1f MiB body: %8v, allocated %5.1f MiB, %v", name, float64(len(body))/(1<<20),
			took.Round(time.Microsecond), float64(allocated)/(1<<20), err)
		if allocated > 12*uint64(len(body))+(1<<20) {
			t.Errorf("%s: allocated %d bytes for a body of %d", name, allocated, len(body))
		}
	}
}
