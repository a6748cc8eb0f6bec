package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// activity requests the page with a query.
func (w *town) activity(query string) string {
	w.Helper()
	got := w.ask(http.MethodGet, w.address("/w/{workspace}/activity")+"?"+query, w.owner)
	if got.Code != http.StatusOK {
		w.Fatalf("%s: %d %s", query, got.Code, got.Body)
	}
	return got.Body.String()
}

// wantIn checks that a page has, or lacks, these parts. Line breaks of the template do not count.
func (w *town) wantIn(body string, yes bool, parts ...string) {
	w.Helper()
	body = strings.ReplaceAll(strings.Join(strings.Fields(body), " "), "> <", "><")
	for _, part := range parts {
		if strings.Contains(body, part) != yes {
			w.Errorf("%q is shown: %v", part, !yes)
		}
	}
}

func TestActivity_ShowsEventsAndFilters(t *testing.T) {
	w := newTown(t)
	w.wantIn(w.activity(""), true, "<bdi>Ada</bdi> created the project “<bdi>Project</bdi>”", "created the folder “<bdi>Folder</bdi>”", "created the document “<bdi>&lt;b&gt;Sent&lt;/b&gt;</bdi>”")
	byType := w.activity("type=folder.created")
	w.wantIn(byType, true, "created the folder “<bdi>Folder</bdi>”")
	w.wantIn(byType, false, "created the project", "created the document")
	byID := w.activity("resource=" + w.ids["projects"])
	w.wantIn(byID, true, "created the project “<bdi>Project</bdi>”")
	w.wantIn(byID, false, "created the folder", "created the document")
	byName := w.activity("span=day&resource=" + url.QueryEscape("Projec"))
	w.wantIn(byName, true, "Choose one:", "?resource="+w.ids["projects"]+"&amp;span=day")
	w.wantIn(w.activity("resource=nowhere"), true, "No matches.")
	w.wantIn(w.activity("type=generation.failed"), true, "No matching events")
	w.wantIn(w.activity("type=made-up&from=-1"), true, "created the project “<bdi>Project</bdi>”")
}

// The log has the owner's name for actions of the service itself, but the sentence does not.
func TestActivity_WhatTheServiceDid(t *testing.T) {
	email := "ada@example.com"
	ada := people{"u": person(sheaf.User{ID: "u", Email: &email})}
	for _, test := range []struct {
		event        sheaf.EventType
		reason, want string
	}{
		{sheaf.SubscriptionFailing, "", "Sheaf counted five failed deliveries in a row of the webhook"},
		{sheaf.SubscriptionDeactivated, sheaf.ByFailures, "Sheaf deactivated the webhook"},
		{sheaf.SubscriptionDeactivated, sheaf.ByHand, "ada@example.com deactivated the webhook"},
		{sheaf.SubscriptionReactivated, "", "ada@example.com reactivated the webhook"},
	} {
		body, err := json.Marshal(map[string]any{"user_id": "u", "payload": map[string]any{"name": "n", "deactivation_reason": test.reason}})
		if err != nil {
			t.Fatal(err)
		}
		e := readEntry(sheaf.Event{Type: test.event, Body: body}, ada)
		if got := e.Who + " " + e.Did; got != test.want {
			t.Errorf("%s by %q: %q, want %q", test.event, test.reason, got, test.want)
		}
	}
}

// An action by a key names the key and its owner. An action by a person names no key.
func TestActivity_NamesTheKeyThatActed(t *testing.T) {
	w := newTown(t)
	k, err := w.a.CreateKey(t.Context(), w.caller, app.NewKey{Name: "Nightly <import>", Scopes: sheaf.AllScopes})
	w.must(err)
	credential, err := w.a.Authenticate(t.Context(), *k.Secret)
	w.must(err)
	p, err := w.a.CreateProject(t.Context(), app.Caller{Workspace: credential.Workspace, User: credential.Key.UserID, Key: credential.Key, Plan: credential.Plan},
		sheaf.ProjectChange{Name: sheaf.Some("By a key")})
	w.must(err)
	page := w.activity("resource=" + string(p.ID))
	w.wantIn(page, true, "<bdi>Ada</bdi> created the project “<bdi>By a key</bdi>”", "with <bdi>the key “Nightly &lt;import&gt;”</bdi>")
	w.wantIn(w.activity("resource="+w.ids["projects"]), false, "with <bdi>")
	_, event, _ := strings.Cut(page, "/events/")
	event, _, _ = strings.Cut(event, `"`)
	w.wantIn(w.get("events/"+event), true, "with <bdi>the key “Nightly &lt;import&gt;”</bdi>")
	w.must(w.a.RevokeKey(t.Context(), w.caller, k.ID))
	w.wantIn(w.activity("resource="+string(p.ID)), true, "with <bdi>a key that was revoked</bdi>")
}

