package engine

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest"
)

// rowsBy changes `n` rows, and bytesBy one row of `n` bytes.
func rowsBy(n int) func(*Tx) error {
	return func(tx *Tx) error {
		for i := range n {
			if err := tx.Exec("UPDATE things SET version = $1 WHERE id = 'w'", i); err != nil {
				return err
			}
		}
		return nil
	}
}

func bytesBy(n int) func(*Tx) error {
	return func(tx *Tx) error {
		return tx.Exec("UPDATE things SET name = $1 WHERE id = 'w'", strings.Repeat("x", n))
	}
}

// A full queue is served in turns by the cost of the tenants' writes, in whatever order they came.
// No light write waits in a group for a heavy one.
func TestWriter_TenantsTakeTurnsByCost(t *testing.T) {
	t.Parallel()
	light := rowsBy(1)
	for name, heavy := range map[string]func(*Tx) error{"rows": rowsBy(2000), "bytes": bytesBy(1 << 20)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sqliteTest(t)
			s.writer.span = time.Hour
			groups := make(chan int, 100)
			s.OnGroup(func(g GroupCommit) { groups <- g.Members })
			var served []string // only the writer's goroutine appends
			as := func(tenant string, fn func(*Tx) error) func(*Tx) error {
				return func(tx *Tx) error {
					served = append(served, tenant)
					return fn(tx)
				}
			}
			inside, release := make(chan struct{}), make(chan struct{})
			var all sync.WaitGroup
			begin := func(tenant string, fn func(*Tx) error) { beginWrite(t, s, &all, tenant, as(tenant, fn)) }
			begin("", func(*Tx) error { close(inside); <-release; return nil })
			<-inside
			for range 4 {
				begin("batches", heavy)
			}
			for range 3 {
				begin("b", light)
				begin("c", light)
			}
			close(release)
			all.Wait()
			// The first batch came first, when its cost was not known.
			if got, want := fmt.Sprint(served), "[ batches b c b c b c batches batches batches]"; got != want {
				t.Errorf("served %s, want %s", got, want)
			}
			close(groups)
			var members []int
			for n := range groups {
				members = append(members, n)
			}
			if members = members[1:]; len(members) < 3 || members[len(members)-1] != 1 || members[len(members)-2] != 1 || members[len(members)-3] != 1 {
				t.Errorf("groups of %v: want the batches, once known, in one each", members)
			}
		})
	}
}

// Writes that are neither light nor heavy share a group only until it costs as much as a heavy one, so
// that a light one in it does not wait for many of them.
func TestWriter_AGroupHasFewCostlyWrites(t *testing.T) {
	t.Parallel()
	s := sqliteTest(t)
	s.writer.span = time.Hour
	groups := make(chan int, 100)
	s.OnGroup(func(g GroupCommit) { groups <- g.Members })
	var all sync.WaitGroup
	begin := func(tenant string, fn func(*Tx) error) { beginWrite(t, s, &all, tenant, fn) }
	inside, release := make(chan struct{}), make(chan struct{})
	begin("", func(*Tx) error { close(inside); <-release; return nil })
	<-inside
	for range 12 {
		begin("batches", rowsBy((heavyCost/2)*rowsOfAWrite)) // each costs about half of a heavy one
	}
	close(release)
	all.Wait()
	close(groups)
	// The first one costs nothing until it has run, so it joins the group that waited.
	if n := len(groups); n < 6 {
		t.Errorf("12 costly writes were committed in %d groups, want at least 6", n)
	}
}

// A tenant whose write makes the whole group run again is charged for that.
func TestWriter_ATenantThatSpoilsTheGroupPays(t *testing.T) {
	t.Parallel()
	s := sqliteTest(t)
	spoil := func(tx *Tx) error {
		if err := rowsBy(1)(tx); err != nil {
			return err
		}
		return errSpoiled
	}
	s.writer.span = time.Hour
	var all sync.WaitGroup
	inside, release := make(chan struct{}), make(chan struct{})
	all.Go(func() { s.Write(context.Background(), func(*Tx) error { close(inside); <-release; return nil }) })
	<-inside
	for i, fn := range []func(*Tx) error{rowsBy(1000), spoil} {
		all.Go(func() { s.WriteIn(context.Background(), fmt.Sprint("tenant ", i), fn) })
		sheaftest.Eventually(t, "it stands in the queue", func() bool { return s.writer.queue.waiting() > i })
	}
	close(release)
	all.Wait()
	if l := s.writer.queue.by["tenant 1"]; l == nil || l.at < 1000/rowsOfAWrite {
		t.Errorf("the tenant was charged %+v", l)
	}
}

// The number of remembered tenants is limited, and they are dropped when no job waits.
func TestQueue_ForgetsTenants(t *testing.T) {
	t.Parallel()
	q := newQueue()
	stays := &job{tenant: "stays"}
	q.put(stays)
	q.charge(stays, 1_000_000)
	for i := range 2 * maxLines {
		j := &job{tenant: fmt.Sprint(i)}
		q.put(j)
		if got, _ := q.next(heavyCost); got != j {
			t.Fatalf("tenant %d was not served before the one that has used most", i)
		}
		q.charge(j, 1)
	}
	if len(q.by) > maxLines+1 || q.waiting() != 1 {
		t.Errorf("%d tenants are remembered, %d jobs wait", len(q.by), q.waiting())
	}
	q.withdraw(stays)
	q.put(&job{tenant: "alone"})
	if len(q.by) != 1 || q.waiting() != 1 {
		t.Errorf("%d tenants are remembered, %d jobs wait", len(q.by), q.waiting())
	}
}

