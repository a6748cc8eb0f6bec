package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// clockReaders are the functions of package time that read the real clock.
var clockReaders = []string{"Now", "Since", "Until"}

// parseTree reads every Go file of the module at root, whatever its build tags.
func parseTree(root string) ([]file, error) {
	var files []file
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != root && isForeign(path, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := parseFile(filepath.ToSlash(rel), source)
		files = append(files, f)
		return err
	})
	return files, err
}

// isForeign reports whether a folder holds no source of this module: what the go command passes over,
// and other modules.
func isForeign(path, name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "node_modules" {
		return true
	}
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil
}

// parseFile finds a file's imports, its uses of the real clock, and its pauses without a reason.
func parseFile(path string, source []byte) (file, error) {
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, path, source, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return file{}, err
	}
	f := file{path: path}
	clock, inner := "", map[string]string{}
	for _, spec := range syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return file{}, err
		}
		f.imports = append(f.imports, imported)
		if imported == "time" {
			clock = localName(spec)
		}
		if folder, ok := inModule(imported); ok && spec.Name == nil {
			inner[folder[strings.LastIndexByte(folder, '/')+1:]] = folder
		}
	}
	if clock == "." {
		f.clock = append(f.clock, "time is imported with a dot")
	}
	explained := explainedLines(set, syntax, source)
	ast.Inspect(syntax, func(n ast.Node) bool {
		if name, ok := timeUse(n, clock); ok {
			line := set.Position(n.Pos()).Line
			if slices.Contains(clockReaders, name) {
				f.clock = append(f.clock, fmt.Sprintf("line %d: time.%s", line, name))
			}
			if name == "Sleep" && !explained[line] {
				f.sleeps = append(f.sleeps, line)
			}
		}
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := selector.X.(*ast.Ident); ok && inner[pkg.Name] != "" {
				f.named = append(f.named, name{inner[pkg.Name], selector.Sel.Name})
			}
		}
		return true
	})
	return f, nil
}

// localName returns the name by which a file knows package time.
func localName(spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	return "time"
}

// timeUse returns the name that n has of package time, which the file knows as clock: a function,
// called or handed on, a type or a constant.
func timeUse(n ast.Node, clock string) (name string, ok bool) {
	selector, ok := n.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	pkg, ok := selector.X.(*ast.Ident)
	if !ok || clock == "" || pkg.Name != clock {
		return "", false
	}
	return selector.Sel.Name, true
}

// explainedLines returns the lines that a comment speaks of: those on which one stands, and the
// line below one that has its lines to itself.
func explainedLines(set *token.FileSet, syntax *ast.File, source []byte) map[int]bool {
	lines := map[int]bool{}
	for _, group := range syntax.Comments {
		for _, c := range group.List {
			begin, end := set.Position(c.Pos()), set.Position(c.End())
			lines[begin.Line] = true
			before := source[begin.Offset-(begin.Column-1) : begin.Offset]
			if len(bytes.TrimSpace(before)) == 0 {
				lines[end.Line+1] = true
			}
		}
	}
	return lines
}