// A share has no name of its own: the sentence has the name of the shared record, while it exists.
func TestActivity_NamesWhatIsShared(t *testing.T) {
	w := newTown(t)
	p, err := w.a.CreateProject(t.Context(), w.caller, sheaf.ProjectChange{Name: sheaf.Some("Open <house>")})
	w.must(err)
	s, err := w.a.CreateShare(t.Context(), w.caller, sheaf.ShareChange{ResourceType: sheaf.Some("project"), ResourceID: sheaf.Some(string(p.ID))})
	w.must(err)
	page := w.activity("resource=" + string(s.ID))
	w.wantIn(page, true, "created the share of the project “<bdi>Open &lt;house&gt;</bdi>”")
	_, event, _ := strings.Cut(page, "/events/")
	event, _, _ = strings.Cut(event, `"`)
	w.wantIn(w.get("events/"+event), true, "created the share of the project “<bdi>Open &lt;house&gt;</bdi>”")
	w.must(w.a.DeleteProject(t.Context(), w.caller, p.ID, sheaf.Match{}))
	w.wantIn(w.activity("resource="+string(s.ID)), true, "<bdi>Ada</bdi> created the share of the project</strong>")
}

func TestActivity_SaysWhatChanged(t *testing.T) {
	for previous, want := range map[string]string{
		`{"name":"x","color":"y"}`: "renamed the project", `{"folder_id":null}`: "moved the project", `{"color":null}`: "changed the color of the project",
		`{"visibility":"private"}`: "changed the project", `{}`: "changed the project",
	} {
		var p map[string]json.RawMessage
		if err := json.Unmarshal([]byte(previous), &p); err != nil {
			t.Fatal(err)
		}
		if got := didOf(sheaf.ProjectUpdated, p); got != want {
			t.Errorf("%s: %s, want %s", previous, got, want)
		}
	}
	// A reported payload may have any shape.
	for _, body := range []string{`{"payload":{"name":7}}`, `{"payload":[]}`, `null`, ``} {
		if got := readEntry(sheaf.Event{Type: sheaf.ShareCreated, Body: []byte(body)}, nil); got.Who != "Someone" || got.Did != "created the share" || got.What != "" {
			t.Errorf("%s: %+v", body, got)
		}
	}
}

func TestEvent_ShowsItsDeliveries(t *testing.T) {
	w := newTown(t)
	got := w.ask(http.MethodGet, w.address("/w/{workspace}/events/{id}"), w.owner).Body.String()
	w.wantIn(got, true, "created the document “<bdi>&lt;b&gt;Sent&lt;/b&gt;</bdi>”", "the next attempt is due", "/deliveries/"+w.ids["deliveries"], "&#34;title&#34;: &#34;&lt;b&gt;")
}

func TestCharts_DrawTheLastHourAndDay(t *testing.T) {
	w := newTown(t)
	now := time.Now()
	w.c.Now = func() time.Time { return now }
	for _, m := range []struct {
		ago    time.Duration
		counts sheaf.Counts
	}{
		{0, sheaf.Counts{Requests: 40, RateLimited: 10, Delivered: 3, Retried: 2, Failed: 1, TookMax: 20 * time.Millisecond, Took: [7]int64{0, 6}}},
		{30 * time.Minute, sheaf.Counts{Requests: 20}},
		{5 * time.Hour, sheaf.Counts{Requests: 1000}},
		{25 * time.Hour, sheaf.Counts{Requests: 7}},
		{-5 * time.Minute, sheaf.Counts{Requests: 9}}, // by a clock that is ahead of ours
	} {
		w.must(w.a.AddMinute(t.Context(), now.Add(-m.ago), map[sheaf.WorkspaceID]sheaf.Counts{w.caller.Workspace: m.counts}))
	}
	hour := w.activity("")
	w.wantIn(hour, true, "answered <b>50</b>", "rate-limited <b>10</b>", "delivered <b>3</b>", "will be retried <b>2</b>", "failed <b>1</b>",
		"p95 <b>20.0 ms</b>", "peak 40", `class="good" x="590" y="25" width="8" height="75"`, `class="warn" x="590" y="0" width="8" height="25"`)
	day := w.activity("span=day")
	w.wantIn(day, true, "answered <b>1,050</b>", "peak 1,000")
	// The table has the same figures, for readers who cannot see the drawing.
	w.wantIn(hour, true, `<td class="number">40</td><td class="number">10</td><td class="number">3</td><td class="number">2</td><td class="number">1</td><td class="number">20.0 ms</td>`)
	other := w.ask(http.MethodGet, strings.ReplaceAll(w.address("/w/{workspace}/activity"), string(w.caller.Workspace), string(w.callerOf(w.stranger).Workspace)), w.stranger)
	w.wantIn(other.Body.String(), true, "answered <b>0</b>")
}

