package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/archive"
	"sheaf.dev/internal/sheaftest/pgtest"
)

// engines returns the flags of an empty store of each engine.
var engines = map[string]func(*testing.T) []string{
	"sqlite": func(t *testing.T) []string { return []string{"--data", filepath.Join(t.TempDir(), "data")} },
	"postgres": func(t *testing.T) []string {
		return []string{"--database-url", pgtest.URL(t), "--data", filepath.Join(t.TempDir(), "data")}
	},
}

func onEngines(t *testing.T, test func(t *testing.T, in *instance)) {
	t.Parallel()
	for name, where := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flags := where(t)
			test(t, &instance{flags: flags, workspace: createWorkspace(t, flags, "business").ID})
		})
	}
}

// instance is a store with a workspace.
type instance struct {
	flags     []string
	workspace string
	env       environment
}

func (in *instance) run(t *testing.T, args ...string) result {
	t.Helper()
	return sheafWith(t, in.env, "", append(args, in.flags...)...)
}

func (in *instance) importing(t *testing.T, file string, args ...string) result {
	t.Helper()
	return in.run(t, append([]string{"import", "--workspace", in.workspace, file}, args...)...)
}

// export returns the output of an export.
func (in *instance) export(t *testing.T) string {
	t.Helper()
	return in.run(t, "export", "--workspace", in.workspace, "-").succeeds(t)
}

// healthy fails if the doctor finds a violation.
func (in *instance) healthy(t *testing.T) {
	t.Helper()
	if got := in.run(t, "doctor"); got.code != 0 || got.stdout != "no violation was found\n" {
		t.Errorf("the doctor says %q, %s", got.stdout, got.stderr)
	}
}

type importReport struct {
	Dry_run        bool
	Line           int
	Added, Skipped map[string]int
	Subscriptions  []struct{ ID, Imported_id, Name, URL, Secret string }
}

// imports runs an import and returns its report.
func (in *instance) imports(t *testing.T, file string, args ...string) importReport {
	t.Helper()
	return decoded[importReport](t, in.importing(t, file, append(args, "--json")...).succeeds(t))
}

// testID returns the id number n.
func testID(n int) string { return fmt.Sprintf("0198c0de-0000-7000-8000-%012x", n) }

// exportOf writes a file with these lines between a head and an end.
func exportOf(t *testing.T, lines ...string) string {
	t.Helper()
	all := append([]string{`{"kind":"sheaf_export","form":1}`}, lines...)
	return fileOf(t, strings.Join(append(all, fmt.Sprintf(`{"kind":"end","records":%d}`, len(lines))), "\n")+"\n")
}

func fileOf(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "import.ndjson")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func folderLine(n int, name, entity, parent string) string {
	return fmt.Sprintf(`{"kind":"folder","id":%q,"name":%q,"entity_type":%q,"parent_id":%s,"color":"#2563EB","sort_order":-3,"external_id":null,"created_at":"2026-01-02T03:04:05.678Z","updated_at":"2026-02-02T03:04:05.678Z"}`,
		testID(n), name, entity, quoted(parent))
}

func brandingLine(n int, folder string, standard bool) string {
	return fmt.Sprintf(`{"kind":"branding","id":%q,"name":"Look %d","folder_id":%s,"logo_media_id":null,"color_primary":"#FFcc00","font":"serif","footer":"© <ä>","sort_order":-1,"created_at":"2026-01-02T03:04:05.678Z","updated_at":"2026-02-02T03:04:05.678Z","default":%t}`,
		testID(n), n, quoted(folder), standard)
}

func quoted(s string) string {
	if s == "" {
		return "null"
	}
	return `"` + s + `"`
}

func projectLine(n int, folder string) string {
	return fmt.Sprintf(`{"kind":"project","id":%q,"name":"Straße \u003c日本\u003e \"%d\"","description":null,"icon":"book","color":null,"folder_id":%s,"sort_order":2147483647,"visibility":"private","external_id":"wiki:%d","url":"https://example.com/<ä>","metadata":{"a":"1","b":"<ä>"},"review":null,"created_at":"2026-01-02T03:04:05.678Z","updated_at":"2026-01-02T03:04:05.678Z"}`,
		testID(n), n, quoted(folder), n)
}

