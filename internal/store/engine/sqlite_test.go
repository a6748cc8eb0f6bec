package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
)

// asGroup runs the closures as one group of the writer, in their order, and
// returns their errors.
func asGroup(t *testing.T, s Engine, fns ...func(*Tx) error) []error {
	t.Helper()
	w := s.(*SQLite).writer
	errs := make([]error, len(fns))
	inside, release := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	w.span = time.Hour // however long the machine takes to queue all jobs
	all.Go(func() {
		// The group's first member: jobs that are queued while it waits join the same group.
		s.Write(context.Background(), func(*Tx) error { close(inside); <-release; return nil })
	})
	<-inside
	for i, fn := range fns {
		all.Go(func() { errs[i] = s.Write(context.Background(), fn) })
		sheaftest.Eventually(t, "it stands in the queue", func() bool { return w.queue.waiting() > i })
	}
	close(release)
	all.Wait()
	return errs
}

func TestSQLite_MembersAreCommittedTogether(t *testing.T) {
	s := sqliteTest(t)
	e := s
	commits := make(map[int]bool)
	member := func(id string) func(*Tx) error {
		return func(tx *Tx) error {
			commits[e.writer.queue.waiting()] = true
			if err := insert(id)(tx); err != nil {
				return err
			}
			if got := things(t, s); got != "w" {
				return fmt.Errorf("a reader sees %s before the commit", got)
			}
			return nil
		}
	}
	for _, err := range asGroup(t, s, member("x"), member("y"), member("z")) {
		if err != nil {
			t.Error(err)
		}
	}
	if got := things(t, s); got != "w x y z" || len(commits) != 3 {
		t.Errorf("got %s in %d queue lengths", got, len(commits))
	}
}

// A replay and a 409 are errors that name a record. They must not name one that was rolled back.
func TestSQLite_AnErrorThatRestsOnWhatWasUndoneIsNotReturned(t *testing.T) {
	for _, spoiled := range []int{0, 1, 2, 3} { // position of the member that fails after a change
		t.Run(fmt.Sprint("member ", spoiled, " spoils it"), func(t *testing.T) {
			t.Parallel()
			s := sqliteTest(t)
			made, runs := "", 0
			create := func(tx *Tx) error {
				name, found, err := One(&tx.Reader, "SELECT name FROM things WHERE id = 'x'", (*Row).Text)
				if err != nil || found {
					return errors.Join(err, &taken{name})
				}
				runs++
				made = fmt.Sprint("run ", runs)
				return insertNamed("x", made)(tx)
			}
			var members []func(*Tx) error
			for range 3 {
				members = append(members, create)
			}
			spoil := func(tx *Tx) error { return errors.Join(setKind("w", "free")(tx), errSpoiled) }
			errs := asGroup(t, s, slices.Insert(members, spoiled, spoil)...)
			if err := errs[spoiled]; !errors.Is(err, errSpoiled) {
				t.Errorf("the one that fails got %v", err)
			}
			for i, err := range slices.Delete(errs, spoiled, spoiled+1) {
				var holder *taken
				if i == 0 && err != nil || i > 0 && (!errors.As(err, &holder) || holder.holder != made) {
					t.Errorf("member %d got %v, and the thing is %q", i, err, made)
				}
			}
			if got := valueOf(t, s, "name", "x"); got != made {
				t.Errorf("stored is %q, want %q", got, made)
			}
		})
	}
}

// As on a full disk or an I/O error: SQLite rolls back the transaction during a member, and with it
// the changes of the others.
func TestSQLite_EngineRollsBackUnderOneMember_OthersRunAgain(t *testing.T) {
	for _, swallow := range []bool{false, true} {
		t.Run(fmt.Sprintf("error swallowed %t", swallow), func(t *testing.T) {
			s := sqliteTest(t)
			own, runs := errors.New("own"), map[string]int{}
			counted := func(name string) func(*Tx) error {
				return func(tx *Tx) error { runs[string(name)]++; return insert(name)(tx) }
			}
			undo := func(tx *Tx) error {
				runs["undo"]++
				if _, err := tx.Changed("ROLLBACK"); err != nil {
					return err
				}
				if swallow {
					return nil
				}
				return own
			}
			refused := func(tx *Tx) error { runs["refused"]++; return own }
			errs := asGroup(t, s, counted("x"), refused, undo, counted("y"), undo, counted("z"))
			for i, want := range []error{nil, own, own, nil, own, nil} {
				if i == 2 || i == 4 {
					if sheaf.KindOf(errs[i]) != sheaf.Unavailable {
						t.Errorf("member %d: got %v, want Unavailable", i, errs[i])
					}
				} else if !errors.Is(errs[i], want) {
					t.Errorf("member %d: got %v, want %v", i, errs[i], want)
				}
			}
			if got := things(t, s); got != "w x y z" {
				t.Errorf("got %s", got)
			}
			if runs["undo"] != 2 || runs["refused"] < 2 || runs["x"] < 2 {
				t.Errorf("runs: %v", runs)
			}
			put(t, s, "later")
		})
	}
}

