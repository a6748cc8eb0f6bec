package app

import (
	"context"
	"encoding/json"
	"time"

	"sheaf.dev/internal/sheaf"
)

// backfillPage is the number of events read at a time: 16 MiB with the largest payloads.
const backfillPage = 64

// Backfill selects the events to send to a subscription.
type Backfill struct {
	Since     time.Time
	Until     *time.Time // exclusive; nil: to the end of the log
	Delivered bool       // also events that arrived already, or that it never got because it is newer
}

func (b Backfill) check() error {
	if b.Until != nil && !b.Until.After(b.Since) {
		return sheaf.InvalidField("until", "until must be later than since: since is included, until is not")
	}
	return nil
}

// Backfilled is the number of queued deliveries, and where a further request continues.
type Backfilled struct {
	Queued int64
	Next   *time.Time // nil: there is no more
}

// Fields appends the fields of the JSON object.
func (b *Backfilled) Fields(o *sheaf.Object) {
	o.Int("queued", b.Queued)
	o.OptTime("next_since", b.Next)
}

// BackfillDeliveries sends the subscription the events in a span of time that match its types and
// filter, in the order of the log. One call reads at most as many events as a cascade changes
// records in one transaction: 2,000. An inactive subscription is Invalid.
func (a *App) BackfillDeliveries(ctx context.Context, c Caller, id sheaf.SubscriptionID, in Backfill) (Backfilled, error) {
	return writeWhole(ctx, a, c, scope(sheaf.WebhooksWrite), in.check(), func(w *work, at stage) (out Backfilled, err error) {
		if err := w.mayRecover(id); err != nil {
			return out, err
		}
		s, err := w.LockSubscription(w.ws.ID, id)
		if err != nil {
			return out, err
		}
		span, err := w.SpanOf(w.ws.ID, in.Since, in.Until, w.app.cascades.Whole)
		if err != nil {
			return out, err
		}
		if at == light && span.Last-span.First >= lightRows {
			return out, errHeavy
		}
		out.Next = span.Next
		for first := span.First; first <= span.Last; first += backfillPage {
			n, err := w.backfill(&s, in, first, min(first+backfillPage-1, span.Last))
			if err != nil {
				return out, err
			}
			out.Queued += n
		}
		return out, nil
	})
}

// backfill queues the events first..last of the log that the subscription is to get.
func (w *work) backfill(s *sheaf.Subscription, in Backfill, first, last int64) (int64, error) {
	events, err := w.EventsIn(w.ws.ID, first, last, s.Filter != nil)
	if err != nil {
		return 0, err
	}
	// The log of the subscription's restriction says which events it covers.
	var noted map[int64]bool
	filtered := *s
	if to := s.Restriction; to != nil {
		if noted, err = w.Noted(w.ws.ID, to.Number, first, last); err != nil {
			return 0, err
		}
		filtered.Restriction = nil
	}
	var numbers []int64
	for i := range events {
		e := &events[i]
		if s.Restriction != nil && !noted[e.Number] {
			continue
		}
		if e.At.Before(in.Since) || in.Until != nil && !e.At.Before(*in.Until) || !s.Wants(e.Type) {
			continue
		}
		if s.Filter != nil {
			if e.Places, err = w.pastPlaces(e); err != nil {
				return 0, err
			}
		}
		if filtered.Gets(e) {
			numbers = append(numbers, e.Number)
		}
	}
	return w.Backfill(w.ws.ID, s.ID, numbers, in.Delivered, w.now)
}

// past is what the body of a stored event says about places. Reported events may contain anything:
// what does not parse is left out.
type past struct {
	Payload struct {
		pastPlace
		ResourceType string    `json:"resource_type"`
		ResourceID   string    `json:"resource_id"`
		Previous     pastPlace `json:"previous"`
	} `json:"payload"`
}

type pastPlace struct {
	FolderID   *sheaf.FolderID   `json:"folder_id"`
	ParentID   *sheaf.FolderID   `json:"parent_id"`
	ProjectID  *sheaf.ProjectID  `json:"project_id"`
	DocumentID *sheaf.DocumentID `json:"document_id"`
}

// pastPlaces returns the places of a stored event's record before and after the change. They are
// read from the event itself. The folders above them are read as they are now.
func (w *work) pastPlaces(e *sheaf.Event) (*sheaf.Places, error) {
	var p past
	_ = json.Unmarshal(e.Body, &p) // unparsable fields stay empty
	at := &sheaf.Places{}
	for _, r := range p.records(e) {
		if err := w.addPlaces(at, r); err != nil {
			return nil, err
		}
	}
	return at, nil
}

// records returns the event's record before and after the change, with the fields that addPlaces
// reads.
func (p *past) records(e *sheaf.Event) (out []sheaf.Record) {
	for _, at := range []pastPlace{p.Payload.Previous, p.Payload.pastPlace} {
		switch e.Type.Resource() {
		case "folder":
			out = append(out, &sheaf.Folder{ID: sheaf.FolderID(e.ResourceID), ParentID: valid(at.ParentID)})
		case "project":
			out = append(out, &sheaf.Project{ID: sheaf.ProjectID(e.ResourceID), FolderID: valid(at.FolderID)})
		case "document":
			out = append(out, &sheaf.Document{ProjectID: valid(at.ProjectID)})
		case "media":
			out = append(out, &sheaf.Medium{DocumentID: valid(at.DocumentID)})
		}
	}
	if e.Type.Resource() == "share" && valid(&p.Payload.ResourceID) != nil {
		out = append(out, &sheaf.Share{ResourceType: sheaf.Shareable(p.Payload.ResourceType), ResourceID: p.Payload.ResourceID})
	}
	return out
}

// valid returns the identifier, or nil if it is not a UUID.
func valid[T ~string](id *T) *T {
	if id == nil {
		return nil
	}
	if _, ok := sheaf.ParseUUID(string(*id)); !ok {
		return nil
	}
	return id
}
