package sweep_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/sweep"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sheaftest.Patient(m)) }

const retention = 30 * 24 * time.Hour

// yard is a workspace to fill and to sweep.
type yard struct {
	*testing.T
	*apitest.API
	ws *apitest.Workspace
	s  *sweep.Sweeper // one process
	// set is how far the wall clock was set ahead. The monotonic clock does not include it.
	set  time.Duration
	told lines
}

// lines is what the log says.
type lines []string

func (l *lines) Write(line []byte) (int, error) {
	*l = append(*l, string(line))
	return len(line), nil
}

func each(t *testing.T, test func(y *yard)) {
	eachUnswept(t, func(y *yard) {
		y.start()
		test(y)
	})
}

// eachUnswept is each for a store that was never swept.
func eachUnswept(t *testing.T, test func(y *yard)) {
	t.Parallel()
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
		test(&yard{T: t, API: a, ws: a.Workspace(sheaf.Business)})
	})
}

func (y *yard) must(err error) {
	y.Helper()
	if err != nil {
		y.Fatal(err)
	}
}

func (y *yard) write(fn func(tx *store.Tx, w *sheaf.Workspace) error) {
	y.Helper()
	y.must(y.tryWrite(fn))
}

func (y *yard) tryWrite(fn func(tx *store.Tx, w *sheaf.Workspace) error) error {
	return y.Store.Write(context.Background(), func(tx *store.Tx) error {
		w, err := tx.LockWorkspace(y.ws.ID)
		if err != nil {
			return err
		}
		if err := fn(tx, &w); err != nil {
			return err
		}
		return tx.SaveWorkspace(w)
	})
}

func (y *yard) id() string { return sheaf.NewUUID(y.Clock.Now(), rand.Reader) }

func (y *yard) subscribe() sheaf.SubscriptionID {
	y.Helper()
	s := sheaf.Subscription{ID: sheaf.SubscriptionID(y.id()), Name: "hook", URL: "https://hook.example/", Active: true,
		Events: []sheaf.EventType{sheaf.ShareCreated}, CreatedAt: y.Clock.Now(), UpdatedAt: y.Clock.Now(), Revision: 1}
	y.write(func(tx *store.Tx, w *sheaf.Workspace) error {
		w.Subscriptions++
		w.LastNumber++
		s.Number = w.LastNumber
		return tx.InsertSubscription(w.ID, s, store.Sealed{Secret: []byte("x")})
	})
	return s.ID
}

// publish adds n events of one moment, as a cascade does.
func (y *yard) publish(n int) {
	y.Helper()
	y.write(func(tx *store.Tx, w *sheaf.Workspace) error { return y.appendEvents(tx, w, n) })
}

func (y *yard) appendEvents(tx *store.Tx, w *sheaf.Workspace, n int) error {
	events := make([]sheaf.Event, n)
	for i := range events {
		events[i] = sheaf.Event{ID: sheaf.EventID("evt_" + y.id()), Type: sheaf.ShareCreated, ResourceID: "0198c0de-0000-7000-8000-000000000000", At: y.Clock.Now(), Body: []byte(`{}`), Reported: i%3 == 0}
	}
	return tx.AppendEvents(w, events)
}

// attempt claims and records one attempt of everything that waits in a lane.
func (y *yard) attempt(id sheaf.SubscriptionID) []sheaf.DeliveryID {
	y.Helper()
	var out []sheaf.DeliveryID
	y.write(func(tx *store.Tx, w *sheaf.Workspace) error {
		out = nil
		now := y.Clock.Now()
		found, err := tx.Claim([]store.Lane{{Subscription: id, Room: 10_000}}, store.Unbounded, now, now.Add(time.Minute), y.id())
		if err != nil {
			return err
		}
		var outcomes []store.Outcome
		for _, c := range found.Claims {
			outcomes = append(outcomes, store.Outcome{Claim: c, Ended: now, Attempt: sheaf.Attempt{StartedAt: now, StatusCode: 200}})
			out = append(out, c.Delivery)
		}
		return tx.Record(outcomes, nil) // none fails
	})
	return out
}

