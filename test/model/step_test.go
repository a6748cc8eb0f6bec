package model

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"pgregory.net/rapid"
)

// steps are what a sequence is made of, the likelier the more often they are named.
var steps = weighted(map[string]int{
	"create project": 4, "change project": 3, "move project": 3, "delete project": 1, "get project": 2, "list projects": 2, "put project": 3,
	"create branding": 2, "change branding": 2, "move branding": 2, "delete branding": 1, "get branding": 1, "list brandings": 1,
	"create folder": 6, "change folder": 2, "move folder": 4, "delete folder": 1, "get folder": 1, "list folders": 2, "put folder": 3,
	"create document": 4, "change document": 3, "move document": 3, "get tree": 1, "delete document": 2, "restore document": 2, "get document": 1, "list documents": 2, "put document": 3, "purge document": 1,
	"put content": 4, "get content": 1, "list versions": 2, "get version": 1, "diff versions": 2, "restore version": 2,
	"upload medium": 4, "change medium": 2, "delete medium": 2, "get medium": 1, "medium content": 1, "list media": 1,
	"begin upload": 3, "send piece": 4, "ask upload": 1, "end upload": 1,
	"create share": 4, "change share": 3, "delete share": 1, "get share": 1, "list shares": 1,
	"create key": 2, "revoke key": 1, "list keys": 1, "me": 1,
	"create hook": 3, "change hook": 4, "delete hook": 1, "get hook": 1, "list hooks": 1, "rotate": 1, "recover": 1,
	"list deliveries": 2, "get delivery": 1, "redeliver": 1,
	"review": 2, "propose": 4, "change proposal": 2, "approve": 3, "take back": 1, "accept": 4, "reject": 1, "withdraw": 1, "comment": 2, "list comments": 1, "get proposal": 2, "list proposals": 1,
	"publish": 1, "list events": 3, "get event": 1, "fates": 1, "repeat": 4, "odd": 1, "plan": 1,
})

// themes are what a sequence may turn around, so that it comes to the limits: half of its steps are from there.
var themes = [][]string{
	steps,
	weighted(map[string]int{"create folder": 4, "move folder": 1, "delete folder": 2, "create branding": 5, "move branding": 4, "change branding": 3, "delete branding": 1, "list brandings": 2, "get folder": 1, "plan": 1}),
	weighted(map[string]int{"create folder": 6, "move folder": 4, "put folder": 3, "change folder": 1, "delete folder": 1, "list folders": 1, "create project": 1, "move project": 1, "plan": 1}),
	weighted(map[string]int{"create hook": 4, "change hook": 4, "recover": 1, "list deliveries": 1, "redeliver": 1, "create project": 2, "plan": 1}),
	weighted(map[string]int{"upload medium": 4, "change medium": 2, "delete medium": 2, "list media": 1, "begin upload": 3, "send piece": 6, "ask upload": 2, "end upload": 1,
		"create document": 1, "delete document": 1, "purge document": 1, "create branding": 1, "change branding": 2, "publish": 1}),
	weighted(map[string]int{"create share": 6, "change share": 4, "delete share": 1, "list shares": 1, "create document": 2, "delete document": 1, "purge document": 2,
		"create project": 2, "delete project": 1, "create branding": 2, "delete branding": 1, "publish": 1}),
	weighted(map[string]int{"create key": 5, "revoke key": 1, "list keys": 1, "me": 1, "plan": 1, "repeat": 1}),
	weighted(map[string]int{"create document": 6, "change document": 4, "move document": 6, "get tree": 2, "delete document": 2, "restore document": 2, "put document": 3, "purge document": 1, "create project": 1, "delete project": 1, "list documents": 2, "get project": 2}),
	weighted(map[string]int{"create document": 6, "change document": 2, "move document": 12, "get tree": 3, "delete document": 1, "restore document": 1}),
	weighted(map[string]int{"create document": 2, "put content": 6, "change document": 3, "list versions": 2, "get version": 1, "diff versions": 3, "restore version": 4,
		"delete document": 1, "restore document": 1, "list documents": 1, "get document": 1, "get content": 1}),
	weighted(map[string]int{"create project": 1, "change project": 2, "create document": 3, "put content": 2, "change document": 2, "move document": 1, "delete document": 1,
		"restore document": 1, "purge document": 1, "propose": 10, "change proposal": 3, "approve": 6, "take back": 1, "accept": 12, "reject": 1, "withdraw": 1, "get proposal": 4,
		"list proposals": 1, "comment": 1, "get tree": 1, "me": 1}),
	weighted(map[string]int{"review": 5, "create document": 2, "put content": 4, "change document": 4, "move document": 3, "delete document": 2, "restore document": 2, "restore version": 2,
		"put document": 2, "purge document": 2, "delete project": 1, "change project": 1, "propose": 10, "approve": 8, "take back": 1, "accept": 10, "change proposal": 2, "get proposal": 2}),
}

