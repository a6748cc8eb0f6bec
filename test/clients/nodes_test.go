package clients

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/npmtest"
	"sheaf.dev/internal/sheaftest/proctest"
)

// nodes compiles the nodes for n8n, and returns what does one act of them without an n8n.
func nodes(t *testing.T) func(t *testing.T, task object) object {
	t.Helper()
	into := t.TempDir()
	compile := exec.Command("node", "testdata/compile.mjs")
	compile.Env = append(os.Environ(), "SOURCE="+in(t, "n8n"), "INTO="+into, "MODULES="+filepath.Join(npmtest.Modules(t, in(t, "typescript")), "node_modules"))
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return runner([]string{"NODES=" + into}, "node", "testdata/nodes.mjs")
}

// Times of n8n's date picker have no zone: they are those of the workflow's.
func TestN8N_TimesAreInTheZoneOfTheWorkflow(t *testing.T) {
	t.Parallel()
	act := nodes(t)
	values := [][3]string{ // what is given, the zone, what is sent
		{"2026-11-17T00:00:00", "Europe/Berlin", "2026-11-16T23:00:00.000Z"},
		{"2026-07-17T00:00:00", "Europe/Berlin", "2026-07-16T22:00:00.000Z"},
		{"2026-11-17T00:00:00", "America/New_York", "2026-11-17T05:00:00.000Z"},
		{"2026-11-17T00:00:00", "Asia/Kolkata", "2026-11-16T18:30:00.000Z"},
		{"2026-11-17T00:00:00", "UTC", "2026-11-17T00:00:00.000Z"},
		{"2026-11-17 09:30", "Pacific/Auckland", "2026-11-16T20:30:00.000Z"},
		{"2026-11-17", "Europe/Berlin", "2026-11-16T23:00:00.000Z"},
		{"2026-11-17T00:00:00.25", "UTC", "2026-11-17T00:00:00.250Z"},
		{"2026-10-25T03:00:00", "Europe/Berlin", "2026-10-25T02:00:00.000Z"}, // an hour after the clocks went back
		{"2026-03-29T03:30:00", "Europe/Berlin", "2026-03-29T01:30:00.000Z"}, // half an hour after they went forward
		{"2026-11-17T00:00:00Z", "Europe/Berlin", "2026-11-17T00:00:00Z"},
		{"2026-11-17T00:00:00+05:00", "Europe/Berlin", "2026-11-17T00:00:00+05:00"},
		{"2026-06-31T00:00:00", "UTC", "2026-06-31T00:00:00"},
		{"soon", "UTC", "soon"},
		{"", "UTC", ""},
	}
	var given []any
	for _, v := range values {
		given = append(given, []string{v[0], v[1]})
	}
	got := act(t, object{"act": "instants", "values": given})["returned"].([]any)
	for i, v := range values {
		if got[i] != v[2] {
			t.Errorf("%s in %s is %v, want %s", v[0], v[1], got[i], v[2])
		}
	}

	p := proctest.New(t)
	key := p.Workspace(t, "times")
	server := p.Start(t)
	node := func(parameters object) object {
		t.Helper()
		got := act(t, object{"act": "execute", "server": server.URL, "key": key, "zone": "Europe/Berlin", "parameters": parameters})
		if got["error"] != nil {
			t.Fatalf("%v: %v", parameters, got["error"])
		}
		return got["returned"].([]any)[0].(object)
	}
	document := node(object{"resource": "document", "operation": "create", "title": "x"})
	share := node(object{"resource": "share", "operation": "create", "resource_type": "document", "resource_id": document["id"], "fields": object{"expires_at": "2099-11-17T00:00:00"}})
	if at, _ := share["expires_at"].(string); !strings.HasPrefix(at, "2099-11-16T23:00:00") {
		t.Errorf("the share ends at %v", at)
	}
	if found := node(object{"resource": "document", "operation": "getAll", "filters": object{"updated_since": "2020-11-17T00:00:00"}}); found["id"] != document["id"] {
		t.Errorf("found %v", found)
	}
	if found := node(object{"resource": "event", "operation": "getAll", "filters": object{"since": "2020-11-17T00:00:00"}}); found["id"] == nil {
		t.Errorf("found %v", found)
	}
}