// start begins a process, which sweeps at once.
func (y *yard) start() {
	y.Helper()
	epoch := y.Clock.Now().Add(-y.set)
	y.s = sweep.New(sweep.Config{Store: y.Store, Log: slog.New(slog.NewTextHandler(&y.told, nil)), Now: y.Clock.Now, Retention: retention,
		PurgeTrash: y.App.Operator().PurgeTrash,
		Elapsed:    func() time.Duration { return y.Clock.Now().Add(-y.set).Sub(epoch) }})
	y.sweep()
}

// sweep does the chores. The counted bytes of events and answers must match what is left of them.
func (y *yard) sweep() {
	y.Helper()
	y.must(y.s.Once(context.Background()))
	for _, line := range y.Doctor() {
		if strings.Contains(line, "reported event") || strings.Contains(line, "kept answer") {
			y.Error(line)
		}
	}
}

// setAhead sets the wall clock ahead.
func (y *yard) setAhead(by time.Duration) {
	y.Clock.Advance(by)
	y.set += by
}

func (y *yard) read(fn func(r *store.Reader) error) {
	y.Helper()
	y.must(y.Store.Read(context.Background(), fn))
}

// left returns how many deliveries of a subscription, and how many attempts of those deliveries,
// are stored.
func (y *yard) left(id sheaf.SubscriptionID, of []sheaf.DeliveryID) (deliveries, attempts int) {
	y.Helper()
	y.read(func(r *store.Reader) error {
		page, err := r.Deliveries(y.ws.ID, id, "", sheaf.Paging{Limit: 100_000})
		deliveries = len(page.Items)
		for _, d := range of {
			if err == nil {
				var all []sheaf.Attempt
				all, err = r.Attempts(y.ws.ID, d)
				attempts += len(all)
			}
		}
		return err
	})
	return deliveries, attempts
}

// log returns the numbers of the first and the last event, the number of events by the shortcut,
// and the number by counting.
func (y *yard) log() (first, last, total, counted int64) {
	y.Helper()
	y.read(func(r *store.Reader) error {
		page, err := r.Events(y.ws.ID, sheaf.EventFilter{Paging: sheaf.Paging{Limit: 100_000}}, 0)
		if err == nil && len(page.Items) > 0 {
			first, last = page.Items[0].Number, page.Items[len(page.Items)-1].Number
		}
		total, counted = page.Total, int64(len(page.Items))
		return err
	})
	return first, last, total, counted
}

// D72: events and deliveries are deleted after their time.
func TestOnce_RemovesWhatIsKeptNoLonger(t *testing.T) {
	each(t, func(y *yard) {
		id := y.subscribe()
		y.publish(450) // more than two batches
		done := y.attempt(id)
		y.publish(50) // these still wait
		y.Clock.Advance(retention - time.Millisecond)
		y.publish(7)
		y.sweep()
		if d, a := y.left(id, done); d != 507 || a != 450 {
			y.Fatalf("a moment too early %d deliveries and %d attempts are left", d, a)
		}
		y.Clock.Advance(2 * time.Millisecond)
		y.sweep()
		if d, a := y.left(id, done); d != 57 || a != 0 {
			y.Errorf("%d deliveries and %d attempts are left, want those that wait, 57, and 0", d, a)
		}
		if first, last, total, counted := y.log(); first != 451 || last != 507 || total != 57 || counted != 57 {
			y.Errorf("the log is %d to %d, total %d, counted %d", first, last, total, counted)
		}
		y.publish(1)
		if _, last, _, _ := y.log(); last != 508 {
			y.Errorf("the next event has the number %d, want 508", last)
		}
		if n := len(y.attempt(id)); n != 58 {
			y.Errorf("%d of the 58 that are left can be sent", n)
		}
		y.sweep()
		if first, _, total, _ := y.log(); first != 501 || total != 8 {
			y.Errorf("once they are sent the log begins with %d and has %d", first, total)
		}
	})
}

