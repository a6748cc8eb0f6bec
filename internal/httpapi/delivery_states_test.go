package httpapi_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/apitest"
)

// D63a, D64, D64b, D64c, D68, D68a: what the API says of deliveries, attempts, subscriptions and
// events, in every state that a delivery can be in and on the way between them. Both engines give
// the same answers, and they are those in testdata/deliveries. See transcript for what is compared.
func TestDelivery_AnswersInEveryState(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
		w := newWalk(t, a)
		w.waiting()
		w.sending()
		w.retries()
		w.byHandWhileSending()
		w.byHandWhenDone()
		w.byHandBetweenAttempts()
		w.turnedOff()
		w.byHandWhileInactive()
		w.turnedOffWhileSending()
		w.reactivated()
		w.recovered()
		w.tenFailures()
		w.explained()
		w.pages()
		w.deleted()
	})
}

// walk is the scenario: one workspace, whose subscriptions stand for the endpoint that takes
// everything (good), one that refuses until told otherwise (bad), one whose answers the scenario
// gives by hand (slow), one that is inactive from the first (off) and one that wants other events
// (other).
type walk struct {
	*transcript
	a                     *apitest.API
	to                    *endpoints
	good, bad, slow, off  string // ids of subscriptions
	other                 string
	stop                  func() // ends what sends; nil when nothing does
	firstEvent, lastEvent string
}

func newWalk(t *testing.T, a *apitest.API) *walk {
	c := a.Workspace(sheaf.Business).Client("")
	to := newEndpoints(t, a)
	base := strings.TrimSuffix(to.URL, "/hook")
	w := &walk{transcript: newTranscript(t, "deliveries", c, base, "https://receiver"), a: a, to: to}
	w.begin("01-waiting")
	made := func(name string, types ...string) string {
		if len(types) == 0 {
			types = []string{"project.created", "project.updated", "share.created"}
		}
		return idOf(inside(t, w.do("POST", subscriptions, fields{"name": name, "url": base + "/" + name, "events": types}), "subscription"))
	}
	w.good, w.bad, w.slow, w.off = made("good"), made("bad"), made("slow"), made("off")
	w.other = made("other", "folder.created")
	w.do("PATCH", at(subscriptions, w.off), fields{"active": false})
	return w
}

// endpoints is one receiver for all subscriptions, which have different paths.
type endpoints struct {
	*sheaftest.Receiver
	mu     sync.Mutex // guards status
	status map[string]int
	slow   chan int      // what the slow one answers, one for each request
	begun  chan struct{} // tells of each request of the slow one
	here   bool          // arrived has seen the request that reply is to answer
}

func newEndpoints(t *testing.T, a *apitest.API) *endpoints {
	e := &endpoints{Receiver: receiver(t, a), status: map[string]int{"/good": 200, "/bad": 500, "/ten": 410}, slow: make(chan int), begun: make(chan struct{}, 64)}
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	e.Receiver.Answer(func(r sheaftest.Received) sheaftest.Reply {
		e.mu.Lock()
		status := e.status[r.URI]
		e.mu.Unlock()
		if r.URI == "/slow" {
			e.begun <- struct{}{}
			select {
			case status = <-e.slow:
			case <-ended:
			}
		}
		return sheaftest.Reply{Status: status, Body: http.StatusText(status)}
	})
	return e
}

func (e *endpoints) answer(path string, status int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status[path] = status
}

// arrived waits until the slow endpoint has a request. The state of the delivery is not enough: it
// may only have been claimed, and if the subscription is turned off then, it is not sent at all.
func (e *endpoints) arrived() {
	<-e.begun
	e.here = true
}

// reply answers the next request to the slow endpoint, when it has arrived.
func (e *endpoints) reply(status int) {
	if !e.here {
		<-e.begun
	}
	e.here = false
	e.slow <- status
}

