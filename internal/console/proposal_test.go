package console

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// send sends a form to a page of a workspace.
func (d *divided) send(token, path string, form url.Values) *httptest.ResponseRecorder {
	d.Helper()
	return d.request(http.MethodPost, "/w/"+string(d.caller.Workspace)+"/"+path, token, form)
}

// D182: a member suggests an edit with the form, without a script. An owner discusses, approves and
// accepts it with the forms of its page.
func TestProposal_FromSuggestionToAcceptance(t *testing.T) {
	d := divide(t)
	document := "documents/" + d.ids["documents"]
	form := func(page string) url.Values { return hidden(page) }
	read := func(token, path string) string {
		t.Helper()
		got := d.request(http.MethodGet, "/w/"+string(d.caller.Workspace)+"/"+path, token, nil)
		if got.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, got.Code, got.Body)
		}
		return got.Body.String()
	}
	d.wantIn(read(d.member, document), true, document+"/suggest")
	d.wantIn(read(d.member, document), false, document+"/edit")
	suggestion := form(read(d.member, document+"/suggest"))
	for name, value := range map[string]string{"about": "Say <which> button", "message": "It is not clear.", "title": "Document", "content": "Press the green button.\r\n"} {
		suggestion.Set(name, value)
	}
	// Without a change, or without a title of the proposal, the form comes back with what was typed.
	for field, wrong := range map[string]struct{ value, says string }{"content": {"", "You have not changed anything yet"}, "about": {"", "What you propose: give it a title"}} {
		bad := url.Values{}
		for name := range suggestion {
			bad.Set(name, suggestion.Get(name))
		}
		bad.Set(field, wrong.value)
		got := d.send(d.member, document+"/suggest", bad)
		if got.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", field, got.Code)
		}
		d.wantIn(got.Body.String(), true, wrong.says, "It is not clear.")
	}
	got := d.send(d.member, document+"/suggest", suggestion)
	if got.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	proposal := strings.TrimPrefix(strings.TrimSuffix(got.Header().Get("Location"), "?saved"), "/w/"+string(d.caller.Workspace)+"/")
	d.wantIn(read(d.owner, "proposals"), true, "Say &lt;which&gt; button", "Bob", `title="4 open"`)
	d.wantIn(read(d.member, proposal), true, "It is not clear.", "<ins>+ Press the green button.", "/withdraw", "An editor, admin or owner decides.")
	d.wantIn(read(d.member, proposal), false, "/approve", "/accept", "/reject")

	// The discussion: comments are Markdown, and only their author changes them.
	if got := d.send(d.owner, proposal+"/comments", url.Values{"body": {"Which **green**?"}, "change": {"0"}}); got.Header().Get("Location") != "/w/"+string(d.caller.Workspace)+"/"+proposal+"#comment-1" {
		t.Fatalf("%d %v %s", got.Code, got.Header(), got.Body)
	}
	d.wantIn(d.send(d.owner, proposal+"/comments", url.Values{"body": {" "}}).Body.String(), true, "The comment is required")
	d.wantIn(read(d.member, proposal), true, "Which <strong>green</strong>?")
	d.wantIn(read(d.member, proposal), false, "comments/1/edit")
	edit := form(read(d.owner, proposal+"/comments/1/edit"))
	edit.Set("body", "Which *blue*?")
	for _, want := range []int{http.StatusSeeOther, http.StatusPreconditionFailed} { // at the second time the proposal has changed since
		if got := d.send(d.owner, proposal+"/comments/1", edit); got.Code != want {
			t.Errorf("%d instead of %d: %s", got.Code, want, got.Body)
		}
		edit.Set("body", "Another")
	}
	d.wantIn(read(d.owner, proposal), true, "Which <em>blue</em>?", "edited")

	// A decision counts only for the revision that was read.
	id := sheaf.ProposalID(strings.TrimPrefix(proposal, "proposals/"))
	_, err := d.a.UpdateProposal(t.Context(), d.callerOf(d.member), id, sheaf.ProposalChange{Title: sheaf.Some("Say which button")}, sheaf.Match{})
	d.must(err)
	old := url.Values{"revision": {"1"}, "note": {"typed before"}}
	for _, act := range []string{"approve", "accept", "reject"} {
		got := d.send(d.owner, proposal+"/"+act, old)
		if got.Code != http.StatusPreconditionFailed {
			t.Errorf("%s: %d", act, got.Code)
		}
		d.wantIn(got.Body.String(), true, "The proposal was changed while you were reading it, so your decision was not saved.", "typed before", `name="revision" value="2"`)
	}
	now := url.Values{"revision": {"2"}}
	for _, step := range []struct{ act, shows, hides string }{{"approve", "Take back your approval", "data-approve"}, {"take-back", "data-approve", "Take back your approval"},
		{"approve", "Take back your approval", "data-approve"}, {"accept", "Accepted by", "Take back"}} {
		if got := d.send(d.owner, proposal+"/"+step.act, now); got.Code != http.StatusSeeOther {
			t.Fatalf("%s: %d %s", step.act, got.Code, got.Body)
		}
		d.wantIn(read(d.owner, proposal), true, step.shows)
		d.wantIn(read(d.owner, proposal), false, step.hides)
	}
	d.wantIn(read(d.member, document), true, "Press the green button.")
	d.wantIn(read(d.owner, "proposals?state=accepted"), true, "Say which button")
	d.wantIn(read(d.owner, "proposals"), false, "Say which button")
	if got := d.send(d.owner, proposal+"/reject", url.Values{"revision": {"3"}}); got.Code != http.StatusConflict {
		t.Errorf("a second decision: %d", got.Code)
	}

	// The revert is a new proposal of the person who pressed the button. Accepting it undoes the edit.
	d.wantIn(read(d.member, proposal), true, proposal+"/revert")
	undo := d.send(d.member, proposal+"/revert", url.Values{})
	revert, made := strings.CutPrefix(strings.TrimSuffix(undo.Header().Get("Location"), "?saved"), "/w/"+string(d.caller.Workspace)+"/")
	if !made || revert == proposal {
		t.Fatalf("undo: %d %s", undo.Code, undo.Body)
	}
	d.wantIn(read(d.owner, revert), true, "Revert “Say which button”", "<bdi>Bob</bdi> proposed", "<del>- Press the green button.", "Undoes proposal ")
	d.wantIn(read(d.owner, revert), false, "/revert")
	if got := d.send(d.owner, revert+"/accept", url.Values{"revision": {"1"}}); got.Code != http.StatusSeeOther {
		t.Fatalf("accepting the revert: %d %s", got.Code, got.Body)
	}
	d.wantIn(read(d.member, document), false, "Press the green button.")
	again := d.send(d.member, proposal+"/revert", url.Values{})
	if again.Code != http.StatusConflict {
		t.Errorf("undone twice: %d", again.Code)
	}
	d.wantIn(again.Body.String(), true, "Nothing is left to undo")
	d.wantIn(read(d.owner, "activity"), true, "commented on the proposal", "accepted the proposal")
}

