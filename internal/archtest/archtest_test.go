package archtest

import (
	"path"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

func TestModule_KeepsTheRules(t *testing.T) {
	files, err := parseTree(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("only %d files found: the test looks in the wrong place", len(files))
	}
	for _, complaint := range check(files) {
		t.Error(complaint)
	}
}

// An exemption outlives its reason unless somebody looks: one whose file no longer needs it must
// go.
func TestModule_NeedsItsExemptions(t *testing.T) {
	files, err := parseTree(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range clockExempt {
		i := slices.IndexFunc(files, func(f file) bool { return f.path == e.path })
		if i >= 0 && len(files[i].clock) == 0 {
			t.Errorf("%s does not read the real clock: remove its exemption in rules.go", e.path)
		}
	}
}

func TestRules_NameEachOther(t *testing.T) {
	var parts []string
	for _, r := range rules {
		if slices.Contains(parts, r.part) {
			t.Errorf("%s has two rules", r.part)
		}
		parts = append(parts, r.part)
		if r.why == "" {
			t.Errorf("%s has no reason", r.part)
		}
	}
	for _, r := range rules {
		for _, name := range slices.Concat(r.may, forTests, driverUsers) {
			if !slices.Contains(parts, name) {
				t.Errorf("%s: %s has no rule of its own", r.part, name)
			}
		}
	}
}

// The control: what is forbidden is found, and what is allowed is not.
func TestCheck_FindsWhatIsForbidden(t *testing.T) {
	for _, test := range []struct{ path, imports, want string }{
		{"internal/sheaf/folder.go", "strings", ""},
		{"internal/sheaf/folder.go", "github.com/google/uuid", "standard library only"},
		{"internal/sheaf/folder.go", "sheaf.dev/internal/strict", "imports no other part"},
		{"internal/guard/guard.go", "sheaf.dev/internal/sheaf", "imports no other part"},
		{"internal/guard/guard.go", "code.dny.dev/ssrf", ""},
		{"internal/config/config.go", "sheaf.dev/internal/sheaf", "imports no other part"},
		{"internal/store/folder.go", "sheaf.dev/internal/sheaf", ""},
		{"internal/store/folder.go", "sheaf.dev/internal/app", "knows no rule"},
		{"internal/store/store.go", "sheaf.dev/internal/store/migrations", ""},
		{"internal/store/store.go", "sheaf.dev/internal/store/storetest", "is for tests"},
		{"internal/store/folder.go", "sheaf.dev/internal/store/engine", ""},
		{"internal/store/folder.go", "sheaf.dev/internal/store/doctor", "knows no rule"},
		{"internal/store/folder.go", "github.com/jackc/pgx/v5/pgxpool", "ask the store"},
		{"internal/store/engine/postgres.go", "github.com/jackc/pgx/v5/pgxpool", ""},
		{"internal/store/engine/postgres.go", "sheaf.dev/internal/store", "knows no noun"},
		{"internal/sheaf/error.go", "net/http", "front.Status"},
		{"internal/app/media.go", "net/http", "front.Status"},
		{"internal/front/status.go", "net/http", ""},
		{"internal/store/engine/sqlite.go", "unsafe", "driver's memory"},
		{"internal/store/engine/checksum/hold.go", "unsafe", ""},
		{"internal/store/engine/checksum/hold.go", "sheaf.dev/internal/sheaf", "alone with"},
		{"internal/store/doctor/folder.go", "sheaf.dev/internal/store", ""},
		{"internal/store/doctor/folder.go", "sheaf.dev/internal/app", "changes nothing"},
		{"internal/app/folder.go", "sheaf.dev/internal/store/engine", "know no edge"},
		{"internal/sweep/sweep.go", "sheaf.dev/internal/store/engine", "an edge talks"},
		{"internal/store/storetest/folder.go", "sheaf.dev/internal/sheaftest/pgtest", ""},
		{"internal/app/folder.go", "sheaf.dev/internal/store", ""},
		{"internal/app/folder.go", "sheaf.dev/internal/httpapi", "know no edge"},
		{"internal/app/folder.go", "sheaf.dev/internal/obs", "know no edge"},
		{"internal/app/folder.go", "github.com/jackc/pgx/v5", "ask the store"},
		{"internal/app/folder.go", "database/sql", "ask the store"},
		{"internal/app/folder.go", "modernc.org/sqlite/lib", "ask the store"},
		{"internal/app/folder.go", "modernc.org/sqlitelike", ""},
		{"internal/httpapi/folder.go", "sheaf.dev/internal/app", ""},
		{"internal/httpapi/folder.go", "sheaf.dev/internal/store", "an edge talks"},
		{"internal/httpapi/folder.go", "sheaf.dev/internal/console", "never to another edge"},
		{"internal/console/folder.go", "sheaf.dev/internal/httpapi", "never to another edge"},
		{"internal/httpapi/handle.go", "sheaf.dev/internal/door", ""},
		{"internal/httpapi/handle.go", "sheaf.dev/internal/ratewindow", "an edge talks"},
		{"internal/mcp/handle.go", "sheaf.dev/internal/door", ""},
		{"internal/mcp/handle.go", "sheaf.dev/internal/httpapi", "never to another edge"},
		{"internal/door/door.go", "sheaf.dev/internal/app", ""},
		{"internal/door/door.go", "sheaf.dev/internal/httpapi", "knows none of them"},
		{"internal/door/door.go", "sheaf.dev/internal/mcp", "knows none of them"},
		{"internal/front/front.go", "sheaf.dev/internal/door", "knows none of them"},
		{"internal/deliver/claim.go", "sheaf.dev/internal/sweep", "never to another edge"},
		{"internal/deliver/claim.go", "sheaf.dev/internal/app", "an edge talks"},
		{"internal/sweep/sweep.go", "sheaf.dev/internal/config", "an edge talks"},
		{"client/client.go", "sheaf.dev/internal/sheaf", "it is public"},
		{"webhook/verify.go", "sheaf.dev/client", "it is public"},
		{"cmd/sheaf/serve.go", "sheaf.dev/internal/httpapi", ""},
		{"cmd/sheaf/serve.go", "sheaf.dev/cmd/sheaf/help", ""},
		{"cmd/sheaf/serve.go", "sheaf.dev/internal/sheaftest", "is for tests"},
		{"cmd/sheaf/serve.go", "github.com/jackc/pgx/v5", "ask the store"},
		{"internal/sheaftest/server.go", "sheaf.dev/cmd/sheaf", "nobody imports cmd"},
		{"internal/sheaftest/server.go", "sheaf.dev/internal/app", ""},
		{"internal/app/id.go", "math/rand/v2", "crypto/rand"},
		{"internal/app/id.go", "math/rand", "crypto/rand"},
		{"internal/app/id.go", "crypto/rand", ""},
		{"internal/app/id.go", "sheaf.dev/internal/util", "that package has no rule"},
		{"internal/app/id.go", "sheaf.dev", "that package has no rule"},
		{"internal/util/util.go", "strings", "its package has no rule"},
		{"internal/util/util_test.go", "strings", "its package has no rule"},
		{"main.go", "strings", "its package has no rule"},
		{"internal/storetest/x.go", "strings", "its package has no rule"},
		{"internal/httpapi/folder_test.go", "sheaf.dev/internal/store/storetest", ""},
	} {
		got := check([]file{{path: test.path, imports: []string{test.imports}}})
		if test.want == "" && len(got) > 0 || test.want != "" && (len(got) != 1 || !strings.Contains(got[0], test.want)) {
			t.Errorf("%s imports %s: got %q, want %q", test.path, test.imports, got, test.want)
		}
	}
}

// The engine runs transactions for whatever is stored: it names errors of the vocabulary, and no
// noun.
func TestCheck_FindsANounInTheEngine(t *testing.T) {
	for body, want := range map[string]string{
		`var k = sheaf.KindOf(nil)`:   "",
		`var p sheaf.Project`:         "names Project of internal/sheaf",
		`type f func(sheaf.FolderID)`: "names FolderID of internal/sheaf",
	} {
		f, err := parseFile("internal/store/engine/x.go", []byte("package p\nimport \"sheaf.dev/internal/sheaf\"\n"+body+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		got := check([]file{f})
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0], want)) {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
}

func TestCheck_FindsTheRealClock(t *testing.T) {
	for _, test := range []struct{ path, body, want string }{
		{"internal/app/folder.go", `import "time"; var t = time.Now()`, "line 2: time.Now"},
		{"internal/app/folder.go", `import "time"; var now = time.Now`, "line 2: time.Now"},
		{"internal/app/folder.go", `import "time"; var d = time.Since(start)`, "line 2: time.Since"},
		{"internal/app/folder.go", `import clock "time"; var t = clock.Now()`, "line 2: time.Now"},
		{"internal/app/folder.go", `import . "time"; var t = Now()`, "imported with a dot"},
		{"internal/app/folder.go", `import "time"; var d = time.Second`, ""},
		{"internal/app/folder.go", `import "example.test/time2"; var t = time.Now()`, ""},
		{"internal/app/folder.go", `import "time"; var t = s.time.Now()`, ""},
		{"internal/app/folder_test.go", `import "time"; var t = time.Now()`, ""},
		{"cmd/sheaf/serve.go", `import "time"; var t = time.Now()`, ""},
		{"internal/deliver/send.go", `import "time"; var t = time.Now()`, ""},
		{"internal/deliver/claim.go", `import "time"; var t = time.Now()`, "line 2: time.Now"},
	} {
		f, err := parseFile(test.path, []byte("package p\n"+test.body+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		got := check([]file{f})
		if test.want == "" && len(got) > 0 || test.want != "" && (len(got) != 1 || !strings.Contains(got[0], test.want)) {
			t.Errorf("%s: %s: got %q, want %q", test.path, test.body, got, test.want)
		}
	}
}

func TestCheck_FindsAPauseWithoutAReason(t *testing.T) {
	for _, test := range []struct{ body, want string }{
		{"time.Sleep(1)", ":4: time.Sleep without a reason"},
		{"for ; ; time.Sleep(1) {\n}", ":4: time.Sleep without a reason"},
		{"pause := time.Sleep // simulated", ""},
		{"pause := time.Sleep", ":4: time.Sleep without a reason"},
		{"time.Sleep(1) // simulated", ""},
		{"// simulated\ntime.Sleep(1)", ""},
		{"// simulated,\n// as all here\ntime.Sleep(1)", ""},
		{"x() // of another line\ntime.Sleep(1)", ":5: time.Sleep without a reason"},
		{"// too far away\n\ntime.Sleep(1)", ":6: time.Sleep without a reason"},
		{"<-time.After(1)", ""},
	} {
		for _, path := range []string{"internal/app/folder.go", "internal/app/folder_test.go", "test/crash/kit_test.go"} {
			f, err := parseFile(path, []byte("package p\nimport \"time\"\nfunc f() {\n"+test.body+"\n}\n"))
			if err != nil {
				t.Fatal(err)
			}
			got := check([]file{f})
			if test.want == "" && len(got) > 0 || test.want != "" && (len(got) != 1 || !strings.Contains(got[0], path+test.want)) {
				t.Errorf("%s: %s: got %q, want %q", path, test.body, got, test.want)
			}
		}
	}
}

// A goroutine without an owner that waits for it is a defect wherever it happens: every package's
// tests look for one.
func TestTests_LookForLeaksInEveryPackage(t *testing.T) {
	files, err := parseTree(root)
	if err != nil {
		t.Fatal(err)
	}
	looks := map[string]bool{} // by folder; false has tests alone
	for _, f := range files {
		if strings.HasSuffix(f.path, "_test.go") {
			folder := path.Dir(f.path)
			looks[folder] = looks[folder] || slices.Contains(f.imports, "go.uber.org/goleak")
		}
	}
	for folder, does := range looks {
		if !does {
			t.Errorf("%s: its tests do not look for leaked goroutines; give it func TestMain(m *testing.M) { goleak.VerifyTestMain(sheaftest.Patient(m)) }", folder)
		}
	}
}
