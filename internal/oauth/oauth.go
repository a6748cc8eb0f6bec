// Package oauth is the edge for apps that connect by an address alone. An app that calls /mcp without a key is led here:
//
//	GET  /.well-known/oauth-protected-resource[/mcp]   who gives out tokens for /mcp            (RFC 9728)
//	GET  /.well-known/oauth-authorization-server       the addresses below                      (RFC 8414)
//	POST /oauth/register                               the app describes itself                 (RFC 7591)
//	GET  /oauth/authorize                              the person agrees: a page of the console
//	POST /oauth/token                                  tokens for a code or a refresh token     (RFC 6749, 7636, 8707)
//	POST /oauth/revoke                                 the app disconnects itself               (RFC 7009)
//
// Pages of other sites may call these addresses (CORS): none of them uses a cookie.
//
// It has no rules of its own: what a code or a token gets, app decides.
package oauth

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/obs"
	"sheaf.dev/internal/sheaf"
)

const (
	resourcePath  = "/.well-known/oauth-protected-resource"
	serverPath    = "/.well-known/oauth-authorization-server"
	registerPath  = "/oauth/register"
	tokenPath     = "/oauth/token"
	revokePath    = "/oauth/revoke"
	authorizePath = "/oauth/authorize"

	mcpPath = "/mcp"

	// maxBody bounds a registration and a request for tokens.
	maxBody = 64 << 10
)

// Settings returns the settings of OAuth for a service with that public address, or nil if apps cannot be connected there:
// tokens are only sent over https, or within one machine.
func Settings(public *url.URL) *app.Connecting {
	if public == nil || public.Scheme != "https" && !sheaf.IsLoopback(public.Hostname()) {
		return nil
	}
	issuer := strings.TrimRight(public.String(), "/")
	return &app.Connecting{Issuer: issuer, Resource: issuer + mcpPath, Metadata: issuer + resourcePath + mcpPath}
}

// Config is what the edge needs.
type Config struct {
	App *app.App
	Log *slog.Logger
	// PublicURL is the address of the service for people. It may be nil.
	PublicURL *url.URL
	// Requests counts the requests by address, for the metrics. It may be nil.
	Requests *obs.Routes
}

// Server is the edge. It is safe for concurrent use.
type Server struct {
	Config
	settings *app.Connecting // nil: apps cannot be connected
	routes   map[string]route
}

// route is what answers at an address.
type route struct {
	method  string
	counted *obs.Route
	serve   func(*exchange)
}

// New returns the edge over the rules.
func New(c Config) *Server {
	if c.Requests == nil {
		c.Requests = obs.NewRoutes()
	}
	s := &Server{Config: c, settings: c.App.Connecting(), routes: map[string]route{}}
	add := func(method, path string, serve func(*exchange)) {
		s.routes[path] = route{method, c.Requests.Route(path, method), serve}
	}
	for _, path := range []string{resourcePath, resourcePath + mcpPath, s.inserted(resourcePath, mcpPath)} {
		add(http.MethodGet, path, (*exchange).resource)
	}
	for _, path := range []string{serverPath, s.inserted(serverPath, "")} {
		add(http.MethodGet, path, (*exchange).authorizationServer)
	}
	add(http.MethodPost, registerPath, (*exchange).register)
	add(http.MethodPost, tokenPath, (*exchange).token)
	add(http.MethodPost, revokePath, (*exchange).revoke)
	return s
}

// inserted returns a well-known path of a service whose public address has a path, as its RFC says: the well-known part
// comes first.
func (s *Server) inserted(wellKnown, rest string) string {
	if s.PublicURL == nil {
		return wellKnown + rest
	}
	return wellKnown + strings.TrimRight(s.PublicURL.EscapedPath(), "/") + rest
}

// Paths returns the paths of the edge.
func (s *Server) Paths() []string {
	var all []string
	for path := range s.routes {
		all = append(all, path)
	}
	slices.Sort(all)
	return all
}

// exchange is one request and its answer.
type exchange struct {
	*front.Exchange
	server *Server
}

// Serve answers a request.
func (s *Server) Serve(shared *front.Exchange) {
	x := &exchange{shared, s}
	r := s.routes[x.Request.URL.Path]
	x.Counted = r.counted
	h := x.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Cache-Control", "no-store")
	switch {
	case s.settings == nil:
		x.fail(http.StatusNotFound, "not_found", "apps cannot be connected to this server: it needs --public-url with an https address")
	case x.Request.Method == http.MethodOptions:
		h.Set("Access-Control-Allow-Methods", r.method+", OPTIONS")
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, MCP-Protocol-Version")
		h.Set("Access-Control-Max-Age", "86400")
		x.WriteHeader(http.StatusNoContent)
	case x.Request.Method != r.method && !(r.method == http.MethodGet && x.Request.Method == http.MethodHead):
		h.Set("Allow", r.method+", OPTIONS")
		x.fail(http.StatusMethodNotAllowed, "invalid_request", "this address accepts only "+r.method)
	default:
		r.serve(x)
	}
}

