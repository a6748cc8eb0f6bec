package console

import (
	"fmt"
	"net/http"
	"testing"

	"sheaf.dev/internal/sheaf"
)

// What a list leaves out is said, and there is a way to it.
func TestLists_WhatIsCutIsSaidAndReached(t *testing.T) {
	w := newTown(t)
	w.more(sheaf.MaxLimit + 1)
	first := w.ask(http.MethodGet, w.address("/w/{workspace}/projects"), w.owner).Body.String()
	w.wantIn(first, true, `href="?from=100"`, "101 projects in all")
	next := w.ask(http.MethodGet, w.address("/w/{workspace}/projects")+"?from=100", w.owner).Body.String()
	w.wantIn(next, true, `>A 0100</strong>`)
	w.wantIn(next, false, `href="?from=`, `>A 0099</strong>`)
	for i := range fewHits + 1 {
		_, err := w.a.CreateDocument(t.Context(), w.caller, sheaf.DocumentChange{Title: sheaf.Some(fmt.Sprint("Lighthouse ", i)), ProjectID: sheaf.Some(sheaf.ProjectID(w.ids["projects"]))})
		w.must(err)
	}
	typed := func(r *http.Request) { r.Header.Set("HX-Request", "true") }
	few := w.ask(http.MethodGet, w.address("/w/{workspace}/search")+"?q=lighthouse", w.owner, typed).Body.String()
	w.wantIn(few, true, `href="`+w.address("/w/{workspace}/search")+`?q=lighthouse">Show all 9 hits<`, "document in Project<")
	whole := w.ask(http.MethodGet, w.address("/w/{workspace}/search")+"?q=lighthouse", w.owner).Body.String()
	w.wantIn(whole, true, "9 hits", "Lighthouse 8")
	w.wantIn(whole, false, "Show all")
	named := w.ask(http.MethodGet, w.address("/w/{workspace}/activity")+"?resource=lighthouse", w.owner).Body.String()
	w.wantIn(named, true, "These are the first of them")
}
