package httpapi

import (
	"net/http"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

func (s *Server) listKeys(x *exchange) (answer, error) {
	p, err := x.paging()
	if err != nil {
		return answer{}, err
	}
	page, err := s.App.Keys(x.Request.Context(), x.caller, p)
	return pageOf(page), err
}

func createdKey(k sheaf.NewKey) answer {
	return answer{status: http.StatusCreated, body: sheaf.AppendJSON(nil, &k), location: "/api/v1/api-keys"}
}

func (s *Server) createKey(x *exchange, in strict.Object) (answer, error) {
	key, err := newKey(in)
	if err != nil {
		return answer{}, err
	}
	return once(x, createdKey, func(c app.Caller) (sheaf.NewKey, error) {
		return s.App.CreateKey(x.Request.Context(), c, key)
	})
}

func newKey(in strict.Object) (out app.NewKey, err error) {
	name, err := in.Text("name")
	if err != nil {
		return out, err
	}
	if !name.Given() {
		return out, sheaf.Invalidf("name is required: give it 1 to %d characters", sheaf.MaxKeyName)
	}
	out.Name = name.Value
	scopes, err := in.Texts("scopes")
	if err != nil {
		return out, err
	}
	if out.Scopes, err = sheaf.ParseScopes(scopes.Value); err != nil {
		return out, err
	}
	out.ExpiresAt, err = timeField(in, "expires_at")
	return out, err
}

// timeField reads an optional timestamp.
func timeField(in strict.Object, name string) (*time.Time, error) {
	text, err := in.Text(name)
	if err != nil || !text.Given() {
		return nil, err
	}
	t, err := strict.Time(text.Value)
	if err != nil {
		return nil, sheaf.Invalidf("%s %s", name, err)
	}
	t = t.Truncate(time.Millisecond)
	return &t, nil
}

func (s *Server) revokeKey(x *exchange) (answer, error) {
	id, err := pathID[sheaf.KeyID](x)
	if err != nil {
		return answer{}, err
	}
	return noContent(s.App.RevokeKey(x.Request.Context(), x.caller, id))
}

// identity is the answer of GET /api/v1/me.
type identity struct {
	x  *exchange
	me app.Identity
}

func (i *identity) Fields(o *sheaf.Object) {
	c := &i.x.credential
	o.Record("key", &i.me.Key)
	o.Record("user", &i.me.User)
	o.Record("workspace", &sheaf.Workspace{ID: c.Workspace, Name: c.Name, Personal: c.Personal})
	o.Text("plan", string(c.Plan))
	o.Record("rate_limit", rateLimit{i.x})
}

type rateLimit struct{ x *exchange }

func (r rateLimit) Fields(o *sheaf.Object) {
	o.Int("limit", int64(r.x.limit.Limit))
	o.Int("remaining", int64(r.x.limit.Remaining))
	o.Int("reset", int64(r.x.limit.Reset))
}

func (s *Server) me(x *exchange) (answer, error) {
	me, err := s.App.Me(x.Request.Context(), x.caller)
	return answer{status: http.StatusOK, body: sheaf.AppendJSON(nil, &identity{x, me})}, err
}
