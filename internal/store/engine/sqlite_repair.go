package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"sheaf.dev/internal/store/engine/checksum"
)

// Another program that writes to the file while no server runs leaves pages without our checksum,
// or with that of what the page was before. The second look the same as damage, so a person has to
// say who it was: `sheaf repair`. Where not even the first page has one, the whole file was written
// anew (VACUUM, VACUUM INTO), which damage never looks like: that is taken over by itself.

// OpenTrusting opens an SQLite file without looking at its checksums, to find out whether it is
// sound, and then to Restamp it. Nothing may be served from it, and no other store of this process
// may have it open.
func OpenTrusting(ctx context.Context, o Options) (*SQLite, error) {
	file := checksum.Of(filepath.Join(o.Folder, FileName))
	carries, err := file.Carries()
	if err != nil {
		return nil, fmt.Errorf("there is no database to repair (%w): name its folder with --data", err)
	}
	if !carries {
		return nil, fmt.Errorf("the pages of %s have no checksums: there is nothing to repair", filepath.Join(o.Folder, FileName))
	}
	done, err := file.Trust()
	if err != nil {
		return nil, err
	}
	e, err := openSQLite(o.withDefaults())
	if err != nil {
		done()
		return nil, err
	}
	e.trusts = done
	return e, nil
}

// Unsound returns how many pages of the file have no checksum, or another than they should, and how
// many there are.
func (e *SQLite) Unsound() (unsound, pages int64, err error) {
	return e.checkpoints.hold.Unsound(busyTimeout)
}

// Restamp gives every page of the file its checksum, whatever it holds, and returns how many had
// none, or another.
func (e *SQLite) Restamp() (int64, error) {
	n, _, err := e.checkpoints.hold.Restamp(busyTimeout)
	return n, err
}

// adoptFile takes over a file that another program wrote as a whole. It is refused unless SQLite
// finds it sound, and unless each page is without a checksum or has the right one, as after an
// adoption that was interrupted.
func adoptFile(path string, log *slog.Logger) error {
	done, err := checksum.Of(path).Trust()
	if err != nil {
		return err
	}
	defer done()
	c, err := openConn(path, false)
	if err != nil {
		return err
	}
	defer c.close()
	if err := checkIntegrity(c.c, path, "PRAGMA integrity_check(1)"); err != nil {
		return err
	}
	h, err := checksum.Of(path).Hold(busyTimeout)
	if err != nil {
		return damaged(path, err)
	}
	defer h.Release()
	n, all, err := h.Adopt(busyTimeout)
	if errors.Is(err, checksum.ErrAltered) {
		return damaged(path, err)
	}
	if err == nil {
		log.Info("took over a database file that another program wrote as a whole", "path", path, "pages", all, "without_checksum", n)
	}
	return err
}

// checkIntegrity refuses a file in which SQLite finds something wrong.
func checkIntegrity(c *sqlite.Conn, path, pragma string) error {
	verdict := "ok"
	err := sqlitex.ExecuteTransient(c, pragma, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		verdict = s.ColumnText(0)
		return nil
	}})
	if err != nil {
		return damaged(path, err)
	}
	if verdict != "ok" {
		return damaged(path, errors.New(strings.ReplaceAll(verdict, "\n", " "))) // it may have several lines
	}
	return nil
}
