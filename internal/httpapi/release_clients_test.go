package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/sheaftest/proof"
	"sheaf.dev/internal/sweep"
)

// D183, D184: 64 clients change, delete, restore and permanently delete the documents of a project, and make and
// delete releases of it. Beside them a sweep removes versions and the trash at once. A release keeps the texts and
// the media that it had when it was made. It loses a document only if a client asked for that.
func TestReleases_ManyClients(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		s := newShelf(t, a)
		stop := s.sweep(t, a)
		together(64, func(i int) {
			r := rand.New(rand.NewPCG(uint64(i), 184))
			for range proof.Rounds(6, 100, 1000) {
				s.step(t, r)
			}
		})
		stop()
		wantSound(t, a)
		if err := a.App.Operator().RemoveStrayBytes(t.Context()); err != nil {
			t.Fatal(err)
		}
		seen := s.look(t)
		missing := s.missing(seen)
		for _, text := range append(s.complaints, missing[:min(10, len(missing))]...) {
			t.Error(text)
		}
		row := proof.Row{Name: "release texts missing, " + engineOf(t), Lost: len(missing) + len(s.complaints), Control: "a copy without a text; one with another text; one without a file",
			Figures: []proof.Figure{{Name: "releases made", Value: len(s.made)}, {Name: "deleted", Value: len(s.deleted)}, {Name: "texts compared", Value: len(seen)},
				{Name: "documents deleted for good", Value: len(s.purged)}, {Name: "documents removed by the sweep", Value: s.swept(t)}}}
		row.Caught = s.notices(seen)
		row.Report(t)
		if len(s.made) == 0 || len(s.purged) == 0 || len(seen) == 0 {
			t.Errorf("%d releases, %d documents deleted for good and %d texts: want some of each", len(s.made), len(s.purged), len(seen))
		}
	})
}

// shelf is the project that the clients work on, and what they were told.
type shelf struct {
	*apitest.Client
	project string // its path
	media   []string
	pool    *idPool

	mu         sync.Mutex // guards what follows
	count      int        // documents that were created
	made       map[string]map[string]string
	deleted    map[string]bool // releases that a client asked to delete
	purged     map[string]bool // documents that a client asked to take out of releases
	complaints []string
}

func newShelf(t *testing.T, a *apitest.API) *shelf {
	c := a.Workspace(sheaf.Business).Client("")
	path, _ := book(t, c)
	s := &shelf{Client: c, project: path, pool: &idPool{ids: map[string][]string{}}, made: map[string]map[string]string{}, deleted: map[string]bool{}, purged: map[string]bool{}}
	for i := range 4 {
		s.media = append(s.media, upload(c, picture(t, 4+i, 3), "?filename=a.png").Want(t, 201).Text(t, "id"))
	}
	for range 20 {
		s.create(t)
	}
	return s
}

// textOf is the text of a version of the document with this title. The same version always has the same text.
func (s *shelf) textOf(title string, version int) string {
	return fmt.Sprintf("%s, version %d\n\n![it](media:%s)\n", title, version, s.media[version%len(s.media)])
}

// sweep removes what is not kept, again and again, until stop is called.
func (s *shelf) sweep(t *testing.T, a *apitest.API) (stop func()) {
	begun := time.Now()
	sweeper := sweep.New(sweep.Config{Store: a.Store, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: a.Clock.Now, Retention: 24 * time.Hour,
		TrashRetention: time.Nanosecond, VersionRetention: time.Nanosecond, PurgeTrash: a.App.Operator().PurgeTrash, FinishReleases: a.App.Operator().FinishReleases,
		Elapsed: func() time.Duration { return time.Since(begun) }})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := sweeper.Once(ctx); err != nil && ctx.Err() == nil {
				t.Errorf("sweep: %v", err)
			}
		}
	}()
	return func() { cancel(); <-done }
}

// step does something at random.
func (s *shelf) step(t *testing.T, r *rand.Rand) {
	id, _ := s.pool.any(documents, r).(string)
	switch r.IntN(12) {
	case 0:
		s.create(t)
	case 1:
		s.judge(s.DELETE(at(documents, id)))
	case 2:
		s.judge(s.POST(at(documents, id)+"/restore", nil))
	case 3:
		s.purge(id, r)
	case 4, 5:
		s.freeze(t, r)
	case 6:
		s.unfreeze(r)
	case 7:
		if r.IntN(8) == 0 {
			s.judge(s.DELETE(at("/api/v1/media", s.media[r.IntN(2)]))) // the others stay, so that releases have files to the end
		}
	default:
		if d := s.GET(at(documents, id)); d.Status == 200 {
			text := s.textOf(d.Text(t, "title"), int(d.JSON["version"].(float64))+1)
			s.judge(s.PATCH(at(documents, id), fields{"content": text}, "If-Match: "+d.Header.Get("ETag")))
		}
	}
}

