// Package migrate interrupts migrations at every statement, on both engines. Beside the migrations of this program it runs
// one more, which exists only in tests: with it an upgrade is tried before there is a second release. What the store
// held is served as before, and the doctor finds nothing.
package migrate

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/sheaftest/proctest"
	"sheaf.dev/internal/sheaftest/proof"
	storeengine "sheaf.dev/internal/store/engine"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(sheaftest.Patient(m), goleak.Cleanup(proctest.Exit))
}

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
		Figures: []proof.Figure{{Name: "migrations, with one of the test", Value: len(migrations(t, engines[0]))},
			{Name: "interruptions", Value: all.tries}, {Name: "answers compared", Value: all.answers}},
		Lost:    all.lost,
		Control: "a half migration that is committed; an answer that changed", Caught: caught,
	}.Report(t)
}

// tally sums up the tries.
type tally struct {
	mu                   sync.Mutex // guards all fields
	tries, answers, lost int
}

func (a *tally) add(answers, lost int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tries++
	a.answers += answers
	a.lost += lost
}

// step is a migration that died after `done` of its statements.
type step struct {
	migration, done int
}

// steps returns every step of every migration. The quick form has a few: the baseline in its middle, and the beginning and
// end of the migration of the test.
func steps(t *testing.T, e engine) (all []step) {
	t.Helper()
	files := migrations(t, e)
	if proof.Rounds(1, 0, 0) > 0 {
		last := len(files)
		return []step{{1, len(files[0]) / 2}, {last, 1}, {last, len(files[last-1])}}
	}
	for i, statements := range files {
		for done := range len(statements) + 1 {
			all = append(all, step{i + 1, done})
		}
	}
	return all
}

// try makes the store as it was before the migration, interrupts the migration, and then runs it to its end. The program,
// which is one migration older by then, serves what the store held.
func (s step) try(t *testing.T, e engine) (answers, lost int) {
	b := before(t, e, s.migration)
	b.die(t, migrations(t, e)[s.migration-1][:s.done])
	if err := b.migrate(t, e); err != nil {
		t.Fatal(err)
	}
	complaints := append(b.doctor(t), b.compare(t, b.Program)...)
	for _, c := range complaints {
		t.Error(c)
	}
	return len(b.content.answers), len(complaints)
}

// body is a store of some schema, with the program of this one.
type body struct {
	database
	*proctest.Program
	content content
}

// before returns a store in which all migrations before that one are done. Before the migration of the test, the program
// itself has made the store and filled it.
func before(t *testing.T, e engine, migration int) *body {
	t.Helper()
	b := &body{Program: proctest.New(t)}
	if e == (postgresEngine{}) {
		b.Database = pgtest.URL(t)
	}
	if migration == len(migrations(t, e)) {
		b.content = fill(t, b.Program)
		b.database = e.open(b.Program)
		return b
	}
	b.database = e.begin(t, b.Program)
	for number := 1; number < migration; number++ {
		b.commit(t, migrations(t, e)[number-1])
	}
	return b
}

// migrate runs all migrations that the store lacks, that of the test too.
func (b *body) migrate(t *testing.T, e engine) error {
	t.Helper()
	o := storeengine.Options{Folder: b.Data, DatabaseURL: b.Database, Migrations: migrationFiles(t)}
	return storeengine.Migrate(context.Background(), o, int64(len(migrations(t, e))))
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

// compare returns where the program's answers differ from those that were kept when the store was filled.
func (b *body) compare(t *testing.T, p *proctest.Program) (complaints []string) {
	t.Helper()
	if b.content.key == "" {
		return nil
	}
	server := p.Start(t, "--public-url", publicURL)
	defer server.Kill()
	for path, want := range b.content.answers {
		var got any
		status, err := server.Call(b.content.key, "GET", path, nil, &got)
		if err != nil || status != 200 {
			complaints = append(complaints, fmt.Sprintf("GET %s: %d, %v", path, status, err))
			continue
		}
		complaints = append(complaints, differences(path, want, got)...)
	}
	var made struct{ ID string }
	if status, err := server.Call(b.content.key, "POST", "/api/v1/projects", object{"name": "Later"}, &made); status != 201 || made.ID == "" {
		complaints = append(complaints, fmt.Sprintf("a project is not made after the migration: %d, %v", status, err))
	}
	return complaints
}

// differences returns where got lacks what want has. got may have more: a newer program shows more.
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
	all := migrations(t, e)
	b := before(t, e, 1)
	for _, statements := range all[:len(all)-1] {
		b.commit(t, statements)
	}
	statements := all[len(all)-1]
	b.commit(t, statements[:len(statements)/2])
	if err := b.migrate(t, e); err == nil || !strings.Contains(err.Error(), "partial migration") {
		t.Errorf("%s: half a migration was committed, and the next start says %v", e, err)
	}
}

