package console

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/fill"
)

// releasesPath is the address of the releases of the town's project.
const releasesPath = "/w/{workspace}/projects/{id}/releases"

// releasePath is the address of the town's release.
const releasePath = "/w/{workspace}/releases/{id}"

// opened returns a page for the owner, who may open it.
func (w *town) opened(path string) string {
	w.Helper()
	got := w.ask(http.MethodGet, w.address(path), w.owner)
	if got.Code != http.StatusOK {
		w.Fatalf("%s: %d %s", path, got.Code, got.Body)
	}
	return got.Body.String()
}

// freezeAs makes a release with the form. It is the town's release from then on.
func (w *town) freezeAs(name, notes string) {
	w.Helper()
	made := w.send(releasesPath, url.Values{"name": {name}, "notes": {notes}})
	at := made.Header().Get("Location")
	if made.Code != http.StatusSeeOther || !strings.HasPrefix(at, w.address("/w/{workspace}/releases/")) {
		w.Fatalf("creating %s: %d %s", name, made.Code, made.Body)
	}
	w.ids["releases"] = at[strings.LastIndex(at, "/")+1:]
}

// D183, D184: a release is made, read, annotated and deleted by forms, without a script. What it shows
// stays as it was.
func TestRelease_ByForms(t *testing.T) {
	w := newTown(t)
	w.wantIn(w.opened("/w/{workspace}/projects/{id}"), true, `/releases">Releases</a>`)
	w.rewrite("The <old> text.\n")
	w.freezeAs("2.0 <beta>", "What is\r\nnew")
	w.rewrite("The new text.\n")
	document := w.address(releasePath) + "/documents/" + w.ids["documents"]

	list := w.opened(releasesPath)
	w.wantIn(list, true, ">2.0 &lt;beta&gt;</strong>", ">1.0</strong>", "1 document · by <bdi>Ada</bdi>", "What is new", "Create release", "Changes since")
	if strings.Index(list, "2.0 &lt;beta&gt;") > strings.Index(list, ">1.0<") {
		t.Error("the newest release is not the first")
	}
	page := w.opened(releasePath)
	w.wantIn(page, true, `<h1 dir="auto">Release 2.0 &lt;beta&gt;</h1>`, "1 document, kept", "by <bdi>Ada</bdi>", "What is new", `<li class="level1">`, `href="`+document+`"`, "Edit notes")
	read := w.ask(http.MethodGet, document, w.owner).Body.String()
	w.wantIn(read, true, "The &lt;old&gt; text.", "release <bdi>2.0 &lt;beta&gt;</bdi>", "The document now", `href="`+document+`/compare"`)
	w.wantIn(read, false, "The new text.", "/edit\"")

	form := w.fieldsOf(releasePath+"/edit", url.Values{"notes": {"Better"}})
	if got := w.send(releasePath, form); got.Code != http.StatusSeeOther {
		t.Fatalf("the notes: %d %s", got.Code, got.Body)
	}
	w.wantIn(w.opened(releasePath), true, "Better")
	// The form is out of date now: the person chooses.
	form.Set("notes", "Other")
	refused := w.send(releasePath, form)
	w.wantIn(refused.Body.String(), true, "While you were editing, someone changed this.", ">Better<", ">Other<", `name="keep-notes" value="mine" checked`)
	again := hidden(refused.Body.String())
	again.Set("notes", "Other")
	again.Set("keep-notes", "saved")
	if got := w.send(releasePath, again); refused.Code != http.StatusPreconditionFailed || got.Code != http.StatusSeeOther {
		t.Errorf("the form that was out of date: %d, then %d", refused.Code, got.Code)
	}
	w.wantIn(w.opened(releasePath), true, "Better")
	emptied := w.fieldsOf(releasePath+"/edit", url.Values{"notes": {""}})
	if got := w.send(releasePath, emptied); got.Code != http.StatusSeeOther {
		t.Errorf("no notes: %d", got.Code)
	}
	w.wantIn(w.opened(releasePath), false, "Better")

	w.wantIn(w.opened(releasePath+"/delete"), true, "Delete release 2.0 &lt;beta&gt;?", "The documents of the project stay as they are.")
	if got := w.send(releasePath+"/delete", nil); got.Code != http.StatusSeeOther || got.Header().Get("Location") != w.address(releasesPath) {
		t.Errorf("deleting: %d %v", got.Code, got.Header())
	}
	w.wantIn(w.opened(releasesPath), false, "2.0 &lt;beta&gt;")
	if got := w.ask(http.MethodGet, document, w.owner); got.Code != http.StatusNotFound {
		t.Errorf("a document of a deleted release: %d", got.Code)
	}
	w.wantIn(w.activity(""), true, "<bdi>Ada</bdi> created the release “<bdi>2.0 &lt;beta&gt;</bdi>”", "deleted the release “<bdi>2.0 &lt;beta&gt;</bdi>”")
	w.wantIn(w.activity("type=release.deleted"), false, "created the release")
}

