package console

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
)

// A list says how many records it leaves out, and has links to the next and the previous page.
func TestLists_CutListsHaveLinksToTheRest(t *testing.T) {
	w := newTown(t)
	w.more(2*listPage + 1)
	first := w.get("projects")
	w.wantIn(first, true, `rel="next" href="?from=50"`, "1 to 50 of 101 projects")
	w.wantIn(first, false, `rel="prev"`, `id="card-`+w.ids["projects"])
	last := w.get("projects?from=100")
	w.wantIn(last, true, `>A 0100</strong>`, `rel="prev" href="?from=50"`, "<span class=\"muted\">101 of 101 projects</span>")
	w.wantIn(last, false, `rel="next"`, `>A 0099</strong>`)
	w.wantIn(w.get("projects?from=5000"), true, `rel="prev" href="?from=100"`, "<span class=\"muted\">101 projects</span>")
	for i := range pageHits + 1 {
		_, err := w.a.CreateDocument(t.Context(), w.caller, sheaf.DocumentChange{Title: sheaf.Some(fmt.Sprint("Lighthouse ", i)), ProjectID: sheaf.Some(sheaf.ProjectID(w.ids["projects"]))})
		w.must(err)
	}
	w.wantIn(w.get("search?q=lighthouse"), true, "26 results", "Show more (1 left)", "document in Project<")
	w.wantIn(w.get("activity?resource=lighthouse"), true, "These are the first matches")
}

// get returns a page of the workspace for its owner.
func (w *town) get(path string, change ...func(*http.Request)) string {
	w.Helper()
	got := w.ask(http.MethodGet, w.address("/w/{workspace}/")+path, w.owner, change...)
	if got.Code != http.StatusOK {
		w.Fatalf("%s: %d %s", path, got.Code, got.Body)
	}
	return got.Body.String()
}

// A list is filtered by a text and sorted as the reader chooses, on all its pages.
func TestLists_AreFilteredAndOrdered(t *testing.T) {
	w := newTown(t)
	w.more(listPage + 12)
	byName := w.get("projects?sort=newest")
	w.wantIn(byName, true, `<option value="newest" selected>`, `rel="next" href="?from=50&amp;sort=newest"`)
	if at := strings.Index(byName, ">A 0061<"); at < 0 || at > strings.Index(byName, ">A 0060<") {
		t.Error("the newest is not the first")
	}
	// At the root level a text also finds records in folders, and the page says if it finds none.
	found := w.get("projects?q=PROJ")
	w.wantIn(found, true, `id="card-`+w.ids["projects"], `value="PROJ"`, "<h2>Projects</h2>")
	w.wantIn(found, false, ">A 0001</strong>", "At the top level")
	w.wantIn(w.get("projects?q=nothing+like+it"), true, "No matches", "“<span dir=\"auto\">nothing like it</span>”")
	w.wantIn(w.get("projects?q="+strings.Repeat("%C3%A4", 300)), true, "No matches")
	inside := w.get("folders/" + w.ids["folders"] + "?q=A+0")
	w.wantIn(inside, true, "No matches")

	for _, title := range []string{"Zebra", "Aardvark"} {
		_, err := w.a.CreateDocument(t.Context(), w.caller, sheaf.DocumentChange{Title: sheaf.Some(title), ProjectID: sheaf.Some(sheaf.ProjectID(w.ids["projects"]))})
		w.must(err)
	}
	project := "projects/" + w.ids["projects"]
	for sort, aardvarkFirst := range map[string]bool{"?sort=name": true, "?sort=changed": true, "?sort=oldest": false, "": false} {
		if page := w.get(project + sort); strings.Index(page, ">Aardvark<") < strings.Index(page, ">Zebra<") != aardvarkFirst {
			t.Errorf("with %q the aardvark is in the wrong place", sort)
		}
	}
	w.wantIn(w.get(project+"?q=zeb"), true, ">Zebra<", `name="q" value="zeb"`)
	w.wantIn(w.get(project+"?q=zeb"), false, ">Aardvark<")
	w.wantIn(w.get("trash?q=gon&sort=name"), true, ">Gone<")
	w.wantIn(w.get("trash?q=zeb"), true, "No matches")
}
