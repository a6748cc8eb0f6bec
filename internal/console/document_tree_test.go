package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// newDocument creates a document in the town's project, below another one or at the top level.
func (w *town) newDocument(title string, parent sheaf.DocumentID) sheaf.DocumentID {
	w.Helper()
	change := sheaf.DocumentChange{Title: sheaf.Some(title), ProjectID: sheaf.Some(sheaf.ProjectID(w.ids["projects"]))}
	if parent != "" {
		change.ParentID = sheaf.Some(parent)
	}
	d, err := w.a.CreateDocument(w.Context(), w.caller, change)
	w.must(err)
	return d.ID
}

// newDocuments creates n documents below a document, or at the top level of the town's project.
func (w *town) newDocuments(n int, title string, parent sheaf.DocumentID) {
	w.Helper()
	for from := 0; from < n; from += sheaf.MaxBatch {
		var all []sheaf.BatchOperation
		for i := from; i < min(n, from+sheaf.MaxBatch); i++ {
			o := sheaf.BatchOperation{Action: sheaf.BatchCreate, Noun: sheaf.BatchDocument}
			o.Document = sheaf.DocumentChange{Title: sheaf.Some(fmt.Sprintf("%s %05d", title, i)), ProjectID: sheaf.Some(sheaf.ProjectID(w.ids["projects"]))}
			if parent != "" {
				o.Document.ParentID = sheaf.Some(parent)
			}
			all = append(all, o)
		}
		_, err := w.a.Batch(w.Context(), w.caller, all)
		w.must(err)
	}
}

// openedDocuments returns the header of a browser that has these documents open in the tree.
func openedDocuments(ids ...sheaf.DocumentID) func(*http.Request) {
	var all []string
	for _, id := range ids {
		all = append(all, string(id))
	}
	return func(r *http.Request) {
		r.AddCookie(&http.Cookie{Name: openDocumentsCookie, Value: "nonsense." + strings.Join(all, ".")})
	}
}

// D164: the page of a project has its documents as a tree, in their order. The documents below one are
// there if the reader has opened it.
func TestDocumentTree_HasTheRowsOfOpenDocuments(t *testing.T) {
	w := newTown(t)
	project := "projects/" + w.ids["projects"]
	guide := w.newDocument("Guide", "")
	install := w.newDocument("Install", guide)
	linux := w.newDocument("Linux", install)
	w.must(w.move(linux, sheaf.DocumentMove{ParentID: sheaf.Some(install)}))
	first := w.newDocument("Foreword", "")
	w.must(w.move(first, sheaf.DocumentMove{BeforeID: sheaf.Some(guide)}))

	closed := w.get(project)
	w.wantIn(closed, true, row(first), row(guide), `<ul id="in-`+string(guide)+`" hidden></ul>`, `aria-current="true">Tree</a>`)
	w.wantIn(closed, false, row(install), row(linux), `id="in-`+string(first))
	if strings.Index(closed, row(first)) > strings.Index(closed, row(guide)) {
		t.Error("the documents are not in their order")
	}
	open := w.get(project, openedDocuments(guide, install))
	w.wantIn(open, true, row(install), row(linux), `<ul id="in-`+string(guide)+`">`)
	w.wantIn(w.get(project, openedDocuments(install)), false, row(install), row(linux))

	rows := w.get("documents/" + string(guide) + "/branch")
	w.wantIn(rows, true, row(install))
	w.wantIn(rows, false, "<html", row(guide), row(linux))

	list := w.get(project + "?sort=changed")
	w.wantIn(list, true, `id="document-`+string(linux), `aria-current="true">List</a>`)
	w.wantIn(list, false, row(guide))
	w.wantIn(w.get(project+"?q=lin"), true, `id="document-`+string(linux))
}

// move moves a document.
func (w *town) move(id sheaf.DocumentID, to sheaf.DocumentMove) error {
	w.Helper()
	_, err := w.a.MoveDocument(w.Context(), w.caller, id, to, sheaf.Match{})
	return err
}

