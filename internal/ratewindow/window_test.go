package ratewindow_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sheaf.dev/internal/ratewindow"
)

var start = time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return start.Add(d) }

func want(t *testing.T, got, want ratewindow.Decision) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
}

func TestAdmit_CountsDownAndRefuses(t *testing.T) {
	t.Parallel()
	w := ratewindow.New()
	want(t, w.Peek("k", 2, at(0)), ratewindow.Decision{Admitted: true, Limit: 2, Remaining: 2})
	want(t, w.Admit("k", 2, at(0)), ratewindow.Decision{Admitted: true, Limit: 2, Remaining: 1})
	want(t, w.Peek("k", 2, at(10*time.Second)), ratewindow.Decision{Admitted: true, Limit: 2, Remaining: 1})
	want(t, w.Admit("k", 2, at(10*time.Second)), ratewindow.Decision{Admitted: true, Limit: 2, Reset: 51})
	want(t, w.Admit("k", 2, at(10500*time.Millisecond)), ratewindow.Decision{Limit: 2, Reset: 50, RetryAfter: 50})
	want(t, w.Peek("k", 2, at(59*time.Second)), ratewindow.Decision{Limit: 2, Reset: 2, RetryAfter: 2})
	want(t, w.Admit("other", 2, at(59*time.Second)), ratewindow.Decision{Admitted: true, Limit: 2, Remaining: 1})
	want(t, w.Peek("k", 2, at(61*time.Second)), ratewindow.Decision{Admitted: true, Limit: 2, Remaining: 1})
}

func TestAdmit_BothEndsOfAMinuteCount(t *testing.T) {
	t.Parallel()
	w := ratewindow.New()
	w.Admit("k", 1, at(0))
	if w.Admit("k", 1, at(time.Minute-1)).Admitted || w.Admit("k", 1, at(time.Minute)).Admitted {
		t.Fatal("admitted two within a closed interval of 60 seconds")
	}
	if !w.Admit("k", 1, at(time.Minute+1)).Admitted {
		t.Fatal("refused after more than 60 seconds")
	}
}

// What frees within the tolerance counts as free, for the key and for its group, and is counted all the same: in 60
// seconds less the tolerance there are never more than the limit.
func TestAdmitEarly_TakesASlotThatIsAboutToFree(t *testing.T) {
	t.Parallel()
	w, in := ratewindow.New(), ratewindow.Group{Name: "g", Ceiling: 2}
	const early = 500 * time.Millisecond
	w.AdmitIn("k", 2, in, at(0))
	w.AdmitIn("k", 2, in, at(time.Second))
	want(t, w.PeekEarly("k", 2, in, at(59*time.Second), early), ratewindow.Decision{Limit: 2, Reset: 2, RetryAfter: 2})
	want(t, w.AdmitIn("k", 2, in, at(59600*time.Millisecond)), ratewindow.Decision{Limit: 2, Reset: 1, RetryAfter: 1})
	want(t, w.AdmitEarly("k", 2, in, at(59600*time.Millisecond), early), ratewindow.Decision{Admitted: true, Limit: 2, Reset: 2})
	want(t, w.AdmitEarly("k", 2, in, at(59700*time.Millisecond), early), ratewindow.Decision{Limit: 2, Reset: 2, RetryAfter: 2})
	want(t, w.AdmitEarly("k", 2, in, at(60600*time.Millisecond), early), ratewindow.Decision{Admitted: true, Limit: 2, Reset: 60})
	want(t, w.Peek("g", 2, at(60600*time.Millisecond)), ratewindow.Decision{Limit: 2, Reset: 60, RetryAfter: 60})
}

func TestAdmit_SlidesAndIsNoBucket(t *testing.T) {
	t.Parallel()
	w := ratewindow.New()
	for i := range 100 { // one at 0, 99 at 59 s
		w.Admit("k", 100, at(min(time.Duration(i), 1)*59*time.Second))
	}
	if !w.Admit("k", 100, at(61*time.Second)).Admitted || w.Admit("k", 100, at(61*time.Second)).Admitted {
		t.Fatal("want exactly one admission at 61 s")
	}
}