// D160, D161, D162: the nodes create documents at a place of the tree, change it, move them and read the tree.
func TestN8N_TheTreeOfAProject(t *testing.T) {
	t.Parallel()
	act := nodes(t)
	p := proctest.New(t)
	key := p.Workspace(t, "tree")
	server := p.Start(t)
	node := func(parameters object) (out []object) {
		t.Helper()
		got := act(t, object{"act": "execute", "server": server.URL, "key": key, "zone": "UTC", "parameters": parameters})
		if got["error"] != nil {
			t.Fatalf("%v: %v", parameters, got["error"])
		}
		for _, item := range got["returned"].([]any) {
			out = append(out, item.(object))
		}
		return out
	}
	project := node(object{"resource": "project", "operation": "create", "name": "Handbook"})[0]["id"]
	create := func(title string, fields object) any {
		t.Helper()
		fields["project_id"] = project
		return node(object{"resource": "document", "operation": "create", "title": title, "fields": fields})[0]["id"]
	}
	want := func(want ...string) {
		t.Helper()
		var got []string
		for _, entry := range node(object{"resource": "project", "operation": "tree", "id": project}) {
			got = append(got, fmt.Sprint(entry["depth"], " ", entry["title"]))
		}
		if !slices.Equal(got, want) {
			t.Errorf("the tree is %q, want %q", got, want)
		}
	}
	move := func(id any, place object) {
		t.Helper()
		node(object{"resource": "document", "operation": "move", "id": id, "fields": place})
	}
	top := create("top", object{})
	first, second := create("first", object{"parent_id": top}), create("second", object{"parent_id": top})
	zeroth := create("zeroth", object{"sort_order": 0})
	want("1 zeroth", "1 top", "2 first", "2 second")
	move(second, object{"before_id": first})
	move(first, object{"parent_id": ""})
	want("1 zeroth", "1 top", "2 second", "1 first")
	node(object{"resource": "document", "operation": "update", "id": zeroth, "fields": object{"parent_id": first}})
	want("1 top", "2 second", "1 first", "2 zeroth")
	level := node(object{"resource": "document", "operation": "getAll", "filters": object{"project_id": project, "parent_id": "null", "sort": "sort_order"}})
	if len(level) != 2 || level[0]["title"] != "top" || level[1]["title"] != "first" {
		t.Errorf("the top level is %v", level)
	}
}

// D82: the nodes read, compare and restore versions. A change with the ETag of an earlier reading is refused, and changes
// nothing.
func TestN8N_VersionsAndETags(t *testing.T) {
	t.Parallel()
	act := nodes(t)
	p := proctest.New(t)
	key := p.Workspace(t, "versions")
	server := p.Start(t)
	try := func(operation string, parameters object) object {
		t.Helper()
		parameters["resource"], parameters["operation"] = "document", operation
		return act(t, object{"act": "execute", "server": server.URL, "key": key, "parameters": parameters})
	}
	do := func(operation string, parameters object) []any {
		t.Helper()
		got := try(operation, parameters)
		if got["error"] != nil {
			t.Fatalf("%s: %v", operation, got["error"])
		}
		return got["returned"].([]any)
	}
	made := do("create", object{"title": "First", "fields": object{"content": "one\n"}})[0].(object)
	id, old := made["id"], made["etag"]
	if old == nil {
		t.Fatalf("made %v", made)
	}
	changed := do("update", object{"id": id, "etag": old, "fields": object{"title": "Second", "content": "two\n"}})[0].(object)
	if changed["etag"] == old {
		t.Errorf("changed %v", changed)
	}
	for _, operation := range []string{"update", "delete", "move", "restoreVersion"} {
		if got := try(operation, object{"id": id, "etag": old, "version": 1, "fields": object{"parent_id": ""}})["error"]; !strings.HasPrefix(fmt.Sprint(got), "412 ") {
			t.Errorf("%s with the first ETag: %v, want 412", operation, got)
		}
	}
	if list := do("versions", object{"id": id}); len(list) != 2 || list[0].(object)["title"] != "Second" {
		t.Errorf("versions %v", list)
	}
	if v := do("version", object{"id": id, "version": 1})[0].(object); v["content"] != "one\n" {
		t.Errorf("version 1 is %v", v)
	}
	for _, to := range []int{0, 2} {
		if v := do("compare", object{"id": id, "version": 1, "toVersion": to})[0].(object); !strings.Contains(text(v["diff"]), "-one\n+two\n") {
			t.Errorf("the difference is %v", v)
		}
	}
	if v := do("restoreVersion", object{"id": id, "version": 1, "etag": changed["etag"]})[0].(object); v["title"] != "First" {
		t.Errorf("restored %v", v)
	}
	if got := try("version", object{"id": id, "version": 9})["error"]; !strings.HasPrefix(fmt.Sprint(got), "404 ") {
		t.Errorf("version 9: %v", got)
	}
}

