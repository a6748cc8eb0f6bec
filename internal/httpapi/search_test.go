package httpapi_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

const searching = "/api/v1/search"

func find(q string, more ...string) string {
	return searching + "?q=" + url.QueryEscape(q) + strings.Join(append([]string{""}, more...), "&")
}

// D90: the envelope with every kind, in the order of D91, never cached.
func TestSearch_Record(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Pro).Client("")
		folder := create(t, c, folders, fields{"name": "Herons", "entity_type": "project"})
		a.Clock.Advance(time.Second)
		project := create(t, c, projects, fields{"name": "Birds", "description": "Grey HERON\n and wren", "folder_id": folder})
		a.Clock.Advance(time.Second)
		document := create(t, c, documents, fields{"title": "The heron", "description": nil, "project_id": project})
		r := c.GET(find("heron")).Want(t, 200)
		wantBody(t, r, `{"data":[`+
			`{"type":"document","id":"$document","title":"The heron","snippet":"","ranges":[],"project_id":"$project","folder_id":"$folder","path":[],"updated_at":"2026-11-15T10:00:02.000Z"},`+
			`{"type":"folder","id":"$folder","title":"Herons","snippet":"","ranges":[],"project_id":null,"folder_id":null,"path":[],"updated_at":"2026-11-15T10:00:00.000Z"},`+
			`{"type":"project","id":"$project","title":"Birds","snippet":"Grey HERON and wren","ranges":[[5,5]],"project_id":null,"folder_id":"$folder","path":[],"updated_at":"2026-11-15T10:00:01.000Z"}`+
			`],"total":3,"limit":50,"offset":0}`, "$document", document, "$project", project, "$folder", folder)
		if r.Header.Get("Cache-Control") != "no-store" || r.Header.Get("ETag") != "" {
			t.Errorf("an answer that may be kept: %v", r.Header)
		}
		page := c.GET(find("heron", "limit=1", "offset=1")).Want(t, 200)
		wantSame(t, "the second page", page.IDs(t), []string{folder})
		if link := page.Header.Get("Link"); !strings.Contains(link, "offset=2") || !strings.Contains(link, "offset=0") || !strings.Contains(link, "q=heron") {
			t.Errorf("Link %q", link)
		}
	})
}

// D90, D91: the text of a document is found, and a piece of it shown, as it is now.
func TestSearch_FindsContent(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		id := create(t, c, documents, fields{"title": "Birds", "content": "# Heron\n\nThe **grey** heron\nstands still."})
		hit := c.GET(find(`"heron stands"`)).Want(t, 200).Items(t)
		if len(hit) != 1 || hit[0]["id"] != id || hit[0]["snippet"] != "# Heron The **grey** heron stands still." || fmt.Sprint(hit[0]["ranges"]) != "[[21 12]]" {
			t.Errorf("found %v", hit)
		}
		c.PATCH(at(documents, id), fields{"content": "The wren"}).Want(t, 200)
		wantSame(t, "the previous text", c.GET(find("heron")).Want(t, 200).IDs(t), nil)
		wantSame(t, "the current text", c.GET(find("wren")).Want(t, 200).IDs(t), []string{id})
		c.PATCH(at(documents, id), fields{"content": nil}).Want(t, 200)
		wantSame(t, "no text", c.GET(find("wren")).Want(t, 200).IDs(t), nil)
	})
}

// D164: a document has the titles of the documents above it, as they are now. Two documents may have the same parent.
func TestSearch_Path(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		w := a.Workspace(sheaf.Business)
		c := w.Client("")
		project := create(t, c, projects, fields{"name": "heron project"})
		parent, ids := "", make([]string, sheaf.MaxLevels)
		for i := range ids {
			in := fields{"title": fmt.Sprint("heron ", i), "project_id": project}
			if parent != "" {
				in["parent_id"] = parent
			}
			ids[i] = create(t, c, documents, in)
			parent = ids[i]
		}
		create(t, c, documents, fields{"title": "heron beside", "project_id": project, "parent_id": ids[0]})
		for i := range 20 { // from eight paths on, PostgreSQL uses another statement
			top := create(t, c, documents, fields{"title": fmt.Sprint("top ", i)})
			middle := create(t, c, documents, fields{"title": fmt.Sprint("middle ", i), "parent_id": top})
			create(t, c, documents, fields{"title": fmt.Sprint("wren ", i), "parent_id": middle})
		}
		paths := func(c *apitest.Client, words string) map[string]any {
			t.Helper()
			got := map[string]any{}
			for _, hit := range c.GET(find(words, "limit=100")).Want(t, 200).Items(t) {
				got[hit["title"].(string)] = fmt.Sprint(hit["path"])
			}
			return got
		}
		all := map[string]any{"heron 0": "[]", "heron 1": "[heron 0]", "heron beside": "[heron 0]", "heron 2": "[heron 0 heron 1]",
			"heron 3": "[heron 0 heron 1 heron 2]", "heron 4": "[heron 0 heron 1 heron 2 heron 3]"}
		wantJSON(t, "with documents:read alone", paths(w.Client(w.Key(sheaf.DocumentsRead)), "heron"), all)
		all["heron project"] = "[]"
		wantJSON(t, "paths", paths(c, "heron"), all)
		many := map[string]any{}
		for i := range 20 {
			many[fmt.Sprint("wren ", i)] = fmt.Sprintf("[top %d middle %d]", i, i)
		}
		wantJSON(t, "many paths", paths(c, "wren"), many)
		c.PATCH(at(documents, ids[0]), fields{"title": "egret"}).Want(t, 200)
		wantJSON(t, "a new title", paths(c, "heron")["heron 2"], "[egret heron 1]")
		c.POST(at(documents, ids[2])+"/move", fields{"parent_id": nil}).Want(t, 200)
		wantJSON(t, "after a move", paths(c, "heron")["heron 3"], "[heron 2]")
	})
}