// served serves all jobs of the queue, each as the first of a group, and charges heavy ones for their
// rows. It returns the names in the order of the jobs.
func served(q *queue, names map[*job]string) (out []string) {
	for {
		j, _ := q.next(math.MaxInt64)
		if j == nil {
			return out
		}
		out = append(out, names[j])
		q.charge(j, map[bool]int64{false: 30, true: heavyCost}[j.heavy])
	}
}

// A tenant's heavy write waits for the earlier writes of its own tenant, and keeps no other tenant's
// heavy write waiting meanwhile.
func TestQueue_AHeavyWriteWaitsInItsOwnLine(t *testing.T) {
	t.Parallel()
	q, names := newQueue(), map[*job]string{}
	put := func(tenant string, heavy bool) {
		j := &job{tenant: tenant, heavy: heavy}
		names[j] = fmt.Sprint(tenant, map[bool]string{true: " deletes"}[heavy])
		q.put(j)
	}
	for range 12 {
		put("a", false)
	}
	put("a", true)
	put("b", true)
	order := served(q, names)
	if len(order) != 14 || order[1] != "b deletes" || order[13] != "a deletes" {
		t.Errorf("they ran as %q", order)
	}
}

// Between two heavy writes runs an ordinary one, if one waits. A heavy write joins no group.
func TestQueue_OrdinaryWritesRunBetweenHeavyOnes(t *testing.T) {
	t.Parallel()
	q, names := newQueue(), map[*job]string{}
	put := func(tenant string, heavy bool) {
		j := &job{tenant: tenant, heavy: heavy}
		names[j] = tenant
		q.put(j)
	}
	for _, tenant := range []string{"b", "c", "d"} {
		put(tenant, true)
	}
	put("e", false)
	put("", false)
	if j, waits := q.next(heavyCost); j != nil || !waits {
		t.Errorf("%q joins a group", names[j])
	}
	if got, want := served(q, names), []string{"b", "e", "c", "", "d"}; !slices.Equal(got, want) {
		t.Errorf("they ran as %q, want %q", got, want)
	}
}

// A tenant that returns starts at the cost of the tenants that were served, not of a costly one that was
// only considered. It then has its share before the costly one's next write.
func TestQueue_AReturningTenantHasItsShare(t *testing.T) {
	t.Parallel()
	q := newQueue()
	serve := func(most, cost int64) string {
		j, _ := q.next(most)
		if j == nil {
			return "none"
		}
		q.charge(j, cost)
		return j.tenant
	}
	for range 3 {
		q.put(&job{tenant: "batches"})
	}
	if got := serve(math.MaxInt64, 30); got != "batches" {
		t.Fatalf("%s was served", got)
	}
	if q.expectsLight() {
		t.Error("a light write is expected of a tenant that writes batches")
	}
	for i := range 10 {
		if got := serve(lightCost, 30); got != "none" { // the end of the group before
			t.Fatalf("%s joined a group of light writes", got)
		}
		q.put(&job{tenant: "b"})
		if q.expectsLight() {
			t.Error("a light write is expected while one waits")
		}
		if got := serve(math.MaxInt64, 6); got != "b" {
			t.Fatalf("%s was served before the %dth write of b", got, i+1)
		}
		if want := i < 9; q.expectsLight() != want { // 10 × 6: it has used as much as the other
			t.Errorf("after %d writes of b, the queue expects another: %v", i+1, !want)
		}
	}
	q.put(&job{tenant: "b"})
	if got := serve(math.MaxInt64, 30); got != "batches" {
		t.Errorf("%s was served, although it has used its share", got)
	}
}

// A costly write does not join a group that began with a light one, so that its caller is answered first.
func TestWriter_ACostlyWriteJoinsNoLightGroup(t *testing.T) {
	t.Parallel()
	s := sqliteTest(t)
	s.writer.span = time.Hour
	groups := make(chan int, 100)
	costly := rowsBy((heavyCost / 4) * rowsOfAWrite)
	if err := s.WriteIn(t.Context(), "batches", costly); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	begin := func(tenant string, fn func(*Tx) error) { beginWrite(t, s, &all, tenant, fn) }
	s.OnGroup(func(g GroupCommit) { groups <- g.Members })
	inside, release := make(chan struct{}), make(chan struct{})
	all.Go(func() { s.Write(context.Background(), func(*Tx) error { close(inside); <-release; return nil }) })
	<-inside
	begin("b", rowsBy(1))
	begin("batches", costly) // its cost is unknown, so it joins the group
	begin("batches", costly) // its cost is known
	close(release)
	all.Wait()
	close(groups)
	var got []int
	for n := range groups {
		got = append(got, n)
	}
	if !slices.Equal(got, []int{3, 1}) {
		t.Errorf("groups of %v, want [3 1]", got)
	}
}

// beginWrite starts a write in the background, and returns when it is in the queue. A write without a
// tenant is not awaited: it runs at once.
func beginWrite(t *testing.T, s *SQLite, all *sync.WaitGroup, tenant string, fn func(*Tx) error) {
	t.Helper()
	waiting := s.writer.queue.waiting()
	all.Go(func() {
		if err := s.WriteIn(context.Background(), tenant, fn); err != nil {
			t.Error(err)
		}
	})
	if tenant != "" {
		sheaftest.Eventually(t, "it is in the queue", func() bool { return s.writer.queue.waiting() > waiting })
	}
}
