package console

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"sheaf.dev/internal/sheaf"
)

func (w *town) filter() *sheaf.Filter {
	w.Helper()
	s, err := w.a.Subscription(w.Context(), w.caller, sheaf.SubscriptionID(w.ids["webhooks"]))
	w.must(err)
	return s.Filter
}

// The records of a filter are shown by name, found by search, added and removed.
func TestFilter_IsSeenAndEdited(t *testing.T) {
	w := newTown(t)
	page := w.address("/w/{workspace}/webhooks/{id}/filter")
	get := func(who, query string) string {
		got := w.ask(http.MethodGet, page+query, who)
		if got.Code != http.StatusOK {
			t.Fatalf("%d %s", got.Code, got.Body)
		}
		return got.Body.String()
	}
	change := func(name, key string, want int) string {
		t.Helper()
		got := w.send(page, url.Values{name: {key}, "q": {"x y"}})
		if got.Code != want {
			t.Fatalf("%s %s: %d %s", name, key, got.Code, got.Body)
		}
		return got.Body.String()
	}
	w.wantIn(get(w.owner, ""), true, "This webhook gets all events", "Find a project, folder or document")
	w.wantIn(get(w.member, ""), false, "Find a project, folder or document")
	project := w.project()
	key := inProject + ":" + string(project.ID)
	w.wantIn(get(w.owner, "?q="+url.QueryEscape(project.Name)), true, key, "Add "+project.Name)
	change("add", key, http.StatusSeeOther)
	change("add", inFolder+":"+w.ids["folders"], http.StatusSeeOther)
	change("add", ofRecord+":"+w.ids["documents"], http.StatusSeeOther)
	if f := w.filter(); f == nil || len(f.Projects) != 1 || len(f.Folders) != 1 || len(f.Resources) != 1 {
		t.Fatalf("the filter is %+v", f)
	}
	w.wantIn(get(w.owner, ""), true, project.Name, "Remove "+project.Name)
	w.wantIn(get(w.owner, "?q="+url.QueryEscape(project.Name)), false, "Add "+project.Name+"\"")
	w.wantIn(get(w.member, ""), true, project.Name)
	w.wantIn(get(w.member, ""), false, "Remove "+project.Name)
	w.wantIn(w.ask(http.MethodGet, w.address("/w/{workspace}/webhooks/{id}"), w.owner).Body.String(), true, "Events of 1 project, 1 folder and 1 record alone.", "/filter")
	w.wantIn(change("add", inProject+":00000000-0000-7000-8000-000000000000", http.StatusNotFound), true, project.Name)
	change("add", "project:x", http.StatusBadRequest)
	for _, k := range []string{inFolder + ":" + w.ids["folders"], ofRecord + ":" + w.ids["documents"], key} {
		change("remove", k, http.StatusSeeOther)
	}
	if f := w.filter(); f != nil {
		t.Errorf("the filter is %+v", f)
	}
}

// If two people add at once, nothing is lost. A deleted record stays in the filter.
func TestFilter_OfTwoAtOnce(t *testing.T) {
	w := newTown(t)
	page := w.address("/w/{workspace}/webhooks/{id}/filter")
	keys := []string{inProject + ":" + string(w.project().ID), inFolder + ":" + w.ids["folders"]}
	var both sync.WaitGroup
	for _, k := range keys {
		both.Go(func() {
			if got := w.send(page, url.Values{"add": {k}}); got.Code != http.StatusSeeOther {
				t.Errorf("%d %s", got.Code, got.Body)
			}
		})
	}
	both.Wait()
	if f := w.filter(); f == nil || len(f.Projects) != 1 || len(f.Folders) != 1 {
		t.Fatalf("the filter is %+v", f)
	}
	w.must(w.a.DeleteProject(w.Context(), w.caller, w.project().ID, sheaf.Match{}))
	got := w.ask(http.MethodGet, page, w.owner).Body.String()
	if !strings.Contains(got, "or deleted") {
		t.Errorf("what is deleted is not named: %s", got)
	}
}
