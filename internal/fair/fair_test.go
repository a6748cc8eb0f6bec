package fair_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"sheaf.dev/internal/fair"
)

// limits are those of most tests: two places, and one for each name.
var limits = fair.Limits{Places: 2, Each: 1, Waiting: 4, AllWaiting: 8, Wait: 5 * time.Second}

// log notes what happens, in order. It belongs to a bubble of synctest.
type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) note(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *log) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}

func (l *log) want(t *testing.T, want ...string) {
	t.Helper()
	if got := l.all(); !slices.Equal(got, want) {
		t.Fatalf("it went\n\t%s\nand not\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// work takes a turn for the first letter of the name, works for that long, and notes when it began.
// It returns when the caller waits or works.
func work(turns *fair.Turns, l *log, name string, cost int64, took time.Duration) {
	began := time.Now()
	go func() {
		done, err := turns.Take(context.Background(), name[:1], cost)
		if err != nil {
			l.note("%s after %v: %v", name, time.Since(began), err)
			return
		}
		defer done()
		l.note("%s after %v", name, time.Since(began))
		time.Sleep(took) // the work, in simulated time
	}()
	synctest.Wait()
}

func TestTake_ANameThatAsksSeldomIsServedNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns, l := fair.New(limits), &log{}
		work(turns, l, "a1", 1, 500*time.Millisecond)
		for _, name := range []string{"b1", "a2", "a3", "b2", "b3", "c1"} {
			work(turns, l, name, 1, time.Second)
		}
		time.Sleep(10 * time.Second) // simulated
		l.want(t, "a1 after 0s", "b1 after 0s", "c1 after 500ms", "a2 after 1s", "b2 after 1.5s", "a3 after 2s", "b3 after 2.5s")
	})
}

func TestTake_OneNameLeavesAPlaceToTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns, l := fair.New(limits), &log{}
		for _, name := range []string{"a1", "a2", "a3", "b1"} {
			work(turns, l, name, 1, time.Second)
		}
		l.want(t, "a1 after 0s", "b1 after 0s")
		time.Sleep(10 * time.Second) // simulated
	})
}

func TestTake_SharesAreOfCost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &log{}
		turns := fair.New(fair.Limits{Places: 1, Each: 1, Waiting: 20, AllWaiting: 40, Wait: time.Minute})
		// b's turns cost three times as much: a has three for each of them.
		for _, name := range []string{"x1", "a1", "a2", "a3", "a4", "a5", "a6"} {
			work(turns, l, name, 1, time.Second)
		}
		for _, name := range []string{"b1", "b2", "b3"} {
			work(turns, l, name, 3, time.Second)
		}
		time.Sleep(20 * time.Second) // simulated
		var order []string
		for _, line := range l.all() {
			order = append(order, line[:2])
		}
		if got, want := strings.Join(order, " "), "x1 a1 b1 a2 a3 a4 b2 a5 a6 b3"; got != want {
			t.Fatalf("they were served in the order %s, not %s", got, want)
		}
	})
}

// Two names that come again at once, each with one request, do not keep out a name that waits.
func TestTake_ComingAgainGainsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &log{}
		turns := fair.New(fair.Limits{Places: 1, Each: 1, Waiting: 4, AllWaiting: 8, Wait: time.Minute})
		ctx, cancel := context.WithCancel(t.Context())
		var again sync.WaitGroup
		for _, name := range []string{"a", "b"} {
			again.Go(func() {
				for ctx.Err() == nil {
					done, err := turns.Take(ctx, name, 1)
					if err != nil {
						return
					}
					time.Sleep(time.Second) // simulated
					done()
				}
			})
			synctest.Wait()
		}
		for _, name := range []string{"c1", "c2", "c3"} {
			work(turns, l, name, 1, time.Second)
		}
		time.Sleep(20 * time.Second) // simulated
		cancel()
		again.Wait()
		l.want(t, "c1 after 2s", "c2 after 3s", "c3 after 6s")
	})
}

func TestTake_FewWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns, l := fair.New(limits), &log{}
		for _, name := range []string{"a0", "a1", "a2", "a3", "a4", "a5"} {
			work(turns, l, name, 1, time.Second)
		}
		l.want(t, "a0 after 0s", "a5 after 0s: too much work is waiting")
		if n := turns.Refused(); n != 1 {
			t.Errorf("%d callers were refused", n)
		}
		time.Sleep(10 * time.Second) // simulated
	})
}

func TestTake_OneMayWaitAtAnyCost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns, l := fair.New(limits), &log{}
		work(turns, l, "a0", 100, time.Second)
		work(turns, l, "a1", 100, time.Second)
		work(turns, l, "a2", 1, time.Second)
		time.Sleep(10 * time.Second) // simulated
		l.want(t, "a0 after 0s", "a2 after 0s: too much work is waiting", "a1 after 1s")
	})
}