func TestOnce_KeepsTheChartsOfTwoDays(t *testing.T) {
	each(t, func(y *yard) {
		now := y.Clock.Now()
		for _, age := range []time.Duration{0, 48 * time.Hour, 48*time.Hour + time.Minute, 72 * time.Hour} {
			y.write(func(tx *store.Tx, w *sheaf.Workspace) error {
				return tx.AddMinute(w.ID, sheaf.Minute{At: now.Add(-age), Counts: sheaf.Counts{Requests: 1}})
			})
		}
		y.sweep()
		y.read(func(r *store.Reader) error {
			kept, err := r.Minutes(y.ws.ID, now.Add(-100*time.Hour))
			if len(kept) != 2 {
				y.Errorf("%d minutes are kept, want 2: %v", len(kept), kept)
			}
			return err
		})
	})
}

// A revoked or expired key is kept as long as the events of its time, and a live one forever.
func TestOnce_RemovesDeadKeys(t *testing.T) {
	each(t, func(y *yard) {
		soon := y.Clock.Now().Add(time.Minute)
		_, live := y.ws.NewKey(nil)
		_, expired := y.ws.NewKey(func(k *sheaf.Key) { k.ExpiresAt = &soon })
		_, revoked := y.ws.NewKey(nil)
		y.Clock.Advance(time.Minute)
		y.ws.Revoke(revoked.ID)
		kept := func(k sheaf.Key) (found bool) {
			y.read(func(r *store.Reader) error {
				_, err := r.Key(y.ws.ID, k.ID)
				if found = err == nil; sheaf.KindOf(err) == sheaf.NotFound {
					err = nil
				}
				return err
			})
			return found
		}
		y.Clock.Advance(retention - time.Millisecond)
		y.sweep()
		if !kept(live) || !kept(expired) || !kept(revoked) {
			y.Error("a key is removed too early")
		}
		y.Clock.Advance(time.Millisecond)
		y.sweep()
		if !kept(live) || kept(expired) || kept(revoked) {
			y.Errorf("live %v, expired %v, revoked %v: want the live one alone", kept(live), kept(expired), kept(revoked))
		}
	})
}

// As many trashed documents are kept as the plan allows records. The oldest ones are deleted.
func TestOnce_BoundsTheDeletedDocuments(t *testing.T) {
	each(t, func(y *yard) {
		c := y.ws.Client("")
		var ids []string
		for range 10 {
			ids = append(ids, c.POST("/api/v1/documents", `{"title":"d"}`).Want(y.T, 201).Text(y.T, "id"))
		}
		for _, i := range []int{7, 2, 5, 0, 9, 4} {
			y.Clock.Advance(time.Second)
			c.DELETE("/api/v1/documents/"+ids[i]).Want(y.T, 204)
		}
		for _, most := range []int{0, 100, 3} {
			y.s.MostTrash = most
			y.sweep()
		}
		for i, want := range map[int]int{7: 404, 2: 404, 5: 404, 0: 200, 9: 200, 4: 200, 1: 200} {
			c.POST("/api/v1/documents/"+ids[i]+"/restore", nil).Want(y.T, want)
		}
		if n := len(c.GET("/api/v1/documents").IDs(y.T)); n != 7 {
			y.Errorf("%d documents are left, want 7", n)
		}
	})
}

// D85: trashed documents are deleted after their time, counted from their deletion or the first
// sweep, whichever is later, and never by a clock that jumped. 0 keeps them.
func TestTrash_OldOnesGoAfterTheirTime(t *testing.T) {
	const kept = 20 * 24 * time.Hour
	eachUnswept(t, func(y *yard) {
		c := y.ws.Client("")
		remove := func(title string) string {
			id := c.POST("/api/v1/documents", `{"title":"`+title+`","content":"text"}`).Want(y.T, 201).Text(y.T, "id")
			c.DELETE("/api/v1/documents/"+id).Want(y.T, 204)
			return id
		}
		after := func(d time.Duration, what string, want ...string) {
			y.Helper()
			y.Clock.Advance(d)
			y.sweep()
			if got := c.GET("/api/v1/documents?deleted=true&sort=deleted_at").IDs(y.T); !slices.Equal(got, want) {
				y.Errorf("%s: the trash has %q, want %q", what, got, want)
			}
		}
		old := remove("old")
		y.Clock.Advance(10 * kept) // before the first sweep
		c.POST("/api/v1/documents", `{"title":"an event of now, by which the clock is believed"}`).Want(y.T, 201)
		y.start()
		after(0, "kept for ever", old)
		y.s.TrashRetention = kept
		young := remove("young")
		after(kept-time.Second, "counted from the upgrade", old, young)
		later := remove("later")
		after(time.Second, "after its time", later)
		y.set += 10 * kept
		after(10*kept, "not by a clock that jumped", later)
		y.set -= 10 * kept
		after(-10*kept+kept-2*time.Second, "a little before its time", later)
		after(2*time.Second, "after its time too")
		if violations := y.Doctor(); len(violations) > 0 {
			y.Errorf("the doctor: %q", violations)
		}
	})
}

