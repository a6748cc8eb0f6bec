package nodes

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest/proctest"
)

// arrival is one request at a receiver.
type arrival struct {
	event  string
	path   string
	at     time.Time
	header http.Header
	body   []byte
}

// receiver is an endpoint that journals what arrives.
type receiver struct {
	url   string
	roots string // file of the certificate to trust

	mu       sync.Mutex // guards what follows
	arrived  []arrival
	inFlight int
	most     int           // in flight at once
	gate     chan struct{} // requests wait until it is closed; nil: they do not
	fails    int           // every fails-th first attempt is refused; 0: none
	times    map[string]int
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{times: map[string]int{}}
	r.url, r.roots = proctest.Endpoint(t, r)
	t.Cleanup(r.open)
	return r
}

// ServeHTTP journals the request, and answers when the gate is open.
func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	var event struct{ ID string }
	if err := json.Unmarshal(body, &event); err != nil || event.ID != q.Header.Get("webhook-id") {
		event.ID = "a body of another: " + q.Header.Get("webhook-id")
	}
	gate, refuse := r.enter(arrival{event: event.ID, path: q.URL.Path, at: time.Now(), header: q.Header, body: body})
	if gate != nil {
		select {
		case <-gate:
		case <-q.Context().Done():
		}
	}
	r.mu.Lock()
	r.inFlight--
	r.mu.Unlock()
	if refuse {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

func (r *receiver) enter(a arrival) (gate chan struct{}, refuse bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.arrived = append(r.arrived, a)
	r.times[a.event]++
	r.inFlight++
	r.most = max(r.most, r.inFlight)
	return r.gate, r.fails > 0 && r.times[a.event] == 1 && len(r.times)%r.fails == 0
}

// hold lets requests wait until open is called.
func (r *receiver) hold() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gate = make(chan struct{})
}

func (r *receiver) open() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gate != nil {
		close(r.gate)
		r.gate = nil
	}
}

// journal returns what arrived so far.
func (r *receiver) journal() []arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]arrival(nil), r.arrived...)
}

// total returns how many requests arrived.
func (r *receiver) total() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.arrived)
}

// counts returns how often each event arrived.
func (r *receiver) counts() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.times)
}

// countsAt returns how often each event arrived at one path.
func (r *receiver) countsAt(path string) map[string]int {
	times := map[string]int{}
	for _, a := range r.journal() {
		if a.path == path {
			times[a.event]++
		}
	}
	return times
}

func (r *receiver) flight() (now, most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.inFlight, r.most
}
