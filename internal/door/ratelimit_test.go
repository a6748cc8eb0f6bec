package door_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// D54: an exact window that slides, in which refused requests do not count.
func TestRateLimit_ExactWindow(t *testing.T) {
	a := apitest.SQLite(t, apitest.PlanLimits)
	a.Clock.Set(morning)
	ws := a.Workspace(sheaf.Pro)
	c := ws.Client("")
	// Every authenticated request counts, whatever its answer is, and every answer says so.
	for i, r := range []*apitest.Response{
		c.GET(me).Want(t, 200), c.GET(projects).Want(t, 200), c.GET(projects+"?limit=0").Want(t, 400), c.GET("/api/v1/nonsense").Want(t, 404),
		c.Do("PATCH", projects, nil).Want(t, 405), c.POST(projects, `{`).Want(t, 400), c.POST(projects, `{"name":"p"}`).Want(t, 201),
		c.GET(projects+"/"+nowhereID).Want(t, 404), c.Do("HEAD", projects, nil).Want(t, 200),
	} {
		r.WantLimit(t, 100, 99-i)
	}
	for i := 9; i < 60; i++ {
		c.GET(me).Want(t, 200).WantLimit(t, 100, 99-i)
	}
	a.Clock.Advance(30 * time.Second)
	for i := 60; i < 100; i++ {
		c.GET(me).Want(t, 200).WantLimit(t, 100, 99-i)
	}
	for range 20 {
		c.GET(me).WantLimited(t, 100)
	}
	// Another key has a window of its own; nobody else's answers count.
	ws.Client("").GET(me).Want(t, 200).WantLimit(t, 100, 99)
	if r := a.Client("").GET(me).Want(t, 401); r.Header.Get("RateLimit-Limit") != "" {
		t.Error("an answer to nobody names a limit")
	}

	a.Clock.Set(morning.Add(60*time.Second - time.Millisecond))
	if wait := c.GET(me).WantLimited(t, 100); wait != time.Second {
		t.Errorf("a millisecond before the first slot frees it asks to wait %v", wait)
	}
	a.Clock.Set(morning.Add(60*time.Second + time.Millisecond))
	for i := range 60 { // those of the first instant, and none more
		c.GET(me).Want(t, 200).WantLimit(t, 100, 59-i)
	}
	wait := c.GET(projects).WantLimited(t, 100)
	a.Clock.Advance(wait - time.Second)
	c.GET(projects).WantLimited(t, 100)
	a.Clock.Advance(time.Second) // what it asked for, and it is kept
	c.GET(projects).Want(t, 200)
}

// D54: refused requests reach nothing.
func TestRateLimit_RefusedHaveNoEffect(t *testing.T) {
	a := apitest.SQLite(t, apitest.PlanLimits)
	a.Clock.Set(morning)
	ws := a.Workspace(sheaf.Pro)
	c := ws.Client("")
	for _, r := range apitest.Together(100, func(int) *apitest.Response { return c.GET(me) }) {
		r.Want(t, 200)
	}
	c.POST(projects, `{"name":"p"}`, "Idempotency-Key: k").WantLimited(t, 100)
	c.GET("/api/v1/nonsense").WantLimited(t, 100)
	other := ws.Client("")
	if n := len(other.GET(projects).Want(t, 200).Items(t)); n != 0 {
		t.Errorf("a refused request made %d projects", n)
	}
	other.POST(projects, `{"name":"another"}`, "Idempotency-Key: k").Want(t, 201) // it has not used the key either
}

// D54, D55: exactly N of concurrent requests are admitted; a change of plan counts at once, in both
// directions.
func TestRateLimit_ConcurrentAndOnAnotherPlan(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		ws := a.Workspace(sheaf.Pro)
		c := ws.Client("")
		ask := func(int) *apitest.Response { return c.GET(me) }
		if n := apitest.Statuses(apitest.Together(128, ask)); n[200] != 100 || n[429] != 28 {
			t.Errorf("of 128 on pro: %v", n)
		}
		ws.SetPlan(sheaf.Business)
		a.Clock.Advance(time.Second)
		c.GET(me).Want(t, 200).WantLimit(t, 500, 399)
		// Not all at one moment: a crowd that would wait for too long is refused with 503.
		more := slices.Concat(apitest.Together(64, ask), apitest.Together(64, ask), apitest.Together(64, ask), apitest.Together(64, ask), apitest.Together(64, ask), apitest.Together(64, ask), apitest.Together(45, ask))
		if n := apitest.Statuses(more); n[200] != 399 || n[429] != 30 {
			t.Errorf("of 429 more on business: %v", n)
		}
		ws.SetPlan(sheaf.Pro)
		// 100 of the first second and 400 of the next: 401 have to go.
		wait := c.GET(me).WantLimited(t, 100)
		a.Clock.Advance(wait - time.Second)
		c.GET(me).WantLimited(t, 100)
		a.Clock.Advance(time.Second)
		c.GET(me).Want(t, 200)
	}, apitest.PlanLimits)
}

// A key that may make keys is no way around the limit: however many are made and thrown away, all
// of a workspace admit as much in a minute as the keys that its plan allows. Each keeps the limit
// of its own (D54).
func TestRateLimit_AChainOfKeysMeetsTheCeiling(t *testing.T) {
	const limit, ceiling = 20, 20 * 5
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		ws := a.Workspace(sheaf.Pro)
		secret, k := ws.NewKey(nil)
		c, id, admitted := a.Client(secret), string(k.ID), 0
		count := func(r *apitest.Response) *apitest.Response {
			if r.Status != 429 {
				admitted++
			}
			return r
		}
		made := 0
		var last *apitest.Response
		for made < 40 {
			if last = count(c.POST(keys, map[string]any{"name": "next", "scopes": sheaf.AllScopes.Strings()})); last.Status != 201 {
				break
			}
			made++
			c = a.Client(last.Text(t, "key"))
			count(c.DELETE(keys + "/" + id))
			id = last.Text(t, "id")
			for range limit - 2 { // one is left to make the next
				count(c.GET(me))
			}
		}
		if admitted != ceiling || made > 6 {
			t.Errorf("a chain of %d keys had %d requests admitted, want %d", made, admitted, ceiling)
		}
		last.WantError(t, 429, "RATE_LIMITED", "all keys of this workspace", fmt.Sprint(ceiling), "retry after 61 seconds")
		if h := last.Header; h.Get("RateLimit-Limit") != "20" || h.Get("RateLimit-Remaining") != "0" || h.Get("RateLimit-Reset") != h.Get("Retry-After") {
			t.Errorf("the headers are %v", h)
		}
		// Another workspace does not notice, and this one goes on when it was told to.
		a.Workspace(sheaf.Pro).Client("").GET(me).Want(t, 200)
		a.Clock.Advance(61 * time.Second)
		c.GET(me).Want(t, 200).WantLimit(t, limit, limit-1)
	}, func(c *apitest.Config) { c.RateLimit = func(sheaf.Plan) int { return limit } })
}
