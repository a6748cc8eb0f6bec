package front

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Routes finds the route of a request: by its path, with the patterns of net/http, and then by its
// method. So a wrong method (405) differs from a wrong path (404). HEAD uses the route of GET.
type Routes[R any] struct {
	mux   *http.ServeMux // matches paths, and calls nothing
	paths map[string]*methods[R]
}

// methods are the routes of one path.
type methods[R any] struct {
	byMethod map[string]*R
	allow    string // the methods, as the header Allow lists them
}

// NewRoutes returns the table of these routes. of returns a route's method and path.
func NewRoutes[R any](all []R, of func(*R) (method, path string)) *Routes[R] {
	t := &Routes[R]{mux: http.NewServeMux(), paths: map[string]*methods[R]{}}
	matched := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	t.mux.Handle("/", matched)
	for i := range all {
		method, path := of(&all[i])
		m := t.paths[path]
		if m == nil {
			m = &methods[R]{byMethod: map[string]*R{}}
			t.paths[path] = m
			t.mux.Handle(path, matched)
		}
		m.byMethod[method] = &all[i]
		if method == http.MethodGet {
			m.byMethod[http.MethodHead] = &all[i]
		}
		m.allow = strings.Join(slices.Sorted(maps.Keys(m.byMethod)), ", ")
	}
	return t
}

// Find returns the route of the request, and sets the request's path values. If there is no route, it
// returns nil, and allow lists the methods of the path. If allow is empty, the path is unknown.
func (t *Routes[R]) Find(x *Exchange) (route *R, allow string) {
	if !isClean(x.Request.URL) {
		return nil, "" // the mux would send a redirect
	}
	t.mux.ServeHTTP(x, x.Request) // sets the request's Pattern and path values
	m := t.paths[x.Request.Pattern]
	if m == nil {
		return nil, ""
	}
	if route := m.byMethod[x.Request.Method]; route != nil {
		return route, ""
	}
	return nil, m.allow
}

// Has reports whether a path leads to a route.
func (t *Routes[R]) Has(path string) bool {
	_, pattern := t.mux.Handler(&http.Request{Method: http.MethodGet, URL: &url.URL{Path: path}})
	return t.paths[pattern] != nil
}

// Takes reports whether a path leads to a route of that method.
func (t *Routes[R]) Takes(method, path string) bool {
	_, pattern := t.mux.Handler(&http.Request{Method: method, URL: &url.URL{Path: path}})
	m := t.paths[pattern]
	return m != nil && m.byMethod[method] != nil
}

// isClean reports whether the path is in its cleaned form. The mux would redirect any other.
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
