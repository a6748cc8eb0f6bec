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

// If another program writes to the file while no server runs, its pages have no checksum of ours,
// or that of the page's earlier content. The latter cannot be told from damage, so a person has to
// decide: `sheaf repair`. If not even the first page has a checksum, the whole file was rewritten
// (VACUUM, VACUUM INTO). Damage never looks like that, so such a file is adopted automatically.

// OpenTrusting opens an SQLite file without verifying its checksums, so that its content can be
// checked before Restamp. Nothing may be served from it, and no other store of this process may
// have it open.
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

// Unsound returns how many pages of the file have a missing or wrong checksum, and the total number
// of pages.
func (e *SQLite) Unsound() (unsound, pages int64, err error) {
	return e.checkpoints.hold.Unsound(busyTimeout)
}

// Restamp writes the checksum of every page of the file, whatever its content, and returns how many
// were missing or wrong.
func (e *SQLite) Restamp() (int64, error) {
	n, _, err := e.checkpoints.hold.Restamp(busyTimeout)
	return n, err
}

// adoptFile adopts a file that another program rewrote as a whole. SQLite must find it sound. Each
// page must have either no checksum or the right one, as after an interrupted adoption; otherwise
// the file is rejected.
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

// checkIntegrity rejects a file in which SQLite finds an error.
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
		return damaged(path, errors.New(strings.ReplaceAll(verdict, "\n", " "))) // the verdict may have several lines
	}
	return nil
}
