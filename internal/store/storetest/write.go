package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// many is how many write at once: as many as the clients of a busy server.
const many = 64

// together runs act many times at once and returns their errors.
func together(act func(n int) error) []error {
	errs := make([]error, many)
	var all sync.WaitGroup
	for n := range many {
		all.Go(func() { errs[n] = act(n) })
	}
	all.Wait()
	return errs
}

var errNo = errors.New("no")

func rollback(f *fixture) {
	before := f.workspace()
	var id sheaf.ProjectID
	err := f.locked(func(tx *store.Tx, w *sheaf.Workspace) error {
		p := sheaf.Project{ID: sheaf.ProjectID(f.id()), Name: "x", CreatedAt: f.now(), UpdatedAt: f.now(), Number: 1}
		id = p.ID
		w.Projects++
		return errors.Join(tx.InsertProject(w.ID, p), tx.AppendEvents(w, []sheaf.Event{f.event(sheaf.ProjectCreated, "x")}),
			tx.SaveWorkspace(*w), errNo)
	})
	f.wantIs(err, errNo)
	_, err = f.loadProject(id)
	f.wantKind(err, sheaf.NotFound)
	same(f, "the workspace", f.workspace(), before)
	if page := f.events(sheaf.EventFilter{}, 0); page.Total != 0 || len(page.Items) != 0 {
		f.Errorf("the log has %+v", page)
	}
}

func panicAlone(f *fixture) {
	_, hash := f.key(nil)
	before := f.workspace()
	errs := together(func(n int) error {
		return f.locked(func(tx *store.Tx, w *sheaf.Workspace) error {
			if err := tx.AppendEvents(w, []sheaf.Event{f.event(sheaf.ProjectCreated, fmt.Sprint(n))}); err != nil {
				return err
			}
			if n%4 == 0 {
				panic("by the test")
			}
			return nil
		})
	})
	for n, err := range errs {
		if (n%4 == 0) != (err != nil) {
			f.Errorf("member %d: got error %v", n, err)
		}
		if err != nil {
			f.wantKind(err, sheaf.Internal)
		}
	}
	want, got := before, f.workspace()
	want.Version, want.LastEvent = before.Version+many*3/4, many*3/4
	want.LastEventAt = got.LastEventAt // of the newest event that was recorded, whichever that is
	same(f, "the workspace", got, want)
	if c, err := f.credential(hash); err != nil || c.Version != want.Version && c.Version != 0 {
		f.Errorf("got version %d, %v, want %d", c.Version, err, want.Version)
	}
}

func failuresAlone(f *fixture) {
	taken := f.project(nil)
	made := make([]sheaf.ProjectID, many)
	errs := together(func(n int) error {
		return f.locked(func(tx *store.Tx, w *sheaf.Workspace) error {
			w.LastNumber++
			p := sheaf.Project{ID: sheaf.ProjectID(f.id()), Name: "x", CreatedAt: f.now(), UpdatedAt: f.now(), Number: w.LastNumber}
			made[n] = p.ID
			if err := tx.InsertProject(w.ID, p); err != nil {
				return err
			}
			switch n % 4 {
			case 1: // a rule says no
				return errNo
			case 2: // a constraint says no
				p.ID, p.Number = taken.ID, w.LastNumber+1
				return tx.InsertProject(w.ID, p)
			}
			w.Projects++
			return nil
		})
	})
	for n, err := range errs {
		want := []error{nil, errNo, store.ErrDuplicate, nil}[n%4]
		f.wantIs(err, want)
		if _, err := f.loadProject(made[n]); (err == nil) != (want == nil) {
			f.Errorf("member %d: its project: %v", n, err)
		}
	}
	if w := f.workspace(); w.Projects != 1+many/2 || w.LastNumber != 1+many/2 {
		f.Errorf("%d projects, last number %d, want %d", w.Projects, w.LastNumber, 1+many/2)
	}
}

// lastSlot has many race for the plan's last keys.
func lastSlot(f *fixture) {
	most := int64(sheaf.Pro.MaxKeys())
	errs := together(func(int) error {
		k, hash := f.newKey()
		return f.store.Write(context.Background(), func(tx *store.Tx) error {
			w, err := tx.LockWorkspace(f.ws.ID)
			if err != nil {
				return err
			}
			live, err := tx.LiveKeys(w.ID, f.ws.CreatedAt)
			if err != nil {
				return err
			}
			if live >= most {
				return errNo
			}
			return tx.InsertKey(w.ID, k, hash)
		})
	})
	passed := int64(0)
	for _, err := range errs {
		if err == nil {
			passed++
		} else {
			f.wantIs(err, errNo)
		}
	}
	if live := len(f.liveKeys(f.ws.CreatedAt)); passed != most || int64(live) != most {
		f.Errorf("%d passed and %d keys live, want %d", passed, live, most)
	}
}

