package httpapi_test

import (
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/apitest"
)

// aboutSubscriptions are the types of events about subscriptions.
var aboutSubscriptions = []string{"subscription.failing", "subscription.deactivated", "subscription.reactivated"}

// tales are the events about subscriptions in the log, as "type resource".
func tales(t testing.TB, c *apitest.Client) (out []string) {
	t.Helper()
	for _, e := range typesOf(wholeList(t, c, events, 100)) {
		if strings.HasPrefix(e, "subscription.") {
			out = append(out, e)
		}
	}
	return out
}

// D132: five failed deliveries in a row, and being turned off and on, are told to other subscriptions that
// ask for it, and to the log.
func TestHealth_IsToldToOthers(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Business)
		c := ws.Client("")
		live := follow(t, a, ws.Key(), "?type=subscription.failing")
		broken, sound := receiver(t, a), receiver(t, a)
		broken.Always(500, "")
		a.Deliver(quick)
		failing := idOf(subscribe(t, c, fields{"name": "Site", "url": broken.URL + "/secret-path", "events": append([]string{"project.created"}, aboutSubscriptions...)}))
		watching := idOf(subscribe(t, c, fields{"name": "Watch", "url": sound.URL, "events": aboutSubscriptions}))
		unasked := idOf(subscribe(t, c, fields{"name": "Other", "url": sound.URL, "events": []string{"folder.created"}}))
		fail := func(n int) {
			for range n {
				newProject(t, c)
			}
			settled(t, c, failing)
		}
		fail(4)
		wantSame(t, "after four", tales(t, c), nil)
		fail(3)
		wantSame(t, "after seven", tales(t, c), []string{"subscription.failing " + failing})
		fail(3)
		want := []string{"subscription.failing " + failing, "subscription.deactivated " + failing}
		wantSame(t, "after ten", tales(t, c), want)
		broken.Always(200, "")
		c.PATCH(at(subscriptions, failing), fields{"active": true}).Want(t, 200)
		c.PATCH(at(subscriptions, watching), fields{"active": false}).Want(t, 200) // by hand
		c.PATCH(at(subscriptions, watching), fields{"active": true, "name": "Watch"}).Want(t, 200)
		c.PATCH(at(subscriptions, watching), fields{"active": true}).Want(t, 200) // it is already
		want = append(want, "subscription.reactivated "+failing, "subscription.deactivated "+watching, "subscription.reactivated "+watching)
		wantSame(t, "in the log", tales(t, c), want)
		// Each subscription receives the other's events, and none receives a type that it did not subscribe to.
		got := settled(t, c, watching)
		wantSame(t, "told to the other", eventTypes(got), []string{"subscription.failing", "subscription.deactivated", "subscription.reactivated"})
		var about []string
		for _, kind := range eventTypes(settled(t, c, failing)) {
			if strings.HasPrefix(kind, "subscription.") {
				about = append(about, kind)
			}
		}
		wantSame(t, "told to the one that failed", about, []string{"subscription.deactivated", "subscription.reactivated"})
		if n := len(deliveriesOf(t, c, unasked, "")); n != 0 {
			t.Errorf("%d went to one that did not ask", n)
		}
		first := wholeList(t, c, events+"?type=subscription.failing", 100)[0]
		wantSame(t, "in the stream", live.take(1), []string{first["id"].(string)})
		wantJSON(t, "resource_type", first["resource_type"], "webhook_subscription")
		wantJSON(t, "payload", first["payload"], fields{"id": failing, "name": "Site", "origin": strings.TrimSuffix(broken.URL, "/hook"), "active": true, "failure_count": 5.0,
			"deactivated_at": nil, "deactivation_reason": nil, "last_error": "the endpoint answered 500"})
		for _, fate := range c.GET(at(events, first["id"].(string))+"/deliveries").Want(t, 200).Items(t) {
			if fate["subscription_id"] == failing && (fate["delivery"] != nil || !strings.Contains(fate["reason"].(string), "itself")) {
				t.Errorf("of itself: %v", fate)
			}
		}
		wantSound(t, a)
	})
}

// D132: another service may report an event under any identifier. An event with a subscription's identifier
// is not about that subscription, and is delivered to it. A test of the client hung because of this.
func TestHealth_AnIdentifierOfAnotherPartIsNotTheSubscription(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		broken := receiver(t, a)
		broken.Always(500, "")
		a.Deliver(sheaf.Schedule{})
		id := idOf(subscribe(t, c, fields{"url": broken.URL, "events": []string{"media.uploaded"}}))
		c.POST(events, fields{"type": "media.uploaded", "resource_id": id, "payload": fields{}}).Want(t, 202)
		if got := settled(t, c, id); len(got) != 1 || got[0]["state"] != "failed" {
			t.Errorf("its deliveries are %v", got)
		}
		wantSound(t, a)
	})
}

// eventTypes are the types of the events of deliveries, in their order.
func eventTypes(ds []fields) (out []string) {
	for _, d := range ds {
		out = append(out, d["event_type"].(string))
	}
	return out
}

// D132: two subscriptions that fail about each other come to an end.
func TestHealth_OfEachOtherEnds(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		broken := receiver(t, a)
		broken.Always(500, "")
		a.Deliver(quick)
		both := append([]string{"project.created"}, aboutSubscriptions...)
		one, two := idOf(subscribe(t, c, fields{"url": broken.URL, "events": both})), idOf(subscribe(t, c, fields{"url": broken.URL, "events": both}))
		for range 12 {
			newProject(t, c)
		}
		sheaftest.Eventually(t, "both are deactivated", func() bool {
			return subscription(t, c, one)["active"] == false && subscription(t, c, two)["active"] == false
		})
		settled(t, c, one)
		settled(t, c, two)
		count := map[string]int{}
		for _, tale := range tales(t, c) {
			count[tale]++
		}
		wantJSON(t, "what was told", count, map[string]int{"subscription.failing " + one: 1, "subscription.failing " + two: 1,
			"subscription.deactivated " + one: 1, "subscription.deactivated " + two: 1})
		wantSound(t, a)
	})
}
