package doctor

// checkRestrictions are the promises about restrictions and their logs.
var checkRestrictions = []check{
	// A restricted key, subscription, member or invitation has a live restriction of the same ids. A
	// revoked or expired key need not have one.
	{name: "restriction", judge: tells("key %s has no live restriction with its ids, so its events are not recorded"),
		args: func(p *patient) []any { return []any{p.number, p.Now} }, sql: `
SELECT k.id
FROM api_keys k
WHERE k.ws = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > $2) AND (k.restriction <> 0 OR k.restricted_to <> '')
  AND NOT EXISTS (SELECT 1 FROM restrictions r WHERE r.ws = k.ws AND r.number = k.restriction AND r.ids = k.restricted_to AND r.live = 1)`},
	{name: "restriction", judge: tells("subscription %s has no live restriction with its ids, so it gets no events"), sql: `
SELECT s.id
FROM subscriptions s
WHERE s.ws = $1 AND (s.restriction <> 0 OR s.restricted_to <> '')
  AND NOT EXISTS (SELECT 1 FROM restrictions r WHERE r.ws = s.ws AND r.number = s.restriction AND r.ids = s.restricted_to AND r.live = 1)`},

	{name: "restriction", judge: tells("user %s has no live restriction with its ids, so their events are not recorded"), sql: `
SELECT m.user_id
FROM members m
WHERE m.ws = $1 AND (m.restriction <> 0 OR m.restricted_to <> '')
  AND NOT EXISTS (SELECT 1 FROM restrictions r WHERE r.ws = m.ws AND r.number = m.restriction AND r.ids = m.restricted_to AND r.live = 1)`},
	{name: "restriction", judge: tells("invitation %s has no live restriction with its ids, so events of the person who joins would not be recorded"), sql: `
SELECT i.id
FROM invitations i
WHERE i.ws = $1 AND (i.restriction <> 0 OR i.restricted_to <> '')
  AND NOT EXISTS (SELECT 1 FROM restrictions r WHERE r.ws = i.ws AND r.number = i.restriction AND r.ids = i.restricted_to AND r.live = 1)`},

	// Only editors and members are restricted.
	{name: "restricted role", judge: tells("user %s is restricted and has the role %s"), sql: `
SELECT user_id, role
FROM members
WHERE ws = $1 AND restriction <> 0 AND role NOT IN ('editor', 'member')
UNION ALL
SELECT id, role
FROM invitations
WHERE ws = $1 AND restriction <> 0 AND role NOT IN ('editor', 'member')`},

	// The log of a restriction has events that exist, with their types, and it is counted.
	{name: "restricted event", judge: tells("restriction %s has the event %s in its log, which is not stored or of another type"), sql: `
SELECT x.restriction, x.number
FROM restricted_events x
LEFT JOIN events e ON e.ws = x.ws AND e.number = x.number
WHERE x.ws = $1 AND (e.number IS NULL OR e.type <> x.type)`},
	{name: "restriction count", judge: tells("restriction %s counts %s events and has %s"), sql: `
SELECT number, events, has
FROM (SELECT r.number, r.events, (SELECT COUNT(*) FROM restricted_events x WHERE x.ws = r.ws AND x.restriction = r.number) AS has
  FROM restrictions r
  WHERE r.ws = $1) c
WHERE events <> has`},
}
