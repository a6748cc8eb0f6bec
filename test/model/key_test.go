package model

import (
	"slices"
	"time"
)

var allScopes = []string{"projects:read", "projects:write", "projects:admin", "documents:read", "documents:write",
	"media:read", "media:write", "shares:read", "shares:write", "proposals:read", "proposals:write", "proposals:approve", "releases:read", "releases:write", "brandings:read", "brandings:write", "webhooks:read", "webhooks:write", "events:read", "events:write", "keys:read", "keys:write", "audit:read"}

func init() {
	handle("GET", "/api/v1/api-keys", operation{need: []string{"keys:read"}, params: paging(nil), act: (*model).listKeys})
	handle("POST", "/api/v1/api-keys", operation{need: []string{"keys:write"}, must: []string{"name", "scopes"},
		fields: rules{"name": name(100), "scopes": eachOf(allScopes), "expires_at": orNull(isTime)},
		before: (*model).mayGrant, act: (*model).createKey})
	handle("DELETE", "/api/v1/api-keys/{}", operation{need: []string{"keys:write"}, act: (*model).revokeKey})
	handle("GET", "/api/v1/me", operation{act: (*model).me})
	handle("GET", "/api/v1/icons", operation{act: (*model).icons})
}

func isTime(v any) bool {
	s, ok := v.(string)
	_, err := time.Parse(time.RFC3339, s)
	return ok && err == nil
}

func timeOf(v any) *time.Time {
	s, ok := v.(string)
	if !ok {
		return nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return nil
	}
	t = t.UTC().Truncate(time.Millisecond)
	return &t
}

// key returns the one of that secret.
func (m *model) key(secret string) *key {
	for _, k := range m.keys {
		if k.secret == secret {
			return k
		}
	}
	return nil
}

func (m *model) live(k *key) bool {
	return !k.revoked && (k.expires == nil || m.now.Before(*k.expires))
}

func (m *model) liveKeys() (live []*key) {
	for _, k := range m.keys {
		if m.live(k) {
			live = append(live, k)
		}
	}
	return live
}

// addKey makes a key, by whatever way.
func (m *model) addKey(name string, scopes []string, expires *time.Time) *key {
	m.number++
	k := &key{id: m.symbol("k"), secret: m.symbol("secretkey"), scopes: scopes, expires: expires, user: m.caller}
	listed := make([]any, len(scopes))
	for i, s := range scopes {
		listed[i] = s
	}
	k.shown = record{"id": k.id, "name": name, "prefix": m.symbol("prefix"), "scopes": listed, "restricted_to": nil, "user_id": m.caller, "owner": "user",
		"expires_at": nil, "last_used_at": nil, "created_at": stamp(m.now)}
	if expires != nil {
		k.shown["expires_at"] = stamp(*expires)
	}
	m.keys = append(m.keys, k)
	return k
}

func (m *model) listKeys(c *call) answer {
	items := []any{}
	for _, k := range m.liveKeys() {
		items = append(items, k.shown)
	}
	if c.query["order"] == "desc" {
		slices.Reverse(items)
	}
	return c.page(items)
}

// mayGrant refuses what the key does not hold itself (D52).
func (m *model) mayGrant(c *call) answer {
	for _, s := range c.in["scopes"].([]any) {
		if !slices.Contains(c.key.scopes, s.(string)) {
			return forbidden
		}
	}
	expires := timeOf(c.in["expires_at"])
	if own := c.key.expires; own != nil && (expires == nil || expires.After(*own)) {
		return forbidden
	}
	return answer{}
}

func (m *model) createKey(c *call) answer {
	expires := timeOf(c.in["expires_at"])
	if expires != nil && !expires.After(m.now) {
		return invalid
	}
	if len(m.liveKeys()) >= map[string]int{"pro": 5, "business": 25}[m.plan] {
		return fail(403, "KEY_LIMIT_REACHED")
	}
	var scopes []string
	for _, s := range unique(c.in["scopes"]) {
		scopes = append(scopes, s.(string))
	}
	k := m.addKey(c.in["name"].(string), scopes, expires)
	body := record{"key": k.secret}
	set(body, k.shown)
	return answer{status: 201, body: body}
}

func (m *model) revokeKey(c *call) answer {
	for _, k := range m.liveKeys() {
		if k.id == c.id {
			k.revoked = true
			return noContent
		}
	}
	return notFound
}

func (m *model) me(c *call) answer {
	return answer{status: 200, body: record{"key": c.key.shown, "user": anything, "plan": m.plan, "rate_limit": anything,
		"storage":   record{"used": m.stored(), "quota": nil},
		"workspace": record{"id": "{w1}", "name": anything, "personal": m.personal}}}
}

func (m *model) icons(*call) answer { return answer{status: 200, body: anything} }
