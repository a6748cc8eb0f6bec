// Package backup is the file of `sheaf backup` and `sheaf restore`: a consistent copy of everything
// in a store, in one format for both engines, with the bytes of its media. The store reads and
// writes the rows; this package has the format, and checks it.
package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"sheaf.dev/internal/failpoint"
	"sheaf.dev/internal/media"
	"sheaf.dev/internal/store"
)

// The forms of a backup: one JSON value per line, compressed, with a footer (footer.go). The first
// line is a Head. Then, for each table, a store.Table and its rows as arrays. The last line is an
// end. With the bytes of media after the lines (media.go), the form is withMedia. If the members of
// media are empty, because their bytes were sent elsewhere, it is mediaBeside.
const (
	rowsOnly    = 2
	withMedia   = 3
	mediaBeside = 4
)

// Head is the first line of a backup.
type Head struct {
	Form   int   `json:"sheaf_backup"`
	Schema int64 `json:"schema"` // schema of the program that wrote it
	// KeyCheck identifies the master key that sealed the secrets. No backup contains the key
	// itself.
	KeyCheck string `json:"master_key_check"`
	// Media is the number of media whose bytes the backup has; it is read from the end of the file.
	Media int64 `json:"-"`
}

// HasMedia reports whether the backup was written with the bytes of media.
func (h Head) HasMedia() bool { return h.Form >= withMedia }

// MediaBeside reports whether the bytes of media are not in the file, but beside it.
func (h Head) MediaBeside() bool { return h.Form == mediaBeside }

// Send takes the bytes of a medium, which are checked while they are read. It returns their error unchanged.
type Send func(ctx context.Context, b store.MediumBytes, content io.Reader) error

type end struct {
	Rows int64 `json:"end_after_rows"`
}

// Count is the number of things in a backup.
type Count struct {
	Rows, Media, MediaBytes int64
	// Lost names media whose bytes are missing in the media store, or are not the right ones. Their
	// rows are in the backup, their bytes are not.
	Lost []string
}

// Write writes a consistent copy of everything, as of one moment, while others go on writing. The
// file never contains the master key. The bytes of media are read from files; if it is nil, they
// are left out.
//
// The rows are from one moment; the bytes are read after it. If a medium is deleted meanwhile, its
// bytes may be gone: the backup says so, and a restore deletes the medium too. So every live medium
// of a restored copy has its bytes.
func Write(ctx context.Context, st *store.Store, out io.Writer, files media.Store) (count Count, err error) {
	return WriteBeside(ctx, st, out, files, nil)
}

// WriteBeside is Write for bytes of media that are kept beside the file: it calls `send` with each medium, after
// the snapshot of the rows has ended. Media of a workspace follow each other. The file has their names and sizes. If
// send is nil, the bytes are in the file.
func WriteBeside(ctx context.Context, st *store.Store, out io.Writer, files media.Store, send Send) (count Count, err error) {
	listed, err := newSpool()
	if err != nil {
		return count, err
	}
	defer listed.close()
	z := newFootedWriter(out)
	lines := json.NewEncoder(z.lines)
	lines.SetEscapeHTML(false)
	head := Head{Form: rowsOnly}
	if files != nil {
		head.Form = withMedia
		if send != nil {
			head.Form = mediaBeside
		}
	}
	err = st.ReadLong(ctx, func(r *store.Reader) (err error) {
		if head.Schema, err = r.SchemaVersion(); err != nil {
			return err
		}
		if head.KeyCheck, _, err = r.Setting(store.KeyCheckSetting); err != nil {
			return err
		}
		if err := lines.Encode(head); err != nil {
			return err
		}
		for _, name := range store.BackupTables {
			n, err := writeTable(r, lines, name)
			if err != nil {
				return fmt.Errorf("back up %s: %w", name, err)
			}
			count.Rows += n
		}
		if files == nil {
			return nil
		}
		return r.EachStored(listed.add)
	})
	if err == nil {
		err = errors.Join(lines.Encode(end{count.Rows}), z.lines.Close())
	}
	if err == nil && files != nil {
		err = writeMedia(ctx, st, z, files, send, listed, &count)
	}
	if err != nil {
		return Count{}, err
	}
	return count, z.Close()
}

// writeTable writes one table: a line with its columns, then one line per row. It returns the number of rows.
func writeTable(r *store.Reader, lines *json.Encoder, name string) (rows int64, err error) {
	t, _, err := r.BackupTable(name)
	if err != nil {
		return 0, err
	}
	failpoint.Pass(failpoint.InBackup)
	if err := lines.Encode(t); err != nil {
		return 0, err
	}
	err = r.EachRow(t, func(values []any) error {
		rows++
		return lines.Encode(values)
	})
	return rows, err
}
