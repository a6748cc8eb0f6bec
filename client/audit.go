package client

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"time"
)

// AuditLine is one line of the audit log: who did what.
type AuditLine struct {
	ID        string     `json:"id"`
	Time      time.Time  `json:"time"`
	Actor     AuditActor `json:"actor"`
	Action    string     `json:"action"`     // such as key.created
	Target    *string    `json:"target"`     // the id of the record that was changed
	Address   *string    `json:"address"`    // of the client; nil: an operator, or the person was erased
	RequestID *string    `json:"request_id"` // of the request
	// Before and After have the fields before and after the action, without secrets. nil: none.
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

// AuditActor is who did something. If no field is set, the server did it by itself.
type AuditActor struct {
	UserID   *string `json:"user_id"` // the person, or the user of the key
	KeyID    *string `json:"key_id"`
	Operator bool    `json:"operator"` // on the command line
}

// AuditFilter narrows the audit log.
type AuditFilter struct {
	Action string
	UserID string // what this person did, or a key of this person
	KeyID  string
	Target string    // the id of a record
	Since  time.Time // inclusive; zero: the beginning
	Before time.Time // exclusive; zero: the end
	After  string    // the id of a line: only later ones
	Paging           // Offset must be 0 with After
}

func (f AuditFilter) values() url.Values {
	q := f.Paging.values()
	set(q, "action", f.Action)
	set(q, "user_id", f.UserID)
	set(q, "key_id", f.KeyID)
	set(q, "target", f.Target)
	setTime(q, "since", f.Since)
	setTime(q, "before", f.Before)
	set(q, "after", f.After)
	return q
}

// Audit reads the audit log. It needs the scope audit:read and the Business plan.
type Audit struct{ c *Client }

const auditPath = "/api/v1/audit"

// List returns one page of the log, in the order of the transactions. An After that is no longer kept is
// ErrNotFound: begin with Since.
func (s Audit) List(ctx context.Context, f AuditFilter, opts ...Option) (Page[AuditLine], error) {
	return list[AuditLine](ctx, s.c, auditPath, f.values(), opts)
}

// All returns every line that matches, up to the end of the log, as Events.All does.
func (s Audit) All(ctx context.Context, f AuditFilter, opts ...Option) iter.Seq2[AuditLine, error] {
	if f.Desc {
		return all(f.Paging, func(p Paging) (Page[AuditLine], error) {
			f.Paging = p
			return s.List(ctx, f, opts...)
		})
	}
	return forward(func(after string) (Page[AuditLine], error) {
		if after != "" {
			f.After, f.Offset = after, 0
		}
		f.Limit = cmp.Or(f.Limit, 100)
		return s.List(ctx, f, opts...)
	}, func(l AuditLine) string { return l.ID })
}
