// Package httpapi is the HTTP edge: it turns requests into calls of app and
// their results into answers. The whole surface stands in routes.go, every
// check around a call in handle.go, every status in error.go.
//
// It decides nothing about the resources themselves.
package httpapi

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/obs"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/tally"
)

// Config is what the edge needs.
type Config struct {
	App *app.App
	Log *slog.Logger
	Now func() time.Time
	// RateLimit is how many requests a minute a key of that plan may make; 0
	// is no limit.
	RateLimit func(sheaf.Plan) int
	// Limiter counts the requests; nil counts those of this process alone.
	Limiter Limiter
	// PublicURL is the base of the links in answers; nil takes the request's.
	PublicURL *url.URL
	// TrustedProxy are the addresses whose X-Forwarded-* headers count.
	TrustedProxy []netip.Prefix
	// Tally counts the requests for the charts; nil counts none.
	Tally *tally.Tally
	// Memory is how many bytes the process may use; 0 is plenty.
	Memory int64
	// Console serves the pages for people; nil for none.
	Console Pages
}

// Pages are what the console serves beside the API.
type Pages interface {
	http.Handler
	Handles(path string) bool
	// Crowded answers instead when there is no room for the request.
	Crowded(w http.ResponseWriter, r *http.Request, wait time.Duration)
}

// Server is the API as an http.Handler.
type Server struct {
	Config
	mux      *http.ServeMux
	cache    *pageCache
	usage    *usage
	streams  *streams
	gate     *gate
	draining atomic.Bool
	last     atomic.Int64 // when the newest request came
	prefix   string       // of the request ids that this process makes
	base     string       // of every absolute link; empty to take the request's
	requests atomic.Uint64
	limited  atomic.Uint64 // requests that the rate limit refused
	counted  counted
}

// counted is what is counted by route, and the routes that are no operations.
type counted struct {
	obs.Routes
	other, probes, docs, console *obs.Route
}

func newCounted(routes []route) counted {
	var c counted
	for i, r := range routes {
		routes[i].counted = c.Route(r.path, r.method)
	}
	const any = "any"
	c.other, c.probes, c.docs, c.console = c.Route("other", any), c.Route("probes", any), c.Route("docs", any), c.Route("console", any)
	return c
}

// Requests are counted by route: for the metrics.
func (s *Server) Requests() *obs.Routes { return &s.counted.Routes }

// New returns the API over the rules.
func New(c Config) *Server {
	s := &Server{Config: c, mux: http.NewServeMux(), cache: newPageCache(cacheBytes), usage: newUsage(c.Tally), streams: newStreams(), gate: newGate(c.Memory)}
	if s.Limiter == nil {
		s.Limiter = NewLimiter()
	}
	var random [6]byte
	rand.Read(random[:])
	s.prefix = "r" + hex.EncodeToString(random[:]) + "-" // "12e-5" would read as a number
	if c.PublicURL != nil {
		s.base = c.PublicURL.String()
	}
	routes := s.routes()
	s.counted = newCounted(routes)
	for path, methods := range byPath(routes) {
		s.mux.Handle(path, methods)
	}
	s.mux.Handle("/", unknownRoute{})
	return s
}

// Drain turns readiness off, so that a balancer sends no more requests, and
// ends the event streams.
func (s *Server) Drain() {
	s.draining.Store(true)
	s.streams.stop()
}

// Busy reports whether a request came within the time before now.
func (s *Server) Busy(now time.Time, within time.Duration) bool {
	return now.Sub(time.Unix(0, s.last.Load())) < within
}

// Run writes when keys were used, until ctx ends and once more then.
func (s *Server) Run(ctx context.Context) error { return s.usage.run(ctx, s.App, s.Log) }

