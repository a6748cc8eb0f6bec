package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"sheaf.dev/internal/store"
)

var errNoBackup = errors.New("this is not a backup of sheaf")

// Check reads a backup to its last byte and returns its head. It returns an error, worded for a
// person, if the file is damaged or this program cannot restore it. It stores nothing.
func Check(in io.Reader) (Head, error) {
	r, err := newReader(in)
	if err != nil {
		return Head{}, err
	}
	_, head, unread := readHead(r)
	if _, err := io.Copy(io.Discard, r); err != nil {
		return Head{}, err // the head of a damaged file cannot be trusted
	}
	if unread == nil {
		unread = r.complete(head)
	}
	if r.media != nil {
		head.Media = r.media.Media
	}
	return head, unread
}

// readHead reads the first line. The decoder that it returns continues after it.
func readHead(r *reader) (*json.Decoder, Head, error) {
	lines := json.NewDecoder(r)
	lines.UseNumber()
	var head Head
	switch err := lines.Decode(&head); {
	case errors.Is(err, errDamaged):
		return nil, head, err
	case err != nil || head.Form == 0:
		return nil, head, errNoBackup
	case head.Form > mediaBeside || head.Schema > store.Latest:
		return nil, head, fmt.Errorf("the backup is of a newer program (schema %d, this one has %d): restore it with that one", head.Schema, store.Latest)
	case head.Form < rowsOnly:
		return nil, head, errNoBackup
	}
	return lines, head, nil
}

// Restore fills an empty store with a backup, completely or not at all: it commits only after the
// last byte of the file was verified. Call store.PrepareRestore first, and store.Migrate afterwards.
// The caller must have checked with Check that it has the master key.
func Restore(ctx context.Context, st *store.Store, in io.Reader) (rows int64, err error) {
	r, err := newReader(in)
	if err != nil {
		return 0, err
	}
	lines, head, err := readHead(r)
	if err != nil {
		return 0, err
	}
	ran, failed := false, error(nil)
	err = st.WriteRestore(ctx, func(tx *store.Tx) error {
		if failed != nil {
			return failed
		}
		if ran { // the input cannot be read twice
			return errors.New("the restore was interrupted by the database: repeat it")
		}
		ran = true
		rows, failed = restore(tx, r, lines, head)
		return failed
	})
	return rows, err
}

// restore inserts the tables, verifies that the file is intact to its end, and deletes the media
// that were deleted while the backup was made.
func restore(tx *store.Tx, r *reader, lines *json.Decoder, head Head) (int64, error) {
	if err := tx.Restorable(head.Schema); err != nil {
		return 0, err
	}
	in := &restorer{tx: tx}
	for done := false; !done; {
		var line json.RawMessage
		err := lines.Decode(&line)
		if err != nil {
			return 0, torn(err)
		}
		if done, err = in.line(line); err != nil {
			return 0, err
		}
	}
	var more json.RawMessage
	if err := lines.Decode(&more); !errors.Is(err, io.EOF) {
		return 0, torn(err)
	}
	if err := r.complete(head); err != nil || r.media == nil {
		return in.rows, err
	}
	for _, name := range r.media.Deleted {
		b, ok := parseStored(name)
		if !ok {
			return 0, errDamaged
		}
		if err := tx.DropMedia(b.Workspace, b.SHA256); err != nil {
			return 0, err
		}
	}
	return in.rows, nil
}

// restorer collects rows of one table into multi-row inserts.
type restorer struct {
	tx    *store.Tx
	table store.Table
	batch [][]any
	held  int // bytes of the batch's lines
	rows  int64
}

// restoreBatch and restoreBytes limit the rows held before an insert: a line may contain a whole
// text.
const (
	restoreBatch = 64
	restoreBytes = 4 << 20
)

// line processes one line of a backup. It reports whether it was the last. It rejects unknown tables
// and columns, because their names become SQL.
func (in *restorer) line(line json.RawMessage) (done bool, err error) {
	if line[0] == '[' {
		return false, in.row(line)
	}
	if err := in.flush(); err != nil {
		return false, err
	}
	var next struct {
		store.Table
		End *int64 `json:"end_after_rows"`
	}
	if err := json.Unmarshal(line, &next); err != nil {
		return false, errDamaged
	}
	if next.End != nil {
		if *next.End != in.rows {
			return false, errDamaged
		}
		return true, nil
	}
	known, found, err := in.tx.BackupTable(next.Name)
	if err == nil && (!found || !slices.Equal(known.Columns, next.Columns)) {
		err = errDamaged
	}
	in.table = known
	return false, err
}

// row parses a line as a row of the current table and adds it to the batch.
func (in *restorer) row(line json.RawMessage) error {
	columns := in.table.Columns
	values := make([]any, len(columns))
	into := make([]any, len(columns))
	blobs := map[int]*[]byte{}
	for i, c := range columns {
		into[i] = &values[i]
		if c.Blob {
			blobs[i] = new([]byte)
			into[i] = blobs[i]
		}
	}
	d := json.NewDecoder(strings.NewReader(string(line)))
	d.UseNumber()
	if err := d.Decode(&into); err != nil || len(into) != len(columns) {
		return errDamaged
	}
	for i := range values {
		if b, ok := blobs[i]; ok {
			if *b != nil { // nil is NULL
				values[i] = *b
			}
		} else if n, ok := values[i].(json.Number); ok {
			whole, err := n.Int64()
			if err != nil {
				return errDamaged
			}
			values[i] = whole
		}
	}
	in.rows++
	in.held += len(line)
	if in.batch = append(in.batch, values); len(in.batch) == restoreBatch || in.held >= restoreBytes {
		return in.flush()
	}
	return nil
}

// flush inserts the batch.
func (in *restorer) flush() error {
	if len(in.batch) == 0 {
		return nil
	}
	err := in.tx.InsertRows(in.table, in.batch)
	in.batch, in.held = in.batch[:0], 0
	return err
}
