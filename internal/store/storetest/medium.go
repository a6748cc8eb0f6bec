package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// newMedium returns a medium of these bytes that is not stored.
func (f *fixture) newMedium(content string) sheaf.Medium {
	sum := sha256.Sum256([]byte(content))
	return sheaf.Medium{ID: sheaf.MediumID(f.id()), Filename: "a.png", ContentType: "image/png", Bytes: int64(len(content)),
		SHA256: hex.EncodeToString(sum[:]), Revision: 1, CreatedAt: f.now()}
}

// pending adds a medium whose bytes are not written yet.
func (f *fixture) pending(m sheaf.Medium, until time.Time) sheaf.Medium {
	f.Helper()
	f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) error {
		w.Storage += m.Bytes
		return tx.InsertMedium(w.ID, m, until)
	}))
	return m
}

// medium adds a live medium of these bytes; change may alter it first.
func (f *fixture) medium(content string, change func(*sheaf.Medium)) sheaf.Medium {
	f.Helper()
	m := f.newMedium(content)
	if change != nil {
		change(&m)
	}
	f.pending(m, f.now())
	f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) error {
		w.LastNumber++
		m.Number, m.CreatedAt = w.LastNumber, f.now()
		return tx.PublishMedium(w.ID, m)
	}))
	return m
}

// remove takes a medium away, and reports whether its bytes are to be removed.
func (f *fixture) remove(m sheaf.Medium, until time.Time) (bytes bool) {
	f.Helper()
	f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) (err error) {
		bytes, err = tx.RemoveMedium(w, m, until)
		return err
	}))
	return bytes
}

func (f *fixture) loadMedium(id sheaf.MediumID) (sheaf.Medium, error) {
	return try(f, func(r *store.Reader) (sheaf.Medium, error) { return r.Medium(f.ws.ID, id) })
}

func (f *fixture) wantMedium(what string, want sheaf.Medium) {
	f.Helper()
	got, err := f.loadMedium(want.ID)
	f.must(err)
	same(f, what, got, want)
}

func (f *fixture) media(filter sheaf.MediumFilter) []sheaf.MediumID {
	f.Helper()
	filter.Limit = 10
	page := get(f, func(r *store.Reader) (sheaf.Page[sheaf.Medium], error) { return r.Media(f.ws.ID, filter) })
	if int(page.Total) != len(page.Items) {
		f.Errorf("%+v: the total is %d, and there are %d", filter, page.Total, len(page.Items))
	}
	return ids(page.Items, func(m sheaf.Medium) sheaf.MediumID { return m.ID })
}

func mediumRoundTrip(f *fixture) {
	d := f.document(nil)
	m := f.medium("picture", func(m *sheaf.Medium) { m.Width, m.Height, m.DocumentID = ptr[int64](3), ptr[int64](4), &d.ID })
	f.wantMedium("live", m)
	f.wantStorage(len("picture"))
	m.Filename, m.DocumentID, m.Revision = "b.png", nil, 2
	f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) error { return tx.UpdateMedium(w.ID, m) }))
	f.wantMedium("changed", m)

	theirs, _ := f.newWorkspace("Theirs")
	_, err := try(f, func(r *store.Reader) (sheaf.Medium, error) { return r.Medium(theirs.ID, m.ID) })
	f.wantKind(err, sheaf.NotFound)
	dangling := f.newMedium("x")
	dangling.DocumentID = ptr(sheaf.DocumentID(f.id()))
	f.wantIs(f.store.Write(context.Background(), func(tx *store.Tx) error { return tx.InsertMedium(f.ws.ID, dangling, f.now()) }), store.ErrReference)
}

func mediumLists(f *fixture) {
	d := f.document(nil)
	of := func(kind string, id *sheaf.DocumentID) func(*sheaf.Medium) {
		return func(m *sheaf.Medium) { m.ContentType, m.DocumentID = kind, id }
	}
	png, jpeg := f.medium("1", of("image/png", &d.ID)), f.medium("2", of("image/jpeg", nil))
	film := f.medium("3", of("video/mp4", &d.ID))
	f.pending(f.newMedium("4"), f.now())
	for name, test := range map[string]struct {
		filter sheaf.MediumFilter
		want   []sheaf.MediumID
	}{
		"all":            {sheaf.MediumFilter{}, []sheaf.MediumID{png.ID, jpeg.ID, film.ID}},
		"reversed":       {sheaf.MediumFilter{Paging: sheaf.Paging{Desc: true}}, []sheaf.MediumID{film.ID, jpeg.ID, png.ID}},
		"of a document":  {sheaf.MediumFilter{Document: sheaf.Some(d.ID)}, []sheaf.MediumID{png.ID, film.ID}},
		"of none":        {sheaf.MediumFilter{Document: sheaf.Nil[sheaf.DocumentID]()}, []sheaf.MediumID{jpeg.ID}},
		"pictures":       {sheaf.MediumFilter{ContentType: "image/"}, []sheaf.MediumID{png.ID, jpeg.ID}},
		"of a type":      {sheaf.MediumFilter{ContentType: "image/png"}, []sheaf.MediumID{png.ID}},
		"of no type":     {sheaf.MediumFilter{ContentType: "image/p%"}, []sheaf.MediumID{}},
		"both narrow it": {sheaf.MediumFilter{ContentType: "image", Document: sheaf.Some(d.ID)}, []sheaf.MediumID{png.ID}},
	} {
		same(f, name, f.media(test.filter), test.want)
	}
}

