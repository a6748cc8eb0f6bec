package crash

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/failpoint"
	"sheaf.dev/internal/media"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/sheaftest/plant"
	"sheaf.dev/internal/sheaftest/proctest"
	"sheaf.dev/internal/sheaftest/proof"
	"sheaf.dev/internal/sheaftest/s3test"
	"sheaf.dev/internal/store"
)

// mediaPoints are the moments of a server that is killed while files are uploaded and deleted; "" is a random one.
var mediaPoints = []string{"", failpoint.Announced, failpoint.Writing, failpoint.Appended, failpoint.Joining, failpoint.Stored,
	failpoint.Removing, failpoint.Removed, failpoint.BeforeCommit, failpoint.AfterCommit, failpoint.BeforeAnswer}

// D100, D101, D104: over kills at random and at named moments, a medium that was acknowledged has its bytes and its event,
// and bytes that belong to nothing are gone after the sweep.
func TestKill_EveryAcknowledgedMediumHasItsBytes(t *testing.T) {
	for name, place := range map[string]func(*testing.T) *mediaProgram{
		"SQLite and a folder":     func(t *testing.T) *mediaProgram { return newMediaProgram(t, "", nil) },
		"PostgreSQL and a bucket": func(t *testing.T) *mediaProgram { return newMediaProgram(t, pgtest.URL(t), s3test.Start(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := killUploads(t, place(t), proof.Rounds(4, 60, 400), plant.None)
			row := f.row("kill -9 amid uploads, " + name)
			row.Figures = append([]proof.Figure{{Name: "kills", Value: f.kills}}, row.Figures...)
			row.Control = "live before its bytes are stored"
			row.Caught = proof.Catches(func() bool {
				return len(killUploads(t, place(t), proof.Rounds(1, 3, 5), plant.BytesLast).complaints) > 0
			})
			row.Report(t)
			f.report(t)
		})
	}
}

// D104: the S3 service is killed again and again while files are uploaded and deleted. A file whose
// upload was confirmed is there, and an upload that was not stored gets 503.
func TestKill_TheServiceOfABucket(t *testing.T) {
	t.Parallel()
	begin := func() (*mediaProgram, *s3test.Server) {
		service := s3test.Start(t)
		return newMediaProgram(t, "", service), service
	}
	p, service := begin()
	f := killService(t, p, service, proof.Rounds(3, 40, 200), plant.None)
	row := f.row("S3 service killed amid uploads, SQLite and a bucket")
	row.Figures = append([]proof.Figure{{Name: "kills", Value: f.kills}}, row.Figures...)
	row.Control = "live before its bytes are stored"
	row.Caught = proof.Catches(func() bool {
		p, service := begin()
		return len(killService(t, p, service, proof.Rounds(2, 5, 10), plant.BytesLast).complaints) > 0
	})
	row.Report(t)
	f.report(t)
}

// mediaProgram is the program with the place of its files.
type mediaProgram struct {
	*program
	files media.Store // the same place, for who looks at it when nobody serves
	keys  []string    // an upload that was begun, and whose client does not know it, counts for its key
}

// newMediaProgram returns the program on an empty store, whose files are in its folder or, with a service, in a bucket.
func newMediaProgram(t *testing.T, database string, service *s3test.Server) *mediaProgram {
	t.Helper()
	p := &mediaProgram{program: newProgram(t, database)}
	p.files = media.Folder(filepath.Join(p.Data, "media"))
	if service != nil {
		p.Env = append(service.Env(), "SHEAF_MEDIA_URL="+service.URL())
		bucket, err := media.Bucket(service.URL(), media.BucketOptions{Getenv: service.Getenv, Spool: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		p.files = bucket
	}
	workspace := p.Ask(t, "workspace", "create", "--name", "Acme", "--plan", "business")["id"].(string)
	for range proof.Rounds(2, 12, 60) {
		p.keys = append(p.keys, p.Ask(t, "key", "create", "--workspace", workspace, "--name", "k", "--scopes", "all")["key"].(string))
	}
	p.key = p.keys[0]
	return p
}

// victim is the program that is killed: with the fault, unless it is None.
func (p *mediaProgram) victim(t *testing.T, fault plant.Control) *program {
	t.Helper()
	if fault == plant.None {
		return p.program
	}
	return p.as(proctest.Planted(t, fault))
}

// killUploads kills servers while clients upload and delete, each at its point, and compares in the end what was
// acknowledged with what is there. With a fault the servers that are killed have it, and die at the point where it shows.
func killUploads(t *testing.T, p *mediaProgram, kills int, fault plant.Control) *mediaFindings {
	t.Helper()
	victim := p.victim(t, fault)
	f := &mediaFindings{kills: kills}
	u := startUploaders(t, p.keys)
	for i := range kills {
		point, limit := mediaPoints[i%len(mediaPoints)], diesWithin
		if fault != plant.None {
			point, limit = failpoint.Stored, within
		}
		s := victim.start(t, nil, killAt(point, 1+mathrand.IntN(6)))
		u.target(s)
		s.dies(point, limit)
		if i%doctorEvery == doctorEvery-1 {
			f.doctor(t, p)
		}
	}
	f.settle(t, p, p.start(t, nil), u)
	return f
}

// killService kills the S3 service again and again while clients upload and delete. Each time one more client uploads a file
// that nobody deletes, and the service starts again when that file was refused.
func killService(t *testing.T, p *mediaProgram, service *s3test.Server, kills int, fault plant.Control) *mediaFindings {
	t.Helper()
	s := p.victim(t, fault).start(t, nil)
	f := &mediaFindings{kills: kills}
	u := startUploaders(t, p.keys)
	u.target(s)
	for i := range kills {
		time.Sleep(time.Duration(20+mathrand.IntN(200)) * time.Millisecond) // any moment will do
		service.Stop()
		var late sync.WaitGroup
		late.Go(func() { u.upload(clients, 4*i) }) // a whole file, which stays
		sheaftest.Eventually(t, "an upload is refused while there is no service", func() bool { return u.wasRefused(nameOf(clients, 4*i)) })
		service.Restart()
		late.Wait()
	}
	f.settle(t, p, s, u)
	return f
}

// mediaFindings is what is compared in the end.
type mediaFindings struct {
	kills, acks, refused, gaveUp int

	known  map[string]*file  // by id, by the clients
	unsure map[string]bool   // names of files whose last answer nobody has
	stored map[string]string // by id, what the bytes are that the API gives
	names  map[string]string // by id
	events map[string]int    // media.uploaded, by id
	strays []string          // what is stored, and is nobody's after the sweep

	complaints                 []string
	lost, missing, stray, sick int
}

// settle stops the clients, when each has its answer, and gathers what is there: by the server, and when that has ended
// where the files are.
func (f *mediaFindings) settle(t *testing.T, p *mediaProgram, s *server, u *uploaders) {
	t.Helper()
	u.target(s)
	u.end(t)
	f.known, f.unsure, f.acks, f.refused, f.gaveUp = u.files, u.unsure, u.acks, u.refused, len(u.unsure)
	f.stored, f.names, f.events = map[string]string{}, map[string]string{}, map[string]int{}
	s.each(t, "/api/v1/media", func(i item) {
		f.stored[i.ID], f.names[i.ID] = s.content(i.ID), i.Filename
	})
	s.each(t, "/api/v1/events", func(i item) {
		if i.Type == "media.uploaded" {
			f.events[i.Resource]++
		}
	})
	s.terminate(t)
	f.doctor(t, p)
	f.strays = p.sweep(t, f.stored)
	f.complaints = append(f.complaints, u.complaints...)
	f.lost = len(u.complaints)
	f.compare()
}

// content is what the bytes of a medium are, in a word.
func (s *server) content(id string) string {
	status, _, body, err := s.ask(http.MethodGet, "/api/v1/media/"+id+"/content", nil, nil)
	if err != nil || status != http.StatusOK {
		return fmt.Sprintf("not there: %d, %v", status, err)
	}
	return sum(body)
}

// compare notes everything that contradicts the promise.
func (f *mediaFindings) compare() {
	for id, k := range f.known {
		got, there := f.stored[id]
		switch {
		case !k.deleted && !there && !k.unsure:
			f.complain(&f.lost, "%s (%s) was acknowledged and is not there", k.name, id)
		case there && got != k.sum:
			f.complain(&f.lost, "%s (%s) was acknowledged, and its bytes are %s", k.name, id, got)
		case k.deleted && there:
			f.complain(&f.lost, "%s (%s) was deleted and is there", k.name, id)
		}
		if f.events[id] != 1 {
			f.complain(&f.missing, "%s (%s) has %d events", k.name, id, f.events[id])
		}
	}
	for id, got := range f.stored {
		if len(got) != len(sum(nil)) {
			f.complain(&f.lost, "%s (%s) is there, and its bytes are %s", f.names[id], id, got)
		}
		if f.known[id] == nil && !f.unsure[f.names[id]] {
			f.complain(&f.lost, "%s (%s) is there, and nobody was told", f.names[id], id)
		}
	}
	for _, s := range f.strays {
		f.complain(&f.stray, "after the sweep there is %s, which is nobody's", s)
	}
}

func (f *mediaFindings) complain(count *int, format string, args ...any) {
	*count++
	f.complaints = append(f.complaints, fmt.Sprintf(format, args...))
}

// doctor examines the stored data and its files.
func (f *mediaFindings) doctor(t *testing.T, p *mediaProgram) {
	t.Helper()
	violations, err := sheaftest.DoctorWith(p.Env, p.Binary, p.Flags()...)
	if err != nil {
		t.Fatalf("doctor: %v", err)
	}
	for _, v := range violations {
		f.complain(&f.sick, "doctor: %s: %s", v.Check, v.Text)
	}
}

func (f *mediaFindings) row(name string) proof.Row {
	return proof.Row{Name: name, Lost: len(f.complaints), Figures: []proof.Figure{{Name: "acknowledged", Value: f.acks},
		{Name: "refused with 503", Value: f.refused}, {Name: "given up", Value: f.gaveUp}, {Name: "acknowledged without bytes", Value: f.lost},
		{Name: "events missing", Value: f.missing}, {Name: "bytes of nobody after the sweep", Value: f.stray}, {Name: "violations", Value: f.sick}}}
}

// report fails the test for what was found, and when the comparison would not have found it.
func (f *mediaFindings) report(t *testing.T) {
	t.Helper()
	for _, complaint := range f.complaints[:min(len(f.complaints), 10)] {
		t.Error(complaint)
	}
	for what, take := range map[string]func(*mediaFindings, string){
		"a medium":   func(g *mediaFindings, id string) { delete(g.stored, id) },
		"its bytes":  func(g *mediaFindings, id string) { g.stored[id] = "not there: 404" },
		"others":     func(g *mediaFindings, id string) { g.stored[id] = sum([]byte("others")) },
		"its event":  func(g *mediaFindings, id string) { delete(g.events, id) },
		"its client": func(g *mediaFindings, id string) { delete(g.known, id) },
	} {
		g := *f
		g.stored, g.events, g.known, g.complaints = maps.Clone(f.stored), maps.Clone(f.events), maps.Clone(f.known), nil
		for id, k := range f.known {
			if _, there := f.stored[id]; there && !k.unsure && !f.unsure[k.name] {
				take(&g, id)
				break
			}
		}
		if g.compare(); len(g.complaints) == 0 {
			t.Errorf("%s was taken away, and nobody noticed", what)
		}
	}
}

// sweep runs the server's media sweep as if a day had passed. It returns the stored files that belong to no medium.
func (p *mediaProgram) sweep(t *testing.T, live map[string]string) (strays []string) {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{Folder: p.Data, DatabaseURL: p.Database})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	later := func() time.Time { return time.Now().Add(25 * time.Hour) }
	operator := app.New(app.Config{Store: st, Now: later, Random: rand.Reader, Media: p.files}).Operator()
	unsettled := func() (n int) {
		err := st.Read(t.Context(), func(r *store.Reader) error {
			media, err := r.UnsettledMedia(later(), 1)
			if err != nil {
				return err
			}
			uploads, err := r.ExpiredUploads(later(), 1)
			n = len(media) + len(uploads)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for unsettled() > 0 {
		if err := operator.SettleMedia(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.files.Tidy(t.Context(), later()); err != nil {
		t.Fatal(err)
	}
	return p.strays(t.Context(), t, live)
}

// strays are the bytes of no medium, and what is left of uploads.
func (p *mediaProgram) strays(ctx context.Context, t *testing.T, live map[string]string) (strays []string) {
	t.Helper()
	known := map[string]bool{}
	for _, hash := range live {
		known[hash] = true
	}
	note := func(what string) error { strays = append(strays, what); return nil }
	err := p.files.Workspaces(ctx, func(ws string) error {
		return p.files.List(ctx, ws, func(key media.Key, _ int64) error {
			if known[key.Hash()] {
				return nil
			}
			return note("the file " + key.Hash())
		})
	})
	if err == nil {
		err = p.files.Uploads(ctx, func(name string) error { return note("the upload " + name) })
	}
	if err != nil {
		t.Fatal(err)
	}
	return strays
}
