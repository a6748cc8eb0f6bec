package model

import (
	"slices"
	"strings"
	"time"
)

// Shares: addresses under which people without an account read (D110–D113).

func init() {
	sharesRead, publish := []string{"shares:read"}, []string{"shares:write", "documents:read", "media:read"}
	fields := rules{"password": orNull(upTo(8, 200)), "expires_at": orNull(isTime), "branding_id": orNull(isIDValue), "listed": isBool}
	types := rules{"password": orNull(isText), "expires_at": orNull(isTime), "branding_id": orNull(isIDValue), "listed": orNull(isBool)}
	handle("GET", "/api/v1/shares", operation{need: sharesRead, params: paging(params{"resource_id": isID}), act: (*model).listShares})
	handle("GET", "/api/v1/shares/{}", operation{need: sharesRead, act: (*model).getShare})
	handle("PATCH", "/api/v1/shares/{}", operation{need: publish, fields: fields, some: true, act: (*model).changeShare})
	handle("DELETE", "/api/v1/shares/{}", operation{need: []string{"shares:write"}, act: (*model).deleteShare})
	more, moreTypes := rules{"resource_type": is("document", "project", "folder"), "resource_id": isIDValue}, rules{"resource_type": orNull(isText), "resource_id": orNull(isIDValue)}
	for name := range fields {
		more[name], moreTypes[name] = fields[name], types[name]
	}
	handle("POST", "/api/v1/shares", operation{need: publish, fields: more, types: moreTypes, must: []string{"resource_type", "resource_id"},
		demand: (*model).mayPublish, act: (*model).createShare})
}

// isText tells a text: one with a NUL is none, and refused as it is read.
func isText(v any) bool {
	s, ok := v.(string)
	return ok && !strings.Contains(s, "\x00")
}

// mayPublish requires the scope to read projects for sharing one, or a folder (D110, D121, D185a).
func (m *model) mayPublish(c *call) answer {
	if c.in["resource_type"] != "document" && !slices.Contains(c.key.scopes, "projects:read") {
		return forbidden
	}
	return answer{}
}

func (m *model) listShares(c *call) answer {
	things := inOrderOf(m.shares, "", c.query["order"] == "desc")
	return c.shown(m, "share", c.filtered(things, "resource_id"))
}

func (m *model) getShare(c *call) answer {
	s := find(m.shares, c.id)
	if s == nil {
		return notFound
	}
	return resource(200, s, m.show("share", s))
}

// ended reports whether a time is over.
func (m *model) ended(expires any) bool {
	at := timeOf(expires)
	return at != nil && !m.now.Before(*at)
}

func (m *model) createShare(c *call) answer {
	things := map[any][]*thing{"document": m.documents, "project": m.projects, "folder": m.folders}[c.in["resource_type"]]
	branding, _ := c.in["branding_id"].(string)
	of := find(things, c.in["resource_id"].(string))
	switch {
	case of == nil, branding != "" && find(m.brandings, branding) == nil:
		return notFound
	case of.own["entity_type"] == "branding", m.ended(c.in["expires_at"]):
		return invalid
	}
	own := record{"branding_id": nil, "listed": false, "release": nil, "show_releases": false, "expires_at": nil, "views": 0.0, "last_viewed_at": nil, "has_password": false, "url": m.symbol("link"),
		"resource_type": c.in["resource_type"], "resource_id": c.in["resource_id"]}
	set(own, shareFields(c.in))
	m.number++
	s := &thing{id: m.symbol("h"), own: own, number: m.number, revision: 1, updated: m.now}
	s.bytes, _ = c.in["password"].(string)
	own["id"], own["created_at"], own["updated_at"] = s.id, stamp(m.now), stamp(m.now)
	m.shares = append(m.shares, s)
	m.emit("share.created", s.id, m.show("share", s))
	return created(s, m.show("share", s), "/api/v1/shares/")
}

// shareFields are what is shown of what was sent.
func shareFields(in record) record {
	out := record{}
	for _, name := range []string{"branding_id", "listed"} {
		if v, sent := in[name]; sent {
			out[name] = v
		}
	}
	if v, sent := in["expires_at"]; sent {
		out["expires_at"] = v
		if at := timeOf(v); at != nil {
			out["expires_at"] = stamp(*at)
		}
	}
	if v, sent := in["password"]; sent {
		out["has_password"] = v != nil
	}
	return out
}