// D175: a conflict shows both sides, in the list of changes and with the refusal.
func TestProposal_ShowsConflicts(t *testing.T) {
	d := divide(t)
	ctx := t.Context()
	id := sheaf.DocumentID(d.ids["documents"])
	_, err := d.a.UpdateDocument(ctx, d.caller, id, sheaf.DocumentChange{Content: sheaf.Some("written <meanwhile>\n")}, sheaf.Match{})
	d.must(err)
	proposal := "proposals/" + d.ids["proposals"]
	page := d.get(proposal)
	d.wantIn(page, true, "one of its changes conflicts", "The document now, line 1", "written &lt;meanwhile&gt;", "The proposal, line 1", "proposed by Proposal")
	got := d.send(d.owner, proposal+"/accept", url.Values{"revision": {"1"}})
	if got.Code != http.StatusConflict {
		t.Errorf("%d", got.Code)
	}
	d.wantIn(got.Body.String(), true, "Nothing was changed, because the proposal conflicts", "written &lt;meanwhile&gt;")
	d.wantIn(d.get(proposal+"?change=0&view=texts"), true, "The present text", "The proposed text")
	d.wantIn(d.get(proposal+"?change=0&view=rendered"), true, "<h3>Now</h3>", "<h3>Proposed</h3>", "<p>proposed by Proposal</p>")

	// The editor resolves the conflict: the proposal is then based on the present version, and its other changes stay.
	link := "documents/" + string(id) + "/suggest?proposal=" + d.ids["proposals"] + "&change=0"
	d.wantIn(page, true, strings.ReplaceAll(link, "&", "&amp;"))
	editor := d.get(link)
	d.wantIn(editor, true, "Resolve the conflict", "The document now, line 1", "proposed by Proposal </textarea>")
	form := hidden(editor)
	for name, value := range map[string]string{"about": "Proposal", "title": "Document", "content": "written meanwhile, and proposed\n"} {
		form.Set(name, value)
	}
	for _, want := range []int{http.StatusSeeOther, http.StatusPreconditionFailed} { // at the second time the proposal has changed since
		if got := d.send(d.owner, "documents/"+string(id)+"/suggest", form); got.Code != want {
			t.Errorf("%d instead of %d: %s", got.Code, want, got.Body)
		}
	}
	d.wantIn(d.get(proposal), true, "Accept</button>")
	d.wantIn(d.get(proposal+"?change=0&view=texts"), true, "written meanwhile, and proposed")
	d.wantIn(d.get(proposal), false, "conflicts")
	if got := d.send(d.owner, proposal+"/withdraw", url.Values{"revision": {"2"}}); got.Code != http.StatusSeeOther {
		t.Errorf("%d", got.Code)
	}
	d.wantIn(d.get(proposal), true, "Withdrawn by")
}

