package nodes

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sheaf.dev/internal/sheaftest/pgtest"
)

// visit is one request with a restricted key.
type visit struct {
	method, path string
	body         any
}

// D169, D172: a request that begins after the answer to a change of rights is judged by the new rights, on every node. One
// client moves a project out of the folder of a restriction and back, and at last revokes the key, through one node or the
// other. Meanwhile 64 clients read and write through both nodes with keys that are restricted to the folder.
func TestRestriction_ChangesAreInForceOnEveryNode(t *testing.T) {
	t.Parallel()
	s := newSite(t, pgtest.URL(t))
	nodes := []*node{s.start(), s.start()}
	made := func(path string, body map[string]any) string {
		return nodes[0].must(201, "POST", path, body).text("id")
	}
	folder := made("/api/v1/folders", map[string]any{"name": "inside", "entity_type": "project"})
	project := made("/api/v1/projects", map[string]any{"name": "moved", "folder_id": folder})
	document := made("/api/v1/documents", map[string]any{"title": "canary", "project_id": project, "content": "canary"})
	key := nodes[0].must(201, "POST", "/api/v1/api-keys", map[string]any{"name": "restricted", "restricted_to": map[string]any{"folder_ids": []string{folder}},
		"scopes": []string{"projects:read", "documents:read", "documents:write", "events:read"}})

	visits := []visit{
		{"GET", "/api/v1/projects/" + project, nil}, {"GET", "/api/v1/documents/" + document, nil},
		{"GET", "/api/v1/projects/" + project + "/tree", nil}, {"GET", "/api/v1/documents/" + document + "/content", nil},
		{"PATCH", "/api/v1/documents/" + document, map[string]any{"description": "changed"}},
		{"POST", "/api/v1/documents", map[string]any{"title": "more", "project_id": project}},
		{"GET", "/api/v1/documents?limit=1", nil}, {"GET", "/api/v1/search?q=canary", nil},
	}
	var checks atomic.Int64
	// all sends every visit through both nodes, from 64 clients at once, and wants that answer of each.
	all := func(when string, wrong func(v visit, a answer) bool) {
		t.Helper()
		var group sync.WaitGroup
		for client := range 64 {
			group.Go(func() {
				v, n := visits[client%len(visits)], nodes[client/len(visits)%len(nodes)]
				a, err := n.as(context.Background(), key.text("key"), v.method, v.path, v.body)
				if err != nil || wrong(v, a) {
					t.Errorf("%s: %s %s is answered with %d %s, %v", when, v.method, v.path, a.status, a.body, err)
				}
				checks.Add(1)
			})
		}
		group.Wait()
	}
	hidden := func(v visit, a answer) bool {
		if strings.Contains(v.path, "?") { // a list or a search
			return a.status != 200 || a.json["total"] != 0.0 || strings.Contains(string(a.body), document)
		}
		return a.status != 404 || strings.Contains(string(a.body), "canary")
	}
	shown := func(v visit, a answer) bool { return a.status >= 300 || a.json["total"] == 0.0 }

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
				if a, err := nodes[i%2].as(context.Background(), key.text("key"), v.method, v.path, v.body); err != nil || a.status >= 500 {
					t.Errorf("beside the changes: %s %s: %d %s, %v", v.method, v.path, a.status, a.body, err)
					return
				}
			}
		})
	}
	move := func(round int, to any) {
		nodes[round%2].must(200, "POST", "/api/v1/projects/"+project+"/move", map[string]any{"folder_id": to})
	}
	for round := range scaled(2, 100) {
		all(fmt.Sprintf("round %d, inside", round), shown)
		move(round, nil)
		all(fmt.Sprintf("round %d, outside", round), hidden)
		move(round+1, folder)
	}
	close(stop)
	under.Wait()
	all("before the end", shown)
	if !hidden(visits[0], answer{status: 200}) || !shown(visits[0], answer{status: 404}) {
		t.Error("an answer by the old rights would not be noticed")
	}
	nodes[1].must(204, "DELETE", "/api/v1/api-keys/"+key.text("id"), nil)
	all("revoked", func(_ visit, a answer) bool { return a.status != 401 })
	figure(t, "%d requests with a restricted key right after a change of what it sees: none was judged by the old rights", checks.Load())
}