func documentLine(n int, project string) string {
	return fmt.Sprintf(`{"kind":"document","id":%q,"title":"Page %d","description":"line\nbreak","project_id":%s,"parent_id":null,"sort_order":%d,"external_id":"page %d","url":null,"metadata":{},"content":"# Page %d\n","version":1,"version_user_id":%q,"version_key_id":null,"version_created_at":"2026-01-02T03:04:05.000Z","restored_version":null,"created_at":"2026-01-02T03:04:05.000Z","updated_at":"2026-01-02T03:04:05.000Z"}`,
		testID(n), n, quoted(project), -n, n, n, testID(7))
}

// childLine is documentLine for a document below another one, in no project.
func childLine(n, parent, order int) string {
	line := strings.Replace(documentLine(n, ""), `"parent_id":null`, fmt.Sprintf(`"parent_id":%q`, testID(parent)), 1)
	return strings.Replace(line, fmt.Sprintf(`"sort_order":%d`, -n), fmt.Sprintf(`"sort_order":%d`, order), 1)
}

// D160: an import keeps the tree and the orders. Documents created afterwards come last.
func TestImport_KeepsTheTree(t *testing.T) {
	onEngines(t, func(t *testing.T, in *instance) {
		lines := []string{documentLine(1, ""), childLine(2, 1, 9<<20), childLine(3, 2, 5), childLine(4, 3, 77<<20), childLine(5, 4, 8<<20+5), childLine(6, 1, 9<<20)}
		in.imports(t, exportOf(t, lines...))
		first := in.export(t)
		wantWords(t, first, strings.Join(lines, "\n"))
		in.healthy(t)
		// The numbers of new records are higher than those of the exported workspace, so a new document comes last.
		in.imports(t, exportOf(t, fmt.Sprintf(`{"kind":"document","id":%q,"title":"new","parent_id":%q}`, testID(9), testID(3))))
		wantWords(t, in.export(t), fmt.Sprintf(`"parent_id":%q,"sort_order":%d`, testID(3), 80<<20))
		for want, lines := range map[string][]string{
			"line 7: parent_id: document " + testID(5) + " is on level 5": {documentLine(1, ""), childLine(2, 1, 1), childLine(3, 2, 1), childLine(4, 3, 1), childLine(5, 4, 1), childLine(6, 5, 1)},
			"is in another project":             {projectLine(100, ""), documentLine(1, testID(100)), childLine(2, 1, 1)},
			"neither in this workspace":         {childLine(20, 21, 1)},
			"sort_order must be a whole number": {childLine(20, 1, 1<<53)},
			`parent_id: "x" is not a UUID`:      {strings.Replace(childLine(20, 1, 1), testID(1), "x", 1)},
		} {
			in.importing(t, exportOf(t, lines...)).fails(t, want)
		}
	})
}

// filteredLine returns a subscription with a filter: a project, a folder and a document.
func filteredLine(n int, url string) string {
	filter := fmt.Sprintf(`"filter":{"project_ids":[%q],"folder_ids":[%q],"resource_ids":[%q]},`, testID(100), testID(1), testID(1000))
	return strings.Replace(subscriptionLine(n, url), `"created_at"`, filter+`"created_at"`, 1)
}

func subscriptionLine(n int, url string) string {
	return fmt.Sprintf(`{"kind":"subscription","id":%q,"name":"Hook %d","url":%q,"events":["project.created","document.deleted"],"header_names":[],"created_at":"2026-01-02T03:04:05.000Z","updated_at":"2026-01-02T03:04:05.000Z"}`,
		testID(n), n, url)
}

