package httpapi

import (
	"net/http"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

func createdKey(k sheaf.NewKey) answer {
	return answer{status: http.StatusCreated, body: sheaf.AppendJSON(nil, &k), location: "/api/v1/api-keys"}
}

func rotatedKey(k sheaf.NewKey) answer {
	return answer{status: http.StatusOK, body: sheaf.AppendJSON(nil, &k)}
}

// newKey reads the body of a new key.
func newKey(in *strict.Fields) (app.NewKey, error) {
	name := in.Text("name")
	if !name.Given() {
		in.Refuse(sheaf.InvalidField("name", "name is required: give it 1 to %d characters", sheaf.MaxKeyName))
	}
	scopes, err := sheaf.ParseScopes(in.Texts("scopes").Value)
	in.Refuse(err)
	if owner := in.Text("owner"); owner.Given() && owner.Value != sheaf.OwnerUser {
		in.Refuse(sheaf.InvalidField("owner", "owner: a key of the workspace is made in the console or by the command line: leave it out"))
	}
	if near := in.Near("restricted_to"); near != "" {
		in.Refuse(sheaf.InvalidField("restricted_to", "restricted_to is misspelt as %s: correct it, or the key would reach the whole workspace", sheaf.Clip(near)))
	}
	return app.NewKey{Name: name.Value, Scopes: scopes, ExpiresAt: in.Time("expires_at").Pointer(), RestrictTo: restrictTo(in)}, in.Err()
}

// restrictTo reads what the key is restricted to; nil if the field is absent or null.
func restrictTo(in *strict.Fields) *app.RestrictTo {
	object := in.Object("restricted_to")
	if !object.Given() || in.Err() != nil {
		return nil
	}
	f := object.Value.Fields()
	out := app.RestrictTo{Projects: strict.IDs[sheaf.ProjectID](f, "project_ids").Value, Folders: strict.IDs[sheaf.FolderID](f, "folder_ids").Value}
	in.Refuse(f.Err())
	return &out
}

// createKey answers POST /api/v1/api-keys.
func (s *Server) createKey(x *exchange, in *strict.Fields) (answer, error) {
	k, err := newKey(in)
	if err != nil {
		return answer{}, err
	}
	k.From = app.Browser{Address: x.Address(), Agent: x.Request.UserAgent()}
	return once(x, createdKey, func(c app.Caller) (sheaf.NewKey, error) { return s.App.CreateKey(x.Request.Context(), c, k) })
}

// rotateKey answers POST /api/v1/api-keys/{id}/rotate.
func (s *Server) rotateKey(x *exchange, in *strict.Fields) (answer, error) {
	id, err := pathID[sheaf.KeyID](x)
	if err != nil {
		return answer{}, err
	}
	grace := in.Int("grace_seconds", 0, int64(sheaf.MaxKeyGrace/time.Second))
	if err := in.Err(); err != nil {
		return answer{}, err
	}
	return once(x, rotatedKey, func(c app.Caller) (sheaf.NewKey, error) {
		return s.App.RotateKey(x.Request.Context(), c, id, time.Duration(grace.Value)*time.Second)
	})
}

// revokeKey answers DELETE /api/v1/api-keys/{id}.
func (s *Server) revokeKey(x *exchange) (answer, error) {
	id, err := pathID[sheaf.KeyID](x)
	if err != nil {
		return answer{}, err
	}
	return noContent(s.App.RevokeKey(x.Request.Context(), x.Caller, id))
}

// identity is the answer of GET /api/v1/me.
type identity struct {
	x  *exchange
	me app.Identity
}

// Fields appends the key, its user and workspace, the rate limit and the storage.
func (i *identity) Fields(o *sheaf.Object) {
	c := &i.x.Credential
	o.Record("key", &i.me.Key)
	o.Record("user", &i.me.User)
	o.Record("workspace", &sheaf.Workspace{ID: c.Workspace, Name: c.Name, Personal: c.Personal})
	o.Text("plan", string(c.Plan))
	o.Record("rate_limit", rateLimit{i.x})
	if i.me.Storage == nil {
		o.Null("storage")
	} else {
		o.Record("storage", i.me.Storage)
	}
}

// rateLimit is the rate limit of the key after this request.
type rateLimit struct{ x *exchange }

func (r rateLimit) Fields(o *sheaf.Object) {
	o.Int("limit", int64(r.x.Limit.Limit))
	o.Int("remaining", int64(r.x.Limit.Remaining))
	o.Int("reset", int64(r.x.Limit.Reset))
}

func (s *Server) me(x *exchange) (answer, error) {
	me, err := s.App.Me(x.Request.Context(), x.Caller)
	return answer{status: http.StatusOK, body: sheaf.AppendJSON(nil, &identity{x, me})}, err
}
