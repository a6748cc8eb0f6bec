package overload

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/proctest"
	"sheaf.dev/internal/sheaftest/proof"
)

// drainClients is how many ask at the same time, each its next thing as soon as it has the answer.
const drainClients = 8

// A stop loses no request: whatever was begun while the program listened is answered as if nothing happened, and what
// was acknowledged is there after the restart.
func TestDrain_SIGTERMUnderLoadFailsNoRequest(t *testing.T) {
	t.Parallel()
	p := proctest.New(t)
	key := p.Workspace(t, "busy")
	var all journal
	var longest time.Duration
	rounds := proof.Rounds(2, 20, 100)
	for range rounds {
		j, took := underLoad(t, p, key, func(s *proctest.Server) {
			if err := s.Terminate(); err != nil {
				t.Errorf("the stop: %v", err)
			}
		})
		all.add(j)
		longest = max(longest, took)
	}
	caught := proof.Catches(func() bool {
		killed, _ := underLoad(t, p, key, func(s *proctest.Server) { s.Kill() })
		return len(killed.failures) > 0
	})
	missing := all.missing(t, p, key)
	for _, err := range all.failures {
		t.Error(err)
	}
	proof.Row{Name: "SIGTERM under load",
		Figures: []proof.Figure{{Name: "stops", Value: rounds}, {Name: "requests", Value: all.answered.Load()},
			{Name: "refused after the listener closed", Value: all.refused.Load()}, {Name: "failed", Value: len(all.failures)},
			{Name: "acknowledged and missing", Value: missing}, {Name: "longest stop", Value: longest.Round(time.Millisecond)}},
		Lost:    len(all.failures) + missing,
		Control: "SIGKILL instead", Caught: caught}.Report(t)
}

// journal is what clients saw.
type journal struct {
	answered, refused atomic.Int64

	mu       sync.Mutex // guards what follows
	failures []error
	made     []string // ids that were acknowledged
}

func (j *journal) add(o *journal) {
	j.answered.Add(o.answered.Load())
	j.refused.Add(o.refused.Load())
	j.failures = append(j.failures, o.failures...)
	j.made = append(j.made, o.made...)
}

// underLoad starts the program, lets clients ask, ends it in the middle, and returns what they saw and how long the
// end took.
func underLoad(t *testing.T, p *proctest.Program, key string, end func(*proctest.Server)) (*journal, time.Duration) {
	t.Helper()
	s := p.Start(t)
	j := &journal{}
	var wg sync.WaitGroup
	for i := range drainClients {
		client := newClient(t)
		wg.Go(func() {
			for n := 0; j.request(client, s.URL, key, (i+n)%2 == 0); n++ {
			}
		})
	}
	sheaftest.Eventually(t, "load", func() bool { return j.answered.Load() > 50*drainClients })
	began := time.Now()
	end(s)
	took := time.Since(began)
	wg.Wait()
	return j, took
}

// request makes one, and reports whether there may be a next: not once a connection is refused, which is how a client
// sees that nobody listens any more.
func (j *journal) request(client *http.Client, url, key string, write bool) bool {
	method, path, want := http.MethodGet, "/api/v1/projects?limit=5", http.StatusOK
	var body any
	if write {
		method, path, want, body = http.MethodPost, "/api/v1/projects", http.StatusCreated, map[string]any{"name": "under load"}
	}
	var answer struct{ ID string }
	status, err := proctest.Call(client, url, key, method, path, body, &answer)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		j.refused.Add(1)
		return false
	case err != nil || status != want:
		j.mu.Lock()
		defer j.mu.Unlock()
		j.failures = append(j.failures, fmt.Errorf("%s: status %d, %w", method, status, err))
		return false
	}
	j.answered.Add(1)
	if write {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.made = append(j.made, answer.ID)
	}
	return true
}

// missing starts the program once more and counts what was acknowledged and is not there.
func (j *journal) missing(t *testing.T, p *proctest.Program, key string) (n int) {
	t.Helper()
	s := p.Start(t)
	there := map[string]bool{}
	for last := 100; last == 100; {
		var page struct{ Data []struct{ ID string } }
		status, err := s.Call(key, http.MethodGet, fmt.Sprintf("/api/v1/projects?limit=100&offset=%d", len(there)), nil, &page)
		if err != nil || status != http.StatusOK {
			t.Fatalf("list: %d, %v", status, err)
		}
		for _, p := range page.Data {
			there[p.ID] = true
		}
		last = len(page.Data)
	}
	for _, id := range j.made {
		if !there[id] {
			n++
		}
	}
	return n
}
