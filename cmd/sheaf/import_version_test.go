package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
)

// asks sends a request, which must succeed, and returns its answer.
func (s *running) asks(t *testing.T, method, path, key, body string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %d %.300s, %v", method, path, answer.StatusCode, text, err)
	}
	return string(text)
}

func (in *instance) serves(t *testing.T) (*running, string) {
	t.Helper()
	key := decoded[keyRecord](t, in.run(t, "key", "create", "--json", "--workspace", in.workspace, "--name", "k", "--scopes", "all").succeeds(t)).Key
	return startWith(t, in.env, append([]string{"--first-run", "none"}, in.flags...)...), key
}

// After an export and an import, the API shows the same texts, versions, hashes and authors, and
// another export has the same bytes.
func TestImport_KeepsTextsAndVersions(t *testing.T) {
	onEngines(t, func(t *testing.T, in *instance) {
		s, key := in.serves(t)
		plain := decoded[struct{ ID string }](t, s.asks(t, "POST", "/api/v1/documents", key, `{"title":"Without"}`)).ID
		id := decoded[struct{ ID string }](t, s.asks(t, "POST", "/api/v1/documents", key, `{"title":"A","content":"# one\n"}`)).ID
		longest := strings.Repeat("\x01", sheaf.MaxContent) // each byte of it is six in the file
		for _, text := range []string{"two <b>\u2028 日本\r\n", longest, "# one\n", ""} {
			s.asks(t, "PUT", "/api/v1/documents/"+id+"/content", key, text)
		}
		s.asks(t, "POST", "/api/v1/documents/"+id+"/versions/2/restore", key, "")
		s.asks(t, "PATCH", "/api/v1/documents/"+id, key, `{"title":"B"}`)
		s.asks(t, "POST", "/api/v1/documents/"+id+"/versions/1/restore", key, "")
		s.asks(t, "PATCH", "/api/v1/documents/"+id, key, `{"description":"no version"}`)
		first := in.export(t)
		wantWords(t, first, `"restored_version":2`, `"restored_version":1`)

		other := &instance{flags: engines["sqlite"](t)}
		other.workspace = createWorkspace(t, other.flags, "business").ID
		file := fileOf(t, first)
		if report := other.imports(t, file, "--dry-run"); report.Added["documents"] != 2 || report.Added["versions"] != 7 {
			t.Errorf("a dry run told %+v", report)
		}
		if report := other.imports(t, file); report.Added["documents"] != 2 || report.Added["versions"] != 7 {
			t.Errorf("reported %+v", report)
		}
		if report := other.imports(t, file); report.Added["versions"] != 0 || report.Skipped["versions"] != 7 {
			t.Errorf("again: %+v", report)
		}
		if again := other.export(t); again != first {
			t.Errorf("the copy differs: %.300s", firstDifference(again, first))
		}
		other.healthy(t)
		copied, copyKey := other.serves(t)
		for _, path := range []string{plain + "/versions", id + "/versions", id + "/versions/2", id + "/versions/3", id + "/versions/6", id + "/versions/8", id + "/content", id} {
			path = "/api/v1/documents/" + path
			if got, want := copied.asks(t, "GET", path, copyKey, ""), s.asks(t, "GET", path, key, ""); got != want {
				t.Errorf("%s: %.300s, want %.300s", path, got, want)
			}
		}
	})
}

func versionLine(n int, version int64, content string) string {
	text, _ := json.Marshal(content)
	return fmt.Sprintf(`{"kind":"version","document_id":%q,"version":%d,"title":"Was %d","content":%s,"user_id":null,"key_id":%q,"created_at":"2026-01-02T03:04:05.000Z","restored_version":null}`,
		testID(n), version, version, text, testID(7))
}

// documentAt returns the line of a document in a version.
func documentAt(n int, version int64) string {
	return strings.Replace(documentLine(n, ""), `"version":1,`, fmt.Sprintf(`"version":%d,`, version), 1)
}

// An import that ends between two versions of a document continues with the next one.
func TestImport_ContinuesWithinADocument(t *testing.T) {
	onEngines(t, func(t *testing.T, in *instance) {
		lines := []string{documentAt(1, 701)}
		for v := int64(700); v > 0; v-- {
			lines = append(lines, versionLine(1, v, fmt.Sprintf("text %d", v%3)))
		}
		r := in.importing(t, exportOf(t, append(lines[:len(lines):len(lines)], projectLine(5, testID(77)))...), "--json")
		if report := decoded[importReport](t, r.stdout); r.code != 1 || report.Line != 501 || report.Added["versions"] != 499 {
			t.Fatalf("ended with %d and reported %+v: %s", r.code, report, r.stderr)
		}
		whole := exportOf(t, lines...)
		if report := in.imports(t, whole, "--from-line", "502"); report.Added["versions"] != 201 || report.Skipped["versions"] != 0 {
			t.Errorf("went on: %+v", report)
		}
		want, err := os.ReadFile(whole)
		if err != nil {
			t.Fatal(err)
		}
		if got := in.export(t); got != string(want) {
			t.Errorf("the export is not what was imported: %s", firstDifference(got, string(want)))
		}
		in.healthy(t)
	})
}

