package console

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
)

// What a list leaves out is said, and there is a way to it, and back.
func TestLists_WhatIsCutIsSaidAndReached(t *testing.T) {
	w := newTown(t)
	w.more(2*listPage + 1)
	first := w.look("projects")
	w.wantIn(first, true, `rel="next" href="?from=50"`, "1 to 50 of 101 projects")
	w.wantIn(first, false, `rel="prev"`, `id="card-`+w.ids["projects"])
	last := w.look("projects?from=100")
	w.wantIn(last, true, `>A 0100</strong>`, `rel="prev" href="?from=50"`, "<span class=\"muted\">101 of 101 projects</span>")
	w.wantIn(last, false, `rel="next"`, `>A 0099</strong>`)
	w.wantIn(w.look("projects?from=5000"), true, `rel="prev" href="?from=100"`, "<span class=\"muted\">101 projects</span>")
	for i := range pageHits + 1 {
		_, err := w.a.CreateDocument(t.Context(), w.caller, sheaf.DocumentChange{Title: sheaf.Some(fmt.Sprint("Lighthouse ", i)), ProjectID: sheaf.Some(sheaf.ProjectID(w.ids["projects"]))})
		w.must(err)
	}
	w.wantIn(w.look("search?q=lighthouse"), true, "26 hits", "Show more: 1 is left", "document in Project<")
	w.wantIn(w.look("activity?resource=lighthouse"), true, "These are the first of them")
}

// look is a page of the workspace as its owner sees it.
func (w *town) look(path string, change ...func(*http.Request)) string {
	w.Helper()
	got := w.ask(http.MethodGet, w.address("/w/{workspace}/")+path, w.owner, change...)
	if got.Code != http.StatusOK {
		w.Fatalf("%s: %d %s", path, got.Code, got.Body)
	}
	return got.Body.String()
}

// A list is narrowed by a text and ordered as the reader chooses; its pages stay so.
func TestLists_AreFilteredAndOrdered(t *testing.T) {
	w := newTown(t)
	w.more(listPage + 12)
	byName := w.look("projects?sort=newest")
	w.wantIn(byName, true, `<option value="newest" selected>`, `rel="next" href="?from=50&amp;sort=newest"`)
	if at := strings.Index(byName, ">A 0061<"); at < 0 || at > strings.Index(byName, ">A 0060<") {
		t.Error("the newest is not the first")
	}
	// At the top a text finds what is in folders too, and says so of what is not found.
	found := w.look("projects?q=PROJ")
	w.wantIn(found, true, `id="card-`+w.ids["projects"], `value="PROJ"`, "<h2>Projects</h2>")
	w.wantIn(found, false, ">A 0001</strong>", "At the top level")
	w.wantIn(w.look("projects?q=nothing+like+it"), true, "Nothing is called so", "“<span dir=\"auto\">nothing like it</span>”")
	w.wantIn(w.look("projects?q="+strings.Repeat("%C3%A4", 300)), true, "Nothing is called so")
	inside := w.look("folders/" + w.ids["folders"] + "?q=A+0")
	w.wantIn(inside, true, "Nothing is called so")

	for _, title := range []string{"Zebra", "Aardvark"} {
		_, err := w.a.CreateDocument(t.Context(), w.caller, sheaf.DocumentChange{Title: sheaf.Some(title), ProjectID: sheaf.Some(sheaf.ProjectID(w.ids["projects"]))})
		w.must(err)
	}
	project := "projects/" + w.ids["projects"]
	titled := w.look(project + "?sort=name")
	if strings.Index(titled, ">Aardvark<") > strings.Index(titled, ">Zebra<") || strings.Index(w.look(project), ">Aardvark<") > strings.Index(w.look(project), ">Zebra<") {
		t.Error("by title, and by the last change, the aardvark is first")
	}
	w.wantIn(w.look(project+"?q=zeb"), true, ">Zebra<", `name="q" value="zeb"`)
	w.wantIn(w.look(project+"?q=zeb"), false, ">Aardvark<")
	w.wantIn(w.look("trash?q=gon&sort=name"), true, ">Gone<")
	w.wantIn(w.look("trash?q=zeb"), true, "Nothing is called so")
}
