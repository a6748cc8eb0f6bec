package engine

import "testing"

// Whichever programs have the file open, only our process runs checkpoints, one connection at a
// time.
func TestHold_KeepsOthersFromTheFile(t *testing.T) {
	t.Parallel()
	o := Options{Folder: t.TempDir()}
	first, second := openTest(t, o), openTest(t, o)
	put(t, first, "w")
	for i, s := range []Engine{first, second} {
		p := stopped(s)
		if !p.hold.Has() {
			t.Errorf("store %d does not have it", i)
		}
		if full, err := p.empty(); full || err != nil {
			t.Errorf("store %d cannot empty the log: %v", i, err)
		}
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	put(t, second, "x")
	if got := things(t, second); got != "w x" {
		t.Errorf("after the other store was closed: %s", got)
	}
}
