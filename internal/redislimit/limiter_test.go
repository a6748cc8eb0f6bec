package redislimit

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"pgregory.net/rapid"

	"sheaf.dev/internal/ratewindow"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/redistest"
)

// dialed is a connection without a Limiter.
func dialed(t *testing.T, at *redistest.Server) *server {
	t.Helper()
	s, err := connect(at.URL(), ample, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

// ask runs the script for one request on another clock.
func ask(t rapid.TB, conn redis.Conn, s *server, script *redis.Script, q question, now time.Time) ratewindow.Decision {
	t.Helper()
	args := []any{1, q.key, s.held, s.life(), q.slots(), q.whole(), q.limit, now.UnixMicro()}
	if q.in.Ceiling > 0 {
		args = []any{2, q.key, q.in.Name, s.held, s.life(), q.slots(), q.whole(), q.limit, q.in.Ceiling, now.UnixMicro()}
	}
	r, err := redis.Int64s(script.Do(conn, args...))
	if err != nil {
		t.Fatal(err)
	}
	return newAdmission(r).decision(q)
}

// testClock takes the time from the last argument.
const testClock = "local now = tonumber(ARGV[#ARGV])\n"

func TestScript_AgreesWithTheLocalWindow(t *testing.T) {
	t.Parallel()
	s := dialed(t, redistest.Start(t))
	conn := s.pipe.conn // nobody else uses it
	script := redis.NewScript(-1, testClock+luaAdmit)
	start := time.UnixMicro(time.Now().UnixMicro())
	rapid.Check(t, func(t *rapid.T) {
		if _, err := conn.Do("FLUSHALL"); err != nil {
			t.Fatal(err)
		}
		w, now := ratewindow.New(), start
		keys := rapid.SampledFrom([]string{"a", "b"})
		limits := rapid.SampledFrom([]int{1, 2, 3, 9, 33})
		steps := rapid.OneOf(rapid.Int64Range(0, 5e6), rapid.SampledFrom([]int64{0, 0, 1, 1e6, 30e6, 60e6 - 1, 60e6, 60e6 + 1}))
		limit := limits.Draw(t, "limit")
		in := ratewindow.Group{Name: "g", Ceiling: rapid.SampledFrom([]int{0, 1, 3, 5, 33}).Draw(t, "ceiling")}
		for range rapid.IntRange(1, 100).Draw(t, "requests") {
			now = now.Add(time.Duration(steps.Draw(t, "step")) * time.Microsecond)
			key := keys.Draw(t, "key")
			if rapid.IntRange(0, 9).Draw(t, "change") == 0 {
				limit = limits.Draw(t, "limit")
			}
			q := question{key, limit, rapid.SampledFrom([]int{0, 0, 0, 1, 2, 9}).Draw(t, "more"), in}
			if got, want := ask(t, conn, s, script, q, now), q.of(w, now, 0); got != want {
				t.Fatalf("%+v: got %+v, want %+v", q, got, want)
			}
			for _, name := range []string{key, in.Name} {
				if n, err := redis.Int(conn.Do("LLEN", name)); err != nil || n > 33 {
					t.Fatalf("%d entries for a limit of at most 33: %v", n, err)
				}
			}
		}
	})
}

func TestScript_AClockSetBackAdmitsNoMoreAndLocksOutForAMinuteAtMost(t *testing.T) {
	t.Parallel()
	s := dialed(t, redistest.Start(t))
	conn := s.pipe.conn // nobody else uses it
	script := redis.NewScript(-1, testClock+luaAdmit)
	start := time.UnixMicro(time.Now().UnixMicro())
	for i := range 3 {
		ask(t, conn, s, script, question{"k", 3, 0, none}, start.Add(time.Duration(i)*time.Second))
	}
	back := start.Add(-time.Hour)
	if d := ask(t, conn, s, script, question{"k", 3, 0, none}, back); d.Admitted || d.RetryAfter != 61 {
		t.Errorf("got %+v, want a refusal for 61 seconds", d)
	}
	if d := ask(t, conn, s, script, question{"k", 3, 0, none}, back.Add(61*time.Second)); !d.Admitted {
		t.Errorf("got %+v, want an admission", d)
	}
}

func TestAdmit_SetsTheAnswersFieldsAndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	n := newNode(t, s.URL(), time.Minute)
	ctx, began := context.Background(), time.Now()
	since := func() int { return int(time.Since(began).Seconds()) }
	for i, want := range []ratewindow.Decision{
		{Admitted: true, Limit: 2, Remaining: 1},
		{Admitted: true, Limit: 2, Reset: 60}, // less than 61 s after the first
		{Limit: 2, Reset: 60, RetryAfter: 60},
	} {
		got := n.Admit(ctx, "k", 2, none, time.Now())
		// It is 61 within the first's microsecond, and less than 60 when the machine took seconds for the three.
		for _, seconds := range []*int{&got.Reset, &got.RetryAfter} {
			if *seconds >= 60-since() && *seconds <= 61 {
				*seconds = 60
			}
		}
		if got != want {
			t.Errorf("request %d: got %+v, want %+v", i, got, want)
		}
	}
	if got, want := n.Admit(ctx, "free", 0, none, time.Now()), (ratewindow.Decision{Admitted: true}); got != want {
		t.Errorf("without a limit: got %+v", got)
	}
	keys, _ := redis.Strings(s.Do("KEYS", "*"), nil)
	slices.Sort(keys)
	if !slices.Equal(keys, []string{"sheaf:nodes", "sheaf:rate:k"}) {
		t.Errorf("got the keys %v", keys)
	}
	if ttl := s.Do("PTTL", "sheaf:rate:k").(int64); ttl < int64(59-since())*1000 || ttl > 60_001 {
		t.Errorf("the key expires after %d ms", ttl)
	}
}

// D54: what Redis itself was told, by its own clock: never more than the limit in any window, and no less than it.
func TestAdmit_SixtyFourClientsOverThreeNodesAreExact(t *testing.T) {
	t.Parallel()
	const limit, window = 200, 1500 * time.Millisecond
	s := redistest.Start(t)
	nodes := cluster(t, s, 3, window, ample)
	admitted := monitor(t, s, "k")
	clients := startFlood(nodes, limit)
	sheaftest.Eventually(t, "three windows, in which demand exceeds the limit", func() bool {
		all := clients.since(time.Time{})
		return len(all) > 3*limit && clients.refused.Load() > 0
	})
	answered := clients.end()
	times := admitted()
	if len(answered) != len(times) {
		t.Errorf("Redis admitted %d, the nodes %d\n%s%s%s", len(times), len(answered), nodes[0].log, nodes[1].log, nodes[2].log)
	}
	upper := 0
	for i, from := range times {
		upper = max(upper, count(times[i:], from+window.Microseconds()))
	}
	t.Logf("%d admitted, %d of %d in a window", len(times), upper, limit)
	if upper != limit {
		t.Errorf("%d admissions in a window, want %d", upper, limit)
	}
}

// monitor watches what Redis is told. The function that it returns ends it and returns all times of the key's list.
func monitor(t *testing.T, s *redistest.Server, key string) func() []int64 {
	t.Helper()
	conn, err := redis.DialURL(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := conn.Do("MONITOR"); err != nil {
		t.Fatal(err)
	}
	push, last := regexp.MustCompile(`"RPUSH" "sheaf:rate:`+key+`" "(\d+)"$`), rand.Text()
	var times []int64
	done := make(chan error, 1)
	go func() {
		for {
			line, err := redis.String(conn.Receive())
			if err != nil || strings.Contains(line, last) {
				done <- err
				return
			}
			if m := push.FindStringSubmatch(line); m != nil {
				at, _ := strconv.ParseInt(m[1], 10, 64)
				times = append(times, at)
			}
		}
	}()
	return func() []int64 {
		t.Helper()
		s.Do("ECHO", last)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		return times
	}
}

// count returns how many sorted times are not after until.
func count(times []int64, until int64) int {
	n, _ := slices.BinarySearch(times, until+1)
	return n
}

func TestNew_AWrongURLIsAnErrorWithoutThePassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "localhost:6379", "http://:secret@h", "redis://", "redis://:secret@h:port", "redis://:secret@h/x",
		"redis://h/-1", "redis://h/0/1", "redis://:secret@h?db=1", "redis://:secret@h/%zz", "redis://h/00"} {
		_, err := New(Config{URL: url, NodeID: "n", Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: time.Now})
		if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "redis://host:6379") {
			t.Errorf("%q: got %v", url, err)
		}
	}
}