// project creates one, and so an event.
func (w *walk) project() string {
	w.t.Helper()
	id := w.do("POST", projects, fields{"name": "<p>"}).Want(w.t, 201).Text(w.t, "id")
	w.lastEvent = w.c.GET(events+"?order=desc&limit=1").Want(w.t, 200).IDs(w.t)[0]
	return id
}

// newest returns the newest delivery of a subscription.
func (w *walk) newest(sub string) fields {
	w.t.Helper()
	return w.c.GET(at(subscriptions, sub)+"/deliveries?order=desc&limit=1").Want(w.t, 200).Items(w.t)[0]
}

// becomes waits until the newest delivery of a subscription has the state and this number of attempts.
func (w *walk) becomes(sub, state string, attempts int) string {
	w.t.Helper()
	id := idOf(w.newest(sub))
	w.one(id, state, attempts)
	return id
}

// one waits until a delivery has the state and this number of attempts.
func (w *walk) one(id, state string, attempts int) {
	w.t.Helper()
	sheaftest.Eventually(w.t, state, func() bool {
		d := delivery(w.t, w.c, id)
		return d["state"] == state && d["attempt_count"] == float64(attempts)
	})
}

// deliver starts what sends.
func (w *walk) deliver(s sheaf.Schedule) { w.stop = w.a.Deliver(s) }

// rest stops the sender, so that requested attempts stay pending.
func (w *walk) rest() {
	w.stop()
	w.a.Webhooks.Client.CloseIdle()
}

// look records everything that the API says about subscriptions and their deliveries.
func (w *walk) look(subs ...string) {
	w.t.Helper()
	for _, s := range subs {
		w.get(at(subscriptions, s))
		w.get(at(subscriptions, s) + "/deliveries")
	}
}

// every returns everything that the API says about a delivery.
func (w *walk) every(ids ...string) {
	w.t.Helper()
	for _, id := range ids {
		w.get(at(deliveries, id))
	}
}

func (w *walk) redeliver(id string, headers ...string) {
	w.t.Helper()
	w.do("POST", at(deliveries, id)+"/redeliver", nil, headers...)
}

func (w *walk) explain(event string) { w.get(at(events, event) + "/deliveries") }

func (w *walk) waiting() {
	w.say("a project, and nobody sends yet")
	w.project()
	w.firstEvent = w.lastEvent
	w.look(w.good, w.bad, w.slow, w.off, w.other)
	w.every(idOf(w.newest(w.good)), idOf(w.newest(w.off)))
	w.explain(w.lastEvent)
	w.get(at(events, w.lastEvent))
}

func (w *walk) sending() {
	w.begin("02-sending")
	w.a.Clock.Advance(time.Second)
	w.say("a second later all are sent; the slow endpoint does not answer")
	w.deliver(sheaf.DefaultSchedule)
	w.becomes(w.slow, "sending", 0)
	w.becomes(w.good, "delivered", 1)
	w.becomes(w.bad, "waiting", 1)
	w.look(w.good, w.bad, w.slow, w.off)
	w.every(idOf(w.newest(w.good)), idOf(w.newest(w.bad)), idOf(w.newest(w.slow)))
	w.explain(w.lastEvent)
}

func (w *walk) retries() {
	w.begin("03-retries")
	for i, pause := range []time.Duration{time.Second, 10 * time.Second} {
		w.a.Clock.Advance(pause)
		w.say("%s later comes the next attempt", pause)
		w.every(w.becomes(w.bad, "waiting", i+2))
	}
	w.a.Clock.Advance(time.Minute)
	w.say("1m0s later comes the last one")
	w.every(w.becomes(w.bad, "failed", 4))
	w.look(w.bad)
	w.explain(w.lastEvent)
}

func (w *walk) byHandWhileSending() {
	w.begin("04-by-hand-while-sending")
	id := idOf(w.newest(w.slow))
	w.say("asked for while it is being sent, twice, which counts once")
	w.redeliver(id)
	w.redeliver(id)
	w.to.reply(200)
	w.one(id, "sending", 1)
	w.say("it arrived, and is being sent once more")
	w.every(id)
	w.a.Clock.Advance(time.Second)
	w.to.reply(503)
	w.one(id, "delivered", 2)
	w.say("once more was refused: it stays delivered")
	w.every(id)
	w.look(w.slow)
}

