package doctor

import (
	"fmt"
	"strings"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/engine"
)

// The conditions for a fresh row and for a row in a lease, as in store/lane.go.
const (
	fresh  = `d.state = 0 AND d.due IS NULL AND d.token IS NULL`
	leased = `EXISTS (SELECT 1 FROM leases x WHERE x.ws = d.ws AND x.sub = d.sub AND d.number BETWEEN x.lo AND x.hi)`
)

// checkDeliveries are the promises about lanes, leases and deliveries. Deliveries of a subscription
// that was deleted are not shown any more; the sweep deletes them in batches.
var checkDeliveries = []check{
	// A subscription has its lane, which is not ahead of the log and knows where it holds.
	{name: "lane", judge: tells("subscription %s has a lane that cannot be: active %s, up to event %s, held from %s to %s"), sql: `
SELECT s.id, l.active, l.cursor, l.held_from, l.held_to
FROM subscriptions s
LEFT JOIN lanes l ON l.ws = s.ws AND l.sub = s.sub
WHERE s.ws = $1 AND (l.sub IS NULL OR l.cursor > (SELECT w.last_event FROM workspaces w WHERE w.ws = $1)
  OR l.held_from > l.held_to OR l.held_from IS NULL AND l.held_to IS NOT NULL
  OR l.active = 0 AND (l.held_from IS NULL OR l.held_to IS NOT NULL) OR l.active = 1 AND l.held_from IS NOT NULL AND l.held_to IS NULL)`},

	// A lane counts the deliveries that it holds, and those that it would hold if it were turned off.
	{name: "lane count", judge: sameHeldCount, sql: `
SELECT s.id, l.active, l.sub, l.held, l.taken, w.given,
  (SELECT COUNT(*) FROM deliveries d WHERE d.ws = l.ws AND d.sub = l.sub AND d.due IS NULL AND d.token IS NULL
    AND (d.state = 3 OR d.state = 0 AND d.number <= l.cursor AND NOT ` + leased + `)),
  (SELECT COUNT(*) FROM deliveries d WHERE d.ws = l.ws AND d.sub = l.sub AND d.number > l.cursor AND ` + fresh + ` AND NOT ` + leased + `)
FROM lanes l
JOIN subscriptions s ON s.ws = l.ws AND s.sub = l.sub
JOIN workspaces w ON w.ws = l.ws
WHERE l.ws = $1`},

	// A lease is of a lane, of rows that no other has, and counts those that are still open.
	{name: "lease", judge: tells("the lease from %s to %s of subscription %s counts %s open deliveries and has %s"), sql: `
SELECT q.lo, q.hi, q.id, q.open, q.has
FROM (
  SELECT x.ws, x.sub, x.token, x.lo, x.hi, x.open, s.id,
    (SELECT COUNT(*) FROM deliveries d WHERE d.ws = x.ws AND d.sub = x.sub AND d.number BETWEEN x.lo AND x.hi AND ` + fresh + `) AS has
  FROM leases x
  LEFT JOIN subscriptions s ON s.sub = x.sub
  WHERE x.ws = $1) q
WHERE q.id IS NULL OR q.open <> q.has OR q.open < 1
  OR EXISTS (SELECT 1 FROM leases o WHERE o.ws = q.ws AND o.sub = q.sub AND o.token <> q.token AND o.lo <= q.hi AND o.hi >= q.lo)`},

	// A delivery is in a state that exists, and has what that state needs.
	{name: "delivery state", judge: tells("the delivery of event %s for subscription %s is in no state that exists: %s, due %s, leased until %s, finished %s, by hand %s"), sql: `
SELECT d.number, d.sub, d.state, d.due, d.until, d.finished_at, d.hand
FROM deliveries d
WHERE d.ws = $1 AND (d.state NOT IN (0, 1, 2, 3) OR d.due IS NOT NULL AND d.token IS NOT NULL
  OR d.token IS NULL AND d.until IS NOT NULL OR d.token IS NOT NULL AND d.until IS NULL
  OR d.state IN (1, 2) AND d.finished_at IS NULL
  OR d.state IN (2, 3) AND d.stopped IS NULL OR d.state IN (0, 1) AND d.stopped IS NOT NULL
  OR d.state > 0 AND d.hand = 0 AND (d.due IS NOT NULL OR d.token IS NOT NULL)
  OR d.hand = 1 AND d.due IS NULL AND d.token IS NULL OR d.hand = 1 AND d.state = 0 AND d.back_at IS NULL
  OR d.attempts > 0 AND d.started_at IS NULL OR d.attempts = 0 AND d.started_at IS NOT NULL)`},

	// The lane of a fresh delivery decides whether it waits, is being sent or is held.
	{name: "delivery forgotten", judge: tells("the delivery of event %s for subscription %s is behind the cursor, %s, in no lease, and not where deliveries are held: %s to %s"), sql: `
SELECT d.number, d.sub, l.cursor, l.held_from, l.held_to
FROM lanes l
JOIN deliveries d ON d.ws = l.ws AND d.sub = l.sub
WHERE l.ws = $1 AND ` + fresh + ` AND d.number <= l.cursor AND NOT ` + leased + `
  AND (l.held_from IS NULL OR d.number < l.held_from OR d.number > l.held_to)`},

	// Its event is in the log of its workspace.
	{name: "delivery event", judge: tells("a delivery for subscription %s is of event %s, which is not in the log"), sql: `
SELECT d.sub, d.number
FROM deliveries d
WHERE d.ws = $1
  AND EXISTS (SELECT 1 FROM subscriptions s WHERE s.sub = d.sub)
  AND NOT EXISTS (SELECT 1 FROM events e WHERE e.ws = d.ws AND e.number = d.number)`},

	// Its subscription is in its workspace, or was deleted from it.
	{name: "delivery subscription", judge: tells("the delivery of event %s is for subscription %s, which is not in the workspace"), sql: `
SELECT d.number, d.sub
FROM deliveries d
WHERE d.ws = $1
  AND NOT EXISTS (SELECT 1 FROM subscriptions s WHERE s.ws = d.ws AND s.sub = d.sub)
  AND NOT EXISTS (SELECT 1 FROM deleted_subscriptions x WHERE x.ws = d.ws AND x.sub = d.sub)`},

	// No delivery of an inactive subscription is due, unless a client asked for it.
	{name: "delivery held", judge: tells("the delivery of event %s waits for subscription %s, which is inactive"), sql: `
SELECT d.number, s.id
FROM lanes l
JOIN subscriptions s ON s.sub = l.sub
JOIN deliveries d ON d.ws = l.ws AND d.sub = l.sub
WHERE l.ws = $1 AND l.active = 0 AND d.due IS NOT NULL AND d.hand = 0`},

	// It has as many attempts as it counts; the first is in its own row.
	{name: "delivery attempts", judge: tells("the delivery of event %s for subscription %s counts %s attempts and has %s"), sql: `
SELECT number, sub, says, has
FROM (
  SELECT d.number, d.sub, d.attempts AS says, (SELECT COUNT(*) FROM attempts a WHERE a.ws = d.ws AND a.sub = d.sub AND a.event = d.number)
    + CASE WHEN d.started_at IS NULL THEN 0 ELSE 1 END AS has
  FROM deliveries d
  WHERE d.ws = $1) c
WHERE says <> has`},

	// An attempt in a separate row is not the first, and its delivery exists.
	{name: "attempt", judge: tells("attempt %s is of the delivery of event %s for subscription %s, which is not there or has it itself"), sql: `
SELECT a.number, a.event, a.sub
FROM attempts a
WHERE a.ws = $1
  AND (a.number < 2 OR NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.ws = a.ws AND d.sub = a.sub AND d.number = a.event))`},

	// A subscription has a delivery of every event that it wants, except events about itself. If it is restricted,
	// these are events in the log of the restriction. A subscription with a filter is not checked, because the former places of records are not stored.
	{name: "delivery lost", args: func(p *patient) []any { return []any{p.number, p.delivered} },
		judge: tells("subscription %s wanted event %s (%s) and has no delivery of it"), sql: `
SELECT s.id, e.number, ` + typeNames() + `
FROM subscriptions s
JOIN events e ON e.ws = s.ws AND e.number > s.events_since AND e.number > s.filter_since
WHERE s.ws = $1 AND s.filter = ''
  AND (s.restriction = 0 OR EXISTS (SELECT 1 FROM restricted_events x WHERE x.ws = s.ws AND x.restriction = s.restriction AND x.number = e.number))
  AND NOT (e.resource_id = s.id AND ` + typeNames() + ` LIKE 'subscription.%') AND e.at > $2 AND ',' || s.events || ',' LIKE '%,' || ` + typeNames() + ` || ',%'
  AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.ws = s.ws AND d.sub = s.sub AND d.number = e.number)`},
}

