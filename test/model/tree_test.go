package model

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Documents below each other, and their order (D160, D161, D162, D163).

// maxLevels is how deep documents nest.
const maxLevels = 5

func isOrder(v any) bool {
	f, ok := v.(float64)
	return ok && f == math.Trunc(f) && math.Abs(f) <= 1<<53-1
}

// goesTo returns the project and the parent that a document has after a change.
func goesTo(d *thing, in record) (project, parent any) {
	project, parent = d.own["project_id"], d.own["parent_id"]
	if to, sent := in["project_id"]; sent {
		if to != project {
			parent = nil
		}
		project = to
	}
	if to, sent := in["parent_id"]; sent {
		parent = to
	}
	return project, parent
}

// mayBe judges whether the document `id`, with as many levels below it, may be there. A new one has no id.
func (m *model) mayBe(id string, below int, project, parent any) answer {
	if parent == nil {
		return answer{}
	}
	p := find(m.documents, parent.(string))
	if p == nil {
		return notFound
	}
	level := 1 + below
	for up := p; up != nil; level++ {
		if up.id == id {
			return invalid
		}
		above, _ := up.own["parent_id"].(string)
		up = find(m.documents, above)
	}
	if p.own["project_id"] != project || level > maxLevels {
		return invalid
	}
	return answer{}
}

// place judges where a change puts a document, and returns the change with its parent. A deleted one whose parent
// cannot be its parent any more goes to the top level.
func (m *model) place(d *thing, in record) (record, answer) {
	project, parent := goesTo(d, in)
	_, sent := in["parent_id"]
	a := answer{}
	if d.deleted || project != d.own["project_id"] || parent != d.own["parent_id"] {
		tree := m.below(d)
		levels := 0
		if len(tree) > 0 {
			levels = m.levelsBetween(d, tree[len(tree)-1])
		}
		a = m.mayBe(d.id, levels, project, parent)
	}
	if d.deleted && !sent && !a.ok() {
		parent, a = nil, answer{}
	}
	out := record{"parent_id": parent}
	for name, v := range in {
		if name != "parent_id" {
			out[name] = v
		}
	}
	return out, a
}

// levelsBetween counts the steps up from a document to one above it.
func (m *model) levelsBetween(top, d *thing) (n int) {
	for ; d.id != top.id; n++ {
		d = find(m.documents, d.own["parent_id"].(string))
	}
	return n
}

// below returns all documents below one, nearer ones first, and those of a level in the order of creation.
func (m *model) below(d *thing) (out []*thing) {
	for level := []*thing{d}; len(level) > 0; {
		var next []*thing
		for _, x := range m.documents {
			if !x.deleted && slices.ContainsFunc(level, func(up *thing) bool { return x.own["parent_id"] == up.id }) {
				next = append(next, x)
			}
		}
		slices.SortFunc(next, func(a, b *thing) int { return cmp.Compare(a.number, b.number) })
		out = append(out, next...)
		level = next
	}
	return out
}

// carry gives everything below a document its project.
func (m *model) carry(below []*thing, project any) {
	for page := range slices.Chunk(below, 50) {
		m.step = m.together()
		for _, d := range page {
			m.change("document", d, record{"project_id": project})
		}
	}
	m.step = time.Time{}
}

// restoreTree restores a deleted document, and those that went with it and are below it, parents first. All that went
// with the document that was deleted itself come back with it.
func (m *model) restoreTree(d *thing, by *key) {
	group := []*thing{d}
	together := func(x *thing) bool {
		return x.deleted && d.deletion != 0 && x.deletion == max(d.deletion, -d.deletion) && x != d
	}
	known := func(id any) bool {
		return id == d.id || slices.ContainsFunc(m.documents, func(x *thing) bool { return x.id == id && together(x) })
	}
	var roots []*thing
	for _, x := range m.documents {
		if together(x) && !known(x.own["parent_id"]) {
			roots = append(roots, x)
		}
	}
	add := func(from *thing) {
		for level := []*thing{from}; len(level) > 0; {
			var next []*thing
			for _, up := range level {
				for _, x := range inOrderOf(m.documents, "", false) {
					if together(x) && x.own["parent_id"] == up.id {
						next = append(next, x)
					}
				}
			}
			group = append(group, next...)
			level = next
		}
	}
	add(d)
	if d.deletion < 0 {
		for _, x := range inOrderOf(roots, "", false) {
			group = append(group, x)
			add(x)
		}
	}
	for page := range slices.Chunk(group, 50) {
		m.step = m.together()
		for _, x := range page {
			in, _ := m.place(x, record{})
			m.rewrite(x, in, by)
		}
	}
	m.step = time.Time{}
}

