package httpapi_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"sheaf.dev/internal/merge"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/sheaftest/proof"
)

// D175, D177: 64 clients propose, edit, approve, accept, reject, move, delete and restore at random, on two projects.
// One project needs review. Each text is the merge of what was accepted, each acceptance is whole and happened
// once, every change has its event, and nothing changes unreviewed where a review is needed.
func TestProposals_ManyClients(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		s := newStorm(t, a)
		together(64, func(i int) {
			r := rand.New(rand.NewPCG(uint64(i), 173))
			for n := range proof.Rounds(6, 150, 1500) {
				s.step(t, r, s.people[i%len(s.people)], fmt.Sprintf("%d.%d", i, n))
			}
		})
		wantSound(t, a)
		seen := s.look(t)
		broken := seen.broken()
		for _, text := range broken[:min(10, len(broken))] {
			t.Error(text)
		}
		row := proof.Row{Name: "proposals, 64 clients, " + engineOf(t), Lost: len(broken), Control: "a copy without an accepted version; one with an event after no acceptance",
			Figures: []proof.Figure{{Name: "proposed", Value: len(seen.proposals)}, {Name: "acceptances acknowledged", Value: len(s.accepted)}, {Name: "refused for a conflict", Value: s.conflicts},
				{Name: "direct changes", Value: s.written}, {Name: "unreviewed changes refused", Value: s.closed}, {Name: "events", Value: len(seen.log)}}}
		row.Caught = seen.noticesALostVersion() && seen.noticesAnEvent()
		row.Report(t)
		if len(s.accepted) == 0 || s.conflicts == 0 || s.closed == 0 {
			t.Errorf("%d acceptances, %d conflicts and %d changes refused for a review: want some of each", len(s.accepted), s.conflicts, s.closed)
		}
	})
}

const (
	pagesOf = 6  // documents that each project begins with
	slots   = 12 // lines that clients change, in each document
)

// storm is what the clients work on, and what they were told.
type storm struct {
	*reviewed
	people []person
	pool   *idPool

	mu                         sync.Mutex // guards what follows
	accepted                   map[string]bool
	open                       []string
	conflicts, closed, written int
	complaints                 []string
}

func newStorm(t *testing.T, a *apitest.API) *storm {
	s := &storm{reviewed: newReviewed(t, a, 1), pool: &idPool{ids: map[string][]string{}}, accepted: map[string]bool{}}
	for range 4 {
		s.people = append(s.people, s.join(t, a, sheaf.Admin))
	}
	s.admin.PATCH("/api/v1/projects/"+s.ids["{project}"], fields{"review": nil}).Want(t, 200)
	for i := range 2 * pagesOf {
		in := s.ids[[]string{"{project}", "{free}"}[i%2]]
		s.pool.add(documents, create(t, s.admin, documents, fields{"title": "Page", "content": blank(), "project_id": in}))
	}
	s.admin.PATCH("/api/v1/projects/"+s.ids["{project}"], fields{"review": fields{"approvals": 1}}).Want(t, 200)
	return s
}

// blank is a text whose slots are apart from each other, so that changes of different ones merge.
func blank() string {
	var b strings.Builder
	for i := range slots {
		fmt.Fprintf(&b, "slot %d: none\n\npart %d\n\n", i, i)
	}
	return b.String()
}

// marked is the text with a mark in one of its slots. No two calls have the same mark.
func marked(text string, r *rand.Rand, mark string) string {
	lines := strings.SplitAfter(text, "\n")
	slot := fmt.Sprintf("slot %d: ", r.IntN(slots))
	for i, line := range lines {
		if strings.HasPrefix(line, slot) {
			lines[i] = slot + mark + "\n"
		}
	}
	return strings.Join(lines, "")
}

// step does something at random.
func (s *storm) step(t *testing.T, r *rand.Rand, who person, mark string) {
	id, _ := s.pool.any(documents, r).(string)
	switch r.IntN(12) {
	case 0, 1, 2:
		s.propose(t, r, who, mark)
	case 3, 4, 5:
		s.decide(t, r, "accept")
	case 6:
		s.decide(t, r, []string{"reject", "approve", "approve"}[r.IntN(3)])
	case 7:
		s.judge(t, who.POST(at(documents, id)+"/move", fields{"project_id": s.ids[[]string{"{project}", "{free}"}[r.IntN(2)]], "parent_id": nil}))
	case 8:
		s.judge(t, who.DELETE(at(documents, id)))
	case 9:
		s.judge(t, who.POST(at(documents, id)+"/restore", nil))
	default:
		if d := who.GET(at(documents, id)); d.Status == 200 {
			s.judge(t, who.PATCH(at(documents, id), fields{"content": marked(d.Text(t, "content"), r, mark)}, "If-Match: "+d.Header.Get("ETag")))
		}
	}
}

