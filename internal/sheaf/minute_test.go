package sheaf_test

import (
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
)

func TestPercentile_IsABoundThatHolds(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		took []time.Duration
		p    int64
		want time.Duration
	}{
		{nil, 95, 0},
		{[]time.Duration{4 * ms}, 95, 4 * ms},                                  // never more than the longest
		{[]time.Duration{4 * ms, 20 * ms}, 50, 10 * ms},                        // the end of the class
		{[]time.Duration{4 * ms, 20 * ms}, 51, 20 * ms},                        // half of them are not enough
		{[]time.Duration{10 * ms, 10*ms + 1, 30 * ms, 5000 * ms}, 75, 30 * ms}, // ends belong to their class
		{[]time.Duration{10 * ms, 10*ms + 1, 30 * ms, 5000 * ms}, 76, 5000 * ms},
	} {
		var c sheaf.Counts
		for _, d := range test.took {
			c.Took[sheaf.TookClass(d)]++
			c.TookMax = max(c.TookMax, d)
		}
		if got := c.Percentile(test.p); got != test.want {
			t.Errorf("%d of 100 of %v: %v, want %v", test.p, test.took, got, test.want)
		}
	}
}
