package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/archive"
	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/config"
	"sheaf.dev/internal/disk"
	"sheaf.dev/internal/guard"
	"sheaf.dev/internal/seal"
	"sheaf.dev/internal/sheaf"
)

// importCommand is sheaf import.
type importCommand struct {
	storeFlags
	cli.Output
	MasterKey        *string  `placeholder:"KEY" help:"The master key of the store, to encrypt the new secrets of subscriptions. Without it, the file in the data folder."`
	WebhookAllowCIDR []string `name:"webhook-allow-cidr" sep:"none" placeholder:"CIDR,..." help:"Addresses that subscriptions may have although they are private or otherwise special. Repeatable."`
	DiskReserve      *string  `name:"disk-reserve" placeholder:"256MB" help:"Room that the import leaves free on the disk of --data, at most a tenth of the disk. With less, the import stops. 0 keeps none."`
	addressFlags
	workspaceFlag
	FromLine     int    `default:"1" placeholder:"N" help:"Begin with this line; the lines before it are already imported."`
	DryRun       bool   `help:"Print what would happen, and change nothing."`
	WithoutMedia bool   `help:"Leave out the media of the file."`
	File         string `arg:"" type:"existingfile" help:"A file of sheaf export, or another in its format."`
}

// Run reads the file twice: first to check it before anything is changed, then to import it.
func (c *importCommand) Run(ctx context.Context, p *program) error {
	ctx, halt := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer halt()
	settings, err := config.Serve{Store: c.Store, MasterKey: c.MasterKey, WebhookAllowCIDR: c.WebhookAllowCIDR, Addr: c.Addr, PublicURL: c.PublicURL, DiskReserve: c.DiskReserve}.Load(p.Env)
	if err != nil {
		return err
	}
	rules := app.Webhooks{Guard: guard.New(settings.WebhookAllowCIDR), SignatureHeader: settings.SignatureHeader}
	im := &archive.Import{File: c.File, FromLine: c.FromLine, DryRun: c.DryRun, WithoutMedia: c.WithoutMedia, Now: p.Now}
	if settings.DatabaseURL == "" {
		im.Rest = pause
	}
	if err := im.Check(app.New(app.Config{Now: p.Now, Random: p.Random, Webhooks: rules}).Operator()); err != nil {
		return err
	}
	files, err := p.media(settings.StoreSettings)
	if err != nil {
		return err
	}
	if files == nil && im.HasMedia {
		return errors.New("the file has media, but there is no place to store them: name a bucket with --media-url, as for the server, or leave them out with --without-media")
	}
	if err := needFolder(settings.StoreSettings, false); err != nil {
		return err
	}
	st, err := openMigrated(ctx, storeOptions(settings.StoreSettings))
	if err != nil {
		return err
	}
	defer st.Close()
	var room *disk.Watch // a dry run needs none
	if !c.DryRun {
		room = watchDisk(ctx, settings, st, slog.New(slog.DiscardHandler))
	}
	if err := app.New(app.Config{Disk: room, Now: p.Now}).Operator().RoomToImport(ctx, nil); err != nil {
		return fmt.Errorf("%s; nothing was imported", sheaf.OperatorText(err))
	}
	if im.Workspace, err = c.find(ctx, p.app(st).Operator()); err != nil {
		return err
	}
	if im.HasSubscriptions && !c.DryRun {
		// A store without a master key gets one.
		key, err := p.masterKey(ctx, st, settings)
		if err != nil {
			return err
		}
		if rules.Box, err = seal.New(key, p.Random); err != nil {
			return err
		}
	}
	address := ""
	if im.HasShares {
		if address, err = c.base(ctx, p, c.storeFlags, p.app(st).Operator()); err != nil {
			return err
		}
	}
	bar := newProgressBar(p.Stderr, im.Lines, p.Now)
	im.Progress = bar.at
	err = im.Run(ctx, app.New(app.Config{Store: st, Now: p.Now, Random: p.Random, Media: files, Disk: room, Webhooks: rules, Address: address}).Operator())
	bar.clear()
	if err == nil || im.Partly() {
		return errors.Join(c.Show(&p.Program, imported{im}, imported{im}.text), err)
	}
	return err
}

// pause waits for as long as the import held SQLite's writer, so that a running server gets it for
// the same time.
func pause(ctx context.Context, held time.Duration) {
	select {
	case <-time.After(held):
	case <-ctx.Done():
	}
}

// imported is the result of an import.
type imported struct{ *archive.Import }

// Fields writes the numbers of records, and the secrets of new webhooks, which are shown once.
func (im imported) Fields(o *sheaf.Object) {
	o.Bool("dry_run", im.DryRun)
	o.Int("line", int64(im.Reached))
	o.Record("added", sheaf.RecordFunc(func(o *sheaf.Object) { countFields(o, im.Done.Added) }))
	o.Record("skipped", sheaf.RecordFunc(func(o *sheaf.Object) { countFields(o, im.Done.Skipped) }))
	list := []byte{'['}
	for i, s := range im.Done.Subscriptions {
		if i > 0 {
			list = append(list, ',')
		}
		list = sheaf.AppendJSON(list, sheaf.RecordFunc(func(o *sheaf.Object) {
			o.Text("id", string(s.ID))
			o.Text("imported_id", string(s.From))
			o.Text("name", s.Name)
			o.Text("url", s.URL)
			o.OptText("secret", s.Secret)
			o.Texts("header_names", im.Headers[s.From])
		}))
	}
	o.Raw("subscriptions", append(list, ']'))
}

// text returns the result for a person.
func (im imported) text() string {
	var b strings.Builder
	would := ""
	if im.DryRun {
		would = "would be "
	}
	fmt.Fprintf(&b, "%s %simported\n", recordCounts(im.Done.Added), would)
	if im.Done.Skipped.Sum() > 0 {
		fmt.Fprintf(&b, "%s %sskipped: their ids exist\n", recordCounts(im.Done.Skipped), would)
	}
	if len(im.Done.Subscriptions) > 0 {
		b.WriteString("The subscriptions are inactive and have new secrets, which are shown once. Give each to its endpoint, then turn it on:\n")
		b.WriteString(cli.Table("ID\tSECRET\tHEADERS TO SET AGAIN\tNAME", func(row func(...any)) {
			for _, s := range im.Done.Subscriptions {
				row(s.ID, *s.Secret, cmp.Or(strings.Join(im.Headers[s.From], ", "), "-"), s.Name)
			}
		}))
	}
	return b.String()
}