// Refuse answers a request that the front refuses under load.
func (s *Server) Refuse(shared *front.Exchange, why *front.Refusal) {
	x := &exchange{shared, s}
	x.Header().Set("Access-Control-Allow-Origin", "*")
	x.RetryAfter(why.RetryAfter)
	x.fail(why.Status, "temporarily_unavailable", why.Text)
}

// Panicked answers after a panic.
func (s *Server) Panicked(x *front.Exchange) {
	x.Header().Set("Content-Type", "application/json")
	x.WriteHeader(http.StatusInternalServerError)
	_, _ = x.Write([]byte(`{"error":"server_error","error_description":"` + x.Unexpected() + `"}`))
}

// send answers with JSON.
func (x *exchange) send(status int, body any) {
	b, err := json.Marshal(body)
	if err != nil {
		panic("oauth: an answer did not encode: " + err.Error())
	}
	x.Header().Set("Content-Type", "application/json")
	x.WriteHeader(status)
	if x.Request.Method != http.MethodHead {
		_, _ = x.Write(b)
	}
}

// fail answers with an error of the protocol.
func (x *exchange) fail(status int, code, text string) {
	x.Refused = code
	x.send(status, map[string]string{"error": code, "error_description": text})
}

// failWith answers with the error of a rule.
func (x *exchange) failWith(err error) {
	var refused *sheaf.OAuthError
	var fault *sheaf.Error
	switch {
	case errors.As(err, &refused):
		x.fail(http.StatusBadRequest, refused.Code, refused.Text)
	case errors.As(err, &fault) && (fault.Kind == sheaf.RateLimited || fault.Kind == sheaf.Unavailable):
		if fault.Cause != nil && x.Request.Context().Err() == nil {
			x.server.Log.Error("answered that the store is unavailable", "request_id", x.ID, "error", err)
		}
		x.RetryAfter(max(fault.RetryAfter, 1))
		x.fail(front.Status(fault.Kind), "temporarily_unavailable", fault.Text)
	default:
		x.server.Log.Error("failed with an internal error", "request_id", x.ID, "error", err)
		x.fail(http.StatusInternalServerError, "server_error", x.Unexpected())
	}
}

// resource answers with the document about /mcp.
func (x *exchange) resource() {
	s := x.server.settings
	x.send(http.StatusOK, oauthex.ProtectedResourceMetadata{Resource: s.Resource, AuthorizationServers: []string{s.Issuer},
		ScopesSupported: sheaf.GrantScopes.Strings(), BearerMethodsSupported: []string{"header"}, ResourceName: "Sheaf"})
}

// authorizationServer answers with the document about this edge.
func (x *exchange) authorizationServer() {
	s := x.server.settings
	x.send(http.StatusOK, serverMetadata{
		Issuer: s.Issuer, Authorize: s.Issuer + authorizePath, Token: s.Issuer + tokenPath, Register: s.Issuer + registerPath, Revoke: s.Issuer + revokePath,
		Scopes: sheaf.GrantScopes.Strings(), Responses: []string{"code"}, Modes: []string{"query"}, Grants: []string{"authorization_code", "refresh_token"},
		TokenAuth: []string{"none"}, RevokeAuth: []string{"none"}, Challenges: []string{"S256"}, Issued: true, Documents: true})
}

// serverMetadata is the metadata of an authorization server (RFC 8414), without what is not offered here.
type serverMetadata struct {
	Issuer     string   `json:"issuer"`
	Authorize  string   `json:"authorization_endpoint"`
	Token      string   `json:"token_endpoint"`
	Register   string   `json:"registration_endpoint"`
	Revoke     string   `json:"revocation_endpoint"`
	Scopes     []string `json:"scopes_supported"`
	Responses  []string `json:"response_types_supported"`
	Modes      []string `json:"response_modes_supported"`
	Grants     []string `json:"grant_types_supported"`
	TokenAuth  []string `json:"token_endpoint_auth_methods_supported"`
	RevokeAuth []string `json:"revocation_endpoint_auth_methods_supported"`
	Challenges []string `json:"code_challenge_methods_supported"`
	Issued     bool     `json:"authorization_response_iss_parameter_supported"` // RFC 9207
	Documents  bool     `json:"client_id_metadata_document_supported"`
}
