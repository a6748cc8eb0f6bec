package store

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest/proof"
)

// A large file is carried over, and says how far it is. The quick form is small; the one whose time is worth a look:
//
//	SHEAF_PROOF=proof go test -count=1 -timeout 60m -run TestCarryOver_Large -v ./internal/store
func TestCarryOver_Large(t *testing.T) {
	projects, deliveries := proof.Rounds(2_000, 1_000_000, 1_000_000), proof.Rounds(1_000, 100_000, 100_000)
	onBoth(t, func(t *testing.T, o Options, db *sql.DB) {
		ctx := context.Background()
		if err := migrateTo(ctx, o, 8); err != nil {
			t.Fatal(err)
		}
		for _, text := range largeFile(o.DatabaseURL != "", projects, deliveries) {
			if _, err := db.Exec(text); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
		if o.DatabaseURL == "" { // or the log alone is larger than the file
			if _, err := db.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
				t.Fatal(err)
			}
			t.Logf("the file has %d MB", fileSize(t, o))
		}
		var log bytes.Buffer
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
		began := time.Now()
		if err := migrateTo(ctx, o, 10); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d projects and %d deliveries took %s\n%s", projects, deliveries, time.Since(began).Round(time.Millisecond), &log)
		for _, line := range []string{"table=projects rows=" + fmt.Sprint(projects), "table=deliveries rows=" + fmt.Sprint(deliveries) + " done_percent=", "making the indexes", "carried over"} {
			if !strings.Contains(log.String(), line) {
				t.Errorf("no line says %s", line)
			}
		}
		if o.DatabaseURL == "" {
			t.Logf("the file has %d MB", fileSize(t, o))
		}
		got := fmt.Sprint(query(t, db, `
			SELECT state, hand, CASE WHEN due IS NULL THEN 0 ELSE 1 END, CASE WHEN token IS NULL THEN 0 ELSE 1 END, COUNT(*)
			FROM deliveries
			GROUP BY 1, 2, 3, 4
			ORDER BY 1, 2, 3, 4`))
		tenth := deliveries / 10
		want := fmt.Sprintf("[[0 0 0 1 %d] [0 0 1 0 %d] [1 0 0 0 %d] [1 1 1 0 %d] [2 0 0 0 %d] [3 0 0 0 %d] [3 1 0 1 %d]]", tenth, tenth, 4*tenth, tenth, tenth, tenth, tenth)
		if got != want {
			t.Errorf("the deliveries are %s, want %s", got, want)
		}
		if n := query(t, db, "SELECT (SELECT COUNT(*) FROM projects), (SELECT COUNT(*) FROM old_ids), (SELECT COUNT(*) FROM attempts)")[0]; fmt.Sprint(n) != fmt.Sprint([]int{projects, deliveries, 3 * tenth}) {
			t.Errorf("%v projects, deliveries and further attempts", n)
		}
	})
}

func fileSize(t *testing.T, o Options) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(o.Folder, FileName))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size() >> 20
}

