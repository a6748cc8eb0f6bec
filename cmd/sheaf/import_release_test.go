package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// keepMedia gives a store in PostgreSQL a bucket for its media.
func (in *instance) keepMedia(t *testing.T) {
	t.Helper()
	if in.flags[0] == "--database-url" {
		in.env = bucketEnv(t)
	}
}

// asksJSON is asks for a JSON body and a JSON answer.
func (s *running) asksJSON(t *testing.T, method, path, key string, body any) map[string]any {
	t.Helper()
	text, _ := json.Marshal(body)
	return decoded[map[string]any](t, s.asks(t, method, "/api/v1/"+path, key, string(text)))
}

// D186: an export has the releases with their documents, texts and media, also those that only a release has.
// The copy shows the same, exports the same file, and counts the same.
func TestImport_KeepsReleases(t *testing.T) {
	onEngines(t, func(t *testing.T, in *instance) {
		in.keepMedia(t)
		s, key := in.serves(t)
		ask := func(method, path string, body any) map[string]any {
			t.Helper()
			return s.asksJSON(t, method, path, key, body)
		}
		id := func(path string, body any) string { t.Helper(); return ask("POST", path, body)["id"].(string) }
		upload := func(name, content string) string {
			t.Helper()
			return decoded[struct{ ID string }](t, s.asks(t, "POST", "/api/v1/media?filename="+name, key, content)).ID
		}
		project, other := id("projects", map[string]any{"name": "Book"}), id("projects", map[string]any{"name": "Other"})
		stays, goes, twin := upload("stays.gif", "GIF89a\x02\x00\x01\x00\x00\x00\x00"), upload("goes.txt", "goes"), upload("twin.txt", "goes")
		one := id("documents", map[string]any{"title": "One", "project_id": project, "description": "d", "metadata": map[string]any{"a": "b"}, "external_id": "x:1", "url": "https://example.com/",
			"content": "![a](media:" + stays + ") [b](media:" + goes + ")\n"})
		below := id("documents", map[string]any{"title": "Below", "project_id": project, "parent_id": one, "content": "below\n"})
		id("documents", map[string]any{"title": "Empty", "project_id": project})
		first := id("projects/"+project+"/releases", map[string]any{"name": "1.0", "notes": "*first*"})
		s.asks(t, "DELETE", "/api/v1/media/"+goes, key, "")
		s.asks(t, "DELETE", "/api/v1/media/"+twin, key, "")
		ask("PATCH", "documents/"+one, map[string]any{"title": "Uno", "content": "![a](media:" + stays + ") changed\n"})
		second := id("projects/"+project+"/releases", map[string]any{"name": "2.0"})
		ask("POST", "documents/"+below+"/move", map[string]any{"project_id": other})
		s.asks(t, "DELETE", "/api/v1/documents/"+one, key, "")
		otherFirst := id("projects/"+other+"/releases", map[string]any{"name": "1.0"})
		id("shares", map[string]any{"resource_type": "project", "resource_id": project, "release": first, "show_releases": true})
		id("shares", map[string]any{"resource_type": "project", "resource_id": project, "release": "newest"})
		export := in.export(t)
		for line, times := range map[string]int{`"below\n"`: 2, `{"kind":"release",`: 3, `{"kind":"release_document",`: 7, `{"kind":"release_medium",`: 3, `"with_bytes":true`: 1,
			`{"kind":"release_end",`: 3, `{"kind":"bytes",`: 2} {
			if got := strings.Count(export, line); got != times {
				t.Errorf("%s is in the export %d times, want %d:\n%s", line, got, times, export)
			}
		}

		copyTo := &instance{flags: engines["sqlite"](t)}
		copyTo.workspace = createWorkspace(t, copyTo.flags, "business").ID
		file := fileOf(t, export)
		for _, args := range [][]string{{"--dry-run"}, nil} {
			if report := copyTo.imports(t, file, args...); report.Added["releases"] != 3 || report.Skipped["releases"] != 0 {
				t.Errorf("%v told %+v", args, report)
			}
		}
		if report := copyTo.imports(t, file); report.Added["releases"] != 0 || report.Skipped["releases"] != 3 {
			t.Errorf("again: %+v", report)
		}
		if again := copyTo.export(t); again != export {
			t.Errorf("the copy differs: %.300s", firstDifference(again, export))
		}
		copyTo.healthy(t)
		in.healthy(t)
		copied, copyKey := copyTo.serves(t)
		paths := []string{"releases/" + first + "/media/" + goes + "/content", "releases/" + first + "/diff?to=" + second, "projects/" + project + "/releases"}
		for _, r := range []string{first, second, otherFirst} {
			paths = append(paths, "releases/"+r, "releases/"+r+"/tree", "releases/"+r+"/diff")
		}
		for _, r := range []string{first, second} {
			paths = append(paths, "releases/"+r+"/documents/"+one, "releases/"+r+"/documents/"+below+"/content", "releases/"+r+"/media/"+stays+"/content")
		}
		for _, path := range paths {
			got, want := copied.asks(t, "GET", "/api/v1/"+path, copyKey, ""), s.asks(t, "GET", "/api/v1/"+path, key, "")
			if got != want {
				t.Errorf("%s: %.300s, want %.300s", path, got, want)
			}
		}
		shares := copied.asks(t, "GET", "/api/v1/shares", copyKey, "")
		wantWords(t, shares, `"release":"`+first+`","show_releases":true`, `"release":"newest","show_releases":false`)
		if events := copied.asksJSON(t, "GET", "events?type=release.created", copyKey, nil); events["total"] != 3.0 {
			t.Errorf("the copy has the events %v", events)
		}
		used := func(s *running, key string) any {
			t.Helper()
			return s.asksJSON(t, "GET", "me", key, nil)["storage"].(map[string]any)["used"]
		}
		// What is in the trash is not in the export: the document with its two texts.
		trash := float64(len("![a](media:"+stays+") [b](media:"+goes+")\n") + len("![a](media:"+stays+") changed\n"))
		if got, want := used(copied, copyKey).(float64), used(s, key).(float64)-trash; got != want {
			t.Errorf("the copy counts %v bytes, want %v", got, want)
		}
		for _, share := range copied.asksJSON(t, "GET", "shares", copyKey, nil)["data"].([]any) {
			copied.asks(t, "DELETE", "/api/v1/shares/"+share.(map[string]any)["id"].(string), copyKey, "")
		}
		for _, r := range []string{first, second, otherFirst} {
			copied.asks(t, "DELETE", "/api/v1/releases/"+r, copyKey, "")
		}
		copyTo.healthy(t)
	})
}

