package search_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/search"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/store"
)

func (w *world) tamper(sql string, args ...any) {
	w.t.Helper()
	if err := w.index.Tamper(context.Background(), sql, args...); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) count(sql string) int64 {
	w.t.Helper()
	n, err := w.index.Count(context.Background(), sql)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

func (w *world) wantTitles(c app.Caller, text string, want ...string) {
	w.t.Helper()
	page := w.find(c, text)
	if diff := cmp.Diff(append([]string{}, want...), titles(page)); diff != "" || page.Total != int64(len(want)) {
		w.t.Errorf("a search for %q, total %d (-want +got):\n%s", text, page.Total, diff)
	}
}

// damage makes the index wrong without its noticing. Only a rebuilt index is right again.
func (w *world) damage() { w.tamper(`UPDATE search_texts SET title = 'damaged', body = 'damaged'`) }

// D92: a record is found as soon as its write was answered. A changed or deleted one is no longer
// found. This holds whether the index has the change or not.
func TestSearch_IsAsOfTheAnswer(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		c, ctx := w.workspace(), context.Background()
		for _, settled := range []bool{false, true} {
			settle := func() {
				if settled {
					w.catchUp()
				}
			}
			d := w.document(c, "Kingfisher", "blue")
			settle()
			w.wantTitles(c, "kingfisher", "Kingfisher")
			if _, err := w.app.UpdateDocument(ctx, c, d.ID, sheaf.DocumentChange{Title: sheaf.Some("Heron")}, sheaf.Match{}); err != nil {
				t.Fatal(err)
			}
			w.wantTitles(c, "kingfisher")
			w.wantTitles(c, "heron", "Heron")
			settle()
			w.wantTitles(c, "kingfisher")
			w.wantTitles(c, "heron", "Heron")
			if err := w.app.DeleteDocument(ctx, c, d.ID, sheaf.Match{}); err != nil {
				t.Fatal(err)
			}
			w.wantTitles(c, "heron")
			settle()
			w.wantTitles(c, "heron")
			if _, err := w.app.RestoreDocument(ctx, c, d.ID); err != nil {
				t.Fatal(err)
			}
			w.wantTitles(c, "heron", "Heron")
			settle()
			w.wantTitles(c, "heron", "Heron")
			if err := w.app.DeleteDocument(ctx, c, d.ID, sheaf.Match{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// D92: the total is as of the answer too, also for records that are not on the page. Changes that
// the index lacks are counted as the store has them.
func TestSearch_TotalIsAsOfTheAnswer(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		c, ctx := w.workspace(), context.Background()
		var all []sheaf.Document
		for range 4 {
			all = append(all, w.document(c, "Heron", "grey"))
		}
		w.catchUp()
		total := func(want int64) {
			t.Helper()
			page, err := w.app.Search(ctx, c, sheaf.SearchQuery{Text: "heron", Paging: sheaf.Paging{Limit: 1}})
			if err != nil || page.Total != want || len(page.Items) != 1 {
				t.Errorf("found %d, %v, want %d", page.Total, err, want)
			}
		}
		total(4)
		if _, err := w.app.UpdateDocument(ctx, c, all[0].ID, sheaf.DocumentChange{Title: sheaf.Some("Stork")}, sheaf.Match{}); err != nil {
			t.Fatal(err)
		}
		total(3)
		if err := w.app.DeleteDocument(ctx, c, all[1].ID, sheaf.Match{}); err != nil {
			t.Fatal(err)
		}
		total(2)
	})
}

// D92: a hit of the index is shown only if the store confirms it.
func TestSearch_ShowsNothingThatTheStoreDoesNotHave(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		c := w.workspace()
		w.document(c, "Heron", "grey")
		w.catchUp()
		w.damage()
		w.wantTitles(c, "damaged")
		w.wantTitles(c, "heron") // control: this is how a wrong index answers
	})
}

// D92: an index that cannot continue from its cursor is rebuilt.
func TestFollow_BuildsAnewWhatCannotGoOn(t *testing.T) {
	for name, spoil := range map[string]func(*world, app.Caller){
		"of another form":            func(w *world, _ app.Caller) { w.tamper(`UPDATE search_spaces SET form = 0`) },
		"ahead of the log":           func(w *world, _ app.Caller) { w.tamper(`UPDATE search_spaces SET cursor = cursor + 3`) },
		"of another history":         func(w *world, c app.Caller) { w.tamper(`UPDATE search_spaces SET mark = workspace`) },
		"older than what is kept":    (*world).loseLog,
		"asked for by sheaf reindex": func(w *world, _ app.Caller) { w.askReindex() },
		"of another history, and behind it": func(w *world, c app.Caller) {
			w.tamper(`UPDATE search_spaces SET mark = workspace`)
			w.document(c, "Wren", "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				c := w.workspace()
				w.document(c, "Heron", "grey")
				w.catchUp()
				w.damage()
				w.catchUp()
				w.wantTitles(c, "heron") // control: it continues, and is wrong
				spoil(w, c)
				w.catchUp()
				w.wantTitles(c, "heron", "Heron")
				if n := w.count(`SELECT COUNT(*) FROM search_spaces`); n != 1 {
					t.Errorf("%d spaces are left of one workspace", n)
				}
			})
		})
	}
}

