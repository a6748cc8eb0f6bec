package console

import (
	"net/http"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// keyTracePage is the data of key.html.
type keyTracePage struct {
	app.KeyTrace
	Live       bool
	Owner      string // the user in whose name it acts; empty for a former member
	Events     []entry
	Lines      []auditEntry
	Deliveries []tracedDelivery
	// Rows is what was made with the key. UnknownRows is what has no record of what made it.
	Rows, UnknownRows []madeRow
	Audit             bool         // the person may read the audit log
	Done              *app.Revoked // what was just ended; nil for nothing
}

// tracedDelivery is a delivery with the name of its webhook.
type tracedDelivery struct {
	sheaf.Delivery
	Webhook string
}

// keyTrace answers GET /w/{workspace}/keys/{id}: what a key did, and what was made with it.
func (c *Console) keyTrace(v *visit) error { return v.showKeyTrace(nil, nil) }

// showKeyTrace shows the page of the key in the path, with what was just ended, or why that was refused.
func (v *visit) showKeyTrace(done *app.Revoked, refused error) error {
	key, err := id[sheaf.KeyID](v, "key")
	if err != nil {
		return err
	}
	t, err := v.console.app.TraceKey(v.r.Context(), v.caller, key)
	if err != nil {
		return err
	}
	members, err := v.console.app.Members(v.r.Context(), v.caller)
	if err != nil {
		return err
	}
	p := keyTracePage{KeyTrace: t, Live: t.Key.Live(v.console.Now()), Owner: nameOf(members.Members, t.Key.UserID), Done: done,
		Rows: v.madeRows(t.Made), UnknownRows: v.madeRows(t.Unknown),
		Audit: v.caller.May(sheaf.AuditRead) && v.member.Workspace.Plan.AllowAudit() == nil}
	if p.Events, err = v.entries(t.Events); err != nil {
		return err
	}
	if p.Audit {
		if p.Lines, err = v.auditEntries(t.Lines); err != nil {
			return err
		}
	}
	for _, d := range t.Deliveries {
		row := tracedDelivery{Delivery: d}
		for _, s := range t.Made.Subscriptions {
			if s.ID == d.SubscriptionID {
				row.Webhook = s.Name
			}
		}
		p.Deliveries = append(p.Deliveries, row)
	}
	if refused != nil {
		return v.again("key", p, refused)
	}
	return v.show(http.StatusOK, "key", p)
}

// revokeWithMade answers POST /w/{workspace}/keys/{id}/revoke-all: it revokes a key with what was made with it.
func (c *Console) revokeWithMade(v *visit) error {
	key, err := id[sheaf.KeyID](v, "key")
	if err != nil {
		return err
	}
	done, err := c.app.RevokeWithMade(v.r.Context(), v.caller, key)
	if err != nil {
		return v.showKeyTrace(nil, err)
	}
	return v.showKeyTrace(&done, nil)
}

// Nothing reports whether there was nothing left to end.
func (p keyTracePage) Nothing() bool { return *p.Done == app.Revoked{} }

// madeRow is a record that a key made, with a link to its page.
type madeRow struct {
	Text, Name, Note, At string
	CreatedAt            *time.Time // nil: not shown
}

// madeRows returns the records for the page. The last row counts the shares that are not shown.
func (v *visit) madeRows(m sheaf.Made) []madeRow {
	var rows []madeRow
	for _, k := range m.Keys {
		rows = append(rows, madeRow{Text: "The key", Name: k.Name, Note: k.Prefix + "…", At: v.at("keys", string(k.ID))})
	}
	for _, s := range m.Subscriptions {
		rows = append(rows, madeRow{Text: "The webhook", Name: s.Name, Note: s.URL, At: v.at("webhooks", string(s.ID))})
	}
	for _, s := range m.Shares {
		rows = append(rows, madeRow{Text: "A share of a " + string(s.ResourceType), CreatedAt: &s.CreatedAt,
			At: v.at(string(s.ResourceType)+"s", s.ResourceID, "share")})
	}
	if more := m.ShareCount - int64(len(m.Shares)); more > 0 {
		rows = append(rows, madeRow{Text: many(more, "more share")})
	}
	return rows
}