// A document that is deleted from the trash goes with its texts and versions, and their bytes are
// free again.
func TestOnce_RemovesDeletedDocumentsWithTextsAndVersions(t *testing.T) {
	each(t, func(y *yard) {
		c := y.ws.Client("")
		for i, content := range []string{"kept", "", "one", "two"} {
			id := c.POST("/api/v1/documents", `{"title":"d","content":"`+content+`"}`).Want(y.T, 201).Text(y.T, "id")
			for _, next := range []string{content + ", changed", content, content + ", again"} {
				c.PATCH("/api/v1/documents/"+id, `{"content":"`+next+`"}`).Want(y.T, 200)
			}
			if i > 0 {
				y.Clock.Advance(time.Second)
				c.DELETE("/api/v1/documents/"+id).Want(y.T, 204)
			}
		}
		y.s.MostTrash = 1
		y.sweep()
		var w sheaf.Workspace
		y.must(y.Store.Read(context.Background(), func(r *store.Reader) (err error) {
			w, err = r.Workspace(y.ws.ID)
			return err
		}))
		if want := int64(len("kept" + "kept, changed" + "kept, again" + "two" + "two, changed" + "two, again")); w.Storage != want {
			y.Errorf("the texts have %d bytes, want %d", w.Storage, want)
		}
		if violations := y.Doctor(); len(violations) > 0 {
			y.Errorf("the doctor: %q", violations)
		}
	})
}

// D112: documents that are deleted from the trash take their shares along, each with its event,
// however many there are.
func TestTrash_SharesGoWithTheirDocument(t *testing.T) {
	each(t, func(y *yard) {
		c := y.ws.Client("")
		d := c.POST("/api/v1/documents", map[string]string{"title": "d"}).Want(y.T, 201).Text(y.T, "id")
		const many = 450 // two batches, and more
		for range many {
			c.POST("/api/v1/shares", map[string]string{"resource_type": "document", "resource_id": d}).Want(y.T, 201)
		}
		stays := c.POST("/api/v1/documents", map[string]string{"title": "stays"}).Want(y.T, 201).Text(y.T, "id")
		c.POST("/api/v1/shares", map[string]string{"resource_type": "document", "resource_id": stays}).Want(y.T, 201)
		c.DELETE("/api/v1/documents/"+d).Want(y.T, 204)
		y.s.TrashRetention = 24 * time.Hour
		y.sweep()
		if n := c.GET("/api/v1/shares?limit=1").Want(y.T, 200).JSON["total"]; n != many+1.0 {
			y.Fatalf("%v shares while the document is in the trash", n)
		}
		y.Clock.Advance(25 * time.Hour)
		y.sweep()
		if n := c.GET("/api/v1/shares?limit=1").Want(y.T, 200).JSON["total"]; n != 1.0 {
			y.Errorf("%v shares are left", n)
		}
		if n := c.GET("/api/v1/events?type=share.deleted&limit=1").Want(y.T, 200).JSON["total"]; n != float64(many) {
			y.Errorf("%v events tell of them", n)
		}
		if n := c.GET("/api/v1/documents?deleted=true").JSON["total"]; n != 0.0 {
			y.Errorf("%v documents are in the trash", n)
		}
	})
}

