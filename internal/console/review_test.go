package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// D177: an owner sets the review of a project with its form. Then its documents are suggested, and not
// written, by every role, and an editor who saves the project's form keeps the review.
func TestReview_InTheConsole(t *testing.T) {
	w := newTown(t)
	const project, document = "/w/{workspace}/projects/{id}", "/w/{workspace}/documents/{id}"
	editor := w.join("ed@example.com", "Ed", sheaf.Editor)
	open := w.fieldsOf(document+"/edit", url.Values{"title": {"Written"}, "content": {"later\n"}})
	page := func(token, path string) string {
		t.Helper()
		got := w.ask(http.MethodGet, w.address(path), token)
		if got.Code != http.StatusOK {
			t.Fatalf("%s: %d", path, got.Code)
		}
		return got.Body.String()
	}
	typed := url.Values{"name": {"Reviewed"}, "description": {""}, "icon": {""}, "color": {""}}
	w.wantIn(page(editor, project+"/edit"), false, "approvals")
	w.wantIn(page(w.owner, document), true, "documents/"+w.ids["documents"]+"/edit")

	form := w.fieldsOf(project+"/edit", typed)
	form.Set("approvals", "2")
	if got := w.sendAs(w.owner, project, form); got.Code != http.StatusSeeOther || w.project().Approvals != 2 {
		t.Fatalf("%d, and %d approvals", got.Code, w.project().Approvals)
	}
	w.wantIn(page(w.owner, project+"/edit"), true, `<option value="2" selected>`)
	w.wantIn(page(editor, project), true, "changes need review")
	w.wantIn(page(editor, project), false, "/documents/new?in=")
	for _, token := range []string{w.owner, editor} {
		w.wantIn(page(token, document), true, "/suggest")
		w.wantIn(page(token, document), false, "documents/"+w.ids["documents"]+"/edit", "documents/"+w.ids["documents"]+"/delete")
	}
	// Somebody had the editor open.
	got := w.sendAs(w.owner, document, open)
	if got.Code != http.StatusForbidden {
		t.Errorf("saved with %d", got.Code)
	}
	w.wantIn(got.Body.String(), true, "suggest the change as a proposal", "later")

	if got := w.sendAs(editor, project, w.fieldsOf(project+"/edit", typed)); got.Code != http.StatusSeeOther || w.project().Approvals != 2 {
		t.Errorf("an editor: %d, and %d approvals", got.Code, w.project().Approvals)
	}
	form = w.fieldsOf(project+"/edit", typed)
	form.Set("approvals", "0")
	if got := w.sendAs(w.owner, project, form); got.Code != http.StatusSeeOther || w.project().Approvals != 0 {
		t.Errorf("lifted: %d, and %d approvals", got.Code, w.project().Approvals)
	}
}

// review lets the town's project need one approval.
func (w *town) review() {
	w.Helper()
	_, err := w.a.UpdateProject(w.Context(), w.caller, sheaf.ProjectID(w.ids["projects"]), sheaf.ProjectChange{Approvals: sheaf.Some[int64](1)}, sheaf.Match{})
	w.must(err)
}

// opens returns a page of the workspace as the person sees it.
func (w *town) opens(token, path string) string {
	w.Helper()
	got := w.ask(http.MethodGet, w.address("/w/{workspace}/"+path), token)
	if got.Code != http.StatusOK {
		w.Fatalf("%s: %d %s", path, got.Code, got.Body)
	}
	return got.Body.String()
}

// suggested sends a form that makes a proposal, and returns it.
func (w *town) suggested(token, path string, form url.Values) app.ProposalDetail {
	w.Helper()
	got := w.sendAs(token, "/w/{workspace}/"+path, form)
	place := strings.TrimSuffix(got.Header().Get("Location"), "?saved")
	id, made := strings.CutPrefix(place, "/w/"+string(w.caller.Workspace)+"/proposals/")
	if got.Code != http.StatusSeeOther || !made {
		w.Fatalf("%s: %d %s %s", path, got.Code, place, got.Body)
	}
	p, err := w.a.Proposal(w.Context(), w.caller, sheaf.ProposalID(id))
	w.must(err)
	return p
}

