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
	ProjectsRead  Scope = "projects:read"
	ProjectsWrite Scope = "projects:write"
	// ProjectsAdmin decides which projects need review.
	ProjectsAdmin  Scope = "projects:admin"
	DocumentsRead  Scope = "documents:read"
	DocumentsWrite Scope = "documents:write"
	MediaRead      Scope = "media:read"
	MediaWrite     Scope = "media:write"
	SharesRead     Scope = "shares:read"
	SharesWrite    Scope = "shares:write"
	ProposalsRead  Scope = "proposals:read"
	ProposalsWrite Scope = "proposals:write"
	// ProposalsApprove decides about proposals: it approves, accepts and rejects them.
	ProposalsApprove Scope = "proposals:approve"
	ReleasesRead     Scope = "releases:read"
	ReleasesWrite    Scope = "releases:write"
	BrandingsRead    Scope = "brandings:read"
	BrandingsWrite   Scope = "brandings:write"
	WebhooksRead     Scope = "webhooks:read"
	WebhooksWrite    Scope = "webhooks:write"
	EventsRead       Scope = "events:read"
	EventsWrite      Scope = "events:write"
	KeysRead         Scope = "keys:read"
	KeysWrite        Scope = "keys:write"
	// AuditRead reads the audit log: who did what to the workspace.
	AuditRead Scope = "audit:read"
)

// AllScopes are the scopes in the order in which they are shown.
var AllScopes = Scopes{ProjectsRead, ProjectsWrite, ProjectsAdmin, DocumentsRead, DocumentsWrite,
	MediaRead, MediaWrite, SharesRead, SharesWrite, ProposalsRead, ProposalsWrite, ProposalsApprove, ReleasesRead, ReleasesWrite,
	BrandingsRead, BrandingsWrite, WebhooksRead, WebhooksWrite, EventsRead, EventsWrite, KeysRead, KeysWrite, AuditRead}

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

// Role is what a member may do in the console. In the API only a key's scopes count.
type Role string

// The roles.
const (
	Owner  Role = "owner"
	Admin  Role = "admin"
	Editor Role = "editor"
	Member Role = "member"
)

// roles has the roles from the lowest to the highest, each with the scopes that it has beyond those
// of the role before it. Owners also change members, the name and the plan: no scope stands for
// these, because no key may.
var roles = []struct {
	role Role
	adds Scopes
}{
	{Member, Scopes{ProjectsRead, DocumentsRead, MediaRead, SharesRead, ProposalsRead, ProposalsWrite, ReleasesRead, BrandingsRead, WebhooksRead, EventsRead, KeysRead}},
	{Editor, Scopes{ProjectsWrite, DocumentsWrite, MediaWrite, SharesWrite, ProposalsApprove, ReleasesWrite, BrandingsWrite}},
	{Admin, Scopes{ProjectsAdmin, WebhooksWrite, EventsWrite, KeysWrite}},
	{Owner, Scopes{AuditRead}},
}

// scopesOf has all scopes of each role, in the order in which scopes are shown.
var scopesOf = func() map[Role]Scopes {
	out, has := map[Role]Scopes{}, Scopes{}
	for _, r := range roles {
		has = append(has, r.adds...)
		for _, s := range AllScopes {
			if has.Has(s) {
				out[r.role] = append(out[r.role], s)
			}
		}
	}
	return out
}()

// restrictedScopesOf has the scopes of each role under a restriction. A restricted person has no
// webhooks: they deliver to endpoints, which outlive the person.
var restrictedScopesOf = func() map[Role]Scopes {
	out := map[Role]Scopes{}
	for role, scopes := range scopesOf {
		for _, s := range scopes {
			if s.Restrictable() && s != WebhooksRead && s != WebhooksWrite {
				out[role] = append(out[role], s)
			}
		}
	}
	return out
}()

// Roles returns the roles, the lowest first.
func Roles() []Role {
	out := make([]Role, len(roles))
	for i, r := range roles {
		out[i] = r.role
	}
	return out
}

// ParseRole returns the role of that name.
func ParseRole(s string) (Role, error) {
	if r := Role(s); slices.Contains(Roles(), r) {
		return r, nil
	}
	return "", InvalidField("role", "role must be owner, admin, editor or member, not %q", Clip(s))
}

// Scopes returns the scopes of a member with that role in the console. It is empty for an unknown
// role. The caller must not change it.
func (r Role) Scopes() Scopes { return scopesOf[r] }

// RestrictedScopes returns the scopes of a member with that role who is restricted to part of the
// workspace. The caller must not change it.
func (r Role) RestrictedScopes() Scopes { return restrictedScopesOf[r] }

// Phrase returns the role with its article, as "an editor".
func (r Role) Phrase() string {
	if r == Member {
		return "a " + string(r)
	}
	return "an " + string(r)
}

// LowestRole returns the lowest role that has the scope.
func LowestRole(s Scope) Role {
	for _, r := range roles {
		if r.adds.Has(s) {
			return r.role
		}
	}
	return Owner
}