// A refused form comes back with what was typed. What is about the name is shown at its field.
func TestRelease_RefusedForms(t *testing.T) {
	w := newTown(t)
	long := strings.Repeat("x", sheaf.MaxReleaseName+1)
	for name, says := range map[string]string{"": "Name must not be empty", "1.0": "The project has a release of that name: choose another one.", long: "Name has 101 characters"} {
		got := w.send(releasesPath, url.Values{"name": {name}, "notes": {"typed"}})
		if status := got.Code; status != http.StatusBadRequest && (name != "1.0" || status != http.StatusConflict) {
			t.Errorf("the name %q: %d", name, status)
		}
		w.wantIn(got.Body.String(), true, `<p id="fault" class="field-fault" role="alert">`, says, `aria-invalid="true"`, "typed</textarea>", `value="`+name+`"`)
	}
	got := w.send(releasesPath, url.Values{"name": {"2.0"}, "notes": {strings.Repeat("x", sheaf.MaxReleaseNotes+1)}})
	w.wantIn(got.Body.String(), true, "Notes has 10001 characters", `aria-invalid="true"`)

	for i := range sheaf.MaxReleases - 1 {
		w.release("n"+strconv.Itoa(i), sheaf.ProjectID(w.ids["projects"]))
	}
	w.wantIn(w.opened(releasesPath), true, "The project has 100 releases, the most that it may have.")
	full := w.send(releasesPath, url.Values{"name": {"one more"}})
	if full.Code != http.StatusForbidden {
		t.Errorf("the limit: %d", full.Code)
	}
	w.wantIn(full.Body.String(), true, `<p class="notice bad" role="alert">`, "A project may have 100 releases: delete one that is not needed any more.", `value="one more"`)
}

// A project with more documents than a release may have is refused, in words without an id, and not
// compared either.
func TestRelease_OfTooManyDocuments(t *testing.T) {
	w := newTown(t)
	w.must(fill.Documents(w.store, w.caller.Workspace, sheaf.ProjectID(w.ids["projects"]), sheaf.MaxTree))
	got := w.send(releasesPath, url.Values{"name": {"2.0"}})
	if got.Code != http.StatusBadRequest {
		t.Errorf("%d", got.Code)
	}
	w.wantIn(got.Body.String(), true, "This project has 10001 documents, and a release may have 10000: divide it into several projects.")
	w.wantIn(w.opened(releasesPath+"/compare"), true, "This project has 10001 documents")
}