// largeFile is SQL that fills tables of schema 8: projects over 100 workspaces, one subscription in each, and a tenth of
// the deliveries in each of the states, but for four tenths that have arrived.
func largeFile(postgres bool, projects, deliveries int) []string {
	id := func(kind int, number string) string {
		if postgres {
			return fmt.Sprintf("'%08x-' || lpad(to_hex((%s) / 65536), 4, '0') || '-7000-8000-' || lpad(to_hex(%s), 12, '0')", kind, number, number)
		}
		return fmt.Sprintf("printf('%08x-%%04x-7000-8000-%%012x', (%s) / 65536, %s)", kind, number, number)
	}
	secret := map[bool]string{true: "'\\x00'::bytea", false: "x'00'"}[postgres]
	numbers := func(n int) string {
		return fmt.Sprintf("WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d)", n-1)
	}
	insert := func(table, columns, values string, n int) string {
		with := numbers(n)
		if postgres {
			return "INSERT INTO " + table + " (" + columns + ") " + with + " SELECT " + values + " FROM n"
		}
		return with + " INSERT INTO " + table + " (" + columns + ") SELECT " + values + " FROM n"
	}
	each := deliveries / 100
	state := func(cases string) string { return "CASE i % 10 " + cases + " END" }
	attempt := `started_at, duration_us, status_code, error_class, error, remote_address, dns_us, connect_us, tls_us, first_byte_us, body_us, response_body`
	return []string{
		insert("workspaces", "id, name, plan, personal, created_at, version, last_number, last_event, projects, documents, subscriptions",
			id(1, "i")+fmt.Sprintf(", 'Acme', 'business', 0, 1000 + i, 1, %d, %d, %d, 0, 1", projects/100+1, each, projects/100), 100),
		insert("projects", "workspace_id, id, name, name_folded, description, description_folded, icon, color, sort_order, visibility, document_count, number, revision, created_at, updated_at",
			id(1, "i % 100")+", "+id(2, "i")+", 'Project ' || i, 'project ' || i, 'What everybody should know about it', 'what everybody should know about it', 'book-open', '#2563eb', 0, 'private', 0, i / 100 + 1, 1, 2000 + i, 2000 + i", projects),
		insert("subscriptions", "workspace_id, id, name, url, events, active, failure_count, header_names, secret, since_event, events_since, number, revision, created_at, updated_at",
			id(1, "i")+", "+id(3, "i")+fmt.Sprintf(", 'n', 'https://hooks.example.com', 'project.created', 1, 0, '', %s, 0, 0, %d, 1, 1000, 1000", secret, projects/100+1), 100),
		insert("events", "workspace_id, number, id, type, resource_id, at, body",
			id(1, "i % 100")+", i / 100 + 1, 'evt_' || "+id(4, "i")+", 'project.created', "+id(2, "i")+`, 3000 + i, '{"id":"evt","payload":{"name":"What everybody should know about it"}}'`, deliveries),
		insert("deliveries", "workspace_id, id, subscription_id, event_number, event_id, event_type, state, attempt_count, tries, retry, next_attempt_at, lease_token, lease_until, back_state, created_at, finished_at",
			id(1, "i / 10 % 100")+", "+id(5, "i")+", "+id(3, "i / 10 % 100")+", i / 1000 * 10 + i % 10 + 1, 'evt', 'project.created', "+
				state("WHEN 0 THEN 'waiting' WHEN 1 THEN 'sending' WHEN 2 THEN 'failed' WHEN 3 THEN 'held' WHEN 4 THEN 'waiting' WHEN 5 THEN 'sending' ELSE 'delivered'")+", "+
				state("WHEN 0 THEN 0 WHEN 1 THEN 0 WHEN 2 THEN 4 WHEN 3 THEN 0 ELSE 1")+", 0, 0, "+
				state("WHEN 0 THEN 5000 WHEN 4 THEN 5000")+", "+state("WHEN 1 THEN 'token' WHEN 5 THEN 'token'")+", "+state("WHEN 1 THEN 6000 WHEN 5 THEN 6000")+", "+
				state("WHEN 4 THEN 'delivered' WHEN 5 THEN 'held'")+", 3000 + i, "+state("WHEN 0 THEN NULL WHEN 1 THEN NULL WHEN 3 THEN NULL WHEN 5 THEN NULL ELSE 4000"), deliveries),
		"INSERT INTO attempts (workspace_id, delivery_id, number, " + attempt + ") SELECT workspace_id, id, 1, 3000, 1234, 200, '', '', '', 1, 2, 3, 4, 5, 'OK' FROM deliveries WHERE attempt_count > 0",
		"INSERT INTO attempts (workspace_id, delivery_id, number, " + attempt + ") SELECT d.workspace_id, d.id, n.number, 3000, 1234, 500, 'status', 'the endpoint answered 500', '', 1, 2, 3, 4, 5, 'no' " +
			"FROM deliveries d, (SELECT 2 AS number UNION ALL SELECT 3 UNION ALL SELECT 4) AS n WHERE d.attempt_count = 4",
	}
}
