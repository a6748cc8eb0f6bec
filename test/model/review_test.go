package model

import (
	"maps"
	"slices"
)

// Projects whose documents change only by accepted proposals (D177): whatever has an event of a document asks for it.

var reviewRequired = fail(403, "REVIEW_REQUIRED")

func isReview(v any) bool {
	r, ok := v.(record)
	if !ok {
		return v == nil
	}
	n, ok := r["approvals"].(float64)
	return ok && (n == 1 || n == 2 || n == 3)
}

// asks returns how many approvals a change of a document of the project needs.
func (m *model) asks(project any) int {
	if id, ok := project.(string); ok {
		if p := find(m.projects, id); p != nil {
			if r, ok := p.own["review"].(record); ok {
				return int(r["approvals"].(float64))
			}
		}
	}
	return 0
}

// noteReview notes what a change of a document in the project needs.
func (m *model) noteReview(project any) {
	n := m.asks(project)
	m.asked = max(m.asked, n)
	m.unreviewed = m.unreviewed || n > 0 && !m.accepting && !m.removing
}

// act runs an operation. What changes a document of a project under review is refused, as a whole.
func (m *model) act(o *operation, c *call) answer {
	if !slices.ContainsFunc(m.projects, func(p *thing) bool { return p.own["review"] != nil }) {
		return o.act(m, c)
	}
	saved := m.clone()
	a := o.act(m, c)
	if m.unreviewed {
		*m = *saved
		return reviewRequired
	}
	return a
}

// mayReview refuses to set or lift a review without the scope for it.
func (c *call) mayReview(before any) answer {
	if now, sent := c.in["review"]; sent && canonical(now) != canonical(before) {
		return c.admin()
	}
	return answer{}
}

func (c *call) admin() answer {
	if !slices.Contains(c.key.scopes, "projects:admin") {
		return forbidden
	}
	return answer{}
}

// clone is the model as it is now, for what is refused after it was tried.
func (m *model) clone() *model {
	out := *m
	out.serials = maps.Clone(m.serials)
	out.events = slices.Clone(m.events)
	for _, list := range []*[]*thing{&out.projects, &out.folders, &out.brandings, &out.documents, &out.media, &out.uploads, &out.shares, &out.hooks, &out.proposals} {
		*list = slices.Clone(*list)
		for i, t := range *list {
			(*list)[i] = t.clone()
		}
	}
	out.sent = slices.Clone(m.sent)
	for i, d := range out.sent {
		same := *d
		out.sent[i] = &same
	}
	return &out
}

func (t *thing) clone() *thing {
	out := *t
	out.own, out.versions = maps.Clone(t.own), slices.Clone(t.versions)
	if t.prop != nil {
		p := *t.prop
		p.changes, p.wrote, p.approved, p.comments = slices.Clone(p.changes), slices.Clone(p.wrote), slices.Clone(p.approved), slices.Clone(p.comments)
		out.prop = &p
	}
	return &out
}
