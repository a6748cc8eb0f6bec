package crash

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sheaf.dev/internal/failpoint"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/sheaftest/proof"
)

// D175: an acceptance that is killed between any two of its statements has happened, or not at all: documents,
// versions, events, figures, the proposal and the deliveries say the same. The same request, sent again, has its
// effect once.
func TestKill_BetweenTheStatementsOfAnAcceptance(t *testing.T) {
	for name, database := range map[string]func(*testing.T) string{
		"SQLite":     func(*testing.T) string { return "" },
		"PostgreSQL": func(t *testing.T) string { return pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, database(t)).prepare(t)
			a := newAcceptance(t, p)
			stride := proof.Rounds(20, 1, 1)
			at := 1 + rand.IntN(stride)
			for !a.kill(t, strconv.Itoa(at)) {
				at += stride
			}
			a.kill(t, failpoint.BeforeAnswer)
			a.settle(t)
			t.Logf("%d kills left nothing and %d left all, the last counted point is %d", a.nothing, a.all, at)
			if a.nothing == 0 || a.all == 0 {
				t.Errorf("%d kills left nothing and %d left all, want some of each", a.nothing, a.all)
			}
		})
	}
}

// acceptance is a proposal with every op, which is accepted on servers that are killed meanwhile.
type acceptance struct {
	*program
	r        *receiver
	rounds   int
	proposal string
	ids      map[string]string // of the documents and projects, by name
	before   string            // state of the workspace while the proposal is open
	logged   int               // events while it is open

	nothing, all int // kills, by what they left
	answered     int // acceptances that were not killed
}

func newAcceptance(t *testing.T, p *program) *acceptance {
	a := &acceptance{program: p, r: newReceiver(t), ids: map[string]string{}}
	s := p.start(t, a.r)
	status, err := s.call(http.MethodPost, "/api/webhooks/subscriptions", map[string]any{"name": "all", "url": a.r.url,
		"events": []string{"document.created", "document.updated", "document.deleted", "proposal.created", "proposal.accepted"}}, nil)
	if err != nil || status != http.StatusCreated {
		t.Fatalf("subscribe: %d, %v", status, err)
	}
	a.propose(t, s)
	s.terminate(t)
	return a
}

// propose makes documents and a proposal that changes them in every way. One of them changes afterwards, so it has
// to be merged.
func (a *acceptance) propose(t *testing.T, s *server) {
	t.Helper()
	a.rounds++
	a.ids["project"] = s.make(t, "/api/v1/projects", map[string]any{"name": "Manual"})
	document := func(name string, fields map[string]any) {
		fields["title"], fields["content"] = name, strings.ReplaceAll(name+" b c d e", " ", "\n")+"\n"
		a.ids[name] = s.make(t, "/api/v1/documents", fields)
	}
	document("edited", map[string]any{"project_id": a.ids["project"], "external_id": fmt.Sprint(a.rounds)})
	document("moved", map[string]any{})
	document("deleted", map[string]any{"project_id": a.ids["project"]})
	document("below", map[string]any{"project_id": a.ids["project"], "parent_id": a.ids["deleted"]})
	document("restored", map[string]any{"project_id": a.ids["project"]})
	s.must(t, http.MethodDelete, "/api/v1/documents/"+a.ids["restored"], nil)
	a.proposal = s.make(t, "/api/v1/proposals", map[string]any{"title": "All at once", "changes": []any{
		map[string]any{"op": "edit", "document_id": a.ids["edited"], "base_version": 1, "title": "Edited", "content": "edited\nb\nc\nd\nE\n", "metadata": map[string]any{"round": fmt.Sprint(a.rounds)}},
		map[string]any{"op": "create", "title": "Top", "content": "top\n", "project_id": a.ids["project"]},
		map[string]any{"op": "create", "title": "Leaf", "content": "leaf\n", "project_id": a.ids["project"], "parent_id": "$1"},
		map[string]any{"op": "move", "document_id": a.ids["moved"], "project_id": a.ids["project"], "after_id": a.ids["edited"]},
		map[string]any{"op": "delete", "document_id": a.ids["deleted"], "base_version": 1},
		map[string]any{"op": "restore", "document_id": a.ids["restored"]},
	}})
	s.must(t, http.MethodPatch, "/api/v1/documents/"+a.ids["edited"], map[string]any{"content": "EDITED\nb\nc\nd\ne\n"})
	a.before, a.logged = a.state(t, s)
}

