package nodes

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sheaf.dev/internal/sheaftest/pgtest"
)

// visit is one request with a restricted key, or of a restricted person in the console.
type visit struct {
	method, path string
	body         any        // of the API
	person       bool       // in the console
	form         url.Values // of the console
}

// D168, D169, D172: a request that begins after the answer to a change of rights is judged by the new rights, on every node.
// One client moves a project out of the folder of a restriction and back, restricts a person to another folder and back, lifts
// that restriction, and at last revokes the key and removes the person, through one node or the other. Meanwhile 64 clients read
// and write through both nodes, half of them with the restricted key, half of them as the person.
func TestRestriction_ChangesAreInForceOnEveryNode(t *testing.T) {
	t.Parallel()
	s := newSite(t, pgtest.URL(t))
	nodes := []*node{s.start(), s.start()}
	made := func(path string, body map[string]any) string {
		return nodes[0].must(201, "POST", path, body).text("id")
	}
	folder := made("/api/v1/folders", map[string]any{"name": "inside", "entity_type": "project"})
	other := made("/api/v1/folders", map[string]any{"name": "elsewhere", "entity_type": "project"})
	project := made("/api/v1/projects", map[string]any{"name": "moved", "folder_id": folder})
	document := made("/api/v1/documents", map[string]any{"title": "canary", "project_id": project, "content": "canary"})
	key := nodes[0].must(201, "POST", "/api/v1/api-keys", map[string]any{"name": "restricted", "restricted_to": map[string]any{"folder_ids": []string{folder}},
		"scopes": []string{"projects:read", "documents:read", "documents:write", "events:read"}})
	owner := s.join(nodes[0], "ada@example.com", "--role", "owner")
	editor := s.join(nodes[1], "dan@example.com", "--role", "editor", "--folder", folder)

	visits := []visit{
		{method: "GET", path: "/api/v1/projects/" + project}, {method: "GET", path: "/api/v1/documents/" + document},
		{method: "GET", path: "/api/v1/projects/" + project + "/tree"}, {method: "GET", path: "/api/v1/documents/" + document + "/content"},
		{method: "PATCH", path: "/api/v1/documents/" + document, body: map[string]any{"description": "changed"}},
		{method: "POST", path: "/api/v1/documents", body: map[string]any{"title": "more", "project_id": project}},
		{method: "GET", path: "/api/v1/documents?limit=1"}, {method: "GET", path: "/api/v1/search?q=canary"},
	}
	for _, v := range []visit{
		{method: "GET", path: "/projects/" + project}, {method: "GET", path: "/documents/" + document},
		{method: "GET", path: "/documents/" + document + "/edit"}, {method: "GET", path: "/documents/" + document + "/versions"},
		{method: "POST", path: "/documents", form: url.Values{"title": {"a page"}, "project": {project}}},
		{method: "POST", path: "/projects/" + project + "/share", form: url.Values{}},
		{method: "GET", path: "/search?q=canary"}, {method: "GET", path: "/projects?q=moved"},
	} {
		v.person, v.path = true, "/w/"+s.workspace+v.path
		visits = append(visits, v)
	}
	send := func(n *node, v visit) (answer, error) {
		if v.person {
			return n.page(editor, v.method, v.path, v.form)
		}
		return n.as(context.Background(), key.text("key"), v.method, v.path, v.body)
	}
	var checks atomic.Int64
	// all sends the visits that `of` chooses through both nodes, from 64 clients at once, and wants that answer of each.
	all := func(when string, of func(v visit) bool, wrong func(v visit, a answer) bool) {
		t.Helper()
		chosen := slices.DeleteFunc(slices.Clone(visits), func(v visit) bool { return !of(v) })
		var group sync.WaitGroup
		for client := range 64 {
			group.Go(func() {
				v, n := chosen[client%len(chosen)], nodes[client/len(chosen)%len(nodes)]
				a, err := send(n, v)
				if err != nil || wrong(v, a) {
					t.Errorf("%s: %s %s is answered with %d %.300s, %v", when, v.method, v.path, a.status, a.body, err)
				}
				checks.Add(1)
			})
		}
		group.Wait()
	}
	everybody := func(visit) bool { return true }
	persons := func(v visit) bool { return v.person }
	keys := func(v visit) bool { return !v.person }
	hidden := func(v visit, a answer) bool {
		names := strings.Contains(string(a.body), document) || strings.Contains(string(a.body), project)
		switch {
		case v.person && strings.Contains(v.path, "?"):
			return a.status != 200 || names
		case strings.Contains(v.path, "?"): // a list or a search
			return a.status != 200 || a.json["total"] != 0.0 || names
		}
		return a.status != 404 || strings.Contains(string(a.body), "canary")
	}
	shown := func(v visit, a answer) bool {
		switch {
		case v.person && v.method == "POST":
			return a.status != http.StatusSeeOther
		case v.person && strings.Contains(v.path, "search?"):
			return a.status != 200 || !strings.Contains(string(a.body), document)
		case v.person && strings.Contains(v.path, "?"):
			return a.status != 200 || !strings.Contains(string(a.body), project)
		}
		return a.status >= 300 || a.json["total"] == 0.0
	}

	// Between the rounds of judged requests others are under way all the time, which fill the caches and hold locks.
	stop := make(chan struct{})
	var under sync.WaitGroup
	for client := range 8 {
		under.Go(func() {
			for i := client; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				v := visits[i%len(visits)]
				if a, err := send(nodes[i%2], v); err != nil || a.status >= 500 {
					t.Errorf("beside the changes: %s %s: %d %s, %v", v.method, v.path, a.status, a.body, err)
					return
				}
			}
		})
	}
	move := func(round int, to any) {
		nodes[round%2].must(200, "POST", "/api/v1/projects/"+project+"/move", map[string]any{"folder_id": to})
	}
	// restrict limits the person to these folders, in the form that an owner sends; with none it lifts the restriction.
	person := s.memberOf(nodes[0], owner, "dan@example.com")
	restrict := func(round int, to ...string) {
		t.Helper()
		n, form := nodes[round%2], url.Values{"reach": {""}}
		if len(to) > 0 {
			form.Set("reach", "part")
		}
		for _, id := range to {
			form.Add("within", "folder:"+id)
		}
		at := "/w/" + s.workspace + "/members/" + person + "/access"
		was, err := n.page(owner, "GET", at, nil)
		seen := seenField.FindSubmatch(was.body)
		if err != nil || seen == nil {
			t.Fatalf("the form of the restriction: %d %s, %v", was.status, was.body, err)
		}
		form.Set("seen", string(seen[1]))
		if a, err := n.page(owner, "POST", at, form); err != nil || a.status != http.StatusSeeOther {
			t.Fatalf("restrict a person: %d %s, %v", a.status, a.body, err)
		}
	}
	for round := range scaled(2, 100) {
		all(fmt.Sprintf("round %d, inside", round), everybody, shown)
		move(round, nil)
		all(fmt.Sprintf("round %d, outside", round), everybody, hidden)
		restrict(round)
		all(fmt.Sprintf("round %d, the person is not restricted", round), persons, shown)
		restrict(round+1, folder)
		all(fmt.Sprintf("round %d, the person is restricted again", round), persons, hidden)
		move(round+1, folder)
		restrict(round, other)
		all(fmt.Sprintf("round %d, the person is restricted to another folder", round), persons, hidden)
		restrict(round+1, folder)
	}
	close(stop)
	under.Wait()
	all("before the end", everybody, shown)
	for _, v := range visits {
		if !hidden(v, answer{status: 200, body: []byte(document)}) || !shown(v, answer{status: 404}) {
			t.Errorf("%s %s: an answer by the old rights would not be noticed", v.method, v.path)
		}
	}
	nodes[1].must(204, "DELETE", "/api/v1/api-keys/"+key.text("id"), nil)
	all("revoked", keys, func(_ visit, a answer) bool { return a.status != 401 })
	if a, err := nodes[0].page(owner, "POST", "/w/"+s.workspace+"/members/"+person+"/remove", url.Values{}); err != nil || a.status != http.StatusSeeOther {
		t.Fatalf("remove a person: %d %s, %v", a.status, a.body, err)
	}
	all("removed", persons, func(_ visit, a answer) bool { return a.status != 404 || strings.Contains(string(a.body), "canary") })
	figure(t, "%d requests with a restricted key, or of a restricted person, right after a change of what they see: none was judged by the old rights", checks.Load())
}