// judge counts what a direct change was answered.
func (s *storm) judge(t *testing.T, r *apitest.Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.Err != nil || r.Status >= 500 && r.Status != 503:
		t.Errorf("got %d %s %v", r.Status, r.Body, r.Err)
	case r.Status < 300:
		s.written++
	case r.JSON["code"] == "REVIEW_REQUIRED":
		s.closed++
	}
}

// propose makes a proposal of one to three changes, and has it approved now and then.
func (s *storm) propose(t *testing.T, r *rand.Rand, who person, mark string) {
	changes, seen := []fields{}, map[string]bool{}
	for n := range 1 + r.IntN(3) {
		id, _ := s.pool.any(documents, r).(string)
		d := who.GET(at(documents, id))
		if seen[id] {
			continue
		}
		seen[id] = true
		switch op := r.IntN(10); {
		case op == 0:
			changes = append(changes, fields{"op": "create", "title": "New", "content": blank(), "project_id": s.ids["{project}"]})
		case op == 1 && d.Status == 404 && id != "":
			changes = append(changes, fields{"op": "restore", "document_id": id})
		case d.Status != 200:
		case op == 2:
			changes = append(changes, fields{"op": "delete", "document_id": id, "base_version": d.JSON["version"]})
		case op == 3:
			changes = append(changes, fields{"op": "move", "document_id": id, "project_id": s.ids[[]string{"{project}", "{free}"}[r.IntN(2)]], "parent_id": nil})
		default:
			changes = append(changes, fields{"op": "edit", "document_id": id, "base_version": d.JSON["version"], "content": marked(d.Text(t, "content"), r, fmt.Sprintf("%s.%d", mark, n))})
		}
	}
	if len(changes) == 0 {
		return
	}
	made := propose(who.Client, changes...)
	s.judge(t, made)
	if made.Status != 201 {
		return
	}
	id := made.Text(t, "id")
	s.mu.Lock()
	s.open = append(s.open, id)
	s.mu.Unlock()
	if r.IntN(4) > 0 {
		other := s.people[r.IntN(len(s.people))]
		other.POST(at(proposals, id)+"/approve", nil, "If-Match: "+made.Header.Get("ETag"))
	}
}

// decide decides about one of the newest proposals.
func (s *storm) decide(t *testing.T, r *rand.Rand, act string) {
	s.mu.Lock()
	n := len(s.open)
	var id string
	if n > 0 {
		id = s.open[max(0, n-1-r.IntN(24))]
	}
	s.mu.Unlock()
	if id == "" {
		return
	}
	who := s.people[r.IntN(len(s.people))]
	got := who.POST(at(proposals, id)+"/"+act, nil, `If-Match: "1-0"`)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case got.Err != nil || got.Status >= 500 && got.Status != 503:
		t.Errorf("%s is answered with %d %s %v", act, got.Status, got.Body, got.Err)
	case act != "accept":
	case got.Status == 200 && s.accepted[id]:
		s.complaints = append(s.complaints, "proposal "+id+" was accepted twice")
	case got.Status == 200:
		s.accepted[id] = true
	case got.JSON["conflicts"] != nil:
		s.conflicts++
	}
	if act != "approve" && got.Status == 200 {
		s.open = slices.DeleteFunc(s.open, func(x string) bool { return x == id })
	}
}

// looked is what the API says in the end.
type looked struct {
	project    string // that needs review
	accepted   map[string]bool
	complaints []string
	proposals  map[string]fields
	proposed   map[string]string // text by proposal and document
	versions   map[string][]fields
	log        []fields
}

// look reads everything, after all deleted documents are back.
func (s *storm) look(t *testing.T) *looked {
	t.Helper()
	l := &looked{project: s.ids["{project}"], accepted: s.accepted, complaints: s.complaints, proposals: map[string]fields{}, proposed: map[string]string{}, versions: map[string][]fields{}}
	l.log = wholeList(t, s.admin, events, 100)
	s.admin.PATCH("/api/v1/projects/"+s.ids["{project}"], fields{"review": nil}).Want(t, 200)
	for _, d := range wholeList(t, s.admin, documents+"?deleted=true", 100) {
		s.admin.POST(at(documents, d["id"].(string))+"/restore", nil).Want(t, 200)
	}
	for _, p := range wholeList(t, s.admin, proposals, 100) {
		id := p["id"].(string)
		l.proposals[id] = p
		for n, c := range p["changes"].([]any) {
			if c := c.(fields); c["op"] == "edit" && p["state"] == "accepted" {
				l.proposed[id+c["document_id"].(string)] = s.admin.GET(fmt.Sprintf("%s/%s/changes/%d", proposals, id, n)).Want(t, 200).Text(t, "proposed")
			}
		}
	}
	for _, d := range wholeList(t, s.admin, documents, 100) {
		id := d["id"].(string)
		for n := range int(d["version"].(float64)) {
			l.versions[id] = append(l.versions[id], s.admin.GET(fmt.Sprintf("%s/%s/versions/%d", documents, id, n+1)).Want(t, 200).JSON)
		}
	}
	return l
}