// D82: the newest 100 versions of a document are kept, and of older ones those within their time,
// by a trusted clock.
func TestVersions_OldOnesGoBeyondTheNewest(t *testing.T) {
	const kept = 10 * 24 * time.Hour
	each(t, func(y *yard) {
		c := y.ws.Client("")
		path := "/api/v1/documents/" + c.POST("/api/v1/documents", `{"title":"d","content":"1"}`).Want(y.T, 201).Text(y.T, "id")
		write := func(from, to int) {
			for i := from; i <= to; i++ {
				c.PATCH(path, fmt.Sprintf(`{"content":"%d"}`, i)).Want(y.T, 200)
			}
		}
		oldest := func(what string, want int) {
			y.Helper()
			y.sweep()
			c.GET(path+fmt.Sprintf("/versions/%d", want)).Want(y.T, 200)
			if want > 1 {
				c.GET(path+fmt.Sprintf("/versions/%d", want-1)).WantError(y.T, 404, "NOT_FOUND")
			}
			if violations := y.Doctor(); len(violations) > 0 {
				y.Errorf("%s: the doctor: %q", what, violations)
			}
		}
		write(2, 80) // more than a batch is deleted
		y.Clock.Advance(kept / 2)
		write(81, 220)
		y.Clock.Advance(kept / 2)
		oldest("kept for ever", 1)
		y.s.VersionRetention = kept
		oldest("those of now less their time", 1)
		y.Clock.Advance(time.Second)
		oldest("too old, and beyond the newest", 81)
		y.setAhead(10 * kept)
		oldest("not by a clock that jumped", 81)
		y.setAhead(-10 * kept)
		y.Clock.Advance(kept)
		oldest("the newest 100, whatever their age", 121)
		if text := string(c.GET(path+"/content").Want(y.T, 200).Body); text != "220" {
			y.Errorf("the present text is %q", text)
		}
	})
}

// D174: decided proposals are removed after their time, by a trusted clock, with their texts and
// comments. Open ones stay, and so do the versions that a proposal made.
func TestProposals_DecidedOnesGoAfterTheirTime(t *testing.T) {
	const kept = 10 * 24 * time.Hour
	each(t, func(y *yard) {
		y.s.ProposalRetention = kept
		c := y.ws.Client("")
		document := "/api/v1/documents/" + c.POST("/api/v1/documents", `{"title":"d","content":"1"}`).Want(y.T, 201).Text(y.T, "id")
		storage := func() int64 {
			y.Helper()
			var w sheaf.Workspace
			y.must(y.Store.Read(context.Background(), func(r *store.Reader) (err error) {
				w, err = r.Workspace(y.ws.ID)
				return err
			}))
			return w.Storage
		}
		propose := func(version int) string {
			y.Helper()
			id := c.POST("/api/v1/proposals", fmt.Sprintf(`{"title":"p","changes":[{"op":"edit","document_id":%q,"base_version":%d,"content":"proposed %d"}]}`,
				strings.TrimPrefix(document, "/api/v1/documents/"), version, version)).Want(y.T, 201).Text(y.T, "id")
			c.POST("/api/v1/proposals/"+id+"/comments", `{"body":"why?"}`).Want(y.T, 201)
			return "/api/v1/proposals/" + id
		}
		left := func(what string, want int) {
			y.Helper()
			y.sweep()
			if n := c.GET("/api/v1/proposals?limit=1").Want(y.T, 200).JSON["total"]; n != float64(want) {
				y.Errorf("%s: %v proposals are left, want %d", what, n, want)
			}
			if violations := y.Doctor(); len(violations) > 0 {
				y.Errorf("%s: the doctor: %q", what, violations)
			}
		}
		accepted := propose(1)
		c.POST(accepted+"/accept", nil, "If-Match: "+c.GET(accepted).Want(y.T, 200).Header.Get("ETag")).Want(y.T, 200)
		const many = 120 // more than a batch
		for range many {
			c.POST(propose(2)+"/withdraw", nil).Want(y.T, 200)
		}
		open := propose(2)
		y.Clock.Advance(kept)
		left("those of now less their time", many+2)
		c.POST(propose(2)+"/reject", nil).Want(y.T, 200)
		y.Clock.Advance(time.Second)
		left("decided before their time", 2)
		c.GET(accepted).WantError(y.T, 404, "NOT_FOUND")
		c.GET(open+"/changes/0").Want(y.T, 200)
		if n := c.GET(document+"/versions").Want(y.T, 200).JSON["total"]; n != 2.0 {
			y.Errorf("%v versions are left", n)
		}
		y.setAhead(10 * kept)
		left("not by a clock that jumped", 2)
		y.setAhead(-10 * kept)
		y.Clock.Advance(kept)
		left("those that were decided later", 1)
		c.POST(open+"/withdraw", nil).Want(y.T, 200)
		y.Clock.Advance(kept + time.Second)
		left("all", 0)
		if n := storage(); n != int64(len("1")+len("proposed 1")) {
			y.Errorf("the storage is %d, and the document has two versions", n)
		}
	})
}