// The page of a document shows the documents above it, and has the level below it.
func TestDocument_ShowsWhatIsAboveAndBelow(t *testing.T) {
	w := newTown(t)
	ids := []sheaf.DocumentID{w.newDocument("Level 1", "")}
	for n := 2; n <= sheaf.MaxLevels; n++ {
		ids = append(ids, w.newDocument(fmt.Sprint("Level ", n), ids[len(ids)-1]))
	}
	crumb := func(n int) string {
		return `<li><a dir="auto" href="/w/` + string(w.caller.Workspace) + `/documents/` + string(ids[n-1]) + `">Level ` + fmt.Sprint(n) + `</a></li>`
	}
	third := w.get("documents/" + string(ids[2]))
	w.wantIn(third, true, crumb(1)+crumb(2)+"</ol>", "Documents below", row(ids[3]), "/documents/new?below="+string(ids[2]))
	w.wantIn(third, false, crumb(3), row(ids[4]))
	w.wantIn(w.get("documents/"+string(ids[2]), openedDocuments(ids[3])), true, row(ids[4]))
	last := w.get("documents/" + string(ids[4]))
	w.wantIn(last, true, crumb(3)+crumb(4))
	w.wantIn(last, false, "Documents below", "New document below")
	for _, page := range []string{"/edit", "/versions", "/versions/1", "/delete", "/share"} {
		w.wantIn(w.get("documents/"+string(ids[2])+page), true, crumb(2)+crumb(3))
	}

	form := w.get("documents/new?below=" + string(ids[1]))
	w.wantIn(form, true, crumb(1)+crumb(2), `name="parent" value="`+string(ids[1])+`"`, "It goes below <bdi>Level 2</bdi>", `value="`+w.ids["projects"]+`" selected`)
	typed := url.Values{"title": {"New one"}, "content": {"Text"}, "project": {w.ids["projects"]}, "parent": {string(ids[1])}}
	const path = "/w/{workspace}/documents"
	if got := w.sendAs(w.owner, path, typed); got.Code != http.StatusSeeOther {
		t.Fatalf("%d: %s", got.Code, got.Body)
	}
	w.wantIn(w.get("documents/"+string(ids[1])), true, ">New one</span>")
	// The refusal is in plain words, and the form keeps its place.
	typed.Set("project", "")
	got := w.sendAs(w.owner, path, typed)
	w.wantIn(got.Body.String(), true, "That document is in another project", `name="parent" value="`+string(ids[1]), "It goes below <bdi>Level 2</bdi>")
	typed.Set("project", w.ids["projects"])
	typed.Set("parent", string(ids[4]))
	w.wantIn(w.sendAs(w.owner, path, typed).Body.String(), true, "Documents nest at most 5 levels deep")
	w.must(w.a.DeleteDocument(t.Context(), w.caller, ids[4], sheaf.Match{}))
	gone := w.sendAs(w.owner, path, typed)
	w.wantIn(gone.Body.String(), true, "The document above this one was deleted while you were writing")
	w.wantIn(gone.Body.String(), false, `name="parent"`)
	for _, bad := range []string{"x", w.ids["projects"]} {
		if got := w.ask(http.MethodGet, w.address("/w/{workspace}/documents/new?below="+bad), w.owner); got.Code != http.StatusNotFound {
			t.Errorf("below %s: %d", bad, got.Code)
		}
	}
}

// With 10,000 documents at each of two levels, a page has a part of each level and links to the
// others, and the tree never has more rows than maxTreeRows.
func TestDocumentTree_TenThousandDocuments(t *testing.T) {
	w := newTown(t)
	project := "projects/" + w.ids["projects"]
	var open []sheaf.DocumentID
	for i := range 8 {
		id := w.newDocument(fmt.Sprint("Open ", i), "")
		w.newDocuments(app.MaxLevel+1, "Below", id)
		open = append(open, id)
	}
	w.newDocuments(10_000, "Flat", "")
	w.newDocuments(1_000, "Deep", open[0])
	page := w.get(project)
	w.wantIn(page, true, ">Flat 00020<", `rel="next" href="?from=30"`, " of 10,009 documents")
	w.wantIn(page, false, ">Flat 00022<", ">Below 00000<")
	w.wantIn(w.get(project+"?from=30"), true, ">Flat 00030<")
	full := w.get(project, openedDocuments(open...))
	if n := strings.Count(full, `data-kind="document"`); n != maxTreeRows {
		t.Errorf("the tree has %d rows", n)
	}
	w.wantIn(full, true, "/documents/"+string(open[0])+`?from=30#below">1,001 more</a>`)
	w.wantIn(w.get("documents/"+string(open[0])+"?from=30"), true, ">Below 00030<", ">Deep 00000<", `rel="prev"`)
	if len(full) > 300<<10 {
		t.Errorf("the page has %d bytes", len(full))
	}
}

