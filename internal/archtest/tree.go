package archtest

import (
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

// isForeign tells whether a folder holds no source of this module: what the go command passes over,
// and other modules.
func isForeign(path, name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "node_modules" {
		return true
	}
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil
}

// parseFile finds a file's imports and its uses of the real clock.
func parseFile(path string, source []byte) (file, error) {
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, path, source, parser.SkipObjectResolution)
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
	ast.Inspect(syntax, func(n ast.Node) bool {
		if name, ok := clockUse(n, clock); ok {
			f.clock = append(f.clock, fmt.Sprintf("line %d: time.%s", set.Position(n.Pos()).Line, name))
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

// clockUse tells whether n names a function that reads the real clock, called or handed on.
func clockUse(n ast.Node, clock string) (name string, ok bool) {
	selector, ok := n.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	pkg, ok := selector.X.(*ast.Ident)
	if !ok || clock == "" || pkg.Name != clock || !slices.Contains(clockReaders, selector.Sel.Name) {
		return "", false
	}
	return selector.Sel.Name, true
}
