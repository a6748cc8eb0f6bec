package tenanttest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Constants returns the statements in the source of a folder that are constant texts, also those
// that no test runs. It leaves out texts that the program completes at run time; Record gets those.
func Constants(t testing.TB, folder string, except ...string) (statements []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	set, known := token.NewFileSet(), texts{}
	var sources []*ast.File
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || slices.Contains(except, filepath.Base(name)) {
			continue
		}
		f, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, f)
		known.declare(f)
	}
	beginnings := known.beginnings(sources)
	for _, f := range sources {
		ast.Inspect(f, func(n ast.Node) bool {
			e, is := n.(ast.Expr)
			if !is {
				return true
			}
			text, whole := known.value(e)
			if whole && isStatement.MatchString(text) && !isPart.MatchString(text) && !beginnings[text] {
				statements = append(statements, text)
			}
			return !whole && !isSum(n) // a part of a text is not a statement
		})
	}
	return statements
}

func isSum(n ast.Node) bool {
	b, is := n.(*ast.BinaryExpr)
	return is && b.Op == token.ADD
}

// beginnings returns the constants that are completed elsewhere. They are not statements by
// themselves.
func (k texts) beginnings(sources []*ast.File) map[string]bool {
	found := map[string]bool{}
	for _, f := range sources {
		ast.Inspect(f, func(n ast.Node) bool {
			if isSum(n) {
				if name, is := n.(*ast.BinaryExpr).X.(*ast.Ident); is {
					text, _ := k.value(name)
					found[text] = true
				}
			}
			return true
		})
	}
	return found
}

// isStatement matches texts that begin like a statement, and isPart those that the program
// completes.
var (
	isStatement = regexp.MustCompile(`^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\s`)
	isPart      = regexp.MustCompile(`%s|\s(FROM|WHERE|AND)\s*$`)
)

// texts has the constants of a package by name.
type texts map[string]ast.Expr

// declare adds the constants of a file.
func (k texts) declare(f *ast.File) {
	for _, d := range f.Decls {
		g, is := d.(*ast.GenDecl)
		if !is || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			for i, name := range v.Names {
				if i < len(v.Values) {
					k[name.Name] = v.Values[i]
				}
			}
		}
	}
}

// value returns the text of a constant expression.
func (k texts) value(e ast.Expr) (text string, whole bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.Ident:
		if c := k[e.Name]; c != nil {
			return k.value(c)
		}
	case *ast.BinaryExpr:
		left, lok := k.value(e.X)
		right, rok := k.value(e.Y)
		return left + right, lok && rok && e.Op == token.ADD
	}
	return "", false
}
