// Package race lets clients act at the same moment on what only one of them can have, and looks whether the promises
// held. The same contests are run against naive SQL, which checks and then acts: each must catch it.
package race

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/sheaftest/proof"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sheaftest.Patient(m)) }

// racers is how many clients are let go at once for something that is short.
const racers = 8

// contest is one race. It prepares a workspace and returns the clients, which run at once, and the judge, who says
// afterwards what broke a promise.
type contest struct {
	name string
	// begin makes the workspace of a round.
	begin func(s site) (clients []func(), judge func() []string)
}

var contests = []contest{
	{"the last key", lastKey},
	{"the last subscription", lastSubscription},
	{"the last record", lastRecord},
	{"the same Idempotency-Key", sameIdempotencyKey},
	{"the same If-Match", sameIfMatch},
	{"A under B while B under A", crossedMoves},
	{"a child while its parent is deleted", orphans},
	{"creating while downgraded", downgrade},
}

// run runs a contest for `rounds` rounds, and returns the complaints of the first round that has any.
func (c contest) run(s site, rounds int) (complaints []string) {
	for range rounds {
		clients, judge := c.begin(s)
		start := make(chan struct{})
		var group sync.WaitGroup
		for _, client := range clients {
			group.Go(func() {
				<-start
				client()
			})
		}
		close(start)
		group.Wait()
		if complaints = judge(); len(complaints) > 0 {
			return complaints
		}
	}
	return nil
}

func TestRaces_SQLite(t *testing.T) {
	t.Parallel()
	prove(t, "SQLite", apitest.SQLite(t), naiveSQLite(t))
}

func TestRaces_Postgres(t *testing.T) {
	t.Parallel()
	prove(t, "PostgreSQL", apitest.Postgres(t), naivePostgres(t))
}

func TestRaces_TwoNodes(t *testing.T) {
	t.Parallel()
	prove(t, "two nodes on PostgreSQL", apitest.Nodes(t), naivePostgres(t))
}

// prove runs every contest on the API, and on naive SQL until it is caught.
func prove(t *testing.T, name string, a *apitest.API, naive site) {
	a.MaxRecords.Store(maxRecords)
	rounds := proof.Rounds(10, 200, 1_000)
	row := proof.Row{Name: "races, " + name, Control: "naive SQL that checks, then acts: each contest", Caught: true}
	for _, c := range contests {
		for _, complaint := range c.run(api{a}, rounds) {
			t.Errorf("%s: %s", c.name, complaint)
			row.Lost++
		}
		caught := c.run(naive, patience)
		t.Logf("%s, by naive SQL: %s", c.name, strings.Join(caught, "; "))
		row.Caught = row.Caught && len(caught) > 0
	}
	for _, v := range a.Doctor() {
		t.Errorf("doctor: %s", v)
		row.Lost++
	}
	row.Figures = []proof.Figure{{Name: "contests", Value: len(contests)}, {Name: "rounds each", Value: rounds}, {Name: "violations", Value: row.Lost}}
	row.Report(t)
}

// patience is how many rounds naive SQL gets to show that it is. Most contests catch it within three.
const patience = 1_000

// complain gathers what a judge says.
type complain []string

func (c *complain) unless(ok bool, format string, args ...any) {
	if !ok {
		*c = append(*c, fmt.Sprintf(format, args...))
	}
}
