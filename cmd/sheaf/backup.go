package main

import (
	"context"
	"crypto/hmac"
	"errors"
	"fmt"
	"io"
	"os"

	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/config"
	"sheaf.dev/internal/search"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// backupCommand is sheaf backup.
type backupCommand struct {
	storeFlags
	cli.Output
	File string `arg:"" help:"The file to write. It must not exist."`
}

// Run copies the store as of one moment, also beside a running server.
func (c *backupCommand) Run(ctx context.Context, p *program) error {
	st, err := c.open(ctx, p, false)
	if err != nil {
		return err
	}
	defer st.Close()
	var rows int64
	err = writeFileFrom(c.File, func(out io.Writer) error {
		rows, err = st.Backup(ctx, out)
		return err
	})
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s exists: choose another name", c.File)
	}
	if err != nil {
		return fmt.Errorf("the backup cannot be written to %s: %w", c.File, err)
	}
	return c.Show(&p.Program, sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Text("file", c.File)
		o.Int("rows", rows)
	}), func() string {
		return fmt.Sprintf("%d rows are in %s\nThe master key is not: keep %s, or what you give as --master-key, somewhere else. Without it the webhooks' secrets cannot be read.\n",
			rows, c.File, masterKeyFile)
	})
}

// restoreCommand is sheaf restore.
type restoreCommand struct {
	storeFlags
	cli.Output
	MasterKey *string `placeholder:"KEY" help:"The master key of the store that the backup was made of: 32 bytes in base64. Without it, the file in the data folder."`
	File      string  `arg:"" help:"A file that sheaf backup wrote."`
}

// Run fills an empty store, whole or not at all. No server may use it: the folder's lock is taken,
// and a PostgreSQL that is served is not empty.
func (c *restoreCommand) Run(ctx context.Context, p *program) error {
	settings, err := config.Serve{Store: c.Store, MasterKey: c.MasterKey}.Load(p.Env)
	if err != nil {
		return err
	}
	in, err := openRegular(c.File)
	if err != nil {
		return fmt.Errorf("the backup cannot be read: %w", err)
	}
	defer in.Close()
	// Before anything is made: a refused restore leaves nothing behind.
	head, err := restoresWith(settings, in)
	if err != nil {
		return err
	}
	unlock, err := takeFolder(settings)
	if err != nil {
		return err
	}
	defer unlock()
	rows, err := restore(ctx, storeOptions(settings.StoreSettings), head, in)
	if err != nil {
		return err
	}
	if settings.DatabaseURL == "" { // an index that is left from before is of other data
		if err := search.Remove(settings.Data); err != nil {
			return err
		}
	}
	return c.Show(&p.Program, sheaf.RecordFunc(func(o *sheaf.Object) { o.Int("rows", rows) }), func() string {
		return fmt.Sprintf("%d rows were restored\n", rows)
	})
}

// openRegular opens a file that can be read twice.
func openRegular(path string) (*os.File, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if info, err := in.Stat(); err != nil || !info.Mode().IsRegular() {
		in.Close()
		return nil, errors.Join(err, fmt.Errorf("%s is no file: it is read twice, so write what comes through a pipe to a file first", path))
	}
	return in, nil
}

// restore fills tables of the backup's schema, and then migrates them.
func restore(ctx context.Context, o store.Options, head store.BackupHead, in io.Reader) (rows int64, err error) {
	if err := store.PrepareRestore(ctx, o, head.Schema); err != nil {
		return 0, err
	}
	st, err := store.Open(ctx, o)
	if err != nil {
		return 0, err
	}
	rows, err = st.Restore(ctx, in)
	if err := errors.Join(err, st.Close()); err != nil {
		return 0, err
	}
	if err := store.Migrate(ctx, o); err != nil {
		return 0, fmt.Errorf("everything was restored, but not brought to this program's schema (%w): run sheaf migrate", err)
	}
	return rows, nil
}

// restoresWith reads the whole file, and refuses what is no backup, is not whole, or has secrets
// that this node's master key would not open: better now than at the first delivery. The file is at
// its beginning again afterwards.
func restoresWith(s *config.Settings, in io.ReadSeeker) (store.BackupHead, error) {
	head, err := store.CheckBackup(in)
	if err != nil {
		return head, err
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return head, err
	}
	return head, keyOpens(s, head.KeyCheck)
}

// keyOpens returns nil when the master key at hand is the one of a check value.
func keyOpens(s *config.Settings, check string) error {
	if check == "" {
		return nil // it is of a store that never had a key
	}
	key, from, err := keyAtHand(s)
	if err != nil {
		return fmt.Errorf("the backup needs the master key of the store that it was made of (%w): copy its %s to %s, or give its content as --master-key", err, masterKeyFile, s.Data)
	}
	if !hmac.Equal([]byte(checkValue(key)), []byte(check)) {
		return fmt.Errorf("the backup was made with another master key than %s: copy %s from the store that it was made of", from, masterKeyFile)
	}
	return nil
}
