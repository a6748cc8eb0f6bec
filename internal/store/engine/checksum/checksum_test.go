package checksum

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"go.uber.org/goleak"
	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"sheaf.dev/internal/sheaftest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sheaftest.Patient(m)) }

// begun returns the path of a file with checksums and a table, and a connection that never runs a
// checkpoint.
func begun(t *testing.T) (path string, c *sqlite.Conn) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "test.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Register(); err != nil {
		t.Fatal(err)
	}
	if err := Of(path).Begin(time.Minute, "PRAGMA user_version = 1"); err != nil {
		t.Fatal(err)
	}
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenWAL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() }) // with an error where the log is damaged
	run(t, c, "PRAGMA wal_autocheckpoint = 0")
	run(t, c, "CREATE TABLE texts (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
	return path, c
}

func run(t *testing.T, c *sqlite.Conn, text string) {
	t.Helper()
	if err := sqlitex.ExecuteTransient(c, text, nil); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// written adds pages of text, many to a page's size.
const written = `
INSERT INTO texts (name, value)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
SELECT hex(randomblob(16)), hex(randomblob(2000))
FROM n`

// checkFrames expects our checksum in every page of the log, and sums that SQLite will accept.
func checkFrames(t *testing.T, path string) (frames int) {
	t.Helper()
	log, err := os.ReadFile(path + "-wal")
	if err != nil || len(log) < logHeader {
		t.Fatalf("the log has %d bytes, %v", len(log), err)
	}
	size := frameHeader + int(binary.BigEndian.Uint32(log[8:]))
	sum := [2]uint32{binary.BigEndian.Uint32(log[24:]), binary.BigEndian.Uint32(log[28:])}
	for at := logHeader; at+size <= len(log); at += size {
		f := log[at : at+size]
		if string(f[8:16]) != string(log[16:24]) {
			return frames // of the log before
		}
		frames++
		if number := binary.BigEndian.Uint32(f); !isSound(f[frameHeader:], number) {
			t.Errorf("frame %d: page %d has not its checksum", frames, number)
		}
		sum = addWords(binary.LittleEndian, addWords(binary.LittleEndian, sum, f[:8]), f[frameHeader:])
		if sum != [2]uint32{binary.BigEndian.Uint32(f[16:]), binary.BigEndian.Uint32(f[20:])} {
			t.Fatalf("frame %d does not add up", frames)
		}
	}
	return frames
}

func TestFrames_HaveTheirChecksums(t *testing.T) {
	t.Parallel()
	path, c := begun(t)
	for range 20 {
		run(t, c, "INSERT INTO texts (name, value) VALUES (hex(randomblob(16)), 'x')")
	}
	if n := checkFrames(t, path); n < 20 {
		t.Errorf("the log has %d frames", n)
	}
}

// A transaction that outgrows the cache writes pages into the log before its end, and some of them again.
func TestFrames_OfATransactionThatOutgrowsTheCache(t *testing.T) {
	t.Parallel()
	path, c := begun(t)
	run(t, c, "PRAGMA cache_size = -8000")
	run(t, c, "BEGIN")
	for range 3 {
		run(t, c, written)
		run(t, c, "UPDATE texts SET value = value || 'x' WHERE length(value) > 3000")
	}
	run(t, c, "COMMIT")
	if n := checkFrames(t, path); n < 3000 {
		t.Errorf("the log has %d frames: it did not outgrow the cache", n)
	}
}

// What was gathered from a transaction that was rolled back disturbs neither the next transaction, which is
// written to the same place, nor another connection.
func TestFrames_AfterATransactionThatWasTakenBack(t *testing.T) {
	t.Parallel()
	path, c := begun(t)
	run(t, c, "PRAGMA cache_size = 10") // pages, so that most go into the log before the end
	for range 3 {
		run(t, c, "BEGIN")
		run(t, c, written)
		run(t, c, "ROLLBACK")
		run(t, c, "INSERT INTO texts (name, value) VALUES (hex(randomblob(16)), 'kept')")
	}
	other, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for text, want := range map[string]string{"SELECT COUNT(*) || group_concat(DISTINCT value) FROM texts": "3kept", "PRAGMA integrity_check": "ok"} {
		var got string
		err := sqlitex.ExecuteTransient(other, text, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			got = s.ColumnText(0)
			return nil
		}})
		if err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
}

// A commit is in the file before its caller gets the answer, even if it is not synced.
func TestFrames_AreWrittenOutWithoutSync(t *testing.T) {
	t.Parallel()
	path, c := begun(t)
	run(t, c, "PRAGMA synchronous = OFF")
	before := checkFrames(t, path)
	for i := range 5 {
		run(t, c, "INSERT INTO texts (name, value) VALUES (hex(randomblob(16)), 'x')")
		if n := checkFrames(t, path); n <= before+i {
			t.Fatalf("after commit %d the log has %d frames, %d before them all", i+1, n, before)
		}
	}
}

