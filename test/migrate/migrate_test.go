// Package migrate brings stores that released programs left to the newest schema: whole, and interrupted at every
// statement. What was in them is served as the old program served it, and the doctor finds nothing.
package migrate

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/proctest"
	"sheaf.dev/internal/sheaftest/proof"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(sheaftest.Patient(m), goleak.Cleanup(proctest.Exit))
}

// released are the schemas that programs were released with. Each has a folder in testdata, made by such a program:
// see scripts/fixture.
var released = []int{2}

var engines = []engine{sqliteEngine{}, postgresEngine{}}

// Every statement of every migration is the last one that was done before the program died.
func TestMigrate_InterruptedAnywhere(t *testing.T) {
	var all tally
	t.Run("steps", func(t *testing.T) {
		for _, e := range engines {
			for _, s := range steps(t, e) {
				t.Run(fmt.Sprintf("%s/%d after %d statements", e, s.migration, s.done), func(t *testing.T) {
					t.Parallel()
					all.add(s.try(t, e))
				})
			}
		}
	})
	caught := t.Run("control", func(t *testing.T) {
		for _, e := range engines {
			controlHalf(t, e)
		}
		controlAnswers(t)
	})
	proof.Row{
		Name: "migrations interrupted at each statement",
		Figures: []proof.Figure{{Name: "released schemas", Value: len(released)}, {Name: "migrations", Value: len(migrations(t, engines[0]))},
			{Name: "interruptions", Value: all.tries}, {Name: "answers compared", Value: all.answers}},
		Lost:    all.lost,
		Control: "a half migration that is committed; an answer that changed", Caught: caught,
	}.Report(t)
}

// tally sums up the tries.
type tally struct {
	mu                   sync.Mutex // guards what follows
	tries, answers, lost int
}

func (a *tally) add(answers, lost int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tries++
	a.answers += answers
	a.lost += lost
}

// step is a migration that died when so many of its statements were done.
type step struct {
	migration, done int
}

// written is the newest migration whose file is all of it. Migration 10 is run by the program, which carries the rows
// over: internal/store interrupts that one after each of its statements. Every try here ends with it.
const written = 9

// steps returns every step of every migration, or in the quick form some of the newest one.
func steps(t *testing.T, e engine) (all []step) {
	t.Helper()
	files := migrations(t, e)[:written]
	for i, statements := range files {
		for done := range len(statements) + 1 {
			all = append(all, step{i + 1, done})
		}
	}
	if proof.Rounds(1, 0, 0) == 0 {
		return all
	}
	last := len(files[len(files)-1])
	return []step{{len(files), 1}, {len(files), last}}
}

// try makes the store as it was before the migration, interrupts it, and lets the program finish.
func (s step) try(t *testing.T, e engine) (answers, lost int) {
	b := before(t, e, s.migration)
	b.die(t, s.statements(t, e))
	b.migrate(t)
	complaints := append(b.doctor(t), b.compare(t)...)
	for _, c := range complaints {
		t.Error(c)
	}
	return len(b.fixture.Answers), len(complaints)
}

// statements are those that were done: of the migration, and then goose's own note of it.
func (s step) statements(t *testing.T, e engine) []string {
	t.Helper()
	return migrations(t, e)[s.migration-1][:s.done]
}

// body is a store of some schema, with the program that is to migrate it.
type body struct {
	database
	*proctest.Program
	fixture fixture
}

// before returns a store in which all migrations before that one are done. From the oldest released schema on, it has
// the rows that the released program left.
func before(t *testing.T, e engine, migration int) *body {
	t.Helper()
	b := &body{Program: proctest.New(t)}
	first := 1
	for _, schema := range released {
		if schema < migration {
			b.fixture = readFixture(t, e, schema)
			first = schema + 1
		}
	}
	b.database = e.make(t, b.Program, b.fixture)
	for number := first; number < migration; number++ {
		b.commit(t, migrations(t, e)[number-1])
	}
	return b
}

func (b *body) migrate(t *testing.T) {
	t.Helper()
	if usable := b.Ask(t, "migrate")["usable"]; usable != true {
		t.Fatalf("after the migration the store is usable: %v", usable)
	}
}

// doctor returns what it finds.
func (b *body) doctor(t *testing.T) (lines []string) {
	t.Helper()
	found, err := sheaftest.Doctor(b.Binary, b.Flags()...)
	if err != nil {
		t.Error(err)
	}
	for _, f := range found {
		lines = append(lines, f.String())
	}
	return lines
}

// keepAll is longer than any fixture is old.
const keepAll = "--retention=876000h"

// compare returns in which answers the program differs from the one that made the fixture.
func (b *body) compare(t *testing.T) (complaints []string) {
	t.Helper()
	if b.fixture.Key == "" {
		return nil
	}
	server := b.Start(t, keepAll)
	defer server.Kill()
	for path, want := range b.fixture.Answers {
		var got any
		status, err := server.Call(b.fixture.Key, "GET", path, nil, &got)
		if err != nil || status != 200 {
			complaints = append(complaints, fmt.Sprintf("GET %s: %d, %v", path, status, err))
			continue
		}
		complaints = append(complaints, differences(path, want, got)...)
	}
	return complaints
}

// differences returns where got lacks what want has. It may have more: a newer program shows more.
func differences(at string, want, got any) (out []string) {
	switch want := want.(type) {
	case map[string]any:
		has, _ := got.(map[string]any)
		for name, v := range want {
			out = append(out, differences(at+" "+name, v, has[name])...)
		}
		return out
	case []any:
		has, _ := got.([]any)
		if len(has) != len(want) {
			return []string{fmt.Sprintf("%s has %d items, had %d", at, len(has), len(want))}
		}
		for i, v := range want {
			out = append(out, differences(fmt.Sprintf("%s[%d]", at, i), v, has[i])...)
		}
		return out
	}
	if !reflect.DeepEqual(want, got) {
		return []string{fmt.Sprintf("%s is %v, was %v", at, got, want)}
	}
	return nil
}

// controlHalf commits half a migration, as a program would that did not migrate in one transaction.
func controlHalf(t *testing.T, e engine) {
	t.Helper()
	newest := migrations(t, e)[:written]
	b := before(t, e, len(newest))
	statements := newest[len(newest)-1]
	b.commit(t, statements[:len(statements)/2])
	out, err := b.Command("migrate").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "partial migration") {
		t.Errorf("%s: half a migration was committed, and the program says %v, %s", e, err, out)
	}
}

func controlAnswers(t *testing.T) {
	t.Helper()
	f := readFixture(t, engines[0], released[0])
	for path, answer := range f.Answers {
		text, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		var changed any
		if err := json.Unmarshal([]byte(strings.Replace(string(text), `"id":"0`, `"id":"1`, 1)), &changed); err != nil {
			t.Fatal(err)
		}
		if len(differences(path, answer, changed)) == 0 {
			t.Errorf("an id in %s was changed, and nobody noticed", path)
		}
		if len(differences(path, answer, answer)) != 0 {
			t.Errorf("%s differs from itself", path)
		}
	}
}