// getTree is all documents of a project, each followed by those below it (D161).
func (m *model) getTree(c *call) answer {
	if find(m.projects, c.id) == nil {
		return notFound
	}
	all, entries := sorted(m.documentsOf(c.id), "sort_order", false), []any{}
	var add func(parent any, depth int) int
	add = func(parent any, depth int) (children int) {
		for _, d := range all {
			if d.own["parent_id"] != parent {
				continue
			}
			children++
			entry := record{"depth": float64(depth)}
			for _, name := range []string{"id", "title", "parent_id", "sort_order", "version", "updated_at"} {
				entry[name] = d.own[name]
			}
			entries = append(entries, entry)
			entry["children"] = float64(add(d.id, depth+1))
		}
		return children
	}
	add(nil, 1)
	body := record{"data": entries, "total": float64(len(all))}
	return answer{status: 200, body: body, page: true, tag: canonical(body)}
}

// movesOnce refuses a move before one document and after another.
func (m *model) movesOnce(c *call) answer {
	if c.in["before_id"] != nil && c.in["after_id"] != nil {
		return invalid
	}
	return answer{}
}

// moveDocument puts a document at another place, next to a neighbour or last (D162).
func (m *model) moveDocument(c *call) answer {
	d := find(m.documents, c.id)
	if d == nil {
		return notFound
	}
	to := record{}
	for _, name := range []string{"project_id", "parent_id"} {
		if v, sent := c.in[name]; sent {
			to[name] = v
		}
	}
	var beside *thing
	for _, name := range []string{"before_id", "after_id"} {
		if c.in[name] == nil {
			continue
		}
		if beside = find(m.documents, c.in[name].(string)); beside == nil {
			return notFound
		}
		for _, name := range []string{"project_id", "parent_id"} {
			if _, sent := to[name]; !sent {
				to[name] = beside.own[name]
			}
		}
	}
	project, parent := goesTo(d, to)
	if !m.hasProject(project) {
		return notFound
	}
	_, a := m.place(d, to)
	if a.ok() && beside != nil && (beside == d || beside.own["project_id"] != project || beside.own["parent_id"] != parent) {
		a = invalid
	}
	if a := inOrder(a, d.matches(c.request.match)); !a.ok() {
		return a
	}
	order, shifted := m.room(d, project, parent, beside, c.in["before_id"] != nil)
	m.rewriteTree(d, record{"project_id": project, "parent_id": parent, "sort_order": order}, c.key)
	for page := range slices.Chunk(shifted, 50) {
		m.step = m.together()
		for _, s := range page {
			m.change("document", s.thing, record{"sort_order": s.order})
		}
	}
	m.step = time.Time{}
	return resource(200, d, m.show("document", d))
}

// placed is a document that gets another order.
type placed struct {
	*thing
	order float64
}

// room returns the order of a document at its new place, and the neighbours that must get another one: the fewest, and of
// as many those more to the right.
func (m *model) room(d *thing, project, parent any, beside *thing, ahead bool) (float64, []placed) {
	const step, most = 1 << 20, 1<<53 - 1
	level := slices.DeleteFunc(sorted(m.documents, "sort_order", false), func(x *thing) bool {
		return x == d || x.own["project_id"] != project || x.own["parent_id"] != parent
	})
	at := len(level)
	if beside != nil {
		if at = slices.Index(level, beside); !ahead {
			at++
		}
	}
	if d.own["project_id"] == project && d.own["parent_id"] == parent {
		if now := sorted(append(slices.Clone(level), d), "sort_order", false); now[at] == d {
			return d.own["sort_order"].(float64), nil
		}
	}
	orderOf := func(i int) int64 { return int64(level[i].own["sort_order"].(float64)) }
	if last := int64(m.number+1) * step; at == len(level) && last <= most && (at == 0 || last > orderOf(at-1)) {
		m.number++
		return float64(last), nil
	}
	for n := 1; ; n++ { // documents that get an order, with d
		for left := 0; left < n; left++ {
			first, end := at-left, at+n-1-left // of level, those between get another order too
			if first < 0 || end > len(level) {
				continue
			}
			low, high := int64(-most-1), int64(most+1)
			switch {
			case first > 0 && end < len(level):
				low, high = orderOf(first-1), orderOf(end)
			case first > 0:
				low = orderOf(first - 1)
				high = min(high, low+int64(n+1)*step)
			case end < len(level):
				high = orderOf(end)
				low = max(low, high-int64(n+1)*step)
			default:
				low, high = 0, int64(n+1)*step
			}
			if high-low <= int64(n) {
				continue
			}
			value := func(i int) float64 { // evenly between low and high, without an overflow
				gap, parts := high-low, int64(n+1)
				return float64(low + gap/parts*int64(i+1) + gap%parts*int64(i+1)/parts)
			}
			var shifted []placed
			for i, x := range level[first:end] {
				if i >= left {
					i++
				}
				shifted = append(shifted, placed{x, value(i)})
			}
			return value(left), shifted
		}
	}
}
