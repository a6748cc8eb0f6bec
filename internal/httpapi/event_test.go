package httpapi_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/store"
)

// D61, D62: the envelope and the payload, in their order; the same bytes in the list, alone and
// stored.
func TestEvent_Record(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		ws := a.Workspace(sheaf.Pro)
		c := ws.Client("")
		p := create(t, c, projects, fields{"name": "<p>"})
		a.Clock.Advance(time.Second)
		c.PATCH(at(projects, p), fields{"name": "q", "icon": "book"}).Want(t, 200)
		list := c.GET(events).Want(t, 200)
		ids := list.IDs(t)
		head := `"timestamp":"$at","user_id":"$user","workspace_id":"$ws","resource_type":"project","resource_id":"$p","payload":{"id":"$p",`
		created := `{"id":"$e","type":"project.created",` + head + `"name":"<p>","description":null,"icon":null,"color":null,"folder_id":null,"sort_order":0,` +
			`"visibility":"private","external_id":null,"url":null,"metadata":null,"review":null,"document_count":0,"created_at":"2026-11-15T10:00:00.000Z","updated_at":"2026-11-15T10:00:00.000Z"}}`
		updated := `{"id":"$e","type":"project.updated",` + head + `"name":"q","description":null,"icon":"book","color":null,"folder_id":null,"sort_order":0,` +
			`"visibility":"private","external_id":null,"url":null,"metadata":null,"review":null,"document_count":0,"created_at":"2026-11-15T10:00:00.000Z","updated_at":"2026-11-15T10:00:01.000Z",` +
			`"previous":{"name":"<p>","icon":null,"updated_at":"2026-11-15T10:00:00.000Z"}}}`
		vars := []string{"$p", p, "$user", string(ws.Owner), "$ws", string(ws.ID)}
		first, second := c.GET(at(events, ids[0])).Want(t, 200), c.GET(at(events, ids[1])).Want(t, 200)
		wantBody(t, first, created, append(vars, "$e", ids[0], "$at", "2026-11-15T10:00:00.000Z")...)
		wantBody(t, second, updated, append(vars, "$e", ids[1], "$at", "2026-11-15T10:00:01.000Z")...)
		wantBody(t, list, `{"data":[`+string(first.Body)+`,`+string(second.Body)+`],"total":2,"limit":50,"offset":0}`)
		for i, e := range stored(t, a, ws) {
			if string(e.Body) != string([]*apitest.Response{first, second}[i].Body) {
				t.Errorf("stored as %s", e.Body)
			}
		}
		c.GET(at(events, "evt_"+nowhereID)).WantError(t, 404, "NOT_FOUND", "event")
		a.Workspace(sheaf.Pro).Client("").GET(at(events, ids[0])).WantError(t, 404, "NOT_FOUND", "event")
		for _, bad := range []string{nowhereID, "evt_", "evt_x", "EVT_" + nowhereID, "evt_" + nowhereID + "0"} {
			c.GET(at(events, bad)).WantError(t, 400, "VALIDATION_ERROR", "id")
		}
		// A personal workspace is one user's own: its events carry none.
		own := a.Workspace(sheaf.Pro, func(w *app.NewWorkspace) { w.Personal = true }).Client("")
		create(t, own, documents, fields{"title": "d"})
		if e := own.GET(events).Items(t)[0]; e["workspace_id"] != nil || e["resource_type"] != "document" {
			t.Errorf("a personal workspace's event: %v", e)
		}
	})
}

