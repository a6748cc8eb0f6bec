package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// Import adds the records of a file to a workspace. Call Check first and, if it returns no error, Run.
type Import struct {
	File      string
	Workspace sheaf.WorkspaceID
	// FromLine is the first line to import: the lines before it are imported already. Lines count from 1.
	FromLine int
	DryRun   bool
	// WithoutMedia skips the media of the file.
	WithoutMedia bool
	Now          func() time.Time
	// Rest is called between two transactions, with the duration of the last one. nil: there is no pause.
	Rest func(ctx context.Context, held time.Duration)
	// Progress is called with the last line that is imported. nil: progress is not reported.
	Progress func(line int)

	// Check sets these fields: the number of lines of the file, and whether it has subscriptions, media and
	// shares to import.
	Lines            int
	HasSubscriptions bool
	HasMedia         bool
	HasShares        bool
	// Run sets these fields, even if it fails. Reached is the last line that is imported.
	Reached int
	Done    app.Imported
	Headers map[sheaf.SubscriptionID][]string // the names of a subscription's headers, by its id in the file

	op        app.Operator
	rehearsal *app.Rehearsal // nil unless it is one
}

// Check reads the whole file, and returns the first line that is wrong by itself. The operator
// needs no store for it.
func (im *Import) Check(op app.Operator) error {
	im.op = op
	var records int64
	last := ""
	var past history
	var file filling
	var of parts
	tree, releases := forest{}, newBlock()
	lines, err := im.each(func(number int, line line) error {
		if last == kindEnd {
			return errors.New("follows the end: one file is one export")
		}
		if err := file.line(number, &line); err != nil {
			return err
		}
		if err := of.line(number, &line); err != nil {
			return err
		}
		if err := releases.line(number, &line); err != nil {
			return err
		}
		if last = line.kind; last == kindEnd {
			return sameCount(line.records, records)
		}
		records++
		if err := tree.line(&line); err != nil {
			return err
		}
		if err := past.line(&line); err != nil || number < im.FromLine {
			return err
		}
		return im.checkLine(number, line)
	})
	if err == nil && last != kindEnd {
		err = fmt.Errorf("%s has no line of kind %q at its end: it is incomplete, export it again; nothing was imported", im.File, kindEnd)
	}
	im.Lines = lines
	if err == nil && im.FromLine > lines {
		err = fmt.Errorf("%s has %d lines: --from-line %d is after its end", im.File, lines, im.FromLine)
	}
	return err
}

// checkLine checks a line that is to be imported.
func (im *Import) checkLine(number int, line line) error {
	if line.kind == kindBytes {
		if number == im.FromLine {
			return errors.New("is in the middle of a medium: begin with the medium's own line above it")
		}
		return nil
	}
	if line.record.OfProposal() && number == im.FromLine {
		return errors.New("is in the middle of a proposal: begin with the proposal's own line above it")
	}
	im.HasSubscriptions = im.HasSubscriptions || line.kind == kindSubscription
	im.HasShares = im.HasShares || line.kind == kindShare
	im.HasMedia = im.HasMedia || hasBytes(&line) && !im.WithoutMedia
	return im.op.CheckImport(line.record)
}

// hasBytes reports whether lines with the bytes of a medium follow the line.
func hasBytes(l *line) bool {
	return l.record.Medium != nil || l.record.ReleasedMedium != nil && l.record.ReleasedMedium.WithBytes
}

// sameCount returns an error if the number of records that the last line gives is wrong.
func sameCount(says sheaf.Opt[int64], has int64) error {
	if says.Given() && says.Value != has {
		return fmt.Errorf("says that there are %d records before it, but there are %d: lines were lost or added, export it again", says.Value, has)
	}
	return nil
}

// each calls fn for every line after the first one, which must be a head, and returns the number
// of lines.
func (im *Import) each(fn func(number int, line line) error) (int, error) {
	in, err := os.Open(im.File)
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
			err = im.line(r, text, fn)
		}
		if err != nil {
			return r.number, atLine(r.number, err)
		}
	}
}