func weighted(weights map[string]int) (out []string) {
	for _, k := range sortedKeys(weights) {
		for range weights[k] {
			out = append(out, k)
		}
	}
	return out
}

func draw[T any](r *run, label string, from ...T) T { return rapid.SampledFrom(from).Draw(r.T, label) }

// chance is true once in `in` times; shrinking makes it false.
func (r *run) chance(label string, in int) bool {
	return rapid.IntRange(0, in-1).Draw(r.T, label) == in-1
}

func (r *run) step() {
	r.tick(draw(r, "pause", time.Millisecond, 0, 7*time.Millisecond, time.Second, time.Minute))
	if r.chance("a day later", 60) {
		r.tick(25 * time.Hour)
	}
	if r.m.plan == "free" && r.chance("pay again", 2) {
		r.setPlan(draw(r, "plan", "business", "pro"))
	}
	from := steps
	if r.chance("of the theme", 2) {
		from = r.theme
	}
	switch what := draw(r, "what", from...); {
	case r.stepNoun(what), r.stepBranding(what), r.stepProposal(what), r.stepMedium(what), r.stepShare(what), r.stepHook(what), r.stepKey(what), r.stepEvent(what):
	case what == "repeat":
		r.repeat()
	case what == "odd":
		r.odd()
	default:
		r.setPlan(draw(r, "plan", "business", "pro", "pro", "free"))
	}
}

const unknown = "0190b0a0-0000-7000-8000-00000000dead"

// id draws one of the things, mostly the newest, or now and then one that is nowhere.
func (r *run) id(things []*thing, stranger string) string {
	if len(things) == 0 || r.chance("nowhere", 12) {
		return draw(r, "id", unknown, stranger, "nonsense", "{"+unknown+"}")
	}
	if !r.chance("an older one", 2) {
		return things[len(things)-1].id
	}
	return things[rapid.IntRange(0, len(things)-1).Draw(r.T, "id")].id
}

// as draws a key: nearly always the first.
func (r *run) as() string {
	if !r.chance("another key", 12) {
		return "{secretkey1}"
	}
	if r.chance("no key", 5) {
		return ""
	}
	return r.m.keys[rapid.IntRange(0, len(r.m.keys)-1).Draw(r.T, "key")].secret
}

// get reads an address, now and then only if it has changed.
func (r *run) get(path string, query ...string) {
	q := request{as: r.as(), method: "GET", path: path, query: query}
	at := path
	if len(query) > 0 || r.tags[path] == nil {
		at += "?" + strings.Join(query, "&")
	}
	if tags := r.tags[at]; len(tags) > 0 && r.chance("if changed", 2) {
		q.none = draw(r, "known", tags...)
	}
	r.send(q)
}

// change sends a PATCH, DELETE or move, now and then under a condition.
func (r *run) change(method, path string, body record) {
	q := request{as: r.as(), method: method, path: path}
	if body != nil {
		q = r.withBody(q, body)
	}
	r.alter(q)
}

// alter sends what changes a thing, now and then under a condition.
func (r *run) alter(q request) {
	method, path := q.method, q.path
	if method == "POST" {
		r.maybeOnce(&q)
	}
	at := subject(path)
	switch {
	case !r.chance("conditional", 3):
	case len(r.tags[at]) > 0 && !r.chance("odd condition", 5):
		q.match = draw(r, "known", r.tags[at]...)
	default:
		q.match = draw(r, "match", "*", "0 nothing")
	}
	r.send(q)
}

func (r *run) post(path string, body record) {
	q := r.withBody(request{as: r.as(), method: "POST", path: path}, body)
	r.maybeOnce(&q)
	r.send(q)
}

func (r *run) maybeOnce(q *request) {
	if r.chance("once", 3) {
		q.once = draw(r, "idempotency key", "one", "two", strings.Repeat("x", 255), strings.Repeat("x", 256))
	}
}

