package httpapi_test

import (
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// backfill asks for it and returns how many it queued.
func backfill(t testing.TB, c *apitest.Client, sub string, body fields) int {
	t.Helper()
	return int(c.POST(at(subscriptions, sub)+"/recover", body).Want(t, 202).JSON["queued"].(float64))
}

// receivedEvents are the ids of the events of deliveries, in their order.
func receivedEvents(ds []fields) (out []string) {
	for _, d := range ds {
		out = append(out, d["event_id"].(string))
	}
	return out
}

// D133: an endpoint that is new gets what happened before it, in its order, once it asks.
func TestBackfill_ANewEndpointIsGivenThePast(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Business).Client("")
		folder := create(t, c, folders, fields{"name": "f", "entity_type": "project"})
		inside := create(t, c, projects, fields{"name": "in", "folder_id": folder})
		create(t, c, projects, fields{"name": "out"})
		away := create(t, c, projects, fields{"name": "away", "folder_id": folder})
		c.PATCH(at(projects, away), fields{"folder_id": nil}).Want(t, 200)
		create(t, c, documents, fields{"title": "d", "project_id": inside})
		log := idsOf(wholeList(t, c, events, 100))
		to := receiver(t, a)
		a.Deliver(quick)
		wanted := []string{"project.created", "project.updated", "document.created"}
		sub := idOf(subscribe(t, c, fields{"url": to.URL, "events": wanted}))
		if n := backfill(t, c, sub, fields{"since": "2020-01-01T00:00:00Z", "until": "2030-01-01T00:00:00Z"}); n != 0 {
			t.Errorf("without delivered it queued %d", n)
		}
		if n := backfill(t, c, sub, fields{"since": "2020-01-01T00:00:00Z", "delivered": true}); n != 5 {
			t.Errorf("it queued %d", n)
		}
		wantSame(t, "the past", receivedEvents(settled(t, c, sub)), log[1:])
		if n := len(await(t, to, 5)); n != 5 {
			t.Errorf("it got %d", n)
		}
		// With a filter, what the events say decides.
		filtered := idOf(subscribe(t, c, fields{"url": to.URL, "events": wanted, "filter": fields{"folder_ids": []string{folder}}}))
		if n := backfill(t, c, filtered, fields{"since": "2020-01-01T00:00:00Z", "delivered": true}); n != 4 {
			t.Errorf("through the filter it queued %d", n)
		}
		wantSame(t, "through the filter", receivedEvents(settled(t, c, filtered)), []string{log[1], log[3], log[4], log[5]})
		// Again: all of it comes a second time, as the same deliveries.
		if n := backfill(t, c, sub, fields{"since": "2020-01-01T00:00:00Z", "delivered": true}); n != 5 {
			t.Errorf("the second time it queued %d", n)
		}
		for _, d := range settled(t, c, sub) {
			if d["attempt_count"] != 2.0 || d["state"] != "delivered" {
				t.Errorf("after the second time: %v", d)
			}
		}
		wantSound(t, a)
	})
}

