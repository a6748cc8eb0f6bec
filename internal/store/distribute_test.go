package store_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"sheaf.dev/internal/sheaftest/tenanttest"
	"sheaf.dev/internal/store"
)

// asked collects the statements of a conformance suite.
type asked struct {
	mu         sync.Mutex // guards statements
	statements map[string]bool
}

func (a *asked) add(sql string, _ [][]any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.statements[strings.Join(strings.Fields(sql), " ")] = true
}

// open returns the store of a suite whose statements are collected.
func (a *asked) open(t *testing.T) *store.Store {
	t.Helper()
	o := store.Options{Folder: t.TempDir()}
	if err := store.Migrate(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	s, err := store.OpenRecording(o, a.add)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// tenantTables are the tables whose rows belong to a workspace; they are compared with the migrated
// schema. All other tables are in sharedTables.
var tenantTables = []string{"api_keys", "attempts", "audit", "brandings", "deleted_subscriptions", "deliveries", "documents", "events", "folders", "grants",
	"idempotency_keys", "invitations", "lanes", "leases", "media", "member_events", "members", "minutes", "notices", "projects", "proposal_comments", "proposal_targets", "proposal_texts", "proposals", "release_documents", "release_media", "release_texts", "releases", "reported_events", "restricted_events", "restrictions", "shares", "subscriptions",
	"texts", "uploads", "versions", "workspaces"}

var sharedTables = map[string]string{
	"removed_workspaces": "found by ids that are in no other row",
	"users":              "a person may be in several workspaces",
	"sessions":           "a person's, not a workspace's",
	"factors":            "a person's",
	"recovery_codes":     "a person's",
	"pending_sign_ins":   "a person's",
	"identities":         "a person's",
	"used_sign_ins":      "before anybody is known",
	"password_resets":    "a person's, or of an e-mail that nobody has",
	"letters":            "a person's",
	"oauth_clients":      "before anybody is known",
	"mail_rates":         "by name: of an address, a workspace or the installation",
	"settings":           "of the installation",
	"instance_audit":     "of the installation",
	"counters":           "they give the small numbers of workspaces and subscriptions",
	"schema_compat":      "of the installation",
	"goose_db_version":   "of the installation",
	"setup_links":        "of the installation",
	"sign_in_failures":   "by address and person, before anybody is known",
	"search_spaces":      "the index of search, which is derived: it is rebuilt beside any shard",
	"search_texts":       "the index of search: its keys begin with a space, which is one workspace's",
	"search_chunks":      "the index of search",
	"search_grams":       "the index of search",
	"search_terms":       "the index of search",
	"search_heads":       "the index of search",
}

// globalKeys are the unique keys without the workspace. Their values are globally unique, and are
// used to find a workspace.
var globalKeys = map[string]string{
	"workspaces_id_key":          "an id",
	"subscriptions_pkey":         "a number of a counter, in every table with its workspace",
	"subscriptions_id_key":       "an id",
	"deleted_subscriptions_pkey": "an id",
	"api_keys_hash_key":          "the hash of 256 random bits",
	"api_keys_by_old_hash":       "the hash of 256 random bits",
	"grants_code_hash_key":       "the hash of 256 random bits",
	"invitations_hash_key":       "the hash of 256 random bits",
	"shares_by_token":            "128 random bits",
}

// spanning are parts of the statements that may name no workspace, by reason. Chores look for work
// in all workspaces. Lookups find the workspace by a globally unique value. A subscription's number
// implies its workspace.
var spanning = map[string][]string{
	"chore": {
		"FROM idempotency_keys WHERE created_at < ",
		"DELETE FROM minutes WHERE (ws, minute) IN",
		"DELETE FROM member_events WHERE (ws, number) IN",
		"DELETE FROM audit WHERE (ws, number) IN",
		"UPDATE audit SET address = '' WHERE (ws, number) IN",
		"UPDATE audit SET email = NULL WHERE email",
		"DELETE FROM api_keys WHERE id IN",
		"DELETE FROM oauth_clients WHERE id IN",
		"UPDATE api_keys SET old_hash = NULL, old_until = NULL WHERE id IN",
		"DELETE FROM invitations WHERE hash IN",
		"FROM deleted_subscriptions ORDER BY deleted_at",
		"SELECT w.ws, w.id, w.last_number, CASE", // a round of the sweep
		"WHERE d.version > 100 AND w.deleted_at = 0 AND EXISTS",
		"SELECT MAX(newest) FROM",
		"m.until <= $1",
		"u.expires_at <= $1",
		"t.until <= $1 AND w.deleted_at = 0",  // texts for releases that were not made
		"r.removing = 1 AND w.deleted_at = 0", // deleted releases
		"r.until <= $1 AND w.deleted_at = 0",  // releases whose import was given up
		"n.due IS NOT NULL AND n.due <= $1",   // mails to send
		"i.letter_due IS NOT NULL AND i.letter_due <= $1",
		"UPDATE media SET until = $1 WHERE state <> 1",
		"until < $1", // claims of nodes that died
		"WITH q AS MATERIALIZED ( SELECT l.ws, l.sub, l.recovered_to", // lanes in which something waits
		"SELECT * FROM lanes",
		"SELECT COUNT(*) FROM lanes",
		"FROM lanes WHERE (ws, sub) > ($1, $2) ORDER BY",          // a round over lanes
		"FROM events WHERE id >= $1 ORDER BY id LIMIT",            // logs that grew
		"FROM workspaces WHERE deleted_at <> 0 AND ends_at <= $1", // deleted workspaces whose time is over
		"SELECT ws, id, last_event FROM workspaces WHERE ws > $1",
		"WITH RECURSIVE lane_list", // lanes in which something is due
		"SELECT id, last_event FROM workspaces",
		"SELECT w.id, w.last_event, e.id FROM workspaces w",
	},
	"operator": {
		"FROM workspaces ORDER BY",
		"JOIN members m ON m.user_id = u.id AND m.role = 'owner'",
		"SELECT w.id, m.hash, MAX(m.bytes)",  // a backup
		"FROM media WHERE state = 1 LIMIT 1", // a restore
		"FROM (SELECT due FROM deliveries",   // a metric
		"WHERE w.deleted_at = 0 AND (l.held_from IS NOT NULL",
		"SELECT COALESCE(SUM(open), 0) FROM leases", // a metric
		"FROM invitations WHERE invited_by = $1",    // of a user who is erased
		"FROM invitations WHERE email_folded = $1",
		"WHERE i.email_folded = $1", // of an e-mail that is erased
	},
	"lookup": {
		"k.hash = $1", "k.hash = {hash}", "k.old_hash = $1", "k.old_hash = {hash}",
		"FROM api_keys WHERE id = $1",
		"ON w.ws = k.ws WHERE k.id = $1",
		"g.code_hash = $1",
		"s.token = $1",
		"FROM invitations WHERE hash = $1",
		"m.user_id = $1",
		"FROM workspaces WHERE id = $1",
		"s.id = {id}", "s.id = $1",
	},
	"subscription": {"WHERE sub = $1", "WHERE sub = {sub}", "s.sub = $1", "s.sub = {sub}"},
}

// stayInAWorkspace fails for a statement that is neither tied to one workspace nor in spanning, and
// for an entry of spanning that no statement needs.
func (a *asked) stayInAWorkspace(t *testing.T) {
	for _, sql := range tenanttest.Constants(t, ".") {
		a.add(sql, nil)
	}
	if len(a.statements) < 300 {
		t.Fatalf("%d statements were gathered: most are missing", len(a.statements))
	}
	schema := tenanttest.Schema{}
	for _, table := range tenantTables {
		schema[table] = []string{"ws"}
	}
	used := map[string]bool{}
	for sql := range a.statements {
		if tables := schema.Loose(sql); len(tables) > 0 && !mayspan(sql, used) {
			t.Errorf("no single workspace is named for %v in: %s", tables, sql)
		}
		if slices.ContainsFunc(tenanttest.Tables(sql), func(table string) bool { return strings.HasPrefix(table, "search_") }) {
			t.Errorf("the index of search, which a shard may keep elsewhere, is asked together with the store: %s", sql)
		}
	}
	for why, parts := range spanning {
		for _, part := range parts {
			if !used[part] {
				t.Errorf("no statement needs the exception of a %s: %s", why, part)
			}
		}
	}
}

// mayspan reports whether a statement is in spanning, and marks the entry as used.
func mayspan(sql string, used map[string]bool) (may bool) {
	for _, parts := range spanning {
		for _, part := range parts {
			if strings.Contains(sql, part) {
				used[part], may = true, true
			}
		}
	}
	return may
}

// D206: the removal of a workspace empties every table with rows of workspaces. A new one must have its
// place in leavingTables.
func TestLeaving_EveryTableIsEmptied(t *testing.T) {
	t.Parallel()
	got := append(store.LeavingTables(), "workspaces") // whose row goes last
	slices.Sort(got)
	if !slices.Equal(got, tenantTables) {
		t.Errorf("a removal empties %v, and workspaces have rows in %v", got, tenantTables)
	}
}

// Every unique key of every table begins or ends with the workspace, or is globally unique.
func TestDistribute_KeysContainTheWorkspace(t *testing.T) {
	t.Parallel()
	s := openPostgres(t)
	tables, keys, err := store.Catalogue(s)
	if err != nil {
		t.Fatal(err)
	}
	for table, hasWorkspace := range tables {
		if slices.Contains(tenantTables, table) != hasWorkspace || sharedTables[table] == "" != hasWorkspace {
			t.Errorf("%s has a column of the workspace: %t; the lists of this test say otherwise", table, hasWorkspace)
		}
	}
	global := map[string]bool{}
	for _, k := range keys {
		switch named := slices.Contains(k.Columns, "ws"); {
		case !tables[k.Table] || named:
		case globalKeys[k.Name] == "":
			t.Errorf("the key %s of %s is unique without the workspace: %v", k.Name, k.Table, k.Columns)
		default:
			global[k.Name] = true
		}
	}
	if len(global) != len(globalKeys) || len(keys) < 30 {
		t.Errorf("%d keys, and %v are global, want all of %v", len(keys), global, globalKeys)
	}
}