// D186: a medium that only a release has is imported once more by itself, and counts once.
func TestImport_OfAMediumThatAReleaseKept(t *testing.T) {
	onEngines(t, func(t *testing.T, in *instance) {
		in.keepMedia(t)
		s, key := in.serves(t)
		medium := decoded[struct{ ID string }](t, s.asks(t, "POST", "/api/v1/media?filename=a.txt", key, "some bytes")).ID
		project := s.asksJSON(t, "POST", "projects", key, map[string]any{"name": "Book"})["id"].(string)
		s.asksJSON(t, "POST", "documents", key, map[string]any{"title": "One", "project_id": project, "content": "[b](media:" + medium + ")"})
		s.asksJSON(t, "POST", "projects/"+project+"/releases", key, map[string]any{"name": "1.0"})
		used := func() any {
			t.Helper()
			return s.asksJSON(t, "GET", "me", key, nil)["storage"].(map[string]any)["used"]
		}
		before, export := used(), fileOf(t, in.export(t))
		s.asks(t, "DELETE", "/api/v1/media/"+medium, key, "")
		if report := in.imports(t, export); report.Added["media"] != 1 || report.Skipped["releases"] != 1 {
			t.Errorf("imported %+v", report)
		}
		if got := used(); got != before {
			t.Errorf("%v bytes count, want %v", got, before)
		}
		in.healthy(t)
		s.asks(t, "DELETE", "/api/v1/media/"+medium, key, "")
		in.importing(t, exportOf(t, strings.Replace(mediumLine(1, "other", ""), testID(1), medium, 1), bytesLine("other"))).fails(t, "line 2", "with other bytes")
		in.healthy(t)
	})
}

