package model

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"sheaf.dev/internal/merge"
)

// Changes that wait for a decision (D173–D176, D178, D179). A proposal that is accepted is its changes, made one after the
// other as their own requests would make them, or nothing at all.

func init() {
	read, write, approve := []string{"proposals:read"}, []string{"proposals:write"}, []string{"proposals:approve"}
	fields := rules{"title": name(200), "message": orNull(upTo(0, 10_000)), "changes": isChanges}
	handle("GET", "/api/v1/proposals", operation{need: read, act: (*model).listProposals,
		params: paging(params{"state": oneOf("open", "accepted", "rejected", "withdrawn"), "document_id": isID})})
	handle("POST", "/api/v1/proposals", operation{need: write, fields: fields, must: []string{"title", "changes"}, act: (*model).createProposal})
	handle("GET", "/api/v1/proposals/{}", operation{need: read, act: (*model).getProposal})
	handle("PATCH", "/api/v1/proposals/{}", operation{need: write, fields: fields, some: true, act: (*model).changeProposal})
	handle("POST", "/api/v1/proposals/{}/approve", operation{need: approve, before: (*model).hasRead, act: (*model).approveProposal})
	handle("DELETE", "/api/v1/proposals/{}/approve", operation{need: approve, act: (*model).takeBackApproval})
	handle("POST", "/api/v1/proposals/{}/accept", operation{need: []string{"proposals:approve", "documents:write"}, before: (*model).hasRead, act: (*model).acceptProposal})
	handle("POST", "/api/v1/proposals/{}/reject", operation{need: approve, empty: true, fields: rules{"note": orNull(upTo(0, 10_000))}, act: (*model).rejectProposal})
	handle("POST", "/api/v1/proposals/{}/withdraw", operation{need: write, act: (*model).withdrawProposal})
	handle("GET", "/api/v1/proposals/{}/comments", operation{need: read, params: paging(nil), act: (*model).listComments})
	handle("POST", "/api/v1/proposals/{}/comments", operation{need: write, fields: rules{"body": name(10_000), "change": orNull(isInt32)}, must: []string{"body"}, act: (*model).createComment})
}

// proposing is what a proposal has beside its own fields.
type proposing struct {
	author   *key
	changes  []proposed
	wrote    []string // users who made or changed it
	approved []approval
	comments []any
}

type approval struct {
	user  string
	shown record
}

// proposed is one change of a proposal.
type proposed struct {
	op, document string
	base         float64 // version
	in           record  // fields of the request that would make the change
	was          *based  // of an edit or a deletion
}

// based is a document as the author of a proposal saw it.
type based struct {
	own      record
	content  string
	revision int
	below    []string
}

func isChanges(v any) bool {
	list, ok := v.([]any)
	return ok && len(list) > 0
}

// decided are the changes of a document that a proposal is written down with.
func (c *proposed) shown() record {
	out := record{"op": c.op}
	if c.document != "" {
		out["document_id"] = c.document
	}
	if c.base > 0 {
		out["base_version"] = c.base
	}
	set(out, described(c.in))
	return out
}

func (m *model) showProposal(p *thing) record {
	out := maps.Clone(p.own)
	changes, approvals := []any{}, []any{}
	for i := range p.prop.changes {
		changes = append(changes, p.prop.changes[i].shown())
	}
	for _, a := range p.prop.approved {
		approvals = append(approvals, a.shown)
	}
	out["changes"], out["approvals"], out["revision"] = changes, approvals, float64(p.revision)
	return out
}

// propose reads the changes that were sent, with the documents as they are now.
func (m *model) propose(list []any) (out []proposed, refused answer) {
	for _, v := range list {
		in := maps.Clone(v.(record))
		c := proposed{op: in["op"].(string), in: in}
		c.document, _ = in["document_id"].(string)
		c.base, _ = in["base_version"].(float64)
		for _, name := range []string{"op", "document_id", "base_version"} {
			delete(in, name)
		}
		if a := m.base(&c, out); !a.ok() {
			return nil, a
		}
		out = append(out, c)
	}
	return out, answer{}
}

// restores reports whether one of the changes restores the document. A later change may name it then.
func restores(changes []proposed, id string) bool {
	return slices.ContainsFunc(changes, func(c proposed) bool { return c.op == "restore" && c.document == id })
}

