package doctor_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaftest/migrated"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/doctor"
	"sheaf.dev/internal/store/engine"
)

// reads is a step of SQLite's plan that reads a table by an index; its last part is what the index is asked for.
var reads = regexp.MustCompile(`SEARCH (\w+) USING .*\((.*)\)`)

// What a check asks of every row that it reads is answered by a key of that row. SQLite once took the index of types for
// the newest event of a project, and the doctor read all events for each of 12,500 projects.
func TestDoctor_AsksForEachRowByItsKey(t *testing.T) {
	t.Parallel()
	s := migrated.Open(t, store.Options{Folder: migrated.Folder(t)})
	looked := 0
	err := s.Read(context.Background(), func(r *store.Reader) error {
		return r.SQL(func(e *engine.Reader) error {
			for name, text := range doctor.Statements() {
				args := []any{1}
				if strings.Contains(text, "$2") {
					args = append(args, 1)
				}
				plans, err := e.Explain(func(r *engine.Reader) error { return r.Query(text, func(*engine.Row) {}, args...) })
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				for _, p := range plans {
					looked += checkInner(t, name, p.Plan)
				}
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if looked < 10 {
		t.Errorf("only %d inner reads were looked at: the plans are worded in another way", looked)
	}
}

// checkInner looks at what is read in correlated subqueries, and returns how many steps that are: none may be narrowed by
// the workspace, or by the workspace and a type, alone.
func checkInner(t *testing.T, name, plan string) (looked int) {
	t.Helper()
	inner := false
	if strings.HasPrefix(plan, "SEARCH w USING INTEGER PRIMARY KEY") {
		return 0 // there is one row of the workspace's own
	}
	for line := range strings.Lines(plan) {
		if strings.Contains(line, "SUBQUERY") {
			inner = strings.Contains(line, "CORRELATED")
		}
		m := reads.FindStringSubmatch(line)
		if !inner || m == nil {
			continue
		}
		looked++
		if m[2] == "ws=?" || m[2] == "ws=? AND type=?" {
			t.Errorf("%s reads %s by (%s) for each row:\n%s", name, m[1], m[2], plan)
		}
	}
	return looked
}
