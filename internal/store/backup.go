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

// The forms of a backup: one JSON value per line, compressed, with a footer (backup_footer.go). The
// first line is a BackupHead. Then, for each table, a backupTable and its rows as arrays. The last
// line is a backupEnd. With the bytes of media after the lines (backup_media.go), the form is
// mediaForm.
const (
	backupForm = 2
	mediaForm  = 3
)

// BackupHead is the first line of a backup.
type BackupHead struct {
	Form   int   `json:"sheaf_backup"`
	Schema int64 `json:"schema"` // schema of the program that wrote it
	// KeyCheck identifies the master key that sealed the secrets. No backup contains the key
	// itself.
	KeyCheck string `json:"master_key_check"`
	// Media is the number of media whose bytes the backup has; it is read from the end of the file.
	// HasMedia reports whether bytes were included at all.
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

// backupTables are the tables that are backed up, each after those that it refers to. Sessions and
// the counts for charts are not: a restored copy starts without them.
var backupTables = []string{"settings", "counters", "workspaces", "users", "members", "setup_links", "api_keys", "folders", "brandings",
	"projects", "documents", "texts", "versions", "shares", "media", "uploads", "events", "reported_events", "idempotency_keys", "subscriptions", "deleted_subscriptions", "lanes", "deliveries", "attempts",
	"leases", "notices", "invitations"}

// KeyCheckSetting is the setting that identifies the database's master key.
const KeyCheckSetting = "master_key_check"

// BackupCount is the number of things in a backup.
type BackupCount struct {
	Rows, Media, MediaBytes int64
	// Lost names media whose bytes are missing in the media store, or are not the right ones. Their
	// rows are in the backup, their bytes are not.
	Lost []string
}

// Backup writes a consistent copy of everything, as of one moment, while others go on writing. The
// format is the same for both engines and never contains the master key. The bytes of media are
// read from files; if it is nil, they are left out.
//
// The rows are from one moment; the bytes are read after it. If a medium is deleted meanwhile, its
// bytes may be gone: the backup says so, and a restore deletes the medium too. So every live medium
// of a restored copy has its bytes.
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

// backupTable writes one table: a line with its columns, then one line per row.
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

// rowValues returns a row as JSON values: text, number or null; a blob becomes base64.
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

// ErrNotEmpty is returned for a restore into a store that has data.
var ErrNotEmpty = errors.New("the store is not empty: a backup is restored into an empty one only, so that nothing is overwritten")

// CheckBackup reads a backup to its last byte and returns its head. It returns an error, worded for
// a person, if the file is damaged or this program cannot restore it. It stores nothing.
func CheckBackup(in io.Reader) (BackupHead, error) {
	r, err := newBackupReader(in)
	if err != nil {
		return BackupHead{}, err
	}
	_, head, unread := readHead(r)
	if _, err := io.Copy(io.Discard, r); err != nil {
		return BackupHead{}, err // the head of a damaged file cannot be trusted
	}
	if unread == nil {
		unread = r.complete(head)
	}
	if r.media != nil {
		head.Media = r.media.Media
	}
	return head, unread
}

// PrepareRestore creates the tables of the given schema in a store that has none. If there are
// tables, they must have that schema.
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

// Restore fills an empty store with a backup, completely or not at all: it commits only after the
// last byte of the file was verified. Call PrepareRestore first, and Migrate afterwards. The caller
// must have checked with CheckBackup that it has the master key.
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

// readHead reads the first line. The decoder that it returns continues after it.
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
	case head.Form < backupForm:
		return nil, head, errNoBackup
	}
	return lines, head, nil
}

// restore inserts the tables, reads to the end of the file, and deletes the media that were deleted
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

// finishRestore verifies that the file is intact to its end, and deletes the media that the end
// names.
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

// Restorable returns nil if the store is empty and has the backup's schema. Otherwise it returns
// ErrNotEmpty or another reason. Restore checks again.
func (s *Store) Restorable(ctx context.Context, head BackupHead) error {
	return s.Read(ctx, func(r *Reader) error { return r.restorable(head) })
}

// restorable is Restorable in a snapshot.
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
			continue // this schema does not have the table yet
		}
		if n, err := r.count("SELECT COUNT(*) FROM " + table); err != nil || n > 0 {
			return errors.Join(err, errorIf(n > 0, ErrNotEmpty))
		}
	}
	return nil
}

// ended returns nil if no line follows and the file is intact.
func ended(lines *json.Decoder) error {
	var more json.RawMessage
	err := lines.Decode(&more)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return torn(err)
}

// errorIf returns err if yes is true, otherwise nil.
func errorIf(yes bool, err error) error {
	if yes {
		return err
	}
	return nil
}

// restorer collects rows of one table into multi-row inserts.
type restorer struct {
	tx    *Tx
	table backupTable
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

// line processes one line of a backup. It reports whether it was the last.
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

// check rejects unknown tables and columns, because their names become SQL.
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

// flush inserts the batch.
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
