package httpapi

import (
	"net/http"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

// wrapped is a record in an object with one field, as all single resources under /api/webhooks are.
type wrapped struct {
	name string
	of   sheaf.Record
}

func (w wrapped) Fields(o *sheaf.Object) { o.Record(w.name, w.of) }

func shownSubscription(s sheaf.Subscription) answer {
	return resource(http.StatusOK, wrapped{"subscription", &s}, s.Revision)
}

// createdSubscription returns the answer with the secret, which no later answer shows.
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

// subscriptionPatch reads the fields of PATCH, which can also turn the subscription on or off.
func subscriptionPatch(in *strict.Fields) (sheaf.SubscriptionChange, error) {
	change, _ := subscriptionChange(in) // in keeps its error
	change.Active = in.Bool("active")
	return change, in.Err()
}

// filterOf reads the filter of a subscription.
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

// headersOf returns the custom headers, which the body has as an object.
func headersOf(pairs strict.Opt[[]strict.Pair]) sheaf.Opt[[]sheaf.Header] {
	out := sheaf.Opt[[]sheaf.Header]{Set: pairs.Set, Null: pairs.Null}
	for _, p := range pairs.Value {
		out.Value = append(out.Value, sheaf.Header(p))
	}
	return out
}

// testSubscription answers POST /api/webhooks/subscriptions/{id}/test. It waits for the endpoint.
func (s *Server) testSubscription(x *exchange) (answer, error) {
	id, err := pathID[sheaf.SubscriptionID](x)
	if err != nil {
		return answer{}, err
	}
	x.LiftDeadlines() // the endpoint's timeout may be longer than the server's
	result, err := s.App.TestSubscription(x.Request.Context(), x.Caller, id, x.Outside)
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

// accepted encodes the answer to a request whose work goes on after the answer.
func accepted[T any, P record[T]](v T) answer {
	return answer{status: http.StatusAccepted, body: sheaf.AppendJSON(nil, P(&v))}
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
		return once(x, accepted[app.Backfilled], func(c app.Caller) (app.Backfilled, error) {
			return s.App.BackfillDeliveries(x.Request.Context(), c, id, in)
		})
	}
	return once(x, accepted[app.Recovered], func(c app.Caller) (app.Recovered, error) {
		return s.App.RecoverDeliveries(x.Request.Context(), c, id, since.Value)
	})
}
