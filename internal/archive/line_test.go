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
		`{"kind":"project","id":"` + id + `","name":"x","folder_id":"` + id + `"}`, `{"kind":"document","id":"` + id + `","title":"x","project_id":null}`,
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
		if r.Document == nil || op.CheckImport(r) != nil {
			return
		}
		d := r.Document.Apply(sheaf.Document{ID: sheaf.DocumentID(r.ID), CreatedAt: time.Now(), UpdatedAt: time.Now()})
		kind, written := lineOf(app.Exported{Document: &d}, new(Count))
		again, err := parseLine(sheaf.AppendJSON(nil, sheaf.RecordFunc(func(o *sheaf.Object) {
			o.Text("kind", kind)
			written(o)
		})))
		if err != nil || again.record.ID != r.ID || again.record.Document.Title != r.Document.Title {
			t.Errorf("%q was written as something else: %v, %+v", line, err, again.record)
		}
	})
}