// ServeHTTP answers every request, with a request id, one log line, and JSON
// also when the handler panics.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{ResponseWriter: w, server: s, request: r, started: s.Now(), id: s.requestID(r), counted: s.counted.other}
	w.Header()["X-Request-Id"], w.Header()["X-Content-Type-Options"] = []string{x.id}, nosniff
	s.last.Store(x.started.UnixNano())
	if s.draining.Load() {
		w.Header()["Connection"] = []string{"close"} // no next request will be lost on it
	}
	defer s.finish(x)
	if err := x.enter(); err != nil {
		s.turnAway(x, err)
		return
	}
	switch path := r.URL.Path; {
	case path == "/api" || strings.HasPrefix(path, "/api/"):
		s.serveAPI(x)
	case !isClean(r.URL):
		x.fail(x.noSuchRoute())
	case path == "/healthz":
		x.counted = s.counted.probes
		s.probe(x, func() error { return nil })
	case path == "/readyz":
		x.counted = s.counted.probes
		s.probe(x, s.ready)
	case isDocs(path):
		x.counted = s.counted.docs
		x.serveDocs()
	case s.Console != nil && s.Console.Handles(path):
		x.counted = s.counted.console
		r.Body = unhurried{r.Body, x}
		s.Console.ServeHTTP(x, r)
	default:
		x.fail(x.noSuchRoute())
	}
}

// turnAway answers whom the gate refused, who holds no place while it does: a
// person with a page.
func (s *Server) turnAway(x *exchange, err error) {
	x.pause()
	var refusal *sheaf.Error
	if s.Console == nil || !isClean(x.request.URL) || !s.Console.Handles(x.request.URL.Path) || !errors.As(err, &refusal) {
		x.fail(err)
		return
	}
	x.counted = s.counted.console
	s.Console.Crowded(x, x.request, refusal.RetryAfter)
}

// nosniff keeps a browser from taking an answer for something else than it says.
var nosniff = []string{"nosniff"}

// isClean reports whether the path is one that a route may match: mux would
// redirect the others.
func isClean(u *url.URL) bool {
	p := u.Path
	if p == "" || p[0] != '/' || u.EscapedPath() == "" {
		return false
	}
	if p == "/" {
		return true
	}
	return !strings.Contains(p, "//") && !strings.HasSuffix(p, "/") && !strings.Contains(u.EscapedPath(), "//") &&
		!strings.Contains(p+"/", "/./") && !strings.Contains(p+"/", "/../")
}

// finish turns a panic into a 500, counts the request and writes its log line.
func (s *Server) finish(x *exchange) {
	x.leave()
	if p := recover(); p != nil {
		if p == http.ErrAbortHandler {
			panic(p)
		}
		s.Log.Error("recovered from a panic", "request_id", x.id, "panic", p, "stack", string(debug.Stack()))
		if x.status != 0 {
			panic(http.ErrAbortHandler) // the answer has begun: cut it off
		}
		x.fail(errPanic)
	}
	now := s.Now()
	took := now.Sub(x.started)
	x.counted.Served(x.status, took)
	obs.LogRequest(s.Log, &obs.Request{At: now, Method: x.request.Method, Path: loggedPath(x.request.URL.Path), Status: x.status,
		Duration: took, ID: x.id, Key: string(x.caller.Key.ID)})
}

// loggedPath leaves out the tokens of one-time links.
func loggedPath(path string) string {
	for _, link := range []string{"/setup/", "/invite/"} {
		if rest, ok := strings.CutPrefix(path, link); ok && rest != "" {
			return link + "redacted"
		}
	}
	if len(path) > maxLoggedPath {
		return path[:maxLoggedPath] + "…"
	}
	return path
}

// maxLoggedPath keeps a client from filling the log.
const maxLoggedPath = 256

func (s *Server) requestID(r *http.Request) string {
	if ids := r.Header["X-Request-Id"]; len(ids) > 0 && saneID(ids[0]) {
		return ids[0]
	}
	var room [32]byte
	return string(strconv.AppendUint(append(room[:0], s.prefix...), s.requests.Add(1), 10))
}

func saneID(id string) bool {
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

// probe answers the checks of balancers and supervisors.
func (s *Server) probe(x *exchange, check func() error) {
	if x.request.Method != http.MethodGet && x.request.Method != http.MethodHead {
		x.notAllowed("GET, HEAD")
		return
	}
	if err := check(); err != nil {
		x.fail(err)
		return
	}
	x.say(answer{status: http.StatusOK, body: []byte(`{"status":"ok"}`)})
}

func (s *Server) ready() error {
	if s.draining.Load() {
		return sheaf.UnavailableError(errDraining)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := s.App.Ready(ctx); err != nil {
		return sheaf.UnavailableError(err)
	}
	return nil
}
