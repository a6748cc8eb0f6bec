package httpapi_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/deliver"
	"sheaf.dev/internal/guard"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/apitest"
)

// What the tests of webhooks share.

const (
	subscriptions = "/api/webhooks/subscriptions"
	deliveries    = "/api/webhooks/deliveries"
	stream        = "/api/v1/events/stream"
	hook          = "https://hooks.example.com/sheaf"
)

// patience is how long a test waits for what must come.
const patience = 5 * time.Minute

// quick is a schedule of four attempts without pauses.
var quick = sheaf.Schedule{time.Millisecond, time.Millisecond, time.Millisecond}

// serviceEvents are the types that this service emits itself.
var serviceEvents = []string{"document.created", "document.updated", "document.deleted", "project.created", "project.updated",
	"project.deleted", "folder.created", "folder.updated", "folder.deleted"}

// receiver starts an endpoint that the API trusts.
func receiver(t testing.TB, a *apitest.API) *sheaftest.Receiver {
	t.Helper()
	r, err := sheaftest.Receive(a.Webhooks.CA)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// await returns the first n requests.
func await(t testing.TB, r *sheaftest.Receiver, n int) []sheaftest.Received {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	got := r.Await(ctx, n)
	if len(got) < n {
		t.Fatalf("the endpoint got %d requests, want %d", len(got), n)
	}
	return got
}

// subscribe makes a subscription and returns it, with its secret.
func subscribe(t testing.TB, c *apitest.Client, body fields) fields {
	t.Helper()
	in := fields{"name": "n", "url": hook, "events": []string{"project.created"}}
	for k, v := range body {
		in[k] = v
	}
	return inside(t, c.POST(subscriptions, in).Want(t, 201), "subscription")
}

// inside returns the object that an answer wraps.
func inside(t testing.TB, r *apitest.Response, name string) fields {
	t.Helper()
	of, ok := r.JSON[name].(fields)
	if !ok || len(r.JSON) != 1 {
		t.Fatalf("%s does not wrap a %s", r.Body, name)
	}
	return of
}

func idOf(r fields) string { return r["id"].(string) }

// subscription reads one.
func subscription(t testing.TB, c *apitest.Client, id string) fields {
	t.Helper()
	return inside(t, c.GET(at(subscriptions, id)).Want(t, 200), "subscription")
}

// delivery reads one, with its attempts.
func delivery(t testing.TB, c *apitest.Client, id string) fields {
	t.Helper()
	return inside(t, c.GET(at(deliveries, id)).Want(t, 200), "delivery")
}

func attempts(d fields) (out []fields) {
	for _, a := range d["attempts"].([]any) {
		out = append(out, a.(fields))
	}
	return out
}

// deliveriesOf returns those of a subscription.
func deliveriesOf(t testing.TB, c *apitest.Client, sub, query string) []fields {
	t.Helper()
	return wholeList(t, c, at(subscriptions, sub)+"/deliveries"+query, 100)
}

// states counts the deliveries of a subscription by state.
func states(t testing.TB, c *apitest.Client, sub string) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, d := range deliveriesOf(t, c, sub, "") {
		out[d["state"].(string)]++
	}
	return out
}

// settled waits until no delivery of the subscription is waiting or being sent, and returns its deliveries.
func settled(t testing.TB, c *apitest.Client, sub string) []fields {
	t.Helper()
	total := func(query string) float64 {
		return c.GET(at(subscriptions, sub)+"/deliveries?limit=1"+query).Want(t, 200).JSON["total"].(float64)
	}
	all := total("")
	sheaftest.Eventually(t, "nothing waits any more", func() bool { // what has ended stays so
		return total("&state=delivered")+total("&state=failed")+total("&state=held") == all
	})
	return deliveriesOf(t, c, sub, "")
}

// newProject makes a project, and so an event.
func newProject(t testing.TB, c *apitest.Client) string {
	t.Helper()
	return create(t, c, projects, fields{"name": "<p>"})
}

func names(r fields) []string {
	var out []string
	for name := range r {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// courier sends under another guard than the kit's.
func courier(a *apitest.API, g *guard.Guard) *deliver.Courier {
	return &deliver.Courier{Now: a.Clock.Now, Client: deliver.NewClient(deliver.ClientConfig{Timeout: a.Webhooks.Timeout, Control: g.Control,
		Blocked: func(err error) bool { return errors.Is(err, guard.ErrBlocked) }, Special: g.Special, Allowed: g.Allowed,
		RootCAs: a.Webhooks.CA.Pool(), PerHost: 1, UserAgent: "Sheaf-Webhooks/test"})}
}

// guarded serves a's store with nothing special allowed, as operators start.
func guarded(t testing.TB, a *apitest.API) *apitest.API {
	t.Helper()
	g := guard.New(nil)
	return sending(t, a, g, courier(a, g).Send)
}

// sending serves a's store with another way to make an attempt.
func sending(t testing.TB, a *apitest.API, g *guard.Guard, send func(context.Context, sheaf.Outgoing) sheaf.Attempt) *apitest.API {
	t.Helper()
	rules := app.New(app.Config{Store: a.Store, Now: a.Clock.Now, Random: rand.Reader, Webhooks: app.Webhooks{
		Box: a.Webhooks.Box, Guard: g, SignatureHeader: "X-Service-Signature", Send: send}})
	f := a.Serve(rules)
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return &apitest.API{Server: s, Front: f, App: rules, Store: a.Store, Clock: a.Clock, Webhooks: a.Webhooks}
}