// The text with which a conflict is resolved has what each side changed elsewhere.
func TestProposal_ResolvingKeepsTheRest(t *testing.T) {
	d := divide(t)
	ctx := t.Context()
	write := func(lines ...string) sheaf.DocumentChange {
		return sheaf.DocumentChange{Content: sheaf.Some(strings.Join(lines, "\n\n") + "\n")}
	}
	created := write("one", "two", "three", "four", "five")
	created.Title = sheaf.Some("Numbers")
	doc, err := d.a.CreateDocument(ctx, d.caller, created)
	d.must(err)
	p, err := d.a.CreateProposal(ctx, d.caller, sheaf.ProposalChange{Title: sheaf.Some("More"), Changes: sheaf.Some([]sheaf.ProposedChange{
		{Op: sheaf.ProposeEdit, DocumentID: doc.ID, BaseVersion: 1, Document: write("one proposed", "two", "three proposed", "four", "five")}})})
	d.must(err)
	_, err = d.a.UpdateDocument(ctx, d.caller, doc.ID, write("one", "two", "three present", "four", "five present", "six"), sheaf.Match{})
	d.must(err)
	d.wantIn(d.get("documents/"+string(doc.ID)+"/suggest?proposal="+string(p.ID)+"&change=0"), true, "> one proposed two three proposed four five present six </textarea>")
}

// Every op is shown with what it names, before and after the decision.
func TestProposal_ShowsEveryOp(t *testing.T) {
	d := divide(t)
	ctx := t.Context()
	in, id := sheaf.ProjectID(d.inside["projects"]), sheaf.DocumentID(d.inside["documents"])
	other, err := d.a.CreateDocument(ctx, d.caller, sheaf.DocumentChange{Title: sheaf.Some("Other"), ProjectID: sheaf.Some(in)})
	d.must(err)
	metadata := sheaf.Some(sheaf.MetadataChange{Merge: true, Entries: []sheaf.MetadataEntry{{Name: "team", Value: new("docs")}}})
	p, err := d.a.CreateProposal(ctx, d.caller, sheaf.ProposalChange{Title: sheaf.Some("All"), Changes: sheaf.Some([]sheaf.ProposedChange{
		{Op: sheaf.ProposeCreate, Document: sheaf.DocumentChange{Title: sheaf.Some("Above"), ProjectID: sheaf.Some(in), Content: sheaf.Some("new text")}},
		{Op: sheaf.ProposeCreate, Document: sheaf.DocumentChange{Title: sheaf.Some("Below it"), ProjectID: sheaf.Some(in), ParentID: sheaf.Some(sheaf.DocumentID("$0"))}},
		{Op: sheaf.ProposeEdit, DocumentID: id, BaseVersion: 1, Document: sheaf.DocumentChange{Title: sheaf.Some("Inside renamed"), Description: sheaf.Some("d"), Metadata: metadata}},
		{Op: sheaf.ProposeMove, DocumentID: other.ID, Move: sheaf.DocumentMove{BeforeID: sheaf.Some(id)}},
		{Op: sheaf.ProposeDelete, DocumentID: other.ID, BaseVersion: 1},
		{Op: sheaf.ProposeRestore, DocumentID: sheaf.DocumentID(d.inside["trash"])},
	})})
	d.must(err)
	open := d.get("proposals/" + string(p.ID))
	d.wantIn(open, true, "<ins>+ new text", "Inside project", `<dt>Below</dt><dd><ins dir="auto">Above</ins>`, `Inside document</del><ins dir="auto">Inside renamed`, "Metadata “team”",
		`<dt>Before</dt><dd><ins dir="auto">Inside document</ins>`, "Deletes the document", "Restores the document", "Inside trashed", "All 6 changes are made at once")
	// A restricted person who sees everything that the proposal names sees the proposal too.
	restricted := d.request(http.MethodGet, "/w/"+string(d.caller.Workspace)+"/proposals/"+string(p.ID), d.reader, nil)
	d.wantIn(restricted.Body.String(), true, "Inside renamed")
	d.withoutLeaks("the proposal", restricted)
	if got := d.send(d.owner, "proposals/"+string(p.ID)+"/accept", url.Values{"revision": {"1"}}); got.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	d.wantIn(d.get("proposals/"+string(p.ID)), true, "Accepted by", "<ins>+ new text", "Inside renamed")
}

