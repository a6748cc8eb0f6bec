package httpapi_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"sheaf.dev/internal/guard"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/webhook"
)

// verifiers are receivers' libraries.
var verifiers = map[string]func(r sheaftest.Received, secret string) error{
	"standard-webhooks": func(r sheaftest.Received, secret string) error {
		wh, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			return err
		}
		return wh.Verify(r.Body, r.Header)
	},
	"our own": func(r sheaftest.Received, secret string) error { return webhook.Verify(secret, r.Header, r.Body) },
}

func verifies(t testing.TB, r sheaftest.Received, secret string, want bool) {
	t.Helper()
	for name, verify := range verifiers {
		if err := verify(r, secret); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// D66: the exact request. Every attempt sends the bytes of the log, with a new signature.
func TestDelivery_Request(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		c := ws.Client("")
		to := receiver(t, a)
		to.Answer(func(r sheaftest.Received) sheaftest.Reply {
			a.Clock.Advance(2 * time.Second) // so that the next signature is another
			return sheaftest.Reply{Status: map[bool]int{true: 204, false: 503}[r.Number == 3]}
		})
		sub := subscribe(t, c, fields{"url": to.URL + "?a=b%20c", "events": []string{"share.created"}, "headers": fields{"x-token": "t0p s3cret"}})
		a.Deliver(quick)
		c.POST(events, `{"type":"share.created","resource_id":"`+nowhereID+`","payload":{ "n" : 1.50, "s":"<ü>\u0041" }}`, "Idempotency-Key: k").Want(t, 202)
		log := c.GET(events).Items(t)[0]
		body := c.GET(at(events, idOf(log))).Want(t, 200).Body
		signatures := map[string]bool{}
		for i, r := range await(t, to, 3) {
			verifies(t, r, sub["secret"].(string), true)
			verifies(t, sheaftest.Received{Header: r.Header, Body: append(slices.Clone(r.Body), ' ')}, sub["secret"].(string), false)
			if string(r.Body) != string(body) || !strings.Contains(string(body), `{ "n" : 1.50, "s":"<ü>\u0041" }`) {
				t.Errorf("attempt %d sent %s, the log has %s", i+1, r.Body, body)
			}
			if r.Method+" "+r.URI+" "+r.Proto != "POST /hook?a=b%20c HTTP/1.1" {
				t.Errorf("attempt %d: %s %s %s", i+1, r.Method, r.URI, r.Proto)
			}
			wantSame(t, "the headers", slices.Sorted(keysOf(r.Header)), strings.Fields(`Content-Length Content-Type User-Agent Webhook-Id Webhook-Signature
				Webhook-Timestamp X-Service-Signature X-Token`))
			h := r.Header
			if h.Get("Content-Type") != "application/json" || h.Get("User-Agent") != "Sheaf-Webhooks/test" || h.Get("Webhook-Id") != idOf(log) || h.Get("X-Token") != "t0p s3cret" {
				t.Errorf("attempt %d: %v", i+1, h)
			}
			if !regexp.MustCompile(`^t=[0-9]+,v1=[0-9a-f]{64}$`).MatchString(h.Get("X-Service-Signature")) ||
				!strings.HasPrefix(h.Get("X-Service-Signature"), "t="+h.Get("Webhook-Timestamp")+",") ||
				!regexp.MustCompile(`^v1,[A-Za-z0-9+/]{43}=$`).MatchString(h.Get("Webhook-Signature")) {
				t.Errorf("attempt %d: %v", i+1, h)
			}
			signatures[h.Get("X-Service-Signature")] = true
		}
		d := settled(t, c, idOf(sub))[0]
		if len(signatures) != 3 || d["state"] != "delivered" || d["attempt_count"] != 3.0 || len(to.Requests()) != 3 {
			t.Errorf("%d signatures, %v", len(signatures), d)
		}
	})
}

func keysOf(h http.Header) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range h {
			if !yield(name) {
				return
			}
		}
	}
}