// D133: `since` is in the span, `until` is not. An inactive subscription, or an `until` before `since`, is
// refused.
func TestBackfill_Span(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Pro).Client("")
		sub := idOf(subscribe(t, c, nil))
		c.PATCH(at(subscriptions, sub), fields{"active": false}).Want(t, 200) // what comes is held
		for range 6 {
			newProject(t, c)
			a.Clock.Advance(time.Minute)
		}
		at2, at4 := morning.Add(2*time.Minute), morning.Add(4*time.Minute)
		span := fields{"since": at2, "until": at4}
		c.POST(at(subscriptions, sub)+"/recover", span).WantError(t, 400, "VALIDATION_ERROR", "inactive")
		c.PATCH(at(subscriptions, sub), fields{"active": true}).Want(t, 200)
		c.POST(at(subscriptions, sub)+"/recover", fields{"since": at4, "until": at2}).WantError(t, 400, "VALIDATION_ERROR", "until")
		c.POST(at(subscriptions, sub)+"/recover", fields{"since": at2, "until": at2}).WantError(t, 400, "VALIDATION_ERROR", "until")
		if n := backfill(t, c, sub, span); n != 2 {
			t.Errorf("it queued %d of the span", n)
		}
		wantJSON(t, "states", states(t, c, sub), map[string]int{"held": 4, "waiting": 2})
		if n := backfill(t, c, sub, span); n != 0 { // they wait already
			t.Errorf("a second time it queued %d", n)
		}
		// What is turned off holds them again, and plain recovery sends all.
		c.PATCH(at(subscriptions, sub), fields{"active": false}).Want(t, 200)
		wantJSON(t, "turned off", states(t, c, sub), map[string]int{"held": 6})
		c.PATCH(at(subscriptions, sub), fields{"active": true}).Want(t, 200)
		if n := backfill(t, c, sub, fields{"since": morning}); n != 6 {
			t.Errorf("plain recovery queued %d", n)
		}
		a.Deliver(quick)
		wantSound(t, a)
	})
}

// D133: one request reads a limited number of events, and says where the next one continues.
func TestBackfill_GoesOn(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Business).Client("")
		for range 8 {
			newProject(t, c)
			a.Clock.Advance(time.Second)
		}
		sub := idOf(subscribe(t, c, nil))
		body := fields{"since": morning, "delivered": true}
		first := c.POST(at(subscriptions, sub)+"/recover", body).Want(t, 202)
		wantJSON(t, "the first", first.JSON, fields{"queued": 6, "next_since": "2026-11-15T10:00:06.000Z"})
		body["since"] = first.JSON["next_since"]
		wantJSON(t, "the rest", c.POST(at(subscriptions, sub)+"/recover", body).Want(t, 202).JSON, fields{"queued": 2, "next_since": nil})
		wantJSON(t, "states", states(t, c, sub), map[string]int{"waiting": 8})
		wantSound(t, a)
	}, chunky(nil))
}

// D133: more events of one time than a request looks at are one span, and an event that a slower clock
// would date earlier than the one before it is not passed over.
func TestBackfill_GoesOnPastEventsOfOneTime(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Business).Client("")
		for range 9 {
			newProject(t, c)
		}
		a.Clock.Set(morning.Add(3 * time.Second))
		newProject(t, c)
		a.Clock.Set(morning.Add(2 * time.Second)) // by another node
		newProject(t, c)
		sub := idOf(subscribe(t, c, nil))
		body := fields{"since": morning, "delivered": true}
		first := c.POST(at(subscriptions, sub)+"/recover", body).Want(t, 202)
		wantJSON(t, "the first", first.JSON, fields{"queued": 9, "next_since": "2026-11-15T10:00:03.000Z"})
		body["since"] = first.JSON["next_since"]
		wantJSON(t, "the rest", c.POST(at(subscriptions, sub)+"/recover", body).Want(t, 202).JSON, fields{"queued": 2, "next_since": nil})
		wantJSON(t, "states", states(t, c, sub), map[string]int{"waiting": 11})
		wantSound(t, a)
	}, chunky(nil))
}

// D133: while events come and are delivered, and several ask at once, nothing is lost, and each ends.
func TestBackfill_BesideDeliveries(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		to := receiver(t, a)
		a.Deliver(quick)
		for range 20 {
			newProject(t, c)
		}
		sub := idOf(subscribe(t, c, fields{"url": to.URL}))
		together(64, func(i int) {
			if i%4 == 0 {
				backfill(t, c, sub, fields{"since": "2020-01-01T00:00:00Z", "delivered": true})
				return
			}
			newProject(t, c)
		})
		ds := settled(t, c, sub)
		if len(ds) != 20+48 {
			t.Errorf("%d deliveries", len(ds))
		}
		for _, d := range ds {
			if d["state"] != "delivered" {
				t.Errorf("%v", d)
			}
		}
		wantSound(t, a)
	})
}