// Nobody sees a medium before its bytes are there, and it counts from the beginning.
func mediumPending(f *fixture) {
	m := f.pending(f.newMedium("bytes"), f.now())
	f.wantStorage(5)
	_, err := f.loadMedium(m.ID)
	f.wantKind(err, sheaf.NotFound)
	same(f, "in no list", f.media(sheaf.MediumFilter{}), []sheaf.MediumID{})
	f.wantKind(f.locked(func(tx *store.Tx, w *sheaf.Workspace) error { return tx.UpdateMedium(w.ID, m) }), sheaf.NotFound)
	if !f.remove(m, f.now()) {
		f.Error("what an upload left is not to be removed")
	}
	f.wantStorage(0)
	f.wantKind(f.locked(func(tx *store.Tx, w *sheaf.Workspace) error { return tx.PublishMedium(w.ID, m) }), sheaf.NotFound)
}

// Equal bytes are stored once, and go with the last medium that has them.
func mediumEqualBytes(f *fixture) {
	one, two := f.medium("same", nil), f.medium("same", nil)
	f.wantStorage(8)
	until := f.now()
	if f.remove(one, until) {
		f.Error("the bytes of another medium were to be removed")
	}
	f.wantStorage(4)
	f.wantMedium("the other is as it was", two)
	same(f, "whether any has the bytes", f.hasBytes(two), true)
	if !f.remove(two, until) {
		f.Error("the last medium went, and its bytes stayed")
	}
	f.wantStorage(0)
	rm, found, err := f.removing(two)
	f.must(err)
	if !found || rm.Medium.ID != two.ID || !rm.Until.Equal(until) || rm.Workspace != f.ws.ID {
		f.Errorf("the removal is %+v, %t", rm, found)
	}
	f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) error { return tx.SettleMedium(w.ID, two.ID) }))
	if _, found, err := f.removing(two); found || err != nil {
		f.Errorf("after it was settled the removal is there: %t, %v", found, err)
	}
	same(f, "whether any has the bytes", f.hasBytes(two), false)
}

func (f *fixture) removing(m sheaf.Medium) (rm store.Removal, found bool, err error) {
	err = f.store.Read(context.Background(), func(r *store.Reader) (err error) {
		rm, found, err = r.RemovingBytes(f.ws.ID, m.SHA256)
		return err
	})
	return rm, found, err
}

func (f *fixture) hasBytes(m sheaf.Medium) bool {
	f.Helper()
	return get(f, func(r *store.Reader) (bool, error) { return r.HasBytes(f.ws.ID, m.SHA256) })
}

// A removal is taken over by one alone, when its time is over; a live medium is never settled away.
func mediumTakenOver(f *fixture) {
	m := f.medium("bytes", nil)
	f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) error { return tx.SettleMedium(w.ID, m.ID) }))
	f.wantMedium("not settled", m)
	until := f.now()
	f.remove(m, until)
	take := func(now time.Time) (found bool) {
		f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) (err error) {
			_, found, err = tx.TakeRemoval(w.ID, m.ID, now, now.Add(time.Minute))
			return err
		}))
		return found
	}
	same(f, "before its time", take(until.Add(-time.Millisecond)), false)
	same(f, "at its time", take(until), true)
	same(f, "a second time", take(until), false)
	same(f, "when that time is over", take(until.Add(time.Minute)), true)
}

// What is not live is found when its time is over, the oldest first, in whatever workspace.
func mediumUnsettled(f *fixture) {
	live := f.medium("live", nil)
	upload := f.pending(f.newMedium("upload"), f.now())
	removed := f.medium("removed", nil)
	f.remove(removed, f.now())
	stray := f.newMedium("stray")
	f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) error { return tx.InsertRemoval(w.ID, stray, f.now()) }))
	later := f.pending(f.newMedium("later"), f.now().Add(time.Hour))
	got := get(f, func(r *store.Reader) ([]store.Unsettled, error) { return r.UnsettledMedia(f.now(), 10) })
	same(f, "what no process works on", got, []store.Unsettled{{Workspace: f.ws.ID, Pending: true, ID: upload.ID},
		{Workspace: f.ws.ID, ID: removed.ID}, {Workspace: f.ws.ID, ID: stray.ID}})
	got = get(f, func(r *store.Reader) ([]store.Unsettled, error) { return r.UnsettledMedia(f.now(), 1) })
	same(f, "at most one", len(got), 1)
	for id, want := range map[sheaf.MediumID]bool{upload.ID: true, later.ID: false, live.ID: false, removed.ID: false} {
		f.read(func(r *store.Reader) error {
			_, found, err := r.AbandonedMedium(f.ws.ID, id, f.now())
			same(f, fmt.Sprintf("abandoned %s", id), found, want)
			return err
		})
	}
}

// A document that goes for good leaves its media behind.
func mediumOfPurgedDocument(f *fixture) {
	d := f.document(nil)
	m := f.medium("picture", func(m *sheaf.Medium) { m.DocumentID = &d.ID })
	p := f.newMedium("pending")
	p.DocumentID = &d.ID
	f.pending(p, f.now())
	gone := d
	gone.Deleted = ptr(f.now())
	f.change(d, gone, -1)
	f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) error {
		_, err := tx.PurgeDocument(w.ID, d.ID)
		return err
	}))
	m.DocumentID, m.Revision = nil, 2
	f.wantMedium("of no document", m)
}
