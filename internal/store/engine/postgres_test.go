package engine

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/pgtest"
)

// quickly is the time within which a store whose server is down must have answered, even on a busy
// machine. It is below the limit of a transaction, which would end the wait too.
const quickly = WriteTimeout - time.Second

func TestPostgres_ServerGoesAndComes(t *testing.T) {
	c := pgtest.Start(t)
	s := openTest(t, Options{DatabaseURL: c.URL()})
	put(t, s, "w")
	for _, mode := range []pgtest.Mode{pgtest.Fast, pgtest.Immediate, pgtest.Kill} {
		busyPool(t, s)
		if err := c.Stop(mode); err != nil {
			t.Fatal(err)
		}
		// The processes of a killed server may answer until they notice it.
		for range 40 { // more than there are connections
			if mode != pgtest.Kill {
				wantUnavailable(t, s)
			}
		}
		if err := c.Restart(); err != nil {
			t.Fatal(err)
		}
		// At once and on the existing connections: the store is not reopened.
		if _, err := s.Schema(context.Background()); err != nil {
			t.Errorf("schema after %v: %v", mode, err)
		}
		if err := s.ReadOne(context.Background(), readAll); err != nil {
			t.Errorf("one statement after %v: %v", mode, err)
		}
		if err := s.Write(context.Background(), raise); err != nil {
			t.Errorf("write after %v: %v", mode, err)
		}
	}
}

func wantUnavailable(t *testing.T, s Engine) {
	t.Helper()
	for what, act := range map[string]func() error{
		"write": func() error { return s.Write(context.Background(), raise) },
		"read": func() error {
			return s.Read(context.Background(), func(r *Reader) error { _, err := readThings(r); return err })
		},
		"one statement": func() error { return s.ReadOne(context.Background(), readAll) },
		"schema":        func() error { _, err := s.Schema(context.Background()); return err },
	} {
		begun := time.Now()
		if err := act(); sheaf.KindOf(err) != sheaf.Unavailable {
			t.Fatalf("%s: got %v, want Unavailable", what, err)
		}
		if took := time.Since(begun); took > quickly {
			t.Fatalf("%s: refused after %s", what, took)
		}
	}
}

func readAll(r *Reader) error {
	_, err := readThings(r)
	return err
}