// findProposed finds a document that a change names: a deleted one only if a change before it restores it.
func (m *model) findProposed(id string, earlier []proposed) *thing {
	i := slices.IndexFunc(m.documents, func(d *thing) bool { return d.id == id })
	if i >= 0 && restores(earlier, id) {
		return m.documents[i]
	}
	return find(m.documents, id)
}

// base finds what a change names, and notes the document as it is. earlier are the changes before it.
func (m *model) base(c *proposed, earlier []proposed) answer {
	d := m.findProposed(c.document, append(slices.Clip(earlier), *c))
	if c.document != "" && d == nil {
		return notFound
	}
	if !m.hasProject(c.in["project_id"]) {
		return notFound
	}
	for _, name := range []string{"parent_id", "before_id", "after_id"} {
		if id, ok := c.in[name].(string); ok && id[0] != '$' && m.findProposed(id, earlier) == nil {
			return notFound
		}
	}
	if c.op != "edit" && c.op != "delete" {
		return answer{}
	}
	if int(c.base) > len(d.versions) {
		return invalid
	}
	v := d.versions[int(c.base)-1]
	c.was = &based{own: maps.Clone(d.own), content: v.content, revision: d.revision}
	c.was.own["title"] = v.shown["title"]
	if c.op == "delete" {
		for _, x := range m.below(d) {
			c.was.below = append(c.was.below, x.id)
		}
	}
	return answer{}
}

func (m *model) createProposal(c *call) answer {
	changes, a := m.propose(c.in["changes"].([]any))
	if !a.ok() {
		return a
	}
	own := record{"title": c.in["title"], "message": c.in["message"], "state": "open", "user_id": c.key.user, "key_id": c.key.id, "note": nil,
		"decided_at": nil, "decided_by": nil}
	p := m.add("pr", own)
	own["number"] = float64(p.number)
	p.prop = &proposing{author: c.key, changes: changes, wrote: []string{c.key.user}}
	m.proposals = append(m.proposals, p)
	m.emit("proposal.created", p.id, m.showProposal(p))
	return created(p, m.showProposal(p), "/api/v1/proposals/")
}

func (m *model) listProposals(c *call) answer {
	items := []any{}
	for _, p := range m.proposals {
		state, byState := c.query["state"]
		document, byDocument := c.query["document_id"]
		if byState && p.own["state"] != state || byDocument && !p.names(document) {
			continue
		}
		items = append(items, m.showProposal(p))
	}
	if c.query["order"] == "desc" {
		slices.Reverse(items)
	}
	return c.page(items)
}

// names reports whether a change of the proposal names the document, also as a place.
func (p *thing) names(id string) bool {
	return slices.ContainsFunc(p.prop.changes, func(c proposed) bool {
		return c.document == id || c.in["parent_id"] == id || c.in["before_id"] == id || c.in["after_id"] == id
	})
}

func (m *model) getProposal(c *call) answer {
	p := find(m.proposals, c.id)
	if p == nil {
		return notFound
	}
	body := m.showProposal(p)
	body["conflicts"] = []any{}
	if p.own["state"] == "open" {
		_, conflicts := m.merges(p)
		body["conflicts"] = c.shownConflicts(conflicts)
	}
	return resource(200, p, body)
}

// shownConflicts has no texts for a key that may not read documents.
func (c *call) shownConflicts(conflicts []any) []any {
	if !slices.Contains(c.key.scopes, "documents:read") {
		for _, x := range conflicts {
			x.(record)["hunks"] = []any{}
		}
	}
	return conflicts
}

// hasRead refuses a decision about what nobody says to have read.
func (m *model) hasRead(c *call) answer {
	if c.request.match == "" || c.request.match == "*" {
		return invalid
	}
	return answer{}
}

// open finds a proposal that can still change.
func (m *model) open(c *call) (*thing, answer) {
	p := find(m.proposals, c.id)
	switch {
	case p == nil:
		return nil, notFound
	case p.own["state"] != "open":
		return p, taken
	case !p.matches(c.request.match):
		return p, stale
	}
	return p, answer{}
}

// bump gives a changed proposal its time, and emits its event.
func (m *model) bump(p *thing, event string, before record) {
	revision := p.revision
	m.touch(p)
	p.revision = revision
	payload := m.showProposal(p)
	if event == "proposal.updated" {
		previous := record{}
		for name, v := range before {
			if canonical(v) != canonical(payload[name]) {
				previous[name] = v
			}
		}
		payload["previous"] = previous
	}
	m.emit(event, p.id, payload)
}

