package storetest

import (
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// upload adds an upload of that length, which has not begun.
func (f *fixture) upload(length int64, expires time.Time) sheaf.Upload {
	f.Helper()
	u := sheaf.Upload{ID: sheaf.MediumID(f.id()), Filename: "a.png", Length: length, Reserved: length, Owner: sheaf.KeyID(f.id()), Expires: expires}
	f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) error { return tx.InsertUpload(w, u) }))
	return u
}

func (f *fixture) loadUpload(ws sheaf.WorkspaceID, id sheaf.MediumID) (u sheaf.Upload, found bool) {
	f.Helper()
	u = get(f, func(r *store.Reader) (u sheaf.Upload, err error) {
		u, found, err = r.Upload(ws, id)
		return u, err
	})
	if len(u.State) == 0 {
		u.State = nil // an upload that has not begun has none, however the engine reads that
	}
	return u, found
}

// advance goes on with an upload from an offset, and reports whether that was where it was.
func (f *fixture) advance(from int64, u sheaf.Upload) (ok bool) {
	f.Helper()
	f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) (err error) {
		ok, err = tx.AdvanceUpload(w.ID, from, u)
		return err
	}))
	return ok
}

func uploadRoundTrip(f *fixture) {
	d := f.document(nil)
	u := sheaf.Upload{ID: sheaf.MediumID(f.id()), Filename: "größe.png", DocumentID: &d.ID, Length: 1 << 31, Offset: 0, Reserved: 1 << 31,
		Owner: sheaf.KeyID(f.id()), Expires: f.now()}
	f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) error { return tx.InsertUpload(w, u) }))
	got, found := f.loadUpload(f.ws.ID, u.ID)
	same(f, "found", found, true)
	same(f, "the upload", got, u)
	theirs, _ := f.newWorkspace("Theirs")
	_, found = f.loadUpload(theirs.ID, u.ID)
	same(f, "found in another workspace", found, false)
	same(f, "begun by its owner", get(f, func(r *store.Reader) (int64, error) { return r.CountUploads(f.ws.ID, u.Owner) }), int64(1))
	same(f, "begun by another", get(f, func(r *store.Reader) (int64, error) { return r.CountUploads(f.ws.ID, sheaf.KeyID(f.id())) }), int64(0))
	same(f, "begun elsewhere", get(f, func(r *store.Reader) (int64, error) { return r.CountUploads(theirs.ID, u.Owner) }), int64(0))
}

// If two writers continue an upload from the same offset, one of them is refused, and changes nothing.
func uploadAdvances(f *fixture) {
	u := f.upload(100, f.now())
	first, second := u, u
	first.Offset, first.State, first.Expires = 40, []byte("first"), f.now().Add(time.Hour)
	second.Offset, second.State = 60, []byte("second")
	same(f, "the first goes on", f.advance(0, first), true)
	same(f, "so does the second", f.advance(0, second), false)
	got, _ := f.loadUpload(f.ws.ID, u.ID)
	same(f, "it is where the first left it", got, first)
	first.Offset, first.State = 100, []byte("all")
	same(f, "it goes on from there", f.advance(40, first), true)
	same(f, "one that is not there goes on", f.advance(0, sheaf.Upload{ID: sheaf.MediumID(f.id()), Offset: 1, Expires: f.now()}), false)
}

// What an upload reserves counts in the storage, until it is a medium's or the upload is gone.
func uploadReserves(f *fixture) {
	one, two := f.upload(100, f.now()), f.upload(50, f.now())
	f.wantStorage(150)
	f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) error { return tx.ReserveUpload(w, one, 0) }))
	f.wantStorage(50)
	one.Reserved = 0
	f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) error { return tx.DeleteUpload(w, one) }))
	f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) error { return tx.DeleteUpload(w, two) }))
	f.wantStorage(0)
	_, found := f.loadUpload(f.ws.ID, two.ID)
	same(f, "found when it has gone", found, false)
}

// A medium that an upload is about to be is nobody else's, however long that takes, while there is the upload.
func uploadKeepsItsMedium(f *fixture) {
	u := f.upload(5, f.now())
	m := f.newMedium("bytes")
	m.ID = u.ID
	f.pending(m, f.now())
	later := f.now().Add(48 * time.Hour)
	abandoned := func() (found bool) {
		get(f, func(r *store.Reader) (m sheaf.Medium, err error) {
			m, found, err = r.AbandonedMedium(f.ws.ID, u.ID, later)
			return m, err
		})
		return found
	}
	same(f, "abandoned beside its upload", abandoned(), false)
	f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) error { return tx.DeleteUpload(w, u) }))
	same(f, "abandoned without it", abandoned(), true)
}

// Uploads that nobody went on with are found, the oldest first, and no others.
func uploadExpired(f *fixture) {
	now := f.now()
	young, old, older := f.upload(1, now.Add(time.Hour)), f.upload(1, now.Add(-time.Hour)), f.upload(1, now.Add(-2*time.Hour))
	var found []sheaf.MediumID
	for _, u := range get(f, func(r *store.Reader) ([]store.OldUpload, error) { return r.ExpiredUploads(now, 10) }) {
		same(f, "its workspace", u.Workspace, f.ws.ID)
		found = append(found, u.ID)
	}
	same(f, "expired", found, []sheaf.MediumID{older.ID, old.ID})
	same(f, "no more than asked for", len(get(f, func(r *store.Reader) ([]store.OldUpload, error) { return r.ExpiredUploads(now, 1) })), 1)
	_, there := f.loadUpload(f.ws.ID, young.ID)
	same(f, "the young one is there", there, true)
}

// A failed removal is released at once by its owner, and by no one else.
func mediumReleased(f *fixture) {
	m := f.medium("released", nil)
	until := f.now().Add(time.Hour)
	f.remove(m, until)
	take := func() (found bool) {
		f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) (err error) {
			_, found, err = tx.TakeRemoval(w.ID, m.ID, f.now(), until)
			return err
		}))
		return found
	}
	release := func(until time.Time) {
		f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) error {
			return tx.ReleaseRemoval(store.Removal{Workspace: w.ID, Medium: m, Until: until}, f.now())
		}))
	}
	release(until.Add(time.Second)) // somebody else's
	same(f, "taken over while it is held", take(), false)
	release(until)
	same(f, "taken over when it is given up", take(), true)
}