// workspaceFile returns an export with records of all nouns.
func workspaceFile(t *testing.T) string {
	lines := []string{folderLine(1, "Products", "project", ""), folderLine(2, "Brand", "branding", ""),
		folderLine(3, "Tools", "project", testID(1)), folderLine(4, "Old", "project", testID(3))}
	for n := 100; n < 620; n++ {
		lines = append(lines, projectLine(n, []string{"", testID(1), testID(4)}[n%3]))
	}
	for n := 1000; n < 1030; n++ {
		lines = append(lines, documentLine(n, []string{"", testID(100 + n%600)}[n%2]))
	}
	return exportOf(t, append(lines, brandingLine(50, "", false), brandingLine(51, testID(2), true),
		subscriptionLine(5000, "https://example.com/a"), filteredLine(5001, "https://example.com/b"))...)
}

// Export, import into an empty instance, export again: the bytes are the same, also between
// engines.
func TestImport_RestoresAnExport(t *testing.T) {
	onEngines(t, func(t *testing.T, in *instance) {
		file := workspaceFile(t)
		report := in.imports(t, file)
		for kind, want := range map[string]int{"folders": 4, "brandings": 2, "projects": 520, "documents": 30, "subscriptions": 2} {
			if report.Added[kind] != want || report.Skipped[kind] != 0 {
				t.Errorf("%s: added %d, skipped %d, want %d and none", kind, report.Added[kind], report.Skipped[kind], want)
			}
		}
		in.healthy(t)
		first := in.export(t)
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(content)); first != want {
			t.Errorf("the export is not what was imported: %s", firstDifference(first, want))
		}
		other := &instance{flags: engines["sqlite"](t)}
		other.workspace = createWorkspace(t, other.flags, "business").ID
		other.imports(t, fileOf(t, first))
		if again := other.export(t); again != first {
			t.Errorf("the copy differs: %s", firstDifference(again, first))
		}
		other.healthy(t)
	})
}

func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d is %s, want %s", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(a), len(b))
}

// A second import of the same file changes nothing. An import from a later line imports the rest.
func TestImport_SkipsWhatIsThere(t *testing.T) {
	onEngines(t, func(t *testing.T, in *instance) {
		file := workspaceFile(t)
		if report := in.imports(t, file, "--from-line", "2"); report.Line != 560 || len(report.Subscriptions) != 2 {
			t.Errorf("reported %+v", report)
		}
		before := in.export(t)
		report := in.imports(t, file)
		if report.Added["projects"] != 0 || report.Skipped["folders"] != 4 || report.Skipped["brandings"] != 2 || report.Skipped["projects"] != 520 || report.Skipped["documents"] != 30 ||
			report.Skipped["subscriptions"] != 2 || len(report.Subscriptions) != 0 {
			t.Errorf("again: %+v", report)
		}
		if got := in.importing(t, file).succeeds(t); !strings.Contains(got, "4 folders, 2 brandings, 520 projects, 30 documents and 2 subscriptions skipped") {
			t.Errorf("reported %q", got)
		}
		if after := in.export(t); after != before {
			t.Errorf("it changed something: %s", firstDifference(after, before))
		}
		in.healthy(t)
	})
}

// The default branding is imported, and replaces none that the workspace has.
func TestImport_TheDefaultBranding(t *testing.T) {
	onEngines(t, func(t *testing.T, in *instance) {
		in.imports(t, exportOf(t, brandingLine(1, "", true), brandingLine(2, "", true)))
		// A logo that is missing here is left out.
		in.imports(t, exportOf(t, strings.Replace(brandingLine(3, "", true), `"logo_media_id":null`, `"logo_media_id":"`+testID(78)+`"`, 1)))
		if got := in.export(t); strings.Count(got, `"default":true`) != 1 || !strings.Contains(got, strings.TrimSuffix(brandingLine(1, "", true), "}")) {
			t.Errorf("got %s", got)
		}
		in.healthy(t)
	})
}

