package store

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// written adds pages of text to the database, many to a page's size.
const written = `
INSERT INTO settings (name, value)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
SELECT hex(randomblob(16)), hex(randomblob(2000))
FROM n`

// stopped ends the store's checkpointer: what it would do is the test's to call.
func stopped(s *Store) *checkpointer {
	p := s.engine.(*sqliteEngine).checkpoints
	close(p.stop)
	<-p.done
	p.stop = make(chan struct{}) // for the store to close
	return p
}

func TestCheckpointer_BringsTheLogIntoTheFile(t *testing.T) {
	t.Parallel()
	o := Options{Folder: t.TempDir()}
	s := openTest(t, o)
	p := stopped(s)
	write := func(rows int) {
		t.Helper()
		if err := s.Write(context.Background(), func(tx *Tx) error { return tx.exec(written, rows) }); err != nil {
			t.Fatal(err)
		}
	}
	write(checkpointEvery / 4)
	if err := p.look(); err != nil {
		t.Fatal(err)
	}
	if n, err := p.checkpoint("PRAGMA wal_checkpoint(NOOP)"); err != nil || n == 0 {
		t.Errorf("%d pages wait, %v: it was too early", n, err)
	}
	write(checkpointEvery)
	if err := p.look(); err != nil {
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
		if err := s.Write(context.Background(), func(tx *Tx) error { return tx.exec(written, checkpointLast/3) }); err != nil {
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

func TestConnections_KeepTheirPlans(t *testing.T) {
	t.Parallel()
	o := Options{Folder: t.TempDir()}
	openTest(t, o)
	tls := libc.NewTLS()
	defer tls.Close()
	db, err := openRaw(tls, filepath.Join(o.Folder, FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Xsqlite3_close(tls, db)
	out := tls.Alloc(4)
	defer tls.Free(4)
	args := libc.NewVaList(int32(-1), out)
	defer libc.Xfree(tls, args)
	if rc := lib.Xsqlite3_db_config(tls, db, lib.SQLITE_DBCONFIG_ENABLE_QPSG, args); rc != lib.SQLITE_OK || *at[int32](out) != 1 {
		t.Errorf("a connection's plans change with what is bound: result %d, %d", rc, *at[int32](out))
	}
}