// D131: the trigger subscribes to what its filters name, and changes the subscription when they change.
func TestN8N_TheTriggerHasFilters(t *testing.T) {
	t.Parallel()
	act := nodes(t)
	p := proctest.New(t)
	key := p.Workspace(t, "filters")
	server := p.Start(t)
	var project, folder struct{ ID string }
	if status, err := server.Call(key, http.MethodPost, "/api/v1/projects", object{"name": "x"}, &project); err != nil || status != http.StatusCreated {
		t.Fatal(status, err)
	}
	if status, err := server.Call(key, http.MethodPost, "/api/v1/folders", object{"name": "x", "entity_type": "project"}, &folder); err != nil || status != http.StatusCreated {
		t.Fatal(status, err)
	}
	kept := any(object{})
	filter := func(do string, filter object) string {
		t.Helper()
		got := act(t, object{"act": do, "server": server.URL, "key": key, "url": "https://n8n.example.com/hook", "kept": kept,
			"parameters": object{"events": []string{"document.created"}, "filter": filter}})
		if got["error"] != nil {
			t.Fatalf("%s: %v", do, got["error"])
		}
		kept = got["kept"]
		var found struct {
			Subscription struct {
				Filter struct {
					Projects []string `json:"project_ids"`
					Folders  []string `json:"folder_ids"`
				}
			}
		}
		if status, err := server.Call(key, http.MethodGet, "/api/webhooks/subscriptions/"+text(kept.(object)["subscriptionId"]), nil, &found); err != nil || status != http.StatusOK {
			t.Fatal(status, err)
		}
		f := found.Subscription.Filter
		return fmt.Sprint(f.Projects, f.Folders)
	}
	if got, want := filter("create", object{"project_ids": " " + project.ID + ", ", "folder_ids": ""}), fmt.Sprint([]string{project.ID}, []string{}); got != want {
		t.Errorf("the filter is %s, want %s", got, want)
	}
	if got, want := filter("checkExists", object{"folder_ids": folder.ID}), fmt.Sprint([]string{}, []string{folder.ID}); got != want {
		t.Errorf("the changed filter is %s, want %s", got, want)
	}
	if got, want := filter("checkExists", object{}), "[] []"; got != want {
		t.Errorf("without filters it is %s, want %s", got, want)
	}
}

// D167: the credentials' test accepts a restricted key, and refuses a wrong one. With the restricted key the nodes read and write what it
// sees, and report everything else as NOT_FOUND.
func TestN8N_ARestrictedKey(t *testing.T) {
	t.Parallel()
	act := nodes(t)
	p := proctest.New(t)
	whole := p.Workspace(t, "restricted")
	server := p.Start(t)
	do := func(key string, parameters object) object {
		t.Helper()
		return act(t, object{"act": "execute", "server": server.URL, "key": key, "parameters": parameters})
	}
	made := func(got object) string {
		t.Helper()
		if got["error"] != nil {
			t.Fatal(got["error"])
		}
		id, _ := got["returned"].([]any)[0].(object)["id"].(string)
		return id
	}
	inside := made(do(whole, object{"resource": "project", "operation": "create", "name": "Inside"}))
	outside := made(do(whole, object{"resource": "project", "operation": "create", "name": "Outside"}))
	var key struct{ Key string }
	status, err := server.Call(whole, http.MethodPost, "/api/v1/api-keys", object{"name": "n8n",
		"scopes": []string{"projects:read", "documents:read", "documents:write"}, "restricted_to": object{"project_ids": []string{inside}}}, &key)
	if err != nil || status != http.StatusCreated {
		t.Fatal(status, err)
	}
	for each, want := range map[string]float64{key.Key: http.StatusOK, key.Key + "x": http.StatusUnauthorized} {
		if got := act(t, object{"act": "test", "server": server.URL, "key": each}); got["returned"] != want {
			t.Errorf("the credentials' test returns %v, want %v", got, want)
		}
	}
	made(do(key.Key, object{"resource": "document", "operation": "create", "title": "x", "fields": object{"project_id": inside}}))
	for _, parameters := range []object{
		{"resource": "document", "operation": "create", "title": "x", "fields": object{"project_id": outside}},
		{"resource": "project", "operation": "get", "id": outside},
	} {
		if got := do(key.Key, parameters)["error"]; !strings.HasPrefix(fmt.Sprint(got), "404 ") {
			t.Errorf("%v: %v, want 404", parameters, got)
		}
	}
}

