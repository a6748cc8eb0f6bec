package httpapi_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

const batchPath = "/api/v1/batch"

// run sends the operations as a batch.
func run(c *apitest.Client, operations []fields, headers ...string) *apitest.Response {
	return c.POST(batchPath, fields{"operations": operations}, headers...)
}

// results returns the result of each operation of a batch that was done.
func results(t testing.TB, r *apitest.Response) (out []fields) {
	t.Helper()
	for _, v := range r.Want(t, 200).JSON["results"].([]any) {
		out = append(out, v.(fields))
	}
	return out
}

// wantRefusedAt checks that the operation of that index is refused.
func wantRefusedAt(t testing.TB, r *apitest.Response, index, status int, code string, parts ...string) {
	t.Helper()
	r.WantError(t, status, code, append(parts, fmt.Sprintf("operations[%d]: ", index))...)
	if r.JSON["index"] != float64(index) {
		t.Errorf("index is %v, want %d", r.JSON["index"], index)
	}
}

// alone makes a request for each operation, one after the other, and returns the answers that a batch
// of them would get.
func alone(t testing.TB, c *apitest.Client, operations []fields) (out []fields) {
	t.Helper()
	for _, o := range operations {
		list := map[any]string{"project": projects, "folder": folders, "document": documents, "share": "/api/v1/shares"}[o["resource_type"]]
		body, _ := o["body"].(fields)
		id := madeAlone(o["resource_id"], out)
		body = maps.Clone(body)
		for name, v := range body {
			if text, is := v.(string); is && strings.HasPrefix(text, "$") {
				body[name] = madeAlone(text, out)
			}
		}
		var r *apitest.Response
		switch o["action"] {
		case "create":
			r = c.POST(list, body).Want(t, 201)
		case "update":
			r = c.PATCH(at(list, id), body).Want(t, 200)
		case "move":
			if r = c.POST(at(list, id)+"/move", body); o["resource_type"] == "document" {
				r = c.PATCH(at(list, id), body)
			}
			r.Want(t, 200)
		case "delete":
			r = c.DELETE(at(list, id)).Want(t, 204)
		case "restore":
			r = c.POST(at(list, id)+"/restore", nil).Want(t, 200)
		}
		result := fields{"status": float64(r.Status), "resource_type": o["resource_type"], "resource_id": id, "etag": nil, "body": nil}
		if r.Status != 204 {
			result["resource_id"], result["etag"], result["body"] = r.Text(t, "id"), r.Header.Get("Etag"), r.JSON
		}
		out = append(out, result)
	}
	return out
}

func madeAlone(id any, so []fields) string {
	text, _ := id.(string)
	if digits, made := strings.CutPrefix(text, "$"); made {
		n, _ := strconv.Atoi(digits)
		return so[n]["resource_id"].(string)
	}
	return text
}

var (
	someID   = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	someTag  = regexp.MustCompile(`-[0-9a-f]{20}\\"`)
	someLink = regexp.MustCompile(`/s/[0-9A-Za-z]{22}`)
)

// plain returns v as JSON in a form that is the same in two workspaces: each id becomes the number of its
// first appearance.
func plain(v any) string {
	names := map[string]string{}
	text := someID.ReplaceAllStringFunc(jsonOf(v), func(id string) string {
		if names[id] == "" {
			names[id] = fmt.Sprint("id", len(names))
		}
		return names[id]
	})
	return someLink.ReplaceAllString(someTag.ReplaceAllString(text, `"`), "/s/…")
}

