package doctor

import (
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/engine"
)

// checkShares are the promises about shares. An event about a share that does not exist is no
// violation: other services report their shares in the log too.
var checkShares = []check{
	// The shared record exists in the same workspace. A document may be in the trash, because it can be
	// restored.
	{name: "share resource", judge: tells("share %s is of %s, which is no document, project or folder of projects of this workspace, as it says"), sql: `
SELECT s.id, s.resource_id
FROM shares s
WHERE s.ws = $1
  AND NOT (s.resource_type = 1 AND EXISTS (SELECT 1 FROM documents d WHERE d.ws = s.ws AND d.id = s.resource_id))
  AND NOT (s.resource_type = 2 AND EXISTS (SELECT 1 FROM projects p WHERE p.ws = s.ws AND p.id = s.resource_id))
  AND NOT (s.resource_type = 3 AND EXISTS (
    SELECT 1 FROM folders f WHERE f.ws = s.ws AND f.id = s.resource_id AND f.entity_type = 'project'))`},

	// Its look is there, in the same workspace.
	{name: "share branding", judge: tells("share %s has the branding %s, which is not there"), sql: `
SELECT s.id, s.branding_id
FROM shares s
WHERE s.ws = $1 AND s.branding_id IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM brandings b WHERE b.ws = s.ws AND b.id = s.branding_id)`},

	// It equals the payload of its newest event. Where the service is reached may have changed since
	// then, the end of its address not.
	{name: "share event", sql: withNewest(store.ShareColumns, "shares", "share"), judge: func(p *patient, r *engine.Row) string {
		s := store.ScanShare(r)
		s.URL = sheaf.SharePath + s.Token
		return p.sameAsEvent(r, logged{noun: "share", id: string(s.ID), record: &s, changed: s.UpdatedAt, ends: "url"})
	}},
}
