package httpapi

import (
	"net/http"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

// wrapped is a single resource under /api/webhooks, which stands in an object.
type wrapped struct {
	name string
	of   sheaf.Record
}

func (w wrapped) Fields(o *sheaf.Object) { o.Record(w.name, w.of) }

// listSubscriptions answers GET /api/webhooks/subscriptions.
func (s *Server) listSubscriptions(x *exchange) (answer, error) {
	p, err := x.paging()
	if err != nil {
		return answer{}, err
	}
	page, err := s.App.Subscriptions(x.Request.Context(), x.caller, p)
	return pageOf(page), err
}

// getSubscription answers GET /api/webhooks/subscriptions/{id}.
func (s *Server) getSubscription(x *exchange) (answer, error) {
	id, err := pathID[sheaf.SubscriptionID](x)
	if err != nil {
		return answer{}, err
	}
	sub, err := s.App.Subscription(x.Request.Context(), x.caller, id)
	return shownSubscription(sub), err
}

func shownSubscription(s sheaf.Subscription) answer {
	return resource(http.StatusOK, wrapped{"subscription", &s}, s.Revision)
}

// createdSubscription is the answer with the secret, which is shown this once.
func createdSubscription(s sheaf.NewSubscription) answer {
	a := resource(http.StatusCreated, wrapped{"subscription", &s}, s.Revision)
	a.location = "/api/webhooks/subscriptions/" + string(s.ID)
	return a
}

func rotatedSubscription(s sheaf.NewSubscription) answer {
	return resource(http.StatusOK, wrapped{"subscription", &s}, s.Revision)
}

func subscriptionChange(in *strict.Fields) (sheaf.SubscriptionChange, error) {
	return sheaf.SubscriptionChange{Name: in.Text("name"), URL: in.Text("url"), Events: in.Texts("events"),
		Headers: headersOf(in.TextMap("headers")), Filter: filterOf(in)}, in.Err()
}

// filterOf reads of what a subscription gets events.
func filterOf(in *strict.Fields) sheaf.Opt[sheaf.Filter] {
	object := in.Object("filter")
	if !object.Given() || in.Err() != nil {
		return sheaf.Opt[sheaf.Filter]{Set: object.Set, Null: object.Null}
	}
	f := object.Value.Fields()
	out := sheaf.Filter{Projects: strict.IDs[sheaf.ProjectID](f, "project_ids").Value,
		Folders: strict.IDs[sheaf.FolderID](f, "folder_ids").Value, Resources: strict.IDs[string](f, "resource_ids").Value}
	in.Refuse(f.Err())
	return sheaf.Some(out)
}

// headersOf reads the custom headers, which the body has as an object.
func headersOf(pairs strict.Opt[[]strict.Pair]) sheaf.Opt[[]sheaf.Header] {
	out := sheaf.Opt[[]sheaf.Header]{Set: pairs.Set, Null: pairs.Null}
	for _, p := range pairs.Value {
		out.Value = append(out.Value, sheaf.Header(p))
	}
	return out
}

// createSubscription answers POST /api/webhooks/subscriptions.
func (s *Server) createSubscription(x *exchange, in *strict.Fields) (answer, error) {
	change, err := subscriptionChange(in)
	if err != nil {
		return answer{}, err
	}
	return once(x, createdSubscription, func(c app.Caller) (sheaf.NewSubscription, error) {
		return s.App.CreateSubscription(x.Request.Context(), c, change)
	})
}

// updateSubscription answers PATCH /api/webhooks/subscriptions/{id}.
func (s *Server) updateSubscription(x *exchange, in *strict.Fields) (answer, error) {
	id, err := pathID[sheaf.SubscriptionID](x)
	if err != nil {
		return answer{}, err
	}
	change, err := subscriptionChange(in)
	if err != nil {
		return answer{}, err
	}
	change.Active = in.Bool("active")
	if err := in.Err(); err != nil {
		return answer{}, err
	}
	sub, err := s.App.UpdateSubscription(x.Request.Context(), x.caller, id, change, matchOf(x.Request.Header))
	return shownSubscription(sub), err
}

// deleteSubscription answers DELETE /api/webhooks/subscriptions/{id}.
func (s *Server) deleteSubscription(x *exchange) (answer, error) {
	id, err := pathID[sheaf.SubscriptionID](x)
	if err != nil {
		return answer{}, err
	}
	return noContent(s.App.DeleteSubscription(x.Request.Context(), x.caller, id, matchOf(x.Request.Header)))
}

// testSubscription answers POST /api/webhooks/subscriptions/{id}/test, when the endpoint has
// answered.
func (s *Server) testSubscription(x *exchange) (answer, error) {
	id, err := pathID[sheaf.SubscriptionID](x)
	if err != nil {
		return answer{}, err
	}
	x.TakeTime() // the endpoint may have longer than the server gives a request
	result, err := s.App.TestSubscription(x.Request.Context(), x.caller, id, x.Outside)
	return answer{status: http.StatusOK, body: sheaf.AppendJSON(nil, &result)}, err
}

// rotateSecret answers POST /api/webhooks/subscriptions/{id}/rotate-secret.
func (s *Server) rotateSecret(x *exchange, in *strict.Fields) (answer, error) {
	id, err := pathID[sheaf.SubscriptionID](x)
	if err != nil {
		return answer{}, err
	}
	seconds := in.Int("grace_seconds", 0, int64(sheaf.MaxGrace/time.Second))
	if err := in.Err(); err != nil {
		return answer{}, err
	}
	grace := sheaf.DefaultGrace
	if seconds.Given() {
		grace = time.Duration(seconds.Value) * time.Second
	}
	return once(x, rotatedSubscription, func(c app.Caller) (sheaf.NewSubscription, error) {
		return s.App.RotateSecret(x.Request.Context(), c, id, grace)
	})
}

func queued(r app.Recovered) answer {
	return answer{status: http.StatusAccepted, body: sheaf.AppendJSON(nil, &r)}
}

func backfilled(r app.Backfilled) answer {
	return answer{status: http.StatusAccepted, body: sheaf.AppendJSON(nil, &r)}
}

// recoverDeliveries answers POST /api/webhooks/subscriptions/{id}/recover.
func (s *Server) recoverDeliveries(x *exchange, in *strict.Fields) (answer, error) {
	id, err := pathID[sheaf.SubscriptionID](x)
	if err != nil {
		return answer{}, err
	}
	since := in.Time("since")
	if !since.Given() {
		in.Refuse(sheaf.InvalidField("since", "since is required: the time of the first event to send again, such as 2026-11-15T10:00:00.000Z"))
	}
	until, delivered := in.Time("until"), in.Bool("delivered")
	if err := in.Err(); err != nil {
		return answer{}, err
	}
	if until.Given() || delivered.Value {
		in := app.Backfill{Since: since.Value, Until: until.Pointer(), Delivered: delivered.Value}
		return once(x, backfilled, func(c app.Caller) (app.Backfilled, error) {
			return s.App.BackfillDeliveries(x.Request.Context(), c, id, in)
		})
	}
	return once(x, queued, func(c app.Caller) (app.Recovered, error) {
		return s.App.RecoverDeliveries(x.Request.Context(), c, id, since.Value)
	})
}
