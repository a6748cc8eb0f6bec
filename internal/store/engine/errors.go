package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"zombiezen.com/go/sqlite"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine/checksum"
)

// The errors of a violated constraint. Callers translate them for the client.
var (
	ErrDuplicate = errors.New("a row with this key exists")
	ErrReference = errors.New("a referenced row does not exist, or is still referenced")
)

// ErrRerun is returned by the closure of a Write on PostgreSQL that finds out too late which locks
// it needs. The transaction is rolled back, and the closure runs again.
var ErrRerun = errors.New("the transaction runs again")

// ErrDamaged is wrapped by the error of a read or write that met a damaged page of the SQLite file.
var ErrDamaged = errors.New("the file is damaged")

// sqliteError translates a driver's error by its code.
func sqliteError(err error) error {
	if err == nil {
		return nil
	}
	code := sqlite.ErrCode(err)
	switch code {
	case sqlite.ResultConstraintUnique, sqlite.ResultConstraintPrimaryKey, sqlite.ResultConstraintRowID:
		return fmt.Errorf("%w: %w", ErrDuplicate, err)
	case sqlite.ResultConstraintForeignKey:
		return fmt.Errorf("%w: %w", ErrReference, err)
	}
	if code == checksum.Unsound {
		return sheaf.UnavailableError(fmt.Errorf("a page of the database file is not as sheaf wrote it: the disk has damaged it, or another program wrote it while no server ran (see sheaf repair): %w: %w", ErrDamaged, err))
	}
	switch code.ToPrimary() {
	case sqlite.ResultCorrupt, sqlite.ResultNotADB:
		return sheaf.UnavailableError(fmt.Errorf("%w: %w", ErrDamaged, err))
	case sqlite.ResultFull, sqlite.ResultIOErr, sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultCantOpen,
		sqlite.ResultReadOnly, sqlite.ResultNoMem, sqlite.ResultProtocol:
		return sheaf.UnavailableError(err)
	}
	return err
}

// postgresError translates a driver's error by its code.
func postgresError(err error) error {
	if err == nil {
		return nil
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		// The error did not come from the server: a connection that failed or broke is Unavailable.
		var known *sheaf.Error
		var network net.Error
		var connect *pgconn.ConnectError
		switch {
		case errors.As(err, &known):
			return err
		case errors.As(err, &connect), errors.As(err, &network), pgconn.SafeToRetry(err), pgconn.Timeout(err),
			errors.Is(err, net.ErrClosed), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
			errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
			return sheaf.UnavailableError(err)
		}
		return err
	}
	switch {
	case pg.Code == "23505":
		return fmt.Errorf("%w: %w", ErrDuplicate, err)
	case pg.Code == "23503":
		return fmt.Errorf("%w: %w", ErrReference, err)
	}
	// 08 connection, 25006 read-only (a standby), 53 resources, 57 shut down or cancelled, 58
	// system error, XX corrupted.
	for _, class := range []string{"08", "25006", "53", "55P03", "57", "58", "XX"} {
		if strings.HasPrefix(pg.Code, class) {
			return sheaf.UnavailableError(err)
		}
	}
	return err
}

// rerun reports whether the transaction should run again: PostgreSQL aborted it because of a
// deadlock or a serialization failure, or its closure returned ErrRerun.
func rerun(err error) bool {
	var pg *pgconn.PgError
	return errors.Is(err, ErrRerun) || errors.As(err, &pg) && (pg.Code == "40001" || pg.Code == "40P01")
}
