package doctor_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/backup"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/sheaftest/migrated"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/doctor"
)

// A plant is a violation made by raw SQL in a workspace, which its check and no
// other must tell of. It has the check's name, and after a colon what tells it
// from others. {ws} is the workspace in an event's body, {n} its number, {id} its identifier as it is stored, {on} and
// {off} its active and its inactive subscription; {nowhere}, in a body {lost}, is no identifier of anything; {text}…{end}
// turns an identifier into text.
type plant struct {
	check string
	sql   []string
	// beside is a check outside of the workspace that also finds the violation on SQLite.
	beside string
}

var plants = []plant{
	{check: "plan", sql: []string{`UPDATE workspaces SET plan = 'gold' WHERE ws = {n}`}},
	{check: "owner", sql: []string{`UPDATE members SET role = 'admin' WHERE ws = {n}`}},
	{check: "role", sql: []string{
		`INSERT INTO users (id, name, password_hash, created_at) VALUES ({id}, '', '', 1)`,
		`INSERT INTO members (ws, user_id, role, created_at) VALUES ({n}, {id}, 'king', 1)`}},
	{check: "member event", sql: []string{
		`INSERT INTO users (id, name, password_hash, created_at) VALUES ({id}, '', '', 1)`,
		`INSERT INTO member_events (ws, number, kind, user_id, role, was, at) VALUES ({n}, 100000, 'crowned', {id}, 'member', '', 1)`}},
	{check: "erased user", sql: []string{
		`INSERT INTO users (id, name, password_hash, created_at, erased_at) VALUES ({id}, 'erased user', '', 1, 2)`,
		`INSERT INTO members (ws, user_id, role, created_at) VALUES ({n}, {id}, 'member', 1)`}},
	{check: "key owner", sql: []string{`UPDATE api_keys SET owner = 'nobody' WHERE ws = {n}`}},
	{check: "key rotation: without an end", sql: []string{`UPDATE api_keys SET old_hash = hash, rotation = 1 WHERE ws = {n}`}},
	{check: "key rotation: never rotated", sql: []string{`UPDATE api_keys SET old_hash = hash, old_until = 1 WHERE ws = {n}`}},
	{check: "count: projects", sql: []string{`UPDATE workspaces SET projects = projects + 1 WHERE ws = {n}`}},
	{check: "count: brandings", sql: []string{`UPDATE workspaces SET brandings = brandings + 1 WHERE ws = {n}`}},
	{check: "count: documents", sql: []string{`UPDATE workspaces SET documents = documents - 1 WHERE ws = {n}`}},
	{check: "count: projects with review", sql: []string{`UPDATE workspaces SET reviewed = reviewed + 1 WHERE ws = {n}`}},
	{check: "count: subscriptions with a filter", sql: []string{`UPDATE workspaces SET filters = filters + 1 WHERE ws = {n}`}},
	{check: "count: subscriptions", sql: []string{`UPDATE workspaces SET subscriptions = 0 WHERE ws = {n}`}},
	{check: "count: shares", sql: []string{`UPDATE workspaces SET shares = shares + 1 WHERE ws = {n}`}},
	{check: "count: bytes of texts and media", sql: []string{`UPDATE workspaces SET storage = storage + 1 WHERE ws = {n}`}},
	{check: "count: bytes of reported events and kept answers", sql: []string{`UPDATE workspaces SET kept = kept + 1 WHERE ws = {n}`}},
	{check: "count: restrictions", sql: []string{`UPDATE workspaces SET restrictions = restrictions + 1 WHERE ws = {n}`}},
	{check: "restriction", sql: []string{`UPDATE api_keys SET restriction = 100000, restricted_to = 'p' WHERE ws = {n}`}},
	{check: "restriction: of a subscription", sql: []string{`UPDATE subscriptions SET restriction = 100000, restricted_to = 'p' WHERE ws = {n}`}},
	{check: "restriction: of a member", sql: []string{
		`INSERT INTO users (id, name, password_hash, created_at) VALUES ({id}, '', '', 1)`,
		`INSERT INTO members (ws, user_id, role, created_at, restriction, restricted_to) VALUES ({n}, {id}, 'member', 1, 100000, 'p')`}},
	{check: "restriction: of an invitation", sql: []string{
		`INSERT INTO users (id, name, password_hash, created_at) VALUES ({id}, '', '', 1)`,
		`INSERT INTO invitations (ws, id, hash, email, email_folded, role, invited_by, created_at, expires_at, restriction, restricted_to)
		 SELECT {n}, {id}, hash, '', '', 'member', {id}, 1, 1, 100000, 'p' FROM api_keys WHERE ws = {n}`}},
	{check: "restricted role", sql: []string{
		`INSERT INTO restrictions (ws, number, ids, live, events) VALUES ({n}, 1, 'p', 1, 0)`,
		`UPDATE workspaces SET restrictions = restrictions + 1 WHERE ws = {n}`,
		`UPDATE members SET restriction = 1, restricted_to = 'p' WHERE ws = {n}`}},
	{check: "restricted event", sql: []string{
		`INSERT INTO restrictions (ws, number, ids, live, events) VALUES ({n}, 1, 'p', 0, 1)`,
		`INSERT INTO restricted_events (ws, restriction, number, type) VALUES ({n}, 1, 100000, 1)`}},
	{check: "restriction count", sql: []string{`INSERT INTO restrictions (ws, number, ids, live, events) VALUES ({n}, 1, 'p', 0, 1)`}},
	{check: "reported event", sql: []string{
		`UPDATE reported_events SET bytes = bytes + 1 WHERE ws = {n}`,
		`UPDATE workspaces SET kept = kept + 1 WHERE ws = {n}`}},
	{check: "reported event: without its event", sql: []string{
		`INSERT INTO reported_events (ws, number, bytes) VALUES ({n}, 100000, 0)`}},
	{check: "kept answer", sql: []string{
		`UPDATE idempotency_keys SET bytes = bytes + 1 WHERE ws = {n}`,
		`UPDATE workspaces SET kept = kept + 1 WHERE ws = {n}`}},
	{check: "number twice", sql: []string{`UPDATE projects SET number = (SELECT MAX(number) FROM projects) WHERE ws = {n}`}},
	{check: "number", sql: []string{`UPDATE workspaces SET last_number = last_number - 1 WHERE ws = {n}`}},

	{check: "newest", sql: []string{`UPDATE workspaces SET newest_at = 1 WHERE ws = {n}`}},
	{check: "external id", sql: []string{
		`DROP INDEX documents_by_external_id`,
		`UPDATE documents SET external_id = 'twin', fields_hash = (SELECT d.fields_hash FROM documents d WHERE d.ws = {n} AND d.title = 'Twin')
		 WHERE ws = {n} AND title = 'Loose'`,
		`UPDATE events SET body = replace(body, '"external_id":null', '"external_id":"twin"')
		 WHERE ws = {n} AND resource_id = (SELECT id FROM documents d WHERE d.ws = {n} AND d.title = 'Loose')`}},
	{check: "metadata", sql: []string{
		`UPDATE projects SET metadata = '{"b":"2","a":"1"}' WHERE ws = {n} AND name = 'Free'`,
		`UPDATE events SET body = replace(body, '"metadata":null', '"metadata":{"b":"2","a":"1"}')
		 WHERE ws = {n} AND resource_id = (SELECT id FROM projects p WHERE p.ws = {n} AND p.name = 'Free')`}},

	{check: "folder parent", beside: "reference", sql: []string{
		`UPDATE events SET body = replace(body, {text}(SELECT parent_id FROM folders f WHERE f.ws = {n} AND f.name = 'Leaf'){end}, '{lost}')
		 WHERE ws = {n} AND resource_id = (SELECT id FROM folders f WHERE f.ws = {n} AND f.name = 'Leaf')`,
		`UPDATE folders SET parent_id = {nowhere} WHERE ws = {n} AND name = 'Leaf'`}},
	{check: "folder depth", sql: []string{`UPDATE folders SET depth = 3 WHERE ws = {n} AND name = 'Leaf'`}},
	{check: "folder depth: a circle", sql: []string{
		`UPDATE events SET body = replace(body, '"parent_id":null', '"parent_id":"' || {text}(SELECT id FROM folders f WHERE f.ws = {n} AND f.name = 'Leaf'){end} || '"')
		 WHERE ws = {n} AND resource_id = (SELECT id FROM folders f WHERE f.ws = {n} AND f.name = 'Top')`,
		`UPDATE folders SET parent_id = (SELECT id FROM folders f WHERE f.ws = {n} AND f.name = 'Leaf') WHERE ws = {n} AND name = 'Top'`}},
	{check: "folder type", sql: []string{
		`UPDATE events SET body = replace(body, '"entity_type":"project"', '"entity_type":"branding"')
		 WHERE ws = {n} AND resource_id = (SELECT id FROM folders f WHERE f.ws = {n} AND f.name = 'Leaf')`,
		`UPDATE folders SET entity_type = 'branding' WHERE ws = {n} AND name = 'Leaf'`}},
	{check: "folder count", sql: []string{`UPDATE folders SET project_count = project_count + 1 WHERE ws = {n} AND name = 'Low'`}},
	{check: "folder search", sql: []string{`UPDATE folders SET name_folded = 'another' WHERE ws = {n} AND name = 'Low'`}},
	{check: "folder event", sql: []string{`UPDATE folders SET color = '#000001' WHERE ws = {n} AND name = 'Low'`}},
	{check: "folder lost", sql: []string{`DELETE FROM folders WHERE ws = {n} AND name = 'Leaf'`}},

	{check: "branding folder", sql: []string{
		`UPDATE folders SET branding_count = branding_count - 1 WHERE ws = {n} AND name = 'Brand'`,
		`UPDATE folders SET branding_count = 1 WHERE ws = {n} AND name = 'Leaf'`,
		`UPDATE brandings SET folder_id = (SELECT id FROM folders f WHERE f.ws = {n} AND f.name = 'Leaf') WHERE ws = {n} AND name = 'Filed look'`}},
	{check: "branding count", sql: []string{`UPDATE folders SET branding_count = branding_count + 1 WHERE ws = {n} AND name = 'Brand'`}},
	{check: "branding search", sql: []string{`UPDATE brandings SET name_folded = 'another' WHERE ws = {n} AND name = 'Filed look'`}},
	{check: "branding look: no color", sql: []string{`UPDATE brandings SET color_primary = 'red' WHERE ws = {n} AND name = 'Filed look'`}},
	{check: "branding look: no font", sql: []string{`UPDATE brandings SET font = 'Comic' WHERE ws = {n} AND name = 'Filed look'`}},
	{check: "branding logo", sql: []string{`UPDATE brandings SET logo_media_id = {nowhere} WHERE ws = {n} AND name = 'Filed look'`}},
	{check: "default branding", sql: []string{`UPDATE workspaces SET default_branding = {nowhere} WHERE ws = {n}`}},

	{check: "project folder", sql: []string{
		`UPDATE events SET body = replace(body, '"folder_id":null', '"folder_id":"' || {text}(SELECT id FROM folders f WHERE f.ws = {n} AND f.name = 'Brand'){end} || '"')
		 WHERE ws = {n} AND resource_id = (SELECT id FROM projects p WHERE p.ws = {n} AND p.name = 'Free')`,
		`UPDATE folders SET project_count = 1 WHERE ws = {n} AND name = 'Brand'`,
		`UPDATE projects SET folder_id = (SELECT id FROM folders f WHERE f.ws = {n} AND f.name = 'Brand') WHERE ws = {n} AND name = 'Free'`}},
	{check: "project count", sql: []string{`UPDATE projects SET document_count = 7 WHERE ws = {n} AND name = 'Filed'`}},
	{check: "project search", sql: []string{`UPDATE projects SET description_folded = 'another' WHERE ws = {n} AND name = 'Filed'`}},
	{check: "project event", sql: []string{`UPDATE projects SET icon = 'book' WHERE ws = {n} AND name = 'Filed'`}},
	{check: "project event: none", sql: []string{
		`UPDATE events SET resource_id = {id}, type = 10, body = replace(replace(body,
		 '"resource_id":"' || {text}(SELECT id FROM projects p WHERE p.ws = {n} AND p.name = 'Late'){end} || '"', '"resource_id":"{ws}"'), '"type":"project.created"', '"type":"media.uploaded"')
		 WHERE ws = {n} AND resource_id = (SELECT id FROM projects p WHERE p.ws = {n} AND p.name = 'Late')`,
		`UPDATE lanes SET taken = taken + 1 WHERE ws = {n} AND sub IN (
		 SELECT d.sub FROM deliveries d WHERE d.ws = {n} AND d.number = (SELECT last_event FROM workspaces WHERE ws = {n}))`,
		`DELETE FROM deliveries WHERE ws = {n} AND number = (SELECT last_event FROM workspaces WHERE ws = {n})`}},
	{check: "project lost", sql: []string{
		`DELETE FROM projects WHERE ws = {n} AND name = 'Free'`,
		`UPDATE workspaces SET projects = projects - 1 WHERE ws = {n}`}},

	{check: "document project", beside: "reference", sql: []string{
		`UPDATE events SET body = replace(body, '"project_id":null', '"project_id":"{lost}"')
		 WHERE ws = {n} AND resource_id = (SELECT id FROM documents d WHERE d.ws = {n} AND d.title = 'Loose')`,
		`UPDATE documents SET project_id = {nowhere} WHERE ws = {n} AND title = 'Loose'`}},
	{check: "document parent", sql: below("Loose", "Gone")},
	{check: "document tree", sql: below("In", "Elsewhere")},
	{check: "document depth", sql: below("Loose", "Level 5")},
	{check: "document cycle", sql: below("Level 1", "Level 5")},
	{check: "document deletion: of two", sql: []string{`UPDATE documents SET deletion = -1 WHERE ws = {n} AND title IN ('Loose', 'Level 1')`}},
	{check: "document deletion: never given", sql: []string{
		`UPDATE documents SET deletion = (SELECT w.last_number + 1 FROM workspaces w WHERE w.ws = {n}) WHERE ws = {n} AND title = 'Gone'`}},
	{check: "document deletion: zero", sql: []string{`UPDATE documents SET deletion = 0 WHERE ws = {n} AND title = 'Gone'`}},
	{check: "document search", sql: []string{`UPDATE documents SET title_folded = 'another' WHERE ws = {n} AND title = 'Loose'`}},
	{check: "document event", sql: []string{`UPDATE documents SET sort_order = 7 WHERE ws = {n} AND title = 'Loose'`}},
	{check: "document event: undeleted", sql: []string{
		`UPDATE documents SET deleted_at = NULL WHERE ws = {n} AND title = 'Gone'`,
		`UPDATE workspaces SET documents = documents + 1 WHERE ws = {n}`}},
	{check: "document lost", sql: []string{
		`DELETE FROM documents WHERE ws = {n} AND title = 'Loose'`,
		`UPDATE workspaces SET documents = documents - 1 WHERE ws = {n}`}},

	{check: "document text", sql: []string{
		`UPDATE versions SET content_hash = (SELECT v.content_hash FROM versions v WHERE v.ws = {n} AND v.version = 1) WHERE ws = {n} AND version = 2`,
		`DELETE FROM texts WHERE ws = {n} AND hash = ` + presentHash + ` AND document_id <> ` + inFiled,
		`UPDATE workspaces SET storage = storage - 3 WHERE ws = {n}`}},
	{check: "document text: of another length", sql: []string{
		`UPDATE events SET body = replace(body, '"content_bytes":3', '"content_bytes":4')
		 WHERE ws = {n} AND resource_id = (SELECT id FROM documents d WHERE d.ws = {n} AND d.title = 'Written')`,
		`UPDATE documents SET content_bytes = 4 WHERE ws = {n} AND title = 'Written'`}},
	{check: "version text", sql: []string{
		`DELETE FROM texts WHERE ws = {n} AND hash <> ` + presentHash,
		`UPDATE workspaces SET storage = storage - 3 WHERE ws = {n}`}},
	{check: "version gap", sql: []string{`DELETE FROM versions WHERE ws = {n} AND version = 2`}},
	{check: "text unused", sql: []string{`UPDATE versions SET content_hash = NULL, content_bytes = 0 WHERE ws = {n} AND version = 1`}},
	{check: "document fields", sql: []string{
		`UPDATE documents SET fields_hash = (SELECT k.hash FROM api_keys k WHERE k.ws = {n} LIMIT 1) WHERE ws = {n} AND title = 'Loose'`}},
	{check: "text hash", sql: []string{
		`UPDATE texts SET body = (SELECT t.body FROM texts t WHERE t.ws = {n} AND t.hash = ` + presentHash + ` LIMIT 1)
		 WHERE ws = {n} AND hash <> ` + presentHash}},
	{check: "text hash: packed in no known form", sql: []string{`UPDATE texts SET form = 99 WHERE ws = {n} AND hash = ` + presentHash}},

	{check: "proposal text", sql: []string{
		`UPDATE workspaces SET storage = storage - (SELECT SUM(t.bytes) FROM proposal_texts t WHERE t.ws = {n}) WHERE ws = {n}`,
		`DELETE FROM proposal_texts WHERE ws = {n}`}},
	{check: "proposal text: of changes that cannot be read", sql: []string{`UPDATE proposals SET changes = 'none' WHERE ws = {n}`}},
	{check: "proposal text hash", sql: []string{
		`UPDATE proposal_texts SET body = (SELECT t.body FROM texts t WHERE t.ws = {n} AND t.hash = ` + presentHash + ` LIMIT 1) WHERE ws = {n}`}},
	{check: "proposal text hash: packed in no known form", sql: []string{`UPDATE proposal_texts SET form = 99 WHERE ws = {n}`}},
	{check: "proposal target", sql: []string{`INSERT INTO proposal_targets (ws, number, kind, resource_id) VALUES ({n}, 100000, 1, {nowhere})`}},

	{check: "release", sql: []string{`UPDATE releases SET documents = documents + 1 WHERE ws = {n}`}},
	{check: "release project", sql: []string{`UPDATE releases SET project_id = {nowhere} WHERE ws = {n}`}},
	{check: "release rows", sql: []string{
		`INSERT INTO release_media (ws, release, medium_id, filename, content_type, bytes, hash, mentions, created_at)
		 SELECT {n}, 100000, {id}, '', '', 0, hash, 1, 1 FROM api_keys WHERE ws = {n}`}},
	{check: "release text missing", sql: []string{
		`DELETE FROM release_texts WHERE ws = {n} AND hash IN (SELECT content_hash FROM release_documents WHERE ws = {n})`,
		`UPDATE workspaces SET storage = storage - 3 WHERE ws = {n}`}}, // "two"
	{check: "release fields missing", sql: []string{
		`DELETE FROM release_texts WHERE ws = {n} AND hash IN (SELECT fields_hash FROM release_documents WHERE ws = {n})`,
		`UPDATE workspaces SET storage = storage - 7 WHERE ws = {n}`}}, // "d" with its frame
	{check: "release parent", sql: []string{`UPDATE release_documents SET parent_id = {nowhere} WHERE ws = {n}`}},
	{check: "release text unused", sql: []string{`UPDATE release_documents SET content_hash = NULL, content_bytes = 0 WHERE ws = {n}`}},
	{check: "release text hash", sql: []string{
		`UPDATE release_texts SET body = (SELECT t.body FROM proposal_texts t WHERE t.ws = {n} LIMIT 1) WHERE ws = {n}`}},
	{check: "release text hash: packed in no known form", sql: []string{`UPDATE release_texts SET form = 99 WHERE ws = {n}`}},
	{check: "shared release", sql: []string{
		`UPDATE events SET body = replace(body, '"release":null', '"release":"{lost}"')
		 WHERE ws = {n} AND resource_id = (SELECT id FROM shares s WHERE s.ws = {n} AND s.listed = 1)`,
		`UPDATE shares SET release_id = {nowhere} WHERE ws = {n} AND listed = 1`}},

	{check: "share resource", sql: []string{
		`UPDATE events SET body = replace(body, {text}(SELECT resource_id FROM shares s WHERE s.ws = {n} AND s.listed = 1){end}, '{lost}')
		 WHERE ws = {n} AND resource_id = (SELECT id FROM shares s WHERE s.ws = {n} AND s.listed = 1)`,
		`UPDATE shares SET resource_id = {nowhere} WHERE ws = {n} AND listed = 1`}},
	{check: "share resource: of another kind", sql: []string{
		`UPDATE events SET body = replace(body, '"resource_type":"document"', '"resource_type":"project"')
		 WHERE ws = {n} AND resource_id = (SELECT id FROM shares s WHERE s.ws = {n} AND s.listed = 0 AND s.resource_type = 1)`,
		`UPDATE shares SET resource_type = 2 WHERE ws = {n} AND resource_type = 1`}},
	{check: "share resource: a folder of another kind", sql: []string{
		`UPDATE events SET body = replace(body, {text}(SELECT id FROM folders WHERE ws = {n} AND name = 'Top'){end}, {text}(SELECT id FROM folders WHERE ws = {n} AND name = 'Brand'){end})
		 WHERE ws = {n} AND resource_id = (SELECT id FROM shares s WHERE s.ws = {n} AND s.resource_type = 3)`,
		`UPDATE shares SET resource_id = (SELECT id FROM folders WHERE ws = {n} AND name = 'Brand') WHERE ws = {n} AND resource_type = 3`}},
	{check: "share branding", sql: []string{
		`UPDATE events SET body = replace(body, '"branding_id":null', '"branding_id":"{lost}"')
		 WHERE ws = {n} AND resource_id = (SELECT id FROM shares s WHERE s.ws = {n} AND s.listed = 1)`,
		`UPDATE shares SET branding_id = {nowhere} WHERE ws = {n} AND listed = 1`}},
	{check: "share event", sql: []string{`UPDATE shares SET expires_at = 1 WHERE ws = {n} AND listed = 1`}},
	{check: "share event: another address", sql: []string{`UPDATE shares SET token = 'x' || substr(token, 2) || 'x' WHERE ws = {n} AND listed = 1`}},

	{check: "event gap", sql: []string{uncount, unreport, `DELETE FROM events WHERE ws = {n} AND type = 10`}},
	{check: "event count", sql: []string{`UPDATE workspaces SET last_event = last_event + 1 WHERE ws = {n}`}},
	{check: "event time", sql: []string{`UPDATE workspaces SET last_event_at = 1 WHERE ws = {n}`}},
	{check: "event body: another workspace", sql: []string{`UPDATE events SET body = replace(body, '{ws}', '11111111-1111-7111-8111-111111111111') WHERE ws = {n} AND type = 10`}},
	{check: "event body: another event", sql: []string{uncount, unreport, `UPDATE events SET body = replace(body, 'media.uploaded', 'share.created') WHERE ws = {n} AND type = 10`}},
	{check: "event body: damaged", sql: []string{uncount, unreport, `UPDATE events SET body = '{"id":' WHERE ws = {n} AND type = 10`}},

	{check: "subscription state", sql: []string{`UPDATE subscriptions SET deactivated_at = 1 WHERE ws = {n} AND sub = {on}`}},
	{check: "subscription deleted", sql: []string{
		`INSERT INTO deleted_subscriptions (id, sub, ws, deleted_at) SELECT id, sub, ws, 1 FROM subscriptions WHERE ws = {n} AND sub = {on}`}},
	{check: "secret", sql: []string{`UPDATE subscriptions SET secret = headers WHERE ws = {n} AND sub = {on}`}},
	{check: "secret: old", sql: []string{`UPDATE subscriptions SET old_secret = headers, old_secret_until = 1 WHERE ws = {n} AND sub = {on}`}},
	{check: "secret: headers", sql: []string{`UPDATE subscriptions SET header_names = 'X-Other' WHERE ws = {n} AND sub = {on}`}},

	{check: "lane: ahead of the log", sql: []string{`UPDATE lanes SET cursor = cursor + 1000 WHERE ws = {n} AND sub = {off}`}},
	{check: "lane: none", sql: []string{`DELETE FROM lanes WHERE ws = {n} AND sub = {off}`}},
	{check: "lane: holds nowhere", sql: []string{`UPDATE lanes SET held_to = 1 WHERE ws = {n} AND sub = {off}`}},
	{check: "lane count", sql: []string{unhold}},
	{check: "lane count: of what waits", sql: []string{`UPDATE lanes SET taken = taken + 1 WHERE ws = {n} AND sub = {on}`}},
	{check: "lease: of nothing", sql: []string{`INSERT INTO leases (ws, sub, token, lo, hi, open, until) VALUES ({n}, {on}, 't', 1000, 1001, 1, 1)`}},
	{check: "lease: two of one row", sql: []string{
		`INSERT INTO leases (ws, sub, token, lo, hi, open, until) SELECT ws, sub, 't', number, number, 1, 1 FROM deliveries WHERE ` + heldOne,
		`INSERT INTO leases (ws, sub, token, lo, hi, open, until) SELECT ws, sub, 'u', number, number, 1, 1 FROM deliveries WHERE ` + heldOne, unhold}},
	{check: "delivery state: both due and sent", sql: []string{
		`UPDATE deliveries SET due = 1, token = 't', until = 1, hand = 1, back_at = 1 WHERE ` + heldOne, unhold}},
	{check: "delivery state: unknown", sql: []string{`UPDATE deliveries SET state = 7 WHERE ` + deliveredOne}},
	{check: "delivery state: sent until nothing", sql: []string{`UPDATE deliveries SET token = 't' WHERE ` + heldOne, unhold}},
	{check: "delivery state: without an end", sql: []string{`UPDATE deliveries SET finished_at = NULL WHERE ` + deliveredOne}},
	{check: "delivery forgotten", sql: []string{`UPDATE lanes SET cursor = (SELECT MAX(number) FROM deliveries d WHERE d.ws = {n}), held_from = (SELECT last_event FROM workspaces w WHERE w.ws = {n}) + 1 WHERE ws = {n} AND sub = {off}`}},
	{check: "delivery event", sql: []string{`INSERT INTO deliveries (ws, sub, number) VALUES ({n}, {off}, 100000)`, `UPDATE lanes SET held = held + 1 WHERE ws = {n} AND sub = {off}`}},
	{check: "delivery subscription", sql: []string{`INSERT INTO deliveries (ws, sub, number) VALUES ({n}, 100000, 1)`}},
	{check: "delivery held", sql: []string{`UPDATE deliveries SET due = 1 WHERE ` + heldOne, unhold}},
	{check: "delivery attempts", sql: []string{`UPDATE deliveries SET attempts = attempts + 1 WHERE ws = {n} AND sub = {on} AND state = 2`}},
	{check: "delivery lost", sql: []string{`DELETE FROM deliveries WHERE ` + heldOne, unhold}},
	{check: "attempt", sql: []string{
		`INSERT INTO attempts (ws, sub, event, number, started_at, duration_us, status_code, error_class, error, remote_address, dns_us, connect_us, tls_us, first_byte_us, body_us, response_body)
		 VALUES ({n}, {on}, 100000, 2, 1, 1, 200, '', '', '', 0, 0, 0, 0, 0, '')`}},

	{check: "second factor", sql: []string{
		`INSERT INTO users (id, name, password_hash, created_at) VALUES ({id}, '', 'x', 1)`,
		`INSERT INTO factors (user_id, secret, created_at, last_step) SELECT {id}, hash, 1, 1 FROM api_keys WHERE ws = {n}`}},
	{check: "recovery code", sql: []string{
		`INSERT INTO users (id, name, password_hash, created_at) VALUES ({id}, '', 'x', 1)`,
		`INSERT INTO recovery_codes (user_id, hash) SELECT {id}, hash FROM api_keys WHERE ws = {n}`}},
	{check: "notice letter", sql: []string{
		`INSERT INTO users (id, name, password_hash, created_at) VALUES ({id}, '', 'x', 1)`,
		`INSERT INTO letters (user_id, id, letter, at, due) SELECT {id}, {id}, hash, 1, 1 FROM api_keys WHERE ws = {n}`}},
	{check: "reset letter", sql: []string{
		`INSERT INTO password_resets (name, number, asked_at, letter) SELECT 'x', 0, 1, hash FROM api_keys WHERE ws = {n}`}},
	{check: "invitation letter", sql: []string{
		`INSERT INTO invitations (ws, id, hash, email, email_folded, role, invited_by, created_at, expires_at, letter)
		 SELECT {n}, {id}, hash, 'x', 'x', 'member', user_id, 1, 1, hash FROM api_keys WHERE ws = {n}`}},
	{check: "orphan", beside: "reference", sql: []string{
		`INSERT INTO idempotency_keys (ws, method, path, key, body_hash, status, location, etag, body, created_at)
		 SELECT 100000, 'POST', '/', 'k', hash, 201, '', '', '', 1 FROM api_keys WHERE ws = {n}`}},
}