// kill accepts the proposal on a server that is killed at that point of its acceptance, and reports whether the
// acceptance is durable then. Nothing else may have happened. A number counts every point that is passed.
func (a *acceptance) kill(t *testing.T, point string) (durable bool) {
	t.Helper()
	s := a.start(t, a.r, fmt.Sprintf("%s=%s:1+%s", failpoint.EnvKill, failpoint.Accepting, point))
	if s.URL == "" {
		t.Fatal("the server died before it listened")
	}
	status, err := a.accept(s)
	if err == nil {
		if status != http.StatusOK {
			t.Fatalf("point %s: accepting is answered with %d", point, status)
		}
		a.answered++
		s.Kill()
	} else {
		<-s.Ended
	}
	a.healthy(t)
	s = a.start(t, a.r)
	defer s.terminate(t)
	now, logged := a.state(t, s)
	if err != nil && now == a.before {
		a.nothing++
		return false
	}
	if err != nil {
		a.all++
	}
	a.whole(t, s, point, logged)
	if status, err := a.accept(s); err != nil || status != http.StatusOK {
		t.Errorf("point %s: the same request, sent again: %d, %v", point, status, err)
	}
	if again, _ := a.state(t, s); again != now {
		t.Errorf("point %s: the same request, sent again, has changed something:\n%s\n%s", point, now, again)
	}
	a.propose(t, s)
	return true
}

// accept accepts the proposal as it was made, under one Idempotency-Key.
func (a *acceptance) accept(s *server) (status int, err error) {
	return s.decide(s.key, "/api/v1/proposals/"+a.proposal+"/accept", "", a.proposal)
}

// decide decides about a proposal as it is now, or as it was when it had that ETag.
func (s *server) decide(key, path, tag, once string) (status int, err error) {
	if tag == "" {
		res, err := s.request(key, http.MethodGet, path[:strings.LastIndexByte(path, '/')], "", nil)
		if err != nil {
			return 0, err
		}
		res.Body.Close()
		tag = res.Header.Get("ETag")
	}
	header := http.Header{"If-Match": {tag}}
	if once != "" {
		header.Set("Idempotency-Key", once)
	}
	res, err := s.request(key, http.MethodPost, path, "", header)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}

