// Package front has what all HTTP edges share: request ids, log lines, the recovery of panics, bounds
// on what requests may hold of the process, routing by path and method, the client's address, and the
// headers of pages.
//
// cmd/sheaf mounts the edges on it, each with its paths. An edge knows the front, but no other edge:
//
//	http.Server ── Front ─┬─ httpapi.Server   /            all other paths
//	                      ├─ httpapi.Probes   /healthz …   never refused under load
//	                      ├─ console.Console  /w/ …
//	                      ├─ publish.Publisher /s/ …
//	                      └─ mcp.Server       /mcp         tools for agents
//
// To add an edge, implement Edge and list it with its paths where cmd/sheaf calls New. Serve gets an
// Exchange: the request, the ResponseWriter, and the methods that reserve bytes and places.
//
// The front knows nothing of keys, plans or pages. It uses the names of workspaces and keys only to
// divide what it bounds between them.
package front

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sheaf.dev/internal/obs"
)

// Edge answers the requests of some paths, as the API and the console do. It must be safe for
// concurrent use.
type Edge interface {
	// Serve answers the request. If it panics before it has written anything, Panicked answers. If
	// it panics later, the front cuts the connection, so that no client takes the answer as complete.
	Serve(x *Exchange)
	// Panicked answers with 500 after Serve has panicked, in the form that the edge's clients read.
	// Its text is x.Unexpected(). It should use as little code as possible, because that code may be
	// what failed. The front has already logged the panic.
	Panicked(x *Exchange)
	// Refuse answers a request that the front refuses under load, instead of Serve. It reads
	// neither the body nor the store.
	Refuse(x *Exchange, why *Refusal)
}

// Mount is an edge and the paths that lead to it.
type Mount struct {
	Edge Edge
	// Name is the route under which the metrics count a request, unless the edge sets
	// Exchange.Counted to a better one.
	Name string
	// Paths are patterns as in net/http: "/account" is that path alone, "/w/" everything below it,
	// "/{$}" the root alone. The first mount with a matching pattern serves the request. Exactly one
	// mount has "/": it serves all other paths, and paths that are not clean. If that mount lists
	// further patterns, Config.NotFound does not answer for them.
	Paths []string
	// Unbounded edges are served even under overload, because a probe must get a true answer then.
	Unbounded bool
}

// Config is what the front needs.
type Config struct {
	Log *slog.Logger
	Now func() time.Time
	// Memory is the number of bytes that the process may use; 0 means no limit.
	Memory int64
	// NotFound answers browsers that ask for a path that no mount names. If it is nil, the edge of "/" does.
	NotFound Edge
	// TrustedProxy are the addresses whose X-Forwarded-* headers count.
	TrustedProxy []netip.Prefix
	// Requests counts the requests by route, for the metrics. If it is nil, New makes one.
	Requests *obs.Routes
}

// Front is the service as an http.Handler. It is safe for concurrent use.
type Front struct {
	Config
	mounts   []mount
	rest     *mount // the mount of "/"
	idPrefix string // prefix of the request ids that this process makes
	lastID   atomic.Uint64
	lastAt   atomic.Int64 // when the newest request arrived, in Unix nanoseconds
	stopping chan struct{}
	stop     sync.Once // closes stopping

	working atomic.Int64  // requests in work
	refused atomic.Uint64 // refusals under load: of requests, bodies and answers
	shares  shares
	bodies  *budget
	answers *budget
	streams streams
}

type mount struct {
	Mount
	counted *obs.Route
}

// New returns a front that serves these edges. One of them must have the path "/".
func New(c Config, mounts ...Mount) *Front {
	if c.Requests == nil {
		c.Requests = obs.NewRoutes()
	}
	var random [6]byte
	rand.Read(random[:])
	bodies, answers := budgetsFor(c.Memory)
	f := &Front{Config: c, stopping: make(chan struct{}), shares: shares{by: map[string]int64{}}, bodies: bodies, answers: answers,
		streams:  streams{open: map[string]int{}},
		idPrefix: "r" + hex.EncodeToString(random[:]) + "-"} // "12e-5" would read as a number
	for _, m := range mounts {
		f.mounts = append(f.mounts, mount{m, c.Requests.Route(m.Name, "any")})
	}
	for i := range f.mounts {
		if slices.Contains(f.mounts[i].Paths, "/") {
			f.rest = &f.mounts[i]
		}
	}
	if f.rest == nil {
		panic(`front: no edge is mounted on "/"`)
	}
	return f
}

// ServeHTTP gives the request an id, lets its edge answer it, and writes the log line. It recovers from
// panics of the edge.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m, edge := f.mountOf(r)
	x := &Exchange{Request: r, ID: f.requestID(r), Started: f.Now(), Counted: m.counted, front: f, edge: edge, w: w}
	x.idHeader[0] = x.ID
	h := w.Header()
	h["X-Request-Id"], h["X-Content-Type-Options"] = x.idHeader[:], nosniff
	f.lastAt.Store(x.Started.UnixNano())
	if f.isStopping() {
		h["Connection"] = []string{"close"} // so that no client sends its next request on a connection that is about to close
	}
	defer x.finish()
	if !m.Unbounded {
		if refusal := x.admit(); refusal != nil {
			x.pause() // a refused request holds no place while it is answered
			edge.Refuse(x, refusal)
			return
		}
	}
	edge.Serve(x)
}

// nosniff forbids a browser to guess another type than the Content-Type.
var nosniff = []string{"nosniff"}