func TestAdmit_ManyKeysAreSeparate(t *testing.T) {
	t.Parallel()
	n := newNode(t, redistest.Start(t).URL(), time.Minute)
	var admitted atomic.Int64
	var clients sync.WaitGroup
	for i := range 16 {
		clients.Go(func() {
			for range 10 {
				if n.Admit(context.Background(), string(rune('a'+i%8)), 7, none, time.Now()).Admitted {
					admitted.Add(1)
				}
			}
		})
	}
	clients.Wait()
	if admitted.Load() != 8*7 {
		t.Errorf("admitted %d, want %d", admitted.Load(), 8*7)
	}
}

// Clients of three nodes throw their keys away as often as they like: the group's ceiling holds, exactly, and what it
// refuses costs the key nothing.
func TestAdmit_AChainOfKeysStaysBelowTheCeiling(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	nodes := cluster(t, s, 3, time.Minute, ample)
	in := ratewindow.Group{Name: "g", Ceiling: 100}
	var admitted, shared atomic.Int64
	var clients sync.WaitGroup
	for i := range 32 {
		clients.Go(func() {
			for j := range 20 {
				d := nodes[(i+j)%3].Admit(context.Background(), string(rune('A'+i))+string(rune('a'+j)), 20, in, time.Now())
				if d.Admitted {
					admitted.Add(1)
				} else if d.Shared && d.Limit == 20 && d.Remaining == 0 && d.RetryAfter > 0 {
					shared.Add(1)
				}
			}
		})
	}
	clients.Wait()
	if admitted.Load() != 100 || shared.Load() != 540 {
		t.Errorf("%d admitted and %d refused for the ceiling, want 100 and 540", admitted.Load(), shared.Load())
	}
	if n, err := redis.Int(s.Do("LLEN", "sheaf:rate:g"), nil); n != 100 || err != nil {
		t.Errorf("Redis counts %d for the group: %v", n, err)
	}
	refused := 0
	keys, _ := redis.Strings(s.Do("KEYS", "sheaf:rate:*"), nil)
	for _, k := range keys {
		n, _ := redis.Int(s.Do("LLEN", k), nil)
		refused += n
	}
	if refused != 200 {
		t.Errorf("keys and group count %d together, want 200: what is refused takes no slot", refused)
	}
}

