package sheaf

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// reference encodes as encoding/json does, without its escapes for HTML.
func reference(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func FuzzAppendText(f *testing.F) {
	for _, s := range []string{"", "plain", `quo"te\`, "\x00\x01\x1f\x7f\b\f\n\r\t", "<a&b>", "é\u2028\u2029\uffff👩‍👧", "\xff\xfe", "a\xc3", "\xed\xa0\x80", "\ufffd"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := AppendText([]byte("x"), s)
		if got[0] != 'x' || !json.Valid(got[1:]) || !utf8.Valid(got) {
			t.Fatalf("%q became %q", s, got)
		}
		var back string
		if err := json.Unmarshal(got[1:], &back); err != nil || back != strings.ToValidUTF8(s, "\ufffd") && back != everyByteReplaced(s) {
			t.Fatalf("%q became %q, which is %q, %v", s, got, back, err)
		}
		if utf8.ValidString(s) && back != s {
			t.Fatalf("%q came back as %q", s, back)
		}
	})
}

// everyByteReplaced has one U+FFFD for each invalid byte, as encoding/json.
func everyByteReplaced(s string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteRune(r)
	}
	return b.String()
}

func TestAppendText_EscapesWhatMustBeAndNothingElse(t *testing.T) {
	for in, want := range map[string]string{
		"":                `""`,
		"<a href=\"x\">":  `"<a href=\"x\">"`,
		"a&b's":           `"a&b's"`,
		`\`:               `"\\"`,
		"/":               `"/"`,
		"\n\r\t\b\f":      `"\n\r\t\b\f"`,
		"\x00\x1f":        `"\u0000\u001f"`,
		"\x7f é 👩 \u2028": "\"\x7f é 👩 \u2028\"",
		"a\xffb":          "\"a\ufffdb\"",
	} {
		if got := string(AppendText(nil, in)); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

var moment = time.Date(2026, 3, 1, 9, 5, 7, 80e6, time.FixedZone("", 3600))

func TestAppendJSON_IsWhatEncodingJSONWrites(t *testing.T) {
	text, folder, project := `a "note" <b>`, FolderID("f"), ProjectID("p")
	at := moment.UTC().Format(TimeFormat)
	type m = map[string]any
	for _, c := range []struct {
		record Record
		want   m
	}{
		{&Project{ID: "p", Name: text, SortOrder: math.MinInt32, Visibility: Private, CreatedAt: moment, UpdatedAt: moment},
			m{"id": "p", "name": text, "description": nil, "icon": nil, "color": nil, "folder_id": nil, "sort_order": math.MinInt32,
				"visibility": "private", "external_id": nil, "url": nil, "metadata": nil, "review": nil, "document_count": 0, "created_at": at, "updated_at": at}},
		{&Project{ID: "p", Name: "n", Description: &text, Icon: &text, Color: &text, FolderID: &folder, DocumentCount: math.MaxInt64,
			ExternalID: &text, URL: &text, Metadata: NewMetadata([]MetadataEntry{{"b", &text}, {"a", &text}}), CreatedAt: moment, UpdatedAt: moment},
			m{"id": "p", "name": "n", "description": text, "icon": text, "color": text, "folder_id": "f", "sort_order": 0,
				"visibility": "", "external_id": text, "url": text, "metadata": m{"a": text, "b": text}, "review": nil, "document_count": math.MaxInt64, "created_at": at, "updated_at": at}},
		{&Folder{ID: "f", Name: "n", EntityType: BrandingFolder, Color: "#123456", Depth: 3, CreatedAt: moment, UpdatedAt: moment},
			m{"id": "f", "name": "n", "entity_type": "branding", "parent_id": nil, "color": "#123456", "sort_order": 0, "external_id": nil, "depth": 3,
				"project_count": 0, "branding_count": 0, "created_at": at, "updated_at": at}},
		{&Document{ID: "d", Title: text, ProjectID: &project, CreatedAt: moment, UpdatedAt: moment},
			m{"id": "d", "title": text, "description": nil, "project_id": "p", "parent_id": nil, "sort_order": 0, "external_id": nil, "url": nil, "metadata": nil,
				"version": 0, "content_bytes": 0, "content_sha256": "", "created_at": at, "updated_at": at}},
		{&ProjectDetail{Project: Project{ID: "p", CreatedAt: moment, UpdatedAt: moment},
			Documents: []Document{{ID: "1", CreatedAt: moment, UpdatedAt: moment}, {ID: "2", CreatedAt: moment, UpdatedAt: moment}}},
			m{"id": "p", "name": "", "description": nil, "icon": nil, "color": nil, "folder_id": nil, "sort_order": 0,
				"visibility": "", "external_id": nil, "url": nil, "metadata": nil, "review": nil, "document_count": 0, "created_at": at, "updated_at": at, "documents": []m{
					{"id": "1", "title": "", "description": nil, "external_id": nil, "version": 0, "content_bytes": 0, "content_sha256": "", "created_at": at, "updated_at": at},
					{"id": "2", "title": "", "description": nil, "external_id": nil, "version": 0, "content_bytes": 0, "content_sha256": "", "created_at": at, "updated_at": at}}}},
		{&NewKey{Key: Key{ID: "k", Name: "n", Prefix: "shf_abc", Scopes: Scopes{EventsRead, KeysRead}, UserID: "u", CreatedAt: moment, ExpiresAt: &moment}},
			m{"id": "k", "name": "n", "prefix": "shf_abc", "scopes": []string{"events:read", "keys:read"}, "restricted_to": nil, "user_id": "u", "owner": "user", "expires_at": at,
				"last_used_at": nil, "created_at": at, "key": nil}},
		{&Envelope{ID: "evt_1", Type: MediaUploaded, At: moment, UserID: "u", ResourceID: "r", Payload: []byte(`{"a":[1]}`)},
			m{"id": "evt_1", "type": "media.uploaded", "timestamp": at, "user_id": "u", "workspace_id": nil, "resource_type": "media",
				"resource_id": "r", "payload": m{"a": []int{1}}}},
		{&Workspace{ID: "w", Name: "n", Personal: true}, m{"id": "w", "name": "n", "personal": true}},
		{&User{ID: "u", Name: "n"}, m{"id": "u", "email": nil, "name": "n"}},
	} {
		got := AppendJSON([]byte("["), c.record)
		var back any
		if err := json.Unmarshal(got[1:], &back); err != nil {
			t.Errorf("%T: %s: %v", c.record, got, err)
		}
		// Encoded once more both have their names in alphabetical order.
		var want any
		if err := json.Unmarshal([]byte(reference(t, c.want)), &want); err != nil {
			t.Fatal(err)
		}
		if got, want := reference(t, back), reference(t, want); got != want {
			t.Errorf("%T:\ngot  %s\nwant %s", c.record, got, want)
		}
	}
}

func TestAppendTime_IsUTCWithMilliseconds(t *testing.T) {
	for want, at := range map[string]time.Time{
		`"2026-03-01T08:05:07.080Z"`: moment,
		`"1970-01-01T00:00:00.000Z"`: time.UnixMilli(0),
		`"2026-01-02T03:04:05.999Z"`: time.Date(2026, 1, 2, 3, 4, 5, 999_999_999, time.UTC),
	} {
		if got := string(AppendTime(nil, at)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	// Whatever the day, it is what the format says.
	elsewhere := time.FixedZone("", -3*60*60)
	for at := time.Date(-1, 12, 30, 21, 0, 0, 1_000_000, elsewhere); at.Year() < 10_002; at = at.Add(1_234_567*time.Second + 89*time.Millisecond) {
		if got, want := string(AppendTime([]byte("x"), at)), `x"`+at.UTC().Format(TimeFormat)+`"`; got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
}

func TestAppendPrevious_HasTheChangedFieldsAlone(t *testing.T) {
	before := Project{ID: "p", Name: "old", Description: nil, SortOrder: 1, DocumentCount: 3, CreatedAt: moment, UpdatedAt: moment}
	after := before
	if got := string(AppendPrevious(nil, &before, &after)); got != "{}" || !SameFields(&before, &after) {
		t.Errorf("nothing changed: got %s", got)
	}
	after.DocumentCount = 4
	if got := string(AppendPrevious(nil, &before, &after)); got != "{}" || !SameFields(&before, &after) {
		t.Errorf("a derived field changed: got %s", got)
	}
	empty := ""
	after.Name, after.Description, after.SortOrder = `<"new">`, &empty, 2
	if got, want := string(AppendPrevious([]byte("x"), &before, &after)), `x{"name":"old","description":null,"sort_order":1}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if SameFields(&before, &after) {
		t.Error("different fields are the same")
	}
	if got, want := string(AppendPrevious(nil, &after, &before)), `{"name":"<\"new\">","description":"","sort_order":2}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	payload := AppendJSON(nil, &Updated{Before: &before, After: &after})
	if !json.Valid(payload) || !bytes.HasSuffix(payload, []byte(`,"previous":{"name":"old","description":null,"sort_order":1}}`)) {
		t.Errorf("got %s", payload)
	}
	a, b := Folder{Depth: 1, ProjectCount: 1}, Folder{Depth: 2, ProjectCount: 2}
	if !SameFields(&a, &b) {
		t.Error("a folder's depth and count are not its own fields")
	}
}