// An import keeps only the texts of one transaction in memory, and stores no more versions than the
// API.
func TestImport_TextsAndVersionsAreBounded(t *testing.T) {
	t.Parallel()
	in := &instance{flags: engines["sqlite"](t)}
	in.workspace = createWorkspace(t, in.flags, "business").ID
	lines := []string{documentAt(1, 13)}
	for v := int64(12); v > 0; v-- {
		lines = append(lines, versionLine(1, v, strings.Repeat(string(rune('a'+v)), sheaf.MaxContent)))
	}
	r := in.importing(t, exportOf(t, append(lines[:len(lines):len(lines)], projectLine(5, testID(77)))...), "--json")
	if report := decoded[importReport](t, r.stdout); report.Line != 10 { // the head, the document, and eight texts
		t.Errorf("the first transaction ended with line %d", report.Line)
	}
	in.imports(t, exportOf(t, lines...))

	lines = []string{documentAt(2, 1101)}
	for v := int64(1100); v > 0; v-- {
		lines = append(lines, versionLine(2, v, ""))
	}
	if report := in.imports(t, exportOf(t, lines...)); report.Added["versions"] != sheaf.MaxVersions-1 || report.Skipped["versions"] != 101 {
		t.Errorf("of 1,100 past versions: %+v", report)
	}
	in.healthy(t)
}

// A file without texts is imported: its documents are empty, and the owner is their author.
func TestImport_AFileWithoutTexts(t *testing.T) {
	onEngines(t, func(t *testing.T, in *instance) {
		in.imports(t, exportOf(t, fmt.Sprintf(`{"kind":"document","id":%q,"title":"x","created_at":"2026-01-02T03:04:05.000Z","updated_at":"2026-03-02T03:04:05.000Z"}`, testID(1))))
		got := in.export(t)
		wantWords(t, got, `"content":"","version":1,"version_user_id":"`, `"version_key_id":null,"version_created_at":"2026-01-02T03:04:05.000Z"`)
		in.healthy(t)
	})
}

func TestImport_RefusesVersionsWithoutADocument(t *testing.T) {
	t.Parallel()
	in := &instance{flags: engines["sqlite"](t)}
	in.workspace = createWorkspace(t, in.flags, "business").ID
	for name, c := range map[string]struct {
		line, want string
	}{
		"a gap":             {versionLine(1, 2, ""), "does not belong here"},
		"the present one":   {versionLine(1, 4, ""), "does not belong here"},
		"of another":        {versionLine(2, 3, ""), "does not belong here"},
		"no version":        {versionLine(1, 0, ""), "version"},
		"too long":          {versionLine(1, 3, strings.Repeat("x", sheaf.MaxContent+1)), "1048576"},
		"NUL":               {versionLine(1, 3, "\x00"), "NUL"},
		"bad UTF-8":         {strings.Replace(versionLine(1, 3, ""), "Was", "\xff", 1), "UTF-8"},
		"no title":          {strings.Replace(versionLine(1, 3, ""), `"title":"Was 3",`, "", 1), "title is required"},
		"no time":           {strings.Replace(versionLine(1, 3, ""), `,"created_at":"2026-01-02T03:04:05.000Z"`, "", 1), "created_at"},
		"a time to come":    {strings.Replace(versionLine(1, 3, ""), "2026-", "2126-", 1), "future"},
		"restores itself":   {strings.Replace(versionLine(1, 3, ""), `"restored_version":null`, `"restored_version":3`, 1), "earlier version"},
		"an author's no id": {strings.Replace(versionLine(1, 3, ""), testID(7), "7", 1), "is not a UUID"},
	} {
		t.Run(name, func(t *testing.T) {
			in.importing(t, exportOf(t, documentAt(1, 4), c.line)).fails(t, "line 3: ", c.want)
		})
	}
	in.importing(t, exportOf(t, strings.Replace(documentAt(1, 4), `"version":4,`, "", 1))).fails(t, "line 2: ", "version is required")
	in.importing(t, exportOf(t, strings.Replace(documentAt(1, 4), `"restored_version":null`, `"restored_version":4`, 1))).fails(t, "line 2: ", "earlier version")
	// The next change has the next number, so a number that would overflow is refused, also of a
	// past version.
	for _, large := range []string{"9223372036854775807", "9007199254740992"} {
		in.importing(t, exportOf(t, strings.Replace(documentAt(1, 4), `"version":4,`, `"version":`+large+`,`, 1))).fails(t, "line 2: ", "version", "9007199254740991")
	}
	in.importing(t, exportOf(t, strings.Replace(documentAt(1, 4), `"version_created_at":"2026`, `"version_created_at":"2126`, 1))).fails(t, "line 2: ", "future")
}
