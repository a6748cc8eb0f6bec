package engine

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// written adds pages of text to the database.
const written = `
INSERT INTO texts (name, value)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
SELECT hex(randomblob(16)), hex(randomblob(2000))
FROM n`

// stopped ends the store's checkpointer, so that the test can call its methods.
func stopped(s Engine) *checkpointer {
	p := s.(*SQLite).checkpoints
	close(p.stop)
	<-p.done
	p.stop = make(chan struct{}) // will be closed by the store
	return p
}

func TestCheckpointer_BringsTheLogIntoTheFile(t *testing.T) {
	t.Parallel()
	o := Options{Folder: t.TempDir()}
	s := openTest(t, o)
	p := stopped(s)
	write := func(rows int) {
		t.Helper()
		if err := s.Write(context.Background(), func(tx *Tx) error { return tx.Exec(written, rows) }); err != nil {
			t.Fatal(err)
		}
	}
	write(checkpointEvery / 4)
	if err := p.checkpointIfFull(); err != nil {
		t.Fatal(err)
	}
	if n, err := p.checkpoint("PRAGMA wal_checkpoint(NOOP)"); err != nil || n == 0 {
		t.Errorf("%d pages wait, %v: it was too early", n, err)
	}
	write(checkpointEvery)
	if err := p.checkpointIfFull(); err != nil {
		t.Fatal(err)
	}
	if n, err := p.checkpoint("PRAGMA wal_checkpoint(NOOP)"); err != nil || n != 0 {
		t.Errorf("%d pages wait, %v: want none", n, err)
	}
}

func TestWriter_BoundsTheLog(t *testing.T) {
	t.Parallel()
	o := Options{Folder: t.TempDir()}
	s := openTest(t, o)
	stopped(s)
	for range 12 {
		if err := s.Write(context.Background(), func(tx *Tx) error { return tx.Exec(written, checkpointLast/3) }); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(filepath.Join(o.Folder, FileName+"-wal"))
	if err != nil {
		t.Fatal(err)
	}
	if most := int64(2 * checkpointLast * 4096); info.Size() > most {
		t.Errorf("the log has %d bytes, want at most %d", info.Size(), most)
	}
}
