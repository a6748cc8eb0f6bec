package httpapi

import "sheaf.dev/internal/sheaf"

// Route is what the tests see of a route.
type Route struct {
	Method, Path string
	Need         []sheaf.Scope // nil: none was declared
	OneOf        []sheaf.Scope // and one of these
	Body         bool          // it takes one
	Public       bool          // it needs no key
}

// Routes returns the whole table.
func (s *Server) Routes() []Route {
	var out []Route
	for _, r := range s.allRoutes() {
		out = append(out, Route{r.method, r.path, r.need, r.oneOf, r.hasBody(), r.public})
	}
	return out
}

// Recheck is how often a stream asks whether its key still opens it.
const Recheck = recheck

// ForgetPages empties the cache of answers.
func (s *Server) ForgetPages() { s.cache.forgetAll() }

func (c *pageCache) forgetAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, at := range []*shelf{&c.small, &c.large} {
		for at.order.Len() > 0 {
			c.forgetOne(at)
		}
	}
}
