package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine/checksum"
)

const (
	// FileName is the SQLite file in the data folder.
	FileName = "sheaf.db"
	// applicationID marks a file as ours: "SHEA" in its header.
	applicationID = 0x53484541
	// checksumForm is the user_version of a file with checksums. The header's count of reserved
	// bytes says the same; if one of the two is damaged, they contradict each other.
	checksumForm = 1
	// busyTimeout is how long a transaction waits for another process, such as the command line
	// beside a server.
	busyTimeout = 10 * time.Second
	// watchEvery is the longest delay until a commit of another process is noticed.
	watchEvery = 200 * time.Millisecond
)

// SQLite is one SQLite file, with one writer that commits in groups, and a pool of readers that
// never wait for it.
type SQLite struct {
	path        string
	log         *slog.Logger
	writer      *writer
	checkpoints *checkpointer
	readers     *freeReaders
	all         []*sqliteConn // all readers, including those in use
	snapshots   snapshots     // snapshots under way, on connections of their own
	size        int           // number of readers
	trusts      func()        // ends OpenTrusting: checksums are verified again
	closing     sync.Once
	closed      chan struct{} // closed when Close begins
	watched     chan struct{} // closed when watchReads has ended
}

// openSQLite opens the file with all of its connections: the writer's, the checkpointer's and the
// readers'.
func openSQLite(o Options) (*SQLite, error) {
	path := filepath.Join(o.Folder, o.File)
	if err := checkFile(path, o.Log); err != nil {
		return nil, err
	}
	if err := claimFile(path, o.pageSize()); err != nil {
		return nil, err
	}
	w, err := connect(o, path, false)
	if err != nil {
		return nil, err
	}
	beside, err := connect(o, path, false)
	if err != nil {
		w.close()
		return nil, err
	}
	h, err := checksum.Of(path).Hold(busyTimeout)
	if err != nil {
		w.close()
		beside.close()
		return nil, damaged(path, err)
	}
	e := &SQLite{path: path, log: o.Log, size: o.Connections, trusts: func() {}, closed: make(chan struct{}), watched: make(chan struct{})}
	if e.size == 0 {
		e.size = max(4, 2*runtime.GOMAXPROCS(0))
	}
	e.readers = &freeReaders{some: make(chan struct{}, e.size)}
	for range e.size {
		r, err := connect(o, path, true)
		if err != nil {
			h.Release()
			w.close()
			beside.close()
			e.closeReaders(len(e.all))
			return nil, err
		}
		r.leashed()
		e.all = append(e.all, r)
		e.readers.put(r)
	}
	e.checkpoints = newCheckpointer(beside, h, o.Log)
	e.writer = newWriter(w, o, e.checkpoints)
	go e.watchReads()
	return e, nil
}

// checkFile rejects a file that is not ours before anything writes to it. It adopts a file of ours
// that another program rewrote as a whole.
func checkFile(path string, log *slog.Logger) error {
	if err := checksum.Register(); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if os.IsNotExist(err) || err == nil && info.Size() == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the database file cannot be read: %w", err)
	}
	if info.Size() < checksum.SmallestPage { // SQLite would treat it as empty
		return damaged(path, errors.New("it is too short"))
	}
	if file := checksum.Of(path); !file.IsTrusted() && file.IsUnstamped(applicationID) {
		if err := adoptFile(path, log); err != nil {
			return err
		}
	}
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return damaged(path, err)
	}
	defer c.Close()
	id, err := readInt(c, "PRAGMA application_id")
	if err != nil {
		return damaged(path, err)
	}
	tables, err := readInt(c, "SELECT COUNT(*) FROM sqlite_schema")
	if err != nil {
		return damaged(path, err)
	}
	if id != applicationID && tables > 0 {
		return fmt.Errorf("%s is the database of another program: choose another folder with --data, or move the file away", path)
	}
	return checkWhole(c, path)
}

// checkWhole looks for damage. By now SQLite has rolled back what a first start that died had
// begun; then the file is empty.
func checkWhole(c *sqlite.Conn, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("the database file cannot be read: %w", err)
	}
	if info.Size() == 0 {
		return nil
	}
	if err := checkForm(c, path); err != nil {
		return err
	}
	if err := checkSize(c, path, info.Size()); err != nil {
		return err
	}
	// Files up to 16 MiB are checked in no noticeable time. The doctor checks larger ones.
	if info.Size() > 16<<20 {
		return nil
	}
	return checkIntegrity(c, path, "PRAGMA quick_check(1)")
}

// readInt reads one number.
func readInt(c *sqlite.Conn, sql string) (n int64, err error) {
	err = sqlitex.ExecuteTransient(c, sql, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		n = s.ColumnInt64(0)
		return nil
	}})
	return n, err
}

