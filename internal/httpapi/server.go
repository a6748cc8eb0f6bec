// Package httpapi is the API: an HTTP edge that turns requests into calls of app, and their results into
// answers. routes.go has all routes, handle.go every check around a call, error.go every error answer.
//
// It has no rules about the resources themselves. What it shares with other edges is in front.
package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/obs"
	"sheaf.dev/internal/render"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/tally"
)

// Config is what the edge needs.
type Config struct {
	App *app.App
	Log *slog.Logger
	Now func() time.Time
	// RateLimit returns how many requests a minute a key of the plan may make; 0 means no limit.
	RateLimit func(sheaf.Plan) int
	// Limiter counts the requests; nil counts those of this process alone.
	Limiter Limiter
	// PublicURL is the base of the links in answers. If it is nil, the request's address is used.
	PublicURL *url.URL
	// Render makes HTML of texts; nil is one that shows pictures of no host.
	Render *render.Renderer
	// Tally counts the requests for the charts; nil counts none.
	Tally *tally.Tally
	// Memory is how many bytes the process may use: kept answers take a tenth of it at most. 0 is more
	// than enough.
	Memory int64
	// Requests counts the requests by operation, for the metrics. It may be nil.
	Requests *obs.Routes
	// Pages answers browsers that ask for an unknown path. If it is nil, they get JSON.
	Pages front.Edge
}

// Server is the API, its reference and the probes. It serves every path that no other edge has.
type Server struct {
	Config
	routes  *front.Routes[route]
	cache   *pageCache
	usage   *usage
	readers *readers
	base    string        // of every absolute link; empty to take the request's
	limited atomic.Uint64 // requests that the rate limit refused
	docs    *obs.Route    // counts requests for the reference
}

// New returns the API over the rules.
func New(c Config) *Server {
	if c.Limiter == nil {
		c.Limiter = NewLimiter()
	}
	if c.Requests == nil {
		c.Requests = obs.NewRoutes()
	}
	if c.Render == nil {
		c.Render = render.New(render.Options{})
	}
	s := &Server{Config: c, cache: newPageCache(cacheRoom(c.Memory)), usage: newUsage(c.Tally), readers: newReaders(), docs: c.Requests.Route("docs", "any")}
	if c.PublicURL != nil {
		s.base = c.PublicURL.String()
	}
	all := s.allRoutes()
	for i, r := range all {
		all[i].counted = c.Requests.Route(r.path, r.method)
	}
	s.routes = front.NewRoutes(all, func(r *route) (string, string) { return r.method, r.path })
	return s
}

// Run stores when keys were last used, until ctx ends, and once more at the end.
func (s *Server) Run(ctx context.Context) error { return s.usage.run(ctx, s.App, s.Log) }

// Load is what became of requests, for the metrics.
type Load struct {
	// Limited are the requests that the rate limit refused, since the start.
	Limited uint64
	// PageHits and PageMisses are the answers that came from the cache of pages and those that
	// could have, since the start; PageBytes is what it holds.
	PageHits, PageMisses uint64
	PageBytes            int
}

// Load returns the state of the rate limit and the cache.
func (s *Server) Load() Load {
	return Load{Limited: s.limited.Load(), PageHits: s.cache.hits.Load(), PageMisses: s.cache.misses.Load(), PageBytes: s.cache.bytes()}
}

// Serve answers a request.
func (s *Server) Serve(shared *front.Exchange) {
	x := &exchange{Exchange: shared, server: s}
	switch path := x.Request.URL.Path; {
	case path == "/api" || strings.HasPrefix(path, "/api/"):
		s.serveAPI(x)
	case isDocs(path):
		x.serveDocs()
	case s.Pages != nil && x.IsRead() && asksForPage(x.Request):
		s.Pages.Serve(shared)
	default:
		x.fail(x.noSuchRoute())
	}
}

// asksForPage reports whether the client prefers HTML to JSON, as browsers do.
func asksForPage(r *http.Request) bool {
	if p := r.URL.Path; p == "/mcp" || strings.HasPrefix(p, "/mcp/") {
		return false
	}
	accept := r.Header.Values("Accept")
	return liking(accept, "text/html") > liking(accept, "application/json")
}

// liking returns the quality, from 0 to 1, that Accept gives to exactly this type.
func liking(accept []string, kind string) (most float64) {
	for one := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		name, parameters, err := mime.ParseMediaType(one)
		if err != nil || name != kind {
			continue
		}
		q := 1.0
		if s, given := parameters["q"]; given {
			q, _ = strconv.ParseFloat(s, 64)
		}
		most = max(most, q)
	}
	return most
}

// TurnAway answers a request that the front refuses under load.
func (s *Server) TurnAway(shared *front.Exchange, why *front.Refusal) {
	(&exchange{Exchange: shared, server: s}).fail(why)
}

// Panicked answers after a panic. It writes the answer by hand, because the usual code may be what failed.
func (s *Server) Panicked(x *front.Exchange) {
	body := `{"error":"` + x.Unexpected() + `","code":"INTERNAL_ERROR"}`
	x.Header().Set("Content-Type", "application/json; charset=utf-8")
	x.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.WriteHeader(http.StatusInternalServerError)
	_, _ = x.Write([]byte(body))
}

// Probes answers the checks of balancers and supervisors.
type Probes struct{ server *Server }

// Probes returns the probes as a separate edge, because they are never refused under load.
func (s *Server) Probes() Probes { return Probes{s} }

// ProbePaths lead to the probes.
var ProbePaths = []string{"/healthz", "/readyz"}

// Serve answers a probe: /healthz says that the process serves, /readyz that it and the store do.
func (p Probes) Serve(shared *front.Exchange) {
	x := &exchange{Exchange: shared, server: p.server}
	if !x.IsRead() {
		x.notAllowed("GET, HEAD")
		return
	}
	if x.Request.URL.Path == "/readyz" {
		if err := x.ready(); err != nil {
			x.fail(err)
			return
		}
	}
	x.say(answer{status: http.StatusOK, body: []byte(`{"status":"ok"}`)})
}

// TurnAway implements front.Edge.
func (p Probes) TurnAway(x *front.Exchange, why *front.Refusal) { p.server.TurnAway(x, why) }

// Panicked answers as the API does.
func (p Probes) Panicked(x *front.Exchange) { p.server.Panicked(x) }

// readyWithin bounds the check of the store. The contract promises an answer within 2 seconds (D152).
const readyWithin = 1800 * time.Millisecond

// ready returns Unavailable while the server stops, or cannot reach its store.
func (x *exchange) ready() error {
	select {
	case <-x.Stopping():
		return sheaf.UnavailableError(errDraining)
	default:
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
	defer cancel()
	if err := x.server.App.Ready(ctx); err != nil {
		return sheaf.UnavailableError(err)
	}
	return nil
}

var errDraining = errors.New("the server is stopping")