// everyKind are operations of every kind. Some need what others create.
func everyKind() []fields {
	return []fields{
		{"action": "create", "resource_type": "folder", "body": fields{"name": "Products", "entity_type": "project"}},
		{"action": "create", "resource_type": "folder", "body": fields{"name": "Old", "entity_type": "project", "parent_id": "$0"}},
		{"action": "create", "resource_type": "project", "body": fields{"name": "Handbook", "folder_id": "$1", "metadata": fields{"a": "1", "b": "2"}}},
		{"action": "create", "resource_type": "document", "body": fields{"title": "Start", "project_id": "$2", "content": "# Hello"}},
		{"action": "update", "resource_type": "document", "resource_id": "$3", "body": fields{"content": "# Hello again", "title": "Begin"}},
		{"action": "update", "resource_type": "project", "resource_id": "$2", "body": fields{"name": "Guide", "metadata": fields{"a": nil}}},
		{"action": "update", "resource_type": "project", "resource_id": "$2", "body": fields{"name": "Guide"}}, // changes nothing
		{"action": "create", "resource_type": "share", "body": fields{"resource_type": "document", "resource_id": "$3"}},
		{"action": "create", "resource_type": "share", "body": fields{"resource_type": "project", "resource_id": "$2", "listed": true}},
		{"action": "delete", "resource_type": "share", "resource_id": "$7"},
		{"action": "move", "resource_type": "project", "resource_id": "$2", "body": fields{"folder_id": "$0"}},
		{"action": "move", "resource_type": "folder", "resource_id": "$1", "body": fields{"parent_id": nil}},
		{"action": "update", "resource_type": "folder", "resource_id": "$1", "body": fields{"color": "#123456", "sort_order": 7}},
		{"action": "create", "resource_type": "document", "body": fields{"title": "Loose"}},
		{"action": "move", "resource_type": "document", "resource_id": "$13", "body": fields{"project_id": "$2"}},
		{"action": "delete", "resource_type": "document", "resource_id": "$13"},
		{"action": "restore", "resource_type": "document", "resource_id": "$13"},
		{"action": "delete", "resource_type": "project", "resource_id": "$2"},
		{"action": "delete", "resource_type": "folder", "resource_id": "$0"},
	}
}

// D130: each operation does, tells and answers what a request of its own would.
func TestBatch_EachIsAsIfAlone(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		one, all := a.Workspace(sheaf.Business).Client(""), a.Workspace(sheaf.Business).Client("")
		var want, got []fields
		events1 := emitted(t, one, func() { want = alone(t, one, everyKind()) })
		events2 := emitted(t, all, func() { got = results(t, run(all, everyKind())) })
		for i := range want {
			if w, g := plain(want[:i+1]), plain(got[:i+1]); w != g {
				t.Fatalf("operation %d:\nalone    %s\nin batch %s", i, w, g)
			}
		}
		if w, g := plain(events1), plain(events2); w != g {
			t.Errorf("the events differ:\nalone    %s\nin batch %s", w, g)
		}
		if w, g := plain(everything(t, one)), plain(everything(t, all)); w != g {
			t.Errorf("what is left differs:\nalone    %s\nin batch %s", w, g)
		}
		wantSound(t, a)
	})
}

