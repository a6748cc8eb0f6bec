package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"sheaf.dev/internal/failpoint"
	"sheaf.dev/internal/media"
)

// The forms of a backup: one JSON value a line, compressed, with a footer (backup_footer.go). The first
// is a BackupHead; then for each table a backupTable and its rows as arrays; the last is a backupEnd.
// With the bytes of media behind the lines (backup_media.go) it is mediaForm. Form 1, which is still
// read, was the same as backupForm without the footer.
const (
	backupForm = 2
	mediaForm  = 3
)

// BackupHead is what a backup says of itself.
type BackupHead struct {
	Form   int   `json:"sheaf_backup"`
	Schema int64 `json:"schema"` // of the program that wrote it
	// KeyCheck proves which master key sealed the secrets; the key itself is in no backup.
	KeyCheck string `json:"master_key_check"`
	// Media is how many media have their bytes in it, which its end says. HasMedia tells whether it
	// has those of all.
	Media int64 `json:"-"`
}

// HasMedia reports whether the backup was written with the bytes of media.
func (h BackupHead) HasMedia() bool { return h.Form >= mediaForm }

type backupTable struct {
	Table   string   `json:"table"`
	Columns []column `json:"columns"`
}

type column struct {
	Name string `json:"name"`
	Blob bool   `json:"blob,omitempty"`
}

type backupEnd struct {
	Rows int64 `json:"end_after_rows"`
}

// backupTables are all tables whose content a copy goes on with, each behind those that it refers
// to. A copy keeps nobody signed in, and begins its charts anew.
var backupTables = []string{"settings", "counters", "workspaces", "users", "members", "setup_links", "api_keys", "folders", "brandings",
	"projects", "documents", "texts", "versions", "shares", "media", "uploads", "events", "reported_events", "idempotency_keys", "subscriptions", "deleted_subscriptions", "lanes", "deliveries", "attempts",
	"leases", "old_ids", "notices", "invitations"}

// KeyCheckSetting is the setting by which a database knows its master key.
const KeyCheckSetting = "master_key_check"

// BackupCount is what a backup holds.
type BackupCount struct {
	Rows, Media, MediaBytes int64
	// Lost names media whose bytes are not where they are kept, or are others: they are rows of the
	// copy as they are of the store, and their bytes are in neither.
	Lost []string
}

// Backup writes a consistent copy of everything, as of one moment, while others go on writing. It
// is the same for both engines and never holds the master key. The bytes of media are those that
// files keeps; nil leaves them out.
//
// The rows are of one moment, and the bytes are read after it. A medium that somebody deletes
// meanwhile may have none any more: the backup says so, and a restore deletes it too. So every live
// medium of a restored copy has its bytes.
func (s *Store) Backup(ctx context.Context, out io.Writer, files media.Store) (count BackupCount, err error) {
	listed, err := newSpool()
	if err != nil {
		return count, err
	}
	defer listed.close()
	z := newFootedWriter(out)
	w := &backupWriter{json.NewEncoder(z.lines), 0}
	w.SetEscapeHTML(false)
	form := backupForm
	if files != nil {
		form = mediaForm
	}
	err = s.ReadLong(ctx, func(r *Reader) error {
		if err := r.backup(w, form); err != nil || files == nil {
			return err
		}
		return r.eachStored(listed.add)
	})
	if err == nil {
		err = errors.Join(w.Encode(backupEnd{w.rows}), z.lines.Close())
	}
	if err != nil {
		return count, err
	}
	count.Rows = w.rows
	if files != nil {
		if err := s.backupMedia(ctx, z, files, listed, &count); err != nil {
			return count, err
		}
	}
	return count, z.Close()
}

type backupWriter struct {
	*json.Encoder
	rows int64
}

// backup writes every table.
func (r *Reader) backup(w *backupWriter, form int) error {
	schema, err := r.sql.Schema()
	if err != nil {
		return err
	}
	check, _, err := r.Setting(KeyCheckSetting)
	if err != nil {
		return err
	}
	if err := w.Encode(BackupHead{Form: form, Schema: schema.Version, KeyCheck: check}); err != nil {
		return err
	}
	for _, table := range backupTables {
		if err := r.backupTable(w, table); err != nil {
			return fmt.Errorf("back up %s: %w", table, err)
		}
	}
	return nil
}