func (m *model) changeShare(c *call) answer {
	s := find(m.shares, c.id)
	if s == nil {
		return notFound
	}
	if s.own["resource_type"] != "document" && !slices.Contains(c.key.scopes, "projects:read") {
		return forbidden
	}
	fields := shareFields(c.in)
	branding, _ := fields["branding_id"].(string)
	moved, sent := fields["expires_at"]
	switch {
	case branding != "" && find(m.brandings, branding) == nil:
		return notFound
	case !s.matches(c.request.match):
		return stale
	case sent && moved != s.own["expires_at"] && m.ended(moved):
		return invalid
	}
	password, given := c.in["password"]
	before := s.bytes
	if given {
		s.bytes, _ = password.(string)
	}
	m.updateShare(s, fields, before != s.bytes)
	return resource(200, s, m.show("share", s))
}

// updateShare sets fields, with an event that tells what they were; otherwise says that something has changed that is not
// shown. Nothing changed is no trace.
func (m *model) updateShare(s *thing, fields record, otherwise bool) {
	previous := record{}
	for name, v := range fields {
		if old := s.own[name]; canonical(old) != canonical(v) {
			previous[name], s.own[name] = old, v
		}
	}
	if len(previous) == 0 && !otherwise {
		return
	}
	previous["updated_at"] = s.own["updated_at"]
	m.touchHook(s) // its times are its own, as those of a subscription
	payload := m.show("share", s)
	payload["previous"] = previous
	m.emit("share.updated", s.id, payload)
}

func (m *model) deleteShare(c *call) answer {
	s := find(m.shares, c.id)
	if s == nil {
		return notFound
	}
	if !s.matches(c.request.match) {
		return stale
	}
	m.unshare(func(t *thing) bool { return t == s })
	return noContent
}

// unshare ends shares, each with its event.
func (m *model) unshare(which func(*thing) bool) {
	for _, s := range inOrderOf(m.shares, "", false) {
		if which(s) {
			m.emit("share.deleted", s.id, m.show("share", s))
			m.shares = without(m.shares, s)
		}
	}
}

// unshareResource ends the shares of something that goes for good.
func (m *model) unshareResource(id string) {
	m.unshare(func(s *thing) bool { return s.own["resource_id"] == id })
}

// undress takes a branding that goes from its shares, each with its event.
func (m *model) undress(branding string) {
	for _, s := range inOrderOf(m.shares, "", false) {
		if s.own["branding_id"] == branding {
			m.updateShare(s, record{"branding_id": nil}, false)
		}
	}
}

// stepShare makes the steps about shares. Passwords are few: a hash takes as long as it must.
func (r *run) stepShare(what string) bool {
	path := func() string { return "/api/v1/shares/" + r.id(r.m.shares, "{xh1}") }
	pools := map[string]func() any{"listed": r.value("listed", []any{true, false}, nil, "yes"), "branding_id": r.reference(r.m.brandings, "{xb1}"),
		"expires_at": r.value("expires_at", []any{nil, r.later(time.Second), r.later(time.Hour), r.later(48 * time.Hour)}, r.later(-time.Second), r.later(0), "soon", 5.0)}
	if r.chance("a password", 15) {
		pools["password"] = r.value("password", []any{"open sesame", nil, "another one"}, "abc", 5.0)
	}
	switch what {
	case "create share":
		body := r.fields(pools)
		body["resource_type"], body["resource_id"] = "document", r.reference(r.m.documents, "{xd1}")()
		if r.chance("of a project", 3) {
			body["resource_type"], body["resource_id"] = "project", r.reference(r.m.projects, "{xp1}")()
		}
		if r.chance("of a folder", 4) {
			body["resource_type"], body["resource_id"] = "folder", r.reference(r.m.folders, "{xf1}")()
		}
		if r.chance("of something else", 20) {
			body["resource_type"] = draw[any](r, "resource_type", "branding", nil, 5.0)
		}
		r.post("/api/v1/shares", body)
	case "change share":
		r.change("PATCH", path(), r.fields(pools))
	case "delete share":
		r.change("DELETE", path(), nil)
	case "get share":
		r.get(path())
	case "list shares":
		r.get("/api/v1/shares", r.parameters(map[string][]string{"resource_id": r.filter(slices.Concat(r.m.documents, r.m.projects, r.m.folders))[1:]})...)
	default:
		return false
	}
	return true
}
