package race

import (
	"fmt"
	"slices"
	"sync"
)

// times returns n clients that do the same, each with its number.
func times(n int, act func(i int)) (clients []func()) {
	for i := range n {
		clients = append(clients, func() { act(i) })
	}
	return clients
}

// statuses counts answers. It is safe for concurrent use.
type statuses struct {
	mu  sync.Mutex // guards all
	all []int
}

func (s *statuses) add(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, status)
}

func (s *statuses) count(status int) (n int) {
	for _, x := range s.all {
		if x == status {
			n++
		}
	}
	return n
}

const keysPath, hooksPath, projectsPath, foldersPath, documentsPath = "/api/v1/api-keys", "/api/webhooks/subscriptions", "/api/v1/projects", "/api/v1/folders", "/api/v1/documents"

// maxRecords is how many records a workspace may have here: more than any other contest makes.
const maxRecords = 20

// The pro plan has 5 keys; one is the client's own.
func lastKey(s site) ([]func(), func() []string) {
	return limited(s, keysPath, `{"name":"a","scopes":["keys:read"]}`, 5, 4)
}

func lastSubscription(s site) ([]func(), func() []string) {
	return limited(s, hooksPath, `{"name":"a","url":"https://example.com/","events":["project.created"]}`, 3, 3)
}

// limited is a race for places: there are `places`, and `free` of them are free.
func limited(s site, path, body string, places, free int) ([]func(), func() []string) {
	w := s.workspace("pro")
	var got statuses
	clients := times(racers, func(int) { got.add(w.do("POST", path, body).status) })
	return clients, func() []string {
		var c complain
		c.unless(got.count(201) == free && got.count(403) == racers-free, "%d of %d were told that they have one of %d places", got.count(201), racers, free)
		n := len(w.list(path))
		c.unless(n == places, "%d are there, the plan allows %d", n, places)
		return c
	}
}

// lastRecord is a race for the last three of the records that a workspace may have, of whatever kind.
func lastRecord(s site) ([]func(), func() []string) {
	w := s.workspace("pro")
	for range maxRecords - 3 {
		w.do("POST", documentsPath, `{"title":"a"}`)
	}
	paths := []string{documentsPath, projectsPath, foldersPath}
	var got statuses
	clients := times(racers, func(i int) {
		got.add(w.do("POST", paths[i%3], `{"title":"a","name":"a","entity_type":"project"}`).status)
	})
	return clients, func() []string {
		var c complain
		c.unless(got.count(201) == 3 && got.count(403) == racers-3, "%d of %d were told that they have one of 3 places", got.count(201), racers)
		n := 0
		for _, path := range paths {
			n += len(w.list(path))
		}
		c.unless(n == maxRecords, "%d records are there, %d are allowed", n, maxRecords)
		return c
	}
}

func sameIdempotencyKey(s site) ([]func(), func() []string) {
	w := s.workspace("pro")
	ids := make([]string, racers)
	clients := times(racers, func(i int) { ids[i] = w.do("POST", projectsPath, `{"name":"a"}`, "Idempotency-Key: same").text("id") })
	return clients, func() []string {
		var c complain
		made := w.list(projectsPath)
		c.unless(len(made) == 1, "%d projects were made", len(made))
		c.unless(len(slices.Compact(slices.Sorted(slices.Values(ids)))) == 1 && ids[0] != "", "the answers name different projects: %v", ids)
		return c
	}
}

func sameIfMatch(s site) ([]func(), func() []string) {
	w := s.workspace("pro")
	made := w.do("POST", projectsPath, `{"name":"before"}`)
	path, tag := projectsPath+"/"+made.text("id"), "If-Match: "+made.header.Get("ETag")
	var got statuses
	winner := make([]string, racers)
	clients := times(racers, func(i int) {
		a := w.do("PATCH", path, fmt.Sprintf(`{"name":"%d"}`, i), tag)
		got.add(a.status)
		if a.status == 200 {
			winner[i] = fmt.Sprint(i)
		}
	})
	return clients, func() []string {
		var c complain
		c.unless(got.count(200) == 1 && got.count(412) == racers-1, "%d changed the same revision: %v", got.count(200), got.all)
		name := w.do("GET", path, "").text("name")
		c.unless(slices.Contains(winner, name), "the name is %q, and the winners are %v", name, winner)
		return c
	}
}

// newFolder makes a folder and returns its id.
func (w workspace) newFolder(kind string) string {
	return w.do("POST", foldersPath, `{"name":"a","entity_type":"`+kind+`"}`).text("id")
}

func crossedMoves(s site) ([]func(), func() []string) {
	w := s.workspace("pro")
	folders := [2]string{w.newFolder("project"), w.newFolder("project")}
	clients := times(4, func(i int) {
		w.do("POST", foldersPath+"/"+folders[i%2]+"/move", `{"parent_id":"`+folders[1-i%2]+`"}`)
	})
	return clients, func() []string {
		var c complain
		parents := map[string]string{}
		for _, f := range w.list(foldersPath) {
			parents[f.text("id")] = f.text("parent_id")
		}
		a, b := folders[0], folders[1]
		c.unless(len(parents) == 2, "%d folders are left of 2", len(parents))
		c.unless(parents[a] != b || parents[b] != a, "each of two folders is in the other")
		c.unless(parents[a] == b || parents[b] == a, "neither move was made")
		return c
	}
}

func orphans(s site) ([]func(), func() []string) {
	w := s.workspace("pro")
	parent := w.newFolder("project")
	var children statuses
	clients := times(6, func(i int) {
		switch i {
		case 3:
			w.do("DELETE", foldersPath+"/"+parent, "")
		default:
			children.add(w.do("POST", foldersPath, `{"name":"child","entity_type":"project","parent_id":"`+parent+`"}`).status)
		}
	})
	return clients, func() []string {
		var c complain
		for _, f := range w.list(foldersPath) {
			c.unless(false, "folder %s is there, and its parent %s is deleted", f.text("id"), f.text("parent_id"))
		}
		c.unless(children.count(201)+children.count(404) == 5, "creating a child was answered %v", children.all)
		return c
	}
}

// Branding folders need the business plan: from the moment when the workspace is on another, none is added.
func downgrade(s site) ([]func(), func() []string) {
	w := s.workspace("business")
	var then []string
	clients := times(racers, func(i int) {
		if i == racers/2 {
			w.setPlan("pro")
			then = w.ids(foldersPath)
			return
		}
		for range 3 {
			w.newFolder("branding")
		}
	})
	return clients, func() []string {
		var c complain
		now := w.ids(foldersPath)
		c.unless(slices.Equal(then, now), "%d branding folders were there when the plan had changed, and there are %d", len(then), len(now))
		return c
	}
}
