package door_test

import (
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/tally"
)

// Every request with a key is counted once, however it is answered, and what is counted is found in
// the charts of its workspace alone.
func TestMinutes_CountEveryRequest(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		ws, other := a.Workspace(sheaf.Pro), a.Workspace(sheaf.Pro)
		c := ws.Client("")
		c.POST(projects, `{"name":"p"}`).Want(t, 201)
		for range 96 { // from the cache, but for the first
			c.GET(projects).Want(t, 200)
		}
		c.GET("/api/v1/nonsense").Want(t, 404)
		c.POST(projects, `{`).Want(t, 400)
		c.GET(me).Want(t, 200)
		for range 7 {
			c.GET(projects).WantLimited(t, 100)
		}
		other.Client("").GET(me).Want(t, 200)
		a.Client("").GET(me).Want(t, 401)

		for _, node := range a.Handlers() {
			_, by := node.Door.Tally.Take()
			if err := a.App.AddMinute(t.Context(), morning, by); err != nil {
				t.Fatal(err)
			}
		}
		for of, want := range map[*apitest.Workspace]sheaf.Counts{ws: {Requests: 107, RateLimited: 7}, other: {Requests: 1}} {
			got, err := a.App.Minutes(t.Context(), app.Caller{Workspace: of.ID, Role: sheaf.Member}, morning)
			if err != nil || len(got) != 1 || got[0].Counts != want {
				t.Errorf("got %+v, %v; want %+v", got, err, want)
			}
		}
		if _, err := a.App.Minutes(t.Context(), app.Caller{Workspace: ws.ID}, morning); sheaf.KindOf(err) != sheaf.Forbidden {
			t.Errorf("who has no scope gets %v", err)
		}
	}, apitest.PlanLimits, func(c *apitest.Config) { c.Tally = tally.New(time.Now) })
}