// A dry run reports the same and changes nothing.
func TestImport_DryRunChangesNothing(t *testing.T) {
	onEngines(t, func(t *testing.T, in *instance) {
		file, before := workspaceFile(t), in.export(t)
		report := in.imports(t, file, "--dry-run")
		if !report.Dry_run || report.Added["folders"] != 4 || report.Added["projects"] != 520 || report.Added["documents"] != 30 || report.Added["subscriptions"] != 2 ||
			len(report.Subscriptions) != 0 {
			t.Errorf("reported %+v", report)
		}
		if got := in.importing(t, file, "--dry-run").succeeds(t); !strings.Contains(got, "would be imported") {
			t.Errorf("reported %q", got)
		}
		if after := in.export(t); after != before {
			t.Errorf("it changed something: %s", firstDifference(after, before))
		}
		if _, err := os.Stat(filepath.Join(in.flags[len(in.flags)-1], masterKeyFile)); err == nil {
			t.Error("it made a master key")
		}
		in.imports(t, file)
		if report := in.imports(t, file, "--dry-run"); report.Skipped["projects"] != 520 || report.Added["projects"] != 0 {
			t.Errorf("what is there: %+v", report)
		}
		// Errors that depend on earlier lines are found too.
		in.importing(t, exportOf(t, folderLine(11, "a", "project", ""), folderLine(12, "b", "project", testID(11)), folderLine(13, "c", "project", testID(12)),
			folderLine(14, "d", "project", testID(13))), "--dry-run").fails(t, "line 5", "at most 3 levels")
	})
}

// The ids of other workspaces do not matter: two workspaces may have records with the same id. The
// ids of subscriptions are unique in the store, so the second one gets another id, always the same.
func TestImport_IDsOfOtherWorkspaces(t *testing.T) {
	onEngines(t, func(t *testing.T, in *instance) {
		file := workspaceFile(t)
		in.imports(t, file)
		before := in.export(t)
		other := &instance{flags: in.flags, workspace: createWorkspace(t, in.flags, "business").ID, env: in.env}
		report := other.imports(t, file)
		if report.Added["projects"] != 520 || report.Skipped["projects"] != 0 || len(report.Subscriptions) != 2 {
			t.Fatalf("reported %+v", report)
		}
		for _, s := range report.Subscriptions {
			if s.ID == s.Imported_id || strings.Contains(before, s.ID) {
				t.Errorf("subscription %s got the id %s", s.Imported_id, s.ID)
			}
		}
		if again := other.imports(t, file); again.Skipped["subscriptions"] != 2 || again.Added["subscriptions"] != 0 {
			t.Errorf("again: %+v", again)
		}
		if after := in.export(t); after != before {
			t.Errorf("the first workspace changed: %s", firstDifference(after, before))
		}
		// A folder of the other workspace does not exist in this one.
		alien := exportOf(t, projectLine(9000, testID(21)))
		in.imports(t, exportOf(t, folderLine(21, "Only here", "project", "")))
		other.importing(t, alien).fails(t, "line 2", "there is no folder "+testID(21))
		in.healthy(t)
	})
}