// loseLog writes more, and deletes that from the log before the index has seen it.
func (w *world) loseLog(c app.Caller) {
	w.document(c, "Wren", "")
	w.document(c, "Robin", "")
	err := w.store.Write(context.Background(), func(tx *store.Tx) error {
		log, _, err := tx.Log(c.Workspace)
		if err == nil {
			_, err = tx.DeleteEvents(c.Workspace, log.Last-1, 100)
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) askReindex() {
	err := w.store.Write(context.Background(), func(tx *store.Tx) error {
		_, err := tx.AskReindex()
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// A start with ten thousand unchanged workspaces runs no query for any of them.
func TestFollow_StartsWithoutAskingForEach(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var callers []app.Caller
		for range 3 {
			c := w.workspace()
			w.document(c, "Heron", "grey")
			callers = append(callers, c)
		}
		w.catchUp()
		var asked int
		err := w.index.Record(t.Context(), func(sql string, _ [][]any) {
			if strings.Contains(sql, "WHERE workspace = ") {
				asked++
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		for changed, change := range []func(){func() {}, func() { w.document(callers[1], "Wren", "") }} {
			change()
			asked = 0
			w.catchUp()
			if asked != changed {
				t.Errorf("%d workspaces were asked for, and %d had changed", asked, changed)
			}
		}
		w.wantTitles(callers[1], "wren", "Wren")
	})
}

// D92: if the log has lost only events that the index has, the index continues. So a workspace in
// which nothing happened for as long as the log is kept is not rebuilt.
func TestFollow_GoesOnBehindWhatIsNotKept(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		c := w.workspace()
		w.document(c, "Heron", "grey")
		w.catchUp()
		before := w.count(`SELECT MAX(space) FROM search_spaces`)
		err := w.store.Write(context.Background(), func(tx *store.Tx) error {
			_, err := tx.DeleteEvents(c.Workspace, 1, 100)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		w.catchUp()
		w.wantTitles(c, "heron", "Heron")
		w.document(c, "Wren", "grey")
		w.wantTitles(c, "grey", "Wren", "Heron")
		w.catchUp()
		w.wantTitles(c, "grey", "Wren", "Heron")
		if after := w.count(`SELECT MAX(space) FROM search_spaces`); after != before {
			t.Error("the index was built anew")
		}
	})
}

// If the file is lost, truncated or overwritten, it is rebuilt.
func TestOpen_MakesAMissingOrDamagedFileAnew(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(path string) error{
		"missing": os.Remove,
		"garbage": func(path string) error { return os.WriteFile(path, make([]byte, 20_000), 0o600) },
		"cut":     func(path string) error { return os.Truncate(path, 5000) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, onSQLite(t))
			c := w.workspace()
			w.document(c, "Heron", "grey")
			w.catchUp()
			if err := w.index.Close(); err != nil {
				t.Fatal(err)
			}
			if err := harm(filepath.Join(w.opts.Folder, search.FileName)); err != nil {
				t.Fatal(err)
			}
			w.wantTitles(c, "heron", "Heron")
			w.catchUp()
			w.wantTitles(c, "heron", "Heron")
			if n := w.count(`SELECT COUNT(*) FROM search_texts`); n != 1 {
				t.Errorf("the index has %d records", n)
			}
		})
	}
}

// D92: if the file is damaged or lost while a server has it open, it is rebuilt, and searches are
// right again without an operator.
func TestFollow_ReplacesAFileThatIsDamagedUnderIt(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(path string) error{
		"taken away":  os.Remove,
		"overwritten": overwritePages,
		"cut":         func(path string) error { return os.Truncate(path, 8192) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, onSQLite(t))
			c := w.workspace()
			for i := range 200 {
				w.document(c, fmt.Sprint("Heron ", i), strings.Repeat("grey and patient ", 100))
			}
			w.catchUp()
			// Reopened, so that everything is in the file and nothing in memory.
			if err := errors.Join(w.index.Close(), w.index.Open(context.Background())); err != nil {
				t.Fatal(err)
			}
			if err := harm(filepath.Join(w.opts.Folder, search.FileName)); err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() { ended <- w.index.Run(ctx) }()
			sheaftest.Eventually(t, "a new file that has everything", func() bool {
				page, err := w.app.Search(ctx, c, sheaf.SearchQuery{Text: "patient", Paging: sheaf.Paging{Limit: 1}})
				return err == nil && page.Total == 200 && w.index.Sound(ctx, 200)
			})
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// overwritePages damages all of a file but its first page.
func overwritePages(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(bytes.Repeat([]byte("damage "), int(info.Size()-8192)/7), 8192)
	return errors.Join(err, f.Close())
}

// D8, D90: the id of all zeros names no project and no folder. It does not find records that are in
// none.
func TestSearch_TheIDOfNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		c := w.workspace()
		w.document(c, "Heron", "grey")
		project, folder := sheaf.ProjectID(sheaf.FormatUUID([16]byte{})), sheaf.FolderID(sheaf.FormatUUID([16]byte{}))
		for _, taken := range []bool{false, true} {
			if taken {
				w.catchUp()
			}
			for _, q := range []sheaf.SearchQuery{{Project: &project}, {Folder: &folder}} {
				q.Text, q.Limit = "heron", 10
				page, err := w.app.Search(context.Background(), c, q)
				if err != nil || page.Total != 0 || len(page.Items) != 0 {
					t.Errorf("in the index %t: %d hits, %v", taken, page.Total, err)
				}
			}
		}
	})
}

// D92: while an index is rebuilt, the previous one answers.
func TestFollow_AnswersWhileItBuildsAnew(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.index.Small(3, 1000)
		c := w.workspace()
		for i := range 20 {
			w.document(c, fmt.Sprintf("Heron %02d", i), "grey")
		}
		w.catchUp()
		w.askReindex()
		// This is what a follower that died halfway leaves.
		if more, err := w.index.Step(context.Background(), c.Workspace); err != nil || !more {
			t.Fatal(more, err)
		}
		if n := w.count(`SELECT COUNT(*) FROM search_spaces`); n != 2 {
			t.Fatalf("%d spaces, want the one that serves and the one that is built", n)
		}
		w.document(c, "Heron 20", "grey")
		if n := len(w.find(c, "heron").Items); n != 21 {
			t.Errorf("%d hits, want 21", n)
		}
		w.catchUp()
		if n := len(w.find(c, "heron").Items); n != 21 {
			t.Errorf("%d hits, want 21", n)
		}
		if n := w.count(`SELECT COUNT(*) FROM search_texts`); n != 21 {
			t.Errorf("the index has %d records, want 21: the one before has not left", n)
		}
	})
}

// Records that change leave holes in their chunks. Chunks with few records left are emptied and
// deleted. Eight records are left of each: from eight on, PostgreSQL moves all by one statement.
func TestFollow_GathersWhatIsLeftOfChunks(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.index.Small(24, 1000)
		c := w.workspace()
		var docs []sheaf.Document
		for i := range 72 {
			docs = append(docs, w.document(c, fmt.Sprintf("Heron %02d", i), "grey"))
		}
		w.catchUp()
		for i, d := range docs {
			if i%3 == 0 {
				continue
			}
			if err := w.app.DeleteDocument(context.Background(), c, d.ID, sheaf.Match{}); err != nil {
				t.Fatal(err)
			}
		}
		w.catchUp()
		if n := len(w.find(c, "heron").Items); n != 24 {
			t.Errorf("%d hits, want 24", n)
		}
		if n := w.count(`SELECT COUNT(*) FROM search_chunks`); n > 2 {
			t.Errorf("%d chunks are left for 24 records, at 24 each", n)
		}
		for _, table := range []string{"search_grams", "search_terms", "search_heads"} {
			if n := w.count(`SELECT COUNT(*) FROM ` + table + ` WHERE at >> 10 NOT IN (SELECT at >> 10 FROM search_chunks)`); n != 0 {
				t.Errorf("%d rows of %s are left of chunks that are gone", n, table)
			}
		}
	})
}

