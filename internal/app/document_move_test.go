package app

import (
	"testing"

	"pgregory.net/rapid"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// D162: between two documents there is always room, or the fewest neighbours make it.
func TestMakeRoom_ChangesTheFewest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gaps := rapid.SliceOfN(rapid.SampledFrom([]int64{0, 0, 1, 1, 2, 3, 1 << 20}), 0, 8).Draw(t, "gaps")
		at := rapid.IntRange(0, len(gaps)).Draw(t, "position")
		order := rapid.SampledFrom([]int64{0, -sheaf.MaxNumber, sheaf.MaxNumber - 3}).Draw(t, "first")
		var all []store.Sibling
		for i, gap := range gaps {
			order = min(order+gap, sheaf.MaxNumber)
			all = append(all, store.Sibling{Order: order, Number: int64(i)})
		}
		var left []store.Sibling
		for i := at - 1; i >= 0; i-- {
			left = append(left, all[i])
		}
		right := all[at:]
		window, values, ok := makeRoom(left, right, len(all))
		if !ok {
			t.Fatalf("no room in %v", all)
		}
		// The new row of orders: strictly growing around the new document.
		changed, next := 0, at
		for _, s := range window {
			if s != nil {
				changed++
			}
		}
		for i := at - 1; i >= 0 && contains(window, left[at-1-i]); i-- {
			next = i
		}
		for i, v := range values {
			if v < -sheaf.MaxNumber || v > sheaf.MaxNumber || i > 0 && v <= values[i-1] {
				t.Fatalf("values %v of %v", values, all)
			}
		}
		if next > 0 && values[0] <= all[next-1].Order {
			t.Fatalf("value %d is not after %v", values[0], all[next-1])
		}
		if end := next + changed; end < len(all) && values[len(values)-1] >= all[end].Order {
			t.Fatalf("value %d is not before %v", values[len(values)-1], all[end])
		}
		if changed > 0 {
			if _, _, fewer := makeRoom(left, right, changed-1); fewer {
				t.Fatalf("%d neighbours of %v were changed, and fewer would do", changed, all)
			}
		}
	})
}

func contains(window []*store.Sibling, s store.Sibling) bool {
	for _, w := range window {
		if w != nil && w.Number == s.Number {
			return true
		}
	}
	return false
}