// D64b: during the grace both secrets verify, newest first. After it, or without a grace, only
// the new one does. Deliveries that were queued before the rotation are signed with the secrets
// of the moment of sending.
func TestDelivery_Rotation(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		to := receiver(t, a)
		made := subscribe(t, c, fields{"url": to.URL})
		one := at(subscriptions, idOf(made))
		first := made["secret"].(string)
		rotate := func(body any) string {
			return inside(t, c.POST(one+"/rotate-secret", body).Want(t, 200), "subscription")["secret"].(string)
		}
		sent := func() sheaftest.Received {
			n := len(to.Requests())
			newProject(t, c)
			return await(t, to, n+1)[n]
		}
		newProject(t, c)
		second := rotate(nil)
		a.Deliver(quick)
		r := await(t, to, 1)[0]
		verifies(t, r, first, true)
		verifies(t, r, second, true)
		if s := strings.Split(r.Header.Get("X-Service-Signature"), ",v1="); len(s) != 3 || len(strings.Fields(r.Header.Get("Webhook-Signature"))) != 2 {
			t.Errorf("signed %v", r.Header)
		} else {
			newest := r.Header.Clone()
			newest.Set("X-Service-Signature", s[0]+",v1="+s[1])
			for _, name := range []string{"Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"} {
				newest.Del(name)
			}
			if err := webhook.Verify(second, newest, r.Body); err != nil {
				t.Errorf("the newest is not first: %v", err)
			}
		}
		third := rotate(fields{"grace_seconds": 0})
		r = sent()
		verifies(t, r, third, true)
		verifies(t, r, second, false)
		verifies(t, r, first, false)
		fourth := rotate(fields{"grace_seconds": 604800})
		r = sent()
		verifies(t, r, fourth, true)
		verifies(t, r, third, true)
		for _, bad := range []string{`{"grace_seconds":-1}`, `{"grace_seconds":604801}`, `{"grace_seconds":1.5}`, `{"grace_seconds":"1"}`} {
			c.POST(one+"/rotate-secret", bad).WantError(t, 400, "VALIDATION_ERROR", "grace_seconds")
		}
		c.POST(at(subscriptions, nowhereID)+"/rotate-secret", nil).WantError(t, 404, "NOT_FOUND")
	})
}

// D64b: the grace ends by the clock, a day after unless told otherwise.
func TestDelivery_RotationEnds(t *testing.T) {
	a := apitest.SQLite(t)
	a.Clock.Freeze() // but for the steps below
	c := a.Workspace(sheaf.Pro).Client("")
	to := receiver(t, a)
	one := at(subscriptions, idOf(subscribe(t, c, fields{"url": to.URL})))
	for _, test := range []struct {
		body  any
		grace time.Duration
	}{{nil, 24 * time.Hour}, {fields{}, 24 * time.Hour}, {fields{"grace_seconds": 60}, time.Minute}, {fields{"grace_seconds": nil}, 24 * time.Hour}} {
		c.POST(one+"/rotate-secret", test.body).Want(t, 200)
		for _, step := range []struct {
			later      time.Duration
			signatures int
		}{{test.grace - 10*time.Second, 2}, {20 * time.Second, 1}} {
			a.Clock.Advance(step.later)
			n := len(to.Requests())
			c.POST(one+"/test", nil).Want(t, 200)
			if got := strings.Count(to.Requests()[n].Header.Get("X-Service-Signature"), "v1="); got != step.signatures {
				t.Errorf("%v, %s later: %d signatures", test.body, step.later, got)
			}
		}
	}
}

// D64c: lists, their filter and order, and one with its attempts.
func TestDelivery_Record(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		to := receiver(t, a)
		to.Answer(func(r sheaftest.Received) sheaftest.Reply {
			return sheaftest.Reply{Status: []int{500, 302, 200}[min(r.Number, 3)-1], Body: "answer", Header: http.Header{"Location": {"/elsewhere"}}}
		})
		sub := idOf(subscribe(t, c, fields{"url": to.URL}))
		newProject(t, c)
		fresh := deliveriesOf(t, c, sub, "")[0]
		event := c.GET(events).IDs(t)[0]
		for name, want := range (fields{"event_id": event, "event_type": "project.created", "subscription_id": sub, "state": "waiting", "attempt_count": 0,
			"last_status_code": nil, "last_error": nil, "finished_at": nil, "next_attempt_at": fresh["created_at"]}) {
			wantJSON(t, name, fresh[name], want)
		}
		wantSame(t, "the fields", names(fresh), strings.Fields("attempt_count created_at event_id event_type finished_at id last_error last_status_code next_attempt_at state subscription_id"))
		a.Deliver(quick)
		if got := settled(t, c, sub)[0]; got["state"] != "delivered" || got["last_status_code"] != 200.0 || got["last_error"] != nil || got["finished_at"] == nil || got["next_attempt_at"] != nil {
			t.Errorf("got %v", got)
		}
		d := delivery(t, c, idOf(fresh))
		if len(attempts(d)) != 3 || len(to.Requests()) != 3 {
			t.Fatalf("got %v", d)
		}
		for i, attempt := range attempts(d) {
			wantSame(t, "the fields", names(attempt), strings.Fields("duration_ms error error_class number remote_address response_body started_at status_code timings"))
			want := []fields{{"status_code": 500, "error_class": "status", "error": "the endpoint answered 500"},
				{"status_code": 302, "error_class": "status", "error": "the endpoint answered 302; redirects are not followed"},
				{"status_code": 200, "error_class": nil, "error": nil}}[i]
			want["number"], want["remote_address"], want["response_body"] = i+1, nil, "answer"
			for name, value := range want {
				wantJSON(t, name, attempt[name], value)
			}
			wantSame(t, "the timings", names(attempt["timings"].(fields)), strings.Fields("body_ms connect_ms dns_ms first_byte_ms tls_ms"))
		}
		for state, n := range map[string]int{"delivered": 1, "waiting": 0, "sending": 0, "failed": 0, "held": 0} {
			if got := len(deliveriesOf(t, c, sub, "?state="+state)); got != n {
				t.Errorf("%d are %s", got, state)
			}
		}
		list := at(subscriptions, sub) + "/deliveries"
		c.GET(list+"?state=gone").WantError(t, 400, "VALIDATION_ERROR", "state")
		c.GET(list+"?limit=0").WantError(t, 400, "VALIDATION_ERROR", "limit")
		newProject(t, c)
		settled(t, c, sub)
		if asc, desc := c.GET(list).IDs(t), c.GET(list+"?order=desc").IDs(t); asc[0] != desc[1] || asc[1] != desc[0] {
			t.Errorf("asc %v, desc %v", asc, desc)
		}
		c.DELETE(at(subscriptions, sub)).Want(t, 204)
		for _, gone := range []string{list, at(deliveries, idOf(fresh)), at(deliveries, nowhereID)} {
			c.GET(gone).WantError(t, 404, "NOT_FOUND")
		}
		c.POST(at(deliveries, idOf(fresh))+"/redeliver", nil).WantError(t, 404, "NOT_FOUND")
	})
}