func TestOnce_EmptiesTheLogWithoutStartingAnew(t *testing.T) {
	each(t, func(y *yard) {
		y.publish(3)
		y.Clock.Advance(retention + time.Second)
		y.sweep()
		if _, _, total, counted := y.log(); total != 0 || counted != 0 {
			y.Errorf("total %d, counted %d", total, counted)
		}
		y.publish(1)
		if first, last, total, _ := y.log(); first != 4 || last != 4 || total != 1 {
			y.Errorf("the log goes on with %d to %d, total %d", first, last, total)
		}
	})
}

// If a clock was ahead for a while, young events are before old ones in the log. The old ones stay
// until the young ones are deleted.
func TestOnce_LeavesNoGap(t *testing.T) {
	each(t, func(y *yard) {
		y.publish(2)
		y.Clock.Advance(time.Hour)
		y.publish(1)
		y.Clock.Advance(-time.Hour)
		y.publish(2)
		y.Clock.Advance(retention + time.Second)
		y.sweep()
		if first, last, total, counted := y.log(); first != 3 || last != 5 || total != 3 || counted != 3 {
			y.Errorf("the log is %d to %d, total %d, counted %d", first, last, total, counted)
		}
		y.Clock.Advance(time.Hour)
		y.sweep()
		if _, _, total, counted := y.log(); total != 0 || counted != 0 {
			y.Errorf("total %d, counted %d", total, counted)
		}
	})
}

func TestOnce_RemovesOrphans(t *testing.T) {
	each(t, func(y *yard) {
		stays := y.subscribe()
		var gone []sheaf.SubscriptionID
		for range 3 {
			gone = append(gone, y.subscribe())
		}
		y.publish(210)
		y.attempt(gone[0])
		for _, id := range gone {
			y.write(func(tx *store.Tx, w *sheaf.Workspace) error {
				w.Subscriptions--
				return tx.DeleteSubscription(w.ID, id, y.Clock.Now())
			})
		}
		y.sweep()
		for _, line := range y.Doctor() {
			// A row that is left over belongs to a subscription that is not in the workspace, or an
			// attempt to no delivery.
			if strings.HasPrefix(line, "delivery subscription") || strings.HasPrefix(line, "attempt") {
				y.Error(line)
			}
		}
		if d, _ := y.left(stays, nil); d != 210 {
			y.Errorf("of the other one %d deliveries are left, want 210", d)
		}
	})
}

func TestOnce_ForgetsAnswersAfterADay(t *testing.T) {
	each(t, func(y *yard) {
		request := func(i int) store.Once {
			return store.Once{Method: "POST", Path: "/p", Key: fmt.Sprint(i), BodyHash: []byte("h")}
		}
		remember := func(from, to int) {
			y.write(func(tx *store.Tx, w *sheaf.Workspace) (err error) {
				for i := from; i < to && err == nil; i++ {
					err = tx.Remember(w, request(i), store.Answer{Status: 201, Body: []byte(`{}`)}, 0, y.Clock.Now())
				}
				return err
			})
		}
		remember(0, 410)
		y.Clock.Advance(24*time.Hour + time.Second)
		remember(410, 415)
		y.sweep()
		kept := 0
		y.write(func(tx *store.Tx, w *sheaf.Workspace) error {
			kept = 0
			for i := range 415 {
				_, found, _, err := tx.Remembered(w.ID, request(i), time.UnixMilli(0))
				if err != nil {
					return err
				}
				if found {
					kept++
				}
			}
			return nil
		})
		if kept != 5 {
			y.Errorf("%d answers are kept, want 5", kept)
		}
	})
}

