package app

import (
	"sheaf.dev/internal/sheaf"
)

// Caller is who asks: a key of a user in a workspace. Every method takes one
// and sees nothing of any other workspace.
type Caller struct {
	Workspace sheaf.WorkspaceID
	User      sheaf.UserID
	Key       sheaf.Key
	Plan      sheaf.Plan // when the request began; limits are judged on the stored one
	// Once is set when the request carries an Idempotency-Key.
	Once *Once
}

// Authorize is the one gate: it returns Forbidden, naming the scope, unless the
// caller holds it.
func (c Caller) Authorize(need sheaf.Scope) error {
	if c.Key.Scopes.Has(need) {
		return nil
	}
	return sheaf.Forbiddenf("this key lacks the scope %s: use a key that has it, or create one with it", need)
}
