package storetest

import (
	"context"
	"math"
	"strings"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

func (f *fixture) loadProject(id sheaf.ProjectID) (sheaf.Project, error) {
	return try(f, func(r *store.Reader) (sheaf.Project, error) { return r.Project(f.ws.ID, id) })
}

func (f *fixture) wantProject(what string, want sheaf.Project) {
	f.Helper()
	got, err := f.loadProject(want.ID)
	f.must(err)
	same(f, what, got, want)
}

func (f *fixture) wantProjectWith(externalID string, want sheaf.Project) {
	f.Helper()
	f.read(func(r *store.Reader) error {
		got, found, err := r.ProjectWith(f.ws.ID, externalID)
		if !found {
			f.Errorf("%q finds nothing", externalID)
		}
		same(f, externalID, got, want)
		return err
	})
}

func projectRoundTrip(f *fixture) {
	drawer := f.folder(nil)
	p := f.project(func(p *sheaf.Project) {
		p.Description, p.Icon, p.Color = ptr("What it is"), ptr("rocket"), ptr("#ff0000")
		p.FolderID, p.SortOrder = &drawer.ID, 7
		p.ExternalID, p.URL, p.Metadata = ptr("wiki:1 ä"), ptr("https://example.com/1"), `{"a":"1"}`
	})
	f.wantProject("created", p)
	f.wantProjectWith("wiki:1 ä", p)

	before := p
	p.Name, p.Description, p.Icon, p.Color = "Renamed", ptr("Else"), ptr("leaf"), ptr("#00ff00")
	p.FolderID, p.SortOrder, p.Revision, p.UpdatedAt = nil, -3, 2, f.now()
	p.ExternalID, p.URL, p.Metadata = ptr("wiki:2"), ptr("http://example.com/2"), `{}`
	f.write(func(tx *store.Tx) error { return tx.UpdateProject(f.ws.ID, before, p) })
	f.wantProject("updated", p)
	f.wantProjectWith("wiki:2", p)
	before = p
	p.ExternalID, p.URL, p.Metadata = nil, nil, ""
	f.write(func(tx *store.Tx) error { return tx.UpdateProject(f.ws.ID, before, p) })
	f.wantProject("without references", p)

	f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) error {
		w.Projects--
		return tx.DeleteProject(w.ID, p)
	}))
	_, err := f.loadProject(p.ID)
	f.wantKind(err, sheaf.NotFound)
}

func projectNulls(f *fixture) {
	p := f.project(func(p *sheaf.Project) { p.Description, p.Icon, p.Color = ptr(""), ptr(""), ptr("") })
	f.wantProject("empty is not null", p)
	before := p
	p.Description, p.Icon, p.Color = nil, nil, nil
	f.write(func(tx *store.Tx) error { return tx.UpdateProject(f.ws.ID, before, p) })
	f.wantProject("null is not empty", p)
}

func projectForeign(f *fixture) {
	mine := f.project(nil)
	theirs, _ := f.newWorkspace("Theirs")
	_, err := try(f, func(r *store.Reader) (sheaf.Project, error) { return r.Project(theirs.ID, mine.ID) })
	f.wantKind(err, sheaf.NotFound)
	f.write(func(tx *store.Tx) error {
		changed := mine
		changed.Name = "Taken over"
		if err := tx.UpdateProject(theirs.ID, mine, changed); err != nil {
			return err
		}
		return tx.DeleteProject(theirs.ID, mine)
	})
	f.wantProject("untouched from another workspace", mine)
}

