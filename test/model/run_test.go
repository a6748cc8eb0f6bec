package model

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"pgregory.net/rapid"
)

// pair is the two engines that sequences run on, one after the other.
type pair struct {
	engines []*engine
	now     time.Time // goes on from sequence to sequence
	change  func(*model)
	counts  counts
}

type counts struct {
	sequences, requests             int
	accepted, undecided, unreviewed int // acceptances, those refused for the state of documents or approvals, and changes refused for a review
}

func (n *counts) add(q request, a answer) {
	n.requests++
	accepts := strings.HasSuffix(q.path, "/accept") && !a.replayed
	switch {
	case accepts && a.ok():
		n.accepted++
	case accepts && a.status == 409:
		n.undecided++
	case a.code == reviewRequired.code:
		n.unreviewed++
	}
}

// run is one sequence.
type run struct {
	*rapid.T
	*pair
	m       *model
	theme   []string
	journal []string
	posted  []request           // with an Idempotency-Key
	tags    map[string][]string // what a thing's ETags stood for, by its id or the address of a page
}

// sequence runs one sequence of random steps and compares everything in the end.
func (p *pair) sequence(t *rapid.T) {
	plan := rapid.SampledFrom([]string{"business", "pro"}).Draw(t, "plan")
	personal := rapid.IntRange(0, 9).Draw(t, "personal") == 9
	r := &run{T: t, pair: p, m: newModel(plan, personal, p.now), tags: map[string][]string{}}
	r.theme = rapid.SampledFrom(themes).Draw(t, "theme")
	if p.change != nil {
		p.change(r.m)
	}
	r.m.caller = "{u1}"
	r.m.addKey("test", allScopes, nil)
	r.m.caller = "{u2}"
	r.m.addKey("test", allScopes, nil)
	for _, e := range p.engines {
		e.begin(plan, personal, p.now)
	}
	r.note("a workspace on the plan %s", plan)
	p.counts.sequences++
	t.Repeat(map[string]func(*rapid.T){"step": func(t *rapid.T) { r.T = t; r.step() }})
	r.T = t
	r.final()
}

func (r *run) note(format string, args ...any) {
	r.journal = append(r.journal, fmt.Sprintf("%3d  ", len(r.journal))+fmt.Sprintf(format, args...))
}

// tick moves the clock, which may also stand still.
func (r *run) tick(by time.Duration) {
	r.now = r.now.Add(by)
	r.m.now = r.now
}

// send asks the model and both engines, and ends the sequence when they differ.
func (r *run) send(q request) answer {
	want := r.m.do(q)
	got := make([]exchange, len(r.engines))
	var group sync.WaitGroup
	for i, e := range r.engines {
		group.Go(func() { got[i] = e.send(q, r.now) })
	}
	group.Wait()
	r.counts.add(q, want)
	r.note("%s %s → %d %s", stamp(r.now)[11:], q, want.status, want.code)
	for i, e := range r.engines {
		if err := e.check(want, got[i]); err != nil {
			r.Logf("%s answers otherwise: %v\n%s\nanswered: %d %s\nwanted:   %d %s%s", e.name, err, strings.Join(r.journal, "\n"),
				got[i].status, got[i].text, want.status, want.code, shown(want.body))
			// Shrinking takes two failures for the same by this text, which therefore has no names or times in it.
			r.Fatalf("%s answers %d, the model %d %s, to a %s", e.name, got[i].status, want.status, want.code, q.method)
		}
		e.keep(q, want, got[i])
	}
	r.remember(q, want)
	if want.ok() && strings.HasSuffix(q.path, "/accept") { // the answer does not name the documents that it created
		r.send(request{as: "{secretkey1}", method: "GET", path: "/api/v1/events", query: []string{"order=desc", "limit=100"}})
	}
	return want
}

func shown(body any) string {
	if body == nil {
		return ""
	}
	return canonical(body)
}

// remember keeps the tag for later conditions, and the request for a repetition.
func (r *run) remember(q request, a answer) {
	if a.tag != "" {
		at := q.path
		if a.page {
			at += "?" + strings.Join(q.query, "&")
		} else if a.location != "" {
			at = a.location
		}
		if q.method != "GET" {
			at = subject(at)
		}
		r.tags[at] = append(r.tags[at], a.tag)
	}
	if q.once != "" && q.method == "POST" && !a.replayed {
		r.posted = append(r.posted, q)
	}
}