// D64c: for each subscription the state of the delivery, or why it got nothing.
func TestDelivery_Fates(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		good, bad := receiver(t, a), receiver(t, a)
		bad.Always(500, "")
		made := func(name string, body fields) string {
			body["name"] = name
			return idOf(subscribe(t, c, body))
		}
		took := made("took", fields{"url": good.URL})
		failed := made("failed", fields{"url": bad.URL})
		off := made("off", fields{"url": good.URL})
		c.PATCH(at(subscriptions, off), fields{"active": false}).Want(t, 200)
		made("other", fields{"events": []string{"folder.created"}})
		changed := made("changed", fields{"events": []string{"folder.created"}})
		left := made("left", fields{"url": good.URL})
		newProject(t, c)
		event := c.GET(events + "?type=project.created").IDs(t)[0]
		c.PATCH(at(subscriptions, changed), fields{"events": []string{"project.created"}}).Want(t, 200)
		c.PATCH(at(subscriptions, left), fields{"events": []string{"folder.created"}}).Want(t, 200)
		made("late", fields{"url": good.URL})
		gone := made("gone", fields{"url": good.URL})
		c.DELETE(at(subscriptions, gone)).Want(t, 204)
		a.Deliver(quick)
		for _, id := range []string{took, failed, left} {
			settled(t, c, id)
		}
		want := map[string][2]string{"took": {"delivered", "took"}, "failed": {"failed", "failed"}, "off": {"held", "inactive"}, "other": {"", "not subscribed to project.created"},
			"changed": {"", "changed after"}, "left": {"delivered", "took"}, "late": {"", "created after"}}
		fates := wholeList(t, c, at(events, event)+"/deliveries", 2)
		for _, f := range fates {
			w, known := want[f["subscription_name"].(string)]
			state := ""
			if d, ok := f["delivery"].(fields); ok {
				state = d["state"].(string)
				if d["event_id"] != event || d["subscription_id"] != f["subscription_id"] {
					t.Errorf("another's delivery: %v", f)
				}
			}
			if !known || state != w[0] || !strings.Contains(f["reason"].(string), w[1]) || len(f) != 4 {
				t.Errorf("got %v, want %v", f, w)
			}
		}
		if len(fates) != len(want) {
			t.Errorf("%d fates", len(fates))
		}
		c.GET(at(events, "evt_"+nowhereID)+"/deliveries").WantError(t, 404, "NOT_FOUND")
		c.GET(at(events, nowhereID)+"/deliveries").WantError(t, 400, "VALIDATION_ERROR", "id")
	})
}

