// Package planted puts one bug after the other into the program and sees which test notices. A suite that lets a bug
// through is the bug.
package planted

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/plant"
	"sheaf.dev/internal/sheaftest/proctest"
	"sheaf.dev/internal/sheaftest/proof"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sheaftest.Patient(m)) }

const root = "../.."

// A bug is a fault that the tests named by run in pkg must fail with, and pass without.
type bug struct {
	name string
	plant.Fault
	pkg, run string
	race     bool // whether the race detector must notice it
}

// TestPlanted_Apply keeps the lists alive: code that moves takes its bug, or its control, along.
func TestPlanted_Apply(t *testing.T) {
	if len(bugs) < 20 {
		t.Errorf("%d bugs are listed, want at least 20", len(bugs))
	}
	for _, b := range bugs {
		if _, err := b.Sources(root); err != nil {
			t.Errorf("%s: %v", b.name, err)
		}
	}
	for name, fault := range map[string]plant.Fault{"controls": plant.Planted(), "CutNames": plant.CutNames} {
		if _, err := fault.Sources(root); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPlanted_AreCaught plants every bug, the quick form one. Each is a test of its own, so that some of them can be tried
// alone:
//
//	SHEAF_PROOF=proof go test -v -run 'TestPlanted_AreCaught/(media|medium|upload)' ./test/planted
func TestPlanted_AreCaught(t *testing.T) {
	before := counterexamples(t)
	var tried []bug
	var caught int
	for _, b := range bugs[:proof.Rounds(1, len(bugs), len(bugs))] {
		t.Run(b.name, func(t *testing.T) {
			tried = append(tried, b)
			out, failed, err := b.try(t)
			switch {
			case err != nil:
				t.Errorf("%v\n%s", err, out)
			case !failed:
				t.Errorf("%s in %s did not notice", b.run, b.pkg)
			default:
				caught++
			}
		})
	}
	if after := counterexamples(t); !slices.Equal(after, before) {
		t.Errorf("the bugs left files in the tree: %v", after)
	}
	proof.Row{
		Name:    "planted bugs",
		Figures: []proof.Figure{{Name: "caught/planted", Value: fmt.Sprintf("%d/%d", caught, len(tried))}},
		Lost:    len(tried) - caught,
		Control: "the same tests without a bug pass",
		Caught:  passWithout(t, tried),
	}.Report(t)
}

// counterexamples returns the files in the tree that a property, or a fuzz target, writes when it does not hold.
func counterexamples(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if folder := filepath.Dir(filepath.Dir(path)); strings.HasSuffix(folder, filepath.Join("testdata", "rapid")) ||
			strings.HasSuffix(folder, filepath.Join("testdata", "fuzz")) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// passWithout runs the same tests on the program as it is.
func passWithout(t *testing.T, chosen []bug) bool {
	t.Helper()
	type group struct {
		pkg  string
		race bool
	}
	names := map[group][]string{} // of tests
	for _, b := range chosen {
		names[group{b.pkg, b.race}] = append(names[group{b.pkg, b.race}], b.run)
	}
	for g, runs := range names {
		if out, err := goTest(g.pkg, strings.Join(runs, "|"), g.race); err != nil {
			t.Errorf("without a bug, %s: %v\n%s", g.pkg, err, out)
			return false
		}
	}
	return true
}

// begun is a line that says which test begins.
var begun = regexp.MustCompile(`(?m)^=== RUN +(\S+)`)

// ran reports whether the tests that were chosen ran at all: a part of a test that was renamed is none that notices.
func ran(out []byte, run string) bool {
	for _, m := range begun.FindAllSubmatch(out, -1) {
		if slices.ContainsFunc(strings.Split(run, "|"), func(one string) bool { return chosen(string(m[1]), one) }) {
			return true
		}
	}
	return false
}

// chosen reports whether -run chooses a test by that pattern, part by part.
func chosen(name, pattern string) bool {
	parts, wanted := strings.Split(name, "/"), strings.Split(pattern, "/")
	if len(parts) < len(wanted) {
		return false
	}
	for i, w := range wanted {
		if !regexp.MustCompile(w).MatchString(parts[i]) {
			return false
		}
	}
	return true
}

// A test whose parts have other names by now is not taken for one that ran.
func TestRan_LooksAtEveryPartOfAName(t *testing.T) {
	out := []byte("=== RUN   TestStore\n=== RUN   TestStore/suite\n=== RUN   TestStore/suite/Medium\n--- PASS: TestStore (0.00s)\n")
	for run, want := range map[string]bool{"TestStore": true, "TestStore/suite/Med": true, "TestStore/Medium": false, "TestOther": false, "TestOther|TestStore/suite": true} {
		if got := ran(out, run); got != want {
			t.Errorf("%s: %t, want %t", run, got, want)
		}
	}
}

// try runs the tests with the bug. A program that does not build is an error, not a bug that was noticed.
func (b bug) try(t *testing.T) (out []byte, failed bool, err error) {
	t.Helper()
	overlay, err := b.Overlay(root, t.TempDir())
	if err != nil {
		return nil, false, err
	}
	out, err = goTest(b.pkg, b.run, b.race, overlay)
	switch {
	case err == nil && !ran(out, b.run):
		return nil, false, fmt.Errorf("%s has no test %s", b.pkg, b.run)
	case err == nil:
		return out, false, nil
	case b.race:
		return out, bytes.Contains(out, []byte("WARNING: DATA RACE")), nil
	case bytes.Contains(out, []byte("--- FAIL")), bytes.Contains(out, []byte("panic:")):
		return out, true, nil
	}
	return out, false, fmt.Errorf("no test ran: %w", err)
}

// goTest runs tests of a package. The flags go to what they build as well: a program of their own, which
// would not have the bug otherwise.
func goTest(pkg, run string, race bool, flags ...string) ([]byte, error) {
	args, cgo := []string{"test", "-v", "-count=1", "-vet=off", "-timeout=0", "-run", run}, "CGO_ENABLED=0"
	if race { // as in ./scripts/test
		args, cgo = append(args, "-race", "-gcflags=modernc.org/sqlite/lib=-race=false"), "CGO_ENABLED=1"
	}
	cmd := exec.Command("go", append(args, pkg)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), cgo, proof.EnvRows+"=", proof.EnvLevel+"=", proctest.EnvBinary+"=", proctest.EnvPrograms+"=",
		"GOFLAGS="+strings.Join(append(flags, os.Getenv("GOFLAGS")), " "),
		"RAPID_NOFAILFILE=1") // counterexamples to a planted bug are nobody's business
	return cmd.CombinedOutput()
}
