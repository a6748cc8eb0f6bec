package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/archive"
	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/config"
	"sheaf.dev/internal/guard"
	"sheaf.dev/internal/seal"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// importCommand is sheaf import.
type importCommand struct {
	storeFlags
	cli.Output
	MasterKey        *string  `placeholder:"KEY" help:"The master key of the store, which seals the new secrets of subscriptions. Without it, the file in the data folder."`
	WebhookAllowCIDR []string `name:"webhook-allow-cidr" sep:"none" placeholder:"CIDR,..." help:"Addresses that subscriptions may have although they are special. Repeatable."`
	addressFlags
	workspaceFlag
	FromLine     int    `default:"1" placeholder:"N" help:"Begin with this line: what is before it is already imported."`
	DryRun       bool   `help:"Tell what would happen, and change nothing."`
	WithoutMedia bool   `help:"Leave out the media of the file."`
	File         string `arg:"" type:"existingfile" help:"A file that sheaf export wrote, or another of its form."`
}

// Run reads the file twice: once to find whatever is wrong with it by itself before anything is
// changed, and once to import it.
func (c *importCommand) Run(ctx context.Context, p *program) error {
	ctx, halt := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer halt()
	settings, err := config.Serve{Store: c.Store, MasterKey: c.MasterKey, WebhookAllowCIDR: c.WebhookAllowCIDR, Addr: c.Addr, PublicURL: c.PublicURL}.Load(p.Env)
	if err != nil {
		return err
	}
	rules := app.Webhooks{Guard: guard.New(settings.WebhookAllowCIDR), SignatureHeader: settings.SignatureHeader}
	im := &archive.Import{File: c.File, FromLine: c.FromLine, DryRun: c.DryRun, WithoutMedia: c.WithoutMedia, Now: p.Now}
	if settings.DatabaseURL == "" {
		im.Rest = rest
	}
	if err := im.Check(app.New(app.Config{Now: p.Now, Random: p.Random, Webhooks: rules}).Operator()); err != nil {
		return err
	}
	files, err := p.media(settings.StoreSettings)
	if err != nil {
		return err
	}
	if files == nil && im.HasMedia {
		return errors.New("the file has media, and there is no place for them: name a bucket with --media-url, as for the server, or leave them out with --without-media")
	}
	if err := needFolder(settings.StoreSettings, false); err != nil {
		return err
	}
	st, err := openMigrated(ctx, storeOptions(settings.StoreSettings))
	if err != nil {
		return err
	}
	defer st.Close()
	if im.Workspace, err = c.find(ctx, p.app(st).Operator()); err != nil {
		return err
	}
	if im.HasSubscriptions && !c.DryRun {
		if rules.Box, err = p.sealer(ctx, st, settings); err != nil {
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
	err = im.Run(ctx, app.New(app.Config{Store: st, Now: p.Now, Random: p.Random, Media: files, Webhooks: rules, Address: address}).Operator())
	bar.clear()
	if err == nil || im.Partly() {
		return errors.Join(c.tell(p, im), err)
	}
	return err
}

// rest leaves SQLite's file, which has one writer, to a server beside it for as long as it was
// held.
func rest(ctx context.Context, held time.Duration) {
	select {
	case <-time.After(held):
	case <-ctx.Done():
	}
}

// sealer seals with the master key of the store, which gets one if it has none.
func (p *program) sealer(ctx context.Context, st *store.Store, s *config.Settings) (*seal.Box, error) {
	key, err := p.masterKey(ctx, st, s)
	if err != nil {
		return nil, err
	}
	return seal.New(key, p.Random)
}

// tell prints what was done, and the secrets, once.
func (c *importCommand) tell(p *program, im *archive.Import) error {
	return c.Show(&p.Program, imported{im}, imported{im}.text)
}

// imported is what an import has done, for a script and for a person.
type imported struct{ *archive.Import }

// Fields writes what was added, and once the secrets of the webhooks that were made.
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
		list = sheaf.AppendJSON(list, sheaf.RecordFunc(func(o *sheaf.Object) { im.secret(o, s) }))
	}
	o.Raw("subscriptions", append(list, ']'))
}

func (im imported) secret(o *sheaf.Object, s app.ImportedSubscription) {
	o.Text("id", string(s.ID))
	o.Text("imported_id", string(s.From))
	o.Text("name", s.Name)
	o.Text("url", s.URL)
	o.OptText("secret", s.Secret)
	o.Texts("header_names", im.Headers[s.From])
}

// text is the same for a person.
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
				row(s.ID, *s.Secret, orDash(strings.Join(im.Headers[s.From], ", ")), s.Name)
			}
		}))
	}
	return b.String()
}

// orDash shows that there is nothing.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