// withBody encodes the body, now and then one that is no JSON object.
func (r *run) withBody(q request, body record) request {
	b, err := json.Marshal(body)
	if err != nil {
		r.Fatal(err)
	}
	q.text = string(b)
	if r.chance("malformed", 40) {
		q.malformed = true
		q.text = draw(r, "text", `{"name":"a"`, `[]`, `null`, `{"name":"a","name":"a"}`, `{"name":"a"} {}`, "{\"name\":\"\xff\"}", ``)
	}
	return q
}

// repeat sends a request with an Idempotency-Key again, with another body now and then.
func (r *run) repeat() {
	if len(r.posted) == 0 {
		return
	}
	q := r.posted[rapid.IntRange(0, len(r.posted)-1).Draw(r.T, "which")]
	if r.chance("another body", 4) && q.text != "" && !q.malformed {
		q.text += " "
	}
	q.as = r.as()
	r.send(q)
}

// odd asks for what is not there.
func (r *run) odd() {
	q := draw(r, "request", request{method: "GET", path: "/api/v1/nothing"}, request{method: "PUT", path: "/api/v1/projects"},
		request{method: "GET", path: "/api/v1/projects/"}, request{method: "DELETE", path: "/api/v1/folders"},
		request{method: "GET", path: "/api/v1"}, request{method: "OPTIONS", path: "/api/v1/me"}, request{method: "POST", path: "/api/v1/me"})
	q.as = r.as()
	r.send(q)
}

// fields draws some of the fields.
func (r *run) fields(pools map[string]func() any) record {
	out := record{}
	for _, name := range sortedKeys(pools) {
		if r.chance("send "+name, 2) {
			out[name] = pools[name]()
		}
	}
	if r.chance("an unknown field", 10) {
		out["unknown"], out["created_at"] = []any{1.0}, 7.0
	}
	return out
}

// value draws a valid value, or now and then an invalid one.
func (r *run) value(label string, valid []any, bad ...any) func() any {
	return func() any {
		if r.chance("a bad "+label, 12) {
			return draw(r, label, bad...)
		}
		return draw(r, label, valid...)
	}
}

var names = []any{"Alpha", "alpha", "ALPHA beta", "Élan", "E\u0301lan", "straße", "STRASSE", "100%", "a_b", "<b>&", "日本語", " x ", `q"\`}

func (r *run) name(most int) func() any {
	return r.value("name", names, "", " \t", nil, 5.0, true, strings.Repeat("ä", most+1), "nul\x00")
}

func (r *run) text(least int) func() any {
	bad := []any{7.0, strings.Repeat("x", 2001), []any{}}
	if least > 0 {
		bad = append(bad, "")
	}
	return r.value("text", []any{"words of Alpha", nil, "ÉTÉ"}, bad...)
}

func (r *run) color() func() any {
	return r.value("color", []any{"#2563eb", "#ABCDEF", nil}, "blue", "#12345", "", 5.0)
}

func (r *run) order() func() any {
	return r.value("sort_order", []any{0.0, 1.0, -1.0, 2147483647.0}, nil, 2147483648.0, 1.5, "1")
}

// reference draws an id for a field, or null.
func (r *run) reference(things []*thing, stranger string) func() any {
	return func() any {
		if r.chance("null", 4) {
			return nil
		}
		if id := r.id(things, stranger); id != "" {
			return id
		}
		return nil
	}
}

// parameters draws some of the parameters of a list; a repeated one counts as the last.
func (r *run) parameters(pools map[string][]string) (query []string) {
	if pools == nil {
		pools = map[string][]string{}
	}
	all := map[string][]string{"limit": {"2", "1", "5", "100", "0", "101", "x"}, "offset": {"1", "0", "3", "70", "-1", ""}, "order": {"desc", "asc", "up"}}
	for name, pool := range pools {
		all[name] = pool
	}
	for _, name := range sortedKeys(all) {
		if r.chance("ask "+name, 3) {
			query = append(query, name+"="+encoded(draw(r, name, all[name]...)))
		}
	}
	if r.chance("twice", 15) {
		query = append(query, "limit=3")
	}
	return query
}

// encoded leaves symbols as they are.
func encoded(s string) string {
	if symbolForm.MatchString(s) {
		return s
	}
	return url.QueryEscape(s)
}

var queries = []string{"alpha", "É", "e\u0301", "ss", "%", "_", "ß", "語", "words", "", strings.Repeat("q", 201)}

func (r *run) later(d time.Duration) string { return stamp(r.now.Add(d)) }

func (r *run) known(kind string, count int) (out []string) {
	for i := 1; i <= count; i++ {
		if s := fmt.Sprintf("{%s%d}", kind, i); r.engines[0].knows(s) {
			out = append(out, s)
		}
	}
	return out
}
