package doctor

import (
	"time"

	"sheaf.dev/internal/store/engine"
)

// checkDeliveries are the promises about deliveries. Those of a subscription
// that was deleted are gone for everybody, and removed by and by.
var checkDeliveries = []check{
	// There is one for an event and a subscription at most.
	{name: "delivery twice", judge: tells("subscription %s has %s deliveries of event %s"), sql: `
SELECT subscription_id, COUNT(*), event_number
FROM deliveries
WHERE workspace_id = $1
GROUP BY subscription_id, event_number
HAVING COUNT(*) > 1`},

	// It is in a state that exists, and has what that state needs.
	{name: "delivery state", judge: tells("delivery %s is in no state that exists: %s, next attempt %s, lease until %s, finished %s, asked for by hand when it was %s"), sql: `
SELECT id, state, next_attempt_at, lease_until, finished_at, back_state
FROM deliveries
WHERE workspace_id = $1 AND NOT (
  state = 'waiting' AND next_attempt_at IS NOT NULL AND lease_token IS NULL AND lease_until IS NULL
  OR state = 'sending' AND next_attempt_at IS NULL AND lease_token IS NOT NULL AND lease_until IS NOT NULL
  OR state = 'held' AND next_attempt_at IS NULL AND lease_token IS NULL AND lease_until IS NULL AND back_state IS NULL
  OR state IN ('delivered', 'failed') AND next_attempt_at IS NULL AND lease_token IS NULL AND lease_until IS NULL
    AND back_state IS NULL AND finished_at IS NOT NULL)
  OR workspace_id = $1 AND (back_state NOT IN ('waiting', 'held', 'delivered', 'failed')
    OR back_state = 'waiting' AND back_at IS NULL)`},

	// Its event is in the log of its workspace.
	{name: "delivery event", judge: tells("delivery %s is of event %s (%s, %s), which is not in the log"), sql: `
SELECT d.id, d.event_number, d.event_id, d.event_type
FROM deliveries d
WHERE d.workspace_id = $1
  AND NOT EXISTS (SELECT 1 FROM events e
    WHERE e.workspace_id = d.workspace_id AND e.number = d.event_number AND e.id = d.event_id AND e.type = d.event_type)`},

	// Its subscription is in its workspace, or was deleted from it.
	{name: "delivery subscription", judge: tells("delivery %s is for subscription %s, which is not in the workspace"), sql: `
SELECT d.id, d.subscription_id
FROM deliveries d
WHERE d.workspace_id = $1
  AND NOT EXISTS (SELECT 1 FROM subscriptions s WHERE s.workspace_id = d.workspace_id AND s.id = d.subscription_id)
  AND NOT EXISTS (SELECT 1 FROM deleted_subscriptions x WHERE x.workspace_id = d.workspace_id AND x.id = d.subscription_id)`},

	// None waits for an inactive subscription, unless somebody asked for it.
	{name: "delivery held", judge: tells("delivery %s waits for subscription %s, which is inactive"), sql: `
SELECT d.id, d.subscription_id
FROM deliveries d
WHERE d.workspace_id = $1 AND d.state = 'waiting' AND d.back_state IS NULL
  AND EXISTS (SELECT 1 FROM subscriptions s WHERE s.id = d.subscription_id AND s.active = 0)`},

	// Its attempts are as many as it counts.
	{name: "delivery attempts", judge: tells("delivery %s counts %s attempts and has %s"), sql: `
SELECT id, says, has
FROM (
  SELECT id, attempt_count AS says,
    (SELECT COUNT(*) FROM attempts a WHERE a.workspace_id = deliveries.workspace_id AND a.delivery_id = deliveries.id) AS has
  FROM deliveries
  WHERE workspace_id = $1) c
WHERE says <> has`},

	// An attempt has its delivery.
	{name: "attempt", judge: tells("attempt %s is of delivery %s, which is not there"), sql: `
SELECT a.number, a.delivery_id
FROM attempts a
WHERE a.workspace_id = $1
  AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.workspace_id = a.workspace_id AND d.id = a.delivery_id)`},

	// A subscription has a delivery of every event that it wanted.
	{name: "delivery lost", args: func(p *patient) []any { return []any{p.ws.ID, p.delivered} },
		judge: tells("subscription %s wanted event %s (%s) and has no delivery of it"), sql: `
SELECT s.id, e.number, e.type
FROM subscriptions s
JOIN events e ON e.workspace_id = s.workspace_id AND e.number > s.events_since
WHERE s.workspace_id = $1 AND e.at > $2 AND ',' || s.events || ',' LIKE '%,' || e.type || ',%'
  AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.subscription_id = s.id AND d.event_number = e.number)`},
}

// deliveredSince returns the time since when no delivery was removed for its
// age. Programs that did not store it removed the oldest first, in all
// workspaces alike, and before their events.
func (p *patient) deliveredSince() (time.Time, error) {
	if p.swept != nil {
		return *p.swept, nil
	}
	oldest, _, err := engine.One(p.sql, `SELECT MIN(created_at) FROM deliveries`, (*engine.Row).OptTime)
	if oldest != nil || err != nil {
		return valueOf(oldest), err
	}
	return p.Now.Add(clockSlack - p.Retention), nil
}

func valueOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
