package model

import (
	"slices"
)

// delivery is one event for one subscription. Nothing is sent here: the program that sends is not started.
type delivery struct {
	id, hook string
	event    record
	state    string
	due      any
	back     string // the state before somebody asked for one more attempt
}

func (d *delivery) show() record {
	return record{"id": d.id, "event_id": d.event["id"], "event_type": d.event["type"], "subscription_id": d.hook,
		"state": d.state, "attempt_count": 0.0, "next_attempt_at": d.due, "last_status_code": nil, "last_error": nil,
		"created_at": d.event["timestamp"], "finished_at": nil}
}

func (m *model) enqueue(e record) {
	for _, s := range m.hooks {
		if !slices.Contains(s.own["events"].([]any), e["type"]) || e["resource_type"] == "webhook_subscription" && e["resource_id"] == s.id {
			continue
		}
		d := &delivery{id: m.symbol("delivery"), hook: s.id, event: e, state: "held"}
		if s.own["active"] == true {
			d.state, d.due = "waiting", e["timestamp"]
		}
		m.sent = append(m.sent, d)
	}
}

func (m *model) deliveriesOf(hook string) (out []*delivery) {
	for _, d := range m.sent {
		if d.hook == hook {
			out = append(out, d)
		}
	}
	return out
}

func (m *model) held(hook string) (n int) {
	for _, d := range m.deliveriesOf(hook) {
		if d.state == "held" {
			n++
		}
	}
	return n
}

// hold keeps back what is waiting, save what somebody asked for by hand.
func (m *model) hold(hook string) {
	for _, d := range m.deliveriesOf(hook) {
		if d.state == "waiting" && d.back == "" {
			d.state, d.due = "held", nil
		}
	}
}

func (m *model) listDeliveries(c *call) answer {
	if find(m.hooks, c.id) == nil {
		return notFound
	}
	items := []any{}
	for _, d := range m.deliveriesOf(c.id) {
		if state, sent := c.query["state"]; !sent || state == d.state {
			items = append(items, d.show())
		}
	}
	if c.query["order"] == "desc" {
		slices.Reverse(items)
	}
	return c.page(items)
}

func (m *model) delivery(id string) *delivery {
	for _, d := range m.sent {
		if d.id == id {
			return d
		}
	}
	return nil
}

func (m *model) getDelivery(c *call) answer {
	d := m.delivery(c.id)
	if d == nil {
		return notFound
	}
	body := d.show()
	body["attempts"] = []any{}
	return answer{status: 200, body: record{"delivery": body}}
}

func (m *model) redeliver(c *call) answer {
	d := m.delivery(c.id)
	if d == nil {
		return notFound
	}
	if d.back == "" {
		d.back, d.state, d.due = d.state, "waiting", stamp(m.now)
	}
	return answer{status: 202, body: record{"delivery": d.show()}}
}

func (m *model) recoverHeld(c *call) answer {
	s := find(m.hooks, c.id)
	switch {
	case s == nil:
		return notFound
	case s.own["active"] != true:
		return invalid
	}
	n := 0
	for _, d := range m.deliveriesOf(s.id) {
		if d.event["timestamp"].(string) >= stamp(*timeOf(c.in["since"])) && (d.state == "held" || d.back == "held") {
			d.state, d.due, d.back = "waiting", stamp(m.now), ""
			n++
		}
	}
	return answer{status: 202, body: record{"queued": float64(n)}}
}

// listFates gives the delivery of an event at each subscription; the reasons are words for a person.
func (m *model) listFates(c *call) answer {
	if !m.getEvent(c).ok() {
		return notFound
	}
	items := []any{}
	for _, s := range sorted(m.hooks, "", c.query["order"] == "desc") {
		fate := record{"subscription_id": s.id, "subscription_name": s.own["name"], "delivery": nil, "reason": anything}
		for _, d := range m.deliveriesOf(s.id) {
			if d.event["id"] == c.id {
				fate["delivery"] = d.show()
			}
		}
		items = append(items, fate)
	}
	a := c.page(items)
	a.tag = ""
	return a
}
