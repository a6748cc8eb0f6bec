package model

import (
	"maps"
	"net/url"
	"slices"
	"strings"
)

var (
	hooksRead  = []string{"webhooks:read"}
	hooksWrite = []string{"webhooks:write"}
	hookFields = rules{"name": name(100), "url": isAddress, "events": eachOf(eventTypes), "headers": orNull(areHeaders)}
)

const hooksPath = "/api/webhooks/subscriptions"

func init() {
	changed := maps.Clone(hookFields)
	changed["active"] = isBool
	handle("GET", hooksPath, operation{need: hooksRead, params: paging(nil), act: (*model).listHooks})
	handle("POST", hooksPath, operation{need: hooksWrite, fields: hookFields, must: []string{"name", "url", "events"}, act: (*model).createHook})
	handle("GET", hooksPath+"/{}", operation{need: hooksRead, act: (*model).getHook})
	handle("PATCH", hooksPath+"/{}", operation{need: hooksWrite, fields: changed, some: true, act: (*model).changeHook})
	handle("DELETE", hooksPath+"/{}", operation{need: hooksWrite, act: (*model).deleteHook})
	handle("POST", hooksPath+"/{}/rotate-secret", operation{need: hooksWrite, fields: rules{"grace_seconds": orNull(isGrace)}, empty: true, act: (*model).rotate})
	handle("POST", hooksPath+"/{}/recover", operation{need: hooksWrite, fields: rules{"since": isTime}, must: []string{"since"}, act: (*model).recoverHeld})
	handle("GET", hooksPath+"/{}/deliveries", operation{need: hooksRead, act: (*model).listDeliveries,
		params: paging(params{"state": oneOf("waiting", "sending", "delivered", "failed", "held")})})
	handle("GET", "/api/webhooks/deliveries/{}", operation{need: hooksRead, act: (*model).getDelivery})
	handle("POST", "/api/webhooks/deliveries/{}/redeliver", operation{need: hooksWrite, act: (*model).redeliver})
}

// isAddress knows the addresses that the steps send, and why some are refused (D65).
func isAddress(v any) bool {
	s, ok := v.(string)
	u, err := url.Parse(s)
	return ok && err == nil && len(s) <= 2048 && u.Scheme == "https" && u.User == nil && u.Fragment == "" &&
		strings.HasSuffix(strings.ToLower(u.Hostname()), "example.com") && u.Port() != "25"
}

// areHeaders does so with headers (D64a).
func areHeaders(v any) bool {
	headers, ok := v.(record)
	for name, value := range headers {
		_, isText := value.(string)
		ok = ok && isText && value != "" && strings.HasPrefix(name, "X-Own-")
	}
	return ok && len(headers) <= 10
}

func isGrace(v any) bool {
	f, ok := v.(float64)
	return ok && isInt32(v) && 0 <= f && f <= 604800
}

func (m *model) listHooks(c *call) answer {
	return c.shown(m, "subscription", sorted(m.hooks, "", c.query["order"] == "desc"))
}

func (m *model) wrapped(t *thing) record { return record{"subscription": m.show("subscription", t)} }

func (m *model) createHook(c *call) answer {
	if len(m.hooks) >= map[string]int{"pro": 3, "business": 20}[m.plan] {
		return fail(403, "SUBSCRIPTION_LIMIT_REACHED")
	}
	headers, _ := c.in["headers"].(record)
	s := m.add("s", record{"name": c.in["name"], "url": c.in["url"], "events": unique(c.in["events"]), "active": true,
		"failure_count": 0.0, "deactivated_at": nil, "deactivation_reason": nil, "last_error": nil, "header_names": namesOf(headers), "filter": nil})
	if len(headers) > 0 {
		s.headers = headers
	}
	m.hooks = append(m.hooks, s)
	return created(s, m.withSecret(s), hooksPath+"/")
}

func (m *model) withSecret(s *thing) record {
	body := m.wrapped(s)
	body["subscription"].(record)["secret"] = m.symbol("secret")
	return body
}

func namesOf(headers record) []any {
	names := []any{}
	for _, n := range slices.Sorted(maps.Keys(headers)) {
		names = append(names, n)
	}
	return names
}

func (m *model) getHook(c *call) answer {
	s := find(m.hooks, c.id)
	if s == nil {
		return notFound
	}
	return resource(200, s, m.wrapped(s))
}

func (m *model) changeHook(c *call) answer {
	s := find(m.hooks, c.id)
	switch {
	case s == nil:
		return notFound
	case !s.matches(c.request.match):
		return stale
	}
	before := canonical(s.own) + canonical(s.headers)
	m.setHook(s, c.in)
	if canonical(s.own)+canonical(s.headers) != before {
		m.touchHook(s)
	}
	return resource(200, s, m.wrapped(s))
}

func (m *model) setHook(s *thing, in record) {
	for _, field := range []string{"name", "url"} {
		if v, sent := in[field]; sent {
			if field == "url" && origin(v) != origin(s.own["url"]) {
				s.headers = nil
			}
			s.own[field] = v
		}
	}
	if v, sent := in["events"]; sent {
		s.own["events"] = unique(v)
	}
	if v, sent := in["headers"]; sent {
		s.headers, _ = v.(record)
	}
	if len(s.headers) == 0 {
		s.headers = nil
	}
	s.own["header_names"] = namesOf(s.headers)
	if v, sent := in["active"]; sent && v != s.own["active"] {
		m.turn(s, v.(bool))
	}
}

// origin is scheme, host and port of an address.
func origin(v any) string {
	u, err := url.Parse(v.(string))
	if err != nil {
		panic(err)
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + strings.TrimPrefix(u.Port(), "443")
}

// turn makes a subscription active or not (D64, D68a).
func (m *model) turn(s *thing, active bool) {
	s.own["active"] = active
	if active {
		set(s.own, record{"failure_count": 0.0, "deactivated_at": nil, "deactivation_reason": nil, "last_error": nil})
		m.emit("subscription.reactivated", s.id, health(s))
		return
	}
	set(s.own, record{"deactivated_at": stamp(m.now), "deactivation_reason": "manual"})
	m.hold(s.id)
	m.emit("subscription.deactivated", s.id, health(s))
}

// health is what events tell of a subscription (D132).
func health(s *thing) record {
	u, err := url.Parse(s.own["url"].(string))
	if err != nil {
		panic(err)
	}
	out := record{"id": s.id, "origin": u.Scheme + "://" + u.Host}
	for _, name := range []string{"name", "active", "failure_count", "deactivated_at", "deactivation_reason", "last_error"} {
		out[name] = s.own[name]
	}
	return out
}

func (m *model) deleteHook(c *call) answer {
	s := find(m.hooks, c.id)
	switch {
	case s == nil:
		return notFound
	case !s.matches(c.request.match):
		return stale
	}
	m.hooks = without(m.hooks, s)
	m.sent = slices.DeleteFunc(m.sent, func(d *delivery) bool { return d.hook == s.id })
	return noContent
}

func (m *model) rotate(c *call) answer {
	s := find(m.hooks, c.id)
	if s == nil {
		return notFound
	}
	m.touchHook(s)
	return resource(200, s, m.withSecret(s))
}