// D68, D68a: failures count by deliveries, a success sets them to 0, the tenth in a row deactivates
// and holds the rest.
func TestDelivery_TenFailuresDeactivate(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		to := receiver(t, a)
		to.Always(500, "")
		a.Deliver(quick)
		id := idOf(subscribe(t, c, fields{"url": to.URL}))
		fail := func(n int) {
			for range n {
				newProject(t, c)
			}
			settled(t, c, id)
		}
		fail(3)
		s := subscription(t, c, id)
		wantJSON(t, "after 3", []any{s["active"], s["failure_count"], s["last_error"], len(to.Requests())}, []any{true, 3, "the endpoint answered 500", 12})
		// Neither a test, nor a redelivery, nor a PATCH of an active one counts or resets.
		for _, status := range []int{500, 200} {
			to.Always(status, "")
			c.POST(at(subscriptions, id)+"/test", nil).Want(t, 200)
			before := len(to.Requests())
			c.POST(at(deliveries, idOf(deliveriesOf(t, c, id, "")[0]))+"/redeliver", nil).Want(t, 202)
			await(t, to, before+1)
			settled(t, c, id)
		}
		c.PATCH(at(subscriptions, id), fields{"active": true}).Want(t, 200)
		if s := subscription(t, c, id); s["failure_count"] != 3.0 {
			t.Errorf("got %v", s)
		}
		fail(1) // the endpoint works now
		s = subscription(t, c, id)
		wantJSON(t, "after a success", []any{s["failure_count"], s["last_error"]}, []any{0, nil})
		to.Always(500, "")
		fail(9)
		if s = subscription(t, c, id); s["active"] != true || s["failure_count"] != 9.0 {
			t.Errorf("after 9: %v", s)
		}
		fail(1)
		s = subscription(t, c, id)
		if s["active"] != false || s["failure_count"] != 10.0 || s["deactivation_reason"] != "failures" || s["deactivated_at"] == nil {
			t.Errorf("after 10: %v", s)
		}
		fail(2)
		before := len(to.Requests())
		s = subscription(t, c, id)
		wantJSON(t, "held", []any{s["held_count"], s["failure_count"], states(t, c, id)}, []any{2, 10, map[string]int{"held": 2, "failed": 12, "delivered": 2}})

		to.Always(200, "")
		on := inside(t, c.PATCH(at(subscriptions, id), fields{"active": true}).Want(t, 200), "subscription")
		wantJSON(t, "on", []any{on["active"], on["failure_count"], on["deactivated_at"], on["deactivation_reason"], on["held_count"]}, []any{true, 0, nil, nil, 2})
		held := deliveriesOf(t, c, id, "?state=held")
		recover := at(subscriptions, id) + "/recover"
		c.POST(recover, `{}`).WantError(t, 400, "VALIDATION_ERROR", "since")
		c.POST(recover, `{"since":"yesterday"}`).WantError(t, 400, "VALIDATION_ERROR", "since")
		wantBody(t, c.POST(recover, fields{"since": "2999-01-01T00:00:00Z"}).Want(t, 202), `{"queued":0}`)
		wantBody(t, c.POST(recover, fields{"since": held[0]["created_at"]}, "Idempotency-Key: k").Want(t, 202), `{"queued":2}`)
		await(t, to, before+2)
		settled(t, c, id)
		wantBody(t, c.POST(recover, fields{"since": held[0]["created_at"]}, "Idempotency-Key: k").Want(t, 202), `{"queued":2}`)
		wantJSON(t, "recovered", states(t, c, id), map[string]int{"failed": 12, "delivered": 4})
		to.Always(500, "")
		wantBody(t, c.POST(recover, fields{"since": "2020-01-01T00:00:00Z"}).Want(t, 202), `{"queued":12}`)
		sheaftest.Eventually(t, "it is inactive", func() bool { return subscription(t, c, id)["active"] == false })
		settled(t, c, id)
		if n := states(t, c, id); n["failed"]+n["held"] != 12 || n["failed"] < 10 {
			t.Errorf("got %v", n)
		}
		again := delivery(t, c, idOf(deliveriesOf(t, c, id, "?state=failed")[0]))
		if len(attempts(again)) < 8 {
			t.Errorf("the schedule was not run whole: %v", again["attempt_count"])
		}
	})
}

// D68a: an attempt under way when the subscription is turned off ends: taken is delivered, refused
// is held, uncounted.
func TestDelivery_TurnedOffWhileSending(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		a.Deliver(quick)
		for status, state := range map[int]string{200: "delivered", 500: "held"} {
			to := receiver(t, a)
			going := make(chan struct{})
			to.Answer(func(sheaftest.Received) sheaftest.Reply {
				<-going
				return sheaftest.Reply{Status: status}
			})
			id := idOf(subscribe(t, c, fields{"url": to.URL}))
			newProject(t, c)
			await(t, to, 1)
			if s := states(t, c, id); s["sending"] != 1 {
				t.Errorf("got %v", s)
			}
			c.PATCH(at(subscriptions, id), fields{"active": false}).Want(t, 200)
			close(going)
			settled(t, c, id)
			s := subscription(t, c, id)
			wantJSON(t, "the end", []any{states(t, c, id), s["failure_count"], s["deactivation_reason"]}, []any{map[string]int{state: 1}, 0, "manual"})
			c.DELETE(at(subscriptions, id)).Want(t, 204)
		}
	})
}

// D68a: a redelivery under way does not keep a delivery waiting whose subscription is turned off.
func TestDelivery_TurnedOffWhileRedelivering(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		to := receiver(t, a)
		going := make(chan struct{})
		to.Answer(func(r sheaftest.Received) sheaftest.Reply {
			if r.Number > 1 {
				<-going
			}
			return sheaftest.Reply{Status: 500}
		})
		a.Deliver(sheaf.Schedule{time.Hour})
		id := idOf(subscribe(t, c, fields{"url": to.URL}))
		newProject(t, c)
		sheaftest.Eventually(t, "it waits for its second attempt", func() bool { return deliveriesOf(t, c, id, "")[0]["attempt_count"] == 1.0 })
		c.POST(at(deliveries, idOf(deliveriesOf(t, c, id, "")[0]))+"/redeliver", nil).Want(t, 202)
		await(t, to, 2)
		c.PATCH(at(subscriptions, id), fields{"active": false}).Want(t, 200)
		close(going)
		sheaftest.Eventually(t, "the attempt has ended", func() bool { return deliveriesOf(t, c, id, "")[0]["attempt_count"] == 2.0 })
		wantJSON(t, "the end", states(t, c, id), map[string]int{"held": 1})
	})
}

