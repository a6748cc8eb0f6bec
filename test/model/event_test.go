package model

import (
	"slices"
	"strings"
)

var (
	ownEvents = []string{"document.created", "document.updated", "document.deleted", "project.created", "project.updated",
		"project.deleted", "folder.created", "folder.updated", "folder.deleted", "proposal.created", "proposal.updated", "proposal.approved",
		"proposal.commented", "proposal.accepted", "proposal.rejected", "proposal.withdrawn"}
	otherEvents = []string{"media.uploaded", "generation.started", "generation.completed", "generation.failed",
		"share.created", "share.updated", "share.deleted"}
	eventTypes = slices.Concat(ownEvents, otherEvents, []string{"webhook.test"})
)

func init() {
	eventsRead := []string{"events:read"}
	handle("GET", "/api/v1/events", operation{need: eventsRead, act: (*model).listEvents, params: paging(params{
		"type": oneOf(eventTypes...), "resource_id": isID, "since": func(s string) bool { return isTime(s) }, "after": isEventID}),
		before: (*model).afterAndOffset})
	handle("GET", "/api/v1/events/{}", operation{need: eventsRead, path: isEventID, act: (*model).getEvent})
	handle("GET", "/api/v1/events/{}/deliveries", operation{need: []string{"events:read", "webhooks:read"}, path: isEventID,
		params: paging(nil), act: (*model).listFates})
	handle("POST", "/api/v1/events", operation{need: []string{"events:write"}, must: []string{"type", "resource_id", "payload"},
		fields: rules{"type": is(otherEvents...), "resource_id": isIDValue, "payload": isObject, "user_id": orNull(isIDValue)},
		act:    (*model).publish})
}

func isObject(v any) bool {
	_, ok := v.(record)
	return ok
}

// emit appends an event, and a delivery for each subscription that wants it (D60, D68a).
func (m *model) emit(kind, resource string, payload record) record {
	if noun, _, _ := strings.Cut(kind, "."); noun == "document" {
		m.noteReview(payload["project_id"])
		if previous, ok := payload["previous"].(record); ok {
			m.noteReview(previous["project_id"])
		}
	}
	return m.emitAs(m.caller, kind, resource, payload)
}

func (m *model) emitAs(user, kind, resource string, payload record) record {
	noun, _, _ := strings.Cut(kind, ".")
	if noun == "subscription" {
		noun = "webhook_subscription"
	}
	e := record{"id": m.symbol("e"), "type": kind, "timestamp": stamp(m.now), "user_id": user, "workspace_id": "{w1}",
		"resource_type": noun, "resource_id": resource, "payload": payload}
	if m.personal {
		e["workspace_id"] = nil
	}
	m.events = append(m.events, e)
	m.enqueue(e)
	return e
}

// afterAndOffset refuses the two together (D63a).
func (m *model) afterAndOffset(c *call) answer {
	if _, sent := c.query["after"]; sent && c.number("offset", 0) != 0 {
		return invalid
	}
	return answer{}
}

func (m *model) listEvents(c *call) answer {
	events := m.events
	after, paged := c.query["after"]
	if paged {
		i := slices.IndexFunc(events, func(e record) bool { return e["id"] == after })
		if i < 0 {
			return notFound
		}
		events = events[i+1:]
	}
	items := []any{}
	for _, e := range events {
		if c.wants(e) {
			items = append(items, e)
		}
	}
	if c.query["order"] == "desc" {
		slices.Reverse(items)
	}
	a := c.page(items)
	if data := a.body.(record)["data"].([]any); paged && a.next != "" {
		a.next = "after=" + data[len(data)-1].(record)["id"].(string)
		if c.query["order"] == "desc" {
			a.next = ""
		}
	}
	return a
}

func (c *call) wants(e record) bool {
	kind, byType := c.query["type"]
	resource, byResource := c.query["resource_id"]
	since, bySince := c.query["since"]
	return (!byType || e["type"] == kind) && (!byResource || e["resource_id"] == resource) &&
		(!bySince || e["timestamp"].(string) >= stamp(*timeOf(since)))
}

func (m *model) getEvent(c *call) answer {
	i := slices.IndexFunc(m.events, func(e record) bool { return e["id"] == c.id })
	if i < 0 {
		return notFound
	}
	return answer{status: 200, body: m.events[i], tag: tagOf(1, m.events[i])}
}

func (m *model) publish(c *call) answer {
	user, ok := c.in["user_id"].(string)
	if !ok {
		user = m.caller
	}
	if user != m.caller && user != "{u1}" {
		return notFound
	}
	if id := c.in["resource_id"].(string); find(m.media, id) != nil || find(m.shares, id) != nil { // D120
		return invalid
	}
	e := m.emitAs(user, c.in["type"].(string), c.in["resource_id"].(string), c.in["payload"].(record))
	return answer{status: 202, reported: true, body: e, tag: tagOf(1, e), location: "/api/v1/events/" + e["id"].(string)}
}