// subject is the address of the thing that a request at this address changes.
func subject(path string) string {
	for _, act := range []string{"/move", "/restore", "/content", "/accept", "/approve", "/reject", "/withdraw"} {
		path = strings.TrimSuffix(path, act)
	}
	thing, _, _ := strings.Cut(path, "/versions/")
	return thing
}

// String prints the request for a person.
func (q request) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", q.method, q.path)
	if len(q.query) > 0 {
		fmt.Fprintf(&b, "?%s", strings.Join(q.query, "&"))
	}
	if q.as != "{secretkey1}" {
		fmt.Fprintf(&b, " [key %q]", q.as)
	}
	if q.once != "" {
		fmt.Fprintf(&b, " [Idempotency-Key: %.20s (%d)]", q.once, len(q.once))
	}
	if revision, _, _ := strings.Cut(q.match, " "); revision != "" {
		fmt.Fprintf(&b, " [If-Match: revision %s]", revision)
	}
	if q.none != "" {
		b.WriteString(" [If-None-Match: an earlier answer]")
	}
	if len(q.headers) > 0 {
		fmt.Fprintf(&b, " %v", q.headers)
	}
	if q.text != "" {
		fmt.Fprintf(&b, " %s", clip(q.text))
	}
	return b.String()
}

func clip(s string) string {
	if len(s) > 200 {
		return s[:200] + "…"
	}
	return s
}

// final reads everything with a new key and compares it.
func (r *run) final() {
	r.setPlan("business")
	r.m.caller = "{u1}"
	k := r.m.addKey("test", allScopes, nil)
	for _, e := range r.engines {
		e.api.Clock.Set(r.now)
		e.newKey(strings.Trim(strings.TrimPrefix(k.id, "{k"), "}"), "")
	}
	lists := []string{"/api/v1/projects", "/api/v1/folders", "/api/v1/brandings", "/api/v1/documents", "/api/v1/media", "/api/v1/shares", hooksPath, "/api/v1/api-keys", "/api/v1/events", "/api/v1/proposals"}
	for _, d := range r.m.documents {
		lists = append(lists, "/api/v1/documents/"+d.id+"/versions")
	}
	for _, s := range r.m.hooks {
		lists = append(lists, hooksPath+"/"+s.id+"/deliveries")
	}
	for _, path := range lists {
		r.all(path, k)
	}
	r.send(request{as: k.secret, method: "GET", path: "/api/v1/documents", query: []string{"deleted=true", "limit=100"}})
	for _, p := range r.m.projects {
		r.send(request{as: k.secret, method: "GET", path: "/api/v1/projects/" + p.id})
	}
	for _, d := range r.m.documents {
		r.texts(d, k)
	}
	for _, t := range r.m.media {
		r.send(request{as: k.secret, method: "GET", path: "/api/v1/media/" + t.id + "/content"})
	}
	for _, p := range r.m.proposals {
		r.send(request{as: k.secret, method: "GET", path: "/api/v1/proposals/" + p.id})
		r.all("/api/v1/proposals/"+p.id+"/comments", k)
	}
	r.send(request{as: k.secret, method: "GET", path: "/api/v1/me"})
}

// texts reads the text of a document, and of each of its versions.
func (r *run) texts(d *thing, k *key) {
	one := "/api/v1/documents/" + d.id
	r.send(request{as: k.secret, method: "GET", path: one})
	for n := range d.versions {
		r.send(request{as: k.secret, method: "GET", path: fmt.Sprintf("%s/versions/%d", one, n+1)})
	}
}

// all reads a whole list.
func (r *run) all(path string, k *key) {
	for offset := 0; ; offset += 100 {
		a := r.send(request{as: k.secret, method: "GET", path: path, query: []string{"limit=100", fmt.Sprintf("offset=%d", offset)}})
		if a.next == "" {
			return
		}
	}
}

func (r *run) setPlan(plan string) {
	if r.m.plan == plan {
		return
	}
	r.m.plan = plan
	r.note("the plan becomes %s", plan)
	for _, e := range r.engines {
		e.api.Clock.Set(r.now)
		e.setPlan(plan)
	}
}
