package console

import (
	"net/url"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sheaf.dev/internal/sheaf"
)

var offered = regexp.MustCompile(`<li dir="auto" data-id="[0-9a-f-]{36}" data-path="([^"]*)">([^<]*)</li>`)

// offers returns the documents that the editor offers for a link, with their paths.
func (w *town) offers(query url.Values) (out []string) {
	w.Helper()
	for _, m := range offered.FindAllStringSubmatch(w.get("documents/links?"+query.Encode()), -1) {
		out = append(out, m[1]+" > "+m[2])
	}
	return out
}

func TestLinks_AreOfferedByTitleTheNewestFirst(t *testing.T) {
	w := newTown(t)
	project := w.newProject("Handbook")
	add := func(title, description string, parent sheaf.DocumentID) sheaf.DocumentID {
		t.Helper()
		change := sheaf.DocumentChange{Title: sheaf.Some(title), Description: sheaf.Some(description), ProjectID: sheaf.Some(project)}
		if parent != "" {
			change.ParentID = sheaf.Some(parent)
		}
		d, err := w.a.CreateDocument(t.Context(), w.caller, change)
		w.must(err)
		return d.ID
	}
	top := add("Operate <it>", "", "")
	add("Back up", "", top)
	add("Restore", "a backup, and back", "")
	add("Backlog", "", "")
	if diff := cmp.Diff([]string{"Handbook > Backlog", "Handbook / Operate &lt;it&gt; > Back up", "Handbook > Restore"}, w.offers(url.Values{"q": {" back "}})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got := w.offers(url.Values{"q": {"operate"}, "in": {string(top)}}); got != nil {
		t.Errorf("a document is offered to itself: %v", got)
	}
	for range mostLinked {
		add("Many", "", "")
	}
	if got := w.offers(url.Values{"q": {""}}); len(got) != mostLinked {
		t.Errorf("got %d", len(got))
	}
}

func TestLinks_AreMadeOfAddresses(t *testing.T) {
	w := newTown(t)
	id := w.newDocument("Target", "")
	share, err := w.a.CreateShare(t.Context(), w.caller, sheaf.ShareChange{ResourceType: sheaf.Some("document"), ResourceID: sheaf.Some(string(id))})
	w.must(err)
	console := "https://docs.example.com/w/" + string(w.caller.Workspace) + "/documents/" + string(id)
	for _, address := range []string{console, console + "/edit?x#y", share.URL} {
		if diff := cmp.Diff([]string{"Project > Target"}, w.offers(url.Values{"address": {address}})); diff != "" {
			t.Errorf("%s: -want +got\n%s", address, diff)
		}
	}
	other := sheaf.DocumentID("01a1e34f-2412-7645-bc9a-3b3feed34767")
	for _, address := range []string{"", ":", "https://docs.example.com/s/", "https://docs.example.com/s/unknown", "https://docs.example.com/w/" + string(other) + "/documents/" + string(id),
		"https://docs.example.com/w/" + string(w.caller.Workspace) + "/documents/" + string(other), "https://docs.example.com/w/" + string(w.caller.Workspace) + "/documents/new"} {
		if got := w.offers(url.Values{"address": {address}}); got != nil {
			t.Errorf("%q is %v", address, got)
		}
	}
	w.must(w.a.DeleteDocument(t.Context(), w.caller, id, sheaf.Match{}))
	if got := w.offers(url.Values{"address": {console}}); got != nil {
		t.Errorf("a deleted document is %v", got)
	}
}

// The list has exactly the documents whose pages link here: not those that only name the id, and not the
// document itself.
func TestLinked_ListsTheDocumentsThatLinkHere(t *testing.T) {
	w := newTown(t)
	id := w.newDocument("Target", "")
	link := "[x](document:" + string(id) + ")"
	texts := map[string]string{"Links <here>": "See " + link, "Links twice": link + " and [y](document:" + string(id) + "#part)", "By reference": "[x][1]\n\n[1]: document:" + string(id),
		"In code": "```\n" + link + "\n```", "Names it": string(id)}
	for title, text := range texts {
		d := w.newDocument(title, "")
		_, err := w.a.UpdateDocument(t.Context(), w.caller, d, sheaf.DocumentChange{Content: sheaf.Some(text)}, sheaf.Match{})
		w.must(err)
	}
	_, err := w.a.UpdateDocument(t.Context(), w.caller, id, sheaf.DocumentChange{Content: sheaf.Some(link)}, sheaf.Match{})
	w.must(err)
	gone := w.newDocument("Deleted", "")
	_, err = w.a.UpdateDocument(t.Context(), w.caller, gone, sheaf.DocumentChange{Content: sheaf.Some(link)}, sheaf.Match{})
	w.must(err)
	w.must(w.a.DeleteDocument(t.Context(), w.caller, gone, sheaf.Match{}))

	list := regexp.MustCompile(`plainlink" href="[^"]*"><strong dir="auto" title="([^"]*)"`)
	linked := func() (out []string) {
		for _, m := range list.FindAllStringSubmatch(w.get("documents/"+string(id)+"/linked"), -1) {
			out = append(out, m[1])
		}
		slices.Sort(out)
		return out
	}
	if diff := cmp.Diff([]string{"By reference", "Links &lt;here&gt;", "Links twice"}, linked()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for range mostExamined {
		d := w.newDocument("Another", "")
		_, err := w.a.UpdateDocument(t.Context(), w.caller, d, sheaf.DocumentChange{Content: sheaf.Some(link)}, sheaf.Match{})
		w.must(err)
	}
	w.wantIn(w.get("documents/"+string(id)+"/linked"), true, "/linked?from=25", "Show more")
	w.wantIn(w.get("documents/"+string(w.newDocument("Alone", ""))+"/linked"), true, "No document links to")
}