// stored returns the log as the database has it.
func stored(t testing.TB, a *apitest.API, ws *apitest.Workspace) (out []sheaf.Event) {
	t.Helper()
	err := a.Store.Read(context.Background(), func(r *store.Reader) error {
		for p := (sheaf.Paging{Limit: 100}); ; p.Offset += 100 {
			page, err := r.Events(ws.ID, sheaf.EventFilter{Paging: p}, 0)
			if out = append(out, page.Items...); err != nil || !page.More() {
				return err
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// D63a: a clock that is set back or ahead hides no event from since: times never fall.
func TestEvents_SinceSurvivesAClockThatJumps(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		ws := a.Workspace(sheaf.Pro)
		c := ws.Client("")
		for _, jump := range []time.Duration{0, time.Second, time.Hour, -2 * time.Hour, time.Minute, 3 * time.Hour, -time.Hour, time.Second} {
			a.Clock.Advance(jump)
			create(t, c, projects, fields{"name": "x"})
		}
		log := c.GET(events).Want(t, 200).Items(t)
		times := make([]string, len(log)) // of one form, so that they compare as texts
		for i, e := range log {
			times[i] = e["timestamp"].(string)
			if i > 0 && times[i] < times[i-1] {
				t.Errorf("event %d is of %s, before %s", i+1, times[i], times[i-1])
			}
		}
		first := morning.Format("2006-01-02T15:04:05.000Z")
		if last := morning.Add(time.Second + 2*time.Hour + time.Minute).Format("2006-01-02T15:04:05.000Z"); times[0] != first || times[len(times)-1] != last {
			t.Errorf("the log goes from %s to %s, want %s to %s", times[0], times[len(times)-1], first, last)
		}
		for i, at := range times {
			r := c.GET(events+"?since="+at).Want(t, 200)
			got := len(r.Items(t))
			want := len(times) - slices.Index(times, at)
			if total := int(r.JSON["total"].(float64)); got != want || total != want {
				t.Errorf("since event %d: %d events, total %d, want %d", i+1, got, total, want)
			}
		}
	})
}

// D63a: filters, the catch-up feed, and totals.
func TestEvents_Filters(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		ws := a.Workspace(sheaf.Pro)
		c := ws.Client("")
		var res []string
		for i := range 6 {
			res = append(res, create(t, c, []string{projects, documents}[i%2], fields{"name": "x", "title": "x"}))
			a.Clock.Advance(time.Second)
		}
		c.PATCH(at(projects, res[0]), fields{"name": "y"}).Want(t, 200)
		ids := c.GET(events).IDs(t)
		reversed := slices.Clone(ids)
		slices.Reverse(reversed)
		other := a.Workspace(sheaf.Pro).Client("")
		create(t, other, projects, fields{"name": "o"})
		theirs := other.GET(events).IDs(t)[0]
		for query, want := range map[string][]string{
			"":                            ids,
			"order=desc":                  reversed,
			"order=desc&limit=2&offset=1": reversed[1:3],
			"limit=3&offset=5":            ids[5:],
			"type=project.created":        {ids[0], ids[2], ids[4]},
			"type=document.deleted":       nil,
			"type=webhook.test":           nil,
			"resource_id=" + res[0]:       {ids[0], ids[6]},
			"resource_id=" + strings.ToUpper(res[0]) + "&type=project.updated": {ids[6]},
			"resource_id=" + nowhereID:                                 nil,
			"since=2026-11-15T10:00:04.000Z":                           ids[4:],
			"since=2026-11-15T11:00:04%2B01:00":                        ids[4:],
			"since=2026-11-15T10:00:04.0001Z":                          ids[5:],
			"since=2030-01-01T00:00:00Z":                               nil,
			"after=" + ids[2]:                                          ids[3:],
			"after=" + ids[6]:                                          nil,
			"after=" + ids[2] + "&limit=2":                             ids[3:5],
			"after=" + ids[2] + "&limit=2&order=desc":                  reversed[:2],
			"after=" + ids[2] + "&type=document.created":               {ids[3], ids[5]},
			"after=" + ids[2] + "&offset=0&since=2026-11-15T10:00:05Z": ids[5:],
		} {
			r := c.GET(events+"?"+query).Want(t, 200)
			wantSame(t, query, r.IDs(t), want)
			total := len(want)
			switch {
			case strings.HasPrefix(query, "after="+ids[2]+"&limit=2"):
				total = 4 // what is after
			case strings.Contains(query, "offset=1"), strings.Contains(query, "offset=5"):
				total = 7
			}
			if got := int(r.JSON["total"].(float64)); got != total {
				t.Errorf("%s: total %d, want %d", query, got, total)
			}
		}
		for _, unknown := range []string{"evt_" + nowhereID, theirs} {
			c.GET(events+"?after="+unknown).WantError(t, 404, "NOT_FOUND", "no longer kept: start from since")
			c.GET(events+"?type=share.created&after="+unknown).WantError(t, 404, "NOT_FOUND", "no longer kept: start from since")
		}
		c.GET(events+"?offset=1&after="+ids[0]).WantError(t, 400, "VALIDATION_ERROR", "offset")
		for _, bad := range []string{"type=", "type=project", "type=*", "resource_id=x", "since=yesterday", "since=2026-11-15", "since=", "after=", "after=" + res[0], "order=up"} {
			name, _, _ := strings.Cut(bad, "=")
			c.GET(events+"?"+bad).WantError(t, 400, "VALIDATION_ERROR", name)
		}
		// The oldest events are deleted after the retention. The rest can still be counted, and a
		// reader whose position is older is told so.
		err := a.Store.Write(context.Background(), func(tx *store.Tx) error {
			last, err := tx.LastOld(ws.ID, morning.Add(2*time.Second))
			if err == nil {
				_, err = tx.DeleteEvents(ws.ID, last, 100)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		r := c.GET(events).Want(t, 200)
		if wantSame(t, "what is kept", r.IDs(t), ids[2:]); r.JSON["total"] != 5.0 {
			t.Errorf("total %v", r.JSON["total"])
		}
		c.GET(events+"?after="+ids[1]).WantError(t, 404, "NOT_FOUND", "no longer kept: start from since")
		wantSame(t, "after the oldest", c.GET(events+"?after="+ids[2]).IDs(t), ids[3:])
	})
}

// D63: events of other parts, their payloads kept as they were sent.
func TestEvents_Publish(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		ws := a.Workspace(sheaf.Pro)
		c := ws.Client("")
		payload := `{ "b":1.0,"a":1e400,"big":123456789012345678901234567890,"neg":-0.0,"e":1E+2,"\u0061\ud83d\ude00":"\u00e9<\/>é","deep":[[{"x":null}]],` + "\n\t" + `"":""}`
		for _, kind := range []string{"media.uploaded", "generation.started", "generation.completed", "generation.failed", "share.created", "share.updated", "share.deleted"} {
			r := c.POST(events, `{"type":"`+kind+`","resource_id":"`+strings.ToUpper(nowhereID)+`","payload":`+payload+`,"id":7,"timestamp":"x"}`).Want(t, 202)
			id := r.Text(t, "id")
			noun, _, _ := strings.Cut(kind, ".")
			wantBody(t, r, `{"id":"$id","type":"$type","timestamp":"2026-11-15T10:00:00.000Z","user_id":"$user","workspace_id":"$ws","resource_type":"$noun",`+
				`"resource_id":"`+nowhereID+`","payload":`+payload+`}`, "$id", id, "$type", kind, "$user", string(ws.Owner), "$ws", string(ws.ID), "$noun", noun)
			if got, want := r.Header.Get("Location"), a.Server.URL+at(events, id); got != want {
				t.Errorf("Location %q, want %q", got, want)
			}
			wantBody(t, c.GET(at(events, id)).Want(t, 200), string(r.Body))
			wantBody(t, c.GET(events+"?order=desc&limit=1"), fmt.Sprintf(`{"data":[%s],"total":%v,"limit":1,"offset":0}`, r.Body, c.GET(events).JSON["total"]))
		}
		for _, own := range []string{"project.created", "folder.updated", "document.deleted", "webhook.test", "media.deleted", "media.*", "Media.uploaded", "", "*"} {
			c.POST(events, fields{"type": own, "resource_id": nowhereID, "payload": fields{}}).WantError(t, 400, "VALIDATION_ERROR", "type")
		}
		for field, bodies := range map[string][]string{
			"type":        {`{"resource_id":"` + nowhereID + `","payload":{}}`, `{"type":null,"resource_id":"` + nowhereID + `","payload":{}}`},
			"resource_id": {`{"type":"share.created","payload":{}}`, `{"type":"share.created","resource_id":"x","payload":{}}`, `{"type":"share.created","resource_id":null,"payload":{}}`},
			"payload":     {`{"type":"share.created","resource_id":"` + nowhereID + `"}`, `{"type":"share.created","resource_id":"` + nowhereID + `","payload":[]}`, `{"type":"share.created","resource_id":"` + nowhereID + `","payload":null}`},
			"user_id":     {`{"type":"share.created","resource_id":"` + nowhereID + `","payload":{},"user_id":"x"}`},
		} {
			for _, body := range bodies {
				c.POST(events, body).WantError(t, 400, "VALIDATION_ERROR", field)
			}
		}
		if n := len(c.GET(events).IDs(t)); n != 7 {
			t.Errorf("%d events", n)
		}
		ws.Client(ws.Key(sheaf.EventsRead)).POST(events, `{}`).WantError(t, 403, "FORBIDDEN", "events:write")
	})
}

// D63: a payload of 262,144 bytes, as sent, and not one more.
func TestEvents_PublishBound(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		payload := `{"é": "` + strings.Repeat("x", 262_144-10) + `"}`
		if len(payload) != 262_144 {
			t.Fatal(len(payload))
		}
		post := func(p string) *apitest.Response {
			return c.POST(events, `{"type":"share.created","resource_id":"`+nowhereID+`","payload":`+p+`}`)
		}
		r := post(payload).Want(t, 202)
		wantBody(t, c.GET(at(events, r.Text(t, "id"))), string(r.Body))
		post(payload[:len(payload)-1]+" }").WantError(t, 400, "VALIDATION_ERROR", "payload", "262144")
	})
}

