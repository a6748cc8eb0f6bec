package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ./scripts/test watches some packages for races in part: only the tests whose names match a pattern.
// Whatever in them starts goroutines of its own must match.
func TestRaces_AreWatched(t *testing.T) {
	script, err := os.ReadFile(filepath.Join(root, "scripts/test"))
	if err != nil {
		t.Fatal(err)
	}
	partly := regexp.MustCompile(`(?m)^partly=\((.+)\)$`).FindSubmatch(script)
	pressing := regexp.MustCompile(`(?m)^pressing='(.+)'$`).FindSubmatch(script)
	if partly == nil || pressing == nil {
		t.Fatal("scripts/test has no line partly=(…), or none pressing='…'")
	}
	watched := regexp.MustCompile(string(pressing[1]))
	found := 0
	for _, folder := range strings.Fields(string(partly[1])) {
		paths, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s has no tests: %v", folder, err)
		}
		for _, path := range paths {
			for _, name := range pressingTests(t, path) {
				found++
				if !watched.MatchString(name) {
					t.Errorf("%s starts goroutines, and its name matches none of %s: give it a name that does, or add a word in scripts/test", name, watched)
				}
			}
		}
	}
	if found < 15 {
		t.Errorf("only %d tests were found that start goroutines: the test looks for the wrong thing", found)
	}
}

// pressingTests are the names of the tests of a file that start goroutines, themselves or by the kit's
// together.
func pressingTests(t *testing.T, path string) (names []string) {
	t.Helper()
	syntax, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range syntax.Decls {
		f, ok := d.(*ast.FuncDecl)
		if ok && f.Body != nil && strings.HasPrefix(f.Name.Name, "Test") && startsGoroutines(f.Body) {
			names = append(names, f.Name.Name)
		}
	}
	return names
}

func startsGoroutines(body ast.Node) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.CallExpr:
			switch f := n.Fun.(type) {
			case *ast.Ident:
				found = found || f.Name == "together"
			case *ast.SelectorExpr:
				found = found || f.Sel.Name == "Go" // of a group
			}
		}
		return !found
	})
	return found
}
