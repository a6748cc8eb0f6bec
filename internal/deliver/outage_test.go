package deliver_test

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/deliver"
	"sheaf.dev/internal/guard"
	"sheaf.dev/internal/seal"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/store"
)

// The store goes away with attempts under way and deliveries waiting, and the
// program ends without it. The next start sends everything; what had arrived
// and could not be recorded arrives again.
func TestOutage_StoreClosedUnderTheSender(t *testing.T) {
	simulate(t, func(w *world) {
		w.endpoint.on("/a", slowly(2*time.Second, 200))
		w.start()
		id := w.subscribe("/a")
		w.publish(30)
		w.at(time.Second)
		w.must(w.store.Close())
		w.at(5 * time.Second)
		w.stop()
		w.open()
		w.start()
		w.at(w.elapsed() + 10*time.Second)
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Delivered: 30})
		if n := len(w.endpoint.times("/a")); n != 30+deliver.LaneCap {
			t.Errorf("%d requests, want 30 and again the %d that were under way", n, deliver.LaneCap)
		}
	})
}

// One outcome does not fit the present state of its delivery. The other outcomes of the batch are
// recorded, and the delivery is tried again when its lease has expired.
func TestOutage_WrongOutcomeFailsAlone(t *testing.T) {
	simulate(t, func(w *world) {
		id := w.subscribe("/a")
		w.publish(5)
		due := time.Now()
		first := w.claimAsAnother(id)[:1]
		w.record(store.Outcome{Claim: first[0], Ended: due, Retry: &due, Attempt: sheaf.Attempt{StartedAt: due, Class: "status", Error: "500"}})
		w.must(w.store.Write(w.Context(), func(tx *store.Tx) error {
			_, err := tx.ReleaseExpired(due.Add(time.Hour), due)
			return err
		}))
		claims := w.claimAsAnother(id)
		if len(claims) != 5 {
			t.Fatalf("claimed %d, want 5", len(claims))
		}
		d := w.start(oneOfMany)
		for _, c := range claims {
			c.Attempts = 0 // wrong for one of them: there is such an attempt already
			d.Ended(store.Outcome{Claim: c, Ended: due, Attempt: sheaf.Attempt{StartedAt: due, StatusCode: 200}})
		}
		w.at(time.Second)
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Delivered: 4, sheaf.Sending: 1})
		w.wantTimes("/a")
		w.at(lease + time.Second)
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Delivered: 5})
		if n := len(w.endpoint.times("/a")); n != 1 {
			t.Errorf("%d requests, want 1", n)
		}
	})
}

// PostgreSQL crashes with attempts under way, which end while it is away, and
// comes back: everything is delivered, without a restart of the sender.
func TestOutage_PostgreSQLCrashes(t *testing.T) {
	t.Parallel()
	const hangs = 20 * time.Second // for as long as an attempt may be held: they wait for PostgreSQL to be gone
	cluster := pgtest.Start(t)
	o := store.Options{DatabaseURL: cluster.URL()}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.Background()
	must(store.Migrate(ctx, o))
	s, err := store.Open(ctx, o)
	must(err)
	defer s.Close()
	ca, err := sheaftest.NewCA()
	must(err)
	r := newReceiver(t, ca)
	g := guard.New([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	client := deliver.NewClient(deliver.ClientConfig{Timeout: hangs, Control: g.Control, RootCAs: ca.Pool(), PerHost: deliver.LaneCap,
		Blocked: func(err error) bool { return errors.Is(err, guard.ErrBlocked) }})
	defer client.CloseIdle()
	courier := &deliver.Courier{Client: client, Now: time.Now}
	key := make([]byte, 32)
	rand.Read(key)
	box, err := seal.New(key, rand.Reader)
	must(err)
	a := app.New(app.Config{Store: s, Now: time.Now, Random: rand.Reader, Webhooks: app.Webhooks{Box: box, Guard: g, Send: courier.Send}})
	ws, err := a.Operator().CreateWorkspace(ctx, app.NewWorkspace{Name: "Acme", Plan: sheaf.Pro})
	must(err)
	caller := app.Caller{Workspace: ws.ID, User: ws.Owner, Role: sheaf.Owner}
	sub, err := a.CreateSubscription(ctx, caller, sheaf.SubscriptionChange{Name: sheaf.Some("hook"), URL: sheaf.Some(r.url + "/hung"),
		Events: sheaf.Some([]string{"share.created"})})
	must(err)
	publish := func() error {
		_, err := a.PublishEvent(ctx, caller, app.NewEvent{Type: sheaf.ShareCreated, ResourceID: "0198c0de-0000-7000-8000-000000000000", Payload: []byte(`{}`)})
		return err
	}
	for range 30 {
		must(publish())
	}
	d := deliver.New(deliver.Config{Store: s, Box: box, Courier: courier, Log: slog.New(slog.DiscardHandler), Now: time.Now,
		NewToken: rand.Text, Schedule: sheaf.DefaultSchedule, Timeout: hangs})
	s.OnCommit(d.Notice)
	running, cancel := context.WithCancel(ctx)
	done := make(chan error)
	go func() { done <- d.Run(running) }()
	defer func() {
		cancel()
		must(<-done)
	}()

	r.wait(t, "/hung", deliver.LaneCap)
	must(cluster.Stop(pgtest.Immediate))
	r.release() // all that hangs is answered now
	if err := publish(); sheaf.KindOf(err) != sheaf.Unavailable {
		t.Errorf("without a database an event was taken: %v", err)
	}
	time.Sleep(time.Second) // several tries to record and to claim
	must(cluster.Restart())
	must(publish())
	sheaftest.Eventually(t, "31 are delivered", func() bool {
		page, err := a.Deliveries(ctx, caller, sub.ID, sheaf.Delivered, sheaf.Paging{Limit: 100})
		must(err)
		return page.Total == 31
	})
	if n := len(r.events("/hung")); n != 31 {
		t.Errorf("%d events arrived, want 31", n)
	}
}
