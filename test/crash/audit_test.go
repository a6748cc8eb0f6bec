package crash

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"sheaf.dev/internal/failpoint"
	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/sheaftest/plant"
	"sheaf.dev/internal/sheaftest/proctest"
	"sheaf.dev/internal/sheaftest/proof"
)

// D200: over kills between the statements of changes of keys, webhooks, shares, releases, review settings, members, roles,
// restrictions, invitations, the workspace's name, sessions and second factors, every change that happened has its audit line,
// and every line its change.
func TestKill_AuditLines(t *testing.T) {
	for name, database := range map[string]func(*testing.T) string{
		"SQLite":     func(*testing.T) string { return "" },
		"PostgreSQL": func(t *testing.T) string { return pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := killAudited(t, database(t), proof.Rounds(6, 100, 400), plant.None)
			row := proof.Row{Name: "actions without their audit line and lines without their action, " + name, Lost: len(f.complaints),
				Control: "forgets the line of a created share", Figures: []proof.Figure{{Name: "kills", Value: f.kills}, {Name: "lines", Value: f.lines}, {Name: "records", Value: f.records}}}
			row.Caught = proof.Catches(func() bool { return len(killAudited(t, database(t), 0, plant.ForgottenLine).complaints) > 0 })
			row.Report(t)
			if f.lines == 0 || f.records == 0 {
				t.Errorf("%d lines of %d records: nothing was tried", f.lines, f.records)
			}
			for _, complaint := range f.complaints[:min(len(f.complaints), 10)] {
				t.Error(complaint)
			}
		})
	}
}

// auditFindings is what killAudited found.
type auditFindings struct {
	kills, lines, records int
	complaints            []string
}

// killAudited kills servers while clients and people change what D200 names, and compares in the end what is there with the
// audit logs. With a fault the servers that are killed have it. At last a server lives on.
func killAudited(t *testing.T, database string, kills int, fault plant.Control) *auditFindings {
	t.Helper()
	p := newProgram(t, database)
	workspace := p.Ask(t, "workspace", "create", "--name", "Acme", "--plan", "business", "--owner-email", "ada@example.com")["id"].(string)
	p.key = p.Ask(t, "key", "create", "--workspace", workspace, "--name", "all", "--scopes", "all")["key"].(string)
	victim := p
	if fault != plant.None {
		victim = p.as(proctest.Planted(t, fault))
	}
	s := p.start(t, nil)
	project := s.make(t, "/api/v1/projects", map[string]any{"name": "Shared"})
	v := newPeople(t, p, s, workspace, project)
	s.terminate(t)
	for i := range kills + 1 {
		point := failpoint.Statement
		if i%3 > 0 {
			point = points[1+rand.IntN(4)]
		}
		if i == kills {
			s = victim.start(t, nil)
		} else {
			s = victim.start(t, nil, killAt(point, 1+rand.IntN(60)))
		}
		var wg sync.WaitGroup
		for range clients {
			wg.Go(func() { changeRights(s, project) })
		}
		wg.Go(func() { v.change(s) })
		wg.Wait()
		s.Kill()
	}
	p.healthy(t)
	s = p.start(t, nil)
	defer s.terminate(t)
	f := &auditFindings{kills: kills}
	v.compare(t, p, s, f, f.compare(t, s, project))
	return f
}

