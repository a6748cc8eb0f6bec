package browser

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Every wait of these tests ends: a loop ranges or counts, and the browser gets a time limit with each command. A line that
// says "unbounded" has the reason. Without this, a page that misses something would hold the run until its own limit, and
// nothing would say what was missing.
func TestWaits_End(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*_test.go")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range endless(t, name, string(text)) {
			t.Errorf("%s:%d waits without an end", name, line)
		}
	}
	planted := "package p\nfunc f(b *tab) {\n\tfor {\n\t}\n\tfor !done() {\n\t}\n\tfor n := 0; n < 4; n++ {\n\t}\n\tfor range 3 {\n\t}\n\tchromedp.Do(b.ctx, nil)\n\tchromedp.Call(ctx, nil)\n\tchromedp.Call(limited, nil)\n}\n"
	if got := endless(t, "planted", planted); len(got) != 3 || got[0] != 3 || got[1] != 5 || got[2] != 11 {
		t.Errorf("in the planted file the lines %v wait without an end, want 3, 5 and 11", got)
	}
}

// endless returns the lines that wait without an end and do not say why.
func endless(t *testing.T, name, text string) (out []int) {
	t.Helper()
	places := token.NewFileSet()
	file, err := parser.ParseFile(places, name, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(text, "\n")
	ast.Inspect(file, func(n ast.Node) bool {
		waits := false
		switch n := n.(type) {
		case *ast.ForStmt:
			waits = n.Post == nil
		case *ast.CallExpr:
			f, isSelector := n.Fun.(*ast.SelectorExpr)
			if !isSelector || len(n.Args) == 0 {
				return true
			}
			room, _ := f.X.(*ast.Ident)
			if room == nil || room.Name != "chromedp" || f.Sel.Name != "Do" && f.Sel.Name != "Run" && f.Sel.Name != "Call" {
				return true
			}
			of, isField := n.Args[0].(*ast.SelectorExpr)
			waits = isField && of.Sel.Name == "ctx"
		}
		if line := 0; waits {
			if line = places.Position(n.Pos()).Line; !strings.Contains(lines[line-1], "//unbounded: ") {
				out = append(out, line)
			}
		}
		return true
	})
	return out
}

// What does not come is named, with what was there instead.
func TestWaits_SayWhatTheySaw(t *testing.T) {
	t.Parallel()
	b := setUp(t, startService(t))
	saw := b.awaited(time.Millisecond, "the page of nobody", "document.querySelector('h1').innerText === 'Nobody'")
	for _, want := range []string{"the page of nobody did not come", b.url, "My workspace"} {
		if !strings.Contains(saw, want) {
			t.Errorf("a failed wait says %q, which lacks %q", saw, want)
		}
	}
	if saw := b.awaited(patience, "the page", "document.querySelector('h1').innerText === 'My workspace'"); saw != "" {
		t.Errorf("a wait for what is there says %q", saw)
	}
}
