package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// throughTraffic are the packages that share state between goroutines and that ./scripts/test does not test under the
// race detector themselves: the tests of test/race, which it watches, use them from many goroutines. `make race` watches
// their own tests.
var throughTraffic = []string{"internal/app", "internal/console", "internal/httpapi", "internal/icon", "internal/publish",
	"internal/render", "internal/sheaf", "internal/store", "internal/strict"}

// notWatched are those that only `make race` watches, with the reason.
var notWatched = map[string]string{
	"cmd/sheaf":          "it starts and stops what the watched packages do; most of its tests are commands, one after the other",
	"internal/cli":       "one command in one process",
	"internal/failpoint": "not in the program that users build",
	"internal/sweep":     "one loop, which shares one atomic flag with the metrics",
}

// ./scripts/test watches packages for races, not single tests. Each package that shares state between goroutines is
// either in its list, or above with the reason why not.
func TestRaces_AreWatched(t *testing.T) {
	script, err := os.ReadFile(filepath.Join(root, "scripts/test"))
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?ms)^watched=\((.+?)^\)$`).FindSubmatch(script)
	if list == nil {
		t.Fatal("scripts/test has no list watched=(…)")
	}
	var watched []string
	for line := range strings.Lines(string(list[1])) {
		path, _, _ := strings.Cut(line, "#")
		if path = strings.TrimPrefix(strings.TrimSpace(path), "./"); path != "" {
			watched = append(watched, path)
		}
	}
	if !slices.Contains(watched, "test/race") {
		t.Error("scripts/test does not watch test/race")
	}
	concurrent := concurrentPackages(t)
	if len(concurrent) < 20 {
		t.Errorf("only %d packages share state between goroutines: the test looks for the wrong thing", len(concurrent))
	}
	for _, p := range concurrent {
		if !slices.Contains(watched, p) && !slices.Contains(throughTraffic, p) && notWatched[p] == "" {
			t.Errorf("%s shares state between goroutines: add it to watched in scripts/test, or say in race_test.go why not", p)
		}
	}
	for _, p := range slices.Concat(watched, throughTraffic) {
		if p != "test/race" && !slices.Contains(concurrent, p) {
			t.Errorf("%s shares nothing between goroutines, and is listed as if it did", p)
		}
	}
	for p := range notWatched {
		if !slices.Contains(concurrent, p) {
			t.Errorf("%s shares nothing between goroutines, and is listed as if it did", p)
		}
	}
}

// concurrentPackages returns the packages of the product that start goroutines or use sync or sync/atomic.
func concurrentPackages(t *testing.T) (packages []string) {
	t.Helper()
	for _, top := range []string{"client", "cmd/sheaf", "internal", "webhook"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && (isForeign(path, d.Name()) || d.Name() == "sheaftest" || d.Name() == "storetest" || d.Name() == "archtest") {
				return fs.SkipDir
			}
			if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			folder, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil || slices.Contains(packages, folder) {
				return err
			}
			syntax, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err == nil && isConcurrent(syntax) {
				packages = append(packages, folder)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return packages
}

// isConcurrent reports whether a file starts a goroutine or imports what several of them share.
func isConcurrent(syntax *ast.File) (found bool) {
	for _, i := range syntax.Imports {
		found = found || i.Path.Value == `"sync"` || i.Path.Value == `"sync/atomic"`
	}
	ast.Inspect(syntax, func(n ast.Node) bool {
		_, is := n.(*ast.GoStmt)
		found = found || is
		return !found
	})
	return found
}
