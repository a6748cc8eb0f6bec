package console

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
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