func (s *server) request(key, method, path, body string, header http.Header) (*http.Response, error) {
	req, err := http.NewRequest(method, s.URL+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("Authorization", "Bearer "+key)
	return client.Do(req)
}

// must makes a request that succeeds.
func (s *server) must(t *testing.T, method, path string, body any) {
	t.Helper()
	if status, err := s.call(method, path, body, nil); err != nil || status/100 != 2 {
		t.Fatalf("%s %s: %d, %v", method, path, status, err)
	}
}

// state returns what the API says of the workspace, as one text, and how many events there are.
func (a *acceptance) state(t *testing.T, s *server) (state string, logged int) {
	t.Helper()
	paths := []string{"/api/v1/proposals/" + a.proposal, "/api/v1/documents?deleted=true&sort=created_at&limit=100", "/api/v1/projects/" + a.ids["project"] + "/tree"}
	s.each(t, "/api/v1/documents", func(i item) {
		paths = append(paths, "/api/v1/documents/"+i.ID, "/api/v1/documents/"+i.ID+"/versions")
	})
	var all strings.Builder
	for _, path := range paths {
		var body json.RawMessage
		if status, err := s.call(http.MethodGet, path, nil, &body); err != nil || status != http.StatusOK {
			t.Fatalf("GET %s: %d, %v", path, status, err)
		}
		fmt.Fprintf(&all, "%s %s\n", path, body)
	}
	s.each(t, "/api/v1/events", func(i item) {
		fmt.Fprintln(&all, i.ID, i.Type, i.Resource)
		logged++
	})
	var me struct{ Storage struct{ Used int } }
	s.call(http.MethodGet, "/api/v1/me", nil, &me)
	fmt.Fprintln(&all, me.Storage.Used)
	return all.String(), logged
}

// stored is a document with what the acceptance changes.
type stored struct {
	ID, Title, Content string
	Version            int
	ProjectID          *string `json:"project_id"`
	ParentID           *string `json:"parent_id"`
}

// whole fails the test unless every change of the proposal was made, once.
func (a *acceptance) whole(t *testing.T, s *server, point string, logged int) {
	t.Helper()
	var p struct {
		State string
		User  string `json:"user_id"`
	}
	s.call(http.MethodGet, "/api/v1/proposals/"+a.proposal, nil, &p)
	if p.State != "accepted" {
		t.Errorf("point %s: something has changed, and the proposal is %s", point, p.State)
	}
	var log []string
	seen := 0
	created := map[string]string{}
	s.each(t, "/api/v1/events", func(i item) {
		if seen++; seen <= a.logged {
			return
		}
		log = append(log, i.Type)
		if i.Type == "document.created" {
			created[fmt.Sprint("created ", len(created))] = i.Resource
		}
	})
	want := []string{"proposal.accepted", "document.updated", "document.created", "document.created", "document.updated", "document.deleted", "document.deleted", "document.created"}
	if !slices.Equal(log, want) {
		t.Errorf("point %s: the log goes on with %q, want %q", point, log, want)
	}
	get := func(id string) (d stored) {
		if status, err := s.call(http.MethodGet, "/api/v1/documents/"+id, nil, &d); err != nil || status != http.StatusOK {
			d.Title = fmt.Sprint(status, err)
		}
		return d
	}
	project := a.ids["project"]
	for id, want := range map[string]stored{
		a.ids["edited"]:      {Title: "Edited", Content: "EDITED\nb\nc\nd\nE\n", Version: 3, ProjectID: &project},
		a.ids["moved"]:       {Title: "moved", Content: "moved\nb\nc\nd\ne\n", Version: 1, ProjectID: &project},
		a.ids["restored"]:    {Title: "restored", Content: "restored\nb\nc\nd\ne\n", Version: 1, ProjectID: &project},
		created["created 0"]: {Title: "Top", Content: "top\n", Version: 1, ProjectID: &project},
		created["created 1"]: {Title: "Leaf", Content: "leaf\n", Version: 1, ProjectID: &project, ParentID: ptr(created["created 0"])},
		a.ids["deleted"]:     {Title: "404 <nil>"},
		a.ids["below"]:       {Title: "404 <nil>"},
	} {
		got := get(id)
		if got.ID, want.ID = "", ""; text(got) != text(want) {
			t.Errorf("point %s: document %s is %s, want %s", point, id, text(got), text(want))
		}
	}
	for id, count := range map[string]int{a.ids["edited"]: 1, created["created 0"]: 1, created["created 1"]: 1, a.ids["moved"]: 0} {
		var versions struct {
			Data []struct {
				Proposal *string `json:"proposal_id"`
				User     string  `json:"user_id"`
			}
		}
		s.call(http.MethodGet, "/api/v1/documents/"+id+"/versions", nil, &versions)
		for _, v := range versions.Data {
			if v.Proposal != nil && *v.Proposal == a.proposal && v.User == p.User {
				count--
			}
		}
		if count != 0 {
			t.Errorf("point %s: document %s has %d versions too few of the proposal", point, id, count)
		}
	}
}

func ptr(s string) *string { return &s }

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// settle fails the test unless each event of the log reaches the receiver, and nothing else has.
func (a *acceptance) settle(t *testing.T) {
	t.Helper()
	s := a.start(t, a.r)
	defer s.terminate(t)
	log := map[string]bool{}
	s.each(t, "/api/v1/events", func(i item) {
		if !strings.HasPrefix(i.Type, "project.") {
			log[i.ID] = true
		}
	})
	arrived := func() bool {
		times, _ := a.r.arrived()
		for id := range log {
			if times[id] == 0 {
				return false
			}
		}
		return true
	}
	sheaftest.Eventually(t, "all events have arrived", arrived)
	times, _ := a.r.arrived()
	for id := range times {
		if !log[id] {
			t.Errorf("event %s arrived and is not in the log", id)
		}
	}
}