// decide approves and accepts the proposal as another person than its author.
func (w *town) decide(p app.ProposalDetail, by app.Caller) {
	w.Helper()
	match := sheaf.Match{Asked: true, Revisions: []int64{p.Revision}}
	_, err := w.a.ApproveProposal(w.Context(), by, p.ID, match)
	w.must(err)
	_, err = w.a.AcceptProposal(w.Context(), by, p.ID, match)
	w.must(err)
}

// D177: in a project that needs review, the pages offer to suggest what would be refused: in the tree, the
// list, the trash, and for versions. Addresses that ask for a direct change lead to the suggestion.
func TestReview_PagesOfferSuggestions(t *testing.T) {
	w := newTown(t)
	editor := w.join("ed@example.com", "Ed", sheaf.Editor)
	project, document := "projects/"+w.ids["projects"], "documents/"+w.ids["documents"]
	w.rewrite("second\n")
	gone := string(w.newDocument("Gone too", ""))
	w.must(w.a.DeleteDocument(t.Context(), w.caller, sheaf.DocumentID(gone), sheaf.Match{}))
	loose, below := w.ids["trash"], w.newDocument("Under it", sheaf.DocumentID(w.ids["documents"]))

	// Without a review nothing is suggested in place of a direct change.
	w.wantIn(w.opens(editor, project), true, "documents/new?in=", `data-move="document"`, project+"/delete")
	w.wantIn(w.opens(editor, project), false, "documents/suggest", "data-suggest")
	w.wantIn(w.opens(editor, document+"/versions"), true, "/versions/1/restore")
	w.wantIn(w.opens(editor, "trash"), true, gone+"/restore", "trash/"+gone+"/delete")
	w.wantIn(w.opens(editor, "trash"), false, "/suggest", "accepted proposals")
	// A member, who may never write, suggests.
	w.wantIn(w.opens(w.member, project), true, "documents/suggest?in=", "data-suggest")
	w.wantIn(w.opens(w.member, "documents"), true, "documents/suggest")
	w.wantIn(w.opens(w.member, document+"/versions"), true, "/versions/1/suggest")
	w.wantIn(w.opens(w.member, "trash"), true, "trash/"+gone+"/suggest")

	w.review()
	for _, token := range []string{editor, w.owner} {
		w.wantIn(w.opens(token, project), true, "documents/suggest?in=", "data-suggest", "data-menu")
		w.wantIn(w.opens(token, project), false, "documents/new", `data-move="document"`, "tree-how")
		list := w.opens(token, project+"?sort=changed")
		w.wantIn(list, true, document+"/suggest", document+"/suggest-delete")
		w.wantIn(list, false, document+"/edit", document+"/delete\"")
		w.wantIn(w.opens(token, document), true, "documents/suggest?below="+w.ids["documents"])
		for _, page := range []string{"/versions", "/versions/1"} {
			w.wantIn(w.opens(token, document+page), true, "/versions/1/suggest", "Suggest restoring")
			w.wantIn(w.opens(token, document+page), false, "/versions/1/restore")
		}
		trash := w.opens(token, "trash")
		w.wantIn(trash, true, "trash/"+gone+"/suggest", loose+"/restore", "They are restored by accepted proposals.")
		w.wantIn(trash, false, gone+"/restore", "trash/"+loose+"/suggest")
		// The forms of direct changes suggest them. They may be in the history of the browser.
		w.wantIn(w.opens(token, document+"/delete"), true, "Suggest deleting Document", document+"/suggest-delete")
		w.wantIn(w.opens(token, document+"/versions/1/restore"), true, "Suggest restoring version 1", "/versions/1/suggest")
		w.wantIn(w.opens(token, "selection/move?item=document:"+w.ids["documents"]), true, "Suggest moving Document", document+"/suggest-move")
		for from, to := range map[string]string{document + "/edit": document + "/suggest", "documents/new?in=" + w.ids["projects"]: "documents/suggest?in=" + w.ids["projects"],
			"documents/new?below=" + w.ids["documents"]: "documents/suggest?below=" + w.ids["documents"]} {
			got := w.ask(http.MethodGet, w.address("/w/{workspace}/"+from), token)
			if at := got.Header().Get("Location"); got.Code != http.StatusSeeOther || at != w.address("/w/{workspace}/"+to) {
				t.Errorf("%s: %d to %s", from, got.Code, at)
			}
		}
	}
	// Only who may lift the review deletes a document for good, and the project.
	w.wantIn(w.opens(editor, "trash"), false, "trash/"+gone+"/delete")
	w.wantIn(w.opens(editor, "trash"), true, "Only an admin or owner can delete them permanently.")
	w.wantIn(w.opens(w.owner, "trash"), true, "trash/"+gone+"/delete")
	w.wantIn(w.opens(editor, project), false, project+"/delete")
	w.wantIn(w.opens(w.owner, project), true, project+"/delete")
	// A document below: the row that a script loads offers the same.
	under := string(below)
	w.wantIn(w.opens(w.owner, document+"/branch"), true, `data-url="`+w.address("/w/{workspace}/documents/"+under)+`"`, "data-suggest")
	w.wantIn(w.opens(w.owner, document+"/branch"), false, `data-move="document"`)
}

