package app

import (
	"context"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// If a key has leaked, an owner wants to know what it did, and to end what the thief can still use: the key, and the
// keys, webhooks and shares that were made with it. A key that was made or rotated with a leaked key has leaked too.

const (
	// eventsTraced is how many of the workspace's newest events are searched for those of a key.
	eventsTraced = 10_000
	// mostTraced is how many events, audit lines and shares of a key are shown.
	mostTraced = 50
	// deliveriesTraced is how many of the newest deliveries of each webhook are shown.
	deliveriesTraced = 5
)

// KeyTrace is what a key did, and what was made with it.
type KeyTrace struct {
	Key        sheaf.Key         // live or not
	Events     []sheaf.Event     // newest first, among the newest of the workspace
	Lines      []sheaf.AuditLine // newest first; nil if the caller may not read the audit log
	Made       sheaf.Made
	Deliveries []sheaf.Delivery // the newest ones of the webhooks in Made
	Unknown    sheaf.Made       // records without a record of what made them
}

// TraceKey returns what the workspace's key did, or NotFound. A key that has ended is found as long as the events of its
// time are kept, and as long as something works that was made with it.
func (a *App) TraceKey(ctx context.Context, c Caller, id sheaf.KeyID) (KeyTrace, error) {
	needs := scope(sheaf.KeysRead, sheaf.WebhooksRead, sheaf.SharesRead, sheaf.EventsRead)
	t, err := read(ctx, a, c, needs, func(r *store.Reader) (t KeyTrace, err error) {
		if t.Key, err = r.Key(c.Workspace, id); err != nil {
			return t, err
		}
		ws, err := r.Workspace(c.Workspace)
		if err != nil {
			return t, err
		}
		if t.Events, err = r.EventsOfKey(c.Workspace, t.Key.Number, ws.LastEvent-eventsTraced, mostTraced); err != nil {
			return t, err
		}
		if t.Lines, err = linesOfKey(r, c, ws, id); err != nil {
			return t, err
		}
		if t.Made, err = r.MadeBy(c.Workspace, id, a.now(), mostTraced); err != nil {
			return t, err
		}
		for _, s := range t.Made.Subscriptions {
			page, err := r.Deliveries(c.Workspace, s.ID, "", sheaf.Paging{Limit: deliveriesTraced, Desc: true})
			if err != nil {
				return t, err
			}
			t.Deliveries = append(t.Deliveries, page.Items...)
		}
		t.Unknown, err = r.MadeByUnknown(c.Workspace, a.now(), mostTraced)
		return t, err
	})
	return t, err
}

// linesOfKey returns the newest audit lines of what the key did, or none if the caller may not read them.
func linesOfKey(r *store.Reader, c Caller, ws sheaf.Workspace, id sheaf.KeyID) ([]sheaf.AuditLine, error) {
	if !c.May(sheaf.AuditRead) || ws.Plan.AllowAudit() != nil {
		return nil, nil
	}
	page, err := r.Audit(c.Workspace, sheaf.AuditFilter{Key: id, Paging: sheaf.Paging{Limit: mostTraced, Desc: true}})
	return page.Items, err
}

// Revoked counts what RevokeWithMade ended.
type Revoked struct{ Keys, Subscriptions, Shares int }

// endsLeaks requires a person who may end keys, webhooks and shares.
func endsLeaks(c Caller) error {
	if err := member(c); err != nil {
		return err
	}
	return scope(sheaf.KeysWrite, sheaf.WebhooksWrite, sheaf.SharesWrite)(c)
}

// RevokeWithMade revokes a key and ends what was made with it, or returns NotFound. The keys and webhooks end in one
// transaction, and the shares with them if there are few; many shares follow in further transactions. After an error,
// the next call continues. A key that has ended can be given too.
func (a *App) RevokeWithMade(ctx context.Context, c Caller, id sheaf.KeyID) (Revoked, error) {
	c.deletes = true
	var out Revoked
	err := a.cascade(ctx, c, endsLeaks, func(w *work, at stage) (progress, error) {
		k, err := w.Key(w.ws.ID, id)
		if err != nil {
			return nothing, err
		}
		made, err := w.MadeBy(w.ws.ID, id, w.now, 0)
		if err != nil {
			return nothing, err
		}
		if k.Live(w.now) {
			made.Keys = append(made.Keys, k)
		}
		if at == light {
			out = Revoked{len(made.Keys), len(made.Subscriptions), int(made.ShareCount)}
		}
		if err := w.end(made); err != nil {
			return nothing, err
		}
		most := w.portion(at, made.ShareCount)
		if _, err := w.unshareMade(id, most); err != nil {
			return nothing, err
		}
		if made.ShareCount > most {
			return part, nil
		}
		return all, nil
	})
	if err != nil {
		return Revoked{}, err
	}
	return out, nil
}

// end revokes the keys and deletes the webhooks.
func (w *work) end(made sheaf.Made) error {
	for _, k := range made.Keys {
		if k.IsGrant() {
			g, err := w.Grant(w.ws.ID, k.ID)
			if err == nil {
				err = w.endGrant(g, "")
			}
			if err != nil {
				return err
			}
			continue
		}
		w.audit(sheaf.ActionKeyRevoked, string(k.ID), keyFacts(k), nil)
		if err := w.RevokeKey(w.ws.ID, k.ID, w.now); err != nil {
			return err
		}
	}
	for _, s := range made.Subscriptions {
		if err := w.deleteSubscription(s); err != nil {
			return err
		}
	}
	if len(made.Keys)+len(made.Subscriptions) == 0 {
		return nil
	}
	return w.endRestrictions()
}

// unshareMade deletes up to `most` shares that were made with the key, each with its event. It returns their number.
func (w *work) unshareMade(id sheaf.KeyID, most int64) (int64, error) {
	return w.pages(most, func(most int64) (int64, error) {
		shares, err := w.SharesMadeBy(w.ws.ID, id, most)
		if err != nil {
			return 0, err
		}
		for _, s := range shares {
			w.unshared(s)
			if err := w.DeleteShare(w.ws.ID, s.ID); err != nil {
				return 0, err
			}
		}
		return int64(len(shares)), nil
	})
}

// madeBy returns the key that creates a record in this transaction, or sheaf.NoKey.
func (w *work) madeBy() sheaf.KeyID {
	if w.caller.Key.ID == "" {
		return sheaf.NoKey
	}
	return w.caller.Key.ID
}
