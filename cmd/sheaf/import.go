package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/config"
	"sheaf.dev/internal/guard"
	"sheaf.dev/internal/seal"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

type importCommand struct {
	storeFlags
	cli.Output
	MasterKey        *string  `placeholder:"KEY" help:"The master key of the store, which seals the new secrets of subscriptions. Without it, the file in the data folder."`
	WebhookAllowCIDR []string `name:"webhook-allow-cidr" sep:"none" placeholder:"CIDR,..." help:"Addresses that subscriptions may have although they are special. Repeatable."`
	Workspace        string   `required:"" placeholder:"ID" help:"Workspace to import into."`
	FromLine         int      `default:"1" placeholder:"N" help:"Begin with this line: what is before it is already imported."`
	DryRun           bool     `help:"Tell what would happen, and change nothing."`
	File             string   `arg:"" type:"existingfile" help:"A file that sheaf export wrote, or another of its form."`
}

// Run reads the file twice: once to find whatever is wrong with it by itself
// before anything is changed, and once to import it.
func (c *importCommand) Run(ctx context.Context, p *program) error {
	ctx, halt := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer halt()
	id, err := parseID[sheaf.WorkspaceID]("workspace", c.Workspace)
	if err != nil {
		return err
	}
	settings, err := config.Serve{Store: c.Store, MasterKey: c.MasterKey, WebhookAllowCIDR: c.WebhookAllowCIDR}.Load(p.Env)
	if err != nil {
		return err
	}
	rules := app.Webhooks{Guard: guard.New(settings.WebhookAllowCIDR), SignatureHeader: settings.SignatureHeader}
	im := &importRun{program: p, command: c, id: id, sqlite: settings.DatabaseURL == ""}
	im.op = app.New(app.Config{Now: p.Now, Random: p.Random, Webhooks: rules}).Operator() // no store is needed to check
	if err := im.check(); err != nil {
		return err
	}
	if err := needFolder(settings.StoreSettings, false); err != nil {
		return err
	}
	st, err := openMigrated(ctx, storeOptions(settings.StoreSettings))
	if err != nil {
		return err
	}
	defer st.Close()
	if im.secrets && !c.DryRun {
		if rules.Box, err = p.sealer(ctx, st, settings); err != nil {
			return err
		}
	}
	im.op = app.New(app.Config{Store: st, Now: p.Now, Random: p.Random, Webhooks: rules}).Operator()
	return im.run(ctx)
}

// sealer seals with the master key of the store, which gets one if it has none.
func (p *program) sealer(ctx context.Context, st *store.Store, s *config.Settings) (*seal.Box, error) {
	key, err := p.masterKey(ctx, st, s)
	if err != nil {
		return nil, err
	}
	return seal.New(key, p.Random)
}

// importRun is one run of an import.
type importRun struct {
	*program
	command *importCommand
	id      sheaf.WorkspaceID
	op      app.Operator
	sqlite  bool

	lines   int  // of the file
	secrets bool // it has subscriptions

	rehearsal *app.Rehearsal // nil unless it is one
	reached   int            // the last line that is imported
	done      app.Imported
	headers   map[sheaf.SubscriptionID][]string // by the id in the file
	bar       *progressBar
}

// check reads the whole file and returns the first line that is wrong by itself.
func (im *importRun) check() error {
	var records int64
	last := ""
	lines, err := im.each(func(number int, line importLine) error {
		if last == kindEnd {
			return errors.New("follows the end: one file is one export")
		}
		if last = line.kind; last == kindEnd {
			return sameCount(line.records, records)
		}
		records++
		if number < im.command.FromLine {
			return nil
		}
		im.secrets = im.secrets || line.kind == kindSubscription
		return im.op.CheckImport(line.record)
	})
	if err == nil && last != kindEnd {
		err = fmt.Errorf("%s has no line of kind %q at its end: it is torn, export it again; nothing was imported", im.command.File, kindEnd)
	}
	im.lines = lines
	if err == nil && im.command.FromLine > lines {
		err = fmt.Errorf("%s has %d lines: --from-line %d is behind its end", im.command.File, lines, im.command.FromLine)
	}
	return err
}

