package archtest

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// No method of app that takes a Caller gets to the store without asking the gate.
func TestApp_AsksTheGate(t *testing.T) {
	names, err := filepath.Glob(root + "/internal/app/*.go")
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sources[name] = string(b)
	}
	found, err := checkGate(sources)
	if err != nil {
		t.Fatal(err)
	}
	for _, complaint := range found {
		t.Errorf("internal/app: %s", complaint)
	}
	g, err := readGate(sources)
	if err != nil {
		t.Fatal(err)
	}
	methods := 0
	for f := range maps.Values(g.functions) {
		if f.caller && f.exported {
			methods++
		}
		if f.caller && exempt(unasked, f.name) {
			t.Errorf("%s takes a Caller: it must ask", f)
		}
	}
	if methods < 40 {
		t.Errorf("only %d methods with a Caller were found: the test sees too little", methods)
	}
}

// The control: what is forbidden is found, and what is allowed is not.
func TestCheckGate_FindsWhatIsForbidden(t *testing.T) {
	const gate = `package app
import "sheaf.dev/internal/store"
type App struct{ store *store.Store }
type Config struct{ Store *store.Store }
type Caller struct{}
func read[T any](a *App, c Caller, act func() T) T { return a.store.Read(act) }
func write(a *App, c Caller, act func()) { a.store.Write(act) }
func readUnasked[T any](a *App, act func() T) T { return a.store.Read(act) }
`
	for _, test := range []struct{ body, want string }{
		{`func (a *App) Folder(c Caller) int { return read(a, c, func() int { return 1 }) }`, ""},
		{`func (a *App) Folder(c *Caller) { a.change(*c) }; func (a *App) change(c Caller) { write(a, c, nil) }`, ""},
		{`func (a *App) SignIn(name string) int { return readUnasked(a, func() int { return 1 }) }`, ""},
		{`func (a *App) Folder(c Caller) { a.store.Write(nil) }`, "uses the store itself"},
		{`func (a *App) find() { s := a.store; _ = s }`, "uses the store itself"},
		{`type other struct{ app *App }; func (o other) find() { o.app.store.Read() }`, "uses the store itself"},
		{`func (a *App) Folder(c Caller) int { write(a, c, nil); return readUnasked(a, func() int { return 1 }) }`, "without asking: readUnasked"},
		{`func (a *App) Folder(c Caller) { write(a, c, a.later) }; func (a *App) later() { readUnasked(a, func() int { return 1 }) }`, "without asking: *App.later, then readUnasked"},
		{`func (a *App) Folder(c Caller) { write(a, c, nil); find := readUnasked[int]; find(a, nil) }`, "without asking: readUnasked"},
		{`func (a *App) Folder(c Caller) {}`, "never asks"},
		{`func a(w *App) error { return firstError(w.ws.Plan.Allow(), check(w)) }`, ""},
		{`func a(w *App) error { return firstError(nil, w.DeleteMember()) }`, "gives firstError what a transaction does"},
		{`func a(w *App) error { return firstError(tx.DeleteMember(), nil) }`, "gives firstError what a transaction does"},
		{`type cache struct{ of *store.Store }`, "cache holds a store"},
		{`var all []store.Store`, "all holds a store"},
	} {
		got, err := checkGate(map[string]string{"gate.go": gate, "body.go": "package app\nimport \"sheaf.dev/internal/store\"\n" + test.body})
		if err != nil {
			t.Fatal(err)
		}
		if test.want == "" && len(got) > 0 || test.want != "" && !strings.Contains(strings.Join(got, "\n"), test.want) {
			t.Errorf("%s: got %q, want %q", test.body, got, test.want)
		}
	}
}
