package clients

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"
)

// obstacle stands between a client and the server, and makes trouble for the first requests that it is asked to.
type obstacle struct {
	URL  string
	next http.Handler // the server

	mu   sync.Mutex
	seen []attempt // guarded by mu
}

// attempt is what the obstacle saw of one request.
type attempt struct {
	method, path, key string // key is the Idempotency-Key
	after             string // the Last-Event-ID
	at                time.Time
}

// trouble answers a request itself and returns true, or leaves it to the server. n counts the requests from 1 on.
type trouble func(n int, w http.ResponseWriter, r *http.Request, server http.Handler) bool

// before puts an obstacle in front of the server. What is not asks is passed on and not counted.
func before(t *testing.T, server string, asks func(*http.Request) bool, makes trouble) *obstacle {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	next := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	o := &obstacle{next: next}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !asks(r) || !makes(o.note(r), w, r, next) {
			next.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	o.URL = s.URL
	return o
}

// note remembers a request and returns its number.
func (o *obstacle) note(r *http.Request) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen = append(o.seen, attempt{r.Method, r.URL.Path, r.Header.Get("Idempotency-Key"), r.Header.Get("Last-Event-ID"), time.Now()})
	return len(o.seen)
}

func (o *obstacle) attempts() []attempt {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.seen)
}

func posts(r *http.Request) bool { return r.Method == http.MethodPost }

func streams(r *http.Request) bool { return r.URL.Path == "/api/v1/events/stream" }

// busy refuses the first two, as the server does when the rate limit is reached.
func busy(n int, w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
	if n > 2 {
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(http.StatusTooManyRequests)
	_, _ = io.WriteString(w, `{"error":"rate limit exceeded: this key may make 100 requests a minute; retry after 1 seconds","code":"RATE_LIMITED"}`)
	return true
}

// lossy lets the first one have its effect, and cuts the connection in place of the answer.
func lossy(n int, _ http.ResponseWriter, r *http.Request, server http.Handler) bool {
	if n > 1 {
		return false
	}
	server.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// cutting passes on two events of each of the first two streams, and breaks off in the middle of the third.
func cutting(n int, w http.ResponseWriter, r *http.Request, server http.Handler) bool {
	if n > 2 {
		return false
	}
	server.ServeHTTP(&cutter{ResponseWriter: w}, r)
	return true
}

// cutter is an answer that breaks off in its third line of data.
type cutter struct {
	http.ResponseWriter
	line   []byte // what has come of the line that is not yet whole
	events int
}

// Write passes on whole lines.
func (c *cutter) Write(b []byte) (int, error) {
	c.line = append(c.line, b...)
	for {
		line, rest, whole := bytes.Cut(c.line, []byte{'\n'})
		if !whole {
			return len(b), nil
		}
		if bytes.HasPrefix(line, []byte("data:")) {
			c.events++
		}
		if c.events == 3 {
			_, _ = c.ResponseWriter.Write(line[:len(line)/2])
			_ = http.NewResponseController(c.ResponseWriter).Flush()
			panic(http.ErrAbortHandler)
		}
		if _, err := c.ResponseWriter.Write(append(slices.Clone(line), '\n')); err != nil {
			return 0, err
		}
		c.line = rest
	}
}

// Unwrap lets the answer be flushed.
func (c *cutter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// keyed fails unless all attempts carried one Idempotency-Key.
func keyed(t *testing.T, attempts []attempt) {
	t.Helper()
	for _, a := range attempts {
		if a.key == "" || a.key != attempts[0].key {
			t.Errorf("the attempts had the keys %q and %q", attempts[0].key, a.key)
		}
	}
}