// On the plan free, no page leads to the editor of suggestions. What is open can be decided.
func TestProposal_OnFree(t *testing.T) {
	d := divide(t)
	_, err := d.a.Operator().SetPlan(t.Context(), d.caller.Workspace, sheaf.Free)
	d.must(err)
	d.wantIn(d.get("documents/"+d.ids["documents"]), false, "/suggest")
	suggestion := hidden(d.get("documents/" + d.ids["documents"] + "/suggest"))
	suggestion.Set("about", "a")
	suggestion.Set("title", "Another")
	d.wantIn(d.send(d.owner, "documents/"+d.ids["documents"]+"/suggest", suggestion).Body.String(), true, "Proposals need the Pro or Business plan")
	if got := d.send(d.owner, "proposals/"+d.ids["proposals"]+"/accept", url.Values{"revision": {"1"}}); got.Code != http.StatusSeeOther {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// D182b: the author asks a person to approve, who finds the proposal among those that wait for them. The
// page says whether a mail is sent.
func TestProposal_AskForReview(t *testing.T) {
	d := divide(t)
	ctx := t.Context()
	dan := d.callerOf(d.editor)
	inside := "proposals/" + d.inside["proposals"]
	read := func(token, path string) string {
		t.Helper()
		got := d.request(http.MethodGet, "/w/"+string(d.caller.Workspace)+"/"+path, token, nil)
		if got.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, got.Code, got.Body)
		}
		return got.Body.String()
	}
	option := `<option value="` + string(dan.User) + `">Dan</option>`
	d.wantIn(d.get(inside), true, "Ask somebody to review it", option, "No mail is sent")
	d.c.Mails = true
	d.wantIn(d.get(inside), true, "They also get a mail")
	// Dan does not see the other proposal, and members without the right to approve are no choice.
	d.wantIn(d.get("proposals/"+d.ids["proposals"]), false, option, ">Bob</option>", ">Ada</option>")
	d.wantIn(read(d.member, inside), false, "Ask somebody to review it")
	d.wantIn(read(d.owner, "proposals?state=waiting"), true, "No proposals wait for you", "Waiting for you")
	d.wantIn(read(d.member, "proposals"), false, "Waiting for you")

	if got := d.send(d.owner, inside+"/ask", url.Values{"user": {string(dan.User)}}); got.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	d.wantIn(d.get(inside), true, "Asked: <bdi>Dan</bdi>")
	d.wantIn(d.get(inside), false, option, "asks you to review") // not again within the hour
	d.wantIn(read(d.editor, inside), true, "<bdi>Ada</bdi> asks you to review this proposal.")
	waiting := read(d.editor, "proposals?state=waiting")
	d.wantIn(waiting, true, "Inside proposal", "waiting for you")
	d.wantIn(read(d.editor, "proposals"), true, "waiting for you")
	d.wantIn(read(d.owner, "proposals"), false, "waiting for you")
	for name, refused := range map[string]struct {
		token, path, user string
		want              int
	}{
		"nobody":          {d.owner, inside, "", http.StatusBadRequest},
		"oneself":         {d.owner, inside, string(d.caller.User), http.StatusConflict},
		"not seen by Dan": {d.owner, "proposals/" + d.ids["proposals"], string(dan.User), http.StatusConflict},
		"by a member":     {d.member, inside, string(dan.User), http.StatusForbidden},
	} {
		if got := d.send(refused.token, refused.path+"/ask", url.Values{"user": {refused.user}}); got.Code != refused.want {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
	}
	_, err := d.a.ApproveProposal(ctx, dan, sheaf.ProposalID(d.inside["proposals"]), sheaf.Match{Asked: true, Revisions: []int64{1}})
	d.must(err)
	d.wantIn(read(d.editor, inside), false, "Asked:", "asks you to review")
	d.wantIn(read(d.editor, "proposals?state=waiting"), true, "No proposals wait for you")
}

// A person who was asked and then erased is shown as such.
func TestProposal_AskedAndErased(t *testing.T) {
	w := newTown(t)
	i, err := w.a.Invite(t.Context(), w.caller, "zoe@example.com", sheaf.Admin, nil)
	w.must(err)
	joined, _, err := w.a.Join(t.Context(), app.Join{Token: i.Token, Name: "Zoe Canary", Password: "long enough"}, "")
	w.must(err)
	id := sheaf.ProposalID(w.ids["proposals"])
	_, err = w.a.AskReviewer(t.Context(), w.caller, id, w.callerOf(joined.Token).User)
	w.must(err)
	_, err = w.a.Operator().EraseUser(t.Context(), "zoe@example.com")
	w.must(err)
	page := w.get("proposals/" + string(id))
	w.wantIn(page, true, "Asked: <bdi>erased user</bdi>")
	w.wantIn(page, false, "Zoe Canary")
}

// D182: the page of a document lists the open proposals that name it, as far as the reader sees them.
func TestProposal_OnThePageOfItsDocument(t *testing.T) {
	d := divide(t)
	id, other := sheaf.DocumentID(d.inside["documents"]), sheaf.DocumentID(d.outside["documents"])
	both, err := d.a.CreateProposal(t.Context(), d.caller, sheaf.ProposalChange{Title: sheaf.Some("About both"), Changes: sheaf.Some([]sheaf.ProposedChange{
		{Op: sheaf.ProposeEdit, DocumentID: id, BaseVersion: 1, Document: sheaf.DocumentChange{Title: sheaf.Some("New")}}, {Op: sheaf.ProposeDelete, DocumentID: other, BaseVersion: 1}})})
	d.must(err)
	page := "documents/" + string(id)
	d.wantIn(d.get(page), true, "Open proposals", "/proposals/"+d.inside["proposals"], "Inside proposal", "/proposals/"+string(both.ID), "About both")
	restricted := d.request(http.MethodGet, "/w/"+string(d.caller.Workspace)+"/"+page, d.editor, nil).Body.String()
	d.wantIn(restricted, true, "Inside proposal")
	d.wantIn(restricted, false, "About both", string(both.ID))
	_, err = d.a.RejectProposal(t.Context(), d.caller, both.ID, nil, sheaf.Match{})
	d.must(err)
	d.wantIn(d.get(page), false, "About both")
	for range mostNaming {
		d.propose(id, "One more")
	}
	d.wantIn(d.get(page), true, "All open proposals")
	d.wantIn(d.get(page), false, "Inside proposal") // the newest come first
}

// D182: a person who may not move or delete a document suggests it.
func TestProposal_SuggestMovingAndDeleting(t *testing.T) {
	d := divide(t)
	ctx := t.Context()
	in, id := sheaf.ProjectID(d.inside["projects"]), sheaf.DocumentID(d.inside["documents"])
	parent, err := d.a.CreateDocument(ctx, d.caller, sheaf.DocumentChange{Title: sheaf.Some("Parent"), ProjectID: sheaf.Some(in)})
	d.must(err)
	other, err := d.a.CreateProject(ctx, d.caller, sheaf.ProjectChange{Name: sheaf.Some("Elsewhere")})
	d.must(err)
	page := "documents/" + string(id)
	at := "/w/" + string(d.caller.Workspace) + "/"
	read := func(token, path string) string {
		t.Helper()
		return d.request(http.MethodGet, at+path, token, nil).Body.String()
	}
	d.wantIn(read(d.member, page), true, "Suggest moving", "Suggest deleting")
	d.wantIn(read(d.owner, page), false, "Suggest moving", "Suggest deleting")

	move := read(d.member, page+"/suggest-move")
	d.wantIn(move, true, "Move “Inside document”", `value="`+belowPrefix+string(parent.ID)+`"`, `value="`+string(other.ID)+`"`, `value="`+string(in)+`" selected`)
	d.wantIn(read(d.member, "selection/places?item=document:"+string(id)+"&q=Elsewhere"), true, string(other.ID))
	for _, c := range []struct {
		to       string
		project  sheaf.ProjectID
		parentID *sheaf.DocumentID
	}{{belowPrefix + string(parent.ID), in, &parent.ID}, {string(other.ID), other.ID, nil}} {
		form := hidden(move)
		form.Set("about", "Move it <there>")
		form.Set("message", "It is <better> there.")
		form.Set("to", c.to)
		got := d.send(d.member, page+"/suggest-move", form)
		proposal, made := strings.CutPrefix(strings.TrimSuffix(got.Header().Get("Location"), "?saved"), at)
		if got.Code != http.StatusSeeOther || !made {
			t.Fatalf("%d %s", got.Code, got.Body)
		}
		d.wantIn(read(d.owner, proposal), true, "Move it &lt;there&gt;", "It is &lt;better&gt; there.", "<bdi>Bob</bdi> proposed")
		if got := d.send(d.owner, proposal+"/accept", url.Values{"revision": {"1"}}); got.Code != http.StatusSeeOther {
			t.Fatalf("accepting: %d %s", got.Code, got.Body)
		}
		now, err := d.a.Document(ctx, d.caller, id)
		d.must(err)
		if *now.ProjectID != c.project || (now.ParentID == nil) != (c.parentID == nil) || c.parentID != nil && *now.ParentID != *c.parentID {
			t.Errorf("it moved to %v below %v", now.ProjectID, now.ParentID)
		}
	}
	// It is in the other project now.
	again := hidden(move)
	again.Set("about", "Move it")
	again.Set("to", string(other.ID))
	refused := d.send(d.member, page+"/suggest-move", again)
	if refused.Code != http.StatusBadRequest {
		t.Errorf("to the place where it is: %d", refused.Code)
	}
	d.wantIn(refused.Body.String(), true, "The document is there already", `value="Move it"`)

	remove := hidden(read(d.member, page+"/suggest-delete"))
	remove.Set("about", "")
	if got := d.send(d.member, page+"/suggest-delete", remove); got.Code != http.StatusBadRequest {
		t.Errorf("without a title: %d", got.Code)
	}
	remove.Set("about", "Delete it")
	got := d.send(d.member, page+"/suggest-delete", remove)
	proposal := strings.TrimPrefix(strings.TrimSuffix(got.Header().Get("Location"), "?saved"), at)
	d.wantIn(read(d.owner, proposal), true, "Delete it", "Deletes the document")
	d.wantIn(read(d.member, page), true, "Open proposals", "Delete it")
	if got := d.send(d.owner, proposal+"/accept", url.Values{"revision": {"1"}}); got.Code != http.StatusSeeOther {
		t.Fatalf("accepting: %d %s", got.Code, got.Body)
	}
	if _, err := d.a.TrashedDocument(ctx, d.caller, id); err != nil {
		t.Errorf("it is not in the trash: %v", err)
	}
}

// The usual title of a suggestion is no longer than a title may be.
func TestAboutAct_IsATitle(t *testing.T) {
	for _, title := range []string{"A", strings.Repeat("ä", 200)} {
		if err := sheaf.CheckName("title", aboutAct("Delete", title), sheaf.MaxName); err != nil {
			t.Error(err)
		}
	}
}

// A list and a discussion are shown page by page.
func TestProposal_Pages(t *testing.T) {
	d := divide(t)
	for range listPage {
		d.propose(sheaf.DocumentID(d.ids["documents"]), "One more")
	}
	d.wantIn(d.get("proposals"), true, "1 to 50 of 53 proposals", ">Next<")
	d.wantIn(d.get("proposals?from=50"), true, "51 to 53 of 53", ">Previous<")
	id := sheaf.ProposalID(d.ids["proposals"])
	for range commentsPage {
		_, err := d.a.CreateComment(t.Context(), d.caller, id, sheaf.CommentChange{Body: sheaf.Some("again")})
		d.must(err)
	}
	got := d.send(d.owner, "proposals/"+string(id)+"/comments", url.Values{"body": {"the last one"}})
	to := strings.TrimPrefix(got.Header().Get("Location"), "/w/"+string(d.caller.Workspace)+"/")
	if to != "proposals/"+string(id)+"?comments=100#comment-102" {
		t.Errorf("it leads to %q", to)
	}
	d.wantIn(d.get(strings.TrimSuffix(to, "#comment-102")), true, "the last one", "101 to 102 of 102 comments")
}