// A batch after which nothing follows ends the work for its workspace. Otherwise, as long as a
// client writes, passes would follow each other without the pause in which writes collect.
func TestFollow_ALastBatchIsTheEnd(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		c := w.workspace()
		w.document(c, "Heron", "grey")
		w.catchUp()
		w.document(c, "Wren", "brown")
		if more, err := w.index.Step(context.Background(), c.Workspace); err != nil || more {
			t.Errorf("more %t, %v", more, err)
		}
		if n := w.count(`SELECT COUNT(*) FROM search_texts`); n != 2 {
			t.Errorf("the index has %d records, want 2", n)
		}
	})
}

// If two nodes follow at once, because one lost its lock without noticing, the index is the same as
// with one.
func TestFollow_TwoAtOnceDoNoHarm(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.index.Small(5, 3)
		second := w.newIndex()
		second.Small(5, 3)
		for _, x := range []*search.Index{w.index, second} {
			if err := x.Open(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		c := w.workspace()
		var want []string
		for i := range 60 {
			want = append(want, w.document(c, fmt.Sprintf("Heron %02d", i), "grey").Title)
			if i%6 == 0 {
				var both sync.WaitGroup
				for _, x := range []*search.Index{w.index, second} {
					both.Go(func() {
						if err := x.CatchUpUnlocked(context.Background()); err != nil {
							t.Error(err)
						}
					})
				}
				both.Wait()
			}
		}
		w.catchUp()
		got := titles(w.find(c, "heron grey"))
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("what was found (-want +got):\n%s", diff)
		}
		if n := w.count(`SELECT COUNT(*) FROM search_texts`); n != 60 {
			t.Errorf("the index has %d records, want 60", n)
		}
	})
}

