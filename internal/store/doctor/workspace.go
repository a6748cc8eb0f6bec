package doctor

import (
	"fmt"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// checkWorkspace are the promises about the workspace's own row.
var checkWorkspace = []check{
	// Its plan is one that exists.
	{name: "plan", judge: tells("its plan is %s"), sql: `
SELECT plan
FROM workspaces
WHERE ws = $1 AND plan NOT IN ('free', 'pro', 'business')`},

	// Somebody owns it, and every member has a role that exists.
	{name: "owner", judge: tells("it has no owner, only %s members"), sql: `
SELECT (SELECT COUNT(*) FROM members m WHERE m.ws = w.ws)
FROM workspaces w
WHERE w.ws = $1 AND NOT EXISTS (SELECT 1 FROM members m WHERE m.ws = w.ws AND m.role = 'owner')`},
	{name: "role", judge: tells("user %s has the role %s"), sql: `
SELECT user_id, role
FROM members
WHERE ws = $1 AND role NOT IN ('owner', 'admin', 'editor', 'member')`},

	// A member event has a known kind and a role that exists.
	{name: "member event", judge: tells("its member event of user %s has the kind %s and the role %s: one of them is unknown"), sql: `
SELECT e.user_id, e.kind, e.role
FROM member_events e
WHERE e.ws = $1 AND (e.kind NOT IN ('joined', 'left', 'removed', 'role') OR e.role NOT IN ('owner', 'admin', 'editor', 'member'))`},

	// No member was erased.
	{name: "erased user", judge: tells("user %s was erased and is still a member"), sql: `
SELECT m.user_id
FROM members m
JOIN users u ON u.id = m.user_id
WHERE m.ws = $1 AND (u.erased_at IS NOT NULL)`},

	// Its counters equal the rows that they count.
	{name: "count", judge: tells("it counts %s %s and has %s"), sql: `
SELECT says, what, has
FROM (
  SELECT projects AS says, 'projects' AS what, (SELECT COUNT(*) FROM projects p WHERE p.ws = $1) AS has
  FROM workspaces
  WHERE ws = $1
  UNION ALL
  SELECT documents, 'documents', (SELECT COUNT(*) FROM documents d WHERE d.ws = $1 AND d.deleted_at IS NULL)
  FROM workspaces
  WHERE ws = $1
  UNION ALL
  SELECT subscriptions, 'subscriptions', (SELECT COUNT(*) FROM subscriptions s WHERE s.ws = $1)
  FROM workspaces
  WHERE ws = $1
  UNION ALL
  SELECT restrictions, 'restrictions', (SELECT COUNT(*) FROM restrictions r WHERE r.ws = $1 AND r.live = 1)
  FROM workspaces
  WHERE ws = $1
  UNION ALL
  SELECT reviewed, 'projects with review', (SELECT COUNT(*) FROM projects p WHERE p.ws = $1 AND p.approvals > 0)
  FROM workspaces
  WHERE ws = $1
  UNION ALL
  SELECT filters, 'subscriptions with a filter', (SELECT COUNT(*) FROM subscriptions s WHERE s.ws = $1 AND s.filter <> '')
  FROM workspaces
  WHERE ws = $1
  UNION ALL
  SELECT brandings, 'brandings', (SELECT COUNT(*) FROM brandings b WHERE b.ws = $1)
  FROM workspaces
  WHERE ws = $1
  UNION ALL
  SELECT shares, 'shares', (SELECT COUNT(*) FROM shares s WHERE s.ws = $1)
  FROM workspaces
  WHERE ws = $1
  UNION ALL
  SELECT storage, 'bytes of texts and media', (SELECT CAST(COALESCE(SUM(t.bytes), 0) AS BIGINT) FROM texts t WHERE t.ws = $1)
    + (SELECT CAST(COALESCE(SUM(t.bytes), 0) AS BIGINT) FROM proposal_texts t WHERE t.ws = $1)
    + (SELECT CAST(COALESCE(SUM(octet_length(c.body)), 0) AS BIGINT) FROM proposal_comments c WHERE c.ws = $1)
    + (SELECT CAST(COALESCE(SUM(m.bytes), 0) AS BIGINT) FROM media m WHERE m.ws = $1 AND m.state <> 2)
    + (SELECT CAST(COALESCE(SUM(t.bytes), 0) AS BIGINT) FROM release_texts t WHERE t.ws = $1)
    + (SELECT CAST(COALESCE(SUM(octet_length(r.notes)), 0) AS BIGINT) FROM releases r WHERE r.ws = $1 AND r.removing = 0)
    + (SELECT CAST(COALESCE(SUM(k.bytes), 0) AS BIGINT) FROM (SELECT DISTINCT x.medium_id, x.bytes FROM release_media x WHERE x.ws = $1
        AND NOT EXISTS (SELECT 1 FROM media m WHERE m.ws = $1 AND m.id = x.medium_id AND m.state <> 2)) k)
    + (SELECT CAST(COALESCE(SUM(u.reserved), 0) AS BIGINT) FROM uploads u WHERE u.ws = $1)
  FROM workspaces
  WHERE ws = $1
  UNION ALL
  SELECT kept, 'bytes of reported events and kept answers', (SELECT CAST(COALESCE(SUM(r.bytes), 0) AS BIGINT) FROM reported_events r WHERE r.ws = $1)
    + (SELECT CAST(COALESCE(SUM(k.bytes), 0) AS BIGINT) FROM idempotency_keys k WHERE k.ws = $1)
  FROM workspaces
  WHERE ws = $1) c
WHERE says <> has`},

	// A reported event counts as many bytes as it has, and so does a kept answer that counts any.
	{name: "reported event", judge: tells("reported event %s counts %s bytes and has %s"), sql: `
SELECT r.number, r.bytes, octet_length(e.body)
FROM reported_events r
LEFT JOIN events e ON e.ws = r.ws AND e.number = r.number
WHERE r.ws = $1 AND (e.body IS NULL OR octet_length(e.body) <> r.bytes)`},
	{name: "kept answer", judge: tells("the answer to %s %s with the Idempotency-Key %s counts %s bytes and has %s"), sql: `
SELECT method, path, key, bytes, has
FROM (SELECT method, path, key, bytes, octet_length(path) + octet_length(key) + octet_length(location) + octet_length(etag) + octet_length(body) AS has
  FROM idempotency_keys
  WHERE ws = $1 AND bytes <> 0) k
WHERE bytes <> has`},

	// No creation number is ahead of the counter that they come from.
	{name: "number", judge: tells("%s %s has the creation number %s, ahead of the counter"), sql: `
SELECT what, id, number
FROM (
  SELECT 'project' AS what, ws, id, number FROM projects WHERE ws = $1
  UNION ALL
  SELECT 'folder', ws, id, number FROM folders WHERE ws = $1
  UNION ALL
  SELECT 'document', ws, id, number FROM documents WHERE ws = $1
  UNION ALL
  SELECT 'branding', ws, id, number FROM brandings WHERE ws = $1
  UNION ALL
  SELECT 'key', ws, id, number FROM api_keys WHERE ws = $1
  UNION ALL
  SELECT 'share', ws, id, number FROM shares WHERE ws = $1
  UNION ALL
  SELECT 'proposal', ws, id, number FROM proposals WHERE ws = $1
  UNION ALL
  SELECT 'release', ws, id, number FROM releases WHERE ws = $1
  UNION ALL
  SELECT 'subscription', ws, id, number FROM subscriptions WHERE ws = $1) n
WHERE number > (SELECT last_number FROM workspaces w WHERE w.ws = $1)`},
}

// checkReferences are the promises about what another system calls the records of a workspace, and
// about the times by which it asks what has changed.
var checkReferences = []check{
	// No two records of a kind have the same external id.
	{name: "external id", judge: tells("%s %ss have the external id %s"), sql: `
SELECT n, what, external_id
FROM (
  SELECT COUNT(*) AS n, 'project' AS what, external_id FROM projects WHERE ws = $1 AND external_id IS NOT NULL GROUP BY external_id
  UNION ALL
  SELECT COUNT(*), 'folder', external_id FROM folders WHERE ws = $1 AND external_id IS NOT NULL GROUP BY external_id
  UNION ALL
  SELECT COUNT(*), 'document', external_id FROM documents WHERE ws = $1 AND external_id IS NOT NULL GROUP BY external_id) e
WHERE n > 1`},

	// Metadata is what the program itself writes: it is shown as it is.
	{name: "metadata", judge: sameMetadata, sql: `
SELECT 'project', id, metadata FROM projects WHERE ws = $1 AND metadata IS NOT NULL
UNION ALL
SELECT 'document', id, metadata FROM documents WHERE ws = $1 AND metadata IS NOT NULL`},

	// No updated_at is ahead of the newest that the workspace has given.
	{name: "newest", judge: tells("%s %s was changed at %s (milliseconds), and the newest time that was given is %s"), sql: `
SELECT what, id, updated_at, (SELECT newest_at FROM workspaces w WHERE w.ws = $1)
FROM (
  SELECT 'project' AS what, id, updated_at FROM projects WHERE ws = $1
  UNION ALL
  SELECT 'folder', id, updated_at FROM folders WHERE ws = $1
  UNION ALL
  SELECT 'document', id, updated_at FROM documents WHERE ws = $1
  UNION ALL
  SELECT 'branding', id, updated_at FROM brandings WHERE ws = $1) c
WHERE updated_at > (SELECT newest_at FROM workspaces w WHERE w.ws = $1)`},
}

func sameMetadata(_ *patient, r *engine.Row) string {
	what, id, m := r.Text(), show(r), sheaf.Metadata(r.Text())
	if sheaf.NewMetadata(m.Entries()) == m && m.Check() == nil {
		return ""
	}
	return fmt.Sprintf("%s %s has metadata that this program did not write: %s", what, id, sheaf.Clip(string(m)))
}

// checkPlan tells what a workspace has beyond its plan, as it keeps after a downgrade: it is
// refused when it is used, and no violation.
var checkPlan = []check{
	{name: "beyond plan", information: true, judge: beyond("live API keys", sheaf.Plan.MaxKeys),
		args: func(p *patient) []any { return []any{p.number, p.Now} }, sql: `
SELECT COUNT(*)
FROM api_keys
WHERE ws = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`},
	{name: "beyond plan", information: true, judge: beyond("webhook subscriptions", sheaf.Plan.MaxSubscriptions), sql: `
SELECT COUNT(*)
FROM subscriptions
WHERE ws = $1`},
	{name: "beyond plan", information: true, judge: beyond("shares", sheaf.Plan.MaxShares), sql: `
SELECT COUNT(*)
FROM shares
WHERE ws = $1`},
	{name: "beyond plan", information: true, judge: beyondBrandings, sql: `
SELECT brandings
FROM workspaces
WHERE ws = $1`},
	{name: "beyond plan", information: true, judge: beyondFolders, sql: `
SELECT entity_type, COUNT(*)
FROM folders
WHERE ws = $1
GROUP BY entity_type`},
}

// beyond makes the judge of a check that a workspace has no more of something than its plan
// includes.
func beyond(what string, most func(sheaf.Plan) int) func(*patient, *engine.Row) string {
	return func(p *patient, r *engine.Row) string {
		if has, most := r.Int(), int64(most(p.ws.Plan)); has > most {
			return fmt.Sprintf("it has %d %s, the %s plan includes %d", has, what, p.ws.Plan, most)
		}
		return ""
	}
}

// beyondBrandings reports brandings on a plan that includes none. Other plans include any number.
func beyondBrandings(p *patient, r *engine.Row) string {
	if has := r.Int(); has > 0 && p.ws.Plan.AllowBrandings() != nil {
		return fmt.Sprintf("it has %d brandings, the %s plan includes none", has, p.ws.Plan)
	}
	return ""
}

// beyondFolders judges folders, of whose sorts a plan may include none.
func beyondFolders(p *patient, r *engine.Row) string {
	t, has := sheaf.EntityType(r.Text()), r.Int()
	if p.ws.Plan.AllowFolders(t) == nil {
		return ""
	}
	return fmt.Sprintf("it has %d %s folders, the %s plan includes none", has, t, p.ws.Plan)
}