// They make reported events events like any other, so that only the planted violation is found.
const (
	uncount  = `UPDATE workspaces SET kept = kept - (SELECT SUM(bytes) FROM reported_events r WHERE r.ws = {n}) WHERE ws = {n}`
	unreport = `DELETE FROM reported_events WHERE ws = {n}`
	unhold   = `UPDATE lanes SET held = held - 1 WHERE ws = {n} AND sub = {off}`
)

// below puts one document below another, also in the document's newest event.
func below(child, parent string) []string {
	id := func(title string) string {
		return "(SELECT d.id FROM documents d WHERE d.ws = {n} AND d.title = '" + title + "')"
	}
	return []string{
		`UPDATE events SET body = replace(body, '"parent_id":null', '"parent_id":"' || {text}` + id(parent) + `{end} || '"') WHERE ws = {n} AND resource_id = ` + id(child),
		`UPDATE documents SET parent_id = ` + id(parent) + ` WHERE ws = {n} AND title = '` + child + `'`}
}

// presentHash is of the text of the one document that has a past version with another.
const presentHash = `(SELECT d.content_hash FROM documents d WHERE d.ws = {n} AND d.title = 'Written')`

// inFiled is the document that a release has. Its text is that of presentHash.
const inFiled = `(SELECT d.id FROM documents d WHERE d.ws = {n} AND d.title = 'In')`