func (m *model) changeProposal(c *call) answer {
	p, a := m.open(c)
	if !a.ok() {
		return a
	}
	if p.own["user_id"] != c.key.user && !slices.Contains(c.key.scopes, "proposals:approve") {
		return forbidden
	}
	before, list := m.showProposal(p), c.in["changes"]
	if list != nil {
		changes, a := m.propose(list.([]any))
		if !a.ok() {
			return a
		}
		p.prop.changes, p.prop.approved = changes, nil
		if !slices.Contains(p.prop.wrote, c.key.user) {
			p.prop.wrote = append(p.prop.wrote, c.key.user)
		}
	}
	for _, name := range []string{"title", "message"} {
		if v, sent := c.in[name]; sent {
			p.own[name] = v
		}
	}
	if list != nil || canonical(before) != canonical(m.showProposal(p)) {
		p.revision++
		m.bump(p, "proposal.updated", before)
	}
	return resource(200, p, m.showProposal(p))
}

func (m *model) approveProposal(c *call) answer {
	p, a := m.open(c)
	switch {
	case !a.ok():
		return a
	case slices.Contains(p.prop.wrote, c.key.user):
		return forbidden
	case !slices.ContainsFunc(p.prop.approved, func(x approval) bool { return x.user == c.key.user }):
		p.prop.approved = append(p.prop.approved, approval{c.key.user, record{"user_id": c.key.user, "key_id": c.key.id, "created_at": stamp(m.now)}})
		m.bump(p, "proposal.approved", nil)
	}
	return resource(200, p, m.showProposal(p))
}

func (m *model) takeBackApproval(c *call) answer {
	p, a := m.open(c)
	if !a.ok() {
		return a
	}
	if i := slices.IndexFunc(p.prop.approved, func(x approval) bool { return x.user == c.key.user }); i >= 0 {
		before := m.showProposal(p)
		p.prop.approved = slices.Delete(slices.Clone(p.prop.approved), i, i+1)
		m.bump(p, "proposal.updated", before)
	}
	return noContent
}

func (m *model) rejectProposal(c *call) answer {
	p, a := m.open(c)
	if !a.ok() {
		return a
	}
	p.own["note"] = c.in["note"]
	m.decide(p, c, "rejected")
	return resource(200, p, m.showProposal(p))
}

func (m *model) withdrawProposal(c *call) answer {
	p, a := m.open(c)
	switch {
	case !a.ok():
		return a
	case p.own["user_id"] != c.key.user:
		return forbidden
	}
	m.decide(p, c, "withdrawn")
	return resource(200, p, m.showProposal(p))
}

// decide ends a proposal.
func (m *model) decide(p *thing, c *call, state string) {
	p.own["state"], p.own["decided_at"], p.own["decided_by"] = state, stamp(m.now), c.key.user
	p.revision++
	m.bump(p, "proposal."+state, nil)
}

// acceptProposal makes all changes, or leaves the model as it was.
func (m *model) acceptProposal(c *call) answer {
	p, a := m.open(c)
	if !a.ok() {
		return a
	}
	steps, conflicts := m.merges(p)
	if len(conflicts) > 0 {
		a := taken
		a.conflicts = c.shownConflicts(conflicts)
		return a
	}
	saved := m.clone()
	m.decide(p, c, "accepted")
	author := *p.prop.author
	author.proposal = p.id
	m.accepting, m.asked = true, 0
	a = m.perform(p, steps, &author)
	m.accepting = false
	if a.ok() && p.approvals() < m.asked {
		a = fail(409, "APPROVALS_MISSING")
	}
	if !a.ok() {
		*m = *saved
		return a
	}
	return resource(200, p, m.showProposal(p))
}

// approvals counts the people whose approval counts.
func (p *thing) approvals() (n int) {
	for _, a := range p.prop.approved {
		if !slices.Contains(p.prop.wrote, a.user) {
			n++
		}
	}
	return n
}