// notEmpty refuses a file without a line.
func (im *Import) notEmpty(lines int) error {
	if lines == 0 {
		return fmt.Errorf("%s is empty: it is not an export", im.File)
	}
	return nil
}

// line reads a line and passes it on.
func (im *Import) line(r *lineReader, text []byte, fn func(int, line) error) error {
	line, err := parseLine(text)
	line.behind = r.offset
	number := r.number
	switch {
	case number == 1 && !bytes.Contains(text, []byte(kindHead)):
		return errNoExport
	case err != nil:
		return err
	case (number == 1) != (line.kind == kindHead):
		return fmt.Errorf("is of kind %q: the first line, and no other, is {\"kind\":%q,\"form\":%d}", line.kind, kindHead, form)
	case number == 1:
		return nil
	}
	return fn(number, line)
}

// lineFault is an error that names its line. It does not unwrap, because then only the text of
// the inner error would be shown.
type lineFault struct {
	number int
	err    error
}

func (e *lineFault) Error() string {
	return fmt.Sprintf("line %d: %s", e.number, sheaf.OperatorText(e.err))
}

// atLine adds the number of the line to an error.
func atLine(number int, err error) error {
	var fault *lineFault
	if errors.As(err, &fault) || ofNoLine(err) || errors.Is(err, errStopped) {
		return err
	}
	return &lineFault{number, err}
}

// ofNoLine reports whether an error is about the store or the workspace, and not about a line.
func ofNoLine(err error) bool {
	kind := sheaf.KindOf(err)
	return kind == sheaf.Unavailable || kind == sheaf.NotFound
}

// errStopped is how an interrupt ends an import.
var errStopped = errors.New("interrupted")

// Run imports up to app.MaxImport records per transaction. If ctx ends, it stops; committed
// transactions stay.
func (im *Import) Run(ctx context.Context, op app.Operator) error {
	im.op = op
	if im.DryRun {
		im.rehearsal = op.Rehearse(im.Workspace)
	}
	im.Reached, im.Headers = im.FromLine-1, map[sheaf.SubscriptionID][]string{}
	err := im.batches(ctx)
	switch {
	case err == nil || im.Partly() && im.rehearsal != nil:
		return err
	case im.Partly():
		return fmt.Errorf("%s; lines up to %d are imported, continue with --from-line %d", sheaf.OperatorText(err), im.Reached, im.Reached+1)
	case sheaf.KindOf(err) != sheaf.Unavailable: // Unavailable may come after the commit
		return fmt.Errorf("%s; nothing was imported", sheaf.OperatorText(err))
	}
	return err
}

// Partly reports whether Run has imported something.
func (im *Import) Partly() bool { return im.Reached >= im.FromLine && im.Reached > 1 }

// batches imports the lines, up to app.MaxImport of them in a transaction. Subscriptions are in
// transactions of their own: they get no event of a record that is imported beside them.
func (im *Import) batches(ctx context.Context) error {
	source, err := newMediumSource(im.File)
	if err != nil {
		return err
	}
	defer source.file.Close()
	var b batch
	_, err = im.each(func(number int, line line) error {
		if number < im.FromLine || line.kind == kindEnd {
			return nil
		}
		if hasBytes(&line) || line.kind == kindBytes || line.kind == kindReleaseMedium && im.WithoutMedia {
			return im.medium(ctx, &b, number, line, source)
		}
		if b.full(line) {
			if err := im.flush(ctx, &b); err != nil {
				return err
			}
		}
		b.add(number, line)
		if line.kind == kindSubscription {
			im.Headers[sheaf.SubscriptionID(line.record.ID)] = line.headers
		}
		return nil
	})
	if err == nil {
		err = im.flush(ctx, &b)
	}
	if err == nil {
		im.Reached = im.Lines
	}
	return err
}