func TestAdmit_LimitChangesApplyToPastAdmissions(t *testing.T) {
	t.Parallel()
	w := ratewindow.New()
	for i := range 5 {
		w.Admit("k", 5, at(time.Duration(i)*time.Second))
	}
	now := at(4500 * time.Millisecond)
	want(t, w.Admit("k", 2, now), ratewindow.Decision{Limit: 2, Reset: 59, RetryAfter: 59}) // the fourth, at 3 s
	want(t, w.Admit("k", 6, now), ratewindow.Decision{Admitted: true, Limit: 6, Reset: 56})
	want(t, w.Admit("k", 0, now), ratewindow.Decision{Admitted: true})
	want(t, w.Peek("k", 0, now), ratewindow.Decision{Admitted: true})
	want(t, w.Peek("k", 8, now), ratewindow.Decision{Admitted: true, Limit: 8, Remaining: 2})
}

func TestAdmit_WithoutALimitKeepsNothing(t *testing.T) {
	t.Parallel()
	w := ratewindow.New()
	for range 1000 {
		w.Admit("k", 0, at(0))
	}
	if n := w.Len(); n != 0 {
		t.Fatalf("got %d keys, want none", n)
	}
}

func TestAdmit_AClockThatGoesBackAdmitsNoMore(t *testing.T) {
	t.Parallel()
	w := ratewindow.New()
	for range 3 {
		w.Admit("k", 3, at(time.Hour))
	}
	w.Peek("k", 3, at(time.Hour+2*time.Minute))
	w.Sweep(at(time.Hour + 2*time.Minute)) // forgets k, but not how late it was
	for range 3 {
		w.Admit("k", 3, at(time.Hour))
	}
	got := w.Admit("k", 3, at(0))
	want(t, got, ratewindow.Decision{Limit: 3, Reset: 3600 + 120 + 61, RetryAfter: 3600 + 120 + 61})
	if !w.Admit("k", 3, at(time.Duration(got.RetryAfter)*time.Second)).Admitted {
		t.Fatal("refused after RetryAfter")
	}
}

func TestAdmit_AClockBehindTheFirstCallIsHarmless(t *testing.T) {
	t.Parallel()
	w := ratewindow.New()
	for _, now := range []time.Time{start, at(-time.Hour), {}, start.AddDate(2000, 0, 0), at(-time.Hour)} {
		w.Admit("k", 1, now)
	}
	if d := w.Admit("k", 1, start); d.Admitted || d.RetryAfter < 1 {
		t.Fatalf("got %+v, want a refusal", d)
	}
}

// model is the definition, written down: all admissions ever, and how many of them a closed minute holds.
type model map[string][]time.Time

func (m model) live(key string, now time.Time) (live []time.Time) {
	for _, t := range m[key] {
		if now.Sub(t) <= time.Minute {
			live = append(live, t)
		}
	}
	return live
}

func (m model) decide(key string, limit int, now time.Time) ratewindow.Decision {
	live := m.live(key, now)
	d := ratewindow.Decision{Admitted: len(live) < limit, Limit: limit, Remaining: max(limit-len(live), 0)}
	if !d.Admitted {
		d.RetryAfter = m.wait(key, limit, now)
		d.Reset = d.RetryAfter
	}
	return d
}

// wait tries second after second.
func (m model) wait(key string, limit int, now time.Time) int {
	for s := 1; ; s++ {
		if len(m.live(key, now.Add(time.Duration(s)*time.Second))) < limit {
			return s
		}
	}
}

func (m model) admit(key string, limit int, now time.Time) ratewindow.Decision {
	d := m.decide(key, limit, now)
	if d.Admitted {
		m[key] = append(m[key], now)
		if d.Remaining--; d.Remaining == 0 {
			d.Reset = m.wait(key, limit, now)
		}
	}
	return d
}

func TestWindow_AgreesWithTheDefinition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w, m := ratewindow.New(), model{}
		now := start
		keys := rapid.SampledFrom([]string{"a", "b", "c"})
		limits := rapid.SampledFrom([]int{1, 2, 3, 5, 9, 17})
		steps := rapid.OneOf(rapid.Int64Range(0, 5e9), rapid.SampledFrom([]int64{0, 1, 1e9, 30e9, 60e9 - 1, 60e9, 60e9 + 1}))
		limit := limits.Draw(t, "limit")
		for range rapid.IntRange(1, 150).Draw(t, "requests") {
			now = now.Add(time.Duration(steps.Draw(t, "step")))
			key := keys.Draw(t, "key")
			switch rapid.IntRange(0, 9).Draw(t, "act") {
			case 0:
				limit = limits.Draw(t, "limit")
			case 1:
				w.Sweep(now)
			case 2:
				if got, want := w.Peek(key, limit, now), m.decide(key, limit, now); got != want {
					t.Fatalf("peek: got %+v, want %+v", got, want)
				}
			default:
				if got, want := w.Admit(key, limit, now), m.admit(key, limit, now); got != want {
					t.Fatalf("admit: got %+v, want %+v", got, want)
				}
			}
		}
	})
}