// D63: user_id is the key's user, or another of the workspace.
func TestEvents_PublishForAUser(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		stranger := a.Workspace(sheaf.Pro).Owner
		c := ws.Client("")
		body := func(user any) fields {
			return fields{"type": "share.created", "resource_id": nowhereID, "payload": fields{}, "user_id": user}
		}
		for _, user := range []any{nil, string(ws.Owner), strings.ToUpper(string(ws.Owner))} {
			if got := c.POST(events, body(user)).Want(t, 202).Text(t, "user_id"); got != string(ws.Owner) {
				t.Errorf("user_id %s", got)
			}
		}
		unknown := c.POST(events, body(nowhereID)).WantError(t, 404, "NOT_FOUND", "user")
		wantBody(t, c.POST(events, body(string(stranger))).Want(t, 404), string(unknown.Body))
	})
}

// D60: what changes nothing, or is refused, leaves no event; all others leave exactly theirs, in
// commit order, numbered without a gap.
func TestEvents_NumberedInCommitOrder(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		c := ws.Client("")
		const clients, each = 16, 2
		made := make([][]string, clients)
		together(clients, func(i int) {
			for n := range each {
				r := c.POST(projects, fields{"name": fmt.Sprint(i, "-", n)})
				id, _ := r.JSON["id"].(string)
				c.PATCH(at(projects, id), `{"name":""}`)                         // refused
				c.POST(projects, fields{"name": "x", "folder_id": nowhereID})    // refused in the transaction
				c.PATCH(at(projects, id), fields{"name": fmt.Sprint(i, "-", n)}) // nothing
				c.PATCH(at(projects, id), fields{"name": "changed"})
				made[i] = append(made[i], id)
			}
		})
		log := stored(t, a, ws)
		if len(log) != clients*each*2 {
			t.Fatalf("%d events", len(log))
		}
		position := map[string]int{}
		for i, e := range log {
			if e.Number != int64(i+1) {
				t.Fatalf("event %d has the number %d", i+1, e.Number)
			}
			position[string(e.Type)+e.ResourceID] = i
		}
		wantSame(t, "the log", idsOf(wholeList(t, c, events, 7)), func() (ids []string) {
			for _, e := range log {
				ids = append(ids, string(e.ID))
			}
			return ids
		}())
		for i := range made {
			last := -1
			for _, id := range made[i] { // each client's own order is that of the log
				for _, key := range []string{"project.created" + id, "project.updated" + id} {
					if position[key] <= last {
						t.Fatalf("client %d: %s stands at %d, behind %d", i, key, position[key], last)
					}
					last = position[key]
				}
			}
		}
	})
}

