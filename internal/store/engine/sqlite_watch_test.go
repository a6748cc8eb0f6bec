package engine

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
)

const endless = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n`

// A read that never ends is interrupted, for any caller, and its connection serves the next one.
func TestSQLite_ReadThatLastsIsEnded(t *testing.T) {
	t.Parallel()
	s := sqliteTest(t)
	e := s
	for range 2 * e.size {
		done := make(chan error)
		go func() {
			done <- s.Read(context.Background(), func(r *Reader) error {
				_, err := r.Count(endless)
				return err
			})
		}()
		var err error
		for ended := false; !ended; runtime.Gosched() {
			select {
			case err = <-done:
				ended = true
			default:
				e.ageReads() // a second passes
			}
		}
		if sheaf.KindOf(err) != sheaf.Unavailable || !strings.Contains(err.Error(), "longer than 30 seconds") {
			t.Fatalf("got %v, want Unavailable and why", err)
		}
		if got := things(t, s); got != "w" {
			t.Errorf("afterwards: %s", got)
		}
	}
	if full, err := stopped(s).empty(); full || err != nil {
		t.Errorf("somebody still reads the log: %v", err)
	}
}

// A read that ends in time is not interrupted, and neither is a snapshot.
func TestSQLite_ReadsThatEndAreLeftAlone(t *testing.T) {
	t.Parallel()
	s := sqliteTest(t)
	e := s
	reads := map[string]func(context.Context, func(*Reader) error) error{"Read": s.Read, "Snapshots": readLong(t, s)}
	for name, read := range reads {
		err := read(context.Background(), func(r *Reader) error {
			for range readLimit - 1 {
				e.ageReads()
			}
			if name == "Snapshots" {
				e.ageReads()
				e.ageReads()
			}
			_, err := readThings(r)
			return err
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSQLite_TellsOfALogThatGrows(t *testing.T) {
	t.Parallel()
	var told bytes.Buffer
	e := &SQLite{path: filepath.Join(t.TempDir(), FileName), log: slog.New(slog.NewTextHandler(&told, nil)),
		checkpoints: &checkpointer{emptying: make(chan struct{}, 1)}}
	size := e.boundLog(0, logBound)
	if size != 0 || told.Len() > 0 {
		t.Errorf("a small log was told of: %s", told.String())
	}
	for _, c := range []struct {
		bytes int64
		lines int // log lines so far
	}{{logBound, 0}, {logBound + 1, 1}, {logBound + 2, 1}, {2*logBound + 2, 2}, {10, 3}, {10, 3}} {
		f, err := os.Create(e.path + "-wal")
		if err == nil {
			err = errors.Join(f.Truncate(c.bytes), f.Close()) // a sparse file
		}
		if err != nil {
			t.Fatal(err)
		}
		size = e.boundLog(size, logBound)
		if n := strings.Count(told.String(), "\n"); n != c.lines {
			t.Errorf("at %d bytes %d lines were told, want %d: %s", c.bytes, n, c.lines, told.String())
		}
	}
	if n := e.LogBytes(); n != 10 {
		t.Errorf("LogBytes: %d", n)
	}
}

// A log that grew during a read is truncated after the read, without a restart.
func TestSQLite_LongLogIsCutOff(t *testing.T) {
	t.Parallel()
	s := sqliteTest(t)
	e := s
	err := readLong(t, s)(context.Background(), func(r *Reader) error {
		if _, err := readThings(r); err != nil {
			return err
		}
		if err := s.Write(context.Background(), func(tx *Tx) error { return tx.Exec(written, 100) }); err != nil {
			return err
		}
		e.boundLog(0, 1)
		if e.LogBytes() == 0 {
			t.Error("the log was cut off under its reader")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sheaftest.Eventually(t, "the log is cut off", func() bool { return e.LogBytes() == 0 })
}

// While the log is too large, an older read is interrupted, and then the log is truncated.
func TestSQLite_ReadBesideALogThatGrowsIsEnded(t *testing.T) {
	t.Parallel()
	s := sqliteTest(t)
	grow := func() {
		if err := s.Write(context.Background(), func(tx *Tx) error { return tx.Exec(written, 100) }); err != nil {
			t.Error(err)
		}
	}
	err := s.Read(context.Background(), func(r *Reader) error {
		if _, err := readThings(r); err != nil {
			return err
		}
		grow()
		for range youngRead {
			s.ageReads()
		}
		s.boundLog(0, 1)
		_, err := readThings(r)
		return err
	})
	var told *sheaf.Error
	if !errors.As(err, &told) || told.Kind != sheaf.Unavailable || told.RetryAfter == 0 || !strings.Contains(told.Text, "very much was written") {
		t.Errorf("got %v, want Unavailable, when to repeat it, and why", err)
	}
	sheaftest.Eventually(t, "the log is cut off", func() bool { s.boundLog(0, 1); return s.LogBytes() == 0 })
	if got := things(t, s); got != "w" {
		t.Errorf("afterwards: %s", got)
	}
	young := leash{age: youngRead, pull: make(chan struct{})}
	if young.older(youngRead, errGrownLog); young.pulled != nil {
		t.Error("a young read was ended")
	}
}

// A snapshot may last while the log is no larger than the file, and no longer.
func TestSQLite_SnapshotBesideALogThatOutgrowsTheFileIsEnded(t *testing.T) {
	t.Parallel()
	s := sqliteTest(t)
	snapshot, done, err := s.Snapshots(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	err = snapshot(func(r *Reader) error {
		if _, err := readThings(r); err != nil {
			return err
		}
		s.boundLog(0, 1<<20)
		if _, err := readThings(r); err != nil {
			t.Errorf("it was ended beside a small log: %v", err)
		}
		for s.LogBytes() <= sizeOf(s.path) {
			if err := s.Write(context.Background(), func(tx *Tx) error { return tx.Exec(written, 100) }); err != nil {
				return err
			}
		}
		s.boundLog(0, 1)
		_, err := readThings(r)
		return err
	})
	if !errors.Is(err, errGrownBySnapshot) {
		t.Errorf("got %v, want %v", err, errGrownBySnapshot)
	}
	done()
	sheaftest.Eventually(t, "the log is cut off", func() bool { s.boundLog(0, 1); return s.LogBytes() == 0 })
}

// readLong reads on a connection of its own.
func readLong(t *testing.T, s Engine) func(context.Context, func(*Reader) error) error {
	return func(ctx context.Context, fn func(*Reader) error) error {
		snapshot, done, err := s.Snapshots(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		return snapshot(fn)
	}
}

const counting = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n`