// D64b: redelivery makes one more attempt of the same delivery, also when inactive, and leaves it
// as it was unless it arrives.
func TestDelivery_Redeliver(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		to := receiver(t, a)
		to.Always(500, "")
		a.Deliver(quick)
		id := idOf(subscribe(t, c, fields{"url": to.URL}))
		newProject(t, c)
		failed := idOf(settled(t, c, id)[0])
		c.PATCH(at(subscriptions, id), fields{"active": false}).Want(t, 200)
		newProject(t, c)
		held := idOf(deliveriesOf(t, c, id, "?state=held")[0])
		again := func(d, state string, count int, header ...string) {
			t.Helper()
			r := c.POST(at(deliveries, d)+"/redeliver", nil, header...).Want(t, 202)
			if got := inside(t, r, "delivery"); got["id"] != d || got["state"] != "waiting" && got["state"] != "sending" {
				t.Errorf("got %s", r.Body)
			}
			settled(t, c, id)
			got := delivery(t, c, d)
			if got["state"] != state || got["attempt_count"] != float64(count) || len(attempts(got)) != count {
				t.Errorf("want %s after %d, got %v", state, count, got)
			}
		}
		again(failed, "failed", 5)
		again(held, "held", 1)
		again(held, "held", 2)
		to.Always(200, "")
		again(failed, "delivered", 6, "Idempotency-Key: k")
		c.POST(at(deliveries, failed)+"/redeliver", nil, "Idempotency-Key: k").Want(t, 202)
		again(failed, "delivered", 7)
		again(held, "delivered", 3)
		s := subscription(t, c, id)
		wantJSON(t, "uncounted", []any{s["active"], s["failure_count"], s["held_count"]}, []any{false, 1, 0})
		for i, r := range to.Requests()[4:] {
			if got, want := r.Header.Get("Webhook-Id"), delivery(t, c, failed)["event_id"]; (i == 0) != (got == want) && i < 3 {
				t.Errorf("request %d is of %s", i, got)
			}
		}
	})
}

// D64b: calls made before the attempt has begun ask for one together, and so do those made while it
// is under way.
func TestDelivery_RedeliveriesAskedForTogetherAreOne(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		to := receiver(t, a)
		id := idOf(subscribe(t, c, fields{"url": to.URL}))
		c.PATCH(at(subscriptions, id), fields{"active": false}).Want(t, 200)
		newProject(t, c)
		held := idOf(deliveriesOf(t, c, id, "?state=held")[0])
		again := func(times int) {
			for range times {
				c.POST(at(deliveries, held)+"/redeliver", nil).Want(t, 202)
			}
		}
		begun, going := make(chan struct{}, 10), make(chan struct{})
		to.Answer(func(sheaftest.Received) sheaftest.Reply {
			begun <- struct{}{}
			<-going
			return sheaftest.Reply{}
		})
		again(3) // nobody sends yet
		a.Deliver(quick)
		<-begun
		again(2)
		close(going)
		sheaftest.Eventually(t, "both attempts have ended", func() bool {
			got := delivery(t, c, held)
			return got["state"] == "delivered" && got["attempt_count"] == 2.0
		})
		settled(t, c, id)
		if n := len(to.Requests()); n != 2 {
			t.Errorf("%d requests, want 2", n)
		}
	})
}

// D67, D71: hostile endpoints fail with a class, and texts that tell nothing of the inner network.
func TestDelivery_HostileEndpoints(t *testing.T) {
	want := map[string]string{"nobody-there": "connection", "endless-headers": "connection", "endless-body": "", "switching-protocols": "status",
		"reset-after-request": "connection", "not-http": "connection", "redirect-inside": "status", "redirect-to-itself": "status", "not-text": "",
		"tls-plain-http": "tls", "certificate-expired": "tls", "certificate-self-signed": "tls", "certificate-other-host": "tls"}
	apitest.Run(t, func(t *testing.T, a *apitest.API) { hostileEndpoints(t, a, want) })
}

// Endpoints that never end an answer last until the deadline, so theirs is short. The others end
// by themselves.
func TestDelivery_EndpointsThatNeverEnd(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Freeze() // who is late with an attempt does not lose it to another node
		a.Webhooks.Timeout = 500 * time.Millisecond
		a.Webhooks.Courier = courier(a, a.Webhooks.Guard)
		hostileEndpoints(t, a, map[string]string{"never-answers": "timeout", "body-drip": "timeout"})
	})
}

