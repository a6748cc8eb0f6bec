package model

import (
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"
)

func (r *run) stepKey(what string) bool {
	switch what {
	case "create key":
		r.post("/api/v1/api-keys", r.newKeyBody())
	case "revoke key":
		r.change("DELETE", "/api/v1/api-keys/"+r.keyID(), nil)
	case "list keys":
		r.get("/api/v1/api-keys", r.parameters(nil)...)
	case "me":
		r.get("/api/v1/me")
	default:
		return false
	}
	return true
}

func (r *run) newKeyBody() record {
	body := record{"name": r.name(100)(), "scopes": r.scopes()}
	if r.chance("it expires", 3) {
		body["expires_at"] = draw[any](r, "expires_at", r.later(time.Second), r.later(time.Hour), r.later(48*time.Hour), nil, r.later(-time.Second), "soon", 5.0)
	}
	return body
}

func (r *run) scopes() any {
	if r.chance("bad scopes", 12) {
		return draw[any](r, "scopes", []any{}, nil, "projects:read", []any{"projects"}, []any{1.0})
	}
	if r.chance("all scopes", 3) {
		return anys(allScopes)
	}
	return anys(rapid.SliceOfN(rapid.SampledFrom(allScopes), 1, 4).Draw(r.T, "scopes"))
}

func anys(texts []string) []any {
	out := make([]any, len(texts))
	for i, s := range texts {
		out[i] = s
	}
	return out
}

// keyID draws a key but the first, which the sequence goes on with.
func (r *run) keyID() string {
	if len(r.m.keys) < 2 || r.chance("nowhere", 8) {
		return draw(r, "id", unknown, "{xk1}", "nonsense")
	}
	return r.m.keys[rapid.IntRange(1, len(r.m.keys)-1).Draw(r.T, "id")].id
}

func (r *run) hookPath() string { return hooksPath + "/" + r.id(r.m.hooks, "{xs1}") }

func (r *run) stepHook(what string) bool {
	pools := map[string]func() any{"name": r.name(100), "url": r.address(), "events": r.wanted(), "headers": r.headers(),
		"active": r.value("active", []any{false, true}, nil, "yes")}
	switch what {
	case "create hook":
		body := r.fields(pools)
		body["name"], body["url"], body["events"] = r.name(100)(), r.address()(), r.wanted()()
		delete(body, "active")
		r.post(hooksPath, body)
	case "change hook":
		r.change("PATCH", r.hookPath(), r.fields(pools))
	case "delete hook":
		r.change("DELETE", r.hookPath(), nil)
	case "get hook":
		r.get(r.hookPath())
	case "list hooks":
		r.get(hooksPath, r.parameters(nil)...)
	case "rotate":
		r.post(r.hookPath()+"/rotate-secret", r.fields(map[string]func() any{"grace_seconds": r.value("grace", []any{0.0, 60.0, 604800.0, nil}, -1.0, 604801.0, "1")}))
	default:
		return r.stepDelivery(what)
	}
	return true
}

func (r *run) stepDelivery(what string) bool {
	switch what {
	case "recover":
		r.post(r.hookPath()+"/recover", record{"since": r.value("since", []any{r.later(-time.Minute), r.later(-48 * time.Hour), r.later(0)}, nil, "then", 5.0)()})
	case "list deliveries":
		r.get(r.hookPath()+"/deliveries", r.parameters(map[string][]string{"state": {"waiting", "held", "failed", "lost"}})...)
	case "get delivery":
		r.get("/api/webhooks/deliveries/" + r.deliveryID())
	case "redeliver":
		r.change("POST", "/api/webhooks/deliveries/"+r.deliveryID()+"/redeliver", nil)
	default:
		return false
	}
	return true
}

func (r *run) deliveryID() string {
	known := r.known("delivery", r.m.serials["delivery"])
	if len(known) == 0 || r.chance("nowhere", 12) {
		return draw(r, "id", unknown, "nonsense")
	}
	return draw(r, "id", known...)
}

func (r *run) address() func() any {
	return r.value("url", []any{"https://example.com/a", "https://example.com/b", "https://EXAMPLE.com:443/a", "https://other.example.com/a", "https://example.com:8443/"},
		"http://example.com/a", "https://example.com:25/", "https://user:x@example.com/", "https://10.0.0.1/", "https://example.com/#a", "", nil, 5.0,
		"https://example.com/"+strings.Repeat("a", 2048))
}

func (r *run) wanted() func() any {
	return r.value("events", []any{anys(ownEvents), []any{"project.created", "project.updated"}, []any{"folder.deleted", "folder.deleted", "document.updated"}, anys(eventTypes)},
		[]any{}, []any{"*"}, []any{"project.exploded"}, nil, "project.created")
}

func (r *run) headers() func() any {
	return r.value("headers", []any{record{"X-Own-A": "1"}, record{"X-Own-A": "2"}, record{"X-Own-B": "b", "X-Own-A": "1"}, record{}, nil},
		record{"Host": "x"}, record{"webhook-id": "x"}, record{"X-Own-A": ""}, record{"X-Own-A": 5.0}, "X-Own-A: 1")
}

func (r *run) stepEvent(what string) bool {
	switch what {
	case "publish":
		body := r.fields(map[string]func() any{"user_id": r.value("user_id", []any{"{u1}", nil}, unknown, "nonsense", 1.0)})
		body["type"] = r.value("type", anys(otherEvents), "project.created", "webhook.test", "other", nil)()
		body["resource_id"] = r.value("resource_id", []any{unknown}, "nonsense", nil)()
		if own := slices.Concat(r.m.media, r.m.shares); len(own) > 0 && r.chance("of this service", 3) {
			body["resource_id"] = draw(r, "own", own...).id
		}
		body["payload"] = r.value("payload", []any{record{}, record{"a": record{"b": []any{1.0, nil, "ü<"}}}}, nil, []any{}, "x")()
		r.post("/api/v1/events", body)
	case "list events":
		r.get("/api/v1/events", r.parameters(map[string][]string{"type": slices.Concat(ownEvents, []string{"share.created", "any.thing"}),
			"resource_id": r.filter(slices.Concat(r.m.projects, r.m.folders, r.m.documents, r.m.media, r.m.shares))[1:],
			"since":       {r.later(-time.Second), r.later(-time.Hour), r.later(time.Second), "yesterday"}, "after": r.eventIDs()})...)
	case "get event":
		r.get("/api/v1/events/" + draw(r, "id", r.eventIDs()...))
	case "fates":
		r.get("/api/v1/events/"+draw(r, "id", r.eventIDs()...)+"/deliveries", r.parameters(nil)...)
	default:
		return false
	}
	return true
}

// eventIDs are those that were shown, and some that lead nowhere.
func (r *run) eventIDs() []string {
	return append(r.known("e", r.m.serials["e"]), "evt_"+unknown, "{xe1}", unknown)
}
