package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

// maxLine is more than any record needs, every character of it escaped.
const maxLine = 64 << 10

// importLine is one line of an export.
type importLine struct {
	kind    string
	record  app.ImportRecord
	headers []string         // of a subscription: their values are not in the file
	records sheaf.Opt[int64] // of the end: how many there are
}

// errNoExport refuses a file that something else wrote.
var errNoExport = fmt.Errorf("the file is no export of sheaf: the first line of one is {\"kind\":%q,\"form\":%d}", kindHead, exportForm)

// lineReader reads the lines of an export. It holds one at a time.
type lineReader struct {
	r      *bufio.Reader
	number int // of the line that was read last
}

func newLineReader(in io.Reader) *lineReader { return &lineReader{r: bufio.NewReaderSize(in, maxLine)} }

// next returns the next line without its end, or io.EOF. It is valid until the
// next call.
func (l *lineReader) next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	if errors.Is(err, io.EOF) && len(line) == 0 {
		return nil, io.EOF
	}
	l.number++
	switch {
	case errors.Is(err, bufio.ErrBufferFull) && l.number == 1:
		return nil, errNoExport
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("is longer than %d bytes: no record is, correct it", maxLine)
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	}
	return bytes.TrimSuffix(line, []byte("\n")), nil
}

// kindFields are the fields that a line of each kind may have beside "kind".
var kindFields = map[string][]string{
	kindHead:         {"form"},
	kindFolder:       {"id", "name", "entity_type", "parent_id", "color", "sort_order", "created_at", "updated_at"},
	kindProject:      {"id", "name", "description", "icon", "color", "folder_id", "sort_order", "visibility", "created_at", "updated_at"},
	kindDocument:     {"id", "title", "description", "project_id", "created_at", "updated_at"},
	kindSubscription: {"id", "name", "url", "events", "header_names", "created_at", "updated_at"},
	kindEnd:          {"records"},
}

// parseLine reads one line. Its error is for a person, and begins as one that
// follows the line's number does.
func parseLine(line []byte) (importLine, error) {
	o, err := strict.ParseObject(line)
	if err != nil {
		return importLine{}, lineError(err)
	}
	f := &lineFields{o: o}
	out := importLine{kind: f.required("kind")}
	if f.err == nil {
		f.err = knownFields(out.kind, o.Names())
	}
	if f.err != nil {
		return importLine{}, lineError(f.err)
	}
	f.read(&out)
	return out, lineError(f.err)
}

// lineError words an error of the reader of JSON, which speaks of a body.
func lineError(err error) error {
	var field *strict.FieldError
	if !errors.As(err, &field) {
		return err
	}
	if field.Field == "body" {
		return errors.New(strings.Replace(field.Text, "send one JSON object", "every line is one JSON object", 1))
	}
	return fmt.Errorf("%s %s", field.Field, field.Text)
}

func knownFields(kind string, names []string) error {
	may, ok := kindFields[kind]
	if !ok {
		return fmt.Errorf("kind %q is unknown: it is folder, project, document or subscription", sheaf.Clip(kind))
	}
	for _, name := range names {
		if name != "kind" && !slices.Contains(may, name) {
			return fmt.Errorf("the field %q is unknown: leave it out, a %s has %s", sheaf.Clip(name), kind, strings.Join(may, ", "))
		}
	}
	return nil
}

// lineFields reads the fields of a line and keeps the first error.
type lineFields struct {
	o   strict.Object
	err error
}

func (f *lineFields) keep(err error) {
	if f.err == nil {
		f.err = err
	}
}

func (f *lineFields) text(name string) sheaf.Opt[string] {
	v, err := f.o.Text(name)
	f.keep(err)
	return v
}

func (f *lineFields) texts(name string) sheaf.Opt[[]string] {
	v, err := f.o.Texts(name)
	f.keep(err)
	return v
}

// required reads a text that must be there.
func (f *lineFields) required(name string) string {
	v := f.text(name)
	if !v.Given() {
		f.keep(fmt.Errorf("%s is required: give it", name))
	}
	return v.Value
}

func (f *lineFields) id() string {
	s := f.required("id")
	id, ok := sheaf.ParseUUID(s)
	if !ok {
		f.keep(notUUID("id", s))
	}
	return id
}

func notUUID(name, s string) error {
	return fmt.Errorf("%s: %q is not a UUID such as 0198c0de-0000-7000-8000-000000000000: correct it", name, sheaf.Clip(s))
}

// referenceTo reads the id of another record, or null.
func referenceTo[T ~string](f *lineFields, name string) sheaf.Opt[T] {
	v := f.text(name)
	out := sheaf.Opt[T]{Set: v.Set, Null: v.Null}
	if v.Given() {
		id, ok := sheaf.ParseUUID(v.Value)
		if !ok {
			f.keep(notUUID(name, v.Value))
		}
		out.Value = T(id)
	}
	return out
}

func (f *lineFields) order() sheaf.Opt[int32] {
	v, err := f.o.Int("sort_order", math.MinInt32, math.MaxInt32)
	f.keep(err)
	return sheaf.Opt[int32]{Set: v.Set, Null: v.Null, Value: int32(v.Value)}
}

func (f *lineFields) time(name string) *time.Time {
	v := f.text(name)
	if !v.Given() {
		return nil
	}
	t, err := strict.Time(v.Value)
	if err != nil {
		f.keep(fmt.Errorf("%s %w", name, err))
	}
	return &t
}

// read reads the fields of the line's kind.
func (f *lineFields) read(out *importLine) {
	switch out.kind {
	case kindHead:
		form, err := f.o.Int("form", math.MinInt64, math.MaxInt64)
		f.keep(err)
		if form.Value != exportForm {
			f.keep(fmt.Errorf("form is %d, and this program reads form %d: use the program that wrote it", form.Value, exportForm))
		}
		return
	case kindEnd:
		var err error
		out.records, err = f.o.Int("records", 0, math.MaxInt64)
		f.keep(err)
		return
	}
	out.record = app.ImportRecord{ID: f.id(), CreatedAt: f.time("created_at"), UpdatedAt: f.time("updated_at")}
	f.readRecord(out)
}

func (f *lineFields) readRecord(out *importLine) {
	switch r := &out.record; out.kind {
	case kindFolder:
		r.Folder = &sheaf.FolderChange{Name: f.text("name"), Color: f.text("color"), SortOrder: f.order(),
			EntityType: f.text("entity_type"), ParentID: referenceTo[sheaf.FolderID](f, "parent_id")}
	case kindProject:
		r.Project = &sheaf.ProjectChange{Name: f.text("name"), Description: f.text("description"), Icon: f.text("icon"),
			Color: f.text("color"), FolderID: referenceTo[sheaf.FolderID](f, "folder_id"), SortOrder: f.order(), Visibility: f.text("visibility")}
	case kindDocument:
		r.Document = &sheaf.DocumentChange{Title: f.text("title"), Description: f.text("description"),
			ProjectID: referenceTo[sheaf.ProjectID](f, "project_id")}
	case kindSubscription:
		r.Subscription = &sheaf.SubscriptionChange{Name: f.text("name"), URL: f.text("url"), Events: f.texts("events")}
		out.headers = f.texts("header_names").Value
	}
}
