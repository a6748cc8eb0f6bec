// Package fuzz runs every fuzz target of the module on many inputs. Their seeds run in the ordinary tests anyhow; `make
// proof` and `make fuzz` look further.
package fuzz

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/plant"
	"sheaf.dev/internal/sheaftest/proof"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sheaftest.Patient(m)) }

const root = "../.."

// A target is a function FuzzX of a package.
type target struct{ pkg, name string }

// parsers are what reads outside input, and must have a target each.
var parsers = map[string]target{
	"JSON bodies":       {"./internal/strict", "FuzzParseObject"},
	"query strings":     {"./internal/strict", "FuzzParseQuery"},
	"times":             {"./internal/strict", "FuzzTime"},
	"ids":               {"./internal/sheaf", "FuzzParseUUID"},
	"keys":              {"./internal/sheaf", "FuzzHashKey"},
	"URLs":              {"./internal/guard", "FuzzCheckURL"},
	"signature headers": {"./webhook", "FuzzHeader"},
	"whole requests, with cursors, tags and conditions": {"./internal/httpapi", "FuzzRequest"},
	"texts of documents, as they are":                   {"./internal/httpapi", "FuzzContent"},
	"answers of endpoints":                              {"./internal/deliver", "FuzzAnswerText"},
	"answers, as the console shows them":                {"./internal/console", "FuzzPretty"},
	"what proxies say":                                  {"./internal/front", "FuzzForwarded"},
	"the event stream":                                  {"./client", "FuzzFrames"},
	"media, by their first bytes":                       {"./internal/media", "FuzzSniff"},
	"lines of an export":                                {"./internal/archive", "FuzzParseLine"},
	"the configuration file":                            {"./internal/config", "FuzzParseFile"},
	"front matter of Markdown":                          {"./internal/markdown", "FuzzFrontMatter"},
	"documents, as files of Markdown":                   {"./internal/markdown", "FuzzFormat"},
	"archives of Markdown":                              {"./internal/markdown", "FuzzZip"},
	"links in Markdown":                                 {"./internal/markdown", "FuzzRewrite"},
	"settings that give the order of Markdown files":    {"./internal/markdown", "FuzzProject"},
	"Markdown, as it is shown":                          {"./internal/render", "FuzzRender"},
	"what is searched for":                              {"./internal/search", "FuzzQuery"},
	"folding":                                           {"./internal/search", "FuzzFold"},
	"snippets":                                          {"./internal/search", "FuzzSnippet"},
}

func TestFuzz_EveryParserHasATarget(t *testing.T) {
	found := targets(t)
	for what, want := range parsers {
		if !slices.Contains(found, want) {
			t.Errorf("%s: %s has no %s", what, want.pkg, want.name)
		}
	}
}

// TestFuzz_FindsNothing looks for inputs that break a target: in the quick form not at all beyond the seeds, which
// the packages' own tests run.
func TestFuzz_FindsNothing(t *testing.T) {
	found := targets(t)
	var tried, broken int
	for _, f := range found {
		inputs := proof.Rounds(0, 100_000, 2_000_000)
		if inputs == 0 {
			continue
		}
		if slow[f.name] {
			inputs /= 20
		}
		out, err := f.run(inputs)
		if err != nil {
			broken++
			t.Errorf("%s %s: %v\n%s", f.pkg, f.name, err, out)
		}
		tried += executions(out)
	}
	proof.Row{
		Name:    "fuzz",
		Figures: []proof.Figure{{Name: "targets", Value: len(found)}, {Name: "inputs beyond the seeds", Value: tried}},
		Lost:    broken,
		Control: "a reader of bodies that cuts names short",
		Caught:  noticesCutNames(t),
	}.Report(t)
}

// noticesCutNames runs the seeds of the reader's target with the fault that is planted there.
func noticesCutNames(t *testing.T) bool {
	t.Helper()
	overlay, err := plant.CutNames.Overlay(root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	out, err := goTest(overlay, "-run=^FuzzParseObject$", "./internal/strict")
	return err != nil && bytes.Contains(out, []byte("--- FAIL: FuzzParseObject"))
}

// slow are the targets that need about a millisecond for an input; the others need microseconds.
var slow = map[string]bool{"FuzzRequest": true, "FuzzContent": true, "FuzzMessage": true, "FuzzRender": true, "FuzzProject": true}

// run tries `inputs` inputs on the target. It does not use a time limit, because the engine may fail at
// its end without a bad input: "context deadline exceeded" (golang/go#75804).
func (f target) run(inputs int) ([]byte, error) {
	return goTest("-timeout=0", "-run=^$", "-fuzz=^"+f.name+"$", fmt.Sprintf("-fuzztime=%dx", inputs), f.pkg)
}

func goTest(args ...string) ([]byte, error) {
	cmd := exec.Command("go", append([]string{"test", "-count=1", "-vet=off"}, args...)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	return cmd.CombinedOutput()
}

var (
	function = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)
	progress = regexp.MustCompile(`execs: (\d+)`)
)

// targets finds every fuzz target of the module.
func targets(t *testing.T) []target {
	t.Helper()
	var found []target
	for _, pattern := range []string{"*/*_test.go", "*/*/*_test.go", "*/*/*/*_test.go"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			found = append(found, targetsOf(t, file)...)
		}
	}
	return found
}

func targetsOf(t *testing.T, file string) (found []target) {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := filepath.Rel(root, filepath.Dir(file))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range function.FindAllStringSubmatch(string(source), -1) {
		found = append(found, target{"./" + filepath.ToSlash(folder), m[1]})
	}
	return found
}

// executions reads how many inputs a run tried, from the last line that tells.
func executions(out []byte) int {
	told := progress.FindAllStringSubmatch(string(out), -1)
	if len(told) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(told[len(told)-1][1])
	return n
}
