package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sheaf.dev/internal/backup"
	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/config"
	"sheaf.dev/internal/media"
	"sheaf.dev/internal/offsite"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/doctor"
)

// backupPatience is how long the bucket of backups may be silent. Tests set less.
var backupPatience = 30 * time.Second

// inBucket reports whether an argument names a bucket, and not a file.
func inBucket(file string) bool { return strings.HasPrefix(file, "s3://") }

// splitTime splits s3://bucket/prefix@time.
func splitTime(address string) (bucket, at string) {
	bucket, at, _ = strings.Cut(address, "@")
	return bucket, at
}

// backupEnv looks up the settings of the bucket of backups: with BACKUP_ before their names if one of them is set so.
func (p *program) backupEnv(name string) string {
	for _, n := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"} {
		if own, _ := p.Env("BACKUP_" + n); own != "" {
			value, _ := p.Env("BACKUP_" + name)
			return value
		}
	}
	value, _ := p.Env(name)
	return value
}

// offsite returns the backups in the bucket. The files that it writes meanwhile are in the data folder, or with
// PostgreSQL in the system's temporary folder; what is in them is encrypted.
func (p *program) offsite(address string, s config.StoreSettings, recipients []string) (*offsite.Bucket, error) {
	objects, err := media.OpenObjects(address, media.BucketOptions{Getenv: p.backupEnv, Patience: backupPatience})
	if err != nil {
		return nil, err
	}
	spool := ""
	if info, err := os.Stat(s.Data); s.DatabaseURL == "" && err == nil && info.IsDir() {
		spool = s.Data
	}
	return offsite.New(offsite.Config{Objects: objects, Recipients: recipients, Now: p.Now, Spool: spool, Version: version})
}

// toBucket is sheaf backup s3://bucket/prefix.
func (c *backupWrite) toBucket(ctx context.Context, p *program, settings *config.Settings, st *store.Store, files media.Store) error {
	if len(settings.BackupRecipients) == 0 {
		return errors.New("a backup in a bucket is encrypted: give --backup-recipient, the public key that age-keygen prints")
	}
	b, err := p.offsite(c.File, settings.StoreSettings, settings.BackupRecipients)
	if err != nil {
		return err
	}
	m, count, err := b.Write(ctx, st, files)
	if err != nil {
		return fmt.Errorf("the backup cannot be written to %s: %w", c.File, err)
	}
	return errors.Join(c.Show(&p.Program, sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Text("backup", m.Stamp)
		o.Int("rows", m.Rows)
		o.Int("media", m.Media)
		o.Int("media_bytes", m.MediaBytes)
		o.Int("media_sent", m.MediaSent)
		o.Int("media_lost", int64(len(count.Lost)))
	}), func() string {
		return fmt.Sprintf("%d rows and %d media (%d of them new in the bucket) are in %s@%s\nThe master key is not: keep %s, or what you give as --master-key, somewhere else.\n",
			m.Rows, m.Media, m.MediaSent, c.File, m.Stamp, masterKeyFile)
	}), lostMedia(c.File, count.Lost))
}

// backupList is sheaf backup list.
type backupList struct {
	storeFlags
	cli.Output
	Bucket string `arg:"" help:"The bucket: s3://bucket/prefix."`
}

// Run prints the backups in a bucket, oldest first. It needs no private key.
func (c *backupList) Run(ctx context.Context, p *program) error {
	b, err := p.offsite(c.Bucket, config.StoreSettings{}, nil)
	if err != nil {
		return err
	}
	var records []sheaf.Record
	var lines [][]any
	err = b.List(ctx, func(stamp string, m *offsite.Manifest, damaged error) error {
		state := "whole"
		if damaged != nil {
			state, m = "damaged", &offsite.Manifest{Stamp: stamp}
		}
		records = append(records, sheaf.RecordFunc(func(o *sheaf.Object) {
			o.Text("backup", stamp)
			o.Time("at", m.At())
			o.Text("state", state)
			o.Int("rows", m.Rows)
			o.Int("media", m.Media)
		}))
		lines = append(lines, []any{stamp, m.At().Format(time.RFC3339), state, m.Rows, m.Media})
		return nil
	})
	if err != nil {
		return err
	}
	return c.ShowAll(&p.Program, records, func() string {
		return cli.Table("BACKUP\tAT\tSTATE\tROWS\tMEDIA", func(row func(...any)) {
			for _, l := range lines {
				row(l...)
			}
		})
	})
}

