package httpapi

import (
	"path"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// A path that leads nowhere is most often one that was put together wrongly. A slip is one way of
// doing so: mended returns the path without it, or the same.
type slip struct {
	mended func(string) string
	says   string
}

// slips are tried in turn, each on what the one before left.
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

// moved replaces the beginning of a path by whole segments.
func moved(p, from, to string) string {
	if rest, ok := strings.CutPrefix(p+"/", from); ok {
		return strings.TrimSuffix(to+rest, "/")
	}
	return p
}

// twice mends a path in which /api stands twice: the base of a client had it already.
func twice(p string) string {
	for _, prefix := range []string{"/api/v1", "/api"} {
		if rest, ok := strings.CutPrefix(p, prefix+"/api/"); ok {
			return "/api/" + rest
		}
	}
	return p
}

// subscriptions takes /api/webhooks for the list, and /api/webhooks/<id> for one.
func subscriptions(p string) string {
	rest, ok := strings.CutPrefix(p+"/", "/api/webhooks/")
	first, _, _ := strings.Cut(rest, "/")
	if _, isID := sheaf.ParseUUID(first); ok && (isID || first == "") {
		return strings.TrimSuffix("/api/webhooks/subscriptions/"+rest, "/")
	}
	return p
}

// unversioned mends a path that lacks /v1.
func unversioned(p string) string {
	if lower := strings.ToLower(p); strings.HasPrefix(lower, "/api/v1/") || strings.HasPrefix(lower, "/api/webhooks/") {
		return p
	}
	return "/api/v1" + strings.TrimPrefix(p, "/api")
}

// noSuchRoute says that the path leads nowhere, and where it is one slip away from a path that
// does, which.
func (x *exchange) noSuchRoute() error {
	return &sheaf.Error{Kind: sheaf.NotFound, Code: sheaf.CodeNotFound, Text: "no such address: " + x.server.astray(x.Request.URL.Path)}
}

// astray says what is wrong with a path that leads nowhere. It mends one slip after the other,
// until the path leads somewhere.
func (s *Server) astray(asked string) string {
	var says []string
	at := asked
	if len(at) <= maxAstray {
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

// maxAstray bounds the paths that are looked at: those of the API are shorter.
const maxAstray = 256