// D90: by kind, and in what it lies.
func TestSearch_Filters(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		top := create(t, c, folders, fields{"name": "heron top", "entity_type": "project"})
		below := create(t, c, folders, fields{"name": "heron below", "entity_type": "project", "parent_id": top})
		inside := create(t, c, projects, fields{"name": "heron inside", "folder_id": below})
		outside := create(t, c, projects, fields{"name": "heron outside"})
		in := create(t, c, documents, fields{"title": "heron in", "project_id": inside})
		out := create(t, c, documents, fields{"title": "heron out", "project_id": outside})
		for _, test := range []struct {
			filter string
			want   []string
		}{
			{"type=document", []string{in, out}},
			{"type=project,folder", []string{inside, outside, top, below}},
			{"type=folder,folder", []string{top, below}},
			{"project_id=" + inside, []string{in}},
			{"project_id=" + strings.ToUpper(outside), []string{out}},
			{"folder_id=" + top, []string{below, inside, in}},
			{"folder_id=" + below, []string{inside, in}},
			{"folder_id=" + below + "&type=document", []string{in}},
			{"folder_id=" + top + "&project_id=" + outside, nil},
			{"folder_id=" + unknownID, nil},
			{"project_id=" + unknownID, nil},
		} {
			r := c.GET(find("heron", test.filter)).Want(t, 200)
			got := r.IDs(t)
			slices.Sort(got)
			slices.Sort(test.want)
			if !slices.Equal(got, test.want) || r.JSON["total"] != float64(len(test.want)) {
				t.Errorf("%s: got %q of %v, want %q", test.filter, got, r.JSON["total"], test.want)
			}
		}
	})
}

// D90, D91: what is wrong with a search is told.
func TestSearch_RefusedQueries(t *testing.T) {
	t.Parallel()
	c := apitest.SQLite(t).Workspace(sheaf.Pro).Client("")
	for path, says := range map[string]string{
		searching:                      "q must have 1 to 200 characters",
		find(""):                       "q must have 1 to 200 characters",
		find(" "):                      "at least one word",
		find(`""`):                     "at least one word",
		find(strings.Repeat("é", 201)): "200",
		find("a b c d e f g h i j k"):  "at most 10",
		find("a", "type="):             "type must be one or more of",
		find("a", "type=media"):        "type must be one or more of",
		find("a", "type=document,"):    "type must be one or more of",
		find("a", "project_id=null"):   "project_id must be a UUID",
		find("a", "folder_id=x"):       "folder_id must be a UUID",
		find("a", "limit=101"):         "limit",
		find("a", "offset=-1"):         "offset",
		searching + "?q=%ff":           "q",
		searching + "?q=a%00b":         "q",
	} {
		c.GET(path).WantError(t, 400, "VALIDATION_ERROR", says)
	}
	c.GET(find(strings.Repeat("é", 200))).Want(t, 200)
	c.GET(find("a b c d e f g h i j")).Want(t, 200)
}

// D91: substrings of two characters and more anywhere, words in different fields, single characters
// in titles alone; case, composition and width make no difference.
func TestSearch_Meaning(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		add := func(title, description string) {
			create(t, c, documents, fields{"title": title, "description": description})
		}
		add("Kingfishers", "dive for minnows")
		add("東京都の文書", "検索できる")
		add("Straße É", "ｶﾞｽ tariff, release\n  notes")
		create(t, c, documents, fields{"title": "Long", "description": "d", "content": "# Woodpecker\n\n" + strings.Repeat("Nothing of it. ", 1000) + "\n> The *nuthatch* at last."})
		for q, want := range map[string][]string{
			"fish":             {"Kingfishers"},
			"FISHERS Minnow":   {"Kingfishers"},
			"fishers for dive": {"Kingfishers"},
			"fish heron":       {},
			"文書":               {"東京都の文書"},
			"検索":               {"東京都の文書"},
			"都":                {"東京都の文書"},
			"索":                {},
			"strasse":          {"Straße É"},
			"e\u0301":          {"Straße É"},
			"ガス":               {"Straße É"},
			"ＴＡＲＩＦＦ":           {"Straße É"},
			`"release notes"`:  {"Straße É"},
			`"notes release"`:  {},
			"notes release":    {"Straße É"},
			"nuthatch":         {"Long"},
			"woodpecker LAST":  {"Long"},
			"p":                {},
			"k":                {"Kingfishers"},
			"v":                {},
			"k minnows":        {"Kingfishers"},
			"%":                {},
			"_i":               {},
		} {
			wantSame(t, q, titlesOf(c.GET(find(q)).Want(t, 200).Items(t)), want)
		}
	})
}