// mountOf returns the first mount that names the path, and the edge that answers. An unclean path belongs
// to the mount of "/".
func (f *Front) mountOf(r *http.Request) (*mount, Edge) {
	for i := range f.mounts {
		if m := &f.mounts[i]; m != f.rest && m.names(r.URL.Path) && isClean(r.URL) {
			return m, m.Edge
		}
	}
	isRead := r.Method == http.MethodGet || r.Method == http.MethodHead
	if f.NotFound != nil && isRead && !f.rest.names(r.URL.Path) && prefersHTML(r.Header) {
		return f.rest, f.NotFound
	}
	return f.rest, f.rest.Edge
}

// names reports whether one of the mount's patterns, "/" apart, leads to the path.
func (m *mount) names(path string) bool {
	for _, p := range m.Paths {
		switch {
		case p == "/":
		case p == "/{$}":
			if path == "/" {
				return true
			}
		case p[len(p)-1] == '/':
			if strings.HasPrefix(path, p) {
				return true
			}
		case p == path:
			return true
		}
	}
	return false
}

// finish releases what the request held, answers 500 after a panic, counts the request and writes its
// log line.
func (x *Exchange) finish() {
	x.release()
	f := x.front
	if p := recover(); p != nil {
		if p == http.ErrAbortHandler {
			panic(p)
		}
		f.Log.Error("recovered from a panic", "request_id", x.ID, "panic", p, "stack", string(debug.Stack()))
		if x.status != 0 {
			panic(http.ErrAbortHandler) // the answer has begun: cut it off
		}
		x.edge.Panicked(x)
		x.DiscardBody()
	}
	now := f.Now()
	took := now.Sub(x.Started)
	x.Counted.Served(x.status, took)
	obs.LogRequest(f.Log, &obs.Request{At: now, Method: x.Request.Method, Path: LoggedPath(x.Request.URL.Path), Status: x.status,
		Duration: took, ID: x.ID, Key: x.Key, Tool: x.Tool, Refused: x.Refused})
}

// Unexpected returns the message that a client gets for an internal error. It names only the request
// id, by which the log has the cause. It needs no escapes in JSON or HTML.
func (x *Exchange) Unexpected() string {
	return "an unexpected error happened here: repeat the request, and report it with the request id " + x.ID + " if it goes on"
}

// LoggedPath returns the path for the log: without the tokens of one-time links and of shares, and with at
// most maxLoggedPath bytes.
func LoggedPath(path string) string {
	for _, link := range []string{"/setup/", "/invite/", "/reset/", "/s/"} {
		// At any position and in any case: a path that matches no route may contain a secret too.
		if at := strings.Index(strings.ToLower(path), link); at >= 0 && at+len(link) < len(path) {
			return clipPath(path[:at]) + link + "redacted"
		}
	}
	return clipPath(path)
}

func clipPath(path string) string {
	if len(path) > maxLoggedPath {
		return path[:maxLoggedPath] + "…"
	}
	return path
}

const maxLoggedPath = 256

// requestID returns the X-Request-Id of the client if it is safe to repeat, otherwise a new id.
func (f *Front) requestID(r *http.Request) string {
	if ids := r.Header["X-Request-Id"]; len(ids) > 0 && isRequestID(ids[0]) {
		return ids[0]
	}
	var b [32]byte
	return string(strconv.AppendUint(append(b[:0], f.idPrefix...), f.lastID.Add(1), 10))
}

// isRequestID reports whether id needs no escapes in a header, a log or a page.
func isRequestID(id string) bool {
	if len(id) == 0 || len(id) > 128 {
		return false
	}
	for _, c := range []byte(id) {
		if !(c == '.' || c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z') {
			return false
		}
	}
	return true
}

// Drain begins the stop: every answer closes its connection, readiness is off, and the streams of
// all edges end. It may be called again.
func (f *Front) Drain() { f.stop.Do(func() { close(f.stopping) }) }

// isStopping reports whether Drain was called.
func (f *Front) isStopping() bool {
	select {
	case <-f.stopping:
		return true
	default:
		return false
	}
}

// Busy reports whether a request arrived in the last `within` before now.
func (f *Front) Busy(now time.Time, within time.Duration) bool {
	return now.Sub(time.Unix(0, f.lastAt.Load())) < within
}

// Load has the figures of the requests in progress, for the metrics.
type Load struct {
	Working int64  // requests in work
	Refused uint64 // refusals under load, since the start
	Bodies  int64  // bytes of bodies
	Answers int64  // bytes of answers that clients have not read yet
	Streams int
}

// Held returns a line for each workspace whose requests hold places or bytes. It returns none if no
// request is being served.
func (f *Front) Held() (lines []string) {
	note := func(what, whose string, n int64) {
		if n != 0 {
			lines = append(lines, fmt.Sprintf("%d %s of %q", n, what, whose))
		}
	}
	note("requests in work", "all", f.working.Load())
	f.shares.mu.Lock()
	for ws, n := range f.shares.by {
		note("requests in work", ws, n)
	}
	f.shares.mu.Unlock()
	for what, b := range map[string]*budget{"bytes of bodies": f.bodies, "bytes of answers": f.answers} {
		b.mu.Lock()
		note(what, "all", b.held)
		for ws, n := range b.by {
			note(what, ws, n)
		}
		b.mu.Unlock()
	}
	f.streams.mu.Lock()
	defer f.streams.mu.Unlock()
	for whose, n := range f.streams.open {
		note("streams", whose, int64(n))
	}
	return lines
}

// Load returns the current figures.
func (f *Front) Load() Load {
	return Load{Working: f.working.Load(), Refused: f.refused.Load(), Bodies: f.bodies.size(), Answers: f.answers.size(), Streams: f.streams.size()}
}