// hostileEndpoints delivers once to each, and checks the class with which its attempt ends.
func hostileEndpoints(t *testing.T, a *apitest.API, want map[string]string) {
	t.Helper()
	c := a.Workspace(sheaf.Business).Client("")
	subs := map[string]string{}
	for _, b := range sheaftest.Zoo() {
		if _, wanted := want[b.Name]; !wanted {
			continue
		}
		e, err := b.Listen("127.0.0.1:0", a.Webhooks.CA)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.Close)
		subs[b.Name] = idOf(subscribe(t, c, fields{"name": b.Name, "url": e.URL}))
	}
	if _, wanted := want["nobody-there"]; wanted {
		subs["nobody-there"] = idOf(subscribe(t, c, fields{"url": "https://127.0.0.1:1/"}))
	}
	newProject(t, c)
	stop := a.Deliver(nil)
	for name, sub := range subs {
		d := delivery(t, c, idOf(settled(t, c, sub)[0]))
		class, got := want[name], attempts(d)[0]
		if text, _ := got["error_class"].(string); text != class || (d["state"] == "delivered") != (class == "") {
			t.Errorf("%s: %v, want %q", name, d, class)
		}
		if len(attempts(d)) != 1 || got["remote_address"] != nil {
			t.Errorf("%s: %v", name, d)
		}
		text, _ := got["error"].(string)
		if regexp.MustCompile(`\d+\.\d+|::|:\d|169|dial|lookup|tcp|x509|EOF`).MatchString(text) || text != "" && d["last_error"] != text {
			t.Errorf("%s tells %q", name, text)
		}
		s := subscription(t, c, sub)
		if s["active"] != true || s["last_error"] != got["error"] {
			t.Errorf("%s: %v", name, s)
		}
	}
	stop()
	a.Webhooks.Courier.Client.CloseIdle()
}

// D71: an address that is special, behind a name that was accepted, is refused where it is dialled.
// Nothing is sent.
func TestDelivery_SpecialAddressIsRefusedWhenDialled(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		c := ws.Client("")
		to := receiver(t, a)
		_, port, _ := strings.Cut(strings.TrimPrefix(to.URL, "https://"), ":")
		for _, url := range []string{to.URL, "https://localhost:" + port} {
			subscribe(t, c, fields{"url": url})
		}
		newProject(t, c)
		a.Webhooks.Courier = courier(a, guard.New(nil))
		a.Deliver(quick)
		strict := guarded(t, a).Client(ws.Key())
		for _, id := range c.GET(subscriptions).IDs(t) {
			d := delivery(t, c, idOf(settled(t, c, id)[0]))
			last := attempts(d)[3]
			if d["state"] != "failed" || last["error_class"] != "blocked_address" || last["error"] != "the endpoint's address is not allowed: use a public one, or let the operator allow it with --webhook-allow-cidr" || last["remote_address"] != nil || last["status_code"] != nil {
				t.Errorf("got %v", d)
			}
			r := strict.POST(at(subscriptions, id)+"/test", nil).Want(t, 200)
			if r.JSON["delivered"] != false || r.JSON["error"] != "the endpoint's address is not allowed: use a public one, or let the operator allow it with --webhook-allow-cidr" {
				t.Errorf("got %s", r.Body)
			}
		}
		if n := len(to.Requests()); n != 0 {
			t.Errorf("%d requests came", n)
		}
	})
}

// D69, D62: one attempt, at once, of an event that is nowhere; also when inactive or failing, and
// never counted.
func TestDelivery_TestEndpoint(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		c := ws.Client("")
		to := receiver(t, a)
		a.Deliver(quick)
		made := subscribe(t, c, fields{"url": to.URL, "headers": fields{"X-Token": "t0psecret"}})
		id := idOf(made)
		one := at(subscriptions, id)
		before := c.GET(one).Want(t, 200)
		for i, status := range []int{200, 204, 299, 300, 302, 404, 500} {
			to.Always(status, "")
			r := c.POST(one+"/test", nil, "Idempotency-Key: k").Want(t, 200)
			wantSame(t, "the fields", names(r.JSON), strings.Fields("delivered duration_ms error event_id response_body status_code"))
			if r.JSON["delivered"] != (status < 300) || r.JSON["status_code"] != float64(status) || (r.JSON["error"] == nil) != (status < 300) {
				t.Errorf("%d: got %s", status, r.Body)
			}
			got := await(t, to, i+1)[i]
			verifies(t, got, made["secret"].(string), true)
			var e fields
			if err := json.Unmarshal(got.Body, &e); err != nil {
				t.Fatal(err)
			}
			for name, want := range (fields{"id": r.JSON["event_id"], "type": "webhook.test", "resource_type": "webhook_subscription", "resource_id": id,
				"user_id": string(ws.Owner), "workspace_id": string(ws.ID)}) {
				wantJSON(t, name, e[name], want)
			}
			if got.Header.Get("Webhook-Id") != r.JSON["event_id"] || got.Header.Get("X-Token") != "t0psecret" || strings.Contains(string(got.Body), "t0psecret") {
				t.Errorf("sent %v %s", got.Header, got.Body)
			}
			c.GET(at(events, r.JSON["event_id"].(string))).WantError(t, 404, "NOT_FOUND")
		}
		if len(to.Requests()) != 7 || len(deliveriesOf(t, c, id, "")) != 0 || c.GET(events).JSON["total"] != 0.0 {
			t.Error("a test left something")
		}
		wantBody(t, c.GET(one), string(before.Body))
		c.PATCH(one, fields{"active": false}).Want(t, 200)
		to.Always(200, "")
		if r := c.POST(one+"/test", nil).Want(t, 200); r.JSON["delivered"] != true {
			t.Errorf("inactive: %s", r.Body)
		}
		if s := subscription(t, c, id); s["active"] != false {
			t.Errorf("got %v", s)
		}
		// D72: what the endpoint answered is shown, as a delivery's attempt shows it.
		to.Always(500, "no such token: t0psecret, "+made["secret"].(string))
		if r := c.POST(one+"/test", nil).Want(t, 200); r.JSON["response_body"] != "no such token: •••, •••" {
			t.Errorf("shown: %s", r.Body)
		}
		to.Close()
		if r := c.POST(one+"/test", nil).Want(t, 200); r.JSON["delivered"] != false || r.JSON["status_code"] != nil || r.JSON["error"] == nil || r.JSON["response_body"] != nil {
			t.Errorf("nobody there: %s", r.Body)
		}
		c.POST(at(subscriptions, nowhereID)+"/test", nil).WantError(t, 404, "NOT_FOUND")
	})
}

