package archive

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// Any line is either refused with an error for a person, or read as a record. An export of that
// record gives a line that reads as the same record.
func FuzzParseLine(f *testing.F) {
	const id = "0198c0de-0000-7000-8000-000000000001"
	for _, line := range []string{`{"kind":"sheaf_export","form":1}`, `{"kind":"end","records":3}`, `{"kind":"folder","id":"` + id + `","name":"x","entity_type":"project","parent_id":"` + id + `"}`,
		`{"kind":"branding","id":"` + id + `","name":"x","folder_id":"` + id + `","color_primary":"#123456","font":"mono","default":true}`,
		`{"kind":"project","id":"` + id + `","name":"x","folder_id":"` + id + `"}`, `{"kind":"document","id":"` + id + `","title":"x","project_id":null}`,
		`{"kind":"document","id":"` + id + `","title":"x","content":"# y","version":3,"version_user_id":"` + id + `","version_created_at":"2026-01-02T03:04:05Z"}`,
		`{"kind":"version","document_id":"` + id + `","version":2,"title":"x","content":"# y","user_id":"` + id + `","created_at":"2026-01-02T03:04:05Z"}`,
		`{"kind":"release","id":"` + id + `","project_id":"` + id + `","name":"1.0","documents":1,"user_id":"` + id + `"}`, `{"kind":"release_end","release_id":"` + id + `"}`,
		`{"kind":"release_document","release_id":"` + id + `","id":"` + id + `","title":"x","number":7,"sort_order":3,"content":"# y","metadata":{"a":"b"}}`,
		`{"kind":"release_document","release_id":"` + id + `","id":"` + id + `","title":"x","number":7,"content_sha256":"` + strings.Repeat("0f", 32) + `"}`,
		`{"kind":"release_medium","release_id":"` + id + `","id":"` + id + `","bytes":7,"sha256":"` + strings.Repeat("0f", 32) + `","with_bytes":true}`,
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
		if r.Document == nil && r.Version == nil && r.Released == nil || op.CheckImport(r) != nil {
			return
		}
		kind, written := lineOf(exported(r), new(Count))
		again, err := parseLine(sheaf.AppendJSON(nil, sheaf.RecordFunc(func(o *sheaf.Object) {
			o.Text("kind", kind)
			written(o)
		})))
		if err != nil || again.record.ID != r.ID || again.kind != parsed.kind || again.record.Content() != r.Content() || fmt.Sprint(titleOf(again.record)) != fmt.Sprint(titleOf(r)) {
			t.Errorf("%q was written as something else: %v, %+v", line, err, again.record)
		}
	})
}

// titleOf returns the title of a document, a version or a document of a release.
func titleOf(r app.ImportRecord) any {
	switch {
	case r.Document != nil:
		return r.Document.Title
	case r.Released != nil:
		return []any{r.Released.ID, r.Released.Number, r.Released.Version, r.Released.Title.Value, strings.ToLower(r.Released.SHA256)}
	}
	return r.Version.Title
}

// exported is a document, a version of one, or a document of a release, as it is after its import.
func exported(r app.ImportRecord) app.Exported {
	id, now := sheaf.DocumentID(r.ID), time.Now()
	if in := r.Released; in != nil {
		d := in.Apply(sheaf.Document{ID: in.ID, Number: in.Number, Version: in.Version, ContentSHA256: strings.ToLower(in.SHA256), CreatedAt: now, UpdatedAt: now})
		return app.Exported{Released: &sheaf.DocumentText{Document: d, Content: r.Content()}, ReleasedText: in.SHA256 == "", ReleaseOf: sheaf.ReleaseID(r.ID)}
	}
	if r.Document == nil {
		return app.Exported{VersionOf: id, Version: &sheaf.VersionText{Content: r.Content(),
			Version: sheaf.Version{Number: r.Version.Number, Title: r.Version.Title.Value, CreatedAt: *r.CreatedAt}}}
	}
	d := r.Document.Apply(sheaf.Document{ID: id, Version: 1, CreatedAt: now, UpdatedAt: now})
	return app.Exported{Document: &d, Version: &sheaf.VersionText{Content: r.Content(), Version: sheaf.Version{Number: 1, Title: d.Title, CreatedAt: now}}}
}