// D184: a comparison names what was added, removed, changed and moved, between two releases in any order,
// and with the documents as they are now.
func TestRelease_Compare(t *testing.T) {
	w := newTown(t)
	kept, gone, moved := w.newDocument("Kept <b>", ""), w.newDocument("Leaves", ""), w.newDocument("Moves", "")
	w.freezeAs("2.0", "")
	two := w.ids["releases"]
	w.must(w.a.DeleteDocument(t.Context(), w.caller, gone, sheaf.Match{}))
	w.must(w.move(moved, sheaf.DocumentMove{ParentID: sheaf.Some(kept)}))
	w.rewrite("Words.\n")
	added := w.newDocument("Comes", "")
	compare := func(query string) string { return w.opened(releasesPath + "/compare" + query) }
	at := func(release string, id sheaf.DocumentID) string {
		return `href="` + w.address("/w/{workspace}/releases/") + release + "/documents/" + string(id)
	}
	changed := sheaf.DocumentID(w.ids["documents"])
	now := compare("?a=" + two)
	w.wantIn(now, true, `Added <span class="badge good">1</span>`, `Removed <span class="badge bad">1</span>`, `Changed <span class="badge warn">1</span>`, `Moved <span class="badge">1</span>`,
		`href="`+w.address("/w/{workspace}/documents/")+string(added)+`"`, at(two, gone)+`"`, at(two, changed)+`/compare?to=present"`, `href="`+w.address("/w/{workspace}/documents/")+string(moved)+`"`)
	w.wantIn(now, false, "Kept &lt;b&gt;")
	w.freezeAs("3.0", "")
	three := w.ids["releases"]
	for _, query := range []string{"?a=" + two + "&b=" + three, "?a=" + three + "&b=" + two} {
		w.wantIn(compare(query), true, at(three, added)+`"`, at(two, gone)+`"`, at(two, changed)+"/compare?to="+three+`"`, at(three, moved)+`"`, `value="`+two+`" selected>2.0`, `value="`+three+`" selected>3.0`)
	}
	for _, query := range []string{"", "?a=" + three, "?a=present&b=" + three, "?a=" + three + "&b=" + three} {
		w.wantIn(compare(query), true, "Nothing differs.", `value="`+three+`" selected>3.0`)
	}
	// A release of another project is not found, and so is what is no release.
	other := w.release("Other", w.newProject("Elsewhere"))
	for _, query := range []string{"?a=" + string(other.ID), "?a=x", "?a=" + two + "&b=" + string(other.ID)} {
		if got := w.ask(http.MethodGet, w.address(releasesPath+"/compare")+query, w.owner); got.Code != http.StatusNotFound {
			t.Errorf("%s: %d", query, got.Code)
		}
	}

	// The differences of one document.
	differ := func(release, query string) string {
		return w.get("releases/" + release + "/documents/" + string(changed) + "/compare" + query)
	}
	w.wantIn(differ(two, ""), true, "<ins>+ Words.", "Only in release <bdi>2.0</bdi>", "only in the document as it is now")
	w.wantIn(differ(two, "?to="+three), true, "<ins>+ Words.", "only in release <bdi>3.0</bdi>")
	w.wantIn(differ(three, "?to=present"), true, "Title, description and text are the same.")
	_, err := w.a.UpdateDocument(t.Context(), w.caller, changed, sheaf.DocumentChange{Title: sheaf.Some("Renamed"), Description: sheaf.Some("Said")}, sheaf.Match{})
	w.must(err)
	w.wantIn(differ(three, ""), true, "Title: <del><bdi>Document</bdi></del><ins><bdi>Renamed</bdi></ins>", "Description: <ins><bdi>Said</bdi></ins>", "The text is the same.")
	w.rewrite(strings.Repeat("line\n", 50_001))
	w.wantIn(differ(three, ""), true, "too long to be compared here")
	for _, query := range []string{"?to=x", "?to=" + string(other.ID)} {
		if got := w.ask(http.MethodGet, w.address(releasePath+"/documents/{document}/compare")+query, w.owner); got.Code != http.StatusNotFound {
			t.Errorf("%s: %d", query, got.Code)
		}
	}
}

// Without releases, the pages say so, and how to make one if the person may.
func TestRelease_NoneYet(t *testing.T) {
	w := newTown(t)
	w.ids["projects"] = string(w.newProject("Fresh"))
	w.wantIn(w.opened(releasesPath), true, "No releases yet", "Create release")
	w.wantIn(w.opened(releasesPath+"/new"), true, "The project has no documents yet, so the release will have none.")
	w.wantIn(w.opened(releasesPath+"/compare"), true, "The project has no releases yet.")
	w.wantIn(w.ask(http.MethodGet, w.address(releasesPath), w.member).Body.String(), true, "An editor, admin or owner can create a release.")
	w.freezeAs("empty", "")
	w.wantIn(w.opened(releasePath), true, "No documents", "0 documents, kept")
}

// A member reads releases. The pages offer nothing that the member may not do.
func TestRelease_WhoMay(t *testing.T) {
	w := newTown(t)
	for _, path := range []string{releasesPath, releasePath} {
		page := w.ask(http.MethodGet, w.address(path), w.member).Body.String()
		w.wantIn(page, true, "1.0")
		w.wantIn(page, false, "Create release", "Edit notes", ">Delete<", "/releases/new")
	}
}

