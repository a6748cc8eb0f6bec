package app

import (
	"sheaf.dev/internal/sheaf"
)

// Caller is who asks: a key of a user in a workspace, or a member of it who is
// signed in to the console. Every method takes one and sees nothing of any other
// workspace.
type Caller struct {
	Workspace sheaf.WorkspaceID
	User      sheaf.UserID
	Key       sheaf.Key
	Role      sheaf.Role // in the console; empty where a key asks
	Plan      sheaf.Plan // when the request began; limits are judged on the stored one
	// Once is set when the request carries an Idempotency-Key.
	Once *Once
}

// Authorize is the one gate: it returns Forbidden, naming the scope, unless the
// caller holds it. A key holds what it was granted, a member what the role
// allows.
func (c Caller) Authorize(need sheaf.Scope) error {
	switch {
	case c.May(need):
		return nil
	case c.Role != "":
		return sheaf.Forbiddenf("a %s of this workspace can look at this and change nothing: ask an owner to make you an admin", c.Role)
	}
	return sheaf.Forbiddenf("this key lacks the scope %s: use a key that has it, or create one with it", need)
}

// AuthorizeOwner is the gate to what owners alone may change: members and the
// plan. No key opens it.
func (c Caller) AuthorizeOwner() error {
	if c.Role == sheaf.Owner {
		return nil
	}
	return sheaf.Forbiddenf("only an owner of this workspace can do that: ask one")
}

// May reports whether Authorize would return nil.
func (c Caller) May(need sheaf.Scope) bool {
	if c.Role != "" {
		return c.Role.Scopes().Has(need)
	}
	return c.Key.Scopes.Has(need)
}