func releaseLine(n, project int, name string, documents int) string {
	return fmt.Sprintf(`{"kind":"release","id":%q,"project_id":%q,"name":%q,"notes":null,"documents":%d,"user_id":%q,"key_id":null,"created_at":"2026-01-02T03:04:05.000Z"}`,
		testID(n), testID(project), name, documents, testID(7))
}

func releasedLine(release, n int, text string) string {
	return fmt.Sprintf(`{"kind":"release_document","release_id":%q,"id":%q,"title":"Page %d","description":null,"parent_id":null,"sort_order":%d,"number":%d,"external_id":null,"url":null,"metadata":null,"version":3,%s,"created_at":"2026-01-02T03:04:05.000Z","updated_at":"2026-01-02T03:04:05.000Z"}`,
		testID(release), testID(n), n, n, n, text)
}

func releaseEndLine(n int) string {
	return fmt.Sprintf(`{"kind":"release_end","release_id":%q}`, testID(n))
}

func releasedMediumLine(release, n int, content string, withBytes bool) string {
	line := strings.Replace(mediumLine(n, content, ""), `"kind":"medium"`, fmt.Sprintf(`"kind":"release_medium","release_id":%q,"with_bytes":%t`, testID(release), withBytes), 1)
	return strings.Replace(line, `"document_id":null,`, "", 1)
}

// D186: a release of many documents is imported in several transactions, and is visible only when all are done.
// An interrupted import goes on, from where it ended or from its first line.
func TestImport_ContinuesWithinARelease(t *testing.T) {
	onEngines(t, func(t *testing.T, in *instance) {
		in.keepMedia(t)
		in.imports(t, exportOf(t, projectLine(1, ""), mediumLine(90, "here", ""), bytesLine("here")))
		lines := []string{releaseLine(2, 1, "1.0", 700)}
		for n := 1000; n < 1700; n++ {
			text := fmt.Sprintf(`"content":"text %d"`, n%500)
			if n >= 1500 {
				text = fmt.Sprintf(`"content_sha256":"%x"`, sha256.Sum256([]byte(fmt.Sprintf("text %d", n%500))))
			}
			lines = append(lines, releasedLine(2, n, text))
		}
		lines = append(lines, releasedMediumLine(2, 91, "more", true), bytesLine("more"))
		bad := append(slices.Clone(lines), releasedMediumLine(2, 90, "elsewhere", true), bytesLine("elsewhere"), releaseEndLine(2))
		good := append(slices.Clone(lines), releasedMediumLine(2, 90, "here", true), bytesLine("here"), releaseEndLine(2))
		before := in.export(t)
		r := in.importing(t, exportOf(t, bad...), "--json")
		if report := decoded[importReport](t, r.stdout); r.code != 1 || report.Line != 704 || report.Added["releases"] != 0 || !strings.Contains(r.stderr, "other bytes") {
			t.Fatalf("ended with %d and reported %+v: %s", r.code, report, r.stderr)
		}
		in.healthy(t)
		if got := in.export(t); got != before {
			t.Errorf("half of a release is visible: %.300s", firstDifference(got, before))
		}
		whole := exportOf(t, good...)
		other := &instance{flags: in.flags, workspace: createWorkspace(t, in.flags, "business").ID, env: in.env}
		other.imports(t, exportOf(t, projectLine(1, "")))
		other.importing(t, whole, "--from-line", "300").fails(t, "line 300", "begin with the line of the release")
		if report := in.imports(t, whole, "--from-line", "400"); report.Added["releases"] != 1 {
			t.Errorf("went on: %+v", report)
		}
		if report := other.imports(t, whole); report.Added["releases"] != 1 {
			t.Errorf("at once: %+v", report)
		}
		in.healthy(t)
		s, key := in.serves(t)
		if v := s.asksJSON(t, "GET", "releases/"+testID(2), key, nil); v["documents"] != 700.0 || v["user_id"] != testID(7) || v["created_at"] != "2026-01-02T03:04:05.000Z" {
			t.Errorf("the release is %v", v)
		}
		if text := s.asks(t, "GET", "/api/v1/releases/"+testID(2)+"/documents/"+testID(1699)+"/content", key, ""); text != "text 199" {
			t.Errorf("the last text is %q", text)
		}
		if text := s.asks(t, "GET", "/api/v1/releases/"+testID(2)+"/media/"+testID(91)+"/content", key, ""); text != "more" {
			t.Errorf("the medium is %q", text)
		}
		// The same name in the project, and more releases than it may have, are refused.
		in.importing(t, exportOf(t, releaseLine(3, 1, "1.0", 0), releaseEndLine(3))).fails(t, "line 2", "a release named")
		in.importing(t, exportOf(t, releaseLine(3, 9, "1.0", 0), releaseEndLine(3))).fails(t, "line 2", "no project "+testID(9))
		lines = nil
		for n := range 100 {
			lines = append(lines, releaseLine(100+n, 1, fmt.Sprint("r", n), 0), releaseEndLine(100+n))
		}
		in.importing(t, exportOf(t, lines...), "--dry-run").fails(t, "line 200", "100 releases")
		in.healthy(t)
	})
}