// seenField finds the stored restriction in the form of a member's access.
var seenField = regexp.MustCompile(`name="seen" value="([^"]*)"`)

// join invites a person to the workspace by the command line, accepts the invitation on the node, and returns the session's token.
func (s *site) join(n *node, email string, args ...string) (token string) {
	s.t.Helper()
	link := s.ask(append([]string{"user", "invite", email, "--workspace", s.workspace, "--public-url", "https://sheaf.example.com"}, args...)...)["url"].(string)
	name, _, _ := strings.Cut(email, "@")
	form := url.Values{"name": {name}, "password": {"long enough"}, "again": {"long enough"}}
	a, err := n.page("", "POST", link[strings.LastIndex(link, "/invite/"):], form)
	if err != nil || a.status != http.StatusSeeOther {
		s.t.Fatalf("join: %d %s, %v", a.status, a.body, err)
	}
	for _, c := range (&http.Response{Header: a.header}).Cookies() {
		if c.Name == n.cookie() {
			return c.Value
		}
	}
	s.t.Fatalf("no session in %v", a.header)
	return ""
}

// memberOf returns the id of the member with that name, as the page of members has it.
func (s *site) memberOf(n *node, token, email string) string {
	s.t.Helper()
	a, err := n.page(token, "GET", "/w/"+s.workspace+"/members", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(a.body), email)
	found := memberLink.FindStringSubmatch(rest)
	if found == nil {
		s.t.Fatalf("no member %s in %d %s", email, a.status, a.body)
	}
	return found[1]
}

var memberLink = regexp.MustCompile(`/members/([0-9a-f-]{36})/remove`)

// cookie is the name of the session's cookie on the node.
func (n *node) cookie() string { return "sheaf-" + n.url[strings.LastIndex(n.url, ":")+1:] }

// page makes one request of the console with the session's token, and follows no redirect.
func (n *node) page(token, method, path string, form url.Values) (a answer, err error) {
	req, err := http.NewRequest(method, n.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		return a, err
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	req.AddCookie(&http.Cookie{Name: n.cookie(), Value: token})
	res, err := n.client.Transport.RoundTrip(req)
	if err != nil {
		return a, err
	}
	defer res.Body.Close()
	a = answer{status: res.StatusCode, header: res.Header}
	a.body, err = io.ReadAll(res.Body)
	return a, err
}