// The documents in no project are a tree too.
func TestDocumentTree_OfDocumentsInNoProject(t *testing.T) {
	w := newTown(t)
	above, err := w.a.CreateDocument(t.Context(), w.caller, sheaf.DocumentChange{Title: sheaf.Some("Above")})
	w.must(err)
	below, err := w.a.CreateDocument(t.Context(), w.caller, sheaf.DocumentChange{Title: sheaf.Some("Lower"), ParentID: sheaf.Some(above.ID)})
	w.must(err)
	page := w.get("documents")
	w.wantIn(page, true, row(above.ID), "3 documents")
	w.wantIn(page, false, row(below.ID))
	w.wantIn(w.get("documents", openedDocuments(above.ID)), true, row(below.ID))
	// Readers have no boxes, and their menus suggest.
	w.wantIn(w.ask(http.MethodGet, w.address("/w/{workspace}/documents"), w.member).Body.String(), false, `type="checkbox"`, "data-move=\"document\"")
	w.wantIn(w.ask(http.MethodGet, w.address("/w/{workspace}/documents"), w.member).Body.String(), true, "data-menu", "data-suggest")
}

// tree returns the documents of the town's project in reading order, each with its level, without
// the town's own document.
func (w *town) tree() string {
	w.Helper()
	all, err := w.a.DocumentTree(w.Context(), w.caller, sheaf.ProjectID(w.ids["projects"]))
	w.must(err)
	var out []string
	for _, e := range all {
		if string(e.ID) != w.ids["documents"] {
			out = append(out, fmt.Sprintf("%s%d", e.Title, e.Depth))
		}
	}
	return strings.Join(out, " ")
}

// item returns the name of a document in a form.
func item(id sheaf.DocumentID) string { return "document:" + string(id) }

// D164: documents are put before, after or below another one, several in their order, and put back by one
// button. A document below a selected one goes along with it.
func TestArrange_Documents(t *testing.T) {
	w := newTown(t)
	a, b, c := w.newDocument("A", ""), w.newDocument("B", ""), w.newDocument("C", "")
	x := w.newDocument("X", a)
	y := w.newDocument("Y", x)
	const before = "A1 X2 Y3 B1 C1"
	for _, one := range []struct {
		name  string
		items []sheaf.DocumentID
		field string
		at    sheaf.DocumentID
		says  string
		want  string
	}{
		{"before", []sheaf.DocumentID{c}, "before", a, "Moved C.", "C1 A1 X2 Y3 B1"},
		{"after", []sheaf.DocumentID{a}, "after", b, "Moved A.", "B1 A1 X2 Y3 C1"},
		{"into", []sheaf.DocumentID{b}, "in", x, "Moved B.", "A1 X2 Y3 B3 C1"},
		{"out", []sheaf.DocumentID{x}, "after", a, "Moved X.", "A1 X1 Y2 B1 C1"},
		{"several after", []sheaf.DocumentID{x, b}, "after", c, "Moved 2 documents.", "A1 C1 X1 Y2 B1"},
		{"several before", []sheaf.DocumentID{b, c}, "before", a, "Moved 2 documents.", "B1 C1 A1 X2 Y3"},
		{"several into", []sheaf.DocumentID{b, a}, "in", c, "Moved 2 documents.", "C1 B2 A2 X3 Y4"},
		{"with one below", []sheaf.DocumentID{a, y}, "in", b, "Moved A.", "B1 A2 X3 Y4 C1"},
	} {
		form := url.Values{one.field: {string(one.at)}}
		for _, id := range one.items {
			form.Add("item", item(id))
		}
		undo := w.done(orderPath, form, one.says)
		if got := w.tree(); got != one.want {
			t.Errorf("%s: %s, want %s", one.name, got, one.want)
		}
		w.done(undoPath, undo, "Undone.")
		if got := w.tree(); got != before {
			t.Fatalf("%s undone: %s", one.name, got)
		}
	}

	deep := w.newDocument("Deep", w.newDocument("Z", y))
	for says, form := range map[string]url.Values{
		"cannot be below itself":                   {"item": {item(a)}, "in": {string(a)}},
		"below a document that is below it":        {"item": {item(a)}, "in": {string(y)}},
		"nest at most 5 levels deep":               {"item": {item(b)}, "in": {string(deep)}},
		"place was moved or deleted meanwhile":     {"item": {item(a)}, "before": {w.ids["projects"]}},
		"Document not found":                       {"item": {item(a)}, "before": {"x"}},
		"names the document itself":                {"item": {item(a)}, "before": {string(a)}},
		"Only one at a time can change its":        {"item": {item(a), "project:" + w.ids["projects"]}},
		"was changed meanwhile, and nothing was d": {"item": {item(a) + ":999"}, "before": {string(c)}},
	} {
		was := w.tree()
		got := w.sendAs(w.owner, orderPath, form)
		if got.Code < 400 || got.Code >= 500 || !strings.Contains(got.Body.String(), says) || w.tree() != was {
			t.Errorf("%s: %d %s", says, got.Code, got.Body)
		}
	}
	for _, bad := range []string{"put:document:" + string(a) + ":x:1:1:", "put:document:" + string(a) + "::1:1:x", "put:document:" + string(a) + "::1::", "put:document:garbage::1:5:", "restore:document:garbage"} {
		if got := w.sendAs(w.owner, undoPath, url.Values{"undo": {bad}}); got.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", bad, got.Code)
		}
	}
	// A selection that has a document and one below it is shared one by one, and deleted and restored as
	// one.
	w.wantIn(w.get("selection/share?item="+item(x)+"&item="+item(a)), true, "Share 2 documents")
	undo := w.done(deletePath, url.Values{"item": {item(x), item(a)}}, "A deleted.")
	w.done(undoPath, undo, "Undone.")
}

