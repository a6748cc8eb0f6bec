package console

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// Any two versions are compared, in whichever order they are given.
func TestVersions_AnyTwoAreCompared(t *testing.T) {
	w := newTown(t)
	id := w.newDocument("First", "")
	for _, text := range []string{"one\n", "one\ntwo\n", "one\nthree\n"} {
		_, err := w.a.UpdateDocument(t.Context(), w.caller, id, sheaf.DocumentChange{Content: sheaf.Some(text)}, sheaf.Match{})
		w.must(err)
	}
	_, err := w.a.UpdateDocument(t.Context(), w.caller, id, sheaf.DocumentChange{Title: sheaf.Some("Last")}, sheaf.Match{})
	w.must(err)
	path := "documents/" + string(id) + "/versions/compare"
	for _, query := range []string{"?a=2&b=4", "?a=4&b=2"} {
		w.wantIn(w.get(path+query), true, "Versions 2 and 4", "<ins>+ three")
		w.wantIn(w.get(path+query), false, "- two", "Title:")
	}
	w.wantIn(w.get(path+"?a=3&b=5"), true, "<del>- two", "<ins>+ three", "Title: <del><bdi>First</bdi></del><ins><bdi>Last</bdi></ins>")
	w.wantIn(w.get(path+"?a=4&b=4"), true, "The text is the same.")
	for _, query := range []string{"", "?a=0&b=2", "?a=1&b=6", "?a=x&b=2", "?a=-1&b=99999999999999999999"} {
		w.wantIn(w.get(path+query), true, "Choose two versions from 1 to 5.")
	}
}

// The list says which earlier version was restored, also after the next change. A text that somebody types again is a new one.
func TestVersions_ARestoredOneSaysSo(t *testing.T) {
	w := newTown(t)
	id := w.newDocument("Document", "")
	for n := range 2 {
		_, err := w.a.UpdateDocument(t.Context(), w.caller, id, sheaf.DocumentChange{Content: sheaf.Some(fmt.Sprint("text ", n))}, sheaf.Match{})
		w.must(err)
	}
	path := "documents/" + string(id) + "/versions"
	w.wantIn(w.get(path), false, "restored version")
	_, err := w.a.RestoreVersion(t.Context(), w.caller, id, 2, sheaf.Match{})
	w.must(err)
	w.wantIn(w.get(path), true, "restored version 2")
	w.wantIn(w.get(path+"/4"), true, "restored <a", ">version 2</a>")
	for _, text := range []string{"text 1", "text 0"} {
		_, err := w.a.UpdateDocument(t.Context(), w.caller, id, sheaf.DocumentChange{Content: sheaf.Some(text)}, sheaf.Match{})
		w.must(err)
	}
	if n := strings.Count(w.get(path), "restored version"); n != 1 {
		t.Errorf("%d versions say that they restored another, want 1", n)
	}
	w.wantIn(w.get(path+"/4"), true, "restored <a", ">version 2</a>")
	w.wantIn(w.get(path+"/3"), false, "restored")
	w.wantIn(w.get(path+"/6"), false, "restored")
	if got := w.ask(http.MethodGet, w.address("/w/{workspace}/")+path+"/7", w.owner).Code; got != http.StatusNotFound {
		t.Errorf("an unknown version: %d", got)
	}
}

// If the restored version is no longer kept, the page says so and has no link to it.
func TestVersions_ATrimmedOneIsNotLinked(t *testing.T) {
	w := newTown(t)
	id := w.newDocument("Document", "")
	for n := range 2 {
		_, err := w.a.UpdateDocument(t.Context(), w.caller, id, sheaf.DocumentChange{Content: sheaf.Some(fmt.Sprint("text ", n))}, sheaf.Match{})
		w.must(err)
	}
	_, err := w.a.RestoreVersion(t.Context(), w.caller, id, 2, sheaf.Match{})
	w.must(err)
	path := "documents/" + string(id) + "/versions/4"
	trim := func(upTo int64) {
		t.Helper()
		w.must(w.store.Write(t.Context(), func(tx *store.Tx) error {
			_, _, err := tx.DropVersions(w.caller.Workspace, id, upTo)
			return err
		}))
	}
	trim(1)
	w.wantIn(w.get(path), true, `/versions/2">version 2</a>`)
	trim(2)
	w.wantIn(w.get(path), true, "restored version 2, which is no longer kept")
	w.wantIn(w.get(path), false, `/versions/2"`)
}

// A restricted person sees no e-mails, so for them a member without a name has no e-mail either. The page must not call that member a former one.
func TestVersions_AMemberWithoutAName(t *testing.T) {
	d := divide(t)
	d.must(d.store.Write(t.Context(), func(tx *store.Tx) error {
		u, err := tx.LockUser(d.caller.User)
		if err != nil {
			return err
		}
		u.Name = ""
		return tx.UpdateUser(u)
	}))
	for _, route := range []string{"/w/{workspace}/documents/{documents}/versions", "/w/{workspace}/documents/{documents}/versions/1", "/w/{workspace}/members", "/w/{workspace}/activity"} {
		route = strings.ReplaceAll(route, "{documents}", d.inside["documents"])
		page := d.ask(http.MethodGet, d.with(d.inside, route), d.reader).Body.String()
		d.wantIn(page, true, "Unnamed member")
		d.wantIn(page, false, "former member", "has not signed in", "ada@example.com")
		d.wantIn(d.ask(http.MethodGet, d.with(d.inside, route), d.owner).Body.String(), true, "ada@example.com")
	}
}