// perform makes the changes in their order, as the requests for single documents do.
func (m *model) perform(p *thing, steps []record, by *key) answer {
	made := make([]string, len(steps))
	for i, in := range steps {
		c := &p.prop.changes[i]
		own := &call{key: by, id: c.document, in: maps.Clone(in)}
		if to, ok := in["parent_id"].(string); ok && to[0] == '$' {
			n, _ := strconv.Atoi(to[1:])
			own.in["parent_id"] = made[n]
		}
		act := map[string]func(*model, *call) answer{"edit": (*model).changeDocument, "create": (*model).createDocument,
			"move": (*model).moveDocument, "delete": (*model).deleteDocument, "restore": (*model).restoreDocument}[c.op]
		if in == nil || c.op == "edit" && len(in) == 0 {
			continue
		}
		a := act(m, own)
		if !a.ok() {
			return a
		}
		if c.op == "create" {
			made[i] = a.body.(record)["id"].(string)
		}
	}
	return answer{}
}

// merges returns what each change would do with the documents as they are now; nil is nothing.
func (m *model) merges(p *thing) (steps []record, conflicts []any) {
	steps = make([]record, len(p.prop.changes))
	conflicts = []any{}
	for i := range p.prop.changes {
		c := &p.prop.changes[i]
		conflict := func(reason string, hunks ...any) {
			conflicts = append(conflicts, record{"change": float64(i), "document_id": c.document, "reason": reason, "hunks": append([]any{}, hunks...)})
		}
		steps[i] = maps.Clone(c.in)
		if c.op == "create" {
			continue
		}
		at := slices.IndexFunc(m.documents, func(d *thing) bool { return d.id == c.document })
		if at < 0 {
			conflict("the document was deleted for good")
			continue
		}
		d := m.documents[at]
		gone := d.deleted && !restores(p.prop.changes[:i], d.id)
		switch {
		case c.op == "delete" && gone, c.op == "restore" && !d.deleted:
			steps[i] = nil
		case c.op == "restore":
		case gone:
			conflict("the document was deleted")
		case c.op == "delete" && (d.own["version"] != c.base || d.revision != c.was.revision):
			conflict("the document to delete was changed")
		case c.op == "delete":
			if slices.ContainsFunc(m.below(d), func(x *thing) bool { return !slices.Contains(c.was.below, x.id) }) {
				conflict("another document appeared below the document to delete")
			}
		case c.op == "edit":
			c.mergeFields(d, steps[i], conflict)
			c.mergeText(d, steps[i], conflict)
		}
	}
	return steps, conflicts
}

// mergeFields leaves in `in` what the proposal changes.
func (c *proposed) mergeFields(d *thing, in record, conflict func(string, ...any)) {
	for _, name := range []string{"title", "description", "external_id", "url"} {
		want, sent := in[name]
		switch was, is := c.was.own[name], d.own[name]; {
		case !sent:
		case want == was, want == is:
			delete(in, name)
		case was != is:
			conflict(name + " was changed to another value")
		}
	}
	patch, sent := in["metadata"].(record)
	if !sent {
		return
	}
	was, _ := c.was.own["metadata"].(record)
	is, _ := d.own["metadata"].(record)
	for name, want := range patch {
		if was[name] != is[name] && was[name] != want && is[name] != want {
			conflict("metadata was changed to other values")
			return
		}
	}
}

// mergeText merges three texts by lines, as the fuzzed package does: here it matters which three.
func (c *proposed) mergeText(d *thing, in record, conflict func(string, ...any)) {
	want, sent := in["content"].(string)
	if !sent {
		return
	}
	merged, hunks := merge.Lines(c.was.content, d.content(), want)
	var shown []any
	for _, h := range hunks {
		shown = append(shown, record{"base_line": float64(h.Base.Line), "base": h.Base.Text, "present_line": float64(h.Ours.Line), "present": h.Ours.Text,
			"proposed_line": float64(h.Theirs.Line), "proposed": h.Theirs.Text})
	}
	switch {
	case len(hunks) > 0:
		conflict("the text was changed in the same places, or beside them", shown...)
	case merged == d.content():
		delete(in, "content")
	default:
		in["content"] = merged
	}
}