func sameCount(says sheaf.Opt[int64], has int64) error {
	if says.Given() && says.Value != has {
		return fmt.Errorf("says that there are %d records before it, and there are %d: lines were lost or added, export it again", says.Value, has)
	}
	return nil
}

// each calls fn for every line behind the first, which must be a head, and
// returns how many lines there are.
func (im *importRun) each(fn func(number int, line importLine) error) (int, error) {
	in, err := os.Open(im.command.File)
	if err != nil {
		return 0, fmt.Errorf("the export cannot be read: %w", err)
	}
	defer in.Close()
	r := newLineReader(in)
	for {
		text, err := r.next()
		if errors.Is(err, io.EOF) {
			return r.number, im.notEmpty(r.number)
		}
		if err == nil {
			err = im.line(r.number, text, fn)
		}
		if err != nil {
			return r.number, atLine(r.number, err)
		}
	}
}

func (im *importRun) notEmpty(lines int) error {
	if lines == 0 {
		return fmt.Errorf("%s is empty: it is no export", im.command.File)
	}
	return nil
}

func (im *importRun) line(number int, text []byte, fn func(int, importLine) error) error {
	line, err := parseLine(text)
	switch {
	case number == 1 && !bytes.Contains(text, []byte(kindHead)):
		return errNoExport
	case err != nil:
		return err
	case (number == 1) != (line.kind == kindHead):
		return fmt.Errorf("is of kind %q: the first line, and no other, is {\"kind\":%q,\"form\":%d}", line.kind, kindHead, exportForm)
	case number == 1:
		return nil
	}
	return fn(number, line)
}

// lineFault is an error that names its line. It hides what it wraps, whose text
// alone would be shown.
type lineFault struct {
	number int
	err    error
}

func (e *lineFault) Error() string { return fmt.Sprintf("line %d: %s", e.number, message(e.err)) }

func atLine(number int, err error) error {
	var fault *lineFault
	if errors.As(err, &fault) || ofNoLine(err) || errors.Is(err, errStopped) {
		return err
	}
	return &lineFault{number, err}
}

// ofNoLine tells whether an error is of the store or the workspace.
func ofNoLine(err error) bool {
	kind := sheaf.KindOf(err)
	return kind == sheaf.Unavailable || kind == sheaf.NotFound
}

// errStopped is how an interrupt ends an import.
var errStopped = errors.New("interrupted")

// run imports, and tells how far it came.
func (im *importRun) run(ctx context.Context) error {
	if im.command.DryRun {
		im.rehearsal = im.op.Rehearse(im.id)
	}
	im.reached, im.headers = im.command.FromLine-1, map[sheaf.SubscriptionID][]string{}
	im.bar = newProgressBar(im.Stderr, im.lines, im.Now)
	defer im.bar.clear()
	err := im.batches(ctx)
	im.bar.clear()
	if err == nil {
		return im.tell()
	}
	if im.reached >= im.command.FromLine && im.reached > 1 {
		return errors.Join(im.tell(), im.resumable(err))
	}
	if sheaf.KindOf(err) != sheaf.Unavailable { // which may have come after the commit
		err = fmt.Errorf("%s; nothing was imported", message(err))
	}
	return err
}

func (im *importRun) resumable(err error) error {
	if im.rehearsal != nil {
		return err
	}
	return fmt.Errorf("%s; lines up to %d are imported, go on with --from-line %d", message(err), im.reached, im.reached+1)
}

// batches imports the lines, up to app.MaxImport of them in a transaction.
// Subscriptions are in transactions of their own: they get no event of a record
// that is imported beside them.
func (im *importRun) batches(ctx context.Context) error {
	var batch importBatch
	_, err := im.each(func(number int, line importLine) error {
		if number < im.command.FromLine || line.kind == kindEnd {
			return nil
		}
		if batch.full(line) {
			if err := im.flush(ctx, &batch); err != nil {
				return err
			}
		}
		batch.add(number, line)
		if line.kind == kindSubscription {
			im.headers[sheaf.SubscriptionID(line.record.ID)] = line.headers
		}
		return nil
	})
	if err == nil {
		err = im.flush(ctx, &batch)
	}
	if err == nil {
		im.reached = im.lines
	}
	return err
}