// An import refuses what the API refuses. The error has the line and what to do, and the
// transaction leaves nothing behind.
func TestImport_TheRulesOfTheAPIHold(t *testing.T) {
	onEngines(t, func(t *testing.T, in *instance) {
		in.imports(t, exportOf(t, folderLine(1, "a", "project", ""), folderLine(2, "b", "branding", ""), folderLine(3, "c", "project", testID(1)), folderLine(4, "d", "project", testID(3))))
		before := in.export(t)
		for name, c := range map[string]struct {
			line  string
			words []string
		}{
			"a fourth level":         {folderLine(9, "x", "project", testID(4)), []string{"at most 3 levels"}},
			"another type":           {folderLine(9, "x", "branding", testID(1)), []string{"own entity_type"}},
			"a project in branding":  {projectLine(9, testID(2)), []string{"branding folder"}},
			"a branding in projects": {brandingLine(9, testID(1), false), []string{"folder_id", "entity_type is branding"}},
			"a branding in nothing":  {brandingLine(9, testID(77), false), []string{"no folder " + testID(77)}},
			"an unknown font":        {strings.Replace(brandingLine(9, "", false), `"serif"`, `"fancy"`, 1), []string{"font"}},
			"an unknown folder":      {projectLine(9, testID(77)), []string{"no folder " + testID(77), "earlier line"}},
			"an unknown parent":      {folderLine(9, "x", "project", testID(77)), []string{"no folder " + testID(77)}},
			"an unknown project":     {documentLine(9, testID(77)), []string{"no project " + testID(77)}},
			"a loopback address":     {subscriptionLine(9, "https://127.0.0.1/x"), []string{"url"}},
			"a plain http address":   {subscriptionLine(9, "http://example.com/x"), []string{"https"}},
			"a name of white space":  {strings.Replace(projectLine(9, ""), `"name":"Straße`, `"name":" ","icon2":"`, 1), []string{"icon2"}},
			"an unknown visibility":  {strings.Replace(projectLine(9, ""), `"private"`, `"public"`, 1), []string{"visibility"}},
			"an empty name":          {folderLine(9, " ", "project", ""), []string{"name must not be empty"}},
			"a change before it was": {strings.Replace(documentLine(9, ""), `"updated_at":"2026`, `"updated_at":"2025`, 1), []string{"updated_at", "created_at"}},
			"a time to come":         {strings.Replace(documentLine(9, ""), `"updated_at":"2026`, `"updated_at":"2126`, 1), []string{"future"}},
		} {
			t.Run(name, func(t *testing.T) {
				in.importing(t, exportOf(t, projectLine(500, ""), c.line)).fails(t, append(c.words, "line 3")...)
			})
		}
		if after := in.export(t); after != before {
			t.Errorf("something was imported: %s", firstDifference(after, before))
		}
		in.importing(t, exportOf(t, subscriptionLine(9, "https://127.0.0.1/x")), "--webhook-allow-cidr", "127.0.0.0/8").succeeds(t)
		in.healthy(t)
	})
}

func TestImport_TheLimitsOfThePlanHold(t *testing.T) {
	onEngines(t, func(t *testing.T, in *instance) {
		pro := &instance{flags: in.flags, workspace: createWorkspace(t, in.flags, "pro").ID}
		pro.importing(t, exportOf(t, brandingLine(9, "", false))).fails(t, "line 2", "brandings need the Business plan")
		for plan, want := range map[string]struct {
			lines []string
			words []string
		}{
			"free":     {[]string{projectLine(1, ""), folderLine(2, "x", "project", "")}, []string{"line 3", "project folders need the Pro or Business plan"}},
			"pro":      {[]string{folderLine(1, "x", "project", ""), folderLine(2, "y", "branding", "")}, []string{"line 3", "branding folders need the Business plan"}},
			"business": {subscriptionLines(21), []string{"line 22", "the business plan allows 20"}},
		} {
			ws := &instance{flags: in.flags, workspace: createWorkspace(t, in.flags, plan).ID}
			empty := ws.export(t)
			ws.importing(t, exportOf(t, want.lines...)).fails(t, want.words...)
			if got := ws.export(t); got != empty {
				t.Errorf("%s: something was imported: %s", plan, got)
			}
		}
	})
}

func subscriptionLines(n int) (lines []string) {
	for i := range n {
		lines = append(lines, subscriptionLine(i, "https://example.com/x"))
	}
	return lines
}