func controlAnswers(t *testing.T) {
	t.Helper()
	was := map[string]any{"data": []any{map[string]any{"id": "0", "name": nil}}, "total": 1.0}
	for name, now := range map[string]any{
		"another id":     map[string]any{"data": []any{map[string]any{"id": "1", "name": nil}}, "total": 1.0},
		"another total":  map[string]any{"data": []any{map[string]any{"id": "0", "name": nil}}, "total": 2.0},
		"a field gone":   map[string]any{"data": []any{map[string]any{"name": nil}}, "total": 1.0},
		"a record gone":  map[string]any{"data": []any{}, "total": 1.0},
		"no answer":      nil,
		"another answer": "data",
	} {
		if len(differences("", was, now)) == 0 {
			t.Errorf("%s is not noticed", name)
		}
	}
	if len(differences("", was, was)) != 0 {
		t.Error("an answer differs from itself")
	}
}

// Each migration begins with the oldest program that may serve beside it, and never takes that back. That statement
// is a write: SQLite lets a transaction wait for its turn only if it begins with one.
func TestMigrate_NamesTheOldestProgramBesideIt(t *testing.T) {
	t.Parallel()
	says := regexp.MustCompile(`^INSERT INTO schema_compat \(version, oldest\) VALUES \((\d+), (\d+)\)$`)
	for _, e := range engines {
		oldest := 1
		for i, statements := range migrations(t, e) {
			if i == 0 {
				statements = statements[1:] // the baseline makes the table first
			}
			found := says.FindStringSubmatch(statements[0])
			if found == nil || found[1] != strconv.Itoa(i+1) {
				t.Fatalf("%s: migration %d says %q", e, i+1, statements[0])
			}
			names, _ := strconv.Atoi(found[2])
			if names < oldest || names > i+1 {
				t.Errorf("%s: migration %d names program %d, the one before %d", e, i+1, names, oldest)
			}
			oldest = names
		}
	}
}

// The next program restores a backup of this one, into either engine, and brings it to its own schema. This one refuses a
// backup of the next. Building the next program takes a while: only `make proof` does this.
func TestMigrate_BackupOfTheSchemaBefore(t *testing.T) {
	if proof.Rounds(0, 1, 1) == 0 {
		return
	}
	row := proof.Row{Name: "a backup of the schema before, restored by the next program", Control: "a backup of the next program, restored by this one", Caught: true}
	for _, e := range engines {
		b := before(t, e, len(migrations(t, e)))
		file, later := filepath.Join(t.TempDir(), "now.backup"), filepath.Join(t.TempDir(), "next.backup")
		b.Ask(t, "backup", file)
		next := proctest.New(t)
		next.Binary = proctest.Next(t)
		if e == (postgresEngine{}) {
			next.Database = pgtest.URL(t)
		}
		takeKey(t, next, b.Program)
		next.Ask(t, "restore", file)
		if has := next.Ask(t, "migrate", "--status")["schema"]; has != float64(len(migrations(t, e))) {
			t.Errorf("%s: the restored store has schema %v", e, has)
		}
		complaints := b.compare(t, next)
		for _, c := range complaints {
			t.Errorf("%s: %s", e, c)
		}
		next.Ask(t, "backup", later)
		old := proctest.New(t)
		takeKey(t, old, b.Program)
		out, err := old.Command("restore", later).CombinedOutput()
		row.Caught = row.Caught && err != nil && strings.Contains(string(out), "newer program")
		row.Lost += len(complaints)
		row.Figures = append(row.Figures, proof.Figure{Name: "answers compared, " + e.String(), Value: len(b.content.answers)})
	}
	row.Report(t)
}