func titlesOf(items []map[string]any) []string {
	out := []string{}
	for _, i := range items {
		out = append(out, fmt.Sprint(i["title"]))
	}
	return out
}

// D90: a key is shown the kinds that it may read, and learns nothing of the others by a detour.
func TestSearch_ShowsWhatTheKeyMayRead(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		c := ws.Client("")
		folder := create(t, c, folders, fields{"name": "heron", "entity_type": "project"})
		project := create(t, c, projects, fields{"name": "heron", "folder_id": folder})
		document := create(t, c, documents, fields{"title": "heron", "project_id": project})
		kinds := func(r *apitest.Response) (out []string) {
			for _, i := range r.Items(t) {
				out = append(out, fmt.Sprint(i["type"], " ", i["folder_id"]))
			}
			return out
		}
		docs := ws.Client(ws.Key(sheaf.DocumentsRead, sheaf.EventsWrite))
		wantSame(t, "documents alone", kinds(docs.GET(find("heron")).Want(t, 200)), []string{"document <nil>"})
		wantSame(t, "documents of all", kinds(docs.GET(find("heron", "type=document,project")).Want(t, 200)), []string{"document <nil>"})
		wantSame(t, "in a project", docs.GET(find("heron", "project_id="+project)).Want(t, 200).IDs(t), []string{document})
		docs.GET(find("heron", "folder_id="+folder)).WantError(t, 403, "FORBIDDEN", "projects:read")
		docs.GET(find("heron", "type=project,folder")).WantError(t, 403, "FORBIDDEN", "projects:read")
		others := ws.Client(ws.Key(sheaf.ProjectsRead))
		wantSame(t, "projects and folders", kinds(others.GET(find("heron")).Want(t, 200)), []string{"project " + folder, "folder <nil>"})
		others.GET(find("heron", "type=document")).WantError(t, 403, "FORBIDDEN", "documents:read")
		none := ws.Client(ws.Key(sheaf.ProjectsWrite, sheaf.DocumentsWrite, sheaf.EventsRead))
		r := none.GET(find("heron")).WantError(t, 403, "FORBIDDEN", "documents:read")
		if h := r.Header.Get("WWW-Authenticate"); !strings.Contains(h, "insufficient_scope") || !strings.Contains(h, "projects:read") {
			t.Errorf("WWW-Authenticate %q", h)
		}
		stranger := a.Workspace(sheaf.Pro).Client("")
		wantBody(t, stranger.GET(find("heron")).Want(t, 200), `{"data":[],"total":0,"limit":50,"offset":0}`)
		wantBody(t, stranger.GET(find("heron", "folder_id="+folder)).Want(t, 200), `{"data":[],"total":0,"limit":50,"offset":0}`)
	})
}

// D92: a change is found on every node from its answer on, while the index follows; what was deleted
// is not, on the other node either.
func TestSearch_IsFreshOnEveryNode(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Follow()
		c := a.Workspace(sheaf.Pro).Client("")
		for i := range 40 {
			word := fmt.Sprintf("heron%03d", i)
			id := create(t, c, documents, fields{"title": word})
			wantSame(t, "created", c.GET(find(word)).Want(t, 200).IDs(t), []string{id})
			c.PATCH(at(documents, id), fields{"title": "wren" + word[5:]}).Want(t, 200)
			wantSame(t, "changed", c.GET(find(word)).Want(t, 200).IDs(t), nil)
			wantSame(t, "as it is now", c.GET(find("wren"+word[5:])).Want(t, 200).IDs(t), []string{id})
			if i%2 == 0 {
				c.DELETE(at(documents, id)).Want(t, 204)
				wantSame(t, "deleted", c.GET(find("wren"+word[5:])).Want(t, 200).IDs(t), nil)
			}
		}
		if total := c.GET(find("wren", "limit=1")).Want(t, 200).JSON["total"]; total != 20.0 {
			t.Errorf("total %v, want 20", total)
		}
	})
}

// D93: q of the lists does without the index.
func TestSearch_QOfTheListsIsNotFromTheIndex(t *testing.T) {
	a := apitest.SQLite(t)
	c := a.Workspace(sheaf.Pro).Client("")
	id := create(t, c, documents, fields{"title": "The heron"})
	wantSame(t, "by q", c.GET(documents+"?q=HERON").Want(t, 200).IDs(t), []string{id})
	wantSame(t, "by q, literally", c.GET(documents+"?q=heron+the").Want(t, 200).IDs(t), nil)
	if a.IndexIsOpen() {
		t.Error("a list opened the index of search")
	}
}