// While much is deleted, another client keeps writing: between the batches, not after the whole
// chore.
func TestOnce_WritersGetTheirTurn(t *testing.T) {
	each(t, func(y *yard) {
		id := y.subscribe()
		for range 4 {
			y.publish(500)
			y.attempt(id)
		}
		y.Clock.Advance(retention + time.Second)
		var swept atomic.Bool
		var wrote int
		var longest time.Duration
		done := make(chan error)
		go func() {
			for !swept.Load() {
				began := time.Now()
				if err := y.tryWrite(func(tx *store.Tx, w *sheaf.Workspace) error { return y.appendEvents(tx, w, 1) }); err != nil {
					done <- err
					return
				}
				wrote++
				longest = max(longest, time.Since(began))
			}
			done <- nil
		}()
		began := time.Now()
		y.sweep()
		swept.Store(true)
		y.must(<-done)
		y.Logf("%d writes during a sweep of 2000 events in %v, the longest took %v", wrote, time.Since(began), longest)
		if wrote < 3 { // during 20 batches; a client that waits for the whole chore writes one
			y.Errorf("only %d writes during the sweep", wrote)
		}
		if _, _, total, counted := y.log(); total != int64(wrote) || counted != total {
			y.Errorf("total %d, counted %d, want the %d that are new", total, counted, wrote)
		}
	})
}

func TestRun_EndsWithItsContext(t *testing.T) {
	each(t, func(y *yard) {
		y.publish(300)
		y.Clock.Advance(retention + time.Second)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- y.s.Run(ctx) }()
		sheaftest.Eventually(t, "what is old is removed at the start", func() bool {
			_, _, total, _ := y.log()
			return total == 0
		})
		cancel()
		y.must(<-done)
	})
}

// Sessions and invitations are deleted once they have ended, and not before.
func TestOnce_RemovesEndedSessionsAndInvitations(t *testing.T) {
	each(t, func(y *yard) {
		now := y.Clock.Now()
		y.write(func(tx *store.Tx, w *sheaf.Workspace) error {
			for i, ends := range []time.Duration{time.Hour, 3 * time.Hour} {
				hash := []byte{byte(i)}
				if err := tx.InsertSession(store.Session{Hash: hash, User: y.ws.Owner, CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(ends)}); err != nil {
					return err
				}
				invitation := sheaf.Invitation{ID: sheaf.InvitationID(y.id()), Email: fmt.Sprint(i), Role: sheaf.Member, InvitedBy: y.ws.Owner, CreatedAt: now, ExpiresAt: now.Add(ends)}
				if _, err := tx.InsertInvitation(w.ID, invitation, hash); err != nil {
					return err
				}
			}
			_, err := tx.LockFailures("somebody")
			if err == nil {
				err = tx.SetFailures("somebody", store.Failures{Count: 3, At: now})
			}
			return err
		})
		y.Clock.Advance(90 * time.Minute)
		y.sweep()
		y.read(func(r *store.Reader) error {
			for i, kept := range []bool{false, true} {
				_, session := r.Session([]byte{byte(i)})
				_, _, invitation := r.Invitation([]byte{byte(i)}, now)
				if (session == nil) != kept || (invitation == nil) != kept {
					y.Errorf("number %d: %v, %v", i, session, invitation)
				}
			}
			f, err := r.Failures("somebody")
			if f.Count != 3 {
				y.Errorf("a failure that still counts is gone: %v", f)
			}
			return err
		})
		y.Clock.Advance(24 * time.Hour)
		y.sweep()
		y.read(func(r *store.Reader) error {
			f, err := r.Failures("somebody")
			if f.Count != 0 {
				y.Errorf("an old failure is kept: %v", f)
			}
			return err
		})
	})
}
