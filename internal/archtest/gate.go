package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
)

// The rules about internal/app's gate. A method that acts for a Caller gets to the store only
// through a function that asks what this caller may do; a new method cannot leave that out.
//
// It is shown by the shape of the source. App's field store is used in the functions of the three
// lists alone, and from no function that takes a Caller can one of the last list be reached. The
// types of other packages are not looked at, so the check takes milliseconds.

// asking are the ways to the store that ask first.
var asking = []string{"read", "write", "writeWhole", "cascade"}

// following are the ways to the store that end what a way that asked has begun. They are in few
// functions, which do nothing else.
var following = []exemption{
	{"conclude", "the bytes of a medium were written or removed between two transactions, and the app of a consent asks for its tokens"},
}

// unasked are the ways to the store that do not ask the gate, because their users have no Caller.
var unasked = []exemption{
	{"readUnasked", "finding out who somebody is, and the operator"},
	{"readPart", "readUnasked, and the sessions that are known"},
	{"readShown", "the reader of a share, who has its address"},
	{"OpenShare", "it finds the share of an address"},
	{"writeUnasked", "the same, changing something"},
	{"operate", "the operator, in a workspace"},
	{"operateDeleted", "the operator, in a workspace that may be deleted"},
	{"Export", "the operator, who reads all of a workspace"},
	{"Authenticate", "it makes the Caller of a key"},
	{"StreamKeys", "it asks which keys of open streams can still be used"},
	{"WatchLogs", "it asks which logs grew, for streams that have asked the gate"},
	{"Ready", "it looks whether the store answers"},
	{"New", "it makes the App"},
}

// checkGate returns a line for each violation in the package of these sources, by file name.
func checkGate(sources map[string]string) ([]string, error) {
	g, err := readGate(sources)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, f := range g.functions {
		if f.touches && !slices.Contains(asking, f.name) && !exempt(following, f.name) && !exempt(unasked, f.name) {
			found = append(found, fmt.Sprintf("%s uses the store itself: go through read, write or cascade, which ask what the caller may do", f))
		}
		if f.writesOn {
			found = append(found, fmt.Sprintf("%s gives firstError what a transaction does: after a statement that failed no other may run; return its error first", f))
		}
		if !f.caller {
			continue
		}
		if way := g.way(f, func(to *function) bool { return exempt(unasked, to.name) }); way != nil {
			found = append(found, fmt.Sprintf("%s takes a Caller, and gets to the store without asking: %s", f, strings.Join(way, ", then ")))
		}
		if f.exported && g.way(f, func(to *function) bool { return slices.Contains(asking, to.name) }) == nil {
			found = append(found, fmt.Sprintf("%s takes a Caller and never asks: go through read, write or cascade", f))
		}
	}
	slices.Sort(found)
	return append(found, g.holders...), nil
}

// A function is one of the package, as the check sees it.
type function struct {
	name     string
	receiver string
	exported bool
	caller   bool // it takes a Caller
	touches  bool // it uses App's field store
	writesOn bool // it has firstError choose between calls of a transaction, which all run
	uses     []types.Object
}

func (f *function) String() string {
	if f.receiver == "" {
		return f.name
	}
	return f.receiver + "." + f.name
}

// gate is the package's functions, and who else holds a store.
type gate struct {
	functions map[types.Object]*function
	holders   []string
}

func readGate(sources map[string]string) (*gate, error) {
	set := token.NewFileSet()
	var files []*ast.File
	for name, source := range sources {
		f, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	// What comes from elsewhere is unknown here, and complained of: the compiler judges that.
	config := types.Config{Importer: blank{}, Error: func(error) {}}
	pkg, _ := config.Check("app", set, files, info)
	field, err := storeField(pkg)
	if err != nil {
		return nil, err
	}
	g := &gate{functions: map[types.Object]*function{}}
	for _, file := range files {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				g.functions[info.Defs[f.Name]] = readFunction(f, info, field)
				continue
			}
			g.holders = append(g.holders, holders(d)...)
		}
	}
	return g, nil
}

func storeField(pkg *types.Package) (types.Object, error) {
	app := pkg.Scope().Lookup("App")
	if app == nil {
		return nil, fmt.Errorf("there is no type App: the test looks in the wrong place")
	}
	field, _, _ := types.LookupFieldOrMethod(app.Type(), true, pkg, "store")
	if field == nil {
		return nil, fmt.Errorf("App has no field store: the test looks for the wrong name")
	}
	return field, nil
}

func readFunction(decl *ast.FuncDecl, info *types.Info, field types.Object) *function {
	f := &function{name: decl.Name.Name, exported: decl.Name.IsExported()}
	if decl.Recv != nil {
		f.receiver = types.ExprString(decl.Recv.List[0].Type)
	}
	for _, p := range decl.Type.Params.List {
		f.caller = f.caller || strings.TrimPrefix(types.ExprString(p.Type), "*") == "Caller"
	}
	ast.Inspect(decl, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && types.ExprString(call.Fun) == "firstError" {
			f.writesOn = f.writesOn || slices.ContainsFunc(call.Args, ofTransaction)
		}
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		switch o := info.Uses[id].(type) {
		case *types.Func:
			f.uses = append(f.uses, o.Origin())
		case *types.Var:
			f.touches = f.touches || o == field
		}
		return true
	})
	return f
}

// ofTransaction reports whether an expression calls a method of a transaction, which app calls tx
// or w everywhere.
func ofTransaction(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	of, _, _ := strings.Cut(types.ExprString(call.Fun), ".")
	return of == "tx" || of == "w" && !strings.Contains(types.ExprString(call.Fun), "w.ws.")
}

// holders returns a line for each declared type or variable that holds a store, except App and
// the Config that it is made of: no check follows where such a store is used.
func holders(d ast.Decl) []string {
	var found []string
	for _, spec := range d.(*ast.GenDecl).Specs {
		name := ""
		switch s := spec.(type) {
		case *ast.TypeSpec:
			name = s.Name.Name
		case *ast.ValueSpec:
			name = s.Names[0].Name
		}
		if name == "App" || name == "Config" {
			continue
		}
		ast.Inspect(spec, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && types.ExprString(s) == "store.Store" {
				found = append(found, name+" holds a store: only App does")
			}
			return true
		})
	}
	return found
}

// way returns the names on the way from f to a function that is looked for, or nil.
func (g *gate) way(f *function, wanted func(*function) bool) []string {
	seen := map[*function]bool{}
	var walk func(*function) []string
	walk = func(at *function) []string {
		if seen[at] {
			return nil
		}
		seen[at] = true
		for _, o := range at.uses {
			to := g.functions[o]
			if to == nil {
				continue
			}
			if wanted(to) {
				return []string{to.String()}
			}
			if rest := walk(to); rest != nil {
				return append([]string{to.String()}, rest...)
			}
		}
		return nil
	}
	return walk(f)
}

// blank imports every package as an empty one.
type blank struct{}

func (blank) Import(name string) (*types.Package, error) {
	p := types.NewPackage(name, path.Base(name))
	p.MarkComplete()
	return p, nil
}