// broken returns everything that contradicts the promises.
func (l *looked) broken() (out []string) {
	complain := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	out = append(out, l.complaints...)
	for id, p := range l.proposals {
		if (p["state"] == "accepted") != l.accepted[id] {
			complain("proposal %s is %v; its acceptance was acknowledged: %t", id, p["state"], l.accepted[id])
		}
	}
	made := map[string]int{} // versions by proposal and document
	for id, versions := range l.versions {
		for i, v := range versions {
			p, _ := v["proposal_id"].(string)
			if p == "" {
				continue
			}
			made[p+id]++
			if !l.accepted[p] {
				complain("version %d of document %s is of proposal %s, which is not accepted", i+1, id, p)
			}
			want, edits := l.proposed[p+id]
			if i == 0 || !edits {
				continue
			}
			base := versions[int(changeOf(l.proposals[p], id)["base_version"].(float64))-1]["content"].(string)
			merged, conflicts := merge.Lines(base, versions[i-1]["content"].(string), want)
			if v["content"] != merged || len(conflicts) > 0 {
				complain("version %d of document %s is %q, want the merge of what is proposed, %q (%d conflicts)", i+1, id, v["content"], merged, len(conflicts))
			}
		}
	}
	for at := range l.proposed {
		if made[at] != 1 {
			complain("proposal and document %s: %d versions, want 1", at, made[at])
		}
	}
	return append(out, l.incomplete()...)
}

func changeOf(p fields, document string) fields {
	for _, c := range p["changes"].([]any) {
		if c := c.(fields); c["op"] == "edit" && c["document_id"] == document {
			return c
		}
	}
	return nil
}

// incomplete compares the log with the versions and the proposals: each has its event, and a document of the project
// under review has none but directly after an acceptance.
func (l *looked) incomplete() (out []string) {
	complain := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	told, decided := map[string]map[float64]bool{}, map[string]int{}
	accepting, reviewed := false, false
	for _, e := range l.log {
		id, payload := e["resource_id"].(string), e["payload"].(fields)
		switch kind := e["type"].(string); {
		case kind == "project.updated" && id == l.project:
			reviewed = payload["review"] != nil
		case kind == "proposal.accepted":
			accepting = true
			decided[id]++
		case strings.HasPrefix(kind, "document."):
			if told[id] == nil {
				told[id] = map[float64]bool{}
			}
			told[id][payload["version"].(float64)] = true
			previous, _ := payload["previous"].(fields)
			if in := payload["project_id"] == l.project || previous["project_id"] == l.project; in && reviewed && !accepting {
				complain("event %s (%s of document %s) changes a document of the project under review, after no acceptance", e["id"], kind, id)
			}
		default:
			accepting = false
		}
	}
	for id := range l.accepted {
		if decided[id] != 1 {
			complain("proposal %s has %d events of its acceptance, want 1", id, decided[id])
		}
	}
	for id, versions := range l.versions {
		if len(told[id]) != len(versions) {
			complain("document %s has %d versions, and the log has %d of them", id, len(versions), len(told[id]))
		}
	}
	return out
}

// noticesALostVersion reports whether a version of an acceptance that is taken away is missed.
func (l *looked) noticesALostVersion() bool {
	for id, versions := range l.versions {
		n := len(versions) - 1
		if p, _ := versions[n]["proposal_id"].(string); p == "" {
			continue
		}
		copied := *l
		copied.versions = map[string][]fields{id: versions[:n]}
		return len(copied.broken()) > 0
	}
	return false
}

// noticesAnEvent reports whether a change of a document under review after no acceptance is noticed.
func (l *looked) noticesAnEvent() bool {
	had := len(l.incomplete())
	copied := *l
	copied.log = append(slices.Clone(l.log), fields{"id": "evt", "type": "project.created", "resource_id": "x", "payload": fields{}},
		fields{"id": "evt", "type": "document.updated", "resource_id": "x", "payload": fields{"project_id": l.project, "version": 1.0}})
	return len(copied.incomplete()) == had+1
}