// D130: if one operation is bad, nothing is done. The answer names the operation, and has the error that
// its own request would have got.
func TestBatch_OneBadOperationLeavesNothing(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		c := ws.Client("")
		project := create(t, c, projects, fields{"name": "p", "external_id": "taken"})
		document := create(t, c, documents, fields{"title": "d"})
		folder := create(t, c, folders, fields{"name": "f", "entity_type": "project"})
		good := fields{"action": "create", "resource_type": "project", "body": fields{"name": "new"}}
		before := everything(t, c)
		for _, test := range []struct {
			bad    fields
			status int
			code   string
			part   string
		}{
			{fields{"action": "create", "resource_type": "project", "body": fields{"name": " "}}, 400, "VALIDATION_ERROR", "name must not be empty"},
			{fields{"action": "create", "resource_type": "project"}, 400, "VALIDATION_ERROR", "name is required"},
			{fields{"action": "create", "resource_type": "project", "body": fields{"name": 7}}, 400, "VALIDATION_ERROR", "`name` must be a string"},
			{fields{"action": "create", "resource_type": "project", "body": []int{}}, 400, "VALIDATION_ERROR", "`body` must be an object"},
			{fields{"action": "create", "resource_type": "project", "resource_id": project, "body": fields{"name": "n"}}, 400, "VALIDATION_ERROR", "leave it out"},
			{fields{"action": "create", "resource_type": "project", "if_match": "*", "body": fields{"name": "n"}}, 400, "VALIDATION_ERROR", "if_match"},
			{fields{"action": "create", "resource_type": "branding", "body": fields{"name": "n"}}, 400, "VALIDATION_ERROR", "resource_type"},
			{fields{"action": "purge", "resource_type": "document", "resource_id": document}, 400, "VALIDATION_ERROR", "create, update, move, delete, restore"},
			{fields{"action": "update", "resource_type": "share", "resource_id": document}, 400, "VALIDATION_ERROR", "create, delete"},
			{fields{"resource_type": "document", "resource_id": document}, 400, "VALIDATION_ERROR", "action"},
			{fields{"action": "update", "resource_type": "project", "resource_id": project}, 400, "VALIDATION_ERROR", "nothing to change"},
			{fields{"action": "update", "resource_type": "project", "body": fields{"name": "n"}}, 400, "VALIDATION_ERROR", "resource_id is required"},
			{fields{"action": "move", "resource_type": "project", "resource_id": project}, 400, "VALIDATION_ERROR", "folder_id is required"},
			{fields{"action": "move", "resource_type": "folder", "resource_id": folder, "body": fields{}}, 400, "VALIDATION_ERROR", "parent_id is required"},
			{fields{"action": "move", "resource_type": "document", "resource_id": document}, 400, "VALIDATION_ERROR", "project_id is required"},
			{fields{"action": "move", "resource_type": "folder", "resource_id": folder, "body": fields{"parent_id": folder}}, 400, "VALIDATION_ERROR", "itself"},
			{fields{"action": "delete", "resource_type": "document", "resource_id": "no uuid"}, 400, "VALIDATION_ERROR", "resource_id must be a UUID"},
			{fields{"action": "delete", "resource_type": "document", "resource_id": nowhereID}, 404, "NOT_FOUND", "document"},
			{fields{"action": "delete", "resource_type": "folder", "resource_id": nowhereID}, 404, "NOT_FOUND", "folder"},
			{fields{"action": "delete", "resource_type": "project", "resource_id": nowhereID}, 404, "NOT_FOUND", "project"},
			{fields{"action": "move", "resource_type": "project", "resource_id": project, "body": fields{"folder_id": nowhereID}}, 404, "NOT_FOUND", "folder"},
			{fields{"action": "delete", "resource_type": "document", "resource_id": document, "if_match": `"9-x"`}, 412, "PRECONDITION_FAILED", "If-Match"},
			{fields{"action": "delete", "resource_type": "project", "resource_id": project, "if_match": `"9-x"`}, 412, "PRECONDITION_FAILED", "If-Match"},
			{fields{"action": "delete", "resource_type": "folder", "resource_id": folder, "if_match": `"9-x"`}, 412, "PRECONDITION_FAILED", "If-Match"},
			{fields{"action": "create", "resource_type": "project", "body": fields{"name": "n", "external_id": "taken"}}, 409, "CONFLICT", project},
			{fields{"action": "create", "resource_type": "folder", "body": fields{"name": "n", "entity_type": "branding"}}, 403, "PLAN_REQUIRED", "Business"},
			{fields{"action": "create", "resource_type": "share", "body": fields{"resource_type": "document", "resource_id": document, "password": "secret"}}, 400, "VALIDATION_ERROR", "password"},
			{fields{"action": "move", "resource_type": "document", "resource_id": document, "body": fields{"project_id": "$1"}}, 400, "VALIDATION_ERROR", "no earlier operation"},
			{fields{"action": "move", "resource_type": "document", "resource_id": document, "body": fields{"project_id": "$01"}}, 400, "VALIDATION_ERROR", "UUID"},
			{fields{"action": "move", "resource_type": "project", "resource_id": project, "body": fields{"folder_id": "$0"}}, 400, "VALIDATION_ERROR", "does not create a folder"},
		} {
			wantRefusedAt(t, run(c, []fields{good, test.bad, good}), 1, test.status, test.code, test.part)
		}
		for _, body := range []string{`{}`, `{"operations":[]}`, `{"operations":null}`, `{"operations":{}}`, `{"operations":[1]}`, `{"operations":[null]}`,
			`{"operations":[` + strings.TrimSuffix(strings.Repeat(`{},`, sheaf.MaxBatch+1), ",") + `]}`} {
			if r := c.POST(batchPath, body).WantError(t, 400, "VALIDATION_ERROR", "operations"); r.JSON["index"] != nil {
				t.Errorf("%.40s: an index of %v", body, r.JSON["index"])
			}
		}
		wantJSON(t, "after all refusals", everything(t, c), before)
		wantSound(t, a)
	})
}