// medium imports a medium in a transaction of its own, after all earlier records. The medium's own
// line imports it; the lines with its bytes, which follow, are skipped.
func (im *Import) medium(ctx context.Context, b *batch, number int, line line, source *mediumSource) error {
	if len(b.records) > 0 {
		if err := im.flush(ctx, b); err != nil {
			return err
		}
	}
	if line.kind == kindBytes || im.WithoutMedia {
		im.reach(number)
		return nil
	}
	began := im.Now()
	done, err := im.importMedium(ctx, line.record, func() io.Reader { return source.from(line.behind) })
	switch {
	case ctx.Err() != nil && err != nil:
		return errStopped
	case err != nil:
		return im.refused(&batch{first: number}, err)
	}
	im.Done.Add(done)
	im.reach(number)
	if im.Rest != nil && im.rehearsal == nil {
		im.Rest(ctx, im.Now().Sub(began))
	}
	return nil
}

// reach tells how far the import has come.
func (im *Import) reach(number int) {
	im.Reached = number
	if im.Progress != nil {
		im.Progress(number)
	}
}

// importMedium adds a medium, or tries it in a rehearsal.
func (im *Import) importMedium(ctx context.Context, r app.ImportRecord, open func() io.Reader) (app.Imported, error) {
	if im.rehearsal != nil {
		return im.rehearsal.Import(ctx, []app.ImportRecord{r})
	}
	return im.op.ImportMedium(ctx, im.Workspace, r, open)
}

// batch is what one transaction imports.
type batch struct {
	records []app.ImportRecord
	text    int // bytes of the texts in the batch
	first   int // the number of its first line; the others follow it
	parts   int // texts and comments of proposals
	kind    string
}

// full reports whether the next line belongs into another transaction. The parts of a proposal stay in its transaction.
func (b *batch) full(next line) bool {
	if next.record.OfProposal() {
		return false
	}
	return len(b.records)-b.parts == app.MaxImport || b.text >= app.MaxImportText ||
		len(b.records) > 0 && (next.kind == kindSubscription) != (b.kind == kindSubscription)
}

// add gathers a record for the next transaction.
func (b *batch) add(number int, line line) {
	if len(b.records) == 0 {
		b.first = number
	}
	b.kind = line.kind
	b.records = append(b.records, line.record)
	b.text += len(line.record.Content())
	if line.record.OfProposal() {
		b.parts++
	}
}

// flush imports the batch and empties it.
func (im *Import) flush(ctx context.Context, b *batch) error {
	if ctx.Err() != nil {
		return errStopped
	}
	began := im.Now()
	done, err := im.importOne(context.WithoutCancel(ctx), b.records) // it is short
	if err != nil {
		return im.refused(b, err)
	}
	im.Done.Add(done)
	if len(b.records) > 0 {
		im.Reached = b.first + len(b.records) - 1
	}
	if im.Progress != nil {
		im.Progress(im.Reached)
	}
	clear(b.records) // their texts are not held on to
	b.records, b.text, b.parts = b.records[:0], 0, 0
	if im.Rest != nil && im.rehearsal == nil {
		im.Rest(ctx, im.Now().Sub(began))
	}
	return nil
}

// importOne adds a batch in one transaction, or tries it in a rehearsal.
func (im *Import) importOne(ctx context.Context, records []app.ImportRecord) (app.Imported, error) {
	if im.rehearsal != nil {
		return im.rehearsal.Import(ctx, records)
	}
	return im.op.Import(ctx, im.Workspace, records)
}

// refused returns the error with the number of the refused line of a batch.
func (im *Import) refused(b *batch, err error) error {
	var record *app.RecordError
	if errors.As(err, &record) {
		return &lineFault{b.first + record.Index, record.Err}
	}
	if ofNoLine(err) {
		return err
	}
	return &lineFault{b.first, err}
}
