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
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest/plant"
	"sheaf.dev/internal/sheaftest/proof"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const root = "../.."

// A bug is a fault that the tests named by run in pkg must fail with, and pass without.
type bug struct {
	name string
	plant.Fault
	pkg, run string
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
	for name, fault := range plant.Controls() {
		if _, err := fault.Sources(root); err != nil {
			t.Errorf("the control %s: %v", name, err)
		}
	}
}

// TestPlanted_AreCaught plants every bug, the quick form one.
func TestPlanted_AreCaught(t *testing.T) {
	chosen := bugs[:proof.Rounds(1, len(bugs), len(bugs))]
	before := counterexamples(t)
	var caught int
	for _, b := range chosen {
		out, failed, err := b.try(t)
		switch {
		case err != nil:
			t.Errorf("%s: %v\n%s", b.name, err, out)
		case !failed:
			t.Errorf("%s: %s in %s did not notice", b.name, b.run, b.pkg)
		default:
			caught++
		}
	}
	if after := counterexamples(t); !slices.Equal(after, before) {
		t.Errorf("the bugs left files in the tree: %v", after)
	}
	proof.Row{
		Name:    "planted bugs",
		Figures: []proof.Figure{{Name: "caught/planted", Value: fmt.Sprintf("%d/%d", caught, len(chosen))}},
		Lost:    len(chosen) - caught,
		Control: "the same tests without a bug pass",
		Caught:  passWithout(t, chosen),
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
	names := map[string][]string{} // of tests, by package
	for _, b := range chosen {
		names[b.pkg] = append(names[b.pkg], b.run)
	}
	for pkg, runs := range names {
		if out, err := goTest(pkg, strings.Join(runs, "|")); err != nil {
			t.Errorf("without a bug, %s: %v\n%s", pkg, err, out)
			return false
		}
	}
	return true
}

// try runs the tests with the bug. A program that does not build is an error, not a bug that was noticed.
func (b bug) try(t *testing.T) (out []byte, failed bool, err error) {
	t.Helper()
	overlay, err := b.Overlay(root, t.TempDir())
	if err != nil {
		return nil, false, err
	}
	out, err = goTest(b.pkg, b.run, overlay)
	switch {
	case err == nil:
		return out, false, nil
	case bytes.Contains(out, []byte("--- FAIL")), bytes.Contains(out, []byte("panic:")):
		return out, true, nil
	}
	return out, false, fmt.Errorf("no test ran: %w", err)
}

func goTest(pkg, run string, flags ...string) ([]byte, error) {
	cmd := exec.Command("go", append([]string{"test", "-count=1", "-vet=off", "-timeout=0", "-run", run, pkg}, flags...)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", proof.EnvRows+"=", proof.EnvLevel+"=",
		"RAPID_NOFAILFILE=1") // counterexamples to a planted bug are nobody's business
	return cmd.CombinedOutput()
}