// options returns the values of the choice in a page, in their order, the chosen one with a star.
func options(page string) string {
	var out []string
	for _, part := range strings.Split(page, "<option ")[1:] {
		attributes, rest, _ := strings.Cut(part, ">")
		label, _, _ := strings.Cut(rest, "<")
		if strings.Contains(attributes, " selected") {
			label += "*"
		}
		out = append(out, strings.TrimSpace(label))
	}
	return strings.Join(out, ", ")
}

// The form that moves documents offers the project that they are in, with its documents as a tree,
// and the other projects. A search finds documents and projects anywhere. What is moved, and what is
// below it, is never offered.
func TestMove_DocumentsToAPlace(t *testing.T) {
	w := newTown(t)
	other := w.newProject("Other")
	a, b := w.newDocument("Apple", ""), w.newDocument("Berry", "")
	x := w.newDocument("Xenon", a)
	y := w.newDocument("Yacht", x)
	form := func(query string, ids ...sheaf.DocumentID) string {
		q := url.Values{"q": {query}}
		for _, id := range ids {
			q.Add("item", item(id))
		}
		page := w.get("selection/move?" + q.Encode())
		_, page, _ = strings.Cut(page, `<select id="place"`)
		return page
	}
	const others = "Other, Search for others by name"
	for _, one := range []struct{ got, want string }{
		{form("", b), "No project, Project*, Document, Apple, Xenon, Yacht, " + others},
		{form("", x), "No project, Project, Document, Apple*, Berry, " + others},
		{form("", a, b), "No project, Project*, Document, " + others},
		{form("y", b), "No project, Project / Apple / Xenon / Yacht, Project*, Search for others by name"},
		{form("oth", y), "No project, Xenon*, " + others},
		{form("xen", a), "No project, Project*, Search for others by name"},
	} {
		if got := options(one.got); got != one.want {
			t.Errorf("the choice is %q, want %q", got, one.want)
		}
	}
	// The script's search keeps what was chosen.
	found := w.get("selection/places?" + url.Values{"item": {item(b)}, "q": {"yac"}, "now": {string(other)}}.Encode())
	if got := options(found); got != "No project, Project / Apple / Xenon / Yacht, Other*, Search for others by name" {
		t.Errorf("the search has %q", got)
	}

	undo := w.done(movePath, url.Values{"item": {item(b)}, "to": {"document:" + string(x)}}, "Moved Berry below Xenon.")
	if got := w.tree(); got != "Apple1 Xenon2 Yacht3 Berry3" {
		t.Errorf("below another one: %s", got)
	}
	w.done(undoPath, undo, "Undone.")
	w.done(movePath, url.Values{"item": {item(x)}, "to": {w.ids["projects"]}}, "Moved Xenon to Project.")
	if got := w.tree(); got != "Apple1 Berry1 Xenon1 Yacht2" {
		t.Errorf("to the top level: %s", got)
	}
	undo = w.done(movePath, url.Values{"item": {item(a), item(x)}, "to": {string(other)}}, "Moved 2 documents to Other.")
	if got := w.tree(); got != "Berry1" {
		t.Errorf("to another project: %s", got)
	}
	// From one project below a document of another.
	w.done(movePath, url.Values{"item": {item(b)}, "to": {"document:" + string(y)}}, "Moved Berry below Yacht.")
	w.wantIn(w.get("documents/"+string(b)), true, ">Other</a></li>", ">Yacht</a></li>")
	w.done(undoPath, undo, "Undone.")
	if got := w.tree(); got != "Apple1 Xenon1 Yacht2 Berry3" {
		t.Errorf("undone: %s", got)
	}
	for says, to := range map[string]string{"cannot be below itself": "document:" + string(a), "Document not found": "document:x"} {
		got := w.sendAs(w.owner, movePath, url.Values{"item": {item(a)}, "to": {to}})
		w.wantIn(got.Body.String(), true, says, "Move Apple")
		if got.Code < 400 {
			t.Errorf("to %s: %d", to, got.Code)
		}
	}
}