func (m *model) createComment(c *call) answer {
	p := find(m.proposals, c.id)
	change := c.in["change"]
	switch {
	case p == nil:
		return notFound
	case p.own["state"] != "open":
		return taken
	case change != nil && int(change.(float64)) >= len(p.prop.changes):
		return invalid
	}
	body := record{"number": float64(len(p.prop.comments) + 1), "proposal_id": p.id, "change": change, "body": c.in["body"], "user_id": c.key.user,
		"key_id": c.key.id, "created_at": stamp(m.now), "updated_at": stamp(m.now)}
	p.prop.comments = append(p.prop.comments, body)
	payload := m.showProposal(p)
	payload["comment"] = body["number"]
	m.emit("proposal.commented", p.id, payload)
	return answer{status: 201, body: body, tag: tagOf(1, body)}
}

func (m *model) listComments(c *call) answer {
	p := find(m.proposals, c.id)
	if p == nil {
		return notFound
	}
	items := append([]any{}, p.prop.comments...)
	if c.query["order"] == "desc" {
		slices.Reverse(items)
	}
	return c.page(items)
}

// storedProposals counts the texts of proposals, those that they change, and comments.
func (m *model) storedProposals() (n stored) {
	for _, p := range m.proposals {
		texts := map[string]bool{}
		for i := range p.prop.changes {
			c := &p.prop.changes[i]
			text, sent := c.in["content"].(string)
			if !sent {
				continue
			}
			texts[text] = true
			if c.was != nil {
				texts[c.was.content] = true
			}
		}
		for text := range texts {
			n += stored(len(text))
		}
		for _, c := range p.prop.comments {
			n += stored(len(c.(record)["body"].(string)))
		}
	}
	return n
}

// stepProposal makes the steps about proposals.
func (r *run) stepProposal(what string) bool {
	switch what {
	case "review":
		r.review()
	case "propose":
		r.post("/api/v1/proposals", r.proposal())
	case "change proposal":
		body := r.proposal()
		if r.chance("the texts around it alone", 2) {
			delete(body, "changes")
		}
		r.change("PATCH", r.proposalPath(), body)
	case "approve":
		r.decide("approve", "{reviewer}")
	case "accept":
		r.decide("accept", draw(r, "by", "{reviewer}", r.as()))
	case "reject":
		r.post(r.proposalPath()+"/reject", r.fields(map[string]func() any{"note": r.text(0)}))
	case "withdraw":
		r.post(r.proposalPath()+"/withdraw", nil)
	case "take back":
		q := request{as: r.secretOf("{reviewer}"), method: "DELETE", path: r.proposalPath() + "/approve"}
		r.send(q)
	case "comment":
		body := r.fields(map[string]func() any{"change": r.value("change", []any{0.0, nil}, 1.0, 2.5, "x")})
		body["body"] = r.value("body", []any{"Why?", "*so*"}, "", " ", 5.0)()
		r.post(r.proposalPath()+"/comments", body)
	case "list comments":
		r.get(r.proposalPath()+"/comments", r.parameters(nil)...)
	case "get proposal":
		r.get(r.proposalPath())
	case "list proposals":
		r.get("/api/v1/proposals", r.parameters(map[string][]string{"state": {"open", "accepted", "rejected", "withdrawn", "lost"}, "document_id": r.filter(r.m.documents)[1:]})...)
	default:
		return false
	}
	return true
}

// proposalPath is mostly that of one that can still be decided.
func (r *run) proposalPath() string {
	from := r.m.proposals
	if !r.chance("a decided one", 8) {
		from = slices.DeleteFunc(slices.Clone(from), func(p *thing) bool { return p.own["state"] != "open" })
	}
	return "/api/v1/proposals/" + r.id(from, "{xpr1}")
}

// secretOf is the key of the person who reviews.
func (r *run) secretOf(who string) string {
	if who == "{reviewer}" {
		return r.m.keys[1].secret
	}
	return who
}

// decide is mostly about what was read last.
func (r *run) decide(act, by string) {
	q := request{as: r.secretOf(by), method: "POST", path: r.proposalPath() + "/" + act}
	at := subject(q.path)
	switch tags := r.tags[at]; {
	case len(tags) > 0 && !r.chance("an older state", 8):
		q.match = tags[len(tags)-1]
	case len(tags) > 0:
		q.match = draw(r, "known", tags...)
	default:
		q.match = draw(r, "match", "", "*", "0 nothing")
	}
	r.maybeOnce(&q)
	r.send(q)
}

