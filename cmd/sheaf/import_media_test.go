package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaftest/pgtest"
)

// world is an instance with a running server, and the environment of its commands.
type world struct {
	flags     []string
	env       environment
	workspace string
	api       environment
}

// newWorld serves a store with a workspace. Media are in a folder, or with PostgreSQL in a bucket.
func newWorld(t *testing.T, postgres bool) *world {
	t.Helper()
	w := &world{flags: []string{"--data", t.TempDir()}, env: environment{}}
	if postgres {
		w.env = bucketEnv(t)
		w.flags = append(w.flags, "--database-url", pgtest.URL(t))
	}
	s := startWith(t, w.env, append([]string{"--rate-limit", "pro=0,business=0"}, w.flags...)...)
	w.api = environment{"SHEAF_SERVER": s.url, "SHEAF_API_KEY": printedKey.FindString(s.stdout.String()), "HOME": t.TempDir()}
	w.workspace = decoded[[]workspaceRecord](t, w.do(t, "workspace", "list", "--json"))[0].ID
	return w
}

// do runs a command on the store.
func (w *world) do(t *testing.T, args ...string) string {
	t.Helper()
	return sheafWith(t, w.env, "", append(args, w.flags...)...).succeeds(t)
}

// ask runs a command that talks to the server, and returns the object that it prints.
func (w *world) ask(t *testing.T, args ...string) map[string]any {
	t.Helper()
	return decoded[map[string]any](t, sheafWith(t, w.api, "", append(args, "--json")...).succeeds(t))
}

func (w *world) list(t *testing.T, args ...string) []map[string]any {
	t.Helper()
	return decoded[[]map[string]any](t, sheafWith(t, w.api, "", append(args, "--json")...).succeeds(t))
}

// fill creates media, brandings and shares of all kinds, and returns the file of the longest
// medium.
func (w *world) fill(t *testing.T) (large []byte) {
	t.Helper()
	files := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(files, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	large = bytes.Repeat([]byte("sixteen bytes… "), 200_000) // more than two lines of the file
	project := w.ask(t, "projects", "create", "Handbook")["id"].(string)
	document := w.ask(t, "documents", "create", "Start", "--project", project)["id"].(string)
	gone := w.ask(t, "documents", "create", "Gone")["id"].(string)
	logo := w.ask(t, "media", "upload", write("logo é.gif", []byte("GIF89a\x02\x00\x01\x00\x00\x00\x00")), "--document", document)["id"].(string)
	w.ask(t, "media", "upload", write("large.bin", large))
	w.ask(t, "media", "upload", write("again.bin", large))
	w.ask(t, "media", "upload", write("of the trash", []byte("x")), "--document", gone)
	sheafWith(t, w.api, "", "documents", "delete", gone).succeeds(t)
	branding := w.ask(t, "brandings", "create", "Acme", "--logo", logo, "--color", "#ffcc00")["id"].(string)
	w.ask(t, "shares", "create", "project", project, "--password", "open sesame", "--expires", "2036-01-02T03:04:05Z", "--branding", branding, "--listed")
	w.ask(t, "shares", "create", "document", document)
	w.ask(t, "folders", "create", "Site")
	w.ask(t, "shares", "create", "folder", "Site", "--listed")
	return large
}

// D104, D110, D115: an export has media with their bytes, brandings with their logos, and shares
// without their secrets; imported into another instance, on the other engine and the other store of
// files, it is the same field by field.
func TestImport_WithMedia(t *testing.T) {
	t.Parallel()
	for name, postgres := range map[string]bool{"from a folder to a bucket": false, "from a bucket to a folder": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, into := newWorld(t, postgres), newWorld(t, !postgres)
			large := from.fill(t)
			file := filepath.Join(t.TempDir(), "export")
			if got := from.do(t, "export", "--workspace", from.workspace, file); !strings.Contains(got, " 4 media, 1 brandings, 1 projects, 1 documents") {
				t.Errorf("exported %q", got)
			}
			want := map[string]int{"folders": 1, "brandings": 1, "projects": 1, "documents": 1, "versions": 0, "proposals": 0, "media": 4, "releases": 0, "shares": 3, "subscriptions": 0}
			importing := func(flags ...string) importReport {
				return decoded[importReport](t, into.do(t, append([]string{"import", "--workspace", into.workspace, file, "--json"}, flags...)...))
			}
			if dry := importing("--dry-run"); !reflect.DeepEqual(dry.Added, want) {
				t.Errorf("it would add %v", dry.Added)
			}
			if made := importing(); !reflect.DeepEqual(made.Added, want) {
				t.Errorf("added %v", made.Added)
			}
			if again := importing(); !reflect.DeepEqual(again.Skipped, want) || again.Added["media"] != 0 {
				t.Errorf("a second import added %v and skipped %v", again.Added, again.Skipped)
			}
			a, b := from.do(t, "export", "--workspace", from.workspace, "-"), into.do(t, "export", "--workspace", into.workspace, "-")
			if a != b {
				t.Errorf("the export of the copy differs: %d and %d bytes", len(a), len(b))
			}
			if got, want := into.list(t, "media", "list"), from.list(t, "media", "list"); !reflect.DeepEqual(withoutTrash(got), withoutTrash(want)) || len(got) != 4 {
				t.Errorf("the media are %v, want %v", got, want)
			}
			for _, m := range into.list(t, "media", "list") {
				if m["filename"] == "again.bin" && sheafWith(t, into.api, "", "media", "download", m["id"].(string), "-").succeeds(t) != string(large) {
					t.Error("the bytes of a medium differ")
				}
			}
			if got, want := into.list(t, "brandings", "list"), from.list(t, "brandings", "list"); !reflect.DeepEqual(got, want) || got[0]["logo_media_id"] == nil {
				t.Errorf("the brandings are %v, want %v", got, want)
			}
			sameShares(t, from.list(t, "shares", "list"), into.list(t, "shares", "list"))
			into.do(t, "doctor")
		})
	}
}