// admitIn is the definition for a key of a group: both decide, and both count or neither does.
func (m model) admitIn(key string, limit int, in ratewindow.Group, now time.Time) ratewindow.Decision {
	d, g := m.decide(key, limit, now), m.decide(in.Name, in.Ceiling, now)
	if !d.Admitted || !g.Admitted {
		return ratewindow.Decision{Limit: limit, Remaining: min(d.Remaining, g.Remaining), Reset: max(d.Reset, g.Reset),
			RetryAfter: max(d.RetryAfter, g.RetryAfter), Shared: d.Admitted}
	}
	d, g = m.admit(key, limit, now), m.admit(in.Name, in.Ceiling, now)
	d.Remaining, d.Reset = min(d.Remaining, g.Remaining), max(d.Reset, g.Reset)
	return d
}

func TestWindow_OfAGroupAgreesWithTheDefinition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w, m := ratewindow.New(), model{}
		now := start
		keys := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"})
		limit := rapid.SampledFrom([]int{1, 2, 3}).Draw(t, "limit")
		in := ratewindow.Group{Name: "group", Ceiling: rapid.SampledFrom([]int{1, 2, 4, 6, 9}).Draw(t, "ceiling")}
		steps := rapid.OneOf(rapid.Int64Range(0, 5e9), rapid.SampledFrom([]int64{0, 1, 1e9, 30e9, 60e9 - 1, 60e9, 60e9 + 1}))
		for range rapid.IntRange(1, 150).Draw(t, "requests") {
			now = now.Add(time.Duration(steps.Draw(t, "step")))
			key := keys.Draw(t, "key")
			peeked := w.PeekIn(key, limit, in, now)
			got, want := w.AdmitIn(key, limit, in, now), m.admitIn(key, limit, in, now)
			if got != want || peeked.Admitted != want.Admitted {
				t.Fatalf("got %+v, want %+v; peeked %+v", got, want, peeked)
			}
		}
	})
}

// Any number of keys of one group, each within its limit, admit no more than the ceiling, and exactly that.
func TestAdmitIn_TheCeilingIsExactUnderConcurrency(t *testing.T) {
	t.Parallel()
	w, in := ratewindow.New(), ratewindow.Group{Name: "group", Ceiling: 500}
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			for i := range 50 {
				if w.AdmitIn(fmt.Sprint("key", g, i%10), 3, in, at(time.Duration(i)*time.Millisecond)).Admitted {
					admitted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if n := admitted.Load(); n != 500 {
		t.Errorf("%d admitted, want 500", n)
	}
}

func TestAdmit_GrowingKeepsTheOrderOfAdmissions(t *testing.T) {
	t.Parallel()
	const limit = 40
	for old := range 12 { // how many admissions have expired before the others come
		w, m := ratewindow.New(), model{}
		for i := range 150 {
			now := at(time.Duration(i) * 100 * time.Millisecond)
			if i >= old {
				now = at(56*time.Second + time.Duration(i)*500*time.Millisecond)
			}
			if got, want := w.Admit("k", limit, now), m.admit("k", limit, now); got != want {
				t.Fatalf("request %d after %d: got %+v, want %+v", i, old, got, want)
			}
		}
	}
}

func TestWindow_NeverExceedsTheLimitWhateverTheClockDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := ratewindow.New()
		limit := rapid.IntRange(1, 6).Draw(t, "limit")
		now := start
		var latest time.Time // that the clock has said
		var admitted []time.Time
		for range rapid.IntRange(1, 100).Draw(t, "requests") {
			now = now.Add(time.Duration(rapid.Int64Range(-70e9, 70e9).Draw(t, "step")))
			if now.After(latest) {
				latest = now
			}
			d := w.Admit("k", limit, now)
			if d.Admitted {
				admitted = append(admitted, latest)
			} else if d.RetryAfter < 1 {
				t.Fatalf("refused with RetryAfter %d", d.RetryAfter)
			}
		}
		for _, from := range admitted {
			n := 0
			for _, t := range admitted {
				if d := t.Sub(from); d >= 0 && d <= time.Minute {
					n++
				}
			}
			if n > limit {
				t.Fatalf("%d admissions in the minute from %v, limit %d", n, from, limit)
			}
		}
	})
}

