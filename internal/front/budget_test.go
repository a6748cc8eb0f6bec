package front

import "testing"

// In a container of 128 MB a workspace had room for ten bodies of a megabyte at once, and the
// eleventh of a burst was refused. Another workspace has as much room meanwhile.
func TestBudget_ABurstFitsIntoASmallProcess(t *testing.T) {
	bodies, _ := budgetsFor(128 << 20)
	for _, ws := range []string{"one", "other"} {
		for i := range 20 {
			if !new(held).reserve(bodies, ws, 1<<20) {
				t.Fatalf("body %d of workspace %s is refused", i+1, ws)
			}
		}
		if new(held).reserve(bodies, ws, 1<<20) {
			t.Errorf("workspace %s has more than its share", ws)
		}
	}
	if bodies.size() != 4*MaxBody {
		t.Errorf("%d bytes are held", bodies.size())
	}
}