// D177, D182: a new document, a restored version and a document of the trash are suggested with the forms,
// and exist after the proposal was accepted.
func TestReview_SuggestionsDoWhatTheySay(t *testing.T) {
	w := newTown(t)
	editor := w.join("ed@example.com", "Ed", sheaf.Editor)
	reviewer := w.callerOf(editor)
	document := "documents/" + w.ids["documents"]
	w.rewrite("second\n")
	gone := w.newDocument("Gone too", "")
	w.must(w.a.DeleteDocument(t.Context(), w.caller, gone, sheaf.Match{}))
	w.review()
	ctx := t.Context()

	// A new document below another one. What was typed stays if it is refused.
	form := hidden(w.opens(w.member, "documents/suggest?below="+w.ids["documents"]))
	w.wantIn(w.opens(w.member, "documents/suggest?below="+w.ids["documents"]), true, "It goes below <bdi>Document</bdi>")
	w.wantIn(w.opens(w.member, "documents/suggest?in="+w.ids["projects"]), true, "It goes into <bdi>Project</bdi>")
	for name, value := range map[string]string{"about": "", "message": "It is missing.", "title": "Settings", "description": "All of them", "content": "# Settings\r\n"} {
		form.Set(name, value)
	}
	got := w.sendAs(w.member, "/w/{workspace}/documents/suggest", form)
	if got.Code != http.StatusBadRequest {
		t.Errorf("without a title: %d", got.Code)
	}
	w.wantIn(got.Body.String(), true, "What you propose: give it a title", "It is missing.", "# Settings", `name="parent" value="`+w.ids["documents"]+`"`)
	form.Set("about", "Explain the settings")
	p := w.suggested(w.member, "documents/suggest", form)
	w.wantIn(w.opens(w.owner, "proposals/"+string(p.ID)), true, "Explain the settings", "<ins>+ # Settings")
	w.decide(p, reviewer)
	above := sheaf.DocumentID(w.ids["documents"])
	below, err := w.a.DocumentLevel(ctx, w.caller, nil, &above, sheaf.Paging{Limit: 10})
	w.must(err)
	if len(below.Items) != 1 || below.Items[0].Title != "Settings" {
		t.Errorf("below it: %+v", below.Items)
	}

	// The form of a new document comes back as a suggestion if the chosen project needs review.
	form = url.Values{"title": {"Typed"}, "content": {"with care"}, "description": {""}, "project": {w.ids["projects"]}}
	got = w.sendAs(w.owner, "/w/{workspace}/documents", form)
	if got.Code != http.StatusForbidden {
		t.Errorf("a direct document: %d", got.Code)
	}
	w.wantIn(got.Body.String(), true, "suggest the change as a proposal", `action="`+w.address("/w/{workspace}/documents/suggest")+`"`, "with care", `value="Add “Typed”"`)

	// A version: the proposal has its title and text. If both are those of the present version, it says so.
	form = hidden(w.opens(w.member, document+"/versions/1/suggest"))
	form.Set("about", "Go back")
	p = w.suggested(w.member, document+"/versions/1/suggest", form)
	if c := p.Changes[0]; c.Op != sheaf.ProposeEdit || c.BaseVersion != 2 || !c.Document.Content.Set || c.Document.Title.Set {
		t.Errorf("it proposes %+v", c)
	}
	w.decide(p, reviewer)
	if now := w.text(); now.Content != "" || now.Version != 3 {
		t.Errorf("version %d has %q", now.Version, now.Content)
	}
	form.Set("base_version", "3")
	got = w.sendAs(w.member, "/w/{workspace}/"+document+"/versions/1/suggest", form)
	w.wantIn(got.Body.String(), true, "The document has the title and the text of version 1 already", "Go back")

	// A document of the trash.
	form = hidden(w.opens(w.member, "trash/"+string(gone)+"/suggest"))
	form.Set("about", "Bring it back")
	p = w.suggested(w.member, "trash/"+string(gone)+"/suggest", form)
	if _, err := w.a.Document(ctx, w.caller, gone); sheaf.KindOf(err) != sheaf.NotFound {
		t.Errorf("restored before the decision: %v", err)
	}
	w.decide(p, reviewer)
	_, err = w.a.Document(ctx, w.caller, gone)
	w.must(err)

	// Several documents are one proposal. If one was changed since the form was made, it is asked again.
	items := url.Values{"item": {"document:" + string(gone), "document:" + string(below.Items[0].ID)}}
	page := w.opens(w.owner, "selection/delete?"+items.Encode())
	w.wantIn(page, true, "Suggest deleting 2 documents", `action="`+w.address("/w/{workspace}/selection/suggest-delete")+`"`)
	form = url.Values{"item": items["item"], "about": {"Delete both"}}
	form["item"] = []string{"document:" + string(gone) + ":1", "document:" + string(below.Items[0].ID)}
	if got := w.sendAs(w.owner, "/w/{workspace}/selection/suggest-delete", form); got.Code != http.StatusPreconditionFailed {
		t.Errorf("of an earlier revision: %d", got.Code)
	}
	form["item"] = items["item"]
	if p = w.suggested(w.owner, "selection/suggest-delete", form); len(p.Changes) != 2 || p.Changes[1].Op != sheaf.ProposeDelete {
		t.Errorf("it proposes %+v", p.Changes)
	}
	w.wantIn(w.opens(w.owner, "selection/move?"+items.Encode()), true, "Suggest moving 2 documents", "Move them to")
	form.Set("to", "")
	if p = w.suggested(w.owner, "selection/suggest-move", form); len(p.Changes) != 2 || p.Changes[0].Op != sheaf.ProposeMove {
		t.Errorf("it proposes %+v", p.Changes)
	}
	// Somebody had the form of a direct move open.
	got = w.sendAs(w.owner, "/w/{workspace}/selection/move", form)
	if got.Code != http.StatusForbidden {
		t.Errorf("moved with %d", got.Code)
	}
	w.wantIn(got.Body.String(), true, "suggest the change as a proposal", "selection/suggest-move")
}

