package overload

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest/proctest"
	"sheaf.dev/internal/sheaftest/proof"
)

const (
	// mayUse is the memory that the program may have resident at its worst.
	mayUse = 384 << 20
	// waits is how long a burst waits for its turn before the rest of it is refused.
	waits = 10 * time.Second
	// tenfold is the ratio of the requested to the served load.
	tenfold = 10
)

// within is how long a refusal may take, and the way back to normal. A busy machine adds to it, and must not decide: what
// is missing never comes. The row tells how long each took.
func within() time.Duration {
	return time.Duration(proof.Rounds(300, 60, 60)) * time.Second
}

// figures is what was seen from outside while too much was asked.
type figures struct {
	capacity           float64 // requests a second, when nobody asks too much
	asked, served      int
	refused            int // with 503 and Retry-After
	failed             int // anything else
	slowest            time.Duration
	slowestRefusal     time.Duration
	neighbour          time.Duration // the slowest request of another workspace
	neighbourRefused   int
	recovered          time.Duration // until a request was as quick as before
	peak               int64
	bodies, bodiesTold int // large ones sent at once, and those that were answered
}

// complaints says which promises the figures break.
func (f figures) complaints() (out []string) {
	check := func(kept bool, format string, args ...any) {
		if !kept {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	check(f.refused > 0, "nobody was refused though ten times too much was asked")
	check(f.failed == 0, "%d requests got neither an answer nor a refusal", f.failed)
	check(f.slowestRefusal < waits+within(), "a refusal took %v", f.slowestRefusal)
	check(f.neighbourRefused == 0 && f.neighbour < within(), "another workspace waited %v and was refused %d times", f.neighbour, f.neighbourRefused)
	check(f.recovered < within(), "the way back took %v", f.recovered)
	check(f.peak < mayUse, "it took %d MB", f.peak>>20)
	check(f.bodiesTold == f.bodies, "%d of %d large bodies were answered", f.bodiesTold, f.bodies)
	return out
}

func TestOverload_IsRefusedAtOnceAndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	f := overload(t, startReal(t))
	control := overload(t, startGreedy(t))
	complaints := f.complaints()
	for _, c := range complaints {
		t.Error(c)
	}
	t.Logf("the greedy server: %q", control.complaints())
	proof.Row{Name: "ten times too much",
		Figures: []proof.Figure{{Name: "served a second alone", Value: int(f.capacity)}, {Name: "asked", Value: f.asked},
			{Name: "served", Value: f.served}, {Name: "refused", Value: f.refused}, {Name: "failed", Value: f.failed},
			{Name: "slowest refusal", Value: f.slowestRefusal.Round(time.Millisecond)}, {Name: "slowest served", Value: f.slowest.Round(time.Millisecond)},
			{Name: "slowest of another workspace", Value: f.neighbour.Round(time.Millisecond)},
			{Name: "back to normal after", Value: f.recovered.Round(time.Millisecond)},
			{Name: "10 MB bodies at once", Value: f.bodies}, {Name: "peak memory MB", Value: f.peak >> 20}},
		Lost:    len(complaints),
		Control: "a server without bounds", Caught: len(control.complaints()) > 1}.Report(t)
}

// target is a server under attack.
type target struct {
	url, key, other string
	pid             int
	client          *http.Client
	span            time.Duration // of one flood
	spans           time.Duration // how many of them it may take until somebody is refused
	bodies          int
}

// startReal starts the program with a workspace whose searches are slow for the server and cheap to ask for.
func startReal(t *testing.T) target {
	t.Helper()
	p := proctest.New(t)
	x := target{key: p.Workspace(t, "crowded"), other: p.Workspace(t, "other"), client: newClient(t),
		span: time.Duration(proof.Rounds(2, 10, 30)) * time.Second, spans: 5, bodies: 64}
	s := p.Start(t)
	x.url, x.pid = s.URL, s.Process.Pid
	x.fill(t, proof.Rounds(2000, 20_000, 20_000))
	return x
}

// fill makes documents that a search must read.
func (x target) fill(t *testing.T, n int) {
	t.Helper()
	var made atomic.Int64
	var wg sync.WaitGroup
	text := strings.Repeat("nothing of what is looked for stands in here; ", 30)
	for range 16 {
		wg.Go(func() {
			for made.Add(1) <= int64(n) {
				status, err := proctest.Call(x.client, x.url, x.key, http.MethodPost, "/api/v1/documents",
					map[string]any{"title": "document", "description": text}, nil)
				if err != nil || status != http.StatusCreated {
					t.Errorf("create: %d, %v", status, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

var searches atomic.Int64

// search asks what was never asked before, so that nothing is kept of it.
func (x target) search() (status int, retry string, err error) {
	req, err := http.NewRequest(http.MethodGet, fmt.Sprintf("%s/api/v1/documents?q=missing%d", x.url, searches.Add(1)), nil)
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Authorization", "Bearer "+x.key)
	res, err := x.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, res.Header.Get("Retry-After"), err
}

// overload measures the rate that is served, sends ten times as much, and measures the outcome.
func overload(t *testing.T, x target) (f figures) {
	t.Helper()
	usual := x.measure(&f)
	for range proof.Rounds(1, 5, 20) {
		x.flood(t, &f)
		began := time.Now()
		for quick := 0; quick < 3 && time.Since(began) < 2*within(); {
			one := time.Now()
			if status, _, err := x.search(); err == nil && status == http.StatusOK && time.Since(one) < max(4*usual, within()/5) {
				quick++
			} else {
				quick = 0
			}
		}
		f.recovered = max(f.recovered, time.Since(began))
	}
	x.sendBodies(&f)
	var err error
	if f.peak, err = proctest.PeakMemory(x.pid); err != nil {
		t.Fatal(err)
	}
	return f
}

// measure finds out what a few clients get served, and how long one request usually takes.
func (x target) measure(f *figures) (usual time.Duration) {
	var served atomic.Int64
	var mu sync.Mutex // guards took
	var took []time.Duration
	var wg sync.WaitGroup
	began := time.Now()
	end := began.Add(time.Duration(proof.Rounds(500, 3000, 10_000)) * time.Millisecond)
	for range 4 {
		wg.Go(func() {
			for time.Now().Before(end) {
				one := time.Now()
				if status, _, err := x.search(); err == nil && status == http.StatusOK {
					served.Add(1)
					mu.Lock()
					took = append(took, time.Since(one))
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	f.capacity = float64(served.Load()) / time.Since(began).Seconds()
	slices.Sort(took)
	if len(took) == 0 {
		return within()
	}
	return took[len(took)/2]
}

// flood asks at ten times the rate, whether or not there are answers, while a neighbour goes on with its own.
func (x target) flood(t *testing.T, f *figures) {
	t.Helper()
	var mu sync.Mutex // guards f
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() { x.neighbour(stop, f, &mu) })
	began := time.Now()
	var asks sync.WaitGroup
	for sent := 0; ; {
		// A machine that has more time than when it was measured gets ever more to do.
		over := time.Since(began) / x.span
		due := int(time.Since(began).Seconds() * f.capacity * tenfold * float64(1+over*over))
		for ; sent < due; sent++ {
			asks.Go(func() { x.ask(f, &mu) })
		}
		mu.Lock()
		refused := f.refused > 0
		mu.Unlock()
		if over > 0 && (refused || over >= x.spans) {
			break
		}
		time.Sleep(time.Millisecond) // the pace of the load
	}
	asks.Wait()
	close(stop)
	wg.Wait()
}

func (x target) ask(f *figures, mu *sync.Mutex) {
	began := time.Now()
	status, retry, err := x.search()
	took := time.Since(began)
	mu.Lock()
	defer mu.Unlock()
	f.asked++
	seconds, _ := strconv.Atoi(retry)
	switch {
	case err == nil && status == http.StatusOK:
		f.served++
		f.slowest = max(f.slowest, took)
	case err == nil && status == http.StatusServiceUnavailable && seconds > 0:
		f.refused++
		f.slowestRefusal = max(f.slowestRefusal, took)
	default:
		f.failed++
	}
}

// neighbour is somebody else who works as always.
func (x target) neighbour(stop <-chan struct{}, f *figures, mu *sync.Mutex) {
	pace := time.NewTicker(50 * time.Millisecond)
	defer pace.Stop()
	for {
		began := time.Now()
		status, err := proctest.Call(x.client, x.url, x.other, http.MethodPost, "/api/v1/projects", map[string]any{"name": "as always"}, nil)
		mu.Lock()
		f.neighbour = max(f.neighbour, time.Since(began))
		if err != nil || status != http.StatusCreated {
			f.neighbourRefused++
		}
		mu.Unlock()
		select {
		case <-stop:
			return
		case <-pace.C:
		}
	}
}

// sendBodies sends many of the largest bodies at once. The server must not hold all of them.
func (x target) sendBodies(f *figures) {
	f.bodies = x.bodies
	var told atomic.Int64
	var wg sync.WaitGroup
	body := `{"title":"large","ignored":"` + strings.Repeat("x", 10<<20-64) + `"}`
	for i := range f.bodies {
		wg.Go(func() {
			req, err := http.NewRequest(http.MethodPost, x.url+"/api/v1/documents", strings.NewReader(body))
			if err != nil {
				return
			}
			req.Header.Set("Authorization", "Bearer "+x.key)
			if i%2 == 0 { // asks before it sends
				req.Header.Set("Expect", "100-continue")
			}
			res, err := x.client.Do(req)
			if err != nil {
				return
			}
			defer res.Body.Close()
			_, _ = io.Copy(io.Discard, res.Body)
			if res.StatusCode == http.StatusCreated || res.StatusCode == http.StatusServiceUnavailable && res.Header.Get("Retry-After") != "" {
				told.Add(1)
			}
		})
	}
	wg.Wait()
	f.bodiesTold = int(told.Load())
}