// Links and pictures of a text lead into the release. The picture stays when its file is deleted. A
// document is shown with those above it and beside it.
func TestRelease_TextsLeadIntoTheRelease(t *testing.T) {
	w := newTown(t)
	guide := w.newDocument("Guide", "")
	page := w.newDocument("Page", guide)
	loose, err := w.a.CreateDocument(t.Context(), w.caller, sheaf.DocumentChange{Title: sheaf.Some("Loose")})
	w.must(err)
	_, err = w.a.UpdateDocument(t.Context(), w.caller, page, sheaf.DocumentChange{Content: sheaf.Some("# Page\n\n![](media:" + w.ids["media"] + ") [up](document:" + string(guide) + ") [out](document:" + string(loose.ID) + ")\n")}, sheaf.Match{})
	w.must(err)
	w.freezeAs("2.0", "")
	w.must(w.a.DeleteMedium(t.Context(), w.caller, sheaf.MediumID(w.ids["media"]), sheaf.Match{}))
	w.must(w.a.DeleteDocument(t.Context(), w.caller, page, sheaf.Match{}))
	release := w.address(releasePath)
	picture := release + "/media/" + w.ids["media"] + "/content"
	body := w.get("releases/" + w.ids["releases"] + "/documents/" + string(page))
	w.wantIn(body, true, `src="`+picture+`"`, `href="`+release+"/documents/"+string(guide)+`"`, `href="`+w.address("/w/{workspace}/documents/")+string(loose.ID)+`"`,
		`<li><a dir="auto" href="`+release+"/documents/"+string(guide)+`">Guide</a></li>`, "Previous: <bdi>Guide</bdi>")
	w.wantIn(body, false, "The document now", `rel="next"`)
	if strings.Count(body, ">Page</h1>") != 1 || strings.Contains(body, ">Page</h2>") {
		t.Error("the title is not shown once")
	}
	got := w.ask(http.MethodGet, picture, w.owner)
	if got.Code != http.StatusOK || got.Body.String() != pixel || got.Header().Get("Content-Type") != "image/gif" || !strings.Contains(got.Header().Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("the picture: %d %v", got.Code, got.Header())
	}
	w.wantIn(w.opened(releasePath), true, `<li class="level2"><a class="grow plainlink" href="`+release+"/documents/"+string(page)+`"`)
	// The release that was made before has neither.
	older := w.address("/w/{workspace}/releases/") + string(w.first().ID)
	for _, path := range []string{older + "/documents/" + string(page), older + "/media/" + w.ids["media"] + "/content", release + "/documents/x", release + "/media/x/content"} {
		if got := w.ask(http.MethodGet, path, w.owner); got.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.Code)
		}
	}
}

// first returns the oldest release of the town's project.
func (w *town) first() sheaf.Release {
	w.Helper()
	page, err := w.a.Releases(w.Context(), w.caller, sheaf.ProjectID(w.ids["projects"]), sheaf.ReleaseFilter{Paging: sheaf.Paging{Limit: 1}})
	w.must(err)
	return page.Items[0]
}

// A release with many documents is shown page by page, in reading order.
func TestRelease_PagesOfDocuments(t *testing.T) {
	w := newTown(t)
	w.newDocuments(releaseRows, "Chapter", "")
	w.freezeAs("2.0", "")
	first := w.opened(releasePath)
	w.wantIn(first, true, ">Document</strong>", ">Chapter 00198</strong>", "1 to 200 of 201 documents", `rel="next" href="?from=200"`)
	w.wantIn(first, false, ">Chapter 00199</strong>")
	w.wantIn(w.get("releases/"+w.ids["releases"]+"?from=200"), true, ">Chapter 00199</strong>", `rel="prev"`)
	w.wantIn(w.get("releases/"+w.ids["releases"]+"?from=9000"), true, `rel="prev"`)
}

// D185: the page that deletes a release says what happens to the links that show it. One that a link
// names is not deleted.
func TestRelease_DeletionAndShares(t *testing.T) {
	w := newTown(t)
	one := w.ids["releases"]
	w.freezeAs("2.0", "")
	share := func(form url.Values) {
		t.Helper()
		if got := w.send("/w/{workspace}/projects/{id}/share", form); got.Code != http.StatusSeeOther {
			t.Fatalf("%d %s", got.Code, got.Body)
		}
	}
	w.wantIn(w.opened(releasePath+"/delete"), false, "A link", "Readers of")
	share(url.Values{"release": {"newest"}})
	share(url.Values{"release": {""}, "show_releases": {"yes"}})
	w.wantIn(w.opened(releasePath+"/delete"), true, "A link shows the newest release, which is this one. It will show release <bdi>1.0</bdi>.", "Readers of a link can switch between releases.")
	w.wantIn(w.get("releases/"+one+"/delete"), false, "the newest release")
	share(url.Values{"release": {w.ids["releases"]}})
	page := w.opened(releasePath + "/delete")
	w.wantIn(page, true, "A link shows this release. Let it show something else first, or delete it.", "Links of the project")
	w.wantIn(page, false, "Delete release</button>")
	got := w.send(releasePath+"/delete", nil)
	if got.Code != http.StatusConflict {
		t.Errorf("a release that a link names: %d", got.Code)
	}
	w.wantIn(got.Body.String(), true, "A share shows this release")
	if got := w.send("/w/{workspace}/releases/"+one+"/delete", nil); got.Code != http.StatusSeeOther {
		t.Errorf("another release: %d", got.Code)
	}
}