// judge notes an answer that there is no reason for.
func (s *shelf) judge(r *apitest.Response) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Err != nil || r.Status >= 500 && r.Status != 503 {
		s.complaints = append(s.complaints, fmt.Sprintf("got %d %s %v", r.Status, r.Body, r.Err))
	}
	return r.Err == nil && r.Status < 300
}

func (s *shelf) create(t *testing.T) {
	s.mu.Lock()
	s.count++
	title := fmt.Sprintf("Page %d", s.count)
	s.mu.Unlock()
	if d := s.POST(documents, fields{"title": title, "project_id": strings.TrimPrefix(s.project, projects+"/"), "content": s.textOf(title, 1)}); s.judge(d) {
		s.pool.add(documents, d.Text(t, "id"))
	}
}

// purge deletes a document for good, now and then also from the releases that have it.
func (s *shelf) purge(id string, r *rand.Rand) {
	query := ""
	if r.IntN(3) == 0 {
		query = "?releases=true"
		s.mu.Lock()
		s.purged[id] = true // before the request: another client may see the effect before this one is answered
		s.mu.Unlock()
	}
	s.judge(s.DELETE(at(documents, id) + "/permanent" + query))
}

// freeze makes a release and notes what it shows.
func (s *shelf) freeze(t *testing.T, r *rand.Rand) {
	made := s.POST(s.project+"/releases", fields{"name": fmt.Sprintf("Release %d", r.Uint64())})
	if !s.judge(made) {
		return
	}
	id := made.Text(t, "id")
	shows := s.shows(t, id)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made[id] = shows
	s.pool.add("releases", id)
}

func (s *shelf) unfreeze(r *rand.Rand) {
	id, _ := s.pool.any("releases", r).(string)
	if id == "" || r.IntN(4) > 0 {
		return
	}
	s.mu.Lock()
	s.deleted[id] = true
	s.mu.Unlock()
	s.judge(s.DELETE(at("/api/v1/releases", id)))
}

// shows returns the text of each document that a release shows, and the sizes of the files that the text names.
func (s *shelf) shows(t *testing.T, id string) map[string]string {
	out := map[string]string{}
	release := at("/api/v1/releases", id)
	tree := s.GET(release + "/tree")
	if tree.Status != 200 {
		return out // another client deleted it
	}
	for _, document := range tree.IDs(t) {
		d := s.GET(release + "/documents/" + document)
		if d.Status != 200 {
			continue // another client took it out
		}
		text := d.Text(t, "content")
		out[document] = text
		if want := s.textOf(d.Text(t, "title"), int(d.JSON["version"].(float64))); text != want {
			s.mu.Lock()
			s.complaints = append(s.complaints, fmt.Sprintf("release %s shows document %s as %q, want %q", id, document, text, want))
			s.mu.Unlock()
		}
		for _, medium := range s.media {
			if strings.Contains(text, medium) {
				if file := s.GET(release + "/media/" + medium + "/content"); file.Status == 200 {
					out[document+" "+medium] = fmt.Sprint(len(file.Body))
				}
			}
		}
	}
	return out
}

// look returns what the releases show now, by release and document.
func (s *shelf) look(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for id := range s.made {
		if !s.deleted[id] {
			for key, text := range s.shows(t, id) {
				out[id+" "+key] = text
			}
		}
	}
	return out
}

// missing returns which texts and files of releases are not shown any more, or otherwise.
func (s *shelf) missing(seen map[string]string) (out []string) {
	for id, shown := range s.made {
		if s.deleted[id] {
			continue
		}
		for key, want := range shown {
			document, _, _ := strings.Cut(key, " ")
			if got, ok := seen[id+" "+key]; got != want && !s.purged[document] {
				out = append(out, fmt.Sprintf("release %s showed of %s %q, and now %q (%t)", id, key, want, got, ok))
			}
		}
	}
	return out
}

// swept returns how many documents exist neither in the list nor in the trash.
func (s *shelf) swept(t *testing.T) int {
	return len(s.pool.ids[documents]) - len(wholeList(t, s.Client, documents, 100)) - len(wholeList(t, s.Client, documents+"?deleted=true", 100))
}

// notices reports whether each thing that is taken away from a copy is missed.
func (s *shelf) notices(seen map[string]string) bool {
	notices := func(file bool, change func(copied map[string]string, key string)) bool {
		for key := range seen {
			ids := strings.Fields(key)
			if s.purged[ids[1]] || s.made[ids[0]][strings.TrimPrefix(key, ids[0]+" ")] == "" || len(ids) == 3 != file {
				continue
			}
			copied := maps.Clone(seen)
			change(copied, key)
			return len(s.missing(copied)) == len(s.missing(seen))+1
		}
		return false
	}
	remove := func(copied map[string]string, key string) { delete(copied, key) }
	return notices(false, remove) && notices(true, remove) && notices(false, func(copied map[string]string, key string) { copied[key] += "x" })
}