// What a node admitted alone, and what Redis has lost, counts for the group too.
func TestAdmit_TheCeilingOutlivesRedis(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	n := newNode(t, s.URL(), time.Minute)
	in := ratewindow.Group{Name: "g", Ceiling: 30}
	chain := func(name string) (admitted int) {
		for i := range 40 {
			if n.Admit(context.Background(), name+string(rune('A'+i)), 5, in, time.Now()).Admitted {
				admitted++
			}
			if admitted == 10 {
				break
			}
		}
		return admitted
	}
	if got := chain("with"); got != 10 {
		t.Errorf("%d admitted", got)
	}
	s.Stop()
	if got := chain("without"); got != 10 {
		t.Errorf("%d admitted alone", got)
	}
	s.Restart() // and it has lost all data
	n.awaitDegraded(t, false)
	if got := chain("again") + chain("and again"); got != 10 {
		t.Errorf("%d more admitted, want 10", got)
	}
}

func BenchmarkAdmit_Admitted(b *testing.B) {
	n := newNode(b, redistest.Start(b).URL(), time.Minute)
	b.ReportAllocs()
	for b.Loop() {
		n.Admit(context.Background(), "0193a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b", 1<<30, none, time.Now())
	}
}

func BenchmarkAdmit_InParallel(b *testing.B) {
	n := newNode(b, redistest.Start(b).URL(), time.Minute)
	b.SetParallelism(16)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			n.Admit(context.Background(), "0193a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b", 1<<30, none, time.Now())
		}
	})
}

// BenchmarkAdmit_Refused is what Redis costs when the admissions came from another node.
func BenchmarkAdmit_Refused(b *testing.B) {
	s := redistest.Start(b)
	n, other := newNode(b, s.URL(), time.Minute), newNode(b, s.URL(), time.Minute)
	for range 500 {
		other.admit(500)
	}
	b.ReportAllocs()
	for b.Loop() {
		n.admit(500)
	}
}

func BenchmarkAdmit_Degraded(b *testing.B) {
	s := redistest.Start(b)
	n := newNode(b, s.URL(), time.Minute)
	s.Stop()
	n.admit(500)
	b.ReportAllocs()
	for b.Loop() {
		n.admit(500)
	}
}
