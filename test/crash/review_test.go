package crash

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sheaf.dev/internal/failpoint"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/fill"
	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/sheaftest/plant"
	"sheaf.dev/internal/sheaftest/proctest"
	"sheaf.dev/internal/sheaftest/proof"
)

// D175, D177: over kills at random and at named moments, an acceptance that was acknowledged is there, once, as the merge
// of what all clients proposed, and nobody changes a document under review without one. Clients repeat each request
// until it is answered.
func TestKill_NoAcceptanceIsLost(t *testing.T) {
	for name, database := range map[string]func(*testing.T) string{
		"SQLite":     func(*testing.T) string { return "" },
		"PostgreSQL": func(t *testing.T) string { return pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := killReviewers(t, database(t), proof.Rounds(5, 125, 500), plant.None)
			lost := proof.Row{Name: "acceptances lost, " + name, Lost: len(f.lost) + len(f.sick), Control: "answers before the commit", Figures: []proof.Figure{{Name: "kills", Value: f.kills},
				{Name: "acceptances acknowledged", Value: f.acknowledged()}, {Name: "versions", Value: len(f.versions)}, {Name: "violations", Value: len(f.sick)}}}
			lost.Caught = proof.Catches(func() bool {
				return len(killReviewers(t, database(t), proof.Rounds(2, 7, 14), plant.EarlyAnswer).lost) > 0
			})
			lost.Report(t)
			unreviewed := proof.Row{Name: "unreviewed changes in a project under review, " + name, Lost: len(f.unreviewed), Control: "no request is refused for a review",
				Figures: []proof.Figure{{Name: "kills", Value: f.kills}, {Name: "direct writes refused", Value: f.refused}, {Name: "versions", Value: len(f.versions)}}}
			unreviewed.Caught = len(killReviewers(t, database(t), 0, plant.Unreviewed).unreviewed) > 0
			unreviewed.Report(t)
			for _, complaint := range slices.Concat(f.lost, f.unreviewed, f.sick)[:min(10, len(f.lost)+len(f.unreviewed)+len(f.sick))] {
				t.Error(complaint)
			}
			f.checkComparison(t)
		})
	}
}

// killReviewers kills servers while clients propose and accept, each at its point, and compares in the end what was
// acknowledged with what is there. With a fault the servers that are killed have it.
func killReviewers(t *testing.T, database string, kills int, fault plant.Control) *reviewFindings {
	t.Helper()
	p := newProgram(t, database).prepare(t)
	admin, err := fill.Admin(p.Data, p.Database, p.key, p.Workspace(t, "Reviewers"))
	if err != nil {
		t.Fatal(err)
	}
	victim := p
	if fault != plant.None {
		victim = p.as(proctest.Planted(t, fault))
	}
	s := p.start(t, nil)
	project := s.make(t, "/api/v1/projects", map[string]any{"name": "Manual"})
	document := s.make(t, "/api/v1/documents", map[string]any{"title": "Page", "project_id": project, "content": shared(map[int]int{})})
	s.must(t, http.MethodPatch, "/api/v1/projects/"+project, map[string]any{"review": map[string]any{"approvals": 1}})
	s.terminate(t)
	f := &reviewFindings{kills: kills}
	l := startReviewers(t, document, admin)
	for i := range kills {
		point, pass, limit := textPoints[i%len(textPoints)], 1+rand.IntN(20), diesWithin
		if fault == plant.EarlyAnswer {
			point, pass, limit = failpoint.BeforeCommit, 30+rand.IntN(20), within // late enough that clients were answered
		}
		s := victim.start(t, nil, killAt(point, pass))
		l.target(s)
		s.dies(point, limit)
		if i%doctorEvery == doctorEvery-1 {
			f.doctor(t, p)
		}
	}
	last := p
	if fault == plant.Unreviewed { // which needs no kill to show
		last = victim
	}
	s = last.start(t, nil)
	l.target(s)
	l.end(t)
	f.compare(t, s, l)
	s.terminate(t)
	f.doctor(t, p)
	return f
}

// shared is the text of the document that all clients propose to change: each has a line that only it changes, and they
// are far enough apart that all changes merge.
func shared(values map[int]int) string {
	var b strings.Builder
	for i := range clients {
		fmt.Fprintf(&b, "client %d: %d\n\npart %d\n\n", i, values[i], i)
	}
	return b.String()
}

// valueOf returns the number in the line of a client.
func valueOf(text string, client int) (n int) {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, fmt.Sprintf("client %d: ", client)); ok {
			fmt.Sscan(rest, &n)
		}
	}
	return n
}