// If as many wait as may wait, a new name takes the place of the one that would be served last.
func TestTake_ManyNamesDoNotShutOutANewOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns, l := fair.New(limits), &log{}
		for _, name := range []string{"a0", "b0", "a1", "a2", "a3", "a4", "b1", "b2", "b3", "b4", "c1", "a5"} {
			work(turns, l, name, 1, 2*time.Second)
		}
		refused := l.all()[2]
		if refused != "a4 after 0s: too much work is waiting" && refused != "b4 after 0s: too much work is waiting" {
			t.Fatalf("%q was refused for c1", refused)
		}
		time.Sleep(20 * time.Second) // simulated
		if !slices.Contains(l.all(), "c1 after 2s") {
			t.Fatalf("c1 was not served next: %q", l.all())
		}
	})
}

func TestTake_NobodyWaitsForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns, l := fair.New(limits), &log{}
		work(turns, l, "a0", 1, time.Minute)
		work(turns, l, "a1", 1, time.Minute)
		ctx, cancel := context.WithCancelCause(t.Context())
		left := errors.New("the client left")
		time.AfterFunc(time.Second, func() { cancel(left) })
		if _, err := turns.Take(ctx, "a", 1); !errors.Is(err, left) {
			t.Errorf("a caller whose context ended got %v", err)
		}
		time.Sleep(10 * time.Second) // simulated
		l.want(t, "a0 after 0s", "a1 after 5s: too much work is waiting")
		if held, waiting := turns.Load(); held != 1 || waiting != 0 {
			t.Errorf("%d turns are held and %d callers wait", held, waiting)
		}
		if n := turns.Refused(); n != 1 { // the client that left was not refused
			t.Errorf("%d callers were refused", n)
		}
		time.Sleep(time.Minute) // simulated
	})
}

// Whatever callers do, the limits hold, everything is given back, and a caller that waits has no place
// that it could have had.
func TestTake_LimitsHold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		limits := fair.Limits{Places: rapid.IntRange(1, 3).Draw(r, "places"), Waiting: 6, AllWaiting: 12, Wait: 3 * time.Second}
		limits.Each = rapid.IntRange(1, limits.Places).Draw(r, "each")
		type call struct {
			name        string
			at, took    time.Duration
			cost, gives int64
		}
		calls := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) call {
			second := func(name string, most int) time.Duration {
				return time.Duration(rapid.IntRange(0, most*10).Draw(r, name)) * 100 * time.Millisecond
			}
			return call{name: rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(r, "name"), at: second("at", 6), took: second("took", 4),
				cost: rapid.Int64Range(1, 5).Draw(r, "cost"), gives: rapid.Int64Range(0, 8).Draw(r, "gives up after")}
		}), 1, 40).Draw(r, "calls")
		synctest.Test(t, func(t *testing.T) {
			turns := fair.New(limits)
			var mu sync.Mutex
			all, by := 0, map[string]int{}
			count := func(name string, n int) {
				mu.Lock()
				defer mu.Unlock()
				all, by[name] = all+n, by[name]+n
				if all > limits.Places || by[name] > limits.Each {
					r.Errorf("%d turns at once, %d of %s, within %+v", all, by[name], name, limits)
				}
			}
			var callers sync.WaitGroup
			for _, c := range calls {
				callers.Go(func() {
					time.Sleep(c.at) // simulated
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(c.gives)*time.Second)
					defer cancel()
					began := time.Now()
					done, err := turns.Take(ctx, c.name, c.cost)
					if waited := time.Since(began); waited > limits.Wait {
						r.Errorf("%s waited for %v", c.name, waited)
					}
					if err != nil {
						return
					}
					count(c.name, 1)
					time.Sleep(c.took) // simulated
					count(c.name, -1)
					done()
				})
			}
			callers.Wait()
			if held, waiting := turns.Load(); held != 0 || waiting != 0 {
				r.Errorf("at the end %d turns are held and %d callers wait", held, waiting)
			}
			done, err := turns.Take(t.Context(), "e", 1)
			if err != nil {
				r.Fatalf("afterwards there is no turn: %v", err)
			}
			done()
		})
	})
}

// Names that come once and never again are forgotten, though some turn is always under way.
func TestTake_ForgetsNames(t *testing.T) {
	t.Parallel()
	turns := fair.New(limits)
	done, err := turns.Take(t.Context(), "always", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	for i := range 10_000 {
		end, err := turns.Take(t.Context(), fmt.Sprint(i), 1)
		if err != nil {
			t.Fatal(err)
		}
		end()
	}
	if n := turns.Names(); n > 1025 {
		t.Errorf("%d names are remembered", n)
	}
}

func BenchmarkTake(b *testing.B) {
	turns := fair.New(limits)
	for b.Loop() {
		done, err := turns.Take(context.Background(), "a", 1)
		if err != nil {
			b.Fatal(err)
		}
		done()
	}
}