// An error of a single line is found before anything is changed, however late in the file it is.
func TestImport_ReadsStrictly(t *testing.T) {
	t.Parallel()
	in := &instance{flags: engines["sqlite"](t)}
	in.workspace = createWorkspace(t, in.flags, "business").ID
	var many []string
	for n := range 600 {
		many = append(many, projectLine(n, ""))
	}
	for name, c := range map[string]struct {
		line string
		want string
	}{
		"unknown field":    {`{"kind":"project","id":"` + testID(1) + `","name":"x","document_count":1}`, `the field "document_count" is unknown: leave it out, a project has id, name`},
		"unknown kind":     {`{"kind":"generation","id":"` + testID(1) + `"}`, `kind "generation" is unknown`},
		"no kind":          {`{"id":"` + testID(1) + `"}`, "kind is required"},
		"no id":            {`{"kind":"project","name":"x"}`, "id is required"},
		"bad id":           {`{"kind":"project","id":"12","name":"x"}`, `"12" is not a UUID`},
		"bad reference":    {`{"kind":"document","id":"` + testID(1) + `","title":"x","project_id":"1"}`, `project_id: "1" is not a UUID`},
		"wrong type":       {`{"kind":"project","id":"` + testID(1) + `","name":5}`, "name must be a string, not a number"},
		"fraction":         {`{"kind":"project","id":"` + testID(1) + `","name":"x","sort_order":1.5}`, "sort_order must be a whole number"},
		"bad time":         {`{"kind":"project","id":"` + testID(1) + `","name":"x","created_at":"yesterday"}`, "created_at must be an RFC 3339 time"},
		"twice":            {`{"kind":"project","id":"` + testID(1) + `","name":"x","name":"y"}`, "name"},
		"an array":         {`[]`, "must be a JSON object, not an array"},
		"empty":            {``, "is empty: every line is one JSON object"},
		"two":              {`{"kind":"end"}{}`, "has more data"},
		"bad UTF-8":        {"{\"kind\":\"project\",\"id\":\"" + testID(1) + "\",\"name\":\"\xff\"}", "UTF-8"},
		"NUL":              {`{"kind":"project","id":"` + testID(1) + `","name":"\u0000"}`, "NUL"},
		"too long":         {`{"kind":"project","id":"` + testID(1) + `","name":"` + strings.Repeat("x", archive.MaxLine) + `"}`, "is longer than 6356992 bytes"},
		"a second head":    {`{"kind":"sheaf_export","form":1}`, "the first line, and no other"},
		"an unknown event": {strings.Replace(subscriptionLine(1, "https://example.com"), "project.created", "x.y", 1), "not an event type"},
	} {
		t.Run(name, func(t *testing.T) {
			in.importing(t, exportOf(t, many[0], c.line)).fails(t, "line 3: ", c.want)
		})
	}
	in.importing(t, exportOf(t, append(many, `{}`)...)).fails(t, "line 602: ") // no transaction before it was made
	if got := in.export(t); strings.Count(got, "\n") != 2 {
		t.Errorf("something was imported: %s", got)
	}
	in.importing(t, fileOf(t, "")).fails(t, "is empty: it is not an export")
	in.importing(t, fileOf(t, projectLine(1, ""))).fails(t, "line 1: ", "is not an export of sheaf", "first line")
	in.importing(t, fileOf(t, "hello\n")).fails(t, "is not an export of sheaf")
	in.importing(t, fileOf(t, strings.Repeat("x", 2*archive.MaxLine))).fails(t, "is not an export of sheaf")
	in.importing(t, fileOf(t, `{"kind":"sheaf_export","form":2}`)).fails(t, "line 1: ", "form is 2", "use the program that wrote it")
	in.importing(t, fileOf(t, `{"kind":"sheaf_export","form":1}`+"\n"+projectLine(1, "")+"\n")).fails(t, "it is incomplete")
	in.importing(t, fileOf(t, `{"kind":"sheaf_export","form":1}`+"\n"+projectLine(1, "")+"\n"+`{"kind":"end","records":2}`)).fails(t, "line 3: ", "lines were lost")
	in.importing(t, exportOf(t), "--from-line", "4").fails(t, "after its end")
	in.importing(t, fileOf(t, "{\"kind\":\"sheaf_export\",\"form\":1}\r\n{\"kind\":\"end\"}\r\n")).succeeds(t)
	nowhere := &instance{flags: in.flags, workspace: testID(1)}
	nowhere.importing(t, exportOf(t, projectLine(1, ""))).fails(t, "sheaf: workspace "+testID(1)+" not found", "; nothing was imported")
	nowhere.importing(t, exportOf(t, many...)).fails(t, "sheaf: workspace "+testID(1)+" not found")
	nowhere.run(t, "export", "--workspace", nowhere.workspace, "-").fails(t, "not found")
}