// backupTable writes one table: a line that names its columns, and then a line a row.
func (r *Reader) backupTable(w *backupWriter, table string) error {
	columns, err := r.columns(table)
	if err != nil {
		return err
	}
	failpoint.Pass(failpoint.InBackup)
	if err := w.Encode(backupTable{table, columns}); err != nil {
		return err
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	order := ""
	if table == "folders" {
		order = " ORDER BY depth" // parents before their children
	}
	return r.each("SELECT "+strings.Join(names, ", ")+" FROM "+table+order, func(r *row) error {
		w.rows++
		return w.Encode(rowValues(r, columns))
	})
}

// rowValues reads a whole row as JSON has it: text, number, null; a blob is base64.
func rowValues(r *row, columns []column) []any {
	out := make([]any, len(columns))
	for i, c := range columns {
		switch {
		case r.Null():
			r.Skip()
		case c.Blob:
			out[i] = r.Blob()
		case r.IsInt():
			out[i] = r.Int()
		default:
			out[i] = r.Text()
		}
	}
	return out
}

// ErrNotEmpty refuses to restore over what is there.
var ErrNotEmpty = errors.New("the store is not empty: a backup is restored into an empty one only, so that nothing is overwritten")

// CheckBackup reads a backup to its last byte, and returns what it says of itself, or an error for
// a person unless it is whole and this program can restore it. It keeps nothing.
func CheckBackup(in io.Reader) (BackupHead, error) {
	r, err := newBackupReader(in)
	if err != nil {
		return BackupHead{}, err
	}
	_, head, unread := readHead(r)
	if _, err := io.Copy(io.Discard, r); err != nil {
		return BackupHead{}, err // what a damaged head says is no use
	}
	if unread == nil {
		unread = r.complete(head)
	}
	if r.media != nil {
		head.Media = r.media.Media
	}
	return head, unread
}

// PrepareRestore makes the tables that a backup of that schema is restored into, in a store where
// there are none. Tables that are there must have that schema.
func PrepareRestore(ctx context.Context, o Options, schema int64) error {
	s, err := Open(ctx, o)
	if err != nil {
		return err
	}
	has, err := s.Schema(ctx)
	if err := errors.Join(err, s.Close()); err != nil {
		return err
	}
	switch has.Version {
	case schema:
		return nil
	case 0:
		return migrateTo(ctx, o, schema)
	}
	return fmt.Errorf("the store has schema %d and the backup schema %d: restore it into a folder, or a database, in which nothing was made yet", has.Version, schema)
}

// Restore fills an empty store with a backup, whole or not at all: the commit comes after the last
// byte of the file was found right. PrepareRestore has made the tables; Migrate brings them to this
// program's schema afterwards. Whether the master key is at hand the caller has asked with
// CheckBackup.
func (s *Store) Restore(ctx context.Context, in io.Reader) (rows int64, err error) {
	r, err := newBackupReader(in)
	if err != nil {
		return 0, err
	}
	lines, head, err := readHead(r)
	if err != nil {
		return 0, err
	}
	ran, failed := false, error(nil)
	err = s.engine.WriteLong(ctx, s.writing(func(tx *Tx) error {
		if failed != nil {
			return failed
		}
		if ran { // the input cannot be read twice
			return errors.New("the restore was interrupted by the database: repeat it")
		}
		ran = true
		rows, failed = tx.restore(r, lines, head)
		return failed
	}))
	return rows, err
}

var errNoBackup = errors.New("this is not a backup of sheaf")

// readHead reads the first line. The decoder goes on behind it.
func readHead(r *backupReader) (*json.Decoder, BackupHead, error) {
	lines := json.NewDecoder(r)
	lines.UseNumber()
	var head BackupHead
	switch err := lines.Decode(&head); {
	case errors.Is(err, errDamaged):
		return nil, head, err
	case err != nil || head.Form == 0:
		return nil, head, errNoBackup
	case head.Form > mediaForm || head.Schema > Latest:
		return nil, head, fmt.Errorf("the backup is of a newer program (schema %d, this one has %d): restore it with that one", head.Schema, Latest)
	case r.footed != (head.Form >= backupForm):
		return nil, head, errDamaged
	}
	return lines, head, nil
}

// restore inserts the tables, reads on to the end of the file, and deletes the media that were deleted
// while the backup was made.
func (tx *Tx) restore(r *backupReader, lines *json.Decoder, head BackupHead) (int64, error) {
	if err := tx.restorable(head); err != nil {
		return 0, err
	}
	in := &restorer{tx: tx}
	for {
		var line json.RawMessage
		if err := lines.Decode(&line); err != nil {
			return 0, torn(err)
		}
		done, err := in.line(line)
		if err != nil {
			return 0, err
		}
		if done {
			tx.note = everything
			return in.rows, tx.finishRestore(r, lines, head)
		}
	}
}

// finishRestore sees that the file is whole to its end, which may name media to delete.
func (tx *Tx) finishRestore(r *backupReader, lines *json.Decoder, head BackupHead) error {
	if err := ended(lines); err != nil {
		return err
	}
	if err := r.complete(head); err != nil || r.media == nil {
		return err
	}
	for _, name := range r.media.Deleted {
		if err := tx.dropMedia(name); err != nil {
			return err
		}
	}
	return nil
}

// Restorable returns nil for an empty store of the backup's schema, and else ErrNotEmpty or why not.
// Restore asks again.
func (s *Store) Restorable(ctx context.Context, head BackupHead) error {
	return s.Read(ctx, func(r *Reader) error { return r.restorable(head) })
}

// restorable returns nil for an empty store of the backup's schema.
func (r *Reader) restorable(head BackupHead) error {
	schema, err := r.sql.Schema()
	if err != nil {
		return err
	}
	if schema.Version != head.Schema {
		return fmt.Errorf("the store has schema %d and the backup schema %d", schema.Version, head.Schema)
	}
	for _, table := range backupTables {
		columns, err := r.columns(table)
		if err != nil {
			return err
		}
		if len(columns) == 0 {
			continue // this schema has no such table yet
		}
		if n, err := r.count("SELECT COUNT(*) FROM " + table); err != nil || n > 0 {
			return errors.Join(err, errorIf(n > 0, ErrNotEmpty))
		}
	}
	return nil
}

// ended returns nil when nothing follows and the file is whole.
func ended(lines *json.Decoder) error {
	var more json.RawMessage
	err := lines.Decode(&more)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return torn(err)
}

// errorIf is the error where yes, else nil.
func errorIf(yes bool, err error) error {
	if yes {
		return err
	}
	return nil
}

// restorer gathers rows of one table into multi-row inserts.
type restorer struct {
	tx    *Tx
	table backupTable
	batch [][]any
	held  int // bytes of the lines that the batch was read from
	rows  int64
}

// restoreBatch and restoreBytes bound what is held before it is inserted: a line may be a whole text.
const (
	restoreBatch = 64
	restoreBytes = 4 << 20
)

// line reads one line of a backup. It reports whether that was the last.
func (in *restorer) line(line json.RawMessage) (done bool, err error) {
	if line[0] == '[' {
		return false, in.row(line)
	}
	if err := in.flush(); err != nil {
		return false, err
	}
	var end struct {
		backupTable
		End *int64 `json:"end_after_rows"`
	}
	if err := json.Unmarshal(line, &end); err != nil {
		return false, errDamaged
	}
	if end.End != nil {
		return true, errorIf(*end.End != in.rows, errDamaged)
	}
	in.table = end.backupTable
	return false, in.check()
}

// check refuses a table that is none of ours: its name and columns become SQL.
func (in *restorer) check() error {
	for _, known := range backupTables {
		if known == in.table.Table {
			columns, err := in.tx.columns(known)
			if err != nil {
				return err
			}
			return errorIf(fmt.Sprint(columns) != fmt.Sprint(in.table.Columns), errDamaged)
		}
	}
	return errDamaged
}

// row reads a line that is a row of the table under way, and inserts it with others.
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
			values[i] = optBlob(*b)
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

// flush inserts the rows that have gathered.
func (in *restorer) flush() error {
	if len(in.batch) == 0 {
		return nil
	}
	names := make([]string, len(in.table.Columns))
	for i, c := range in.table.Columns {
		names[i] = c.Name
	}
	err := in.tx.sql.InsertRows("INSERT INTO "+in.table.Table+" ("+strings.Join(names, ", ")+")", len(names), in.batch)
	in.batch, in.held = in.batch[:0], 0
	if err != nil {
		return fmt.Errorf("restore %s: %w", in.table.Table, err)
	}
	return nil
}

func (r *Reader) columns(table string) ([]column, error) {
	return all(r, r.dialect().TableColumns(), func(w *row) column { return column{w.Text(), w.Bool()} }, table)
}