// fetchBackup fetches the rows of the backup that an address s3://bucket/prefix@time names.
func (p *program) fetchBackup(ctx context.Context, address, identity string, s config.StoreSettings) (*offsite.Rows, backup.Fetch, *offsite.Manifest, error) {
	if identity == "" {
		return nil, nil, nil, errors.New("a backup in a bucket is encrypted: name the file with your private key with --identity")
	}
	keys, err := offsite.Identities(identity)
	if err != nil {
		return nil, nil, nil, err
	}
	bucket, at := splitTime(address)
	b, err := p.offsite(bucket, s, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	m, err := b.Find(ctx, at)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%s: %w", address, err)
	}
	rows, err := b.Rows(ctx, m, keys)
	if err != nil {
		return nil, nil, nil, err
	}
	return rows, b.Fetch(m, keys), m, nil
}

// backupVerify is sheaf backup verify.
type backupVerify struct {
	storeFlags
	cli.Output
	Identity     string `placeholder:"FILE" required:"" help:"File with your private key, as age-keygen writes it."`
	WithoutMedia bool   `help:"Leave out the bytes of media."`
	Backup       string `arg:"" help:"The backup: s3://bucket/prefix for the newest, or s3://bucket/prefix@TIME for the newest before that time."`
}

// Run restores a backup into a store that it removes again, reads every medium, and runs the doctor.
func (c *backupVerify) Run(ctx context.Context, p *program) error {
	if !inBucket(c.Backup) {
		return sheaf.Invalidf("%s is no bucket: write s3://bucket/prefix; a file is verified by sheaf restore into an empty folder", c.Backup)
	}
	folder, err := os.MkdirTemp("", "sheaf-verify-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	rows, fetch, m, err := p.fetchBackup(ctx, c.Backup, c.Identity, config.StoreSettings{Data: folder})
	if err != nil {
		return err
	}
	defer rows.Close()
	head, err := backup.Check(rows)
	if err != nil {
		return fmt.Errorf("%s: %w", m.Stamp, err)
	}
	var files media.Store
	if head.HasMedia() && !c.WithoutMedia {
		files = readOnly{}
	}
	o := store.Options{Folder: folder}
	restored, stored, err := restore(ctx, o, head, rows, files, fetch)
	if err != nil {
		return fmt.Errorf("%s: %w", m.Stamp, err)
	}
	st, err := openReady(ctx, o)
	if err != nil {
		return err
	}
	defer st.Close()
	violations := 0
	err = doctor.Examine(ctx, st, doctor.Examination{Now: p.Now(), Retention: config.MinRetention}, func(f doctor.Finding) {
		if !f.Information {
			violations++
			fmt.Fprintln(p.Stderr, "sheaf: violation: "+f.String())
		}
	})
	if err == nil && violations > 0 {
		err = fmt.Errorf("%s can be restored, but its data is not right: violations found: %d", m.Stamp, violations)
	}
	if err != nil {
		return err
	}
	return c.Show(&p.Program, sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Text("backup", m.Stamp)
		o.Time("at", m.At())
		o.Int("rows", restored)
		o.Int("media", stored)
	}), func() string {
		return fmt.Sprintf("%s is sound: %d rows were restored into nothing, %d media were read, and the doctor found no violation\n", m.Stamp, restored, stored)
	})
}

// readOnly reads and checks the bytes of media, and stores none.
type readOnly struct{ media.Store }

func (readOnly) Put(_ context.Context, key media.Key, size int64, r io.Reader) error {
	_, err := io.Copy(io.Discard, media.Checked(r, size, key))
	return err
}
func (readOnly) Open(context.Context, media.Key) (media.Content, error) {
	return nil, media.ErrNotFound
}
func (readOnly) Remove(context.Context, media.Key) error { return nil }

// backupTimer makes backups into a bucket. It is nil if the operator has named none.
type backupTimer struct {
	bucket *offsite.Bucket
	store  *store.Store
	files  media.Store
	log    *slog.Logger
	now    func() time.Time
	every  time.Duration
	keep   offsite.Keep
	// good is when the newest whole backup was begun, in Unix milliseconds. Until the bucket has told that, it is
	// when this server started, so that the age rises while the bucket is down.
	good atomic.Int64

	bytes, took prometheus.Gauge
	failed      prometheus.Counter
}