// D177: the page of a proposal says how many approvals it has and needs. Until they are there, and for
// those who may not accept it, Accept is disabled, with the reason beside it.
func TestReview_TheProposalSaysWhatItLacks(t *testing.T) {
	w := newTown(t)
	ctx := t.Context()
	ed, di := w.join("ed@example.com", "Ed", sheaf.Editor), w.join("di@example.com", "Di", sheaf.Editor)
	other, err := w.a.CreateProject(ctx, w.caller, sheaf.ProjectChange{Name: sheaf.Some("Strict")})
	w.must(err)
	id := w.newDocument("Reviewed", "")
	propose := func(c sheaf.ProposedChange) string {
		t.Helper()
		p, err := w.a.CreateProposal(ctx, w.callerOf(w.member), sheaf.ProposalChange{Title: sheaf.Some("Change"), Changes: sheaf.Some([]sheaf.ProposedChange{c})})
		w.must(err)
		return "proposals/" + string(p.ID)
	}
	edit := propose(sheaf.ProposedChange{Op: sheaf.ProposeEdit, DocumentID: id, BaseVersion: 1, Document: sheaf.DocumentChange{Content: sheaf.Some("new\n")}})
	move := propose(sheaf.ProposedChange{Op: sheaf.ProposeMove, DocumentID: id, Move: sheaf.DocumentMove{ProjectID: sheaf.Some(other.ID)}})
	create := propose(sheaf.ProposedChange{Op: sheaf.ProposeCreate, Document: sheaf.DocumentChange{Title: sheaf.Some("Below"), ProjectID: sheaf.Some(sheaf.ProjectID(w.ids["projects"])), ParentID: sheaf.Some(id)}})
	const why, disabled = "It can be accepted after ", `form="accept-form" disabled`

	// Without a review nothing is missing.
	w.wantIn(w.opens(w.owner, edit), true, "It needs no approval", `form="accept-form" class="primary"`)
	w.wantIn(w.opens(w.owner, edit), false, disabled, why)
	w.wantIn(w.opens(w.member, edit), true, `<button type="button" disabled aria-describedby="accept-why">Accept</button>`, "An editor, admin or owner decides.")

	w.review()
	_, err = w.a.UpdateProject(ctx, w.caller, other.ID, sheaf.ProjectChange{Approvals: sheaf.Some[int64](2)}, sheaf.Match{})
	w.must(err)
	// A move needs what the stricter of the two projects asks for.
	for path, says := range map[string]string{edit: "0 of 1 approval<", create: "0 of 1 approval<", move: "0 of 2 approvals<"} {
		w.wantIn(w.opens(w.owner, path), true, says, disabled, why)
	}
	approve := func(token string) {
		t.Helper()
		if got := w.sendAs(token, "/w/{workspace}/"+move+"/approve", url.Values{"revision": {"1"}}); got.Code != http.StatusSeeOther {
			t.Fatalf("%d %s", got.Code, got.Body)
		}
	}
	approve(ed)
	w.wantIn(w.opens(w.owner, move), true, "1 of 2 approvals<", why+"1 more approval.", disabled)
	approve(di)
	w.wantIn(w.opens(w.owner, move), true, "2 of 2 approvals<", `form="accept-form" class="primary"`)
	w.wantIn(w.opens(w.owner, move), false, disabled, why)
	w.wantIn(w.opens(w.member, move), true, "2 of 2 approvals<", "An editor, admin or owner decides.")

	// The approval of a person who may no longer approve does not count, and the page says which.
	w.must(w.a.SetRole(ctx, w.caller, w.callerOf(di).User, sheaf.Member, sheaf.Opt[sheaf.Role]{}))
	w.wantIn(w.opens(w.owner, move), true, "1 of 2 approvals<", "It does not count, because this person may no longer approve", disabled)
	got := w.sendAs(w.owner, "/w/{workspace}/"+move+"/accept", url.Values{"revision": {"1"}})
	if got.Code != http.StatusConflict {
		t.Errorf("accepted with %d", got.Code)
	}
	w.wantIn(got.Body.String(), true, "1 of the 2 approvals", "1 of 2 approvals<")
	approve(w.owner)
	if got := w.sendAs(ed, "/w/{workspace}/"+move+"/accept", url.Values{"revision": {"1"}}); got.Code != http.StatusSeeOther {
		t.Errorf("accepting: %d %s", got.Code, got.Body)
	}
	w.wantIn(w.opens(w.owner, move), false, "of 2 approvals", `id="accept"`)
	// The document is now in the stricter project, and so the edit needs two.
	w.wantIn(w.opens(w.owner, edit), true, "0 of 2 approvals<")
}