func (w *walk) byHandWhenDone() {
	w.begin("05-by-hand-when-done")
	w.rest()
	failed := idOf(w.newest(w.bad))
	w.say("a failed one by hand, twice before it is sent, and once more with the key of the first")
	w.redeliver(failed, "Idempotency-Key: once")
	w.redeliver(failed)
	w.look(w.bad)
	w.deliver(sheaf.DefaultSchedule)
	w.one(failed, "failed", 5)
	w.redeliver(failed, "Idempotency-Key: once")
	w.say("refused: it is failed as before, and nothing is counted")
	w.every(failed)
	w.look(w.bad)
	w.rest()
	w.to.answer("/bad", 204)
	w.a.Clock.Advance(time.Second)
	w.redeliver(failed)
	w.deliver(sheaf.DefaultSchedule)
	w.one(failed, "delivered", 6)
	w.say("the endpoint was repaired: delivered, and nothing is counted")
	w.every(failed)
	w.look(w.bad)
}

func (w *walk) byHandBetweenAttempts() {
	w.begin("06-by-hand-between-attempts")
	w.to.answer("/bad", 500)
	w.a.Clock.Advance(time.Second)
	w.say("another event, refused once")
	w.project()
	w.to.reply(202)
	w.becomes(w.slow, "delivered", 1)
	w.becomes(w.good, "delivered", 1)
	id := w.becomes(w.bad, "waiting", 1)
	w.rest()
	w.a.Clock.Advance(500 * time.Millisecond)
	w.say("by hand, half a second before its second attempt is due")
	w.redeliver(id)
	w.every(id)
	w.deliver(sheaf.DefaultSchedule)
	w.one(id, "waiting", 2)
	w.say("refused: it waits for its second attempt as before")
	w.every(id)
	w.a.Clock.Advance(500 * time.Millisecond)
	w.one(id, "waiting", 3)
	w.say("half a second later that was made")
	w.every(id)
	w.look(w.bad, w.good, w.slow)
}

func (w *walk) turnedOff() {
	w.begin("07-turned-off")
	w.a.Clock.Advance(time.Second)
	w.say("turned off by a person, between two attempts; an event afterwards")
	w.do("PATCH", at(subscriptions, w.bad), fields{"active": false})
	w.project()
	w.to.reply(200)
	w.becomes(w.slow, "delivered", 1)
	w.becomes(w.good, "delivered", 1)
	w.look(w.bad)
	w.every(idOf(w.newest(w.bad)))
	w.explain(w.lastEvent)
	w.say("there is nothing to recover while it is inactive")
	w.do("POST", at(subscriptions, w.bad)+"/recover", fields{"since": "2026-01-01T00:00:00Z"})
	w.get(subscriptions)
}

func (w *walk) byHandWhileInactive() {
	w.begin("08-by-hand-while-inactive")
	w.rest()
	held := idOf(w.newest(w.bad))
	w.a.Clock.Advance(time.Second)
	w.say("a held one by hand")
	w.redeliver(held)
	w.look(w.bad)
	w.deliver(sheaf.DefaultSchedule)
	w.one(held, "held", 1)
	w.say("refused: held as before")
	w.every(held)
	w.look(w.bad)
	w.rest()
	w.to.answer("/bad", 200)
	w.redeliver(held)
	w.deliver(sheaf.DefaultSchedule)
	w.one(held, "delivered", 2)
	w.say("again by hand, and taken: delivered, still inactive")
	w.every(held)
	w.look(w.bad)
}