// pages are texts that mostly merge in pairs: each differs from the first at one place, which is far from those of others.
var pages = []string{"a\nb\nc\nd\ne\nf\ng\n", "A\nb\nc\nd\ne\nf\ng\n", "a\nb\nC\nd\ne\nf\ng\n", "a\nb\nc\nd\nE\nf\ng\n", "a\nb\nc\nd\ne\nf\n", "a\nb\nc\nd\ne\nf\ng\nh\n", "new\na\nb\nc\nd\ne\nf\ng\n", ""}

// proposal is a new one, of one to three changes. No document is twice in it with the same op, so it is well-formed.
func (r *run) proposal() record {
	changes := []any{}
	seen := map[string]bool{}
	for range draw(r, "changes", 1, 1, 2, 3) {
		c := r.proposedChange(len(changes), changes)
		id, _ := c["document_id"].(string)
		if at := c["op"].(string) + strings.ToLower(id); id == "" || !seen[at] {
			seen[at] = true
			changes = append(changes, c)
		}
	}
	body := record{"title": r.name(200)(), "changes": changes}
	if r.chance("a message", 3) {
		body["message"] = r.value("message", []any{"why", nil}, 5.0)()
	}
	return body
}

func (r *run) proposedChange(at int, earlier []any) record {
	op := draw(r, "op", "edit", "edit", "edit", "create", "move", "delete", "restore")
	c := record{"op": op}
	if op != "create" {
		if c["document_id"] = r.knownID(r.m.documents); c["document_id"] == "" {
			op = "create"
			c = record{"op": op}
		}
	}
	if op == "edit" || op == "delete" {
		c["base_version"] = 1.0
		for _, d := range r.m.documents {
			if d.id == c["document_id"] && !r.chance("an older version", 4) {
				c["base_version"] = d.own["version"]
			}
		}
		if r.chance("a later version", 20) {
			c["base_version"] = 1000.0
		}
	}
	some := func(name string, in int, from ...any) {
		if r.chance("propose "+name, in) {
			c[name] = draw(r, name, from...)
		}
	}
	switch op {
	case "edit":
		c["content"] = draw(r, "text", pages...)
		some("title", 3, names...)
		some("description", 6, "words of Alpha", nil)
		some("external_id", 6, "one", "two", nil)
		some("metadata", 6, record{"a": "1"}, record{"b": "2", "a": nil})
	case "create":
		c["title"] = draw(r, "title", names...)
		some("content", 2, anys(pages)...)
		some("project_id", 2, r.places(r.m.projects)...)
		some("parent_id", 4, r.places(r.m.documents)...)
		if at > 0 && earlier[at-1].(record)["op"] == "create" && r.chance("below it", 2) {
			c["parent_id"] = "$" + strconv.Itoa(at-1)
			if delete(c, "project_id"); earlier[at-1].(record)["project_id"] != nil {
				c["project_id"] = earlier[at-1].(record)["project_id"]
			}
		}
	case "move":
		c["project_id"] = draw(r, "project_id", r.places(r.m.projects)...)
		some("parent_id", 3, r.places(r.m.documents)...)
		some("after_id", 3, r.places(r.m.documents)...)
	}
	return c
}

// knownID draws one of the things, "" if there are none, or now and then one that is nowhere.
func (r *run) knownID(things []*thing) string {
	if r.chance("nowhere", 20) {
		return unknown
	}
	if len(things) == 0 {
		return ""
	}
	return draw(r, "id", things...).id
}

// review makes a project whose documents change only by accepted proposals from now on, mostly with a document, or
// lets one be changed freely again.
func (r *run) review() {
	if len(r.m.projects) == 0 || r.chance("another project", 4) {
		r.post("/api/v1/projects", record{"name": "Manual"})
	}
	if len(r.m.projects) == 0 {
		return
	}
	p := r.m.projects[len(r.m.projects)-1].id
	if !r.chance("no document", 2) {
		r.post("/api/v1/documents", record{"title": "Page", "project_id": p, "content": draw(r, "text", pages...)})
	}
	r.change("PATCH", "/api/v1/projects/"+p, record{"review": draw[any](r, "review", record{"approvals": 1.0}, record{"approvals": 1.0}, record{"approvals": 2.0}, nil)})
}

func (r *run) places(things []*thing) []any {
	out := []any{nil}
	for _, t := range things {
		out = append(out, t.id)
	}
	return out
}