// The trigger loses nothing that Sheaf held: not while n8n was away, not between unpublishing and publishing, and not by an error.
func TestN8N_TheTriggerKeepsWhatSheafHeld(t *testing.T) {
	t.Parallel()
	act := nodes(t)
	ca, err := sheaftest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := ca.WriteFile(roots); err != nil {
		t.Fatal(err)
	}
	hooks, err := sheaftest.Receive(ca)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hooks.Close)
	p := proctest.New(t)
	s := &site{program: p}
	key := p.Workspace(t, "trigger")
	s.Server = p.Start(t, "--webhook-allow-cidr", "127.0.0.0/8,::1/128", "--webhook-ca-file", roots)

	kept := object{}
	asked := object{"server": s.URL, "key": key, "url": hooks.URL, "parameters": object{"events": []string{"document.created"}}}
	trigger := func(name string, change object) object {
		t.Helper()
		task := object{"act": name, "kept": kept}
		for _, from := range []object{asked, change} {
			for k, v := range from {
				task[k] = v
			}
		}
		got := act(t, task)
		kept = got["kept"].(object)
		return got
	}
	exists := func(want bool, change object) {
		t.Helper()
		if got := trigger("checkExists", change); got["returned"] != want || got["error"] != nil {
			t.Fatalf("checkExists: %v, want %v", got, want)
		}
	}
	subscription := func() object {
		t.Helper()
		return s.read(t, key, "/api/webhooks/subscriptions/"+kept["subscriptionId"].(string))["subscription"].(object)
	}
	made := 0
	write := func(title string) {
		t.Helper()
		s.make(t, key, "/api/v1/documents", object{"title": title})
		made++
	}
	arrived := func() {
		t.Helper()
		hooks.Await(t.Context(), made)
		if got := subscription(); got["active"] != true || got["held_count"] != 0.0 {
			t.Errorf("the subscription is %v", got)
		}
	}

	create := func(change object) {
		t.Helper()
		if got := trigger("create", change); got["returned"] != true || got["error"] != nil {
			t.Fatalf("create: %v", got)
		}
	}

	exists(false, nil)
	create(nil)
	first := kept["subscriptionId"]
	write("published")
	arrived()
	exists(true, nil)

	// As after ten failures: it was deactivated, and Sheaf held what came.
	var patched object
	if status, err := s.Call(key, http.MethodPatch, "/api/webhooks/subscriptions/"+first.(string), object{"active": false}, &patched); err != nil || status != http.StatusOK {
		t.Fatalf("deactivate: %d, %v", status, err)
	}
	write("while n8n was away")
	exists(true, nil)
	arrived()

	trigger("delete", nil)
	if got := subscription(); got["active"] != false {
		t.Errorf("unpublished, the subscription is %v", got)
	}
	write("while it was unpublished")
	exists(true, nil)
	arrived()

	// Other events are a change of the same subscription.
	exists(true, object{"parameters": object{"events": []string{"document.created", "project.created"}}})
	if got := subscription()["events"].([]any); len(got) != 2 {
		t.Errorf("it is for %v", got)
	}
	exists(true, nil)

	// No error but 404 makes it forget the subscription.
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"error":"busy","code":"UNAVAILABLE"}`))
	}))
	t.Cleanup(busy.Close)
	for _, wrong := range []object{{"server": busy.URL}, {"key": "shf_wrong"}, {"server": "http://127.0.0.1:1"}} {
		for _, name := range []string{"checkExists", "delete"} {
			if got := trigger(name, wrong); got["error"] == nil || kept["subscriptionId"] != first {
				t.Errorf("%s with %v: %v", name, wrong, got)
			}
		}
	}
	exists(true, nil)

	// A test in the editor has a subscription of its own, which ends with it.
	test := object{"mode": "manual", "url": hooks.URL + "?test"}
	exists(false, test)
	create(test)
	if total := s.read(t, key, "/api/webhooks/subscriptions")["total"]; total != 2.0 || kept["subscriptionId"] != first {
		t.Errorf("during a test there are %v subscriptions, and %v is kept", total, kept)
	}
	trigger("delete", object{"mode": "internal", "url": hooks.URL + "?test"})
	if total := s.read(t, key, "/api/webhooks/subscriptions")["total"]; total != 1.0 || subscription()["active"] != true {
		t.Errorf("after a test there are %v subscriptions", total)
	}

	if status, err := s.Call(key, http.MethodDelete, "/api/webhooks/subscriptions/"+first.(string), nil, nil); err != nil || status != http.StatusNoContent {
		t.Fatalf("delete: %d, %v", status, err)
	}
	exists(false, nil)
	if kept["subscriptionId"] != nil {
		t.Errorf("it still keeps %v", kept)
	}
	create(nil)
	exists(true, nil)
}
