package httpapi

import (
	"path"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// slip is a common mistake in a path that matches no route. mended returns the path without the
// mistake, or the path unchanged if it does not have the mistake.
type slip struct {
	mended func(string) string
	says   string
}

// slips are tried in this order. Each gets the path as the previous ones left it.
var slips = []slip{
	{func(p string) string {
		for strings.Contains(p, "//") {
			p = strings.ReplaceAll(p, "//", "/")
		}
		return p
	}, "two slashes follow each other (the base address that you gave probably ends in one)"},
	{func(p string) string { return "/" + strings.Trim(p, "/") }, "the path ends in a slash"},
	{path.Clean, "the path has a segment . or .."},
	{func(p string) string { return strings.TrimSuffix(p, ".json") }, "paths have no ending .json: every answer is JSON"},
	{twice, "the prefix stands twice (the base address that you gave probably has it already)"},
	{func(p string) string { return moved(p, "/v1/", "/api/v1/") }, "the path begins with /api"},
	{func(p string) string { return moved(p, "/webhooks/", "/api/webhooks/") }, "the path begins with /api"},
	{func(p string) string { return moved(p, "/api/v1/webhooks/", "/api/webhooks/") }, "the paths of webhooks have no version"},
	{func(p string) string { return moved(p, "/api/v1/subscriptions/", "/api/webhooks/subscriptions/") }, "subscriptions stand under /api/webhooks"},
	{func(p string) string { return moved(p, "/api/v1/deliveries/", "/api/webhooks/deliveries/") }, "deliveries stand under /api/webhooks"},
	{func(p string) string { return moved(p, "/api/v1/keys/", "/api/v1/api-keys/") }, "keys are called api-keys in paths"},
	{subscriptions, "subscriptions stand under /api/webhooks/subscriptions"},
	{unversioned, "the path begins with /api/v1"},
	{strings.ToLower, "paths are written in lower case"},
}

// moved replaces the prefix `from` of a path by `to`. It matches whole segments only.
func moved(p, from, to string) string {
	if rest, ok := strings.CutPrefix(p+"/", from); ok {
		return strings.TrimSuffix(to+rest, "/")
	}
	return p
}

// twice removes a repeated /api prefix: the client's base URL already had it.
func twice(p string) string {
	for _, prefix := range []string{"/api/v1", "/api"} {
		if rest, ok := strings.CutPrefix(p, prefix+"/api/"); ok {
			return "/api/" + rest
		}
	}
	return p
}

// subscriptions reads /api/webhooks as the list of subscriptions, and /api/webhooks/<id> as one of them.
func subscriptions(p string) string {
	rest, ok := strings.CutPrefix(p+"/", "/api/webhooks/")
	first, _, _ := strings.Cut(rest, "/")
	if _, isID := sheaf.ParseUUID(first); ok && (isID || first == "") {
		return strings.TrimSuffix("/api/webhooks/subscriptions/"+rest, "/")
	}
	return p
}

// unversioned inserts a missing /v1.
func unversioned(p string) string {
	if lower := strings.ToLower(p); strings.HasPrefix(lower, "/api/v1/") || strings.HasPrefix(lower, "/api/webhooks/") {
		return p
	}
	return "/api/v1" + strings.TrimPrefix(p, "/api")
}

// noSuchRoute returns the 404 for a path that matches no route. If removing common mistakes yields a
// route, the message names it.
func (x *exchange) noSuchRoute() error {
	return &sheaf.Error{Kind: sheaf.NotFound, Code: sheaf.CodeNotFound, Text: "no such address: " + x.server.suggestPath(x.Request.URL.Path)}
}

// suggestPath describes what is wrong with a path that matches no route. It removes one slip after the
// other until the path matches a route, and names that route.
func (s *Server) suggestPath(asked string) string {
	var says []string
	at := asked
	if len(at) <= maxSuggested {
		for _, slip := range slips {
			if next := slip.mended(at); next != at {
				at, says = next, append(says, slip.says)
			}
			if len(says) > 0 && s.routes.Has(at) {
				return strings.Join(says, "; ") + ": ask for " + at
			}
		}
	}
	return "check the path against the API reference at /docs; paths are in lower case, without a slash at the end or two in a row"
}

// maxSuggested is the longest path in bytes that suggestPath examines. All routes are shorter.
const maxSuggested = 256