// checkForm rejects a file whose two marks for checksums differ. If one of them is damaged, no page
// would be verified.
func checkForm(c *sqlite.Conn, path string) error {
	form, err := readInt(c, "PRAGMA user_version")
	if err != nil {
		return damaged(path, err)
	}
	carries, err := checksum.Of(path).Carries()
	if err != nil {
		return damaged(path, err)
	}
	if (form == checksumForm) != carries {
		return damaged(path, errors.New("its first page says both that there are checksums and that there are none"))
	}
	return nil
}

// claimFile creates the file and marks it as ours before anything else is in it. So a first start
// that dies does not leave a file that looks like another program's.
func claimFile(path string, pageSize int) error {
	// Create the file if it does not exist, readable only by its owner, because it contains secrets. SQLite
	// gives the files beside it the same mode.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("the database file cannot be opened: %w", err)
	}
	if err := f.Close(); err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && info.Size() == 0 {
		pragmas := fmt.Sprintf("PRAGMA page_size = %d; PRAGMA application_id = %d; PRAGMA user_version = %d", pageSize, applicationID, checksumForm)
		if err := checksum.Of(path).Begin(busyTimeout, pragmas); err != nil {
			return fmt.Errorf("the database file cannot be written: %w", err)
		}
		return nil
	}
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return damaged(path, err)
	}
	defer c.Close()
	c.SetBusyTimeout(busyTimeout)
	id, err := readInt(c, "PRAGMA application_id")
	if err == nil && id != applicationID {
		err = sqlitex.ExecuteTransient(c, fmt.Sprintf("PRAGMA application_id = %d", applicationID), nil)
	}
	if err != nil {
		return fmt.Errorf("the database file cannot be written: %w", err)
	}
	return nil
}

// checkSize rejects a file that ends within a page, such as a truncated copy: SQLite would read
// zeroes. If there is a write-ahead log, the rest may be in it.
func checkSize(c *sqlite.Conn, path string, size int64) error {
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		return nil
	}
	page, err := readInt(c, "PRAGMA page_size")
	if err != nil {
		return damaged(path, err)
	}
	if size%page != 0 {
		return damaged(path, errors.New("its last page is cut off"))
	}
	return nil
}

// damaged returns the error for a rejected file. If a checksum is wrong, it says what to do in
// either case: only a person knows whether another program wrote the page.
func damaged(path string, err error) error {
	if page := checksum.Of(path).Refused(); page != 0 {
		return fmt.Errorf("page %d of %s is not as sheaf wrote it (%w): if another program, such as sqlite3, wrote to the file while no server ran, run sheaf repair; "+
			"if none did, the disk has damaged it: restore it from a backup", page, path, err)
	}
	return fmt.Errorf("%s is damaged or not a database (%w): restore it from a backup, or move it away to start empty", path, err)
}

// ErrInUse is wrapped by the error for a file that another program has locked for too long. It says
// nothing about the file's content.
var ErrInUse = errors.New("another program holds it")

func isBusy(err error) bool { return sqlite.ErrCode(err).ToPrimary() == sqlite.ResultBusy }

// openLogged opens a connection, and turns on the write-ahead log if it is off. If two programs
// open a new file at the same time, SQLite refuses one of them without waiting, because each may
// hold a lock that the other needs. That one closes the file and tries again, for as long as a
// transaction would wait.
func openLogged(path string) (*sqlite.Conn, error) {
	const pause = 10 * time.Millisecond
	for tries := busyTimeout / pause; ; tries-- {
		c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenCreate, sqlite.OpenWAL)
		if !isBusy(err) || tries == 0 {
			return c, err
		}
		time.Sleep(pause) // there is no signal when the other program is done
	}
}

// openConn opens one connection. If reader is set, it cannot write.
func openConn(path string, reader bool) (*sqliteConn, error) {
	c, err := openLogged(path)
	if isBusy(err) {
		return nil, fmt.Errorf("%s cannot be opened: %w (%w): end what holds it", path, ErrInUse, err)
	}
	if err != nil {
		return nil, damaged(path, err)
	}
	c.SetInterrupt(nil)
	c.SetBusyTimeout(busyTimeout)
	// FULL, because at NORMAL a power cut loses acknowledged commits.
	pragmas := []string{"PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON", "PRAGMA trusted_schema = OFF",
		// SQLite overwrites deleted content with zeroes, so that nothing of a removed workspace stays.
		// clearGap of the package checksum overwrites what this setting leaves.
		"PRAGMA secure_delete = ON",
		"PRAGMA temp_store = MEMORY", "PRAGMA cache_size = -8000", fmt.Sprintf("PRAGMA wal_autocheckpoint = %d", checkpointLast)}
	if reader {
		pragmas = append(pragmas, "PRAGMA query_only = ON")
	}
	for _, p := range pragmas {
		if err := sqlitex.ExecuteTransient(c, p, nil); err != nil {
			c.Close()
			return nil, damaged(path, err)
		}
	}
	return &sqliteConn{c: c, statements: map[*sqlite.Stmt]statement{}}, nil
}

