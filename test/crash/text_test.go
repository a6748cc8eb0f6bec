package crash

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sheaf.dev/internal/failpoint"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/sheaftest/plant"
	"sheaf.dev/internal/sheaftest/proctest"
	"sheaf.dev/internal/sheaftest/proof"
)

// textPoints are the moments of a server that is killed while texts are written; "" is a random one.
var textPoints = []string{"", failpoint.Begun, failpoint.BeforeCommit, failpoint.AfterCommit, failpoint.BeforeAnswer}

// textsOf is how many texts a document gets, one after the other, before its client begins the next.
const textsOf = 10

// D82, D84: over kills at random and at named moments, a text that was acknowledged is there as the version that was told,
// with its event. Clients repeat a PUT until it is answered: each text is one version, however often it was sent.
func TestKill_EveryAcknowledgedTextIsThere(t *testing.T) {
	for name, database := range map[string]func(*testing.T) string{
		"SQLite":     func(*testing.T) string { return "" },
		"PostgreSQL": func(t *testing.T) string { return pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := killWriters(t, newProgram(t, database(t)).prepare(t), proof.Rounds(5, 125, 500), plant.None)
			row := f.row("kill -9 amid texts, " + name)
			row.Control = "answers before the commit"
			row.Caught = proof.Catches(func() bool {
				planted := killWriters(t, newProgram(t, database(t)).prepare(t), proof.Rounds(2, 7, 14), plant.EarlyAnswer)
				return len(planted.complaints) > 0
			})
			row.Report(t)
			for _, complaint := range f.complaints[:min(len(f.complaints), 10)] {
				t.Error(complaint)
			}
			f.checkComparison(t)
		})
	}
}

// killWriters kills servers while clients write texts, each at its point, and compares in the end what was acknowledged
// with what is there. With a fault the servers that are killed have it, and die at the point where it shows.
func killWriters(t *testing.T, p *program, kills int, fault plant.Control) *textFindings {
	t.Helper()
	victim := p
	if fault != plant.None {
		victim = p.as(proctest.Planted(t, fault))
	}
	f := &textFindings{kills: kills}
	w := startWriters(t)
	for i := range kills {
		point, pass, limit := textPoints[i%len(textPoints)], 1+rand.IntN(20), diesWithin
		if fault != plant.None {
			point, pass, limit = failpoint.BeforeCommit, 30+rand.IntN(20), within // late enough that clients were answered
		}
		s := victim.start(t, nil, killAt(point, pass))
		w.target(s)
		s.dies(point, limit)
		if i%doctorEvery == doctorEvery-1 {
			f.doctor(t, p)
		}
	}
	s := p.start(t, nil)
	w.target(s)
	f.settle(t, s, w)
	s.terminate(t)
	f.doctor(t, p)
	return f
}

// written is what its client knows of a document.
type written struct {
	client, number int
	acked          int // number of texts acknowledged
}

// text is the text that a document's client sends as its k-th, counted from 1: another one each time, of up to 40 KB.
func (d *written) text(k int) string {
	line := fmt.Sprintf("text %d of document %d of client %d\n", k, d.number, d.client)
	return strings.Repeat(line, 1+(37*k+101*d.number)%1000)
}

// writers are clients that write texts until they are stopped.
type writers struct {
	gone  <-chan struct{} // closed when the test is over, however it ended
	ended atomic.Bool     // no text is begun any more
	group sync.WaitGroup

	mu         sync.Mutex // guards what follows
	server     *server    // nil before the first
	documents  map[string]*written
	acks       int
	complaints []string // what a client was told that cannot be
}

func startWriters(t *testing.T) *writers {
	w := &writers{gone: t.Context().Done(), documents: map[string]*written{}}
	for i := range clients {
		w.group.Go(func() {
			for n := 0; !w.ended.Load(); n++ {
				w.write(&written{client: i, number: n})
			}
		})
	}
	return w
}

// write makes a document and gives it its texts. It ends early where the document is refused.
func (w *writers) write(d *written) {
	body := map[string]any{"title": fmt.Sprintf("document %d of client %d", d.number, d.client), "content": d.text(1)}
	path := "/api/v1/documents?external_id=" + url.QueryEscape(fmt.Sprintf("%d:%d", d.client, d.number))
	id, ok := w.ask(d, 1, func(s *server, answer *document) (int, error) { return s.call(http.MethodPut, path, body, answer) })
	if !ok {
		return
	}
	w.mu.Lock()
	w.documents[id] = d
	w.mu.Unlock()
	for k := 2; k <= textsOf && ok && !w.ended.Load(); k++ {
		_, ok = w.ask(d, k, func(s *server, answer *document) (int, error) {
			return s.put("/api/v1/documents/"+id+"/content", d.text(k), answer)
		})
		time.Sleep(5 * time.Millisecond) // the pace of the load
	}
}

// document is what the API says of one.
type document struct {
	ID      string
	Version int
}

// ask repeats a PUT of the k-th text until it is answered, and notes what the answer says. It reports false when the text
// is refused, which the server has no reason for, and when the test is over.
func (w *writers) ask(d *written, k int, put func(*server, *document) (int, error)) (id string, ok bool) {
	for {
		var answer document
		status, err := 0, error(nil)
		if s := w.to(); s != nil {
			status, err = put(s, &answer)
		}
		switch {
		case err == nil && status/100 == 2:
			w.acknowledge(d, k, answer)
			return answer.ID, true
		case err == nil && status/100 == 4:
			w.complain("document %d of client %d: its text %d is refused with %d", d.number, d.client, k, status)
			return "", false
		}
		select {
		case <-w.gone:
			w.ended.Store(true)
			return "", false
		case <-time.After(5 * time.Millisecond): // the server is away: the pace of trying again
		}
	}
}