func TestRetryAfter_IsKeptAndNotASecondTooLong(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := ratewindow.New()
		limit := rapid.IntRange(1, 8).Draw(t, "limit")
		now := start
		for {
			now = now.Add(time.Duration(rapid.Int64Range(0, 3e9).Draw(t, "step")))
			d := w.Admit("k", limit, now)
			if d.Admitted {
				continue
			}
			if retry := now.Add(time.Duration(d.RetryAfter-1) * time.Second); d.RetryAfter > 1 && w.Peek("k", limit, retry).Admitted {
				t.Fatalf("admitted a second before RetryAfter %d", d.RetryAfter)
			}
			if !w.Admit("k", limit, now.Add(time.Duration(d.RetryAfter)*time.Second)).Admitted {
				t.Fatalf("refused after RetryAfter %d", d.RetryAfter)
			}
			return
		}
	})
}

func TestAdmit_IsExactUnderConcurrency(t *testing.T) {
	t.Parallel()
	const goroutines, keys, limit = 64, 7, 500
	w := ratewindow.New()
	for minute := range 3 { // a new minute each, so that expiry is exercised too
		var admitted [keys]atomic.Int64
		var wg sync.WaitGroup
		for g := range goroutines {
			wg.Go(func() {
				for i := range keys * 20 {
					k := (g + i) % keys
					now := at(time.Duration(minute)*61*time.Second + time.Duration(i)*time.Millisecond)
					if w.Admit(fmt.Sprint("key", k), limit, now).Admitted {
						admitted[k].Add(1)
					}
				}
			})
		}
		wg.Wait()
		for k := range admitted {
			if n := admitted[k].Load(); n != limit {
				t.Errorf("minute %d, key %d: %d admitted, want %d", minute, k, n, limit)
			}
		}
	}
}

func TestWindow_ForgetsIdleKeys(t *testing.T) {
	t.Parallel()
	w := ratewindow.New()
	for i := range 10_000 {
		w.Admit(fmt.Sprint("first", i), 10, at(0))
	}
	if n := w.Len(); n != 10_000 {
		t.Fatalf("got %d keys, want 10000", n)
	}
	for i := range 10_000 { // traffic of other keys makes room, some sooner, some later
		w.Admit(fmt.Sprint("second", i), 10, at(2*time.Minute))
	}
	if n := w.Len(); n > 11_000 {
		t.Fatalf("got %d keys, want the idle ones forgotten", n)
	}
	w.Sweep(at(3 * time.Minute))
	if n := w.Len(); n != 10_000 {
		t.Fatalf("got %d keys, want the second 10000", n)
	}
	w.Sweep(at(3*time.Minute + 1))
	if n := w.Len(); n != 0 {
		t.Fatalf("got %d keys after everything expired", n)
	}
}

func TestWindow_ABusyKeyDoesNotKeepIdleOnes(t *testing.T) {
	t.Parallel()
	w := ratewindow.New()
	w.Admit("busy", 10, at(0))
	for i := range 1000 {
		w.Admit(fmt.Sprint("idle", i), 10, at(0))
	}
	w.Admit("busy", 10, at(30*time.Second))
	w.Sweep(at(61 * time.Second))
	if n := w.Len(); n != 1 {
		t.Fatalf("got %d keys, want the busy one alone", n)
	}
}

func TestAdmit_SteadyStateAllocatesNothing(t *testing.T) {
	w := ratewindow.New()
	now := start
	for range 1000 {
		w.Admit("k", 100, now)
	}
	if n := testing.AllocsPerRun(1000, func() { now = now.Add(time.Second); w.Admit("k", 100, now) }); n != 0 {
		t.Fatalf("got %v allocations, want none", n)
	}
}

func BenchmarkAdmit_Admitted(b *testing.B) {
	w := ratewindow.New()
	now := start
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Second)
		w.Admit("0193a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b", 500, now)
	}
}

func BenchmarkAdmit_Refused(b *testing.B) {
	w := ratewindow.New()
	b.ReportAllocs()
	for b.Loop() {
		w.Admit("0193a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b", 100, start)
	}
}

func BenchmarkAdmit_ManyKeysInParallel(b *testing.B) {
	w := ratewindow.New()
	names := make([]string, 10_000)
	for i := range names {
		names[i] = fmt.Sprintf("0193a1b2-7c3d-7e4f-8a5b-%012d", i)
		w.Admit(names[i], 500, start)
	}
	var seconds atomic.Int64
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			if i%100_000 == 0 {
				seconds.Add(1)
			}
			w.Admit(names[i%len(names)], 500, at(time.Duration(seconds.Load())*time.Second))
		}
	})
}