// busyPool opens several connections, which then are idle.
func busyPool(t *testing.T, s Engine) {
	t.Helper()
	var inside, all sync.WaitGroup
	inside.Add(8)
	for range 8 {
		all.Go(func() {
			err := s.Read(context.Background(), func(r *Reader) error {
				inside.Done()
				inside.Wait()
				_, err := readThings(r)
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// A transaction during which the server goes away fails, and is not there when the server comes
// back.
func TestPostgres_ServerGoesDuringATransaction(t *testing.T) {
	c := pgtest.Start(t)
	s := openTest(t, Options{DatabaseURL: c.URL()})
	runs := 0
	err := s.Write(context.Background(), func(tx *Tx) error {
		runs++
		if err := insert("w")(tx); err != nil {
			return err
		}
		return c.Stop(pgtest.Immediate)
	})
	if sheaf.KindOf(err) != sheaf.Unavailable || runs != 1 {
		t.Errorf("got %v after %d runs, want Unavailable after one", err, runs)
	}
	if err := c.Restart(); err != nil {
		t.Fatal(err)
	}
	if got := things(t, s); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
}

func TestPostgres_DeadlockIsRerun(t *testing.T) {
	s := openTest(t, Options{DatabaseURL: pgtest.URL(t)})
	put(t, s, "a")
	put(t, s, "b")
	var met sync.WaitGroup // both have locked their first row
	met.Add(2)
	var all sync.WaitGroup
	runs := make([]int, 2)
	for i, order := range [][]string{{"a", "b"}, {"b", "a"}} {
		all.Go(func() {
			err := s.Write(context.Background(), func(tx *Tx) error {
				runs[i]++
				for n, id := range order {
					if err := raiseOf(tx, id); err != nil {
						return err
					}
					if n == 0 && runs[i] == 1 {
						met.Done()
						met.Wait()
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if runs[0]+runs[1] < 3 {
		t.Errorf("%v runs, want both, and one of them again", runs)
	}
	for _, id := range []string{"a", "b"} {
		if got := valueOf(t, s, "version", id); got != "3" {
			t.Errorf("%s has version %s, want 3", id, got)
		}
	}
}

const serializationFailure = `DO $$ BEGIN RAISE EXCEPTION 'by the test' USING ERRCODE = '40001'; END $$`

func TestPostgres_SerializationFailureIsRerunAndBounded(t *testing.T) {
	s := openTest(t, Options{DatabaseURL: pgtest.URL(t)})
	for _, failing := range []int{1, maxReruns - 1, maxReruns, 1000} {
		runs := 0
		err := s.Write(context.Background(), func(tx *Tx) error {
			if runs++; runs <= failing {
				return tx.Exec(serializationFailure)
			}
			return nil
		})
		if failing < maxReruns && (err != nil || runs != failing+1) {
			t.Errorf("%d failures: got %v after %d runs", failing, err, runs)
		}
		if failing >= maxReruns && (sheaf.KindOf(err) != sheaf.Unavailable || runs != maxReruns) {
			t.Errorf("%d failures: got %v after %d runs, want Unavailable after %d", failing, err, runs, maxReruns)
		}
	}
}

// If a closure ignores the error of a statement, the server will not commit its transaction. That
// must not look like success.
func TestPostgres_SwallowedErrorIsNoCommit(t *testing.T) {
	s := openTest(t, Options{DatabaseURL: pgtest.URL(t)})
	err := s.Write(context.Background(), func(tx *Tx) error {
		if err := insert("w")(tx); err != nil {
			return err
		}
		_ = insert("w")(tx)
		return nil
	})
	if err == nil || things(t, s) != "" {
		t.Errorf("got %v, and %q", err, things(t, s))
	}
}

// A caller that leaves while all connections are in use stops waiting.
func TestPostgres_CallerLeavesBeforeItsTurn(t *testing.T) {
	s := openTest(t, Options{DatabaseURL: pgtest.URL(t)})
	e := s.(*Postgres)
	taken := int(e.pool.Config().MaxConns)
	release := make(chan struct{})
	var inside, all sync.WaitGroup
	inside.Add(taken)
	for range taken {
		all.Go(func() {
			s.Read(context.Background(), func(*Reader) error { inside.Done(); <-release; return nil })
		})
	}
	inside.Wait()
	ctx, leave := context.WithCancel(context.Background())
	go leave()
	begun := time.Now()
	err := s.Write(ctx, func(*Tx) error { t.Error("the closure ran"); return nil })
	if took := time.Since(begun); sheaf.KindOf(err) != sheaf.Unavailable || took > quickly {
		t.Errorf("got %v after %s, want Unavailable at once", err, took)
	}
	close(release)
	all.Wait()
}

// A reader that leaves is not an error of the service.
func TestPostgres_ReaderLeaves(t *testing.T) {
	s := openTest(t, Options{DatabaseURL: pgtest.URL(t)})
	ctx, leave := context.WithCancel(context.Background())
	err := s.Read(ctx, func(r *Reader) error {
		time.AfterFunc(100*time.Millisecond, leave) // while the server sleeps, for which there is no signal
		_, err := r.Count("SELECT COUNT(*) FROM pg_sleep(30)")
		return err
	})
	if sheaf.KindOf(err) != sheaf.Unavailable || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want Unavailable", err)
	}
	if got := things(t, s); got != "" {
		t.Errorf("got %q", got)
	}
}

// D152: a server that freezes closes no connection: it is given up after a while, and nobody waits for it for ever.
func TestPostgres_FrozenServerIsGivenUp(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	// Ten seconds of silence instead of 1.5: a busy machine may need longer to answer before it is
	// frozen.
	s := openTest(t, Options{DatabaseURL: c.ImpatientURL() + "&connect_timeout=10"})
	put(t, s, "w")
	busyPool(t, s)
	if err := c.Freeze(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var group sync.WaitGroup
	for what, act := range map[string]func() error{
		// A write without the usual limit: one of 30 seconds would be ended by its own limit.
		"write":         func() error { return s.WriteLong(ctx, raise) },
		"read":          func() error { return s.Read(ctx, func(*Reader) error { return nil }) },
		"one statement": func() error { return s.ReadOne(ctx, readAll) },
	} {
		group.Go(func() {
			if err := act(); sheaf.KindOf(err) != sheaf.Unavailable || !errors.Is(err, errSilent) || ctx.Err() != nil {
				t.Errorf("%s: got %v, want Unavailable for silence", what, err)
			}
		})
	}
	group.Wait()
	if err := errors.Join(c.Stop(pgtest.Kill), c.Restart()); err != nil {
		t.Fatal(err)
	}
	if got := things(t, s); got != "w" {
		t.Errorf("got %q when it was back", got)
	}
}

// The pool's parameters in the URL are not sent to the server, which would refuse them.
func TestPostgres_PoolSettingsInTheAddress(t *testing.T) {
	o := Options{DatabaseURL: pgtest.URL(t) + "&pool_max_conns=3"}
	if err := Migrate(context.Background(), testOptions(o), latest); err != nil {
		t.Fatal(err)
	}
	s := openTest(t, o)
	if got := s.(*Postgres).pool.Config().MaxConns; got != 3 {
		t.Errorf("the pool takes %d connections", got)
	}
}

// A longer connect timeout means that the server may be slow to answer, too.
func TestPostgres_TimeInTheAddress(t *testing.T) {
	address, err := url.Parse(pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := Migrate(context.Background(), testOptions(Options{DatabaseURL: address.String()}), latest); err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string][2]time.Duration{"": {firstTimeout, silentTimeout}, "1": {firstTimeout, silentTimeout}, "60": {time.Minute, time.Minute}} {
		query := address.Query()
		query.Del("connect_timeout")
		if given != "" {
			query.Set("connect_timeout", given)
		}
		address.RawQuery = query.Encode()
		var s Engine
		sheaftest.Eventually(t, "a server that takes the connection in time", func() bool {
			s, err = Open(context.Background(), testOptions(Options{DatabaseURL: address.String()}))
			return err == nil
		})
		defer s.Close()
		if got := [2]time.Duration{s.(*Postgres).first, s.(*Postgres).silent}; got != want {
			t.Errorf("connect_timeout=%s: the first answer and silence may take %v, want %v", given, got, want)
		}
	}
}

func TestPostgres_AddressesThatCannotBeUsed(t *testing.T) {
	for _, url := range []string{"postgres://%zz", "postgres://u:secret@127.0.0.1:1/db?sslmode=disable"} {
		o := Options{DatabaseURL: url}
		ctx, cancel := context.WithTimeout(context.Background(), quickly)
		_, err := Open(ctx, testOptions(o))
		for _, err := range []error{err, Migrate(ctx, testOptions(o), latest)} {
			if err == nil || containsAny(err.Error(), "secret", "\n") {
				t.Errorf("%s: got %v, want one line without the password", url, err)
			}
		}
		cancel()
	}
}

func containsAny(s string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

// Transactions that aborted each other do not collide again at once: each waits, longer each time.
func TestPostgres_RerunsPause(t *testing.T) {
	s := openTest(t, Options{DatabaseURL: pgtest.URL(t)}).(*Postgres)
	var paused []time.Duration
	s.pause = func(_ context.Context, d time.Duration) { paused = append(paused, d) }
	runs := 0
	err := s.Write(context.Background(), func(tx *Tx) error {
		if runs++; runs <= 4 {
			return tx.Exec(serializationFailure)
		}
		return nil
	})
	if err != nil || len(paused) != 4 {
		t.Fatalf("%v, paused %v, want four pauses", err, paused)
	}
	ctx, leave := context.WithCancel(context.Background())
	s.pause = func(context.Context, time.Duration) { leave() }
	runs = 0
	err = s.Write(ctx, func(tx *Tx) error { runs++; return tx.Exec(serializationFailure) })
	if sheaf.KindOf(err) != sheaf.Unavailable || runs != 1 {
		t.Errorf("who left during the pause: got %v after %d runs", err, runs)
	}
}

func TestPauseAfter_GrowsAndIsBounded(t *testing.T) {
	for n := 1; n <= maxReruns; n++ {
		least, most := pauseAfter(n, 0), pauseAfter(n, 0.999)
		if least <= 0 || least >= most || most > longestPause || n > 1 && least < pauseAfter(n-1, 0) {
			t.Errorf("after %d: %v to %v", n, least, most)
		}
	}
}
