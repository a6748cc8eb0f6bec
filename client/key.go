package client

import (
	"context"
	"iter"
	"net/http"
	"time"
)

// Key is an API key of one user in the workspace.
type Key struct {
	Received
	ID     string   `json:"id"`
	Name   string   `json:"name"`
	Prefix string   `json:"prefix"` // shf_ and six characters more, to know it again by
	Scopes []string `json:"scopes"`
	// RestrictedTo limits what the key sees and changes; nil: the whole workspace.
	RestrictedTo *Restriction `json:"restricted_to"`
	UserID       string       `json:"user_id"`
	Owner        string       `json:"owner"`        // user, or workspace: then it stays when its user leaves
	ExpiresAt    *time.Time   `json:"expires_at"`   // nil: never
	LastUsedAt   *time.Time   `json:"last_used_at"` // to a minute; nil: not yet
	CreatedAt    time.Time    `json:"created_at"`
	// Secret is the key itself. Only Create and Rotate return it. If the first answer was lost and the request
	// repeated, it is nil: rotate the key, with another one if need be.
	Secret *string `json:"key"`
}

// NewKey is a key to create: with scopes that the client's own key has, and no later expiry.
type NewKey struct {
	Name      string     `json:"name"`
	Scopes    []string   `json:"scopes"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	// RestrictedTo limits the key to some projects and folders; nil: the whole workspace.
	RestrictedTo *Restriction `json:"restricted_to,omitempty"`
}

// Restriction limits a key to projects and folders of projects, 1 to 100 together. A folder covers everything
// below it.
type Restriction struct {
	ProjectIDs []string `json:"project_ids,omitempty"`
	FolderIDs  []string `json:"folder_ids,omitempty"`
}

// Keys are the operations on API keys. Listing needs the scope keys:read, the others keys:write.
type Keys struct{ c *Client }

const keysPath = "/api/v1/api-keys"

// List returns one page of the live keys.
func (s Keys) List(ctx context.Context, p Paging, opts ...Option) (Page[Key], error) {
	return list[Key](ctx, s.c, keysPath, p.values(), opts)
}

// All returns every live key.
func (s Keys) All(ctx context.Context, p Paging, opts ...Option) iter.Seq2[Key, error] {
	return all(p, func(p Paging) (Page[Key], error) { return s.List(ctx, p, opts...) })
}

// Create makes a key. One more than the plan allows is ErrKeyLimit.
func (s Keys) Create(ctx context.Context, in NewKey, opts ...Option) (Key, error) {
	return send[Key](ctx, s.c, request{method: http.MethodPost, path: keysPath, body: in}, opts)
}

// Rotate gives a key a new secret, which is in Secret. The present secret works too for the time of
// grace, in whole seconds and at most a day. With a grace of 0 it ends at once: if the client rotates
// its own key and the answer is lost, nothing can show the new secret again.
func (s Keys) Rotate(ctx context.Context, id string, grace time.Duration, opts ...Option) (Key, error) {
	body := map[string]any{"grace_seconds": int64(grace / time.Second)}
	return send[Key](ctx, s.c, request{method: http.MethodPost, path: keysPath + "/" + escape(id) + "/rotate", body: body}, opts)
}

// Revoke ends a key at once, the client's own too.
func (s Keys) Revoke(ctx context.Context, id string, opts ...Option) error {
	return s.c.exec(ctx, request{method: http.MethodDelete, path: keysPath + "/" + escape(id)}, opts)
}
