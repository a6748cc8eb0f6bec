// Package model holds the API against a plain model of it, written from the contract: random sequences of requests run
// on the model, on SQLite and on PostgreSQL at once, and every answer and the state in the end must be the same.
package model

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// record is the fields of something as JSON has them: strings, float64, bool, nil, lists and records.
type record = map[string]any

// thing is a project, folder, branding, document, medium, upload, share or subscription. What it shows beyond its own fields is derived when it is shown.
type thing struct {
	id       string
	own      record
	number   int // counts creations
	revision int
	updated  time.Time
	deleted  bool
	gone     time.Time // when a document was deleted
	deletion int       // of a document, the number of the deletion that it shares with others; negative for the deleted one itself
	versions []version // a document's, the present one last
	headers  record    // a subscription's
	bytes    string    // of a medium, or of an upload so far; a share's password
	up       *uploading
	prop     *proposing // of a proposal
}

// model is a workspace as the contract describes it. Identifiers are symbols such as {p1}, which each engine has a
// value of its own for.
type model struct {
	now       time.Time
	plan      string
	personal  bool
	serials   map[string]int
	number    int
	keys      []*key
	projects  []*thing
	folders   []*thing
	brandings []*thing
	documents []*thing
	media     []*thing
	uploads   []*thing
	shares    []*thing
	hooks     []*thing
	proposals []*thing
	events    []record
	sent      []*delivery
	kept      map[string]*kept
	maxDepth  int // 3, but in the control

	newest time.Time // updated_at that was given (D86)
	shared int       // how many things have it
	step   time.Time // of a cascade that is under way; zero: none is

	caller     string // user whose request is under way
	accepting  bool   // what changes now was proposed
	removing   bool   // documents leave a project that an admin deletes
	asked      int    // approvals that what has changed needs
	unreviewed bool   // something has changed that needs a review
}

type key struct {
	id, secret string
	shown      record
	scopes     []string
	expires    *time.Time
	revoked    bool
	user       string
	proposal   string // of an author whose proposal is accepted
}

// kept is an answer that a repetition gets.
type kept struct {
	text   string
	answer answer
	at     time.Time
}

// request is what a client sends. Symbols stand for what each engine has named itself.
type request struct {
	as           string // a key's symbol; "" sends none
	method, path string
	query        []string // name=value, encoded
	text         string   // the body
	malformed    bool     // the body is no JSON object without a duplicate name
	once         string   // Idempotency-Key
	match        string   // If-Match: a tag or *
	none         string   // If-None-Match
	headers      []string // others, as "Name: value"
}

// answer is what must come back.
type answer struct {
	status     int
	code       string                  // of an error
	body       any                     // nil: none, or that of an error
	text       bool                    // the body is a text as it is, and no JSON
	judge      func(text string) error // of a text that is not the only right one; instead of body
	tag        string                  // what the ETag stands for; "" when it is left open
	location   string
	replayed   bool
	page       bool
	headers    map[string]string
	next, prev string // where Link leads: offset=5, after={e7}, or "" for nowhere
	reported   bool   // the body is a reported event, which counts in the quota
	conflicts  []any  // of a refusal
	keeps      string // under which name the answer is kept for a repetition, and counts in the quota
}

func newModel(plan string, personal bool, now time.Time) *model {
	return &model{plan: plan, personal: personal, now: now, serials: map[string]int{}, kept: map[string]*kept{}, maxDepth: 3}
}

// symbol returns a new identifier.
func (m *model) symbol(kind string) string {
	m.serials[kind]++
	return "{" + kind + strconv.Itoa(m.serials[kind]) + "}"
}

func fail(status int, code string) answer { return answer{status: status, code: code} }

var (
	invalid      = fail(400, "VALIDATION_ERROR")
	unauthorized = fail(401, "UNAUTHORIZED")
	forbidden    = fail(403, "FORBIDDEN")
	planRequired = fail(403, "PLAN_REQUIRED")
	notFound     = fail(404, "NOT_FOUND")
	notAllowed   = fail(405, "METHOD_NOT_ALLOWED")
	stale        = fail(412, "PRECONDITION_FAILED")
	conflict     = fail(409, "IDEMPOTENCY_CONFLICT")
	noContent    = answer{status: 204}
)

// ok tells a success from an error.
func (a answer) ok() bool { return a.code == "" }

// do answers a request. The checks come in the order of D11.
func (m *model) do(r request) answer {
	k := m.key(r.as)
	if k == nil || !m.live(k) {
		return unauthorized
	}
	if m.plan == "free" {
		return planRequired
	}
	m.caller, m.unreviewed = k.user, false
	o, id, version, refused := route(r.method, r.path)
	if !refused.ok() {
		return refused
	}
	for _, s := range o.need {
		if !slices.Contains(k.scopes, s) {
			return forbidden
		}
	}
	c := &call{request: r, key: k, id: id, version: version}
	if !c.read(o) {
		return invalid
	}
	if o.demand != nil {
		if a := o.demand(m, c); !a.ok() {
			return a
		}
	}
	if c.faulty {
		return invalid
	}
	if o.before != nil {
		if a := o.before(m, c); !a.ok() {
			return a
		}
	}
	return m.once(o, c)
}