// sameHeldCount compares the counts of a lane with its rows.
func sameHeldCount(_ *patient, r *engine.Row) string {
	id, active := show(r), r.Bool()
	counted, waiting := store.HeldOf(active, r.Int(), r.Int(), r.Int(), r.Text())
	held, above := r.Int(), r.Int()
	if !active {
		held, waiting = held+above, above // for an inactive lane only the sum is known
	}
	if counted == held && waiting == above {
		return ""
	}
	return fmt.Sprintf("subscription %s, active %t, counts %d held deliveries and %d waiting for their first attempt, and has %d and %d",
		id, active, counted, waiting, held, above)
}

// typeNames is the SQL for the name of the type of event e.
func typeNames() string {
	var b strings.Builder
	b.WriteString("CASE e.type")
	for _, t := range sheaf.EventTypes {
		fmt.Fprintf(&b, " WHEN %d THEN '%s'", store.TypeNumber(t), t)
	}
	return "(" + b.String() + " ELSE 'unknown' END)"
}

const oldestDelivered = `
SELECT e.at
FROM events e
WHERE e.ws = $1 AND e.number = (SELECT MIN(d.number) FROM deliveries d WHERE d.ws = $1)`

// deliveredSince returns a time: no delivery that is younger was removed for its age. Programs that
// did not store this time removed the oldest deliveries first, and before their events.
func (p *patient) deliveredSince() (time.Time, error) {
	if p.swept != nil {
		return *p.swept, nil
	}
	oldest, _, err := engine.One(p.sql, oldestDelivered, (*engine.Row).OptTime, p.number)
	if oldest != nil || err != nil {
		return valueOf(oldest), err
	}
	return p.Now.Add(clockSlack - p.Retention), nil
}

// valueOf returns *t, or the zero time if t is nil.
func valueOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