func (w *walk) turnedOffWhileSending() {
	w.begin("09-turned-off-while-sending")
	w.a.Clock.Advance(time.Second)
	for _, status := range []int{500, 200} {
		w.say("turned off while an attempt is under way, which ends with %d", status)
		w.project()
		id := w.becomes(w.slow, "sending", 0)
		w.to.arrived()
		w.do("PATCH", at(subscriptions, w.slow), fields{"active": false})
		w.every(id)
		w.to.reply(status)
		w.one(id, map[bool]string{true: "delivered", false: "held"}[status == 200], 1)
		w.every(id)
		w.look(w.slow)
		w.do("PATCH", at(subscriptions, w.slow), fields{"active": true})
		w.becomes(w.good, "delivered", 1)
	}
}

func (w *walk) reactivated() {
	w.begin("10-reactivated")
	w.rest()
	w.a.Clock.Advance(time.Second)
	w.say("reactivated: what is held stays held, what is new waits")
	w.do("PATCH", at(subscriptions, w.bad), fields{"active": true})
	w.project()
	w.look(w.bad)
	w.say("turned off again before anything was sent, and on again")
	w.do("PATCH", at(subscriptions, w.bad), fields{"active": false})
	w.look(w.bad)
	w.do("PATCH", at(subscriptions, w.bad), fields{"active": true})
	w.a.Clock.Advance(time.Second)
	w.project()
	w.look(w.bad)
	w.explain(w.lastEvent)
	w.deliver(sheaf.DefaultSchedule)
	w.to.reply(200)
	w.to.reply(200)
	w.becomes(w.bad, "delivered", 1)
	w.becomes(w.good, "delivered", 1)
	w.becomes(w.slow, "delivered", 1)
	sheaftest.Eventually(w.t, "both were taken", func() bool { return states(w.t, w.c, w.slow)["waiting"]+states(w.t, w.c, w.slow)["sending"] == 0 })
	sheaftest.Eventually(w.t, "both were taken", func() bool { return states(w.t, w.c, w.good)["delivered"] == len(deliveriesOf(w.t, w.c, w.good, "")) })
	w.say("only what is new was sent")
	w.look(w.good, w.bad, w.slow)
}

func (w *walk) recovered() {
	w.begin("11-recovered")
	w.rest()
	w.a.Clock.Advance(time.Second)
	w.say("recover: of nothing, of what is newer than the first that is held, of all, and of all again")
	recover := at(subscriptions, w.bad) + "/recover"
	w.do("POST", recover, fields{"since": "2999-01-01T00:00:00Z"})
	held := deliveriesOf(w.t, w.c, w.bad, "?state=held")
	w.do("POST", recover, fields{"since": held[1]["created_at"]}, "Idempotency-Key: recover")
	w.look(w.bad)
	w.do("POST", recover, fields{"since": "2026-01-01T00:00:00Z"})
	w.do("POST", recover, fields{"since": "2026-01-01T00:00:00Z"})
	w.do("POST", recover, fields{"since": held[1]["created_at"]}, "Idempotency-Key: recover")
	w.look(w.bad)
	w.to.answer("/bad", 500)
	w.deliver(sheaf.DefaultSchedule)
	for _, d := range held {
		w.one(idOf(d), "waiting", int(d["attempt_count"].(float64))+1)
	}
	w.say("they run the whole schedule again")
	w.every(idOf(held[0]))
	for i, pause := range sheaf.DefaultSchedule {
		w.a.Clock.Advance(pause)
		for _, d := range held {
			w.one(idOf(d), map[bool]string{true: "failed", false: "waiting"}[i == 2], int(d["attempt_count"].(float64))+2+i)
		}
	}
	w.say("and are failed, and counted")
	w.look(w.bad)
	w.every(idOf(held[0]))
	w.rest()
	w.a.Clock.Advance(time.Second)
	w.say("what has failed is recovered too, one of them asked for by hand before; turned off, it is held")
	w.redeliver(idOf(held[0]))
	w.do("POST", recover, fields{"since": "2026-01-01T00:00:00Z"})
	w.look(w.bad)
	w.do("PATCH", at(subscriptions, w.bad), fields{"active": false})
	w.look(w.bad)
	w.do("PATCH", at(subscriptions, w.bad), fields{"active": true})
	w.do("POST", recover, fields{"since": "2026-01-01T00:00:00Z"})
	w.to.answer("/bad", 200)
	w.deliver(sheaf.DefaultSchedule)
	settled(w.t, w.c, w.bad)
	w.say("the endpoint was repaired")
	w.look(w.bad)
}

