package store

import (
	"context"

	"sheaf.dev/internal/store/engine"
)

// What only SQLite has: a file whose pages carry checksums, a log beside it, and one writer.

// FileName is the SQLite file in the data folder.
const FileName = engine.FileName

// GroupCommit is what one commit of SQLite's writer was.
type GroupCommit = engine.GroupCommit

// OnGroup has listen called after every group of SQLite's writer; PostgreSQL has none. Groups are
// measured from then on. listen must return at once.
func (s *Store) OnGroup(listen func(GroupCommit)) {
	if e, ok := s.engine.(*engine.SQLite); ok {
		e.OnGroup(listen)
	}
}

// LogBytes returns the size of SQLite's log beside the file; false with PostgreSQL, which has its
// own.
func (s *Store) LogBytes() (int64, bool) {
	e, ok := s.engine.(*engine.SQLite)
	if !ok {
		return 0, false
	}
	return e.LogBytes(), true
}

// freePages counts the bytes of the pages that are in the file and hold nothing.
const freePages = `
SELECT f.freelist_count * p.page_size
FROM pragma_freelist_count f, pragma_page_size p`

// SpareBytes returns how much can be written into SQLite's file without making it longer.
func (s *Store) SpareBytes(ctx context.Context) (n int64, err error) {
	err = s.Read(ctx, func(r *Reader) error {
		n, err = r.count(freePages)
		return err
	})
	return n, err
}

// OpenTrusting opens an SQLite file without looking at its checksums, to find out with the doctor
// whether it is sound, and then to Restamp it. Nothing may be served from it, and no other store of
// this process may have it open.
func OpenTrusting(ctx context.Context, o Options) (*Store, error) {
	return open(o, func(o engine.Options) (engine.Engine, error) { return engine.OpenTrusting(ctx, o) })
}

// Unsound returns how many pages of the SQLite file have no checksum, or another than they should,
// and how many there are.
func (s *Store) Unsound() (unsound, pages int64, err error) {
	return s.engine.(*engine.SQLite).Unsound()
}

// Restamp gives every page of the SQLite file its checksum, whatever it holds, and returns how many
// had none, or another.
func (s *Store) Restamp() (int64, error) { return s.engine.(*engine.SQLite).Restamp() }