// eventNumbers: no reader ever sees a gap in the numbers. A write that began after the answer to
// another one has the higher number.
func eventNumbers(f *fixture) {
	var answered atomic.Int64
	stop, watched := make(chan struct{}), make(chan error, 1)
	go func() { watched <- f.watchLog(stop) }()
	for _, err := range together(func(n int) error {
		for range 4 {
			if err := f.appendAfter(&answered, 1+n%3); err != nil {
				return err
			}
		}
		return nil
	}) {
		f.must(err)
	}
	close(stop)
	f.must(<-watched)
	page := f.events(sheaf.EventFilter{}, 0)
	for i, e := range page.Items {
		if e.Number != int64(i+1) {
			f.Fatalf("the event at %d has number %d", i, e.Number)
		}
	}
	if last := f.workspace().LastEvent; page.Total != last || int64(len(page.Items)) != last {
		f.Errorf("%d events of %d, the last one is %d", len(page.Items), page.Total, last)
	}
}

// appendAfter appends events and checks that they stand behind every one whose
// writer was answered before.
func (f *fixture) appendAfter(answered *atomic.Int64, n int) error {
	floor, first, last := answered.Load(), int64(0), int64(0)
	err := f.locked(func(tx *store.Tx, w *sheaf.Workspace) error {
		events := make([]sheaf.Event, n)
		for i := range events {
			events[i] = f.event(sheaf.DocumentCreated, "d")
		}
		err := tx.AppendEvents(w, events)
		first, last = events[0].Number, events[n-1].Number
		return err
	})
	if err != nil {
		return err
	}
	if first <= floor {
		return fmt.Errorf("number %d begins behind %d, which was answered before", first, floor)
	}
	for {
		old := answered.Load()
		if old >= last || answered.CompareAndSwap(old, last) {
			return nil
		}
	}
}

// watchLog reads the log until stop and returns what it finds wrong.
func (f *fixture) watchLog(stop chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		page, err := try(f, func(r *store.Reader) (sheaf.Page[sheaf.Event], error) {
			return r.Events(f.ws.ID, sheaf.EventFilter{Paging: sheaf.Paging{Limit: math.MaxInt32}}, 0)
		})
		if err != nil {
			return err
		}
		for i, e := range page.Items {
			if e.Number != int64(i+1) {
				return fmt.Errorf("seen meanwhile: the event at %d has number %d", i, e.Number)
			}
		}
	}
}

// callerLeaves: a caller that stops waiting does not undo a write in progress.
func callerLeaves(f *fixture) {
	ctx, leave := context.WithCancel(context.Background())
	p := sheaf.Project{ID: sheaf.ProjectID(f.id()), Name: "x", CreatedAt: f.now(), UpdatedAt: f.now(), Number: 1}
	err := f.store.Write(ctx, func(tx *store.Tx) error {
		leave()
		if _, err := tx.LockWorkspace(f.ws.ID); err != nil {
			return err
		}
		return tx.InsertProject(f.ws.ID, p)
	})
	f.must(err)
	f.wantProject("written all the same", p)
}

func callerHadLeft(f *fixture) {
	ctx, leave := context.WithCancel(context.Background())
	leave()
	for range 50 {
		err := f.store.Write(ctx, func(*store.Tx) error { f.Error("the closure ran"); return nil })
		f.wantKind(err, sheaf.Unavailable)
		err = f.store.Read(ctx, func(*store.Reader) error { f.Error("the closure ran"); return nil })
		f.wantKind(err, sheaf.Unavailable)
	}
}

// listener: the shared store has other writers, so only what must come is
// asked for, not what must not.
func listener(f *fixture) {
	var told atomic.Int64
	f.store.OnCommit(func(n store.Note) {
		if n.Events {
			told.Add(1)
		}
	})
	before := told.Load()
	err := f.locked(func(tx *store.Tx, w *sheaf.Workspace) error {
		return tx.AppendEvents(w, []sheaf.Event{f.event(sheaf.ShareCreated, "s")})
	})
	f.must(err)
	if told.Load() == before {
		f.Error("the listener was not told before Write returned")
	}
}

// snapshot: what a Reader reads belongs to one moment, whatever commits.
func snapshot(f *fixture) {
	f.project(nil)
	f.read(func(r *store.Reader) error {
		first, err := r.Workspace(f.ws.ID)
		if err != nil {
			return err
		}
		f.project(nil)
		then, err := r.Workspace(f.ws.ID)
		if err != nil {
			return err
		}
		same(f, "the workspace, read twice", then, first)
		page, err := r.Projects(f.ws.ID, sheaf.ProjectFilter{Paging: sheaf.Paging{Limit: 9}})
		if len(page.Items) != 1 || page.Total != 1 {
			f.Errorf("%d projects of %d in the snapshot, want 1", len(page.Items), page.Total)
		}
		return err
	})
}