// D61: a receiver that applies the log to an empty copy ends up with what the API lists.
func TestEvents_AppliedToAnEmptyCopy(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		oneOfEach(t, c)
		pool := &idPool{ids: map[string][]string{}}
		together(8, func(i int) {
			w := &monkey{c: c, r: rand.New(rand.NewPCG(uint64(i), 42)), pool: pool}
			for range 60 {
				if r := w.act(); r.Status >= 500 || r.Err != nil {
					t.Errorf("got %d %s %v", r.Status, r.Body, r.Err)
				}
			}
		})
		log := wholeList(t, c, events, 100)
		kinds := map[string]int{}
		copied := map[string]map[string]fields{"project": {}, "folder": {}, "document": {}}
		for _, e := range log {
			kinds[e["type"].(string)]++
			apply(t, copied[e["resource_type"].(string)], e)
		}
		t.Logf("%d events: %v", len(log), kinds)
		if len(log) < 120 || len(kinds) != 9 {
			t.Errorf("the monkeys were lazy: %v", kinds)
		}
		lists := map[string][]fields{}
		for noun, path := range map[string]string{"project": projects, "folder": folders, "document": documents} {
			lists[noun] = wholeList(t, c, path, 30)
			if len(lists[noun]) != len(copied[noun]) {
				t.Errorf("the copy has %d of %d %ss", len(copied[noun]), len(lists[noun]), noun)
			}
			for _, r := range lists[noun] {
				wantJSON(t, noun, own(copied[noun][r["id"].(string)]), own(r))
			}
		}
		checkDerived(t, lists)
	})
}

