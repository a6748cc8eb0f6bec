// Package mcp is the edge for agents: it offers tools to find, read and write documents through the Model
// Context Protocol, on one path. Requests pass the same door, and call the same methods of app, as those of the API.
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
// It keeps no state between requests: every node can answer every request, also after a restart. So there
// are no messages from the server, and GET is refused (docs/decisions/0034-mcp.md).
//
// It has no rules about the resources themselves.
package mcp

import (
	"net/http"
	"net/url"
	"strconv"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/door"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/obs"
)

// Path is the path of the edge.
const Path = "/mcp"

// Config is what the edge needs.
type Config struct {
	App *app.App
	// Version is the program's version, which clients see.
	Version string
	// Door admits the requests of all edges that take keys.
	Door *door.Door
	// PublicURL is the address of the service for people. If it is nil, that of the request is used.
	PublicURL *url.URL
	// Requests counts the calls by tool, for the metrics. It may be nil.
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
	// Bodies are read and bounded before the SDK sees them. The SDK's protection against DNS rebinding is
	// not needed, because nothing works without a key, and it would refuse requests behind a proxy.
	s.handler = sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server { return callOf(r.Context()).view },
		&sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true, DisableLocalhostProtection: true, MaxRequestBodyBytes: -1})
	return s
}

// exchange returns the exchange of a request that is not admitted yet.
func (s *Server) exchange(shared *front.Exchange) *exchange {
	x := &exchange{Access: s.Door.Access(shared), server: s}
	if c := s.App.Connecting(); c != nil {
		x.Resource, x.Metadata = c.Resource, c.Metadata
	}
	return x
}

// Refuse answers a request that the front refuses under load.
func (s *Server) Refuse(shared *front.Exchange, why *front.Refusal) {
	x := s.exchange(shared)
	x.fail(message{}, x.Refusal(why))
}

// Panicked answers after a panic. It writes the answer by hand, because the usual code may be what failed.
func (s *Server) Panicked(x *front.Exchange) {
	body := `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"` + x.Unexpected() + `","data":{"code":"INTERNAL_ERROR"}}}`
	x.Header().Set("Content-Type", "application/json; charset=utf-8")
	x.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.WriteHeader(http.StatusInternalServerError)
	_, _ = x.Write([]byte(body))
}