func (w *walk) tenFailures() {
	w.begin("12-ten-failures")
	w.rest()
	w.a.Clock.Advance(time.Second)
	w.say("ten failures in a row deactivate; what comes then is held")
	base := strings.TrimSuffix(w.to.URL, "/hook")
	ten := idOf(inside(w.t, w.do("POST", subscriptions, fields{"name": "ten", "url": base + "/ten", "events": []string{"share.created"}}), "subscription"))
	for _, s := range []string{w.good, w.bad, w.slow, w.off} {
		w.do("PATCH", at(subscriptions, s), fields{"events": []string{"project.created"}})
	}
	w.deliver(nil)
	for i := range 11 {
		w.a.Clock.Advance(time.Second)
		w.do("POST", events, fields{"type": "share.created", "resource_id": nowhereID, "payload": fields{"n": i}})
		if i < 10 {
			w.becomes(ten, "failed", 1)
		}
		if i == 8 {
			w.say("nine failures")
			w.get(at(subscriptions, ten))
		}
	}
	w.look(ten)
	w.rest()
	w.say("deleted, and with it all that was to be sent")
	w.do("DELETE", at(subscriptions, ten), nil)
	w.get(at(subscriptions, ten) + "/deliveries")
}

func (w *walk) explained() {
	w.begin("13-explained")
	w.a.Clock.Advance(time.Second)
	w.say("why a subscription got an event, or did not")
	base := strings.TrimSuffix(w.to.URL, "/hook")
	w.do("POST", subscriptions, fields{"name": "late", "url": base + "/good", "events": []string{"project.created"}})
	w.do("PATCH", at(subscriptions, w.other), fields{"events": []string{"project.created", "share.created"}})
	w.explain(w.firstEvent)
	w.project()
	w.explain(w.lastEvent)
	w.get(at(events, w.firstEvent) + "/deliveries?limit=2&offset=1")
	w.get(at(events, "evt_"+nowhereID) + "/deliveries")
}

func (w *walk) pages() {
	w.begin("14-pages")
	w.say("pages of deliveries and of the log, and their filters")
	list := at(subscriptions, w.bad) + "/deliveries"
	for _, query := range []string{"?limit=2", "?limit=2&offset=1&order=desc", "?limit=1&offset=100", "?state=delivered&limit=1&offset=2",
		"?state=waiting", "?state=sending", "?state=failed", "?state=held", "?state=gone"} {
		w.get(list + query)
	}
	w.get(at(subscriptions, w.off) + "/deliveries?state=held&order=desc&limit=3")
	w.get(events + "?limit=3")
	w.get(events + "?limit=2&order=desc&offset=1")
	w.get(events + "?type=share.created&limit=2")
	w.get(events + "?after=" + w.firstEvent + "&limit=2")
	w.get(events + "?after=" + w.lastEvent)
	w.get(events + "?resource_id=" + nowhereID + "&limit=1&order=desc")
	w.get(events + "?since=2026-03-01T12:02:30Z&limit=1")
	w.get(events + "?since=2999-03-01T12:02:30Z")
	w.get(subscriptions)
}

func (w *walk) deleted() {
	w.begin("15-deleted")
	w.say("a deleted subscription takes its deliveries along; the log stays")
	gone := idOf(w.newest(w.slow))
	w.do("DELETE", at(subscriptions, w.slow), nil)
	w.get(at(subscriptions, w.slow))
	w.get(at(subscriptions, w.slow) + "/deliveries")
	w.every(gone)
	w.redeliver(gone)
	w.do("POST", at(subscriptions, w.slow)+"/recover", fields{"since": "2026-01-01T00:00:00Z"})
	w.explain(w.firstEvent)
	w.get(subscriptions)
}
