package archtest

import (
	"bytes"
	"flag"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const fieldList = "testdata/fields.txt"

var update = flag.Bool("update", false, "write "+fieldList+" and "+stringList)

// refusal is a place in the source that refuses an input.
type refusal struct {
	field string // as the source names it: a literal, or an expression in parentheses; - for none
	text  string // the format of the text, or an expression in parentheses
}

// Clients that show an error beside a field read field, not the text. The list has the field of every
// refused input, so that a review sees when one changes: the field is part of the API, the text is not.
func TestFields_AreThoseOfTheList(t *testing.T) {
	found := refusals(t)
	if len(found) < 150 {
		t.Fatalf("only %d refusals found: the test looks in the wrong place", len(found))
	}
	var lines []string
	for _, r := range found {
		lines = append(lines, r.field+"\t"+r.text+"\n")
	}
	slices.Sort(lines)
	lines = slices.Compact(lines)
	if *update {
		if err := os.WriteFile(fieldList, []byte(strings.Join(lines, "")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := os.ReadFile(fieldList)
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Collect(strings.Lines(string(list)))
	for _, line := range lines {
		if !slices.Contains(want, line) {
			t.Errorf("%s lacks %q: if that is the field that clients are to see, run go test ./internal/archtest -run TestFields -update", fieldList, line)
		}
	}
	for _, line := range want {
		if !slices.Contains(lines, line) {
			t.Errorf("%s has %q, which the source does not refuse any more: clients that read this field lose it, or -update removes the line", fieldList, line)
		}
	}
}

// A text that begins with a name of the API is about that field, and programs cannot read it there.
func TestFields_AreNotOnlyInTheText(t *testing.T) {
	api, err := os.ReadFile(root + "/internal/httpapi/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^ +(?:- name: ([a-z_]+)$|([a-z_]+):)`).FindAllStringSubmatch(string(api), -1) {
		names[m[1]+m[2]] = true
	}
	if !names["logo_media_id"] || !names["updated_since"] {
		t.Fatal("the names of a field and of a parameter are not found")
	}
	delete(names, "body")       // texts about the whole body begin with it
	delete(names, "updated_at") // those of an import are about two fields
	for _, r := range refusals(t) {
		if end := strings.IndexAny(r.text, " :=[."); r.field == "-" && end > 0 && names[r.text[:end]] {
			t.Errorf("%q is refused without a field: say InvalidField(%q, …)", r.text, r.text[:end])
		}
	}
}

// refusals returns the calls of Invalidf and InvalidField in what runs in a server, and those of At.
func refusals(t *testing.T) []refusal {
	files, err := parseTree(root)
	if err != nil {
		t.Fatal(err)
	}
	var out []refusal
	for _, f := range files {
		if !strings.HasPrefix(f.path, "internal/") || strings.HasPrefix(f.path, "internal/cli/") || strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), root+"/"+f.path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, refusalsOf(syntax)...)
	}
	return out
}

func refusalsOf(syntax *ast.File) []refusal {
	var out []refusal
	seen := map[*ast.CallExpr]bool{}
	ast.Inspect(syntax, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || seen[call] {
			return true
		}
		switch calledName(call) {
		case "At":
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && len(call.Args) == 1 {
				if inner, ok := sel.X.(*ast.CallExpr); ok && strings.HasSuffix(calledName(inner), "f") && len(inner.Args) > 0 {
					seen[inner] = true
					out = append(out, refusal{sourceOf(call.Args[0]), sourceOf(inner.Args[0])})
				}
			}
		case "InvalidField":
			out = append(out, refusal{sourceOf(call.Args[0]), sourceOf(call.Args[1])})
		case "Invalidf":
			out = append(out, refusal{"-", sourceOf(call.Args[0])})
		}
		return true
	})
	return out
}

// calledName returns the name of the function or method that is called.
func calledName(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// sourceOf returns the value of a string literal, or another expression in parentheses.
func sourceOf(e ast.Expr) string {
	if lit, ok := e.(*ast.BasicLit); ok {
		if text, err := strconv.Unquote(lit.Value); err == nil {
			return text
		}
	}
	var b bytes.Buffer
	_ = printer.Fprint(&b, token.NewFileSet(), e)
	return "(" + b.String() + ")"
}