func projectConstraints(f *fixture) {
	p := f.project(nil)
	again := p
	again.Number = 1000
	insert := func(tx *store.Tx) error { return tx.InsertProject(f.ws.ID, again) }
	f.wantIs(f.store.Write(context.Background(), insert), store.ErrDuplicate)

	again.ID, again.Number, again.FolderID = sheaf.ProjectID(f.id()), 1001, ptr(sheaf.FolderID(f.id()))
	f.wantIs(f.store.Write(context.Background(), insert), store.ErrReference)

	theirs, _ := f.newWorkspace("Theirs")
	drawer := f.folder(nil)
	again.FolderID = &drawer.ID
	foreign := func(tx *store.Tx) error { return tx.InsertProject(theirs.ID, again) }
	f.wantIs(f.store.Write(context.Background(), foreign), store.ErrReference)

	f.document(func(d *sheaf.Document) { d.ProjectID = &p.ID })
	remove := func(tx *store.Tx) error { return tx.DeleteProject(f.ws.ID, p) }
	f.wantIs(f.store.Write(context.Background(), remove), store.ErrReference)
}

// oddTexts are what a text may hold and a careless layer changes.
var oddTexts = map[string]string{
	"quotes":            `'";--\ $1 ? %s %`,
	"emoji":             "👩‍👩‍👧‍👦🏳️‍🌈",
	"highest":           "\uffff\U0010ffff\ufffe",
	"replacement":       "\ufffd",
	"byte order mark":   "\ufeffstart",
	"composed":          "\u00e9",
	"combining":         "e\u0301\u0323",
	"hangul":            "\u1100\u1161\uac00",
	"right to left":     "\u202eabc\u202c שלום",
	"controls":          "\x01\x1f\t\r\n\x7f\u0085",
	"line separators":   "\u2028\u2029",
	"white space":       "  lead and trail \u00a0",
	"number-like":       "0012e3",
	"json":              `{"a":[null,"\u0000"]}`,
	"case that expands": "ß ﬁ İ ı ſ",
	"long":              strings.Repeat("長", 200),
}

func projectOddTexts(f *fixture) {
	for what, text := range oddTexts {
		p := f.project(func(p *sheaf.Project) { p.Name, p.Description, p.Icon = text, &text, &text })
		f.wantProject(what, p)
		f.append(sheaf.Event{ID: sheaf.EventID(sheaf.EventPrefix + f.id()), Type: sheaf.ShareCreated, ResourceID: resource(text), At: f.now(), Body: []byte(text)})
		page := get(f, func(r *store.Reader) (sheaf.Page[sheaf.Project], error) {
			return r.Projects(f.ws.ID, sheaf.ProjectFilter{Query: text, Paging: sheaf.Paging{Limit: 100}})
		})
		found := false
		for _, item := range page.Items {
			found = found || item.ID == p.ID
		}
		if !found {
			f.Errorf("%s: a search for the whole text does not find it", what)
		}
		events := get(f, func(r *store.Reader) (sheaf.Page[sheaf.Event], error) {
			return r.Events(f.ws.ID, sheaf.EventFilter{Resource: resource(text), Paging: sheaf.Paging{Limit: 1}}, 0)
		})
		if len(events.Items) != 1 || string(events.Items[0].Body) != text {
			f.Errorf("%s: got events %+v, want one with that body", what, events.Items)
		}
	}
}

func projectExtremes(f *fixture) {
	for _, order := range []int32{math.MinInt32, -1, 0, 1, math.MaxInt32} {
		p := f.project(func(p *sheaf.Project) { p.SortOrder = order })
		f.wantProject("sort_order", p)
	}
	for _, at := range []time.Time{time.UnixMilli(0).UTC(), time.UnixMilli(-1).UTC(),
		time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC), time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)} {
		p := f.project(func(p *sheaf.Project) { p.CreatedAt, p.UpdatedAt = at, at })
		f.wantProject("times", p)
	}
	for _, n := range []int64{math.MinInt64, math.MaxInt64} {
		w := f.ws
		w.Version, w.LastNumber, w.LastEvent, w.Projects, w.Documents, w.Subscriptions, w.Brandings = n, n, n, n, n, n, n
		f.write(func(tx *store.Tx) error { return tx.SaveWorkspace(w) })
		same(f, "counters", f.workspace(), w)
	}
}