// D186: a file in which parts of a release are missing, doubled or elsewhere is refused as a whole.
func TestImport_ReleasesWithWrongParts(t *testing.T) {
	t.Parallel()
	in := &instance{flags: engines["sqlite"](t)}
	in.workspace = createWorkspace(t, in.flags, "business").ID
	in.imports(t, exportOf(t, projectLine(1, "")))
	release, end := releaseLine(2, 1, "1.0", 1), releaseEndLine(2)
	document := releasedLine(2, 3, `"content":"abc"`)
	hash := fmt.Sprintf(`"content_sha256":"%x"`, sha256.Sum256([]byte("abc")))
	child := strings.Replace(releasedLine(2, 4, hash), `"parent_id":null`, fmt.Sprintf(`"parent_id":%q`, testID(3)), 1)
	for want, lines := range map[string][]string{
		"or its end, should be":                       {release, document},
		"which lacks 1 of its documents":              {release, end},
		"which does not belong here":                  {document},
		"is a part of release " + testID(5):           {release, releasedLine(5, 3, `"content":"abc"`), end},
		"is one document more":                        {release, document, child, end},
		"is a second line of document":                {releaseLine(2, 1, "1.0", 2), document, document, end},
		"has no document":                             {releaseLine(2, 1, "1.0", 2), child, document, end},
		"no document of a release on an earlier line": {release, releasedLine(2, 3, hash), end},
		"content or content_sha256 is required":       {release, releasedLine(2, 3, `"content":"abc",`+hash), end},
		"no medium on an earlier line":                {release, document, releasedMediumLine(2, 5, "x", false), end},
		"more bytes of the medium":                    {release, document, releasedMediumLine(2, 5, "xy", true), end},
		"is a second line of medium":                  {release, document, releasedMediumLine(2, 5, "x", true), bytesLine("x"), releasedMediumLine(2, 5, "x", false), end},
		"documents must be":                           {releaseLine(2, 1, "1.0", 10_001), end},
		"name has 101 characters":                     {releaseLine(2, 1, strings.Repeat("x", 101), 0), end},
		"title":                                       {release, strings.Replace(document, `"title":"Page 3",`, "", 1), end},
		"no release of the project":                   {fmt.Sprintf(`{"kind":"share","id":%q,"resource_type":"project","resource_id":%q,"release":%q}`, testID(6), testID(1), testID(2))},
	} {
		in.importing(t, exportOf(t, lines...)).fails(t, want)
	}
	if got := in.export(t); strings.Contains(got, "release_") {
		t.Errorf("something was imported: %s", got)
	}
	report := in.imports(t, exportOf(t, releaseLine(2, 1, "1.0", 2), document, child, releasedMediumLine(2, 5, "x", true), bytesLine("x"), releasedMediumLine(2, 6, "x", false), end), "--without-media")
	if report.Added["releases"] != 1 || report.Added["media"] != 0 {
		t.Errorf("without media: %+v", report)
	}
	in.healthy(t)
}
