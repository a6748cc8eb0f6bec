package store

import (
	"context"

	"sheaf.dev/internal/store/engine"
)

// What only SQLite has: a file whose pages have checksums, a write-ahead log beside it, and one
// writer.

// FileName is the SQLite file in the data folder.
const FileName = engine.FileName

// GroupCommit describes one commit of SQLite's writer.
type GroupCommit = engine.GroupCommit

// OnGroup calls listen after every group commit of SQLite's writer, from now on. listen must return
// at once. On PostgreSQL it does nothing.
func (s *Store) OnGroup(listen func(GroupCommit)) {
	if e, ok := s.engine.(*engine.SQLite); ok {
		e.OnGroup(listen)
	}
}

// LogBytes returns the size of SQLite's write-ahead log; false on PostgreSQL.
func (s *Store) LogBytes() (int64, bool) {
	e, ok := s.engine.(*engine.SQLite)
	if !ok {
		return 0, false
	}
	return e.LogBytes(), true
}

// freePages is the total size of the unused pages in the file.
const freePages = `
SELECT f.freelist_count * p.page_size
FROM pragma_freelist_count f, pragma_page_size p`

// SpareBytes returns how many bytes can be written into SQLite's file before it grows.
func (s *Store) SpareBytes(ctx context.Context) (n int64, err error) {
	err = s.Read(ctx, func(r *Reader) error {
		n, err = r.count(freePages)
		return err
	})
	return n, err
}

// OpenTrusting opens an SQLite file without verifying its checksums, so that the doctor can check
// its content before Restamp. Nothing may be served from it, and no other Store of this process may
// have it open.
func OpenTrusting(ctx context.Context, o Options) (*Store, error) {
	return open(o, func(o engine.Options) (engine.Engine, error) { return engine.OpenTrusting(ctx, o) })
}

// Unsound returns how many pages of the SQLite file have a missing or wrong checksum, and the total
// number of pages.
func (s *Store) Unsound() (unsound, pages int64, err error) {
	return s.engine.(*engine.SQLite).Unsound()
}

// Restamp writes the checksum of every page of the SQLite file, whatever its content, and returns
// how many were missing or wrong.
func (s *Store) Restamp() (int64, error) { return s.engine.(*engine.SQLite).Restamp() }
