package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/store/engine"
)

// asked is one list of the API, with the query that it runs.
type asked struct {
	name string
	read func(r *Reader) error
	// by is the column that must narrow what is read; "" if only the workspace does.
	by string
	// sorts allows sorting after filtering, because the filter's index has another order.
	sorts bool
}

var listSorts = []sheaf.ProjectSort{sheaf.ByOrder, sheaf.ByName, sheaf.ByCreated, sheaf.ByUpdated}

// lists returns all lists of the API with every order and every filter. No index can serve a text
// search.
func lists() (out []asked) {
	add := func(name, by string, sorts bool, read func(r *Reader) error) {
		out = append(out, asked{name, read, by, sorts})
	}
	since := time.UnixMilli(5)
	for _, desc := range []bool{false, true} {
		p := sheaf.Paging{Limit: 50, Desc: desc}
		for _, s := range listSorts {
			in, root := sheaf.Some(sheaf.FolderID("0198c0de-0000-7000-8000-00000000000f")), sheaf.Nil[sheaf.FolderID]()
			projects := func(name, by string, sorts bool, f sheaf.ProjectFilter) {
				f.Sort, f.Paging = s, p
				add(fmt.Sprintf("projects%s by %s, desc %t", name, s, desc), by, sorts, func(r *Reader) error {
					_, err := r.Projects(theWorkspace, f)
					return err
				})
			}
			brandings := func(name, by string, sorts bool, folder sheaf.Opt[sheaf.FolderID]) {
				add(fmt.Sprintf("brandings%s by %s, desc %t", name, s, desc), by, sorts, func(r *Reader) error {
					_, err := r.Brandings(theWorkspace, sheaf.BrandingFilter{Folder: folder, Sort: s, Paging: p})
					return err
				})
			}
			brandings("", "", false, sheaf.Opt[sheaf.FolderID]{})
			brandings(" in a folder", "folder_id", s != sheaf.ByOrder, sheaf.Some(sheaf.FolderID("0198c0de-0000-7000-8000-000000000011")))
			brandings(" at the root", "folder_id", s != sheaf.ByOrder, root)
			projects("", "", false, sheaf.ProjectFilter{})
			projects(" in a folder", "folder_id", s != sheaf.ByOrder, sheaf.ProjectFilter{Folder: in})
			projects(" at the root", "folder_id", s != sheaf.ByOrder, sheaf.ProjectFilter{Folder: root})
			if projectParts(s) != nil {
				f := sheaf.ProjectFilter{Sort: s, Paging: sheaf.Paging{Limit: 50, Offset: farSkip + 1, Desc: desc}}
				add(fmt.Sprintf("projects by %s far behind, desc %t", s, desc), "", false, func(r *Reader) error {
					_, err := r.Projects(theWorkspace, f)
					return err
				})
			}
			projects(" of a reference", "external_id", true, sheaf.ProjectFilter{ExternalID: "x"})
			projects(" changed since", "updated_at", s != sheaf.ByUpdated, sheaf.ProjectFilter{UpdatedSince: &since})
			folders := func(name, by string, sorts bool, f sheaf.FolderFilter) {
				f.Sort, f.Paging = s, p
				add(fmt.Sprintf("folders%s by %s, desc %t", name, s, desc), by, sorts, func(r *Reader) error {
					_, err := r.Folders(theWorkspace, f)
					return err
				})
			}
			folders("", "", false, sheaf.FolderFilter{})
			folders(" in a folder", "parent_id", s != sheaf.ByOrder, sheaf.FolderFilter{Parent: in})
			folders(" at the root", "parent_id", s != sheaf.ByOrder, sheaf.FolderFilter{Parent: root})
			folders(" of a type", "entity_type", s != sheaf.ByOrder, sheaf.FolderFilter{EntityType: sheaf.ProjectFolder})
			folders(" of a reference", "external_id", true, sheaf.FolderFilter{ExternalID: "x"})
			folders(" changed since", "updated_at", s != sheaf.ByUpdated, sheaf.FolderFilter{UpdatedSince: &since})
		}
		for _, s := range []sheaf.DocumentSort{sheaf.DocumentsByCreated, sheaf.DocumentsByUpdated, sheaf.DocumentsByTitle, sheaf.DocumentsByOrder, sheaf.DocumentsByDeleted} {
			documents := func(name, by string, sorts bool, f sheaf.DocumentFilter) {
				f.Sort, f.Paging = s, p
				for _, f := range []sheaf.DocumentFilter{f, deleted(f)} {
					if s == sheaf.DocumentsByDeleted && !f.Deleted {
						continue
					}
					sorts := sorts || f.Deleted && f.Project.Set // a project's deleted documents have no index of their own
					add(fmt.Sprintf("documents%s by %s, deleted %t, desc %t", name, s, f.Deleted, desc), by, sorts, func(r *Reader) error {
						_, err := r.Documents(theWorkspace, f)
						return err
					})
				}
			}
			in := sheaf.Some(sheaf.ProjectID("0198c0de-0000-7000-8000-00000000001a"))
			// The orders of a whole workspace, across parents, mean little, and have no index.
			byOrder := s == sheaf.DocumentsByOrder
			documents("", "", byOrder, sheaf.DocumentFilter{})
			documents(" below one", "parent_id", !byOrder, sheaf.DocumentFilter{Parent: sheaf.Some(sheaf.DocumentID("0198c0de-0000-7000-8000-00000000002d"))})
			documents(" at the top of a project", "project_id", !byOrder && s != sheaf.DocumentsByUpdated, sheaf.DocumentFilter{Project: in, Parent: sheaf.Nil[sheaf.DocumentID]()})
			documents(" in a project", "project_id", s != sheaf.DocumentsByUpdated, sheaf.DocumentFilter{Project: in})
			documents(" in none", "project_id", s != sheaf.DocumentsByUpdated, sheaf.DocumentFilter{Project: sheaf.Nil[sheaf.ProjectID]()})
			documents(" of a reference", "external_id", true, sheaf.DocumentFilter{ExternalID: "x"})
			documents(" changed since", "updated_at", s != sheaf.DocumentsByUpdated, sheaf.DocumentFilter{UpdatedSince: &since})
		}
		proposals := func(name, by string, sorts bool, f sheaf.ProposalFilter) {
			f.Paging = p
			add(fmt.Sprintf("proposals%s, desc %t", name, desc), by, sorts, func(r *Reader) error {
				_, err := r.Proposals(theWorkspace, f)
				return err
			})
		}
		proposals("", "", false, sheaf.ProposalFilter{})
		proposals(" in a state", "state", false, sheaf.ProposalFilter{State: sheaf.ProposalOpen})
		proposals(" of a user", "user_id", false, sheaf.ProposalFilter{User: theUser})
		proposals(" about a document", "resource_id", true, sheaf.ProposalFilter{Document: "0198c0de-0000-7000-8000-00000000002d"})
		proposals(" that wait for a person", "resource_id", true, sheaf.ProposalFilter{State: sheaf.ProposalOpen, Asked: theUser})
		proposals(" changed since", "updated_at", true, sheaf.ProposalFilter{UpdatedSince: &since})
		add(fmt.Sprintf("versions, desc %t", desc), "", false, func(r *Reader) error {
			_, err := r.Versions(theWorkspace, "0198c0de-0000-7000-8000-00000000002d", p)
			return err
		})
		for by, f := range map[string]sheaf.EventFilter{
			"":                {},
			"type":            {Type: sheaf.ProjectCreated},
			"resource_id":     {Resource: "0198c0de-0000-7000-8000-000000000077"},
			"person":          {Person: "0198c0de-0000-7000-8000-000000000078"},
			"at":              {Since: &since},
			"type, at":        {Type: sheaf.ProjectCreated, Since: &since},
			"resource_id, at": {Resource: "0198c0de-0000-7000-8000-000000000077", Since: &since},
		} {
			f.Paging = p
			narrows := by
			if f.Since != nil {
				narrows = "number" // from the number that the bisection has found
			}
			add(fmt.Sprintf("events by %q, desc %t", by, desc), narrows, false, func(r *Reader) error {
				_, err := r.Events(theWorkspace, f, 0)
				return err
			})
			add(fmt.Sprintf("events after one, by %q", by), "number", false, func(r *Reader) error {
				_, err := r.Events(theWorkspace, f, 3)
				return err
			})
			add(fmt.Sprintf("followed events, by %q", by), "number", false, func(r *Reader) error {
				_, err := r.EventsAfter(theWorkspace, f, 3, 50)
				return err
			})
		}
		for by, person := range map[string]sheaf.UserID{"": "", "person": "0198c0de-0000-7000-8000-000000000078"} {
			add(fmt.Sprintf("member events by %q", by), "", false, func(r *Reader) error {
				_, err := r.MemberEvents(theWorkspace, sheaf.MemberEventFilter{Person: person, Limit: 50})
				return err
			})
		}
		for _, state := range []sheaf.DeliveryState{"", sheaf.Failed, sheaf.Held} {
			add(fmt.Sprintf("deliveries in state %q, desc %t", state, desc), "sub", false, func(r *Reader) error {
				_, err := r.Deliveries(theWorkspace, "0198c0de-0000-7000-8000-000000000055", state, p)
				return err
			})
		}
		of := sheaf.Some(sheaf.DocumentID("0198c0de-0000-7000-8000-00000000002d"))
		for by, f := range map[string]sheaf.MediumFilter{"": {}, "document_id": {Document: of}, "content_type": {ContentType: "image/"}} {
			f.Paging = p
			add(fmt.Sprintf("media by %q, desc %t", by, desc), by, by != "", func(r *Reader) error {
				_, err := r.Media(theWorkspace, f)
				return err
			})
		}
		add("keys", "", false, func(r *Reader) error {
			_, err := r.Keys(theWorkspace, time.UnixMilli(5), p)
			return err
		})
	}
	return out
}

