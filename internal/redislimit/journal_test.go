package redislimit

import (
	"maps"
	"testing"
	"time"
)

func TestJournal_TellsOnceUnlessAskedForAll(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_800_000_000, 0)
	j := journal{window: time.Minute}
	j.add("shared", none, start, 7)
	j.add("alone", none, start, 0)
	equal := func(a, b []int64) bool { return len(a) == 1 && len(b) == 1 && a[0] == b[0] }
	now := start.Add(time.Second)
	if got := j.times(false, now, 9e6); !maps.EqualFunc(got, map[string][]int64{"alone": {8e6}}, equal) {
		t.Errorf("got %v, want the one that Redis does not know, a second ago", got)
	}
	j.add("later", none, now, 0) // while Redis is being told
	j.told()
	if got := j.times(false, now, 9e6); !maps.EqualFunc(got, map[string][]int64{"later": {9e6}}, equal) {
		t.Errorf("got %v, want the later one alone", got)
	}
	all := map[string][]int64{"shared": {7}, "alone": {8e6}, "later": {9e6}}
	if got := j.times(true, now, 50e6); !maps.EqualFunc(got, all, equal) {
		t.Errorf("got %v, want all, with the times they were given", got)
	}
	if got := j.times(true, start.Add(time.Minute+time.Nanosecond), 0); len(got) != 1 {
		t.Errorf("got %v, want what is not older than the window", got)
	}
}

func TestJournal_IsBounded(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_800_000_000, 0)
	j := journal{window: time.Minute}
	for range journalMost + 1000 {
		j.add("k", none, start, 0)
	}
	if n := len(j.times(true, start, 1e9)["k"]); n != journalMost || j.alone != journalMost || len(j.entries) > 2*journalMost {
		t.Errorf("%d told, %d alone, %d kept", n, j.alone, len(j.entries))
	}
	j.add("k", none, start.Add(2*time.Minute), 0)
	if n := len(j.entries) - j.first; n != 1 || j.alone != 1 {
		t.Errorf("%d left after the window, %d alone", n, j.alone)
	}
}
