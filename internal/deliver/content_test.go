package deliver_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/deliver"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/store"
)

// A queue is a store on PostgreSQL with one subscription, and one event for it that was just published.
func queue(t *testing.T) (*store.Store, sheaf.WorkspaceID, sheaf.SubscriptionID) {
	t.Helper()
	ctx, o := context.Background(), store.Options{DatabaseURL: pgtest.URL(t)}
	if err := store.Migrate(ctx, o); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	now := time.Now()
	id := func() string { return sheaf.NewUUID(now, rand.Reader) }
	w := sheaf.Workspace{ID: sheaf.WorkspaceID(id()), Name: "Acme", Plan: sheaf.Pro, CreatedAt: now, Subscriptions: 1}
	hook := sheaf.Subscription{ID: sheaf.SubscriptionID(id()), Name: "hook", URL: "https://hook.example/", Events: []sheaf.EventType{sheaf.ShareCreated},
		Active: true, Number: 1}
	err = s.Write(ctx, func(tx *store.Tx) error {
		if err := tx.InsertWorkspace(w); err != nil {
			return err
		}
		if err := tx.InsertSubscription(w.ID, hook, store.Sealed{Secret: []byte("x")}); err != nil {
			return err
		}
		w.LastEvent = 0
		e := sheaf.Event{ID: sheaf.EventID(sheaf.EventPrefix + id()), Type: sheaf.ShareCreated, ResourceID: id(), At: now, Body: []byte("{}")}
		if err := tx.AppendEvents(&w, []sheaf.Event{e}); err != nil {
			return err
		}
		return tx.SaveWorkspace(w)
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, w.ID, hook.ID
}

func only(t *testing.T, s *store.Store, ws sheaf.WorkspaceID, id sheaf.SubscriptionID) (d sheaf.Delivery) {
	t.Helper()
	err := s.Read(context.Background(), func(r *store.Reader) error {
		page, err := r.Deliveries(ws, id, "", sheaf.Paging{Limit: 10})
		if err == nil {
			d = page.Items[0]
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// PostgreSQL keeps no NUL in a text. An outcome with a NUL could never be recorded, and its POST would be
// repeated for ever. So it is recorded without the endpoint's answer.
func TestRecord_ContentThatTheStoreRejects(t *testing.T) {
	t.Parallel()
	s, ws, id := queue(t)
	var claims []store.Claim
	err := s.Write(context.Background(), func(tx *store.Tx) error {
		found, err := tx.Claim([]store.Lane{{Subscription: id, Room: 1}}, store.Unbounded, time.Now(), time.Now().Add(time.Hour), "token")
		claims = found.Claims
		return err
	})
	if err != nil || len(claims) != 1 {
		t.Fatalf("claimed %d, %v", len(claims), err)
	}
	d := deliver.New(deliver.Config{Store: s, Log: slog.New(slog.DiscardHandler), Now: time.Now, NewToken: rand.Text, Timeout: 5 * time.Minute})
	d.Record(store.Outcome{Claim: claims[0], Ended: time.Now(), Attempt: sheaf.Attempt{StartedAt: time.Now(), StatusCode: 500, Class: "status",
		Error: "a\x00b", ResponseBody: "c\x00d"}})
	if got := only(t, s, ws, id); got.State != sheaf.Failed || got.AttemptCount != 1 || *got.LastStatusCode != 500 {
		t.Errorf("recorded is %+v", got)
	}
}

// A lease ends by the clock of the node that checks it. So a node whose clock is too far from the
// database's neither claims nor releases the claims of others, until its clock is corrected. It logs one
// line whenever that changes.
func TestClock_TooFarFromTheDatabases(t *testing.T) {
	t.Parallel()
	s, ws, id := queue(t)
	err := s.Write(context.Background(), func(tx *store.Tx) error {
		_, err := tx.Claim([]store.Lane{{Subscription: id, Room: 1}}, store.Unbounded, time.Now(), time.Now().Add(10*time.Minute), "another node") // by a clock that is an hour ahead it is over
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var ahead time.Duration
	var log bytes.Buffer
	d := deliver.New(deliver.Config{Store: s, Log: slog.New(slog.NewTextHandler(&log, nil)), Now: func() time.Time { return time.Now().Add(ahead) },
		NewToken: rand.Text, Timeout: time.Second, ClockSlack: deliver.ClockSlack})
	for _, at := range []struct {
		ahead time.Duration
		off   bool
		line  string // that is new in the log
	}{
		{time.Hour, true, "deliveries are not sent: this machine's clock is too far from the database's"},
		{-time.Hour, true, ""},
		{0, false, "deliveries are sent again: the clocks agree"},
		{0, false, ""},
	} {
		ahead = at.ahead
		log.Reset()
		d.PollLanes(context.Background())
		if got := only(t, s, ws, id); got.State != sheaf.Sending || d.ClockOff() != at.off {
			t.Errorf("%v ahead: the other node's delivery is %s, doubted %t", at.ahead, got.State, d.ClockOff())
		}
		if said := log.String(); !strings.Contains(said, at.line) || (at.line == "") != (said == "") {
			t.Errorf("%v ahead: the log says %q, want %q", at.ahead, said, at.line)
		}
	}
}