// importBatch is what one transaction imports.
type importBatch struct {
	records []app.ImportRecord
	first   int // the number of its first line; the others follow it
	kind    string
}

func (b *importBatch) full(next importLine) bool {
	return len(b.records) == app.MaxImport ||
		len(b.records) > 0 && (next.kind == kindSubscription) != (b.kind == kindSubscription)
}

func (b *importBatch) add(number int, line importLine) {
	if len(b.records) == 0 {
		b.first = number
	}
	b.kind = line.kind
	b.records = append(b.records, line.record)
}

// flush imports the batch and empties it.
func (im *importRun) flush(ctx context.Context, b *importBatch) error {
	if ctx.Err() != nil {
		return errStopped
	}
	began := im.Now()
	done, err := im.importOne(context.WithoutCancel(ctx), b.records) // it is short
	if err != nil {
		return im.refused(b, err)
	}
	im.done.Add(done)
	if len(b.records) > 0 {
		im.reached = b.first + len(b.records) - 1
	}
	im.bar.at(im.reached)
	b.records = b.records[:0]
	im.rest(ctx, im.Now().Sub(began))
	return nil
}

func (im *importRun) importOne(ctx context.Context, records []app.ImportRecord) (app.Imported, error) {
	if im.rehearsal != nil {
		return im.rehearsal.Import(ctx, records)
	}
	return im.op.Import(ctx, im.id, records)
}

func (im *importRun) refused(b *importBatch, err error) error {
	var record *app.RecordError
	if errors.As(err, &record) {
		return &lineFault{b.first + record.Index, record.Err}
	}
	if ofNoLine(err) {
		return err
	}
	return &lineFault{b.first, err}
}

// rest leaves SQLite's file, which has one writer, to a server beside it for as
// long as it was held.
func (im *importRun) rest(ctx context.Context, held time.Duration) {
	if !im.sqlite || im.rehearsal != nil {
		return
	}
	select {
	case <-time.After(held):
	case <-ctx.Done():
	}
}

// tell prints what was done, and the secrets, once.
func (im *importRun) tell() error {
	return im.command.Show(&im.Program, sheaf.RecordFunc(im.fields), im.text)
}

func (im *importRun) fields(o *sheaf.Object) {
	o.Bool("dry_run", im.rehearsal != nil)
	o.Int("line", int64(im.reached))
	o.Record("added", sheaf.RecordFunc(func(o *sheaf.Object) { countFields(o, im.done.Added) }))
	o.Record("skipped", sheaf.RecordFunc(func(o *sheaf.Object) { countFields(o, im.done.Skipped) }))
	list := []byte{'['}
	for i, s := range im.done.Subscriptions {
		if i > 0 {
			list = append(list, ',')
		}
		list = sheaf.AppendJSON(list, sheaf.RecordFunc(func(o *sheaf.Object) { im.secret(o, s) }))
	}
	o.Raw("subscriptions", append(list, ']'))
}

func (im *importRun) secret(o *sheaf.Object, s app.ImportedSubscription) {
	o.Text("id", string(s.ID))
	o.Text("imported_id", string(s.From))
	o.Text("name", s.Name)
	o.Text("url", s.URL)
	o.OptText("secret", s.Secret)
	o.Texts("header_names", im.headers[s.From])
}

func (im *importRun) text() string {
	var b strings.Builder
	would := ""
	if im.rehearsal != nil {
		would = "would be "
	}
	fmt.Fprintf(&b, "%s %simported\n", recordCounts(im.done.Added), would)
	if im.done.Skipped.Sum() > 0 {
		fmt.Fprintf(&b, "%s %sskipped: their ids exist\n", recordCounts(im.done.Skipped), would)
	}
	if len(im.done.Subscriptions) > 0 {
		b.WriteString("The subscriptions are inactive and have new secrets, which are shown once. Give each to its endpoint, then turn it on:\n")
		b.WriteString(cli.Table("ID\tSECRET\tHEADERS TO SET AGAIN\tNAME", func(row func(...any)) {
			for _, s := range im.done.Subscriptions {
				row(s.ID, *s.Secret, orDash(strings.Join(im.headers[s.From], ", ")), s.Name)
			}
		}))
	}
	return b.String()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