// If two nodes find that a workspace has no space, one of them begins it and the other joins it. A
// second space could end up serving beside the first, and stay for ever.
func TestFollow_TwoAtOnceBeginOneSpace(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		c := w.workspace()
		w.document(c, "Heron", "grey")
		second := w.newIndex()
		var found []error
		for _, x := range []*search.Index{w.index, second} {
			if err := x.Open(context.Background()); err != nil {
				t.Fatal(err)
			}
			found = append(found, x.BeginSpace(context.Background(), c.Workspace))
		}
		if found[0] != nil || !errors.Is(found[1], search.ErrLost) {
			t.Errorf("the two got %v, want none and ErrLost", found)
		}
		w.catchUp()
		if n := w.count(`SELECT COUNT(*) FROM search_spaces`); n != 1 {
			t.Errorf("the index has %d spaces, want 1", n)
		}
	})
}

// D92: the index follows by itself. Commits wake it, and it polls at least every second without
// them. Of several nodes, one follows.
func TestRun_FollowsWhatIsCommitted(t *testing.T) {
	if search.PollEvery > time.Second || search.GatherFor > 500*time.Millisecond {
		t.Errorf("it looks every %v and gathers for %v: too late for 2 seconds", search.PollEvery, search.GatherFor)
	}
	each(t, func(t *testing.T, w *world) {
		ctx, stop := context.WithCancel(context.Background())
		var running sync.WaitGroup
		defer running.Wait()
		defer stop()
		for _, x := range []*search.Index{w.index, w.newIndex()}[:w.nodes()] {
			running.Go(func() {
				if err := x.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		c := w.workspace()
		w.document(c, "Heron", "grey")
		records := func(n int64) {
			t.Helper()
			sheaftest.Eventually(t, fmt.Sprintf("%d records in the index", n), func() bool {
				if err := w.index.Open(ctx); err != nil {
					t.Fatal(err)
				}
				return w.count(`SELECT COUNT(*) FROM search_texts`) == n
			})
		}
		records(1)
		w.document(c, "Wren", "brown")
		records(2)
	})
}

// nodes returns how many nodes may share one store: several on PostgreSQL.
func (w *world) nodes() int {
	if w.opts.DatabaseURL != "" {
		return 2
	}
	return 1
}

// D92: a search waits for an index that lags too far. If the index does not catch up in time, the
// search returns an error that says so.
func TestSearch_WaitsForAnIndexThatIsTooFarBehind(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		c := w.workspace()
		w.document(c, "Heron", "grey")
		w.catchUp()
		w.tamper(`UPDATE search_spaces SET cursor = cursor + 3`)
		w.index.Within(50 * time.Millisecond)
		_, err := w.app.Search(context.Background(), c, sheaf.SearchQuery{Text: "heron", Paging: sheaf.Paging{Limit: 10}})
		if sheaf.KindOf(err) != sheaf.Unavailable {
			t.Errorf("got %v, want that it is unavailable", err)
		}
		w.index.Within(time.Hour)
		var page sheaf.Page[sheaf.Hit]
		var waiting sync.WaitGroup
		waiting.Go(func() {
			page, err = w.app.Search(context.Background(), c, sheaf.SearchQuery{Text: "heron", Paging: sheaf.Paging{Limit: 10}})
		})
		w.catchUp()
		waiting.Wait()
		if err != nil || len(page.Items) != 1 {
			t.Errorf("got %v (%v)", titles(page), err)
		}
	})
}

// One workspace gets only some of the slots for searches, so that others find one.
func TestView_LeavesPlacesForOthers(t *testing.T) {
	w := newWorld(t, onSQLite(t))
	ctx, greedy, other := context.Background(), w.workspace(), w.workspace()
	q := sheaf.SearchQuery{Text: "heron"}
	held, release := make(chan struct{}), make(chan struct{})
	var searches sync.WaitGroup
	for range 50 {
		searches.Go(func() {
			err := w.index.View(ctx, greedy.Workspace, q, func(context.Context, *search.View) error {
				select {
				case held <- struct{}{}:
				default:
				}
				<-release
				return nil
			})
			if err != nil && sheaf.KindOf(err) != sheaf.Unavailable {
				t.Error(err)
			}
		})
	}
	<-held
	if err := w.index.View(ctx, other.Workspace, q, func(context.Context, *search.View) error { return nil }); err != nil {
		t.Errorf("beside the searches of another workspace: %v", err)
	}
	close(release)
	searches.Wait()
}