// reviewers are clients that propose and accept until they are stopped.
type reviewers struct {
	gone     <-chan struct{} // closed when the test is over, however it ended
	ended    atomic.Bool     // no change is begun any more
	group    sync.WaitGroup
	document string
	admin    string // key of a person who approves and accepts

	mu         sync.Mutex     // guards what follows
	server     *server        // nil before the first
	accepted   map[string]int // number of the change by proposal, for what was acknowledged
	by         map[string]int // client by proposal
	refused    int            // direct writes
	complaints []string       // what a client was told that cannot be
	unreviewed []string       // direct writes that were acknowledged
}

func startReviewers(t *testing.T, document, admin string) *reviewers {
	l := &reviewers{gone: t.Context().Done(), document: document, admin: admin, accepted: map[string]int{}, by: map[string]int{}}
	for i := range clients {
		l.group.Go(func() {
			for n := 1; !l.ended.Load() && l.change(i, n); n++ {
				time.Sleep(5 * time.Millisecond) // the pace of the load
			}
		})
	}
	return l
}

// change has the client's line say n, by a proposal that somebody else approves and accepts, and tries to write it
// directly too. It reports false if the test is over or something was refused without a reason.
func (l *reviewers) change(client, n int) bool {
	var d struct {
		Content string
		Version int
	}
	path := "/api/v1/documents/" + l.document
	if status, ok := l.ask(false, http.MethodGet, path, "", nil, &d); !ok || !l.want(status, http.StatusOK, "GET") {
		return false
	}
	text := strings.Replace(d.Content, fmt.Sprintf("client %d: %d\n", client, valueOf(d.Content, client)), fmt.Sprintf("client %d: %d\n", client, n), 1)
	var made struct{ ID string }
	body := map[string]any{"title": fmt.Sprintf("%d of client %d", n, client), "changes": []any{
		map[string]any{"op": "edit", "document_id": l.document, "base_version": d.Version, "content": text}}}
	once := fmt.Sprintf("%d-%d", client, n)
	if status, ok := l.ask(false, http.MethodPost, "/api/v1/proposals", once, body, &made); !ok || !l.want(status, http.StatusCreated, "propose") {
		return false
	}
	if status, ok := l.ask(true, http.MethodPost, "/api/v1/proposals/"+made.ID+"/approve", "", nil, nil); !ok || !l.want(status, http.StatusOK, "approve") {
		return false
	}
	if status, ok := l.ask(false, http.MethodPatch, path, "", map[string]any{"content": text + "directly\n"}, nil); ok {
		l.wrote(status)
	}
	status, ok := l.ask(true, http.MethodPost, "/api/v1/proposals/"+made.ID+"/accept", once, nil, nil)
	if !ok || !l.want(status, http.StatusOK, "accept") {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.accepted[made.ID], l.by[made.ID] = n, client
	return true
}

// ask repeats a request until it is answered. It reports false if the test is over.
func (l *reviewers) ask(asAdmin bool, method, path, once string, body, answer any) (status int, ok bool) {
	for {
		if s := l.to(); s != nil {
			key := s.key
			if asAdmin {
				key = l.admin
			}
			if status, err := s.send(key, method, path, once, body, answer); err == nil && status < 500 {
				return status, true
			}
		}
		select {
		case <-l.gone:
			l.ended.Store(true)
			return 0, false
		case <-time.After(5 * time.Millisecond): // the server is away: the pace of trying again
		}
	}
}

// send makes a request about a proposal that nobody changes.
func (s *server) send(key, method, path, once string, body, answer any) (status int, err error) {
	header := http.Header{"If-Match": {`"1-0"`}}
	if method != http.MethodPost {
		header = http.Header{}
	}
	if once != "" {
		header.Set("Idempotency-Key", once)
	}
	content := ""
	if body != nil {
		header.Set("Content-Type", "application/json")
		content = text(body)
	}
	res, err := s.request(key, method, path, content, header)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err == nil && answer != nil {
		err = json.Unmarshal(b, answer)
	}
	return res.StatusCode, err
}

// want notes an answer that there is no reason for.
func (l *reviewers) want(status, want int, what string) bool {
	if status == want {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.complaints = append(l.complaints, fmt.Sprintf("%s is answered with %d", what, status))
	return false
}

// wrote notes what a direct write was answered.
func (l *reviewers) wrote(status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if status == http.StatusForbidden {
		l.refused++
	} else {
		l.unreviewed = append(l.unreviewed, fmt.Sprintf("a direct write is answered with %d", status))
	}
}

func (l *reviewers) to() *server {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.server
}

func (l *reviewers) target(s *server) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.server = s
}

// end stops the clients, each when its last acceptance has been answered.
func (l *reviewers) end(t *testing.T) {
	t.Helper()
	counts := func() (accepted, complaints int) {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.accepted), len(l.complaints)
	}
	had, _ := counts()
	sheaftest.Eventually(t, "proposals are accepted again", func() bool {
		accepted, complaints := counts()
		return accepted >= had+clients || complaints > 0 // a client that complains ends
	})
	l.ended.Store(true)
	l.group.Wait()
}