// A document that comes out of the trash is restored, not created, although its event says created.
func TestActivity_SaysRestored(t *testing.T) {
	w := newTown(t)
	d := w.newDocument("Phoenix", "")
	w.must(w.a.DeleteDocument(t.Context(), w.caller, d, sheaf.Match{}))
	_, err := w.a.RestoreDocument(t.Context(), w.caller, d)
	w.must(err)
	page := w.activity("resource=" + string(d))
	w.wantIn(page, true, "<bdi>Ada</bdi> restored the document “<bdi>Phoenix</bdi>”", "deleted the document", "created the document")
	if strings.Count(page, "created the document “<bdi>") != 1 {
		t.Errorf("created more than once: %s", page)
	}
	imported := sheaf.Event{Type: sheaf.DocumentCreated, Body: []byte(`{"timestamp":"2026-01-03T00:00:00.000Z","payload":{"title":"Old","created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-02T00:00:00.000Z"}}`)}
	if got := readEntry(imported, nil).Did; got != "created the document" {
		t.Errorf("an import %s", got)
	}
}

func TestFigure_HasSeparators(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 12480: "12,480", 1234567: "1,234,567", -1234: "-1,234", -123: "-123"} {
		if got := figure(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
	if got := many(int64(3000), "delivery"); got != "3,000 deliveries" {
		t.Error(got)
	}
}

// The log shows who joined, who left and who got another role, among the events of their time. It can be narrowed to one
// person, and to members.
func TestActivity_TellsOfMembersAndByPerson(t *testing.T) {
	w := newTown(t)
	bob := w.callerOf(w.member)
	// Events and changes of members are ordered by their millisecond, so no two may have the same one.
	var step atomic.Int64
	start := time.Now()
	w.setClock(func() time.Time { return start.Add(time.Duration(step.Add(1)) * time.Millisecond) })
	carl := w.callerOf(w.join("carl@example.com", "Carl <i>", sheaf.Editor))
	w.must(w.a.SetRole(t.Context(), w.caller, bob.User, sheaf.Editor, sheaf.Opt[sheaf.Role]{}))
	bob.Role = sheaf.Editor
	_, err := w.a.CreateProject(t.Context(), bob, sheaf.ProjectChange{Name: sheaf.Some("By Bob")})
	w.must(err)
	w.must(w.a.RemoveMember(t.Context(), w.caller, carl.User))
	const joined, role, made, removed = "<bdi>Bob</bdi> joined as member", "<bdi>Ada</bdi> changed the role of <bdi>Bob</bdi> from member to editor",
		"<bdi>Bob</bdi> created the project “<bdi>By Bob</bdi>”", "<bdi>Ada</bdi> removed <bdi>Carl &lt;i&gt;</bdi> from the workspace"
	all := w.activity("")
	w.wantIn(all, true, joined, role, made, removed, "<bdi>Carl &lt;i&gt;</bdi> joined as editor")
	last := 0
	for _, part := range []string{"removed <bdi>Carl", "By Bob</bdi>", "changed the role of", "joined as member"} { // the newest first
		at := strings.Index(all, part)
		if at < last {
			t.Errorf("%q stands too early", part)
		}
		last = at
	}
	w.wantIn(w.activity("type=members"), true, joined, role, removed)
	w.wantIn(w.activity("type=members"), false, "created the")
	w.wantIn(w.activity("type=project.created"), true, made, "created the project “<bdi>Project</bdi>”")
	w.wantIn(w.activity("type=project.created"), false, "joined", "changed the role")
	w.wantIn(w.activity("resource="+w.ids["projects"]), false, "joined", "changed the role")

	byBob := w.activity("person=" + string(bob.User))
	w.wantIn(byBob, true, joined, role, made, `<option value="`+string(bob.User)+`" dir="auto" selected>Bob</option>`)
	w.wantIn(byBob, false, "<bdi>Project</bdi>", removed)
	w.wantIn(w.activity("type=document.created&person="+string(bob.User)), true, "No matching events")
	w.wantIn(w.activity("person="+string(w.callerOf(w.owner).User)), false, "By Bob")
	// Everyone may see it, but the name of somebody who left is for owners.
	w.wantIn(w.ask(http.MethodGet, w.address("/w/{workspace}/activity"), w.member).Body.String(), true, joined, "<bdi>Ada</bdi> removed <bdi>a former member</bdi>")
	w.wantIn(w.get("members"), true, `/activity?person=`+string(bob.User)+`"`)
}

// A change of a member stands on the page that has the events of its time, and on no other.
func TestActivity_MembersOnFurtherPages(t *testing.T) {
	w := newTown(t)
	for n := range 2 * sheaf.DefaultLimit {
		_, err := w.a.CreateFolder(t.Context(), w.caller, sheaf.FolderChange{Name: sheaf.Some(fmt.Sprint("Folder ", n)), EntityType: sheaf.Some("project")})
		w.must(err)
		if n == sheaf.DefaultLimit {
			w.join("late@example.com", "Late", sheaf.Member)
		}
	}
	counts := ""
	for from := 0; from <= 3*sheaf.DefaultLimit; from += sheaf.DefaultLimit {
		page := w.activity(fmt.Sprint("from=", from))
		counts += fmt.Sprint(strings.Count(page, "<bdi>Late</bdi> joined"), strings.Count(page, "<bdi>Bob</bdi> joined"), " ")
	}
	if counts != "1 0 0 0 0 1 0 0 " {
		t.Errorf("on the pages stand %s", counts)
	}
}