// The newest delivery of the inactive subscription, which is held, and of the active one that arrived.
const (
	heldOne      = `ws = {n} AND sub = {off} AND number = (SELECT MAX(number) FROM deliveries d WHERE d.ws = {n} AND d.sub = {off})`
	deliveredOne = `ws = {n} AND sub = {on} AND number = (SELECT MAX(number) FROM deliveries d WHERE d.ws = {n} AND d.sub = {on} AND d.state = 1)`
)

// Every check tells of the violation that is planted for it, and no other does.
func TestDoctor_TellsOfEachViolation(t *testing.T) {
	t.Parallel()
	w := newPatients(t)
	for name, o := range map[string]func(t *testing.T) store.Options{
		"sqlite":   func(t *testing.T) store.Options { return store.Options{Folder: migrated.Folder(t)} },
		"postgres": func(t *testing.T) store.Options { return store.Options{DatabaseURL: migrated.URL(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := o(t)
			s := migrated.Open(t, o)
			if _, err := backup.Restore(context.Background(), s, bytes.NewReader(w.backup)); err != nil {
				t.Fatal(err)
			}
			if got := w.violations(t, s); len(got) > 0 {
				t.Fatalf("nothing was planted, and the doctor tells: %v", got)
			}
			for i, p := range plants {
				raw(t, o, string(w.ids[i]), p.sql...)
			}
			w.compare(t, w.violations(t, s), o.DatabaseURL == "")
		})
	}
}

// A check without a plant might find nothing.
func TestDoctor_EveryCheckIsPlanted(t *testing.T) {
	t.Parallel()
	var planted []string
	for _, p := range plants {
		name, _, _ := strings.Cut(p.check, ":")
		planted = append(planted, name)
	}
	for _, name := range doctor.CheckNames() {
		if !slices.Contains(planted, name) {
			t.Errorf("no violation is planted for the check %q", name)
		}
	}
}

// patients are workspaces with some of everything in them, the last one healthy.
type patients struct {
	api    *apitest.API
	ids    []sheaf.WorkspaceID
	backup []byte
}

func newPatients(t *testing.T) *patients {
	t.Helper()
	w := &patients{api: apitest.SQLite(t)}
	r, err := sheaftest.Receive(w.api.Webhooks.CA)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	r.Answer(func(got sheaftest.Received) sheaftest.Reply {
		if bytes.Contains(got.Body, []byte(`"name":"Leaf"`)) {
			return sheaftest.Reply{Status: http.StatusInternalServerError}
		}
		return sheaftest.Reply{}
	})
	clients := make([]*apitest.Client, len(plants)+1)
	for i := range clients {
		ws := w.api.Workspace(sheaf.Business)
		w.ids, clients[i] = append(w.ids, ws.ID), ws.Client("")
	}
	populateAll(t, clients, true, r.URL)
	stop := w.api.Deliver(sheaf.Schedule{time.Millisecond, time.Millisecond, time.Millisecond})
	for i, c := range clients {
		if sends(i) {
			settled(t, c)
		}
	}
	stop()
	populateAll(t, clients, false, r.URL)
	w.api.Clock.Advance(time.Minute) // so that the last delivery is younger than all others
	for _, c := range clients {
		c.POST("/api/v1/projects", object{"name": "Late"}).Want(t, 201)
	}
	w.backup = copyOf(t, w.api.Store)
	return w
}

// sends reports whether the plant needs deliveries that were sent; in the other workspaces they wait.
func sends(i int) bool {
	if i == len(plants) {
		return true // the healthy one has some of everything
	}
	sql := strings.Join(plants[i].sql, "")
	return strings.Contains(sql, "state = 1") || strings.Contains(sql, "state = 2")
}

func populateAll(t *testing.T, clients []*apitest.Client, sending bool, url string) {
	t.Run("populate", func(t *testing.T) {
		for i, c := range clients {
			if sends(i) != sending {
				continue
			}
			t.Run("", func(t *testing.T) {
				t.Parallel()
				populate(t, c, url)
			})
		}
	})
}

type object map[string]any

// populate makes folders, brandings, projects and documents, moved, changed and deleted
// ones among them, one with a text and past versions, a release, and two subscriptions, one of them
// inactive.
func populate(t *testing.T, c *apitest.Client, url string) {
	id := func(path string, body object) string {
		return c.POST(path, body).Want(t, 201).Text(t, "id")
	}
	wanted := []string{"folder.created", "project.created", "document.created", "document.deleted"}
	for _, name := range []string{"On", "Off"} {
		c.POST("/api/webhooks/subscriptions", object{"name": name, "url": url, "events": wanted, "headers": object{"X-Mine": "1"}}).Want(t, 201)
	}
	off := c.GET("/api/webhooks/subscriptions").Want(t, 200).IDs(t)[1]
	c.PATCH("/api/webhooks/subscriptions/"+off, object{"active": false}).Want(t, 200)
	top := id("/api/v1/folders", object{"name": "Top", "entity_type": "project"})
	low := id("/api/v1/folders", object{"name": "Low", "entity_type": "project", "parent_id": top})
	id("/api/v1/folders", object{"name": "Leaf", "entity_type": "project", "parent_id": top})
	brand := id("/api/v1/folders", object{"name": "Brand", "entity_type": "branding"})
	id("/api/v1/brandings", object{"name": "Filed look", "folder_id": brand, "color_primary": "#ffcc00", "font": "serif"})
	id("/api/v1/brandings", object{"name": "Loose look"})
	filed := id("/api/v1/projects", object{"name": "Filed", "folder_id": low, "description": "ÄÖ \"quoted\" \n"})
	c.POST("/api/v1/events", object{"type": "media.uploaded", "resource_id": filed, "payload": object{}}).Want(t, 202)
	c.POST("/api/v1/projects", object{"name": "Free"}, "Idempotency-Key: free").Want(t, 201)
	doomed := id("/api/v1/projects", object{"name": "Doomed"})
	id("/api/v1/documents", object{"title": "Loose"})
	id("/api/v1/documents", object{"title": "Twin", "external_id": "twin"})
	c.PATCH("/api/v1/documents/"+id("/api/v1/documents", object{"title": "In", "project_id": filed, "content": "two"}), object{"description": "d"}).Want(t, 200)
	id("/api/v1/projects/"+filed+"/releases", object{"name": "First"})
	var above any
	for level := 1; level <= 5; level++ {
		above = id("/api/v1/documents", object{"title": fmt.Sprintf("Level %d", level), "parent_id": above})
	}
	id("/api/v1/documents", object{"title": "Elsewhere", "project_id": id("/api/v1/projects", object{"name": "Another"})})
	written := "/api/v1/documents/" + id("/api/v1/documents", object{"title": "Draft", "content": "one"})
	c.PATCH(written, object{"content": "two"}).Want(t, 200)
	c.PATCH(written, object{"title": "Written"}).Want(t, 200)
	proposal := id("/api/v1/proposals", object{"title": "Better", "changes": []object{
		{"op": "edit", "document_id": strings.TrimPrefix(written, "/api/v1/documents/"), "base_version": 1, "content": "three"}}})
	c.POST("/api/v1/proposals/"+proposal+"/comments", object{"body": "Why?"}).Want(t, 201)
	share := id("/api/v1/shares", object{"resource_type": "project", "resource_id": filed})
	c.PATCH("/api/v1/shares/"+share, object{"listed": true}).Want(t, 200)
	id("/api/v1/shares", object{"resource_type": "document", "resource_id": strings.TrimPrefix(written, "/api/v1/documents/")})
	id("/api/v1/shares", object{"resource_type": "folder", "resource_id": top})
	gone := id("/api/v1/documents", object{"title": "Gone", "project_id": doomed})
	id("/api/v1/documents", object{"title": "Unlinked", "project_id": doomed})
	c.DELETE("/api/v1/documents/"+gone).Want(t, 204)
	branch := id("/api/v1/documents", object{"title": "Gone with another"})
	id("/api/v1/documents", object{"title": "Gone along", "parent_id": branch})
	c.DELETE("/api/v1/documents/"+branch).Want(t, 204)
	c.DELETE("/api/v1/projects/"+doomed).Want(t, 204)
}

// settled waits until nothing is to be sent any more.
func settled(t *testing.T, c *apitest.Client) {
	t.Helper()
	on := c.GET("/api/webhooks/subscriptions").Want(t, 200).IDs(t)[0]
	sheaftest.Eventually(t, "all deliveries have come to an end", func() bool {
		// In one answer: between two, what was being sent may wait again.
		all := c.GET("/api/webhooks/subscriptions/" + on + "/deliveries?limit=100").Items(t)
		return !slices.ContainsFunc(all, func(d map[string]any) bool { return d["state"] == "waiting" || d["state"] == "sending" })
	})
}

// violations returns the names of the checks that tell of something, by
// workspace.
func (w *patients) violations(t *testing.T, s *store.Store) map[sheaf.WorkspaceID][]string {
	t.Helper()
	found := map[sheaf.WorkspaceID][]string{}
	x := doctor.Examination{Now: w.api.Clock.Now(), Retention: 720 * time.Hour, Box: w.api.Webhooks.Box}
	err := doctor.Examine(context.Background(), s, x, func(f doctor.Finding) {
		if !f.Information && !slices.Contains(found[f.Workspace], f.Check) {
			found[f.Workspace] = append(found[f.Workspace], f.Check)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// outside are the checks of what belongs to no workspace.
var outside = map[string]bool{"orphan": true, "second factor": true, "recovery code": true, "notice letter": true, "reset letter": true}

func (w *patients) compare(t *testing.T, found map[sheaf.WorkspaceID][]string, sqlite bool) {
	t.Helper()
	var beside []string // what concerns no workspace
	for i, p := range plants {
		name, _, _ := strings.Cut(p.check, ":")
		want := []string{name}
		if outside[name] {
			want, beside = nil, append(beside, name)
		}
		if got := found[w.ids[i]]; !slices.Equal(got, want) {
			t.Errorf("%s was planted, told is %q", p.check, got)
		}
		if p.beside != "" && sqlite {
			beside = append(beside, p.beside)
		}
	}
	if got := found[w.ids[len(plants)]]; got != nil {
		t.Errorf("of the healthy workspace is told %q", got)
	}
	slices.Sort(beside)
	slices.Sort(found[""])
	if want := slices.Compact(beside); !slices.Equal(found[""], want) {
		t.Errorf("of the whole database is told %q, want %q", found[""], want)
	}
}

// raw runs statements on the bare database, with nothing that would refuse them.
func raw(t *testing.T, o store.Options, ws string, statements ...string) {
	t.Helper()
	driver, address := "sqlite", filepath.Join(o.Folder, store.FileName)+"?_pragma=busy_timeout(10000)"
	if o.DatabaseURL != "" {
		driver, address = "pgx", o.DatabaseURL
		statements = append([]string{`SET session_replication_role = replica`}, statements...)
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, text := range statements {
		if _, err := db.Exec(written(text, ws, driver == "pgx")); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

// written fills the blanks of a plant.
func written(text, ws string, postgres bool) string {
	const lost = "11111111-1111-7111-8111-111111111111"
	id := func(u string) string { return "X'" + strings.ReplaceAll(u, "-", "") + "'" }
	asText := func(e string) string {
		h := func(from, n int) string { return fmt.Sprintf("substr(hex(%s), %d, %d)", e, from, n) }
		return "lower(" + h(1, 8) + " || '-' || " + h(9, 4) + " || '-' || " + h(13, 4) + " || '-' || " + h(17, 4) + " || '-' || " + h(21, 12) + ")"
	}
	if postgres {
		id = func(u string) string { return "'" + u + "'" }
		asText = func(e string) string { return "CAST(" + e + " AS TEXT)" }
	}
	for {
		before, rest, found := strings.Cut(text, "{text}")
		if !found {
			break
		}
		expr, after, _ := strings.Cut(rest, "{end}")
		text = before + asText(expr) + after
	}
	n := "(SELECT w0.ws FROM workspaces w0 WHERE w0.id = " + id(ws) + ")"
	sub := func(active int) string {
		return fmt.Sprintf("(SELECT l0.sub FROM lanes l0 WHERE l0.ws = %s AND l0.active = %d)", n, active)
	}
	return strings.NewReplacer("{ws}", ws, "{n}", n, "{id}", id(ws), "{on}", sub(1), "{off}", sub(0), "{nowhere}", id(lost), "{lost}", lost).Replace(text)
}

// An index that lacks a row is found neither by reading nor by quick_check.
func TestDoctor_TellsOfADamagedFile(t *testing.T) {
	t.Parallel()
	o := store.Options{Folder: migrated.Folder(t)}
	fill(t, migrated.Open(t, o))
	raw(t, o, "", `PRAGMA writable_schema = ON`,
		`CREATE TABLE hidden AS SELECT * FROM sqlite_schema WHERE name = 'projects_by_name'`,
		`DELETE FROM sqlite_schema WHERE name = 'projects_by_name'`)
	raw(t, o, "", `UPDATE projects SET name_folded = name_folded || '!'`)
	raw(t, o, "", `PRAGMA writable_schema = ON`,
		`INSERT INTO sqlite_schema SELECT * FROM hidden`, `DROP TABLE hidden`)
	var told []string
	err := doctor.Examine(context.Background(), migrated.Open(t, o), doctor.Examination{Now: time.Now()}, func(f doctor.Finding) {
		if f.Check == "file" {
			told = append(told, f.Text)
		}
	})
	if err != nil || len(told) == 0 || !strings.Contains(strings.Join(told, "\n"), "projects_by_name") {
		t.Errorf("told is %q, %v, want the index that lacks a row", told, err)
	}
}

func TestDoctor_MoreThanThePlanIsInformation(t *testing.T) {
	t.Parallel()
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Business)
		populate(t, ws.Client(""), "https://hooks.example.com")
		ws.SetPlan(sheaf.Free)
		var told []string
		err := doctor.Examine(context.Background(), a.Store, doctor.Examination{Now: a.Clock.Now()}, func(f doctor.Finding) {
			if !f.Information {
				t.Errorf("told is the violation %s", f)
			}
			told = append(told, f.Text)
		})
		want := []string{"it has 1 live API keys, the free plan includes 0", "it has 2 webhook subscriptions, the free plan includes 0",
			"it has 3 shares, the free plan includes 0",
			"it has 2 brandings, the free plan includes none", "it has 1 branding folders, the free plan includes none", "it has 3 project folders, the free plan includes none"}
		slices.Sort(want)
		if slices.Sort(told); err != nil || !slices.Equal(told, want) {
			t.Errorf("told is %q, %v, want %q", told, err, want)
		}
	})
}

// The doctor does not report rows that were removed for their age. It reports rows that are missing for
// another reason.
func TestDoctor_KnowsWhatRetentionRemoves(t *testing.T) {
	t.Parallel()
	const retention = time.Hour
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		populate(t, c, "https://hooks.example.com")
		look := func() (told []string) {
			x := doctor.Examination{Now: a.Clock.Now(), Retention: retention, Box: a.Webhooks.Box}
			if err := doctor.Examine(context.Background(), a.Store, x, func(f doctor.Finding) { told = append(told, f.String()) }); err != nil {
				t.Error(err)
			}
			return told
		}
		a.Clock.Advance(2 * retention)
		forget(t, a.Store, a.Clock.Now().Add(-retention), false)
		if told := look(); len(told) > 0 {
			t.Errorf("everything is old and removed, told is %q", told)
		}
		c.POST("/api/v1/projects", object{"name": "New"}).Want(t, 201)
		if told := look(); len(told) > 0 {
			t.Errorf("some is old and removed, told is %q", told)
		}
		forget(t, a.Store, a.Clock.Now().Add(time.Hour), true) // too early
		if told := look(); len(told) == 0 {
			t.Error("the event of a new project was removed, and nothing is told")
		}
	})
}

// forget removes every delivery that is done, and every event that is not needed
// for one, from before a time; or every event.
func forget(t *testing.T, s *store.Store, before time.Time, everyEvent bool) {
	t.Helper()
	err := s.Write(context.Background(), func(tx *store.Tx) error {
		some, _, err := tx.UpkeepAfter(store.Round{}, 1000, store.Old{Log: before, Trash: before})
		for _, w := range some {
			if !w.OldLog {
				continue
			}
			ws := w.Workspace
			last, failed := tx.LastOld(ws, before)
			_, deleting := tx.DeleteDeliveries(ws, last, 1000)
			needed, looking := tx.NeededEvent(ws, last)
			if everyEvent {
				needed = last + 1
			}
			_, removing := tx.DeleteEvents(ws, needed-1, 1000)
			err = errors.Join(err, failed, deleting, looking, removing)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The end of its context ends it, also in the middle of a query.
func TestDoctor_StopsWithItsContext(t *testing.T) {
	t.Parallel()
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Business)
		populate(t, ws.Client(""), "https://hooks.example.com")
		ws.SetPlan(sheaf.Free) // so that there is something to tell
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		told := 0
		err := doctor.Examine(ctx, a.Store, doctor.Examination{Now: a.Clock.Now()}, func(doctor.Finding) {
			told++
			cancel()
		})
		if !errors.Is(err, context.Canceled) || told != 1 {
			t.Errorf("it told %d findings and returned %v, want 1 and that it was stopped", told, err)
		}
		if violations := a.Doctor(); len(violations) > 0 {
			t.Errorf("the next one tells %q", violations)
		}
	})
}

// Concurrent writes do not wait for the doctor, and do not change its findings.
func TestDoctor_WhileOthersWrite(t *testing.T) {
	t.Parallel()
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		ctx, cancel := context.WithCancel(context.Background())
		var writers sync.WaitGroup
		for i := range 3 {
			writers.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					p := c.POST("/api/v1/projects", object{"name": fmt.Sprintf("%d of %d", n, i)}).Want(t, 201).Text(t, "id")
					c.POST("/api/v1/documents", object{"title": "t", "project_id": p}).Want(t, 201)
					if n%3 == 0 {
						c.DELETE("/api/v1/projects/"+p).Want(t, 204)
					}
				}
			})
		}
		for range 5 {
			for _, line := range a.Doctor() {
				t.Error(line)
			}
		}
		cancel()
		writers.Wait()
	})
}
