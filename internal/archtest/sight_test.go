package archtest

import (
	"go/ast"
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
	eachFunction(t, "../../internal", func(file string, fn *ast.FuncDecl) {
		ast.Inspect(fn, func(n ast.Node) bool {
			if s, is := n.(*ast.SelectorExpr); is && s.Sel.Name == "Unrestricted" {
				used[fn.Name.Name] = true
				if !exempt(seesAll, fn.Name.Name) {
					t.Errorf("%s: %s reads past the caller's restriction: use the Reader as it is, or give the reason here", file, fn.Name.Name)
				}
			}
			return true
		})
	})
	for _, e := range seesAll {
		if !used[e.path] {
			t.Errorf("%s no longer reads past a restriction: take it out of the list", e.path)
		}
	}
}
