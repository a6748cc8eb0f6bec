// Package mcp is the edge for agents: the Model Context Protocol on one address, by which a program
// that talks to a language model finds, reads and writes documents as a person would ask it to. It
// is the API in other clothes: the same keys, the same rate limit, the same methods of app.
//
//	POST /mcp ── Serve ──▶ origin, key, plan, rate limit, body     handle.go, in this order
//	                          │
//	                          ▼
//	                     the SDK reads one message, and answers it
//	                          │
//	                          ├─ tools/call      ▶ a tool of tools.go ▶ app
//	                          ├─ tools/list      ▶ those tools that the key's scopes allow
//	                          └─ resources/…     ▶ sheaf://document/<id>, resource.go
//
// Nothing is kept between two requests: every node answers each, and a restart is not noticed. So
// there is nothing to listen to either, and GET is refused. docs/decisions/0034-mcp.md says why.
//
// It decides nothing about the resources themselves.
package mcp

import (
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/obs"
	"sheaf.dev/internal/sheaf"
)

// Path is where agents ask.
const Path = "/mcp"

// Config is what the edge needs.
type Config struct {
	App *app.App
	Log *slog.Logger
	// Version is that of the program, which clients are told.
	Version string
	// Enter finds out who asks, whether the plan allows it and how often it was done, as for a request
	// to the API and together with these. A refusal has its headers set.
	Enter func(*front.Exchange) (app.Caller, *sheaf.Error)
	// Refuse turns an error into what may be shown of it, and logs what may not.
	Refuse func(*front.Exchange, error) *sheaf.Error
	// PublicURL is how people reach the service; nil takes the request's word.
	PublicURL *url.URL
	// Requests counts the calls by tool, for the metrics; nil counts them where nobody looks.
	Requests *obs.Routes
}

// Server answers agents. It is safe for concurrent use.
type Server struct {
	Config
	tools   []tool
	byName  map[string]*tool
	handler *sdk.StreamableHTTPHandler

	mu    sync.Mutex             // guards views
	views map[string]*sdk.Server // by the names of the tools in them: a few, since scopes are few
}

// New returns the edge over the rules.
func New(c Config) *Server {
	if c.Requests == nil {
		c.Requests = obs.NewRoutes()
	}
	s := &Server{Config: c, tools: allTools(), byName: map[string]*tool{}, views: map[string]*sdk.Server{}}
	for i := range s.tools {
		t := &s.tools[i]
		t.counted = c.Requests.Route(Path, t.name)
		s.byName[t.name] = t
	}
	// Bodies are read and bounded before the SDK sees them. A name that leads to this machine from
	// elsewhere is no danger, since nothing is allowed without a key; behind a proxy it is usual.
	s.handler = sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server { return callOf(r.Context()).view },
		&sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true, DisableLocalhostProtection: true, MaxRequestBodyBytes: -1})
	return s
}

// TurnAway answers a request that there is no room for.
func (s *Server) TurnAway(shared *front.Exchange, why *front.Refusal) {
	x := &exchange{Exchange: shared, server: s}
	x.fail(message{}, s.Refuse(shared, why))
}

// Panicked answers a request that nobody could foresee to fail: written out, since the usual way to
// answer may be what failed.
func (s *Server) Panicked(x *front.Exchange) {
	body := `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"` + x.Unexpected() + `","data":{"code":"INTERNAL_ERROR"}}}`
	x.Header().Set("Content-Type", "application/json; charset=utf-8")
	x.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.WriteHeader(http.StatusInternalServerError)
	_, _ = x.Write([]byte(body))
}