// D72: the secrets, in each form that an endpoint can compute, and the values of headers that it
// echoes become •••.
func TestDelivery_AnswersAreRedacted(t *testing.T) {
	a := apitest.SQLite(t)
	c := a.Workspace(sheaf.Pro).Client("")
	to := receiver(t, a)
	made := subscribe(t, c, fields{"url": to.URL, "headers": fields{"Authorization": `Bearer a"b/c<d>`, "X-Token": "0123456789"}})
	id, old := idOf(made), made["secret"].(string)
	secret := inside(t, c.POST(at(subscriptions, id)+"/rotate-secret", nil).Want(t, 200), "subscription")["secret"].(string)
	decoded := func(secret string) string {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil {
			t.Fatal(err)
		}
		return string(key)
	}
	bare := strings.TrimPrefix(secret, "whsec_")
	to.Always(500, "old "+old+" new "+secret+" bare "+bare+" keys "+decoded(old)+" "+decoded(secret)+` header Bearer a"b/c<d> in JSON "Bearer a\"b\/c\u003cd\u003e" or 01234567890123456789 cut 012345`)
	newProject(t, c)
	a.Deliver(nil)
	d := delivery(t, c, idOf(settled(t, c, id)[0]))
	if got := attempts(d)[0]["response_body"]; got != `old ••• new ••• bare ••• keys ••• ••• header ••• in JSON "•••" or ••• cut •••` {
		t.Errorf("kept %q", got)
	}
}

// D60, D68a: a subscription gets what it was subscribed to at the time, whatever is changed later.
func TestDelivery_OfWhatWasSubscribed(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		all := idOf(subscribe(t, c, fields{"events": serviceEvents}))
		only := idOf(subscribe(t, c, fields{"events": []string{"project.updated", "webhook.test"}}))
		shares := idOf(subscribe(t, c, fields{"events": []string{"share.created"}}))
		folder := create(t, c, folders, fields{"name": "f", "entity_type": "project"})
		below := create(t, c, folders, fields{"name": "g", "entity_type": "project", "parent_id": folder})
		project := create(t, c, projects, fields{"name": "p", "folder_id": below})
		document := create(t, c, documents, fields{"title": "d", "project_id": project})
		steps := []struct {
			act  func()
			want []string
		}{
			{func() { c.PATCH(at(projects, project), fields{"name": "q"}).Want(t, 200) }, []string{"project.updated " + project}},
			{func() { c.PATCH(at(projects, project), fields{"name": "q"}).Want(t, 200) }, nil},
			{func() { c.POST(at(folders, below)+"/move", fields{"parent_id": nil}).Want(t, 200) }, []string{"folder.updated " + below}},
			{func() { c.POST(at(folders, below)+"/move", fields{"parent_id": folder}).Want(t, 200) }, []string{"folder.updated " + below}},
			{func() { c.DELETE(at(documents, document)).Want(t, 204) }, []string{"document.deleted " + document}},
			{func() { c.POST(at(documents, document)+"/restore", nil).Want(t, 200) }, []string{"document.created " + document}},
			{func() { c.DELETE(at(folders, folder)).Want(t, 204) }, []string{"folder.deleted " + folder, "folder.deleted " + below, "project.updated " + project}},
			{func() { c.DELETE(at(projects, project)).Want(t, 204) }, []string{"document.updated " + document, "project.deleted " + project}},
		}
		updates := 0
		for i, step := range steps {
			before := len(deliveriesOf(t, c, all, ""))
			log := emitted(t, c, step.act)
			got := typesOf(log)
			slices.Sort(got)
			slices.Sort(step.want)
			wantSame(t, "the log", got, step.want)
			queued := deliveriesOf(t, c, all, "")[before:]
			for j, d := range queued {
				if d["event_id"] != idOf(log[j]) || d["event_type"] != log[j]["type"] {
					t.Errorf("step %d queued %v", i, d)
				}
			}
			if len(queued) != len(log) {
				t.Errorf("step %d queued %d of %d", i, len(queued), len(log))
			}
			updates += strings.Count(strings.Join(got, " "), "project.updated")
		}
		if n := len(deliveriesOf(t, c, only, "")); n != updates {
			t.Errorf("%d deliveries of %d updates", n, updates)
		}
		c.PATCH(at(subscriptions, only), fields{"events": []string{"share.created"}}).Want(t, 200)
		publish(t, c, 1)
		if a, b := len(deliveriesOf(t, c, only, "")), len(deliveriesOf(t, c, shares, "")); a != updates+1 || b != 1 {
			t.Errorf("%d and %d deliveries", a, b)
		}
	})
}

