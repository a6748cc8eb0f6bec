package main

import (
	"context"
	"crypto/hmac"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"sheaf.dev/internal/backup"
	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/config"
	"sheaf.dev/internal/media"
	"sheaf.dev/internal/search"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// backupCommand is sheaf backup and the commands below it.
type backupCommand struct {
	Write  backupWrite  `cmd:"" default:"withargs" help:"Back up the store into a file, or encrypted into a bucket; write may be left out."`
	Verify backupVerify `cmd:"" help:"Restore a backup in a bucket into nothing, read all of its media, and check its data."`
	List   backupList   `cmd:"" help:"List the backups in a bucket."`
}

// backupWrite is sheaf backup.
type backupWrite struct {
	storeFlags
	cli.Output
	BackupRecipient []string `sep:"none" placeholder:"age1..." help:"Public key of age to which a backup in a bucket is encrypted, as the setting of sheaf serve. Repeatable."`
	WithoutMedia    bool     `help:"Leave out the bytes of media, if you back them up by other means."`
	File            string   `arg:"" help:"The file to write, which must not exist, or a bucket: s3://bucket/prefix."`
}

// Run copies a snapshot of the store; a server may be running. If the bytes of a medium are lost,
// the rest is copied, and the command fails.
func (c *backupWrite) Run(ctx context.Context, p *program) error {
	settings, err := config.Serve{Store: c.Store, BackupRecipient: c.BackupRecipient}.Load(p.Env)
	if err != nil {
		return err
	}
	var files media.Store // nil: leave out the bytes of media
	if !c.WithoutMedia {
		if files, err = p.media(settings.StoreSettings); err != nil {
			return err
		}
	}
	st, err := c.open(ctx, p, false)
	if err != nil {
		return err
	}
	defer st.Close()
	if files == nil && !c.WithoutMedia {
		has, err := st.HasMedia(ctx)
		if err != nil {
			return err
		}
		if has {
			return errors.New("there are media, but not the bucket with their bytes: name it with --media-url, as for the server, or leave them out with --without-media")
		}
	}
	if inBucket(c.File) {
		return c.toBucket(ctx, p, settings, st, files)
	}
	var count backup.Count
	err = writeFileFrom(c.File, func(out io.Writer) error {
		count, err = backup.Write(ctx, st, out, files)
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

// show prints what the backup contains.
func (c *backupWrite) show(p *program, n backup.Count) error {
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

// lostMedia returns the error of a backup without the bytes of the media in `lost`; nil if there
// are none.
func lostMedia(file string, lost []string) error {
	if len(lost) == 0 {
		return nil
	}
	const most = 5
	names := strings.Join(lost[:min(len(lost), most)], ", ")
	if len(lost) > most {
		names += fmt.Sprintf(" and %d more", len(lost)-most)
	}
	return fmt.Errorf("%s is complete except for media whose bytes are missing or damaged: %s; "+
		"sheaf doctor reports the missing ones; put the files back, or delete these media", file, names)
}

// restoreCommand is sheaf restore.
type restoreCommand struct {
	storeFlags
	cli.Output
	MasterKey    *string `placeholder:"KEY" help:"The master key of the backed-up store: 32 bytes in base64. Without it, the file in the data folder."`
	Identity     string  `placeholder:"FILE" help:"File with your private key, as age-keygen writes it, for a backup in a bucket."`
	WithoutMedia bool    `help:"Leave out the bytes of media, if they are already there or come by other means."`
	File         string  `arg:"" help:"A file that sheaf backup wrote, or a bucket: s3://bucket/prefix for its newest backup, or s3://bucket/prefix@TIME for the newest before that time."`
}

// Run fills an empty store, completely or not at all. No server may be using it: Run locks the data
// folder, and a PostgreSQL database with a server is not empty.
func (c *restoreCommand) Run(ctx context.Context, p *program) error {
	settings, err := config.Serve{Store: c.Store, MasterKey: c.MasterKey}.Load(p.Env)
	if err != nil {
		return err
	}
	in, fetch, err := c.input(ctx, p, settings.StoreSettings)
	if err != nil {
		return err
	}
	defer in.Close()
	// These checks come first, so that a refused restore leaves nothing behind.
	head, err := checkBackup(settings, in)
	if err != nil {
		return err
	}
	var files media.Store // nil: the backup has no bytes of media, or they are left out
	if !c.WithoutMedia && head.MediaBeside() && fetch == nil {
		return errors.New("the media of this backup are beside it in its bucket: restore it from there, or leave them out with --without-media")
	}
	if !c.WithoutMedia && head.HasMedia() {
		if files, err = p.media(settings.StoreSettings); err != nil {
			return err
		}
		if files == nil && head.Media > 0 {
			return fmt.Errorf("the backup has the bytes of %d media, but there is no place to store them: name a bucket with --media-url, or leave them out with --without-media", head.Media)
		}
	}
	unlock, err := lockData(settings)
	if err != nil {
		return err
	}
	defer unlock()
	rows, stored, err := restore(ctx, storeOptions(settings.StoreSettings), head, in, files, fetch)
	if err != nil {
		return err
	}
	if settings.DatabaseURL == "" { // a search index that is still there belongs to other data
		if err := search.Remove(settings.Data); err != nil {
			return err
		}
	}
	lacking := false // media without bytes were found
	if files == nil {
		st, err := openStore(ctx, storeOptions(settings.StoreSettings))
		if err != nil {
			return err
		}
		lacking, err = st.HasMedia(ctx)
		if err := errors.Join(err, st.Close()); err != nil {
			return err
		}
	}
	return c.Show(&p.Program, sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Int("rows", rows)
		o.Int("media", stored)
		o.Bool("media_to_copy", lacking)
	}), func() string {
		what := fmt.Sprintf("%d rows", rows)
		if stored > 0 {
			what += fmt.Sprintf(" and %d media", stored)
		}
		what += " were restored\n"
		if lacking {
			what += "The bytes of media were not: copy them to the media folder or bucket. sheaf doctor reports which are missing.\n"
		}
		return what
	})
}

// input returns the file to restore, and for a bucket the function that fetches its media.
func (c *restoreCommand) input(ctx context.Context, p *program, s config.StoreSettings) (io.ReadSeekCloser, backup.Fetch, error) {
	if inBucket(c.File) {
		rows, fetch, _, err := p.fetchBackup(ctx, c.File, c.Identity, s)
		return rows, fetch, err
	}
	in, err := openRegular(c.File)
	if err != nil {
		return nil, nil, fmt.Errorf("the backup cannot be read: %w", err)
	}
	return in, nil, nil
}

// openRegular opens a file. It refuses a pipe, because the file is read twice.
func openRegular(path string) (*os.File, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if info, err := in.Stat(); err != nil || !info.Mode().IsRegular() {
		in.Close()
		return nil, errors.Join(err, fmt.Errorf("%s is not a file: restore reads it twice, so save a pipe to a file first", path))
	}
	return in, nil
}

// restore stores the bytes of media, fills tables of the backup's schema, and then migrates them.
// The bytes of a medium are stored before its row. If an error occurs, neither bytes nor rows stay.
func restore(ctx context.Context, o store.Options, head backup.Head, in io.ReadSeeker, files media.Store, fetch backup.Fetch) (rows, stored int64, err error) {
	if err := store.PrepareRestore(ctx, o, head.Schema); err != nil {
		return 0, 0, err
	}
	st, err := openStore(ctx, o)
	if err != nil {
		return 0, 0, err
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return 0, 0, errors.Join(err, st.Close())
	}
	fill := func() (err error) {
		if _, err = in.Seek(0, io.SeekStart); err == nil {
			rows, err = backup.Restore(ctx, st, in)
		}
		return err
	}
	if files == nil {
		err = fill()
	} else if err = st.Read(ctx, func(r *store.Reader) error { return r.Restorable(head.Schema) }); err == nil {
		stored, err = backup.RestoreMediaBeside(ctx, in, files, fetch, fill)
	}
	if err := errors.Join(err, st.Close()); err != nil {
		return 0, 0, err
	}
	if err := store.Migrate(ctx, o); err != nil {
		return 0, 0, fmt.Errorf("everything was restored, but not migrated to this program's schema (%w): run sheaf migrate", err)
	}
	return rows, stored, nil
}

// checkBackup reads the whole file and returns its head. It refuses a file that is no backup or not
// complete, and one whose secrets this node's master key cannot decrypt: better now than at the
// first delivery. Afterwards the file is at its beginning again.
func checkBackup(s *config.Settings, in io.ReadSeeker) (backup.Head, error) {
	head, err := backup.Check(in)
	if err != nil {
		return head, err
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return head, err
	}
	if head.KeyCheck == "" {
		return head, nil // the store never had a key
	}
	key, from, err := localKey(s)
	if err != nil {
		return head, fmt.Errorf("the backup needs the master key of the store that it was made of (%w): copy its %s to %s, or give its content as --master-key", err, masterKeyFile, s.Data)
	}
	if !hmac.Equal([]byte(checkValue(key)), []byte(head.KeyCheck)) {
		return head, fmt.Errorf("the backup was made with another master key than %s: copy %s from the store that it was made of", from, masterKeyFile)
	}
	return head, nil
}