// changeRights makes, changes and deletes one record of each kind, until the server dies.
func changeRights(s *server, project string) {
	for _, c := range []struct {
		path, change string // "": PATCH
		body, patch  map[string]any
	}{
		{"/api/v1/projects/" + project + "/releases", "", map[string]any{"name": fmt.Sprint(rand.Uint64())}, map[string]any{"notes": "n"}},
		{"/api/v1/shares", "", map[string]any{"resource_type": "project", "resource_id": project}, map[string]any{"password": "a secret word"}},
		{"/api/webhooks/subscriptions", "/rotate-secret", map[string]any{"name": "n", "url": "https://example.com/", "events": []string{"document.created"}}, nil},
		{"/api/v1/api-keys", "/rotate", map[string]any{"name": "n", "scopes": []string{"projects:read"}}, nil},
	} {
		var made struct{ ID string }
		if status, err := s.call(http.MethodPost, c.path, c.body, &made); err != nil || status != http.StatusCreated {
			continue // killed, or the plan has no room
		}
		method, path := http.MethodPost, strings.Replace(c.path, "/projects/"+project, "", 1)+"/"+made.ID
		if c.change == "" {
			method = http.MethodPatch
		}
		_, _ = s.call(method, path+c.change, c.patch, nil)
		if rand.IntN(2) == 0 || c.path != "/api/v1/shares" {
			_, _ = s.call(http.MethodDelete, path, nil, nil)
		}
	}
	review := []any{nil, map[string]any{"approvals": 1}, map[string]any{"approvals": 2}}
	_, _ = s.call(http.MethodPatch, "/api/v1/projects/"+project, map[string]any{"review": review[rand.IntN(len(review))]}, nil)
}

// compare reads the log and the records, and notes what does not fit. It returns the log.
func (f *auditFindings) compare(t *testing.T, s *server, project string) (log []auditLine) {
	t.Helper()
	lines := map[string][]string{} // actions by target
	for after := ""; ; {
		var page struct{ Data []auditLine }
		path := "/api/v1/audit?limit=100"
		if after != "" {
			path += "&after=" + after
		}
		if status, err := s.call(http.MethodGet, path, nil, &page); err != nil || status != http.StatusOK {
			t.Fatalf("read the audit log: %d, %v", status, err)
		}
		if len(page.Data) == 0 {
			break
		}
		for _, l := range page.Data {
			f.lines++
			log = append(log, l)
			lines[l.Target] = append(lines[l.Target], l.Action)
			after = l.ID
		}
	}
	there := map[string]bool{}
	for path, c := range map[string]struct{ created, changed string }{
		"/api/v1/shares":                            {"share.created", "share.password_set"},
		"/api/webhooks/subscriptions":               {"webhook.created", ""},
		"/api/v1/api-keys":                          {"key.created", ""},
		"/api/v1/projects/" + project + "/releases": {"release.created", ""},
	} {
		for offset := 0; ; offset += 100 {
			var page struct {
				Data []struct {
					ID          string
					HasPassword bool `json:"has_password"`
				}
			}
			if status, err := s.call(http.MethodGet, fmt.Sprintf("%s?limit=100&offset=%d", path, offset), nil, &page); err != nil || status != http.StatusOK {
				t.Fatalf("list %s: %d, %v", path, status, err)
			}
			for _, r := range page.Data {
				f.records++
				there[r.ID] = true
				got := lines[r.ID]
				if !slices.Contains(got, c.created) {
					f.complaints = append(f.complaints, fmt.Sprintf("%s/%s has no line %s: %q", path, r.ID, c.created, got))
				}
				if c.changed != "" && r.HasPassword != slices.Contains(got, c.changed) {
					f.complaints = append(f.complaints, fmt.Sprintf("%s/%s has a password: %v, and the lines %q", path, r.ID, r.HasPassword, got))
				}
			}
			if len(page.Data) < 100 {
				break
			}
		}
	}
	for _, target := range slices.Sorted(maps.Keys(lines)) {
		got := lines[target]
		made := slices.ContainsFunc(got, func(a string) bool {
			return slices.Contains([]string{"share.created", "webhook.created", "key.created", "release.created"}, a)
		})
		gone := slices.ContainsFunc(got, func(a string) bool {
			return slices.Contains([]string{"share.deleted", "webhook.deleted", "key.revoked", "release.deleted"}, a)
		})
		if made && gone == there[target] {
			f.complaints = append(f.complaints, fmt.Sprintf("%s is there: %v, and has the lines %q", target, there[target], got))
		}
		if !made && gone {
			f.complaints = append(f.complaints, fmt.Sprintf("%s was never created, and has the lines %q", target, got))
		}
	}
	return log
}