// With more documents than a choice lists, it has the first of the top level, and a search finds the
// others.
func TestMove_AmongManyDocuments(t *testing.T) {
	w := newTown(t)
	moved := w.newDocument("Moved", "")
	w.newDocuments(maxOptions+5, "Many", "")
	page := w.get("selection/move?item=" + item(moved))
	w.wantIn(page, true, "Many 00001<", "Search for others by name")
	w.wantIn(page, false, "Many 00104<")
	w.wantIn(w.get("selection/move?q=Many+00104&item="+item(moved)), true, "Project / Many 00104<")
}

// D163: a document that was deleted with everything below it is one line of the trash, which says how
// many went along. Restoring it restores them. A search finds each of them.
func TestTrash_ShowsADeletedTreeAsOneLine(t *testing.T) {
	w := newTown(t)
	a, b := w.newDocument("Apple", ""), w.newDocument("Berry", "")
	x := w.newDocument("Xenon", a)
	y := w.newDocument("Yacht", x)
	w.wantIn(w.get("documents/"+string(a)+"/delete"), true, "The document and everything below it move to the trash")
	w.wantIn(w.get("documents/"+string(b)+"/delete"), true, "The document moves to the trash")
	remove := func(id sheaf.DocumentID) {
		w.Helper()
		w.must(w.a.DeleteDocument(t.Context(), w.caller, id, sheaf.Match{}))
	}
	line := func(id sheaf.DocumentID) string { return `<li id="document-` + string(id) + `">` }
	remove(b)
	remove(a)
	page := w.get("trash")
	w.wantIn(page, true, line(a), line(b), "with 2 documents below it", "5 deleted documents") // and the town's own
	w.wantIn(page, false, line(x), line(y), "with 0 documents")
	w.wantIn(w.get("trash?q=xen"), true, line(x), "with 1 document below it")
	w.wantIn(w.get("trash/"+string(a)+"/delete"), true, "2 documents that went to the trash with it stay there")

	if got := w.sendAs(w.owner, "/w/{workspace}/documents/"+string(a)+"/restore", nil); got.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	if got := w.tree(); got != "Apple1 Xenon2 Yacht3" {
		t.Errorf("restored: %s", got)
	}
	// Deleted before the document above it, it has a line of its own.
	remove(y)
	remove(a)
	page = w.get("trash")
	w.wantIn(page, true, line(a), line(y), "with 1 document below it")
	w.wantIn(page, false, line(x))
	// If the document above is gone for good, what went along has its own line again.
	w.must(w.a.PurgeDocument(t.Context(), w.caller, a, false, sheaf.Match{}))
	w.wantIn(w.get("trash"), true, line(x))
}