// D130: each operation needs the scope that it would need alone.
func TestBatch_ScopesByOperation(t *testing.T) {
	a := apitest.SQLite(t)
	ws := a.Workspace(sheaf.Pro)
	document := create(t, ws.Client(""), documents, fields{"title": "d"})
	project := fields{"action": "create", "resource_type": "project", "body": fields{"name": "p"}}
	folder := fields{"action": "create", "resource_type": "folder", "body": fields{"name": "f", "entity_type": "project"}}
	made := fields{"action": "create", "resource_type": "document", "body": fields{"title": "d"}}
	share := fields{"action": "create", "resource_type": "share", "body": fields{"resource_type": "document", "resource_id": document}}

	docs := ws.Client(ws.Key(sheaf.DocumentsWrite))
	results(t, run(docs, []fields{made, made}))
	for _, other := range []fields{project, folder} {
		r := run(docs, []fields{made, other})
		wantRefusedAt(t, r, 1, 403, "FORBIDDEN", "projects:write")
		if h := r.Header.Get("Www-Authenticate"); !strings.Contains(h, `scope="projects:write"`) {
			t.Errorf("WWW-Authenticate is %q", h)
		}
	}
	wantRefusedAt(t, run(ws.Client(ws.Key(sheaf.ProjectsWrite)), []fields{project, folder, made}), 2, 403, "FORBIDDEN", "documents:write")
	wantRefusedAt(t, run(docs, []fields{share}), 0, 403, "FORBIDDEN", "shares:write")
	// What a share shows, its maker must be allowed to read.
	wantRefusedAt(t, run(ws.Client(ws.Key(sheaf.SharesWrite, sheaf.MediaRead)), []fields{share}), 0, 403, "FORBIDDEN", "documents:read")
	results(t, run(ws.Client(ws.Key(sheaf.SharesWrite, sheaf.MediaRead, sheaf.DocumentsRead)), []fields{share}))
	if n := len(ws.Client("").GET(projects).IDs(t)); n != 0 {
		t.Errorf("refused batches made %d projects", n)
	}
}

// D54, D130: a batch counts as one request for each ten operations begun.
func TestBatch_CountsForEachTen(t *testing.T) {
	a := apitest.SQLite(t, apitest.PlanLimits)
	a.Clock.Set(morning)
	ws := a.Workspace(sheaf.Pro)
	c := ws.Client("")
	of := func(n int) []fields {
		return slices.Repeat([]fields{{"action": "create", "resource_type": "document", "body": fields{"title": "d"}}}, n)
	}
	left := 100
	for _, test := range []struct{ operations, cost int }{{1, 1}, {10, 1}, {11, 2}, {100, 10}, {91, 10}} {
		left -= test.cost
		run(c, of(test.operations)).Want(t, 200).WantLimit(t, 100, left)
	}
	// One that is refused for its size, or for an operation, counts as one or as all of it.
	c.POST(batchPath, `{"operations":[]}`).Want(t, 400).WantLimit(t, 100, left-1)
	left -= 11
	run(c, append(of(99), fields{"action": "no"})).Want(t, 400).WantLimit(t, 100, left)
	for ; left > 5; left-- {
		c.GET(me).Want(t, 200)
	}
	a.Clock.Advance(10 * time.Second)
	// Five requests are left. The batch takes one of them, and is told when all of it would be admitted.
	r := run(c, of(100)).WantError(t, 429, "RATE_LIMITED", "51 seconds", "counts as 10")
	if h := r.Header; h.Get("Retry-After") != "51" || h.Get("RateLimit-Remaining") != "4" {
		t.Errorf("Retry-After %s, remaining %s", h.Get("Retry-After"), h.Get("RateLimit-Remaining"))
	}
	run(c, of(20)).Want(t, 200).WantLimit(t, 100, 2)
	a.Clock.Advance(51 * time.Second)
	run(c, of(100)).Want(t, 200)
	if n := int(c.GET(documents + "?limit=1").JSON["total"].(float64)); n != 1+10+11+100+91+20+100 {
		t.Errorf("%d documents", n)
	}
	// More than there is in a minute is no matter of waiting.
	few := apitest.SQLite(t, func(c *apitest.Config) { c.RateLimit = func(sheaf.Plan) int { return 3 } })
	run(few.Workspace(sheaf.Pro).Client(""), of(31)).WantError(t, 400, "VALIDATION_ERROR", "counts as 4")
}