// backupTimer returns nil if the operator has named no bucket for backups.
func (p *program) backupTimer(c *config.Settings, st *store.Store, files media.Store, log *slog.Logger) (*backupTimer, error) {
	if c.BackupTo == "" {
		return nil, nil
	}
	bucket, err := p.offsite(c.BackupTo, c.StoreSettings, c.BackupRecipients)
	if err != nil {
		return nil, fmt.Errorf("--backup-to: %w", err)
	}
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
		g.Set(math.NaN()) // until this node has made a backup
		return g
	}
	t := &backupTimer{bucket: bucket, store: st, files: files, log: log, now: p.Now, every: c.BackupEvery, keep: offsite.Keep(c.BackupKeep),
		bytes:  gauge("sheaf_backup_bytes", "Bytes of the rows of the last backup that this node wrote, encrypted."),
		took:   gauge("sheaf_backup_duration_seconds", "How long that took, with its media."),
		failed: prometheus.NewCounter(prometheus.CounterOpts{Name: "sheaf_backup_failures_total", Help: "Backups that this node could not make."})}
	t.good.Store(p.Now().UnixMilli())
	return t, nil
}

// register adds its metrics.
func (t *backupTimer) register(r prometheus.Registerer) {
	if t == nil {
		return
	}
	r.MustRegister(t.bytes, t.took, t.failed,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sheaf_backup_age_seconds", Help: "Age of the newest whole backup in the bucket, as far as this node knows; before it knows one, the time since it started."},
			func() float64 { return t.now().Sub(time.UnixMilli(t.good.Load())).Seconds() }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sheaf_backup_interval_seconds", Help: "How old the newest backup may be before another is made."},
			func() float64 { return t.every.Seconds() }))
}

// backupLook is the longest pause between two questions for the newest backup.
const backupLook = time.Hour

// backupAgain is the pause after a failure. It doubles up to backupLook. Tests set less.
var backupAgain = time.Minute

// run makes a backup whenever the newest is too old, on one node at a time, until ctx ends. A failure is logged and
// counted, and tried again.
func (t *backupTimer) run(ctx context.Context) error {
	failures := 0
	for {
		var wait time.Duration
		if err := t.store.Alone(ctx, "backup", t.once); err != nil && ctx.Err() == nil {
			t.failed.Inc()
			t.log.Error("could not make a backup", "error", err)
			wait = backupAgain << min(failures, 10)
			failures++
		} else {
			failures = 0
			wait = max(time.UnixMilli(t.good.Load()).Add(t.every).Sub(t.now()), backupAgain)
		}
		timer := time.NewTimer(min(wait, backupLook))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// once makes a backup if the newest one in the bucket is too old, and then removes those that need not stay.
func (t *backupTimer) once(ctx context.Context) error {
	newest, err := t.bucket.Newest(ctx)
	if err != nil {
		return err
	}
	began := t.now()
	if !newest.IsZero() {
		t.good.Store(newest.UnixMilli())
		if began.Sub(newest) < t.every {
			return nil
		}
	}
	m, count, err := t.bucket.Write(ctx, t.store, t.files)
	if m == nil {
		return err
	}
	var size int64
	for _, p := range m.Pieces {
		size += p.Bytes
	}
	t.good.Store(m.At().UnixMilli())
	t.bytes.Set(float64(size))
	t.took.Set(t.now().Sub(began).Seconds())
	t.log.Info("made a backup", "backup", m.Stamp, "rows", m.Rows, "media", m.Media, "media_sent", m.MediaSent, "bytes", size, "duration_ms", t.now().Sub(began).Milliseconds())
	if err != nil {
		t.log.Warn("the backup is whole, but its bucket was not tidied", "error", err)
		return nil
	}
	for _, name := range count.Lost[:min(len(count.Lost), maxLoggedViolations)] {
		t.log.Error("the backup lacks a medium whose bytes are missing or damaged", "medium", name)
	}
	removed, err := t.bucket.Tidy(ctx, m, t.keep)
	if err != nil {
		t.log.Warn("could not remove old backups", "error", err)
	}
	if removed > 0 {
		t.log.Info("removed old backups", "backups", removed)
	}
	return nil
}
