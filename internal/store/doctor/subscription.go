package doctor

import (
	"slices"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/engine"
)

// checkSubscriptions are the promises about webhook subscriptions.
var checkSubscriptions = []check{
	// It is active, or knows since when and why it is not; its positions are in the log.
	{name: "subscription state", judge: tells("subscription %s is in no state that exists: active %s, inactive since %s because of %s, from event %s, wants its types from event %s"), sql: `
SELECT s.id, l.active, s.deactivated_at, s.deactivation_reason, s.since_event, s.events_since
FROM subscriptions s
JOIN lanes l ON l.ws = s.ws AND l.sub = s.sub
WHERE s.ws = $1
  AND (l.active NOT IN (0, 1) OR s.failure_count < 0
    OR l.active = 1 AND (s.deactivated_at IS NOT NULL OR s.deactivation_reason IS NOT NULL)
    OR l.active = 0 AND (s.deactivated_at IS NULL OR s.deactivation_reason IS NULL)
    OR s.since_event > s.events_since
    OR s.events_since > (SELECT w.last_event FROM workspaces w WHERE w.ws = $1))`},

	// A deleted one is gone.
	{name: "subscription deleted", judge: tells("subscription %s is there and was deleted"), sql: `
SELECT s.id
FROM subscriptions s
WHERE s.ws = $1 AND EXISTS (SELECT 1 FROM deleted_subscriptions d WHERE d.id = s.id)`},

	// Its secrets and headers open with the master key, and the headers have the names that are
	// shown.
	{name: "secret", judge: (*patient).opens, sql: `
SELECT id, header_names, ` + store.SealedColumns + `
FROM subscriptions
WHERE ws = $1`},
}

// opens looks at an old secret also when it signs no more.
func (p *patient) opens(r *engine.Row) string {
	id, names, sealed := sheaf.SubscriptionID(show(r)), store.SplitNames(r.Text()), store.ScanSealed(r)
	if p.Box == nil {
		return ""
	}
	_, headers, err := sealed.Open(p.Box, id, p.Now)
	if err != nil {
		return err.Error()
	}
	if sealed.OldSecret != nil {
		if _, err := p.Box.OpenSecret(string(id), sealed.OldSecret); err != nil {
			return "open the old secret of subscription " + string(id) + ": " + err.Error()
		}
	}
	var has []string
	for _, h := range headers {
		has = append(has, h.Name)
	}
	if slices.Sort(has); !slices.Equal(has, names) {
		return "subscription " + string(id) + " shows other headers than it sends"
	}
	return ""
}