// D57, D130: of any number of the same batch at once one is done, and all are answered with it.
func TestBatch_Repeated(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		rs := apitest.Together(64, func(int) *apitest.Response { return run(c, everyKind(), "Idempotency-Key: k") })
		first := 0
		for _, r := range rs {
			wantBody(t, r.Want(t, 200), string(rs[0].Body))
			if r.Header.Get("Idempotent-Replayed") == "" {
				first++
			}
		}
		if n := len(wholeList(t, c, events, 100)); first != 1 || n != len(typesOf(emittedBy(t, a))) {
			t.Errorf("%d did something, and there are %d events", first, n)
		}
		run(c, everyKind()[:1], "Idempotency-Key: k").WantError(t, 409, "IDEMPOTENCY_CONFLICT")
		// What was refused has not used its key.
		bad := []fields{everyKind()[0], {"action": "delete", "resource_type": "project", "resource_id": nowhereID}}
		wantRefusedAt(t, run(c, bad, "Idempotency-Key: other"), 1, 404, "NOT_FOUND")
		results(t, run(c, bad[:1], "Idempotency-Key: other"))
		wantSound(t, a)
	})
}

// emittedBy returns the events that the operations of everyKind emit, once.
func emittedBy(t testing.TB, a *apitest.API) []fields {
	c := a.Workspace(sheaf.Business).Client("")
	return emitted(t, c, func() { results(t, run(c, everyKind())) })
}

// D130: batches at once on the same records: each is done whole or not at all, and no count is lost.
func TestBatch_ManyAtOnce(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		from, to := create(t, c, projects, fields{"name": "from"}), create(t, c, projects, fields{"name": "to"})
		pairs := make([][2]string, 16)
		for i := range pairs {
			for j := range 2 {
				pairs[i][j] = create(t, c, documents, fields{"title": fmt.Sprint(i, j), "project_id": from})
			}
		}
		// Four clients want each pair. One of them moves both documents, and the others find them changed.
		rs := apitest.Together(64, func(i int) *apitest.Response {
			pair := pairs[i%len(pairs)]
			if i/len(pairs)%2 == 1 { // in the other order
				pair[0], pair[1] = pair[1], pair[0]
			}
			move := func(id string) fields {
				return fields{"action": "move", "resource_type": "document", "resource_id": id, "if_match": `"1-x"`, "body": fields{"project_id": to}}
			}
			return run(c, []fields{move(pair[0]), {"action": "create", "resource_type": "document", "body": fields{"title": "made"}}, move(pair[1])})
		})
		wantJSON(t, "statuses", apitest.Statuses(rs), map[int]int{200: 16, 412: 48})
		for id, want := range map[string]float64{from: 0, to: 32} {
			if got := c.GET(at(projects, id)).JSON["document_count"]; got != want {
				t.Errorf("document_count is %v, want %v", got, want)
			}
		}
		if n := c.GET(documents + "?limit=1").JSON["total"]; n != 48.0 {
			t.Errorf("%v documents", n)
		}
		wantSound(t, a)
	})
}

// D130: a batch may delete records that change many others. Up to a bound, all of it is done in the one
// transaction; beyond the bound, it is refused.
func TestBatch_Cascades(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c, _ := hollow(t, a)
		small, tree, filed := fileAway(t, c, 1) // three folders, three projects: six records
		large, _, _ := fileAway(t, c, 2)
		project := create(t, c, projects, fields{"name": "p"})
		for i := range 7 {
			create(t, c, documents, fields{"title": fmt.Sprint(i), "project_id": project})
		}
		remove := func(noun, id string) fields {
			return fields{"action": "delete", "resource_type": noun, "resource_id": id}
		}
		before := everything(t, c)
		wantRefusedAt(t, run(c, []fields{remove("folder", small), remove("folder", large)}), 1, 409, "CONFLICT", "at most 6", "/api/v1/folders/"+large)
		wantRefusedAt(t, run(c, []fields{remove("project", project)}), 0, 409, "CONFLICT", "/api/v1/projects/"+project)
		wantJSON(t, "after the refusals", everything(t, c), before)
		es := emitted(t, c, func() { results(t, run(c, []fields{remove("folder", small)})) })
		wantEvents(t, "emitted", es, map[string][]string{"project.updated": filed, "folder.deleted": tree})
		wantSound(t, a)
	}, chunky(func() { t.Error("a batch went in chunks") }))
}