// D61, D70, D82: a receiver that applies what is delivered, in whatever order, ends with what the API
// lists. It keeps of each resource the newest state: by updated_at, which rises with every change;
// a deletion shows the last one. It reads the text of a document by the version that an event names,
// and so has all texts too.
func TestDelivery_AppliedToAnEmptyCopy(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		to := receiver(t, a)
		mirror := &mirror{reader: c, records: map[string]fields{}, texts: map[string]string{}, deleted: map[string]bool{}, seen: map[string]bool{}}
		var refused sync.Map // ids of events
		to.Answer(func(r sheaftest.Received) sheaftest.Reply {
			if r.Number%5 == 0 {
				if _, again := refused.LoadOrStore(r.Header.Get("Webhook-Id"), true); !again {
					return sheaftest.Reply{Status: 503} // it comes again, behind others; once, so that none uses up its attempts
				}
			}
			mirror.take(r.Body)
			return sheaftest.Reply{}
		})
		id := idOf(subscribe(t, c, fields{"url": to.URL, "events": serviceEvents}))
		a.Deliver(sheaf.Schedule{time.Millisecond, 50 * time.Millisecond, time.Millisecond, time.Millisecond, time.Millisecond, time.Millisecond})
		create(t, c, documents, fields{"title": "kept", "content": "a text that no monkey knows of"})
		pool := &idPool{ids: map[string][]string{}}
		together(6, func(i int) {
			w := &monkey{c: c, r: rand.New(rand.NewPCG(uint64(i), 7)), pool: pool}
			for range 35 {
				if r := w.act(); r.Status >= 500 || r.Err != nil {
					t.Errorf("got %d %s %v", r.Status, r.Body, r.Err)
				}
			}
		})
		log := len(wholeList(t, c, events, 100))
		t.Logf("%d events", log)
		if s := settled(t, c, id); len(s) != log || log < 50 || states(t, c, id)["delivered"] != log {
			t.Fatalf("of %d events: %v", log, states(t, c, id))
		}
		mirror.mu.Lock()
		defer mirror.mu.Unlock()
		listed, written := 0, 0
		for _, path := range []string{projects, folders, documents} {
			for _, r := range wholeList(t, c, path, 100) {
				wantJSON(t, path, own(mirror.records[idOf(r)]), own(r))
				if mirror.deleted[idOf(r)] {
					t.Errorf("the copy deleted %v", r)
				}
				if path == documents {
					text := c.GET(at(documents, idOf(r))).Want(t, 200).Text(t, "content")
					wantJSON(t, "the text of "+idOf(r), mirror.texts[idOf(r)], text)
					written += len(text)
				}
				listed++
			}
		}
		if written == 0 {
			t.Error("nobody wrote a text that is still there")
		}
		kept := 0
		for id := range mirror.records {
			if !mirror.deleted[id] {
				kept++
			}
		}
		if kept != listed || len(mirror.seen) != log {
			t.Errorf("the copy has %d of %d, of %d events", kept, listed, len(mirror.seen))
		}
	})
}

// mirror is a receiver's copy.
type mirror struct {
	reader *apitest.Client // of what events do not carry: the texts

	mu      sync.Mutex // guards what follows
	records map[string]fields
	texts   map[string]string // of documents
	deleted map[string]bool
	seen    map[string]bool
}

func (m *mirror) take(body []byte) {
	var e fields
	if json.Unmarshal(body, &e) != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen[idOf(e)] = true
	id, now := e["resource_id"].(string), without(e["payload"].(fields), "previous")
	gone := strings.HasSuffix(e["type"].(string), ".deleted")
	if was, known := m.records[id]; known {
		old, young := was["updated_at"].(string), now["updated_at"].(string)
		if young < old || young == old && !gone {
			return
		}
	}
	m.records[id], m.deleted[id] = now, gone
	if e["resource_type"] == "document" && !gone {
		m.read(id, now)
	}
}

// read gets the text of the version that an event names. A document that was deleted meanwhile shows
// no text: an event reports its deletion, and another one its return.
func (m *mirror) read(id string, now fields) {
	v := m.reader.GET(fmt.Sprintf("%s/versions/%v", at(documents, id), now["version"]))
	if text, ok := v.JSON["content"].(string); ok && hashOf(text) == now["content_sha256"] {
		m.texts[id] = text
	}
}
