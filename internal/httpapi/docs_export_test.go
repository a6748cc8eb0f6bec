package httpapi

// OpenAPIJSON is what /openapi.json serves.
func OpenAPIJSON() []byte { return openAPIJSON }

// Operation is what the OpenAPI document must say of a route.
type Operation struct {
	Route
	Optional bool // the body may be left out
	Once     bool // it heeds an Idempotency-Key
}

// Operations returns the whole table.
func (s *Server) Operations() []Operation {
	var out []Operation
	for _, r := range s.allRoutes() {
		out = append(out, Operation{Route{r.method, r.path, r.need, r.oneOf, r.hasBody(), r.public}, r.optional, r.once})
	}
	return out
}
