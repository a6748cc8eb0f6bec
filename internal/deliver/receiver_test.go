package deliver_test

import (
	"crypto/tls"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
)

// receiver is an endpoint on loopback, in real time. Below /hung it answers
// only once it is released.
type receiver struct {
	url     string
	release func()

	mu   sync.Mutex // guards came
	came []arrival
	more *sync.Cond
}

type arrival struct {
	path  string
	event sheaf.EventID
	when  time.Time
}

func newReceiver(t *testing.T, ca *sheaftest.CA) *receiver {
	t.Helper()
	cert, err := ca.Issue(sheaftest.CertOptions{Hosts: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	released := make(chan struct{})
	r := &receiver{release: sync.OnceFunc(func() { close(released) })}
	r.more = sync.NewCond(&r.mu)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body)
		r.mu.Lock()
		r.came = append(r.came, arrival{q.URL.Path, sheaf.EventID(q.Header.Get("webhook-id")), time.Now()})
		r.mu.Unlock()
		r.more.Broadcast()
		if strings.HasPrefix(q.URL.Path, "/hung") {
			select {
			case <-released:
			case <-q.Context().Done():
			}
		}
	}))
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	srv.StartTLS()
	t.Cleanup(func() {
		r.release()
		srv.Close()
	})
	r.url = srv.URL
	return r
}

func (r *receiver) arrivals() []arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.came
}

func (r *receiver) counted(path string) (n int) {
	for _, a := range r.came {
		if a.path == path {
			n++
		}
	}
	return n
}

// events returns how often each event arrived at a path.
func (r *receiver) events(path string) map[sheaf.EventID]int {
	out := map[sheaf.EventID]int{}
	for _, a := range r.arrivals() {
		if a.path == path {
			out[a.event]++
		}
	}
	return out
}

// wait blocks until n requests have arrived at a path. It gives up long after
// any intended delay.
func (r *receiver) wait(t *testing.T, path string, n int) {
	t.Helper()
	late := false
	timer := time.AfterFunc(5*time.Minute, func() {
		r.mu.Lock()
		late = true
		r.mu.Unlock()
		r.more.Broadcast()
	})
	defer timer.Stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.counted(path) < n {
		if late {
			t.Fatalf("%d requests arrived at %s, want %d", r.counted(path), path, n)
		}
		r.more.Wait()
	}
}