// D185: the form of a project's link says which state readers see, and the list of links says so too.
func TestShare_ShowsAReleaseByForms(t *testing.T) {
	w := newTown(t)
	const path = "/w/{workspace}/projects/{id}/share"
	release := w.ids["releases"]
	page := w.opened(path)
	w.wantIn(page, true, "the documents as they are now</option>", "the newest release (now 1.0)</option>", `value="`+release+`">release 1.0</option>`, "Let readers switch between releases")
	w.wantIn(w.opened("/w/{workspace}/documents/{id}/share"), false, `name="release"`)
	w.wantIn(w.opened("/w/{workspace}/folders/{id}/share"), false, `name="release"`)
	stored := func() sheaf.Share { all := w.shares(); return all[len(all)-1] }
	if got := w.send(path, url.Values{"release": {release}, "show_releases": {"yes"}}); got.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	s := stored()
	w.ids["shares"] = string(s.ID)
	if text(s.Release) != release || !s.ShowReleases {
		t.Fatalf("made %+v", s)
	}
	w.wantIn(w.opened(path), true, "shows release <bdi>1.0</bdi>", "· readers can switch between releases", `value="`+release+`" selected>release 1.0`, `name="show_releases" value="yes" checked`)

	stale := w.fieldsOf(path, url.Values{"expires": {"keep"}, "release": {""}, "show_releases": {"yes"}})
	form := w.fieldsOf(path, url.Values{"expires": {"keep"}, "release": {"newest"}})
	if got := w.send("/w/{workspace}/shares/{id}", form); got.Code != http.StatusSeeOther || text(stored().Release) != "newest" || stored().ShowReleases {
		t.Errorf("changed: %d %+v", got.Code, stored())
	}
	w.wantIn(w.opened(path), true, "shows the newest release, <bdi>1.0</bdi>")
	w.wantIn(w.opened(path), false, "· readers can switch between releases")
	// Another person has changed both meanwhile.
	refused := w.send("/w/{workspace}/shares/{id}", stale)
	w.wantIn(refused.Body.String(), true, "Readers see: choose a version", ">the newest release<", ">the documents as they are now<", "Other releases: choose a version", ">readers cannot switch<")
	if refused.Code != http.StatusPreconditionFailed || text(stored().Release) != "newest" {
		t.Errorf("an outdated form: %d %+v", refused.Code, stored())
	}
	// A form without these fields, as a program may send it, does not publish the documents as they are now.
	without := w.fieldsOf(path, url.Values{"expires": {"keep"}, "listed": {"yes"}})
	if got := w.send("/w/{workspace}/shares/{id}", without); got.Code != http.StatusSeeOther || text(stored().Release) != "newest" || !stored().Listed {
		t.Errorf("without the fields: %d %+v", got.Code, stored())
	}
	present := w.fieldsOf(path, url.Values{"expires": {"keep"}, "release": {""}})
	if got := w.send("/w/{workspace}/shares/{id}", present); got.Code != http.StatusSeeOther || stored().Release != nil {
		t.Errorf("the documents as they are now: %d %+v", got.Code, stored())
	}
	w.wantIn(w.opened(path), true, "· shows the documents as they are now")
	for _, wrong := range []string{"x", nowhereID} {
		if got := w.send(path, url.Values{"release": {wrong}}); got.Code != http.StatusBadRequest && got.Code != http.StatusNotFound {
			t.Errorf("the release %q: %d", wrong, got.Code)
		}
	}
	w.ids["projects"] = string(w.newProject("Fresh"))
	w.wantIn(w.opened(path), true, "the newest release (there is none yet)")
	w.send(path, url.Values{"release": {"newest"}})
	w.wantIn(w.opened(path), true, "shows the newest release, and there is none yet")
}

