package sheaf

import (
	"slices"
	"strings"
)

// Scope is a right of a key. A write scope does not include read.
type Scope string

// The scopes. EventsRead and WebhooksWrite expose all of a workspace's content. SharesRead exposes
// the addresses of shares, and with them what is shared without a password.
const (
	ProjectsRead   Scope = "projects:read"
	ProjectsWrite  Scope = "projects:write"
	DocumentsRead  Scope = "documents:read"
	DocumentsWrite Scope = "documents:write"
	MediaRead      Scope = "media:read"
	MediaWrite     Scope = "media:write"
	SharesRead     Scope = "shares:read"
	SharesWrite    Scope = "shares:write"
	BrandingsRead  Scope = "brandings:read"
	BrandingsWrite Scope = "brandings:write"
	WebhooksRead   Scope = "webhooks:read"
	WebhooksWrite  Scope = "webhooks:write"
	EventsRead     Scope = "events:read"
	EventsWrite    Scope = "events:write"
	KeysRead       Scope = "keys:read"
	KeysWrite      Scope = "keys:write"
)

// AllScopes are the scopes in the order in which they are shown.
var AllScopes = Scopes{ProjectsRead, ProjectsWrite, DocumentsRead, DocumentsWrite,
	MediaRead, MediaWrite, SharesRead, SharesWrite, BrandingsRead, BrandingsWrite,
	WebhooksRead, WebhooksWrite, EventsRead, EventsWrite, KeysRead, KeysWrite}

// Scopes is a set of scopes, each once.
type Scopes []Scope

// Has reports whether s is in the set.
func (ss Scopes) Has(s Scope) bool { return slices.Contains(ss, s) }

// Strings returns the scopes as texts.
func (ss Scopes) Strings() []string {
	out := make([]string, len(ss))
	for i, s := range ss {
		out[i] = string(s)
	}
	return out
}

// ParseScopes returns the named scopes in the order given, each once. No scope, or an unknown one,
// is invalid.
func ParseScopes(names []string) (Scopes, error) {
	if len(names) == 0 {
		return nil, InvalidField("scopes", "scopes must name at least one of %s", strings.Join(AllScopes.Strings(), ", "))
	}
	var out Scopes
	for _, n := range names {
		s := Scope(n)
		switch {
		case !AllScopes.Has(s):
			return nil, InvalidField("scopes", "scopes: %q is unknown: choose from %s", Clip(n), strings.Join(AllScopes.Strings(), ", "))
		case !out.Has(s):
			out = append(out, s)
		}
	}
	return out, nil
}