// D110: share.created of an import has the whole address, as the share has: the one that
// --public-url says, else the one under which the server of the store is reached.
func TestImport_SharesHaveWholeAddresses(t *testing.T) {
	t.Parallel()
	from := newWorld(t, false)
	document := from.ask(t, "documents", "create", "Shared")["id"].(string)
	from.ask(t, "shares", "create", "document", document)
	file := filepath.Join(t.TempDir(), "export")
	from.do(t, "export", "--workspace", from.workspace, file)
	for _, c := range []struct {
		flags []string
		want  string // the beginning of the address; empty: the server's own
	}{{nil, ""}, {[]string{"--public-url", "https://docs.example.com/"}, "https://docs.example.com"}} {
		into := newWorld(t, false)
		into.do(t, append([]string{"import", "--workspace", into.workspace, file}, c.flags...)...)
		shares, events := into.list(t, "shares", "list"), into.list(t, "events", "list", "--type", "share.created")
		if len(shares) != 1 || len(events) != 1 {
			t.Fatalf("%d shares, %d events", len(shares), len(events))
		}
		want := shares[0]["url"].(string)
		if c.want != "" {
			want = c.want + want[strings.LastIndex(want, "/s/"):]
		}
		if got := events[0]["payload"].(map[string]any)["url"]; got != want {
			t.Errorf("share.created says %v, want %s", got, want)
		}
	}
}

// withoutTrash removes the document of a medium if it is in the trash, because no export has it.
func withoutTrash(media []map[string]any) []map[string]any {
	for _, m := range media {
		if m["filename"] == "of the trash" {
			m["document_id"] = nil
		}
	}
	return media
}

// sameShares compares two lists of shares. It ignores what an import resets: the address and the
// view count.
func sameShares(t *testing.T, want, got []map[string]any) {
	t.Helper()
	if len(want) != 3 || len(got) != 3 {
		t.Fatalf("there are %d and %d shares", len(want), len(got))
	}
	for i := range want {
		if want[i]["url"] == got[i]["url"] {
			t.Errorf("share %d has the address of the one that it is a copy of", i)
		}
		delete(want[i], "url")
		delete(got[i], "url")
		if !reflect.DeepEqual(want[i], got[i]) {
			t.Errorf("share %d is %v, want %v", i, got[i], want[i])
		}
	}
}