// D184: a document that is in releases is deleted for good only if the person says that these lose it
// too.
func TestTrash_OfADocumentInReleases(t *testing.T) {
	w := newTown(t)
	w.freezeAs("2.0 <beta>", "")
	document := w.ids["documents"]
	w.must(w.a.DeleteDocument(t.Context(), w.caller, sheaf.DocumentID(document), sheaf.Match{}))
	w.ids["trash"] = document
	const path = "/w/{workspace}/trash/{id}/delete"
	w.wantIn(w.opened(path), true, "It is in 2 releases:", "<bdi>1.0</bdi>", "<bdi>2.0 &lt;beta&gt;</bdi>", `name="releases" value="true" required`, "Also take it out of these releases")
	refused := w.send(path, nil)
	if refused.Code != http.StatusConflict {
		t.Errorf("without the tick: %d", refused.Code)
	}
	w.wantIn(refused.Body.String(), true, `role="alert"`, "The document is in the releases", `name="releases" value="true" required`)
	if got := w.send(path, url.Values{"releases": {"true"}}); got.Code != http.StatusSeeOther {
		t.Errorf("with the tick: %d %s", got.Code, got.Body)
	}
	w.wantIn(w.opened(releasePath), true, "0 documents, kept")
	w.wantIn(w.opened(releasePath), false, document)
	// One that is in no release has no tick.
	other := w.newDocument("Other", "")
	w.must(w.a.DeleteDocument(t.Context(), w.caller, other, sheaf.Match{}))
	w.ids["trash"] = string(other)
	w.wantIn(w.opened(path), false, `name="releases"`)
	if got := w.send(path, nil); got.Code != http.StatusSeeOther {
		t.Errorf("in no release: %d", got.Code)
	}
}

// The page that deletes a project says that its releases go with it.
func TestProject_DeletionNamesItsReleases(t *testing.T) {
	w := newTown(t)
	w.wantIn(w.opened("/w/{workspace}/projects/{id}/delete"), true, "1 release of the project is deleted with it.")
	w.freezeAs("2.0", "")
	w.wantIn(w.opened("/w/{workspace}/projects/{id}/delete"), true, "2 releases of the project are deleted with it.")
	w.ids["projects"] = string(w.newProject("Fresh"))
	w.wantIn(w.opened("/w/{workspace}/projects/{id}/delete"), false, "release")
}

// A restricted person is not told which releases of other projects have a document, and cannot take it out of them.
func TestTrash_NamesOnlyReleasesThatThePersonSees(t *testing.T) {
	d := divide(t)
	ctx := t.Context()
	id := sheaf.DocumentID(d.outside["documents"])
	_, err := d.a.UpdateDocument(ctx, d.caller, id, sheaf.DocumentChange{Title: sheaf.Some("Moved in"), Description: sheaf.Nil[string](), ProjectID: sheaf.Some(sheaf.ProjectID(d.inside["projects"]))}, sheaf.Match{})
	d.must(err)
	d.must(d.a.DeleteDocument(ctx, d.caller, id, sheaf.Match{}))
	got := d.request(http.MethodGet, "/w/"+string(d.caller.Workspace)+"/trash/"+string(id)+"/delete", d.editor, nil)
	if got.Code != http.StatusOK {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	d.wantIn(got.Body.String(), true, "Moved in", "It is in releases of projects that you do not see. Ask somebody who sees them to delete it.")
	d.wantIn(got.Body.String(), false, "Delete permanently")
	refused := d.send(d.editor, "trash/"+string(id)+"/delete", url.Values{"releases": {"true"}})
	if refused.Code != http.StatusForbidden {
		t.Errorf("%d %s", refused.Code, refused.Body)
	}
	d.wantIn(refused.Body.String(), true, "The document is in releases of projects that you do not see.")
	for _, body := range []string{got.Body.String(), refused.Body.String()} {
		d.wantIn(body, false, canary, d.outside["releases"])
	}
}

// The form of a key says what each scope allows.
func TestKeyForm_ExplainsEveryScope(t *testing.T) {
	for _, scope := range sheaf.AllScopes {
		if allows[scope] == "" {
			t.Errorf("the form does not say what %s allows", scope)
		}
	}
	w := newTown(t)
	w.wantIn(w.get("keys/new"), true, "<code>releases:write</code><small>make releases, change their notes and delete them</small>")
}