// oneOfEach leaves each type of event in the log, cascades included, whatever the monkeys do.
func oneOfEach(t *testing.T, c *apitest.Client) {
	t.Helper()
	folder := create(t, c, folders, fields{"name": "f", "entity_type": "project"})
	project := create(t, c, projects, fields{"name": "p", "folder_id": create(t, c, folders, fields{"name": "s", "entity_type": "project", "parent_id": folder})})
	document := create(t, c, documents, fields{"title": "d", "project_id": project})
	c.PATCH(at(folders, folder), fields{"name": "g"}).Want(t, 200)
	c.DELETE(at(folders, folder)).Want(t, 204)
	c.DELETE(at(projects, project)).Want(t, 204)
	c.DELETE(at(documents, document)).Want(t, 204)
}

// own leaves out what is derived.
func own(r fields) fields {
	return without(r, "document_count", "project_count", "branding_count", "depth")
}

// apply does to the copy what an event says, and checks that nothing between it and the copy is
// missing.
func apply(t *testing.T, records map[string]fields, e fields) {
	t.Helper()
	id, payload := e["resource_id"].(string), e["payload"].(fields)
	was, known := records[id]
	_, verb, _ := strings.Cut(e["type"].(string), ".")
	switch verb {
	case "created":
		if known {
			t.Errorf("%v: it exists", e)
		}
		records[id] = payload
	case "updated":
		previous, now := payload["previous"].(fields), without(payload, "previous")
		back := own(now)
		for name, old := range previous {
			back[name] = old
		}
		wantJSON(t, "before "+jsonOf(e), back, own(was))
		if len(previous) < 2 || was["updated_at"].(string) >= now["updated_at"].(string) {
			t.Errorf("%v changes nothing, or not updated_at", e)
		}
		records[id] = now
	case "deleted":
		wantJSON(t, "last of "+jsonOf(e), own(payload), own(was))
		delete(records, id)
	}
}

