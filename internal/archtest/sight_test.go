package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// seesAll are the functions that read past a caller's restriction, with the reason.
var seesAll = []exemption{
	{"projectIsOnly", "an external id is unique in the whole workspace"},
	{"folderIsOnly", "likewise"},
	{"documentIsOnly", "likewise"},
	{"MediumNamedBy", "the text of a visible document names the medium"},
	{"copySome", "the text of a visible document names the medium"},
	{"createRelease", "likewise"},
	{"addFolder", "events have the places above their record"},
	{"addProject", "likewise"},
	{"addDocument", "likewise"},
}

// D169: Reader.Unrestricted is the only way around a restriction, and few functions use it.
func TestSight_IsLeftOnlyWithAReason(t *testing.T) {
	used := map[string]bool{}
	err := filepath.WalkDir("../../internal", func(name string, e os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			fn, is := d.(*ast.FuncDecl)
			if !is {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				if s, is := n.(*ast.SelectorExpr); is && s.Sel.Name == "Unrestricted" {
					used[fn.Name.Name] = true
					if !exempt(seesAll, fn.Name.Name) {
						t.Errorf("%s: %s reads past the caller's restriction: use the Reader as it is, or give the reason here", name, fn.Name.Name)
					}
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range seesAll {
		if !used[e.path] {
			t.Errorf("%s no longer reads past a restriction: take it out of the list", e.path)
		}
	}
}