// deleted returns the same filter for deleted documents, which have another external id.
func deleted(f sheaf.DocumentFilter) sheaf.DocumentFilter {
	f.Deleted = true
	if f.ExternalID != "" {
		f.ExternalID = "gone"
	}
	return f
}

// Every order and every filter of a list has an index: a tenant with many rows must not make others
// wait while its rows are sorted, or while rows are read that it did not ask for.
func TestLists_AreReadByIndexes(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"SQLite": {Folder: t.TempDir()}, "PostgreSQL": {DatabaseURL: pgtest.URL(t)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openTest(t, o)
			fillLists(t, s)
			// As a heavy write it may take longer than 30 seconds, which hundreds of plans need on a busy machine.
			err := s.WriteHeavyIn(context.Background(), theWorkspace, Everything, func(tx *Tx) error {
				if tx.dialect().Postgres { // its planner uses no index for few rows
					for _, way := range []string{"seqscan", "bitmapscan", "sort", "incremental_sort"} {
						if err := tx.exec("SET LOCAL enable_" + way + " = off"); err != nil {
							return err
						}
					}
				}
				for _, l := range lists() {
					plans, err := tx.Reader.sql.Explain(func(sql *engine.Reader) error { return l.read(&Reader{sql: sql, numbers: newNumbers()}) })
					if err != nil {
						return fmt.Errorf("%s: %w", l.name, err)
					}
					if !slices.ContainsFunc(plans, func(p engine.Plan) bool { return strings.Contains(p.SQL, "LIMIT") }) {
						t.Errorf("%s: asked %v, and no page", l.name, plans)
					}
					for _, p := range plans {
						if why := l.wrong(p, tx.dialect()); why != "" {
							t.Errorf("%s: %s:\n%s\n%s", l.name, why, p.SQL, p.Plan)
						}
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// wrong returns what is wrong with a plan, or "".
func (l asked) wrong(p engine.Plan, d engine.Dialect) string {
	steps := slices.Collect(strings.Lines(p.Plan))
	has := func(part string) bool {
		return slices.ContainsFunc(steps, func(s string) bool { return strings.Contains(s, part) })
	}
	if strings.Contains(p.SQL, "bisection") { // finds a time: each step, and each end, reads one entry
		if strings.Count(p.Plan, "number=?") != 2 && !d.Postgres || strings.Count(p.Plan, "Index Cond: ((ws = ") < 2 && d.Postgres {
			return "it reads the log to bisect it"
		}
		return ""
	}
	if strings.Contains(p.SQL, "MAX(number)") {
		if !d.Postgres && strings.Count(p.Plan, "SCALAR SUBQUERY") != 2 {
			return "it reads the whole log for its ends" // SQLite does so if one query asks for both ends
		}
		return ""
	}
	if strings.Contains(p.SQL, "FROM workspaces") || strings.Contains(p.SQL, "_count FROM") { // a counter
		return ""
	}
	if strings.Contains(p.SQL, "WHERE e.ws = $1 AND e.number = $2") && has("events_in_order") { // one event of a delivery
		return ""
	}
	if d.Postgres {
		switch {
		case has("Seq Scan") || !has("Index Cond"):
			return "it reads a table"
		case l.sorts || strings.Contains(p.SQL, "_id IS NULL ORDER") && !has("projects_at_root"):
			return "" // its planner decides by statistics, and does not read NULLs in index order
		case has("Sort  ("): // Merge Append has a key of its own
			return "it sorts"
		case !strings.Contains(p.SQL, "LIMIT"):
			return "" // for so few rows every index costs the same
		case l.by != "" && !has("projects_at_root") && !slices.ContainsFunc(steps, func(s string) bool { return strings.Contains(s, "Index Cond") && strings.Contains(s, l.by) }):
			return "it reads more than " + l.by + " leaves"
		}
		return ""
	}
	switch {
	case has("SCAN") || !has("SEARCH"):
		return "it reads a table"
	case has("TEMP B-TREE") && !l.sorts:
		return "it sorts"
	case strings.Contains(p.SQL, "UNION ALL") && !strings.Contains(p.SQL, "revision") && strings.Count(p.Plan, "SEARCH") != strings.Count(p.Plan, "COVERING"):
		return "it reads rows to skip them"
	case l.by != "" && !slices.ContainsFunc(steps, func(s string) bool {
		return strings.Contains(s, l.by+"=?") || strings.Contains(s, l.by+">?") ||
			l.by == "folder_id" && strings.Contains(s, "projects_at_root") // which has only root projects
	}):
		return "it reads more than " + l.by + " leaves"
	}
	return ""
}

// fillLists creates one record of each kind, so that every list has a page.
func fillLists(t *testing.T, s *Store) {
	t.Helper()
	id := 0
	newID := func() string { id++; return fmt.Sprintf("0198c0de-0000-7000-8000-1%011d", id) }
	err := s.Write(context.Background(), func(tx *Tx) error {
		w := sheaf.Workspace{ID: theWorkspace, Plan: sheaf.Business, Projects: 2 + 3*farSkip, Documents: 3, Subscriptions: 1, Brandings: 2}
		looks := sheaf.FolderID("0198c0de-0000-7000-8000-000000000011")
		f, p := sheaf.FolderID("0198c0de-0000-7000-8000-00000000000f"), sheaf.ProjectID("0198c0de-0000-7000-8000-00000000001a")
		parent := sheaf.DocumentID("0198c0de-0000-7000-8000-00000000002d")
		x, gone, at := "x", "gone", time.UnixMilli(10)
		for _, err := range []error{
			tx.InsertWorkspace(w), tx.SaveWorkspace(w),
			tx.InsertUser(sheaf.User{ID: theUser}),
			tx.InsertKey(theWorkspace, sheaf.Key{ID: theKey, UserID: theUser, Scopes: sheaf.AllScopes}, sheaf.KeyHash{1}),
			tx.InsertFolder(theWorkspace, sheaf.Folder{ID: f, EntityType: sheaf.ProjectFolder, Depth: 1, Number: 1, ExternalID: &x, UpdatedAt: at}),
			tx.InsertFolder(theWorkspace, sheaf.Folder{ID: "0198c0de-0000-7000-8000-000000000010", EntityType: sheaf.ProjectFolder, ParentID: &f, Depth: 2, Number: 2}),
			tx.InsertFolder(theWorkspace, sheaf.Folder{ID: looks, EntityType: sheaf.BrandingFolder, Depth: 1, Number: 7}),
			tx.InsertBranding(theWorkspace, sheaf.Branding{ID: "0198c0de-0000-7000-8000-00000000003b", FolderID: &looks, Number: 8}),
			tx.InsertBranding(theWorkspace, sheaf.Branding{ID: "0198c0de-0000-7000-8000-00000000003c", Number: 9}),
			tx.InsertProject(theWorkspace, sheaf.Project{ID: p, FolderID: &f, Number: 3, ExternalID: &x, UpdatedAt: at}),
			tx.InsertProject(theWorkspace, sheaf.Project{ID: "0198c0de-0000-7000-8000-00000000001b", Number: 4}),
			tx.InsertDocument(theWorkspace, sheaf.Document{ID: "0198c0de-0000-7000-8000-00000000002d", ProjectID: &p, Number: 5, ExternalID: &x, UpdatedAt: at}, sheaf.Author{}),
			tx.InsertDocument(theWorkspace, sheaf.Document{ID: "0198c0de-0000-7000-8000-00000000002e", Number: 6}, sheaf.Author{}),
			tx.InsertDocument(theWorkspace, sheaf.Document{ID: "0198c0de-0000-7000-8000-00000000002f", ProjectID: &p, ParentID: &parent, Number: 4}, sheaf.Author{}),
			tx.InsertDocument(theWorkspace, sheaf.Document{ID: "0198c0de-0000-7000-8000-00000000003f", ProjectID: &p, ParentID: &parent, Number: 12}, sheaf.Author{}),
			tx.InsertDocument(theWorkspace, sheaf.Document{ID: "0198c0de-0000-7000-8000-00000000003d", ProjectID: &p, Number: 10, ExternalID: &gone, UpdatedAt: at}, sheaf.Author{}),
			tx.InsertDocument(theWorkspace, sheaf.Document{ID: "0198c0de-0000-7000-8000-00000000003e", Number: 11}, sheaf.Author{}),
			tx.InsertProposal(theWorkspace, sheaf.Proposal{ID: "0198c0de-0000-7000-8000-000000000066", Number: 13, State: sheaf.ProposalOpen, User: theUser, UpdatedAt: at}),
			tx.SetTargets(theWorkspace, 13, Targets{Documents: []sheaf.DocumentID{parent}, Asked: []sheaf.UserID{theUser}}),
			tx.InsertSubscription(theWorkspace, sheaf.Subscription{ID: "0198c0de-0000-7000-8000-000000000055", Events: sheaf.EventTypes, Active: true}, Sealed{Secret: []byte("x")}),
		} {
			if err != nil {
				return err
			}
		}
		var many []*sheaf.Project
		for i := range 3 * farSkip {
			many = append(many, &sheaf.Project{ID: sheaf.ProjectID(newID()), Number: int64(100 + i)})
		}
		if err := tx.InsertProjects(theWorkspace, many); err != nil {
			return err
		}
		of := sheaf.DocumentID("0198c0de-0000-7000-8000-00000000002d")
		m := sheaf.Medium{ID: "0198c0de-0000-7000-8000-00000000003e", ContentType: "image/png", SHA256: sheaf.EmptySHA256, DocumentID: &of, Number: 7}
		if err := tx.InsertMedium(theWorkspace, m, time.UnixMilli(1)); err != nil {
			return err
		}
		if err := tx.PublishMedium(theWorkspace, m); err != nil {
			return err
		}
		if err := tx.exec("UPDATE documents SET deleted_at = 10 WHERE number > 6"); err != nil {
			return err
		}
		var events []sheaf.Event
		for i := range 9 {
			events = append(events, sheaf.Event{ID: sheaf.EventID(sheaf.EventPrefix + newID()), Type: sheaf.ProjectCreated, ResourceID: "0198c0de-0000-7000-8000-000000000077", At: time.UnixMilli(int64(i)), Person: "0198c0de-0000-7000-8000-000000000078", Body: []byte("{}")})
		}
		if err := tx.AppendEvents(&w, events); err != nil {
			return err
		}
		if err := tx.exec("UPDATE deliveries SET state = 2, stopped = 1, finished_at = 1 WHERE number = 1"); err != nil {
			return err
		}
		if err := tx.exec("UPDATE deliveries SET state = 3, stopped = 1 WHERE number = 2"); err != nil {
			return err
		}
		return tx.exec("UPDATE lanes SET held_from = 2, held_to = 2")
	})
	if err != nil {
		t.Fatal(err)
	}
}