// reviewFindings is what is compared in the end.
type reviewFindings struct {
	kills, refused int
	accepted, by   map[string]int    // as the clients were told
	states         map[string]string // of proposals
	versions       []reviewedVersion // of the document, oldest first
	decided        map[string]int    // events by proposal

	lost, unreviewed, sick []string
}

type reviewedVersion struct {
	Proposal *string `json:"proposal_id"`
	Content  string
}

func (f *reviewFindings) acknowledged() int { return len(f.accepted) }

// compare gathers what is there, and notes everything that contradicts the promises.
func (f *reviewFindings) compare(t *testing.T, s *server, l *reviewers) {
	t.Helper()
	f.accepted, f.by, f.refused, f.states, f.decided = l.accepted, l.by, l.refused, map[string]string{}, map[string]int{}
	for offset := 0; ; offset += 100 {
		var page struct{ Data []struct{ ID, State string } }
		s.call(http.MethodGet, fmt.Sprintf("/api/v1/proposals?limit=100&offset=%d", offset), nil, &page)
		for _, p := range page.Data {
			f.states[p.ID] = p.State
		}
		if len(page.Data) < 100 {
			break
		}
	}
	var d struct{ Version int }
	s.call(http.MethodGet, "/api/v1/documents/"+l.document, nil, &d)
	for n := range d.Version {
		var v reviewedVersion
		if status, err := s.call(http.MethodGet, fmt.Sprintf("/api/v1/documents/%s/versions/%d", l.document, n+1), nil, &v); err != nil || status != http.StatusOK {
			t.Fatalf("version %d: %d, %v", n+1, status, err)
		}
		f.versions = append(f.versions, v)
	}
	accepting := false
	s.each(t, "/api/v1/events", func(i item) {
		switch i.Type {
		case "proposal.accepted":
			accepting = true
			f.decided[i.Resource]++
		case "document.updated":
			if !accepting {
				f.unreviewed = append(f.unreviewed, fmt.Sprintf("event %s changes the document after no acceptance", i.ID))
			}
			accepting = false
		}
	})
	f.unreviewed = append(f.unreviewed, l.unreviewed...)
	for n, v := range f.versions[1:] {
		if v.Proposal == nil {
			f.unreviewed = append(f.unreviewed, fmt.Sprintf("version %d is of no proposal", n+2))
		}
	}
	f.lost = append(l.complaints, f.missing()...)
}

// missing returns which acceptances are not there, or not as they were proposed, and which are there without an answer.
func (f *reviewFindings) missing() (out []string) {
	complain := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	made, values := map[string]int{}, map[int]int{}
	for n, v := range f.versions[1:] {
		if v.Proposal == nil {
			continue
		}
		made[*v.Proposal]++
		values[f.by[*v.Proposal]] = f.accepted[*v.Proposal]
		if want := shared(values); v.Content != want {
			complain("version %d is %q, want %q", n+2, v.Content, want)
		}
	}
	for id, n := range f.accepted {
		if f.states[id] != "accepted" || made[id] != 1 || f.decided[id] != 1 {
			complain("proposal %s, the change %d of client %d, was acknowledged: it is %q, with %d versions and %d events", id, n, f.by[id], f.states[id], made[id], f.decided[id])
		}
	}
	for id, state := range f.states {
		if _, told := f.accepted[id]; !told && state == "accepted" {
			complain("proposal %s is accepted, and nobody was told", id)
		}
	}
	return out
}

// doctor examines the stored data.
func (f *reviewFindings) doctor(t *testing.T, p *program) {
	t.Helper()
	violations, err := sheaftest.Doctor(p.Binary, p.Flags()...)
	if err != nil {
		t.Fatalf("doctor: %v", err)
	}
	for _, v := range violations {
		f.sick = append(f.sick, fmt.Sprintf("doctor: %s: %s", v.Check, v.Text))
	}
}

// checkComparison takes one thing away after the other: each must be missed.
func (f *reviewFindings) checkComparison(t *testing.T) {
	t.Helper()
	for what, take := range map[string]func(*reviewFindings){
		"a version": func(g *reviewFindings) { g.versions = g.versions[:len(g.versions)-1] },
		"an event":  func(g *reviewFindings) { removeAny(g.decided) },
		"an answer": func(g *reviewFindings) { removeAny(g.accepted) },
		"a state":   func(g *reviewFindings) { removeAny(g.states) },
		"a letter": func(g *reviewFindings) {
			last := &g.versions[len(g.versions)-1]
			last.Content = last.Content[1:]
		},
	} {
		g := *f
		g.versions, g.decided, g.accepted, g.states = slices.Clone(f.versions), maps.Clone(f.decided), maps.Clone(f.accepted), maps.Clone(f.states)
		take(&g)
		if len(g.missing()) == 0 {
			t.Errorf("%s was taken away, and nobody noticed", what)
		}
	}
}
