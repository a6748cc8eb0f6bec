// Package httpapi is the API: an HTTP edge that turns requests into calls of app, and their results into
// answers. routes.go has all routes, handle.go every check around a call, error.go every error answer.
//
// It has no rules about the resources themselves. What it shares with other edges is in front.
package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/door"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/obs"
	"sheaf.dev/internal/render"
	"sheaf.dev/internal/sheaf"
)

// Config is what the edge needs.
type Config struct {
	App *app.App
	// Door admits the requests of all edges that take keys.
	Door *door.Door
	Now  func() time.Time
	// PublicURL is the base of the links in answers. If it is nil, the request's address is used.
	PublicURL *url.URL
	// Render converts Markdown to HTML. If it is nil, New makes a renderer that shows no pictures of
	// other hosts.
	Render *render.Renderer
	// Origins are the origins of pages that may call the API from a browser; "*" alone means every origin.
	Origins []string
	// Memory is the number of bytes that the process may use; 0 means no limit. Cached answers use at most
	// a tenth of it.
	Memory int64
	// Requests counts the requests by operation, for the metrics. It may be nil.
	Requests *obs.Routes
}

// Server is the API, its reference and the probes. It serves every path that no other edge has.
type Server struct {
	Config
	routes  *front.Routes[route]
	cache   *pageCache
	readers *readers
	base    string     // base URL of absolute links; empty: that of the request
	docs    *obs.Route // counts requests for the reference
	flights *obs.Route // counts preflights of browsers
	origins map[string]bool
}

// New returns the API over the rules.
func New(c Config) *Server {
	if c.Requests == nil {
		c.Requests = obs.NewRoutes()
	}
	if c.Render == nil {
		c.Render = render.New(render.Options{})
	}
	s := &Server{Config: c, cache: newPageCache(c.Memory), readers: newReaders(), docs: c.Requests.Route("docs", "any"),
		flights: c.Requests.Route("preflight", "any"), origins: originsOf(c.Origins)}
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

// Load is the state of the cache of pages, for the metrics.
type Load struct {
	// PageHits counts the answers from the cache since the start, and PageMisses the answers that could
	// have been in it. PageBytes is the size of the cache.
	PageHits, PageMisses uint64
	PageBytes            int
}

// Load returns the state of the cache of pages.
func (s *Server) Load() Load {
	return Load{PageHits: s.cache.hits.Load(), PageMisses: s.cache.misses.Load(), PageBytes: s.cache.bytes()}
}

// exchange returns the exchange of a request that is not admitted yet.
func (s *Server) exchange(shared *front.Exchange) *exchange {
	return &exchange{Access: s.Door.Access(shared), server: s}
}

// Paths are the patterns of the API: the paths that are never answered with an HTML page, and "/" for all paths
// that no other edge has.
var Paths = []string{"/", "/api", "/api/", "/docs", "/docs/", "/openapi.json", "/openapi.yaml", "/mcp", "/mcp/"}

// Serve implements front.Edge.
func (s *Server) Serve(shared *front.Exchange) {
	x := s.exchange(shared)
	switch path := x.Request.URL.Path; {
	case isAPI(path):
		if !x.allowOrigin() {
			s.serveAPI(x)
		}
	case path == "/docs" || strings.HasPrefix(path, "/docs/") || path == "/openapi.json" || path == "/openapi.yaml":
		x.serveDocs()
	default:
		x.fail(x.noSuchRoute())
	}
}

// isAPI reports whether the path belongs to the API itself, and not to its reference.
func isAPI(path string) bool { return path == "/api" || strings.HasPrefix(path, "/api/") }

// Refuse answers a request that the front refuses under load.
func (s *Server) Refuse(shared *front.Exchange, why *front.Refusal) {
	x := s.exchange(shared)
	if isAPI(x.Request.URL.Path) && x.allowOrigin() {
		return
	}
	x.fail(why)
}

// Panicked answers after a panic. It writes the answer by hand, because the usual code may be what failed.
func (s *Server) Panicked(x *front.Exchange) {
	body := `{"error":"` + x.Unexpected() + `","code":"INTERNAL_ERROR"}`
	x.Header().Set("Content-Type", "application/json; charset=utf-8")
	x.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.WriteHeader(http.StatusInternalServerError)
	_, _ = x.Write([]byte(body))
}

// Probes answers the health checks of load balancers and supervisors.
type Probes struct{ server *Server }

// Probes returns the probes as a separate edge, because they are never refused under load.
func (s *Server) Probes() Probes { return Probes{s} }

// ProbePaths are the patterns of the probes.
var ProbePaths = []string{"/healthz", "/readyz"}

// Serve answers a probe. 200 means for /healthz that the process serves, and for /readyz that the store
// answers too.
func (p Probes) Serve(shared *front.Exchange) {
	x := p.server.exchange(shared)
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
	x.reply(answer{status: http.StatusOK, body: []byte(`{"status":"ok"}`)})
}

// Refuse implements front.Edge.
func (p Probes) Refuse(x *front.Exchange, why *front.Refusal) { p.server.Refuse(x, why) }

// Panicked implements front.Edge.
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