// An import stops at the transaction with the wrong line, reports the last imported line, and can
// continue from there.
func TestImport_ContinuesFromALine(t *testing.T) {
	onEngines(t, func(t *testing.T, in *instance) {
		var lines []string
		for n := range 1100 {
			lines = append(lines, projectLine(n, ""))
		}
		wrong := append(lines[:1050:1050], projectLine(5000, testID(77)))
		r := in.importing(t, exportOf(t, wrong...), "--json")
		report := decoded[importReport](t, r.stdout)
		if r.code != 1 || report.Line != 1001 || report.Added["projects"] != 1000 {
			t.Errorf("ended with %d and reported %+v", r.code, report)
		}
		wantWords(t, r.stderr, "line 1052: ", "lines up to 1001 are imported, continue with --from-line 1002")
		report = in.imports(t, exportOf(t, lines...), "--from-line", "1002")
		if report.Added["projects"] != 100 || report.Skipped["projects"] != 0 || report.Line != 1102 {
			t.Errorf("went on: %+v", report)
		}
		in.healthy(t)
	})
}

// An interrupt ends an import between two transactions.
func TestImport_IsInterrupted(t *testing.T) {
	t.Parallel()
	in := &instance{flags: engines["sqlite"](t)}
	in.workspace = createWorkspace(t, in.flags, "business").ID
	ctx, cancel := context.WithCancel(t.Context())
	var out, errs bytes.Buffer
	p := newProgram(nil, "", &out, &errs)
	calls := 0
	p.Now = func() time.Time { // it is asked for the time of every record, twice: here in the first transaction
		if calls++; calls == 2300 {
			cancel()
		}
		return time.Now()
	}
	var lines []string
	for n := range 1100 {
		lines = append(lines, projectLine(n, ""))
	}
	code := p.run(ctx, append([]string{"import", "--workspace", in.workspace, exportOf(t, lines...)}, in.flags...))
	if code != 1 || !strings.Contains(errs.String(), "interrupted; lines up to 501 are imported, continue with --from-line 502") {
		t.Errorf("ended with %d: %s%s", code, out.String(), errs.String())
	}
	in.healthy(t)
}

type apiList struct {
	Data []struct {
		ID, State, Event_type string
		Active                bool
		Held_count            int
		Deactivation_reason   *string
	}
	Total int
}

func listed(t *testing.T, s *running, key, path string) (list apiList) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	return list
}

// A running server shows the imported records within two seconds. Each record has its event, and
// existing subscriptions get deliveries.
func TestImport_BesideAServer(t *testing.T) {
	onEngines(t, func(t *testing.T, in *instance) {
		in.imports(t, exportOf(t, subscriptionLine(5000, "https://example.com/a"))) // inactive, so its deliveries are held
		s := start(t, append([]string{"--first-run", "none"}, in.flags...)...)
		key := decoded[keyRecord](t, in.run(t, "key", "create", "--json", "--workspace", in.workspace, "--name", "k", "--scopes", "all").succeeds(t)).Key
		becomes(t, s.url+"/api/v1/projects", key, 200)
		in.imports(t, workspaceFile(t))
		becomes(t, s.url+"/api/v1/projects/"+testID(619), key, 200)
		if got := listed(t, s, key, "/api/v1/projects?limit=1").Total; got != 520 {
			t.Errorf("%d projects", got)
		}
		if got := listed(t, s, key, "/api/v1/projects?limit=1&folder_id="+testID(4)).Total; got != 173 {
			t.Errorf("%d projects in a folder", got)
		}
		if got := listed(t, s, key, "/api/v1/events?limit=1&type=project.created").Total; got != 520 {
			t.Errorf("%d events of projects", got)
		}
		if got := listed(t, s, key, "/api/v1/events?limit=1").Total; got != 554 {
			t.Errorf("%d events", got)
		}
		subscriptions := listed(t, s, key, "/api/webhooks/subscriptions").Data
		if len(subscriptions) != 2 || subscriptions[0].Held_count != 520 || subscriptions[1].Held_count != 0 {
			t.Errorf("subscriptions: %+v", subscriptions)
		}
		for _, sub := range subscriptions {
			if sub.Active || sub.Deactivation_reason == nil {
				t.Errorf("subscription %s arrived active", sub.ID)
			}
		}
		in.healthy(t)
	})
}

