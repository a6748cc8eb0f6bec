package storetest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

func (f *fixture) events(filter sheaf.EventFilter, after int64) sheaf.Page[sheaf.Event] {
	f.Helper()
	if filter.Limit == 0 {
		filter.Limit = 1000
	}
	return get(f, func(r *store.Reader) (sheaf.Page[sheaf.Event], error) { return r.Events(f.ws.ID, filter, after) })
}

func numbers(events []sheaf.Event) []int64 {
	return ids(events, func(e sheaf.Event) int64 { return e.Number })
}

func eventRoundTrip(f *fixture) {
	if page := f.events(sheaf.EventFilter{}, 0); page.Total != 0 || len(page.Items) != 0 {
		f.Errorf("an empty log has %+v", page)
	}
	byKey := f.event(sheaf.ProjectDeleted, "p")
	byKey.Key = 7
	log := f.append(f.event(sheaf.ProjectCreated, "p"), byKey)
	log = append(log, f.append(f.event(sheaf.FolderCreated, "f"))...)
	same(f, "the log", f.events(sheaf.EventFilter{}, 0).Items, log)
	same(f, "numbers", numbers(log), []int64{1, 2, 3})
	if last := f.workspace().LastEvent; last != 3 {
		f.Errorf("the workspace's last event is %d, want 3", last)
	}
	got := get(f, func(r *store.Reader) (sheaf.Event, error) { return r.Event(f.ws.ID, log[1].ID) })
	same(f, "one event", got, log[1])
	_, err := try(f, func(r *store.Reader) (sheaf.Event, error) { return r.Event(f.ws.ID, sheaf.EventID(f.id())) })
	f.wantKind(err, sheaf.NotFound)
	theirs, _ := f.newWorkspace("Theirs")
	_, err = try(f, func(r *store.Reader) (sheaf.Event, error) { return r.Event(theirs.ID, log[1].ID) })
	f.wantKind(err, sheaf.NotFound)

	repeated := func(tx *store.Tx, w *sheaf.Workspace) error { return tx.AppendEvents(w, []sheaf.Event{log[0]}) }
	f.wantIs(f.locked(repeated), store.ErrDuplicate)
	stale := func(tx *store.Tx) error {
		w := f.ws // whose last event is 0
		return tx.AppendEvents(&w, []sheaf.Event{f.event(sheaf.FolderCreated, "x")})
	}
	f.wantIs(f.store.Write(context.Background(), stale), store.ErrDuplicate)
}

// eventMany crosses the sizes in which rows are inserted together.
func eventMany(f *fixture) {
	var log []sheaf.Event
	for _, n := range []int{0, 1, 7, 8, 9, 63, 64, 65, 73, 200} {
		events := make([]sheaf.Event, n)
		for i := range events {
			events[i] = f.event(sheaf.DocumentUpdated, fmt.Sprint(i))
		}
		log = append(log, f.append(events...)...)
	}
	same(f, "the log", f.events(sheaf.EventFilter{}, 0).Items, log)
}

func eventFilters(f *fixture) {
	log := f.append(f.event(sheaf.ProjectCreated, "a"), f.event(sheaf.ProjectUpdated, "a"), f.event(sheaf.ProjectCreated, "b"),
		f.event(sheaf.ProjectUpdated, "b"), f.event(sheaf.ProjectUpdated, "a"))
	for _, c := range []struct {
		filter sheaf.EventFilter
		after  int64
		want   []int64
	}{
		{sheaf.EventFilter{}, 0, []int64{1, 2, 3, 4, 5}},
		{sheaf.EventFilter{}, 3, []int64{4, 5}},
		{sheaf.EventFilter{}, 5, []int64{}},
		{sheaf.EventFilter{}, 99, []int64{}},
		{sheaf.EventFilter{Type: sheaf.ProjectUpdated}, 0, []int64{2, 4, 5}},
		{sheaf.EventFilter{Type: sheaf.ProjectUpdated}, 2, []int64{4, 5}},
		{sheaf.EventFilter{Type: sheaf.ShareCreated}, 0, []int64{}},
		{sheaf.EventFilter{Resource: resource("a")}, 0, []int64{1, 2, 5}},
		{sheaf.EventFilter{Resource: resource("A")}, 0, []int64{}},
		{sheaf.EventFilter{Since: &log[2].At}, 0, []int64{3, 4, 5}},
		{sheaf.EventFilter{Since: ptr(log[2].At.Add(time.Millisecond))}, 0, []int64{4, 5}},
		{sheaf.EventFilter{Type: sheaf.ProjectUpdated, Resource: resource("a"), Since: &log[2].At}, 1, []int64{5}},
		{sheaf.EventFilter{Paging: sheaf.Paging{Limit: 2, Offset: 1, Desc: true}}, 2, []int64{4, 3}},
	} {
		page := f.events(c.filter, c.after)
		same(f, fmt.Sprintf("%+v after %d", c.filter, c.after), numbers(page.Items), c.want)
		if c.filter.Offset == 0 && page.Total != int64(len(c.want)) {
			f.Errorf("%+v after %d: total %d, want %d", c.filter, c.after, page.Total, len(c.want))
		}
	}
}

func eventPages(f *fixture) {
	const n = 31
	for range n {
		f.append(f.event(sheaf.DocumentCreated, "d"))
	}
	rapid.Check(f.T, func(t *rapid.T) {
		p := drawPaging(t, n)
		after := rapid.Int64Range(0, n+3).Draw(t, "after")
		all := []int64{}
		for i := after + 1; i <= n; i++ {
			all = append(all, i)
		}
		if p.Desc {
			slices.Reverse(all)
		}
		page := f.events(sheaf.EventFilter{Paging: p}, after)
		wantPage(t, numbers(page.Items), page.Total, all, p)
	})
}

func oldEvents(f *fixture) {
	var log []sheaf.Event
	cut := f.now()
	for i := range 20 {
		e := f.event(sheaf.DocumentCreated, "d")
		e.At = cut.Add(-time.Hour) // all of one moment, as a cascade makes them
		if i >= 15 {
			e.At = cut
		}
		e.Reported = i%4 == 0
		log = append(log, e)
	}
	f.append(log...)
	size := len(log[0].Body)
	f.wantKept(5 * size)
	for _, c := range []struct {
		removed, left int64
	}{{10, 10}, {5, 5}, {0, 5}} {
		var n int64
		f.write(func(tx *store.Tx) (err error) {
			last, err := tx.LastOld(f.ws.ID, cut)
			if err == nil {
				n, err = tx.DeleteEvents(f.ws.ID, last, 10)
			}
			return err
		})
		page := f.events(sheaf.EventFilter{}, 0)
		want := make([]int64, 0, c.left)
		for i := 20 - c.left; i < 20; i++ {
			want = append(want, i+1)
		}
		same(f, "the oldest go first", numbers(page.Items), want)
		if n != c.removed || page.Total != c.left {
			f.Errorf("removed %d, total %d, want %d and %d", n, page.Total, c.removed, c.left)
		}
	}
	f.wantKept(size) // the reported one among the five that are left
	if total := f.events(sheaf.EventFilter{}, 17).Total; total != 3 {
		f.Errorf("after 17 the total is %d, want 3", total)
	}
	if total := f.events(sheaf.EventFilter{}, 3).Total; total != 5 {
		f.Errorf("after an event that is gone the total is %d, want 5", total)
	}
}