func (w *writers) acknowledge(d *written, k int, answer document) {
	if answer.Version != k {
		w.complain("document %s: its text %d is acknowledged as version %d", answer.ID, k, answer.Version)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	d.acked = k
	w.acks++
}

func (w *writers) complain(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.complaints = append(w.complaints, fmt.Sprintf(format, args...))
}

func (w *writers) to() *server {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.server
}

func (w *writers) target(s *server) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.server = s
}

// end stops the clients, each when its last text has been answered.
func (w *writers) end(t *testing.T) {
	t.Helper()
	acks := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.acks + len(w.complaints)
	}
	had := acks()
	sheaftest.Eventually(t, "texts are acknowledged again", func() bool { return acks() >= had+clients })
	w.ended.Store(true)
	w.group.Wait()
}

// put sends a text as it is.
func (s *server) put(path, text string, answer *document) (status int, err error) {
	return proctest.Send(client, s.URL, s.key, http.MethodPut, path, "text/markdown", strings.NewReader(text), answer)
}

// textFindings is what is compared in the end.
type textFindings struct {
	kills, acks int

	documents map[string]*written // by the clients
	stored    map[string][]string // the texts by version, by the API
	events    map[string][]int    // the versions that the log tells, in its order

	complaints           []string
	told, lost, sick, of int // of complaints: by clients, by comparison, by the doctor; of is how many versions there are
}

// settle stops the clients and gathers what is there.
func (f *textFindings) settle(t *testing.T, s *server, w *writers) {
	t.Helper()
	w.end(t)
	f.documents, f.acks = w.documents, w.acks
	f.complaints, f.told = append(f.complaints, w.complaints...), len(w.complaints)
	f.stored, f.events = map[string][]string{}, map[string][]int{}
	s.each(t, "/api/v1/documents", func(i item) {
		for n := range i.Version {
			f.stored[i.ID] = append(f.stored[i.ID], s.version(t, i.ID, n+1))
			f.of++
		}
	})
	s.each(t, "/api/v1/events", func(i item) { f.events[i.Resource] = append(f.events[i.Resource], i.Payload.Version) })
	missing := f.compare()
	f.complaints, f.lost = append(f.complaints, missing...), len(missing)
}

// version reads the text of a version.
func (s *server) version(t *testing.T, id string, n int) string {
	t.Helper()
	var answer struct{ Content string }
	if status, err := s.call(http.MethodGet, fmt.Sprintf("/api/v1/documents/%s/versions/%d", id, n), nil, &answer); err != nil || status != http.StatusOK {
		return fmt.Sprintf("%d, %v", status, err)
	}
	return answer.Content
}

// compare returns everything that contradicts the promise. Every client was answered in the end, so what is there is
// what was acknowledged and nothing else.
func (f *textFindings) compare() (missing []string) {
	for id, d := range f.documents {
		if n := len(f.stored[id]); n != d.acked {
			missing = append(missing, fmt.Sprintf("document %s has %d versions, of %d that were acknowledged", id, n, d.acked))
		}
		if got := f.events[id]; !slices.Equal(got, upTo(d.acked)) {
			missing = append(missing, fmt.Sprintf("document %s: the log tells versions %v, of %d that were acknowledged", id, got, d.acked))
		}
		for i, text := range f.stored[id] {
			if text != d.text(i+1) {
				missing = append(missing, fmt.Sprintf("document %s: version %d is %.60q", id, i+1, text))
			}
		}
	}
	for id := range f.stored {
		if f.documents[id] == nil {
			missing = append(missing, fmt.Sprintf("document %s is there, and nobody was told", id))
		}
	}
	return missing
}

// upTo returns 1 to n.
func upTo(n int) (numbers []int) {
	for i := range n {
		numbers = append(numbers, i+1)
	}
	return numbers
}

// doctor examines the stored data.
func (f *textFindings) doctor(t *testing.T, p *program) {
	t.Helper()
	violations, err := sheaftest.Doctor(p.Binary, p.Flags()...)
	if err != nil {
		t.Fatalf("doctor: %v", err)
	}
	for _, v := range violations {
		f.sick++
		f.complaints = append(f.complaints, fmt.Sprintf("doctor: %s: %s", v.Check, v.Text))
	}
}

func (f *textFindings) row(name string) proof.Row {
	return proof.Row{Name: name, Lost: f.told + f.lost + f.sick, Figures: []proof.Figure{{Name: "kills", Value: f.kills},
		{Name: "documents", Value: len(f.documents)}, {Name: "texts acknowledged", Value: f.acks}, {Name: "versions", Value: f.of},
		{Name: "violations", Value: f.sick}}}
}

// checkComparison takes one thing away after the other: each must be missed.
func (f *textFindings) checkComparison(t *testing.T) {
	t.Helper()
	for what, take := range map[string]func(*textFindings, string){
		"a version":  func(g *textFindings, id string) { g.stored[id] = g.stored[id][1:] },
		"an event":   func(g *textFindings, id string) { g.events[id] = g.events[id][1:] },
		"a document": func(g *textFindings, id string) { delete(g.stored, id) },
		"a letter": func(g *textFindings, id string) {
			g.stored[id] = slices.Clone(g.stored[id])
			g.stored[id][0] = g.stored[id][0][1:]
		},
	} {
		g := *f
		g.stored, g.events = maps.Clone(f.stored), maps.Clone(f.events)
		for id := range g.stored {
			take(&g, id)
			break
		}
		if len(g.compare()) == 0 {
			t.Errorf("%s was taken away, and nobody noticed", what)
		}
	}
}