// D104: --without-media leaves media out of an export, and out of an import. If there is no store
// for their bytes, an import with media is refused.
func TestImport_WithoutMedia(t *testing.T) {
	onEngines(t, func(t *testing.T, in *instance) {
		from := newWorld(t, false)
		from.fill(t)
		bare := from.do(t, "export", "--workspace", from.workspace, "-", "--without-media")
		if strings.Contains(bare, `"kind":"medium"`) || strings.Contains(bare, `"kind":"bytes"`) {
			t.Error("the export has media")
		}
		file := filepath.Join(t.TempDir(), "export")
		from.do(t, "export", "--workspace", from.workspace, file)
		if len(in.flags) > 2 {
			in.importing(t, file).fails(t, "--media-url", "--without-media")
		}
		made := in.imports(t, file, "--without-media")
		if made.Added["media"] != 0 || made.Added["brandings"] != 1 || made.Line != strings.Count(readFile(t, file), "\n") {
			t.Errorf("added %v up to line %d", made.Added, made.Line)
		}
		if got := in.export(t); !strings.Contains(got, `"logo_media_id":null`) {
			t.Errorf("the branding has a logo that is not there: %s", got)
		}
		in.healthy(t)
	})
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func mediumLine(n int, content, document string) string {
	return fmt.Sprintf(`{"kind":"medium","id":%q,"filename":"a.txt","document_id":%s,"bytes":%d,"sha256":"%x"}`,
		testID(n), quoted(document), len(content), sha256.Sum256([]byte(content)))
}

func bytesLine(content string) string {
	return fmt.Sprintf(`{"kind":"bytes","base64":%q}`, base64.StdEncoding.EncodeToString([]byte(content)))
}

// D104: a file whose bytes are missing, too many, wrong or of no medium is refused before anything
// is imported.
func TestImport_MediaThatAreWrong(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	in := &instance{flags: []string{"--data", data}, workspace: createWorkspace(t, []string{"--data", data}, "business").ID}
	medium := mediumLine(1, "hello", "")
	for name, c := range map[string]struct {
		lines []string
		words []string
	}{
		"bytes of nothing":        {[]string{bytesLine("hello")}, []string{"line 2", "belong to no medium"}},
		"bytes of another":        {[]string{medium, bytesLine("hallo")}, []string{"line 3", "sha256 of line 2"}},
		"too many":                {[]string{medium, bytesLine("hello"), bytesLine("!")}, []string{"line 4", "belong to no medium"}},
		"more than it says":       {[]string{medium, bytesLine("hello!")}, []string{"line 3", "more bytes than the medium of line 2"}},
		"too few":                 {[]string{medium, bytesLine("hel")}, []string{"line 4", "2 more bytes of the medium of line 2"}},
		"none":                    {[]string{medium, folderLine(1, "f", "project", "")}, []string{"line 3", "5 more bytes"}},
		"no base64":               {[]string{medium, `{"kind":"bytes","base64":"a b"}`}, []string{"line 3", "base64"}},
		"no bytes in a line":      {[]string{medium, `{"kind":"bytes","base64":""}`}, []string{"line 3", "base64"}},
		"a path as its name":      {[]string{strings.Replace(medium, "a.txt", "../a.txt", 1), bytesLine("hello")}, []string{"line 2", "filename"}},
		"no hash":                 {[]string{strings.Replace(medium, `"sha256":"2c`, `"sha256":"`, 1), bytesLine("hello")}, []string{"line 2", "sha256"}},
		"a document that is not":  {[]string{mediumLine(1, "hello", testID(9)), bytesLine("hello")}, []string{"line 2", "no document " + testID(9)}},
		"more than anything has":  {[]string{strings.Replace(medium, `"bytes":5`, `"bytes":9999999999999`, 1), bytesLine("hello")}, []string{"line 2", "bytes"}},
		"an empty medium":         {[]string{strings.Replace(medium, `"bytes":5`, `"bytes":0`, 1)}, []string{"line 2", "bytes"}},
		"what follows is refused": {[]string{medium, bytesLine("hello"), folderLine(1, "f", "nothing", "")}, []string{"line 4", "entity_type"}},
	} {
		t.Run(name, func(t *testing.T) { in.importing(t, exportOf(t, c.lines...)).fails(t, c.words...) })
	}
	if got := in.export(t); strings.Count(got, "\n") != 2 {
		t.Errorf("something was imported: %s", got)
	}
	file := exportOf(t, medium, bytesLine("he"), bytesLine("llo"), folderLine(2, "f", "project", ""))
	in.importing(t, file, "--from-line", "4").fails(t, "line 4", "in the middle of a medium")
	if made := in.imports(t, file, "--from-line", "2"); made.Added["media"] != 1 || made.Added["folders"] != 1 || made.Line != 6 {
		t.Errorf("imported %+v", made)
	}
	in.healthy(t)
}
