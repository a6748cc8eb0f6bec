package main

import (
	"context"
	"crypto/hmac"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/config"
	"sheaf.dev/internal/media"
	"sheaf.dev/internal/search"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// backupCommand is sheaf backup.
type backupCommand struct {
	storeFlags
	cli.Output
	WithoutMedia bool   `help:"Leave out the bytes of media: whoever restores the backup has them elsewhere."`
	File         string `arg:"" help:"The file to write. It must not exist."`
}

// Run copies the store as of one moment, also beside a running server. A medium that has lost its bytes
// does not keep the rest from being copied, but the command fails.
func (c *backupCommand) Run(ctx context.Context, p *program) error {
	settings, err := c.Load(p.Env)
	if err != nil {
		return err
	}
	files, err := c.files(p, settings)
	if err != nil {
		return err
	}
	st, err := c.open(ctx, p, false)
	if err != nil {
		return err
	}
	defer st.Close()
	if files == nil && !c.WithoutMedia {
		if err := hasNoMedia(ctx, st); err != nil {
			return err
		}
	}
	var count store.BackupCount
	err = writeFileFrom(c.File, func(out io.Writer) error {
		count, err = st.Backup(ctx, out, files)
		return err
	})
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s exists: choose another name", c.File)
	}
	if err != nil {
		return fmt.Errorf("the backup cannot be written to %s: %w", c.File, err)
	}
	return errors.Join(c.show(p, count), lostMedia(c.File, count.Lost))
}

// files returns what keeps the bytes of media, nil where they are left out or kept nowhere.
func (c *backupCommand) files(p *program, s config.StoreSettings) (media.Store, error) {
	if c.WithoutMedia {
		return nil, nil
	}
	return p.media(s)
}

// hasNoMedia refuses to leave out bytes that somebody has stored in a bucket that was not named.
func hasNoMedia(ctx context.Context, st *store.Store) error {
	has, err := st.HasMedia(ctx)
	if err == nil && has {
		err = errors.New("there are media, and nobody said where their bytes are: name the bucket with --media-url, as for the server, or leave them out with --without-media")
	}
	return err
}

// show prints what is in the backup.
func (c *backupCommand) show(p *program, n store.BackupCount) error {
	return c.Show(&p.Program, sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Text("file", c.File)
		o.Int("rows", n.Rows)
		o.Int("media", n.Media)
		o.Int("media_bytes", n.MediaBytes)
		o.Int("media_lost", int64(len(n.Lost)))
	}), func() string {
		what := fmt.Sprintf("%d rows", n.Rows)
		if n.Media > 0 {
			what += fmt.Sprintf(" and %d media of %d bytes", n.Media, n.MediaBytes)
		}
		return fmt.Sprintf("%s are in %s\nThe master key is not: keep %s, or what you give as --master-key, somewhere else. Without it the webhooks' secrets cannot be read.\n",
			what, c.File, masterKeyFile)
	})
}

// lostMedia is the error of a backup that is whole but for bytes that the store had lost.
func lostMedia(file string, lost []string) error {
	if len(lost) == 0 {
		return nil
	}
	const most = 5
	names := strings.Join(lost[:min(len(lost), most)], ", ")
	if len(lost) > most {
		names += fmt.Sprintf(" and %d more", len(lost)-most)
	}
	return fmt.Errorf("%s has all but the bytes of media that are not where they are kept, or are others than were uploaded: %s; "+
		"sheaf doctor tells of those that are missing; put the files back, or delete these media", file, names)
}

// restoreCommand is sheaf restore.
type restoreCommand struct {
	storeFlags
	cli.Output
	MasterKey    *string `placeholder:"KEY" help:"The master key of the store that the backup was made of: 32 bytes in base64. Without it, the file in the data folder."`
	WithoutMedia bool    `help:"Leave out the bytes of media: they are there already, or will be."`
	File         string  `arg:"" help:"A file that sheaf backup wrote."`
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
	files, err := c.files(p, settings.StoreSettings, head)
	if err != nil {
		return err
	}
	unlock, err := takeFolder(settings)
	if err != nil {
		return err
	}
	defer unlock()
	rows, stored, err := restore(ctx, storeOptions(settings.StoreSettings), head, in, files)
	if err != nil {
		return err
	}
	if settings.DatabaseURL == "" { // an index that is left from before is of other data
		if err := search.Remove(settings.Data); err != nil {
			return err
		}
	}
	lacking := false
	if files == nil {
		if lacking, err = hasMedia(ctx, storeOptions(settings.StoreSettings)); err != nil {
			return err
		}
	}
	return c.Show(&p.Program, sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Int("rows", rows)
		o.Int("media", stored)
		o.Bool("media_to_copy", lacking)
	}), func() string { return restoredText(rows, stored, lacking) })
}

// hasMedia reports whether the store has media.
func hasMedia(ctx context.Context, o store.Options) (bool, error) {
	st, err := openStore(ctx, o)
	if err != nil {
		return false, err
	}
	has, err := st.HasMedia(ctx)
	return has, errors.Join(err, st.Close())
}

// restoredText tells a person what was restored, and what is still to do.
func restoredText(rows, stored int64, lacking bool) string {
	what := fmt.Sprintf("%d rows", rows)
	if stored > 0 {
		what += fmt.Sprintf(" and %d media", stored)
	}
	what += " were restored\n"
	if lacking {
		what += "The bytes of media were not: copy them to where they are kept. sheaf doctor tells which are missing.\n"
	}
	return what
}

// files returns where the bytes of media go; nil where the backup has none, or they are left out.
func (c *restoreCommand) files(p *program, s config.StoreSettings, head store.BackupHead) (media.Store, error) {
	if c.WithoutMedia || !head.HasMedia() {
		return nil, nil
	}
	files, err := p.media(s)
	if err == nil && files == nil && head.Media > 0 {
		err = fmt.Errorf("the backup has the bytes of %d media, and there is no place for them: name a bucket with --media-url, or leave them out with --without-media", head.Media)
	}
	return files, err
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

// restore stores the bytes of media, fills tables of the backup's schema, and then migrates them. A row
// never is there before its bytes.
func restore(ctx context.Context, o store.Options, head store.BackupHead, in io.ReadSeeker, files media.Store) (rows, stored int64, err error) {
	if err := store.PrepareRestore(ctx, o, head.Schema); err != nil {
		return 0, 0, err
	}
	st, err := openStore(ctx, o)
	if err != nil {
		return 0, 0, err
	}
	rows, stored, err = restoreInto(ctx, st, head, in, files)
	if err := errors.Join(err, st.Close()); err != nil {
		return 0, 0, err
	}
	if err := store.Migrate(ctx, o); err != nil {
		return 0, 0, fmt.Errorf("everything was restored, but not brought to this program's schema (%w): run sheaf migrate", err)
	}
	return rows, stored, nil
}

// restoreInto restores bytes and rows, or neither.
func restoreInto(ctx context.Context, st *store.Store, head store.BackupHead, in io.ReadSeeker, files media.Store) (rows, stored int64, err error) {
	restore := func() (err error) {
		if _, err = in.Seek(0, io.SeekStart); err == nil {
			rows, err = st.Restore(ctx, in)
		}
		return err
	}
	if files == nil {
		err = restore()
	} else if err = st.Restorable(ctx, head); err == nil {
		stored, err = store.RestoreMedia(ctx, in, files, restore)
	}
	return rows, stored, err
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