// checkDerived counts again what the lists say.
func checkDerived(t *testing.T, lists map[string][]fields) {
	t.Helper()
	checkTree(t, lists["folder"])
	inProject, inFolder := map[any]float64{}, map[any]float64{}
	for _, d := range lists["document"] {
		inProject[d["project_id"]]++
	}
	for _, p := range lists["project"] {
		inFolder[p["folder_id"]]++
		if p["document_count"] != inProject[p["id"]] {
			t.Errorf("%v has %v documents", p, inProject[p["id"]])
		}
	}
	for _, f := range lists["folder"] {
		if f["project_count"] != inFolder[f["id"]] {
			t.Errorf("%v has %v projects", f, inFolder[f["id"]])
		}
	}
}

// idPool are the ids that the monkeys know, of things that may be gone.
type idPool struct {
	mu  sync.Mutex // guards ids
	ids map[string][]string
}

func (p *idPool) add(list, id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids[list] = append(p.ids[list], id)
}

// any returns some id, or null.
func (p *idPool) any(list string, r *rand.Rand) any {
	p.mu.Lock()
	defer p.mu.Unlock()
	// The youngest are the likeliest to be there.
	from := max(0, len(p.ids[list])-12)
	if n := len(p.ids[list]) - from; n > 0 && r.IntN(6) > 0 {
		return p.ids[list][from+r.IntN(n)]
	}
	return nil
}

// monkey does something at random, sensible or not.
type monkey struct {
	c    *apitest.Client
	r    *rand.Rand
	pool *idPool
}

func (m *monkey) act() *apitest.Response {
	list := []string{projects, folders, documents, documents}[m.r.IntN(4)]
	id := m.pool.any(list, m.r)
	if id == nil || m.r.IntN(10) < 4 {
		return m.create(list)
	}
	one := at(list, id.(string))
	switch m.r.IntN(6) {
	case 0:
		return m.c.DELETE(one)
	case 1:
		if list == documents {
			return m.c.POST(one+"/restore", nil)
		}
		return m.c.POST(one+"/move", fields{"folder_id": m.pool.any(folders, m.r), "parent_id": m.pool.any(folders, m.r)})
	case 2, 3:
		if list == documents {
			if m.r.IntN(2) == 0 {
				return m.c.PATCH(one, fields{"parent_id": m.pool.any(documents, m.r), "sort_order": m.r.IntN(3)})
			}
			return m.c.PATCH(one, fields{"project_id": m.pool.any(projects, m.r)})
		}
		return m.c.PATCH(one, fields{"sort_order": m.r.IntN(3), "color": []any{"#000000", "#ffffff", nil}[m.r.IntN(3)]})
	}
	name := fmt.Sprint("n", m.r.IntN(3))
	if list == documents && m.r.IntN(2) == 0 {
		return put(m.c, one, strings.Repeat(name+"\n", m.r.IntN(3)))
	}
	return m.c.PATCH(one, fields{"name": name, "title": name})
}

func (m *monkey) create(list string) *apitest.Response {
	above := folders
	if list == documents {
		above = documents
	}
	r := m.c.POST(list, fields{"name": "n0", "title": "n0", "entity_type": []string{"project", "project", "branding"}[m.r.IntN(3)],
		"parent_id": m.pool.any(above, m.r), "folder_id": m.pool.any(folders, m.r), "project_id": m.pool.any(projects, m.r)})
	if id, ok := r.JSON["id"].(string); ok {
		m.pool.add(list, id)
	}
	return r
}