// If bytes of the log change on the disk, reading them is refused, and not only opening the log.
func TestFrames_DamageIsRefusedWhenItIsRead(t *testing.T) {
	t.Parallel()
	path, c := begun(t)
	run(t, c, "INSERT INTO texts (name, value) VALUES ('told', '"+strings.Repeat("told ", 400)+"')")
	log, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; ; at++ { // every copy of the page
		next := strings.Index(string(log[at:]), "told told")
		if next < 0 {
			break
		}
		at += next
		log[at] = 'g'
	}
	if err := os.WriteFile(path+"-wal", log, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	err = sqlitex.ExecuteTransient(reader, "SELECT value FROM texts", nil)
	if sqlite.ErrCode(err) != Unsound {
		t.Errorf("got %v, want the page refused", err)
	}
}

func TestConnections_KeepTheirPlans(t *testing.T) {
	t.Parallel()
	path, _ := begun(t)
	tls := libc.NewTLS()
	defer tls.Close()
	db, err := openRaw(tls, path)
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

// A flipped bit in the header of the first page is refused. The fields that SQLite sets again in a copy are
// the exception: there, a flip changes nothing.
func TestChecksum_OfTheFirstPage(t *testing.T) {
	page := make([]byte, 4096)
	copy(page, "SQLite format 3\x00")
	stamp(page, 1)
	for at := range page {
		page[at] ^= 0x10
		uncovered := false
		for _, b := range unsteady {
			uncovered = uncovered || at >= b[0] && at < b[1]
		}
		if got := isSound(page, 1); got != uncovered {
			t.Errorf("a flip at %d: sound %t, want %t", at, got, uncovered)
		}
		page[at] ^= 0x10
	}
}

// unstamped returns a file of several pages without checksums, and a connection to it.
func unstamped(t *testing.T) (path string, c *sqlite.Conn) {
	t.Helper()
	path, c = begun(t)
	run(t, c, written)
	run(t, c, "PRAGMA wal_checkpoint(TRUNCATE)")
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	size := int(binary.BigEndian.Uint16(file[16:]))
	for end := size; end <= len(file); end += size {
		clear(file[end-Bytes : end])
	}
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, c
}

// The first page is stamped when all other pages are on the disk, because a file whose first page has its
// checksum counts as complete. If it is not known whether the others are on the disk, the first page is not
// stamped.
func TestRestamp_LeavesTheFirstPageWhenTheDiskFails(t *testing.T) {
	t.Parallel()
	path, _ := unstamped(t)
	done, err := Of(path).Trust()
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	h, err := Of(path).Hold(time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Release()
	own := stateOf(h.file)
	methods := *at[lib.Tsqlite3_io_methods](own.methods)
	methods.FxSync = address(func(*libc.TLS, uintptr, int32) int32 { return lib.SQLITE_IOERR_FSYNC })
	broken := lib.Xsqlite3_malloc(h.tls, int32(unsafe.Sizeof(methods)))
	defer lib.Xsqlite3_free(h.tls, broken)
	*at[lib.Tsqlite3_io_methods](broken) = methods
	sound := own.methods
	own.methods = broken
	_, _, err = h.Restamp(time.Minute)
	own.methods = sound
	if sqlite.ErrCode(err) != sqlite.ResultCode(lib.SQLITE_IOERR_FSYNC) {
		t.Errorf("got %v, want the failure of the disk", err)
	}
	unsound, all, err := h.Unsound(time.Minute)
	if unsound != 1 || all < 2 || err != nil {
		t.Errorf("%d of %d pages are unsound, %v, want the first alone", unsound, all, err)
	}
	if n, _, err := h.Restamp(time.Minute); n != 1 || err != nil {
		t.Errorf("the next one stamped %d, %v", n, err)
	}
}

// Our own checkpointer writes the file too, but never between the reading and the stamping of a page.
func TestRestamp_KeepsOurOwnConnectionsFromTheFile(t *testing.T) {
	t.Parallel()
	path, c := unstamped(t)
	done, err := Of(path).Trust()
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	h, err := Of(path).Hold(time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Release()
	c.SetBusyTimeout(time.Millisecond)
	busy := func() (busy bool) {
		err := sqlitex.ExecuteTransient(c, "PRAGMA wal_checkpoint(FULL)", &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			busy = s.ColumnInt(0) != 0
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		return busy
	}
	looked := false
	_, _, err = h.pages(time.Minute, func([]byte, uint32) (bool, error) {
		if !looked && !busy() {
			t.Error("a connection of ours may bring the log into the file meanwhile")
		}
		looked = true
		return false, nil
	})
	if err != nil || !looked {
		t.Errorf("looked %t, %v", looked, err)
	}
	if busy() {
		t.Error("it may not afterwards")
	}
}
