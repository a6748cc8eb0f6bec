package store

import (
	"reflect"
	"testing"

	"sheaf.dev/internal/sheaf"
)

// The fields of a document survive being stored as one text, an empty one differs from a missing one, and
// no damaged text is read as something else.
func TestFields_AreReadAsTheyWere(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	documents := []sheaf.Document{
		{},
		{Description: text("")},
		{Description: text("a"), URL: text("https://example.com/ü")},
		{ExternalID: text("\x01\x01")},
		{Metadata: `{"a":"b"}`},
		{Description: text(string(make([]byte, 300))), ExternalID: text("x"), URL: text("y"), Metadata: `{"z":"1"}`},
	}
	seen := map[string]bool{}
	for i, d := range documents {
		stored := fieldsOf(&d)
		if seen[stored] {
			t.Errorf("document %d has the text of another one", i)
		}
		seen[stored] = true
		var got sheaf.Document
		if err := setFields(&got, stored); err != nil || !reflect.DeepEqual(got, d) {
			t.Errorf("document %d became %+v: %v", i, got, err)
		}
		if hash, _ := fieldsHash(&d).([]byte); !SameFields(&d, hash) || SameFields(&d, append(hash, 1)) {
			t.Errorf("document %d and its hash do not match", i)
		}
		for n := 1; n < len(stored); n++ {
			if err := setFields(new(sheaf.Document), stored[:n]); err == nil {
				t.Errorf("document %d was read from its first %d bytes", i, n)
			}
		}
		if stored != "" && setFields(new(sheaf.Document), stored+"x") == nil {
			t.Errorf("document %d was read with something after it", i)
		}
	}
	if err := setFields(new(sheaf.Document), "a text"); err == nil {
		t.Error("a text of a document was read as fields")
	}
}