// fill limits how far the file of the writer's connection can grow.
func fill(t *testing.T, s Engine, more int64) (room func()) {
	t.Helper()
	pragma := func(text string) {
		err := s.Write(context.Background(), func(tx *Tx) error { return tx.Query(text, func(*Row) {}) })
		if err != nil {
			t.Fatal(err)
		}
	}
	var pages int64
	err := s.Write(context.Background(), func(tx *Tx) (err error) {
		pages, err = tx.Count("PRAGMA page_count")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	pragma(fmt.Sprintf("PRAGMA max_page_count = %d", pages+more))
	return func() { pragma("PRAGMA max_page_count = 1000000") }
}

func TestSQLite_FullDisk_IsUnavailableAndPasses(t *testing.T) {
	s := sqliteTest(t)
	room := fill(t, s, 3)
	big := insertNamed("big", strings.Repeat("x", 1<<20))
	errs := asGroup(t, s, insert("x"), big, insert("y"), big)
	for i, want := range []bool{true, false, true, false} {
		if (errs[i] == nil) != want || errs[i] != nil && sheaf.KindOf(errs[i]) != sheaf.Unavailable {
			t.Errorf("member %d: got %v", i, errs[i])
		}
	}
	if got := things(t, s); got != "w x y" {
		t.Errorf("while full: %s", got)
	}
	room()
	if err := s.Write(context.Background(), big); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if got := things(t, s); got != "big w x y" {
		t.Errorf("with room again: %s", got)
	}
}

// A failed commit is no member's own fault. On SQLite a deferred foreign key, which is checked only
// at the commit, makes it fail.
func TestSQLite_CommitFails_EveryMemberIsUnavailable(t *testing.T) {
	var notes []any
	var settled []bool
	o := Options{Folder: t.TempDir(), Committing: func(ns []any) func(bool) {
		notes = append(notes, ns...)
		return func(committed bool) { settled = append(settled, committed) }
	}}
	s := openTest(t, o)
	put(t, s, "w")
	notes, settled = nil, nil
	dangle := func(tx *Tx) error {
		if err := tx.Query("PRAGMA defer_foreign_keys = ON", func(*Row) {}); err != nil {
			return err
		}
		tx.Note = "dangle"
		return tx.Exec("INSERT INTO parts (id, thing) VALUES ('p', 'nothing')")
	}
	own := errors.New("own")
	refused := func(tx *Tx) error { tx.Note = "refused"; return own }
	// The first member has read only committed data; the second may name a record that does not
	// exist.
	for i, err := range asGroup(t, s, refused, insert("x"), dangle, refused, raise) {
		if i == 0 {
			if err != own {
				t.Errorf("member %d: got %v, want its own error", i, err)
			}
		} else if sheaf.KindOf(err) != sheaf.Unavailable || errors.Is(err, ErrReference) {
			t.Errorf("member %d: got %v, want Unavailable and no constraint of its own", i, err)
		}
	}
	// The first note is that of asGroup's own member.
	if got := things(t, s); got != "w" || fmt.Sprint(notes) != "[<nil> <nil> dangle <nil>]" || fmt.Sprint(settled) != "[false]" {
		t.Errorf("after the failed commit: %s, notes %v, settled %v", got, notes, settled)
	}
	put(t, s, "later")
	if !s.(*SQLite).writer.conn.c.AutocommitEnabled() {
		t.Error("a transaction was left open")
	}
}

// A busy machine may take longer to poll; the interval between two polls is ours.
func TestSQLite_CommitOfAnotherProcessIsNoticed(t *testing.T) {
	if watchEvery > time.Second {
		t.Errorf("it looks every %s, which leaves no room for the 2 s that are promised", watchEvery)
	}
	noticed := make(chan struct{}, 100)
	o := Options{Folder: t.TempDir(), Elsewhere: func() { noticed <- struct{}{} }}
	here := openTest(t, o)
	there := openTest(t, Options{Folder: o.Folder})
	put(t, here, "w")
	if len(noticed) > 0 {
		t.Error("it noticed its own commit")
	}
	put(t, there, "x")
	select {
	case <-noticed:
	case <-time.After(5 * time.Minute):
		t.Fatal("not noticed")
	}
}

func TestSQLite_TwoProcessesWriteTheSameFile(t *testing.T) {
	folder := t.TempDir()
	stores := []Engine{openTest(t, Options{Folder: folder}), openTest(t, Options{Folder: folder})}
	put(t, stores[0], "w")
	var all sync.WaitGroup
	const each = 40
	for _, s := range stores {
		for range 4 {
			all.Go(func() {
				for range each / 4 {
					err := s.Write(context.Background(), raise)
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	all.Wait()
	for i, s := range stores {
		if got := valueOf(t, s, "version", "w"); got != fmt.Sprint(1+2*each) {
			t.Errorf("store %d: version %s, want %d", i, got, 1+2*each)
		}
	}
}

func TestSQLite_ReaderCannotWrite(t *testing.T) {
	s := sqliteTest(t)
	err := s.Read(context.Background(), func(r *Reader) error {
		_, err := r.conn.exec("DELETE FROM things", nil)
		return err
	})
	if err == nil || things(t, s) != "w" {
		t.Errorf("a reader wrote: %v", err)
	}
}

func TestSQLite_EveryConnectionIsDurable(t *testing.T) {
	s := sqliteTest(t)
	e := s
	check := func(r *Reader) error {
		for pragma, want := range map[string]int64{"synchronous": 2, "foreign_keys": 1, "trusted_schema": 0} {
			if got, err := r.Count("PRAGMA " + pragma); err != nil || got != want {
				t.Errorf("%s is %d, %v, want %d", pragma, got, err, want)
			}
		}
		mode, _, err := One(r, "PRAGMA journal_mode", (*Row).Text)
		if mode != "wal" {
			t.Errorf("journal_mode is %s", mode)
		}
		return err
	}
	for range e.size {
		if err := s.Read(context.Background(), check); err != nil {
			t.Error(err)
		}
	}
	if err := s.Write(context.Background(), func(tx *Tx) error { return check(&tx.Reader) }); err != nil {
		t.Error(err)
	}
}

func TestSQLite_PanickingReaderIsReturned(t *testing.T) {
	s := sqliteTest(t)
	e := s
	for range 2 * e.size {
		func() {
			defer func() { recover() }()
			s.Read(context.Background(), func(*Reader) error { panic("by the test") })
		}()
	}
	if got := things(t, s); got != "w" {
		t.Errorf("got %s", got)
	}
}

func TestSQLite_ClosedStoreIsUnavailable(t *testing.T) {
	s, err := openMigrated(Options{Folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := s.Write(ctx, insert("x")); sheaf.KindOf(err) != sheaf.Unavailable {
		t.Errorf("write: got %v, want Unavailable", err)
	}
}

func TestSQLite_CloseWaitsForTheWritesUnderWay(t *testing.T) {
	folder := t.TempDir()
	s, err := openMigrated(Options{Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	inside, release, wrote := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		wrote <- s.Write(context.Background(), func(tx *Tx) error { close(inside); <-release; return insert("x")(tx) })
	}()
	<-inside
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	close(release)
	if err := errors.Join(<-wrote, <-closed); err != nil {
		t.Error(err)
	}
	again := openTest(t, Options{Folder: folder})
	if got := things(t, again); got != "x" {
		t.Errorf("after reopening: %q", got)
	}
}

// A write that has not begun is withdrawn if its caller leaves, and has no effect. If it has begun,
// its caller waits.
func TestSQLite_AWriteThatHasNotBegunIsWithdrawn(t *testing.T) {
	t.Parallel()
	s := sqliteTest(t)
	e := s
	inside, release, first, second := make(chan struct{}), make(chan struct{}), make(chan error, 1), make(chan error, 1)
	go func() {
		first <- s.Write(context.Background(), func(*Tx) error { close(inside); <-release; return nil })
	}()
	<-inside
	ctx, leave := context.WithCancel(context.Background())
	go func() { second <- s.Write(ctx, insert("withdrawn")) }()
	sheaftest.Eventually(t, "it stands in the queue", func() bool { return e.writer.queue.waiting() > 0 })
	leave()
	select {
	case err := <-second:
		if sheaf.KindOf(err) != sheaf.Unavailable {
			t.Errorf("the caller who left got %v", err)
		}
	case <-time.After(5 * time.Minute):
		t.Error("the caller who left waits for the writer")
	}
	close(release)
	if err := <-first; err != nil {
		t.Error(err)
	}
	ctx, leave = context.WithCancel(context.Background())
	begun := func(tx *Tx) error {
		leave()
		return insert("begun")(tx)
	}
	if err := s.Write(ctx, begun); err != nil {
		t.Errorf("a caller who left while it was under way got %v", err)
	}
	if got := things(t, s); got != "begun w" {
		t.Errorf("%q are stored", got)
	}
}

// No call waits forever for a stuck writer.
func TestWriter_TheWaitForTheTurnIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &writer{queue: newQueue()} // which no goroutine serves
		began := time.Now()
		for _, tenant := range []string{"a", "a", "b"} {
			go func() {
				err := w.do(context.Background(), tenant, false, nil)
				if !errors.Is(err, ErrQueue) || sheaf.KindOf(err) != sheaf.Unavailable || time.Since(began) != WriteTimeout {
					t.Errorf("got %v after %v, want %v after %v", err, time.Since(began), ErrQueue, WriteTimeout)
				}
			}()
		}
		synctest.Wait()
		time.Sleep(WriteTimeout) // simulated
		synctest.Wait()
		if n := w.queue.waiting(); n != 0 {
			t.Errorf("the writer would begin %d jobs that were refused", n)
		}
	})
}

func execFile(t *testing.T, path string, statements ...string) {
	t.Helper()
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, text := range statements {
		if err := sqlitex.ExecuteTransient(c, text, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// refuses checks that Open and Migrate reject the folder, with one line that says what to do, and
// leave the file unchanged.
func refuses(t *testing.T, folder, want string) {
	t.Helper()
	path := filepath.Join(folder, FileName)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, openErr := Open(context.Background(), testOptions(Options{Folder: folder}))
	if openErr == nil {
		s.Close()
	}
	for door, err := range map[string]error{"Open": openErr, "Migrate": Migrate(context.Background(), testOptions(Options{Folder: folder}), latest)} {
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want one line with %q", door, err, want)
		}
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("the file was changed (%v)", err)
	}
}

func TestSQLite_FileOfAnotherProgramIsRefused(t *testing.T) {
	folder := t.TempDir()
	execFile(t, filepath.Join(folder, FileName), "CREATE TABLE theirs (n INT)")
	refuses(t, folder, "choose another folder with --data")
}

func TestSQLite_DamagedFileIsRefused(t *testing.T) {
	sound := t.TempDir()
	s, err := openMigrated(Options{Folder: sound})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		put(t, s, fmt.Sprint(i))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(sound, FileName))
	if err != nil {
		t.Fatal(err)
	}
	zeroed := append([]byte(nil), whole...)
	clear(zeroed[len(zeroed)/4 : len(zeroed)/2])
	for what, content := range map[string][]byte{
		"garbage":             []byte(strings.Repeat("not a database ", 1000)),
		"short garbage":       []byte("x"),
		"a truncated file":    whole[:len(whole)/2],
		"a torn page":         whole[:len(whole)-100],
		"the header alone":    whole[:100],
		"less than a header":  whole[:10],
		"zeroes in the midst": zeroed,
	} {
		t.Run(what, func(t *testing.T) {
			folder := t.TempDir()
			if err := os.WriteFile(filepath.Join(folder, FileName), content, 0o600); err != nil {
				t.Fatal(err)
			}
			refuses(t, folder, "restore it from a backup")
		})
	}
}

// If a member fails before it wrote anything, the group goes on. If it wrote something, the others
// run again, once.
func TestSQLite_MemberFails_LosesItsOwnAlone(t *testing.T) {
	own := errors.New("own")
	for name, c := range map[string]struct {
		fail func(*Tx) error
		runs int // runs of a member before it
	}{
		"before it wrote":   {func(*Tx) error { return own }, 1},
		"nothing to change": {func(tx *Tx) error { return setKind("nobody", "free")(tx) }, 1},
		"by a constraint":   {func(tx *Tx) error { return insert("w")(tx) }, 1},
		"after it wrote":    {func(tx *Tx) error { return errors.Join(setKind("w", "free")(tx), own) }, 2},
		"in a panic":        {func(tx *Tx) error { setKind("w", "free")(tx); panic("own") }, 2},
		"within its rows": {func(tx *Tx) error {
			tx.Exec("UPDATE things SET kind = 'free' WHERE id = 'nobody'")
			return tx.conn.query("UPDATE things SET kind = 'free' RETURNING id", nil, func(*Row) error { return own })
		}, 2},
		"in a panic within its rows": {func(tx *Tx) error {
			tx.Exec("UPDATE things SET kind = 'free' WHERE id = 'nobody'")
			return tx.Query("UPDATE things SET kind = 'free' RETURNING id", func(*Row) { panic("own") })
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sqliteTest(t)
			runs := 0
			first := func(tx *Tx) error { runs++; return insert("x")(tx) }
			for i, err := range asGroup(t, s, first, c.fail, insert("y"), c.fail, insert("z")) {
				if failed := i == 1 || i == 3; (err != nil) != failed {
					t.Errorf("member %d: %v", i, err)
				}
			}
			if got := things(t, s); got != "w x y z" || runs != c.runs {
				t.Errorf("got %s, the first one run %d times", got, runs)
			}
			if got := valueOf(t, s, "kind", "w"); got != "pro" {
				t.Errorf("what failed left the kind %s", got)
			}
		})
	}
}

// If commits of other processes cannot be detected, cached values are not used.
func TestWriter_ForgetsWhenItCannotLook(t *testing.T) {
	t.Parallel()
	s := sqliteTest(t)
	c, err := openConn(s.path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	var forgot int
	var told bytes.Buffer
	w := &writer{conn: c, options: Options{Elsewhere: func() { forgot++ }, Log: slog.New(slog.NewTextHandler(&told, nil))}}
	w.pollCommits()
	if forgot != 0 || w.version == 0 {
		t.Fatalf("it forgot %d times at the first look, version %d", forgot, w.version)
	}
	w.checkpoints = s.checkpoints
	closed := make(chan struct{})
	close(closed)
	c.c.SetInterrupt(closed) // every statement fails
	w.pollCommits()
	w.pollCommits()
	if forgot != 2 || strings.Count(told.String(), "\n") != 1 {
		t.Errorf("it forgot %d times in two looks that failed, and told %q", forgot, told.String())
	}
	c.c.SetInterrupt(nil)
	w.pollCommits()
	if forgot != 2 {
		t.Errorf("it forgot %d times when it could look again", forgot)
	}
}

func TestWrite_PanicKeepsItsStack(t *testing.T) {
	each(t, func(t *testing.T, s Engine) {
		err := s.Write(context.Background(), func(*Tx) error { return panicDeepDown() })
		if err == nil || !strings.Contains(err.Error(), "by the test") || !strings.Contains(err.Error(), "panicDeepDown") {
			t.Errorf("got %v, want what panicked and where", err)
		}
	})
}

func panicDeepDown() error { panic("by the test") }

// Two programs that open a new file at once both succeed: SQLite refuses the second one while the
// first is writing, and the second tries again.
func TestOpen_OfAFileThatAnotherIsMaking(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "new.db")
	if err := errors.Join(checkFile(path, slog.New(slog.DiscardHandler)), claimFile(path, 4096)); err != nil {
		t.Fatal(err)
	}
	other, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := sqlitex.ExecuteTransient(other, "BEGIN IMMEDIATE", nil); err != nil {
		t.Fatal(err)
	}
	type result struct {
		c   *sqliteConn
		err error
	}
	opened := make(chan result, 1)
	go func() {
		c, err := openConn(path, false)
		opened <- result{c, err}
	}()
	select {
	case r := <-opened:
		t.Fatalf("it did not wait: %v", r.err)
	case <-time.After(100 * time.Millisecond): // time for what must not happen
	}
	if err := sqlitex.ExecuteTransient(other, "COMMIT", nil); err != nil {
		t.Fatal(err)
	}
	r := <-opened
	if r.err != nil {
		t.Fatal(r.err)
	}
	if err := r.c.close(); err != nil {
		t.Error(err)
	}
}
