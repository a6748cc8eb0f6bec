package archive

import (
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// Whatever a line is, it is refused with a text for a person, or is a record that an export would
// write so that it reads as the same.
func FuzzParseLine(f *testing.F) {
	const id = "0198c0de-0000-7000-8000-000000000001"
	for _, line := range []string{`{"kind":"sheaf_export","form":1}`, `{"kind":"end","records":3}`, `{"kind":"folder","id":"` + id + `","name":"x","entity_type":"project","parent_id":"` + id + `"}`,
		`{"kind":"branding","id":"` + id + `","name":"x","folder_id":"` + id + `","color_primary":"#123456","font":"mono","default":true}`,
		`{"kind":"project","id":"` + id + `","name":"x","folder_id":"` + id + `"}`, `{"kind":"document","id":"` + id + `","title":"x","project_id":null}`,
		`{"kind":"document","id":"` + id + `","title":"x","content":"# y","version":3,"version_user_id":"` + id + `","version_created_at":"2026-01-02T03:04:05Z"}`,
		`{"kind":"version","document_id":"` + id + `","version":2,"title":"x","content":"# y","user_id":"` + id + `","created_at":"2026-01-02T03:04:05Z"}`,
		`{"kind":"subscription","id":"` + id + `","name":"x","url":"https://example.com","events":["*"]}`, `{"kind":"project","id":"` + strings.ToUpper(id) + `","name":null}`, `{}`, `[`, "\xff", ``} {
		f.Add([]byte(line))
	}
	op := app.New(app.Config{Now: time.Now}).Operator()
	f.Fuzz(func(t *testing.T, line []byte) {
		parsed, err := parseLine(line)
		if err != nil {
			if err.Error() == "" || strings.ContainsAny(err.Error(), "\n\x00") {
				t.Errorf("refused with %q", err)
			}
			return
		}
		r := parsed.record
		if r.Document == nil && r.Version == nil || op.CheckImport(r) != nil {
			return
		}
		kind, written := lineOf(exported(r), new(Count))
		again, err := parseLine(sheaf.AppendJSON(nil, sheaf.RecordFunc(func(o *sheaf.Object) {
			o.Text("kind", kind)
			written(o)
		})))
		if err != nil || again.record.ID != r.ID || again.kind != parsed.kind || again.record.Content() != r.Content() ||
			r.Document != nil && again.record.Document.Title != r.Document.Title || r.Document == nil && again.record.Version.Title != r.Version.Title {
			t.Errorf("%q was written as something else: %v, %+v", line, err, again.record)
		}
	})
}

// exported is a document, or a version of one, as it is after its import.
func exported(r app.ImportRecord) app.Exported {
	id, now := sheaf.DocumentID(r.ID), time.Now()
	if r.Document == nil {
		return app.Exported{VersionOf: id, Version: &sheaf.VersionText{Content: r.Content(),
			Version: sheaf.Version{Number: r.Version.Number, Title: r.Version.Title.Value, CreatedAt: *r.CreatedAt}}}
	}
	d := r.Document.Apply(sheaf.Document{ID: id, Version: 1, CreatedAt: now, UpdatedAt: now})
	return app.Exported{Document: &d, Version: &sheaf.VersionText{Content: r.Content(), Version: sheaf.Version{Number: 1, Title: d.Title, CreatedAt: now}}}
}
