package store

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"sheaf.dev/internal/failpoint"
)

// backupForm is the number of the form that Backup writes: gzip of one JSON
// value a line. The first is a backupHead; then for each table a backupTable
// and its rows as arrays; the last is a backupEnd, without which it is torn.
const backupForm = 1

type backupHead struct {
	Form   int   `json:"sheaf_backup"`
	Schema int64 `json:"schema"`
	// KeyCheck proves which master key sealed the secrets; the key itself is
	// in no backup.
	KeyCheck string `json:"master_key_check"`
}

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

// backupTables are all tables whose content a copy goes on with, each behind
// those that it refers to. A copy keeps nobody signed in, and begins its charts
// anew.
var backupTables = []string{"settings", "workspaces", "users", "members", "setup_links", "api_keys", "folders", "projects",
	"documents", "events", "idempotency_keys", "subscriptions", "deleted_subscriptions", "deliveries", "attempts", "invitations"}

// KeyCheckSetting is the setting by which a database knows its master key.
const KeyCheckSetting = "master_key_check"

// Backup writes a consistent copy of everything, as of one moment, while others
// go on writing. It is the same for both engines and never holds the master key.
func (s *Store) Backup(ctx context.Context, out io.Writer) (rows int64, err error) {
	z := gzip.NewWriter(out)
	w := &backupWriter{json.NewEncoder(z), 0}
	w.SetEscapeHTML(false)
	if err := s.Read(ctx, func(r *Reader) error { return r.backup(w) }); err != nil {
		return 0, err
	}
	if err := w.Encode(backupEnd{w.rows}); err != nil {
		return 0, err
	}
	return w.rows, z.Close()
}

type backupWriter struct {
	*json.Encoder
	rows int64
}

func (r *Reader) backup(w *backupWriter) error {
	schema, err := r.schema()
	if err != nil {
		return err
	}
	check, _, err := r.Setting(KeyCheckSetting)
	if err != nil {
		return err
	}
	if err := w.Encode(backupHead{backupForm, schema.Version, check}); err != nil {
		return err
	}
	for _, table := range backupTables {
		if err := r.backupTable(w, table); err != nil {
			return fmt.Errorf("back up %s: %w", table, err)
		}
	}
	return nil
}

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
		order = " ORDER BY workspace_id, depth" // parents before their children
	}
	return r.conn.query("SELECT "+strings.Join(names, ", ")+" FROM "+table+order, nil, func(row *row) error {
		w.rows++
		return w.Encode(row.values(columns))
	})
}

// values reads a whole row as JSON has it: text, number, null; a blob is base64.
func (r *row) values(columns []column) []any {
	out := make([]any, len(columns))
	for i, c := range columns {
		switch {
		case r.null():
			r.next()
		case c.Blob:
			out[i] = r.blob()
		case r.isInt():
			out[i] = r.int()
		default:
			out[i] = r.text()
		}
	}
	return out
}

// ErrNotEmpty refuses to restore over what is there.
var ErrNotEmpty = errors.New("the store is not empty: a backup is restored into an empty one only, so that nothing is overwritten")

// Restore fills an empty store with a backup, whole or not at all. Whether its
// master key is at hand the caller has asked with BackupKey.
func (s *Store) Restore(ctx context.Context, in io.Reader) (rows int64, err error) {
	lines, _, err := openBackup(in)
	if err != nil {
		return 0, err
	}
	ran := false
	err = s.engine.writeLong(ctx, func(tx *Tx) error {
		if ran {
			return errors.New("the restore was interrupted by the database: repeat it") // the input cannot be read twice
		}
		ran = true
		rows, err = tx.restore(lines)
		return err
	})
	return rows, err
}

// BackupKey returns a backup's proof of its master key, or an error for a person
// unless this program can restore it. It reads the beginning alone.
func BackupKey(in io.Reader) (keyCheck string, err error) {
	_, head, err := openBackup(in)
	return head.KeyCheck, err
}

var errNoBackup = errors.New("this is not a backup of sheaf, or it is torn")

func openBackup(in io.Reader) (*json.Decoder, backupHead, error) {
	z, err := gzip.NewReader(bufio.NewReaderSize(in, 1<<16))
	if err != nil {
		return nil, backupHead{}, errNoBackup
	}
	lines := json.NewDecoder(z)
	lines.UseNumber()
	var head backupHead
	switch err := lines.Decode(&head); {
	case err != nil || head.Form == 0:
		return nil, head, errNoBackup
	case head.Form != backupForm || head.Schema > Latest:
		return nil, head, fmt.Errorf("the backup is of a newer program (schema %d, this one has %d): restore it with that one", head.Schema, Latest)
	case head.Schema < Latest:
		return nil, head, fmt.Errorf("the backup is of an older program (schema %d, this one has %d): restore it with that one and migrate then", head.Schema, Latest)
	}
	return lines, head, nil
}

// restore inserts the tables, and checks that the end is there.
func (tx *Tx) restore(lines *json.Decoder) (int64, error) {
	for _, table := range backupTables {
		if n, err := tx.count("SELECT COUNT(*) FROM " + table); err != nil || n > 0 {
			return 0, errors.Join(err, errorIf(n > 0, ErrNotEmpty))
		}
	}
	in := &restorer{tx: tx}
	for {
		var line json.RawMessage
		if err := lines.Decode(&line); err != nil {
			return 0, errNoBackup
		}
		done, err := in.line(line)
		if err != nil || done {
			tx.note = everything
			return in.rows, err
		}
	}
}

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
	rows  int64
}

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
		return false, errNoBackup
	}
	if end.End != nil {
		return true, errorIf(*end.End != in.rows, errNoBackup)
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
			return errorIf(fmt.Sprint(columns) != fmt.Sprint(in.table.Columns), errNoBackup)
		}
	}
	return errNoBackup
}

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
		return errNoBackup
	}
	for i := range values {
		if b, ok := blobs[i]; ok {
			values[i] = optBlob(*b)
		} else if n, ok := values[i].(json.Number); ok {
			whole, err := n.Int64()
			if err != nil {
				return errNoBackup
			}
			values[i] = whole
		}
	}
	in.rows++
	if in.batch = append(in.batch, values); len(in.batch) == 64 {
		return in.flush()
	}
	return nil
}

func (in *restorer) flush() error {
	if len(in.batch) == 0 {
		return nil
	}
	names := make([]string, len(in.table.Columns))
	for i, c := range in.table.Columns {
		names[i] = c.Name
	}
	err := in.tx.insertRows("INSERT INTO "+in.table.Table+" ("+strings.Join(names, ", ")+")", len(names), in.batch)
	in.batch = in.batch[:0]
	if err != nil {
		return fmt.Errorf("restore %s: %w", in.table.Table, err)
	}
	return nil
}

func (r *Reader) columns(table string) ([]column, error) {
	return all(r, r.d.tableColumns(), func(w *row) column { return column{w.text(), w.bool()} }, table)
}