// If a client leaves, its read is interrupted, and the connection serves the next one.
func TestSQLite_ReaderWhoLeavesIsInterrupted(t *testing.T) {
	t.Parallel()
	s := sqliteTest(t)
	for range 2 * s.size {
		ctx, leave := context.WithCancel(context.Background())
		rows, tooMany := 0, errors.New("it goes on")
		err := s.Read(ctx, func(r *Reader) error {
			return r.Each(counting, nil, func(*Row) error {
				leave()
				if rows++; rows > 100_000_000 {
					return tooMany
				}
				return nil
			})
		})
		if sheaf.KindOf(err) != sheaf.Unavailable || !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v after %d rows, want Unavailable: its client has left", err, rows)
		}
		if got := things(t, s); got != "w" {
			t.Errorf("afterwards: %s", got)
		}
	}
}

// A caller that leaves after its read has ended does not interrupt the next read.
func TestLeash_PullsAtItsOwnReadAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := leash{pull: make(chan struct{})}
		first, leave := context.WithCancel(t.Context())
		l.begin(first) // stop is not called, as if it came late
		if err := l.ended(); err != nil {
			t.Errorf("the first ended with %v", err)
		}
		l.begin(context.Background())
		leave()
		synctest.Wait()
		if err := l.ended(); err != nil {
			t.Errorf("the second was interrupted: %v", err)
		}
	})
}