// The secrets are new, and shown once.
func TestImport_ShowsSecretsOnce(t *testing.T) {
	t.Parallel()
	in := &instance{flags: engines["sqlite"](t)}
	in.workspace = createWorkspace(t, in.flags, "business").ID
	line := strings.Replace(subscriptionLine(1, "https://example.com/a"), `"header_names":[]`, `"header_names":["X-Auth"]`, 1)
	got := in.importing(t, exportOf(t, line)).succeeds(t)
	wantWords(t, got, "shown once", "HEADERS TO SET AGAIN", "X-Auth", testID(1))
	if !regexp.MustCompile(`whsec_[0-9A-Za-z+/]{56}\b`).MatchString(got) {
		t.Errorf("no secret in %s", got)
	}
	if file := in.export(t); strings.Contains(file, "secret") || !strings.Contains(file, `"header_names":[]`) {
		t.Errorf("exported %s", file)
	}
	if got := in.importing(t, exportOf(t, line)).succeeds(t); strings.Contains(got, "whsec_") {
		t.Errorf("again: %s", got)
	}
	in.healthy(t)
	// A subscription that was just deleted is not confused with its remains.
	alter(t, in.flags[1], "INSERT INTO deleted_subscriptions (id, sub, ws, deleted_at) VALUES (unhex(replace('"+testID(2)+"', '-', '')), 1000, "+
		"(SELECT ws FROM workspaces WHERE id = unhex(replace('"+in.workspace+"', '-', ''))), 1)")
	in.importing(t, exportOf(t, subscriptionLine(2, "https://example.com/a"))).fails(t, "line 2", "in a minute")
}

func TestExport_ReplacesNoFile(t *testing.T) {
	t.Parallel()
	in := &instance{flags: engines["sqlite"](t)}
	in.workspace = createWorkspace(t, in.flags, "business").ID
	path := filepath.Join(t.TempDir(), "out.ndjson")
	got := in.run(t, "export", "--workspace", in.workspace, path, "--json").succeeds(t)
	if want := fmt.Sprintf(`{"file":%q,"folders":0,"brandings":0,"projects":0,"documents":0,"versions":0,"proposals":0,"media":0,"releases":0,"shares":0,"subscriptions":0}`+"\n", path); got != want {
		t.Errorf("reported %s, want %s", got, want)
	}
	if mode(t, path) != 0o600 {
		t.Errorf("mode %o", mode(t, path))
	}
	in.run(t, "export", "--workspace", in.workspace, path).fails(t, "exists")
	in.run(t, "export", "--workspace", in.workspace, "-", "--json").fails(t, "name a file")
}

// There is a progress bar on a terminal, and none elsewhere.
func TestProgressBar_ShowsHowFarItIs(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Unix(0, 0)
	clock := func() time.Time { return now }
	quiet := newProgressBar(&out, 100, clock)
	quiet.at(50)
	quiet.clear()
	if out.Len() != 0 {
		t.Errorf("wrote %q", out.String())
	}
	bar := &progressBar{out: &out, total: 2000, now: clock, began: now}
	now = now.Add(2 * time.Second)
	bar.at(1000)
	bar.at(1100) // too soon to be drawn
	if want := "\r[###############               ]  50%  line 1000 of 2000, 500 a second\x1b[K"; out.String() != want {
		t.Errorf("drew %q, want %q", out.String(), want)
	}
	out.Reset()
	bar.clear()
	if out.String() != "\r\x1b[K" {
		t.Errorf("cleared with %q", out.String())
	}
}
