package storetest

import (
	"context"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

func once(body string) store.Once {
	return store.Once{Method: "POST", Path: "/api/v1/projects", Key: "k1", BodyHash: []byte(body)}
}

func (f *fixture) remembered(o store.Once, since time.Time) (a store.Answer, found bool, err error) {
	err = f.store.Read(context.Background(), func(r *store.Reader) (err error) {
		a, found, _, err = r.Remembered(f.ws.ID, o, since)
		return err
	})
	return a, found, err
}

func (f *fixture) remember(o store.Once, a store.Answer, now time.Time) {
	f.Helper()
	f.write(func(tx *store.Tx) error {
		w, err := tx.LockWorkspace(f.ws.ID)
		if err != nil {
			return err
		}
		_, _, expired, err := tx.Remembered(w.ID, o, now)
		if err != nil {
			return err
		}
		if err := tx.Remember(&w, o, a, expired, now); err != nil {
			return err
		}
		return tx.SaveWorkspace(w)
	})
}

func (f *fixture) wantAnswer(o store.Once, since time.Time, want store.Answer) {
	f.Helper()
	got, found, err := f.remembered(o, since)
	if !found || err != nil {
		f.Fatalf("got %t, %v, want the answer", found, err)
	}
	same(f, "answer", got, want)
}

func onceRemembered(f *fixture) {
	now := f.now()
	if _, found, err := f.remembered(once("h"), now); found || err != nil {
		f.Errorf("before any: got %t, %v", found, err)
	}
	answer := store.Answer{Status: 201, Location: "/api/v1/projects/1", ETag: `"1"`, Body: []byte(`{"name":"é'\""}`)}
	f.remember(once("h"), answer, now)
	f.wantAnswer(once("h"), now.Add(-1e6), answer)

	for what, other := range map[string]func(*store.Once){
		"method": func(o *store.Once) { o.Method = "PATCH" },
		"path":   func(o *store.Once) { o.Path += "/" },
		"key":    func(o *store.Once) { o.Key = "K1" },
	} {
		o := once("h")
		other(&o)
		if _, found, err := f.remembered(o, now.Add(-1e6)); found || err != nil {
			f.Errorf("another %s: got %t, %v, want none", what, found, err)
		}
	}
	mine := f.ws
	f.ws, _ = f.newWorkspace("Theirs")
	if _, found, err := f.remembered(once("h"), now.Add(-1e6)); found || err != nil {
		f.Errorf("another workspace: got %t, %v, want none", found, err)
	}
	f.ws = mine

	empty := store.Once{Method: "DELETE", Path: "/", Key: "k2", BodyHash: []byte{}}
	f.remember(empty, store.Answer{Status: 204, Body: []byte{}}, now)
	f.wantAnswer(empty, now.Add(-1e6), store.Answer{Status: 204, Body: []byte{}})
}

func onceConflict(f *fixture) {
	now := f.now()
	f.remember(once("one"), store.Answer{Status: 201}, now)
	_, found, err := f.remembered(once("two"), now.Add(-1e6))
	f.wantKind(err, sheaf.Conflict)
	if found {
		f.Error("an answer to another body was found")
	}
}

func onceExpired(f *fixture) {
	now := f.now()
	f.remember(once("one"), store.Answer{Status: 201}, now)
	if _, found, err := f.remembered(once("two"), now); found || err != nil {
		f.Errorf("expired: got %t, %v, want none and no conflict", found, err)
	}
	later := store.Answer{Status: 202, Location: "/x", ETag: `"2"`, Body: []byte("later")}
	f.remember(once("two"), later, now.Add(time.Hour))
	f.wantKept(len("/api/v1/projects" + "k1" + "/x" + `"2"` + "later")) // and nothing of the one that it replaced
	f.wantAnswer(once("two"), now, later)
	_, _, err := f.remembered(once("one"), now)
	f.wantKind(err, sheaf.Conflict)
}

func oldAnswers(f *fixture) {
	now := f.now()
	for i := range 5 {
		o := once("h")
		o.Key = string(rune('a' + i))
		f.remember(o, store.Answer{Status: 200 + i, Body: []byte{}}, now.Add(time.Duration(i)*time.Second))
	}
	mine := f.ws
	f.ws, _ = f.newWorkspace("Theirs")
	f.remember(once("h"), store.Answer{Status: 200, Body: []byte("theirs")}, now.Add(1500*time.Millisecond))
	theirs := f.ws
	f.ws = mine
	one := len("/api/v1/projects" + "a")
	f.wantKept(5 * one)
	// The second look at two finds one of each workspace, and takes that of the older.
	for _, want := range []int64{2, 1, 1, 0} {
		var n int64
		f.write(func(tx *store.Tx) (err error) {
			n, err = tx.DeleteAnswers(now.Add(3*time.Second), 2)
			return err
		})
		if n != want {
			f.Errorf("removed %d answers, want %d", n, want)
		}
	}
	f.wantKept(2 * one)
	f.ws = theirs
	f.wantKept(0)
	f.ws = mine
	o := once("h")
	o.Key = "d"
	f.wantAnswer(o, now, store.Answer{Status: 203, Body: []byte{}})
}