// once runs the operation, or repeats what it answered before (D57).
func (m *model) once(o *operation, c *call) answer {
	if c.request.once == "" || c.request.method != "POST" {
		return m.conditional(m.act(o, c), c)
	}
	name, text := c.request.path+" "+c.request.once, c.request.text
	if o.same != nil {
		text = o.same(c)
	}
	if k := m.kept[name]; k != nil && m.now.Sub(k.at) < 24*time.Hour {
		if k.text != text {
			return conflict
		}
		a := k.answer
		a.replayed = true
		return a
	}
	a := m.act(o, c)
	if a.ok() {
		again := withoutSecret(a)
		again.reported = false
		m.kept[name] = &kept{text, again, m.now}
		a.keeps = name
	}
	return a
}

// withoutSecret is the answer as a repetition has it.
func withoutSecret(a answer) answer {
	body, ok := a.body.(record)
	if !ok {
		return a
	}
	out := maps.Clone(body)
	if _, ok := out["key"]; ok {
		out["key"] = nil
	}
	if s, ok := out["subscription"].(record); ok {
		s = maps.Clone(s)
		s["secret"] = nil
		out["subscription"] = s
	}
	a.body = out
	if revision, _, found := strings.Cut(a.tag, " "); found {
		a.tag = revision + " " + canonical(out)
	}
	return a
}

// conditional turns an answer into 304 when the client has it already (D58).
func (m *model) conditional(a answer, c *call) answer {
	if a.status == 200 && c.request.method == "GET" && a.tag != "" && a.tag == c.request.none {
		a.status, a.body = 304, nil
	}
	return a
}

// resource is the answer of a single thing.
func resource(status int, t *thing, body record) answer {
	return answer{status: status, body: body, tag: tagOf(t.revision, body)}
}

// tagOf is what an ETag stands for: the revision, and the body that it came with.
func tagOf(revision int, body any) string { return strconv.Itoa(revision) + " " + canonical(body) }

// canonical is the one text of a JSON value.
func canonical(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// matches judges If-Match: the revision alone counts.
func (t *thing) matches(match string) bool {
	if match == "" || match == "*" {
		return true
	}
	revision, _, _ := strings.Cut(match, " ")
	return revision == strconv.Itoa(t.revision)
}

const timeFormat = "2006-01-02T15:04:05.000Z"

func stamp(t time.Time) string { return t.UTC().Format(timeFormat) }

// touch raises the revision and the time of the last change, which always grows (D86).
func (m *model) touch(t *thing) {
	t.revision++
	if !t.updated.Before(m.now) && !t.updated.Before(m.newest) {
		m.newest, m.shared = t.updated.Add(time.Millisecond), 0
	}
	if t.updated = m.step; m.step.IsZero() {
		t.updated = m.give()
	}
	t.own["updated_at"] = stamp(t.updated)
}

// touchHook is touch for a subscription, whose times are its own.
func (m *model) touchHook(t *thing) {
	t.revision++
	if !m.now.After(t.updated) {
		t.updated = t.updated.Add(time.Millisecond)
	} else {
		t.updated = m.now
	}
	t.own["updated_at"] = stamp(t.updated)
}

// give returns the time of a change: not before the newest that was given, and to 50 things at most (D86).
func (m *model) give() time.Time {
	switch {
	case m.now.After(m.newest):
		m.newest, m.shared = m.now, 0
	case m.shared >= 50:
		m.newest, m.shared = m.newest.Add(time.Millisecond), 0
	}
	m.shared++
	return m.newest
}

// together is give for all that one step of a cascade changes, which nothing else shares.
func (m *model) together() time.Time {
	at := m.now
	if !at.After(m.newest) {
		at = m.newest.Add(time.Millisecond)
	}
	m.newest, m.shared = at, 50
	return at
}

// add makes a thing of these fields.
func (m *model) add(kind string, own record) *thing {
	m.number++
	t := &thing{id: m.symbol(kind), own: own, number: m.number, revision: 1, updated: m.now}
	if kind != "s" { // a subscription's are those of the clock
		t.updated = m.give()
	}
	own["id"], own["created_at"], own["updated_at"] = t.id, stamp(t.updated), stamp(t.updated)
	return t
}

// find returns the thing of that id, deleted ones aside.
func find(things []*thing, id string) *thing {
	for _, t := range things {
		if t.id == strings.ToLower(id) && !t.deleted {
			return t
		}
	}
	return nil
}

func without(things []*thing, t *thing) []*thing {
	return slices.DeleteFunc(things, func(x *thing) bool { return x == t })
}

// change sets fields and emits what changed; nothing changed is no trace (D6).
func (m *model) change(noun string, t *thing, fields record) bool {
	previous := record{}
	for name, v := range fields {
		if old := t.own[name]; canonical(old) != canonical(v) {
			previous[name] = old
			t.own[name] = v
		}
	}
	if len(previous) == 0 {
		return false
	}
	previous["updated_at"] = t.own["updated_at"]
	m.touch(t)
	payload := m.show(noun, t)
	payload["previous"] = previous
	m.emit(noun+".updated", t.id, payload)
	return true
}

// show returns the thing as the API shows it.
func (m *model) show(noun string, t *thing) record {
	out := maps.Clone(t.own)
	switch noun {
	case "project":
		out["document_count"] = float64(len(m.documentsOf(t.id)))
	case "folder":
		out["depth"] = float64(m.depth(t))
		out["project_count"] = float64(len(m.projectsIn(t.id)))
		out["branding_count"] = float64(len(m.brandingsIn(t.id)))
	case "subscription":
		out["held_count"] = float64(m.held(t.id))
	}
	return out
}