// connect opens one connection with the options. Derived data needs no fsync, and little cache,
// because it is scanned rather than read again.
func connect(o Options, path string, reader bool) (*sqliteConn, error) {
	c, err := openConn(path, reader)
	if err != nil || !o.Derived {
		return c, err
	}
	for _, p := range []string{"PRAGMA synchronous = NORMAL", "PRAGMA cache_size = -2000"} {
		if err := sqlitex.ExecuteTransient(c.c, p, nil); err != nil {
			c.close()
			return nil, damaged(path, err)
		}
	}
	return c, nil
}

// pageSize returns the page size of a new file. Rows of derived data are whole texts, which are
// scanned: a larger page wastes less space after them, and needs one read instead of two.
func (o Options) pageSize() int {
	if o.Derived {
		return 8192
	}
	return 4096
}

// Connections implements Engine.
func (e *SQLite) Connections() (reads, writes int) { return e.size, 1 }

// Read implements Engine.
func (e *SQLite) Read(ctx context.Context, fn func(*Reader) error) (err error) {
	// If both cases are ready, select chooses at random: a caller that has left could get a reader.
	if err := ctx.Err(); err != nil {
		return sheaf.UnavailableError(err)
	}
	c, err := e.reader(ctx)
	if err != nil {
		return sheaf.UnavailableError(err)
	}
	defer func() { e.readers.put(c) }()
	if _, err := c.exec("BEGIN", nil); err != nil {
		return err
	}
	stop := c.leash.begin(ctx)
	defer func() {
		stop()
		if why := c.leash.ended(); why != nil {
			c.leashed() // otherwise ROLLBACK would be interrupted too
			if err != nil {
				err = why
			}
		}
		c.exec("ROLLBACK", nil)
	}()
	return fn(&Reader{conn: c})
}

var errReaders = errors.New("no reader was free for too long")

// freeReaders are the idle read connections. The one returned last is used first, because its cache
// is warm. With few concurrent reads, the caches of the others stay empty.
type freeReaders struct {
	some  chan struct{} // one token per idle connection; a caller takes a token, then calls last
	mu    sync.Mutex    // guards stack
	stack []*sqliteConn
}

func (f *freeReaders) put(c *sqliteConn) {
	f.mu.Lock()
	f.stack = append(f.stack, c)
	f.mu.Unlock()
	f.some <- struct{}{}
}

func (f *freeReaders) last() *sqliteConn {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.stack) - 1
	c := f.stack[n]
	f.stack[n] = nil
	f.stack = f.stack[:n]
	return c
}

// reader waits up to readWait for an idle connection.
func (e *SQLite) reader(ctx context.Context) (*sqliteConn, error) {
	select {
	case <-e.readers.some:
		return e.readers.last(), nil
	case <-e.closed: // no reader will become free any more
		return nil, errClosed
	default:
	}
	ctx, cancel := context.WithTimeoutCause(ctx, readWait, errReaders)
	defer cancel()
	select {
	case <-e.readers.some:
		return e.readers.last(), nil
	case <-e.closed:
		return nil, errClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// ReadOne implements Engine.
func (e *SQLite) ReadOne(ctx context.Context, fn func(*Reader) error) error { return e.Read(ctx, fn) }

// Write implements Engine.
func (e *SQLite) Write(ctx context.Context, fn func(*Tx) error) error {
	return e.writer.do(ctx, "", false, fn)
}

// WriteIn implements Engine.
func (e *SQLite) WriteIn(ctx context.Context, tenant string, fn func(*Tx) error) error {
	return e.writer.do(ctx, tenant, false, fn)
}

// WriteHeavyIn implements Engine.
func (e *SQLite) WriteHeavyIn(ctx context.Context, tenant string, fn func(*Tx) error) error {
	return e.writer.do(ctx, tenant, true, fn)
}

// WriteLong implements Engine.
func (e *SQLite) WriteLong(ctx context.Context, fn func(*Tx) error) error {
	return e.writer.do(ctx, "", false, fn)
}

// EmptyLog implements Engine.
func (e *SQLite) EmptyLog() { e.checkpoints.wantEmpty() }

// Notify implements Engine. It does nothing: there is no other node.
func (e *SQLite) Notify(context.Context, string) error { return nil }

// Listen implements Engine. It only waits for ctx: the writer itself notices commits of other
// processes.
func (e *SQLite) Listen(ctx context.Context, _ func(string), _ func()) { <-ctx.Done() }

// Alone implements Engine. It always runs fn: the folder's lock keeps other servers away.
func (e *SQLite) Alone(ctx context.Context, _ string, fn func(context.Context) error) error {
	return fn(ctx)
}

// Close implements Engine.
func (e *SQLite) Close() error {
	var err error
	e.closing.Do(func() {
		close(e.closed)
		<-e.watched
		err = e.writer.close()
		e.closeReaders(e.size)
		err = errors.Join(err, e.checkpoints.close()) // last: no connection reads the log any more
		e.trusts()
	})
	return err
}

// closeReaders closes n readers, and waits for those in use.
func (e *SQLite) closeReaders(n int) {
	for range n {
		<-e.readers.some
		e.readers.last().close()
	}
}
