package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// invited opens a window of a person who joins the workspace with that role.
func (b *tab) invited(s *service, name, email, role string) *tab {
	b.t.Helper()
	b.click("=Members")
	b.arrive("Members")
	b.click("=Invite someone")
	b.fill("dialog [name=email]", email)
	b.click("dialog [name=role][value=" + role + "]")
	b.click("=Create link")
	b.see(".secret code")
	link, _ := ask[string](b, "document.querySelector('.secret code').innerText")
	b.click("=Done")
	b.arrive("Members")
	other := newTab(b.t, s)
	other.open(link)
	other.fill("[name=name]", name)
	other.fill("[name=password]", password)
	other.fill("[name=again]", password)
	other.click("=Join")
	other.arrive("My workspace")
	return other
}

// marked waits until these words are marked in the inserted lines, and no others.
func (b *tab) marked(words string) {
	b.t.Helper()
	b.until("the marks", "[...document.querySelectorAll('.diff ins b')].map((e) => e.innerText.trim()).join() === "+quote(words))
}

// D182: a member, who may not write, suggests an edit in the editor. An owner in another window reads what would change,
// asks, approves with the keyboard and accepts. What others changed meanwhile stays.
func TestProposals_ProposeDiscussAccept(t *testing.T) {
	t.Parallel()
	s := startService(t)
	ada := setUp(t, s)
	address := ada.writeDocument("Starting the machine", "# Starting\n\nOpen the lid.\n\nWait until it is **warm**.\n\nPress the button.\n")
	ada.open("/")
	ada.arrive("My workspace")
	bob := ada.invited(s, "Bob Builder", "bob@example.com", "member")

	ada.open("/") // its navigation is live
	ada.arrive("My workspace")
	bob.open(address)
	bob.arrive("Starting the machine")
	bob.gone("=Edit")
	bob.click("=Suggest an edit")
	bob.arrive("Suggest an edit")
	bob.put("# Starting\n\nOpen the lid.\n\nWait until it is **warm**.\n\nPress the green button on the left.\n")
	bob.fill("[name=about]", "Say which button")
	bob.fill("[name=message]", "Two people asked me last week.")
	bob.see("[data-preview-pane] .prose strong")
	bob.shot("document-suggest")
	bob.open(address + "/suggest-move")
	bob.see("[name=about]")
	bob.shot("document-suggest-act")
	bob.open(address + "/suggest") // what was typed survives a reload
	bob.read("Restored your unsaved changes.")
	bob.until("the title that was typed", "document.querySelector('[name=about]').value === 'Say which button'")
	bob.click("=Propose")
	bob.arrive("Say which button")
	bob.read("Proposed. The document stays as it is until somebody accepts your proposal.")
	bob.until("nothing kept", "!Object.keys(localStorage).some((k) => k.startsWith('draft '))")
	bob.marked("green,on the left")
	bob.gone("=Approve")

	// The open page of the owner counts the new proposal. The owner asks a question at the change.
	ada.see(".tabs .badge[title='1 open']")
	ada.click(".tabs a[href$='/proposals']")
	ada.arrive("Proposals")
	ada.read("Bob Builder")
	ada.shot("proposals")
	ada.click("=Say which button")
	ada.arrive("Say which button")
	ada.marked("green,on the left")
	ada.click("=Comment on this change: Starting the machine")
	ada.fill("#change-0 [name=body]", "The one with the `lamp`?")
	ada.click("#change-0 form button")
	ada.see("#change-0 .comments code")
	bob.see("#change-0 .comments code") // on the open page, without a reload
	bob.fill("#discussion [name=body]", "Yes, that one.")
	bob.click("#discussion form button")
	bob.see("#discussion .comments")
	bob.click("=Edit your comment 2")
	bob.see("dialog [name=body]")
	bob.shot("comment-edit")
	bob.fill("dialog [name=body]", "Yes, **that** one.")
	bob.click("dialog .primary")
	bob.see("#discussion .comments .prose strong")
	ada.click("=Differences") // an edited comment is no event, so the page is opened again
	ada.see("#discussion .comments .prose strong")
	ada.shot("proposal")
	ada.click("=Side by side")
	ada.see(".sides .prose strong")
	ada.shot("proposal-rendered")
	ada.click("=Texts")
	ada.see("textarea[readonly]")
	ada.shot("proposal-texts")
	ada.click("=Differences")
	ada.marked("green,on the left")

	// Another line changes meanwhile. The proposal changes while the owner reads: the page says so.
	id := address[strings.LastIndex(address, "/")+1:]
	s.call(s.Key, "PATCH", "/api/v1/documents/"+id, map[string]string{"content": "# Starting\n\nOpen the blue lid.\n\nWait until it is **warm**.\n\nPress the button.\n"}, 200)
	proposal, _ := ask[string](ada, "location.pathname.split('/').pop()")
	s.call(s.Key, "PATCH", "/api/v1/proposals/"+proposal, map[string]string{"title": "Which button to press"}, 200)
	ada.see("[data-outdated]:not([hidden])")
	ada.click("=Show it as it is now")
	ada.arrive("Which button to press")

	// The keyboard leads to the change, and approves.
	ada.keys("j")
	ada.until("the change in focus", "document.activeElement.id === 'change-0'")
	ada.keys("a")
	ada.see("=Take back your approval")
	ada.read("Ada approved")
	bob.read("Ada approved")
	ada.click("=Accept")
	ada.see("dialog[open] .primary")
	ada.keys(kb.Enter)
	ada.read("Accepted by Ada")
	bob.read("Accepted by Ada")
	ada.click("#change-0 h2 a")
	ada.arrive("Starting the machine")
	ada.read("Open the blue lid.")
	ada.read("Press the green button on the left.")
	ada.read("text by Bob Builder")
	ada.gone(".tabs .badge[title='1 open']")
}

// A conflict shows both sides. Without scripts a person reads a proposal, rejects it with a note, and finds it by its state.
func TestProposals_ConflictAndRejectWithoutScripts(t *testing.T) {
	t.Parallel()
	s := startService(t)
	ada := setUp(t, s)
	address := ada.writeDocument("Opening hours", "We open at nine.\n\nWe close at five.\n")
	id := address[strings.LastIndex(address, "/")+1:]
	s.call(s.Key, "POST", "/api/v1/proposals", map[string]any{"title": "Open later", "changes": []any{
		map[string]any{"op": "edit", "document_id": id, "base_version": 1, "content": "We open at ten.\n\nWe close at five.\n"},
		map[string]any{"op": "create", "title": "Holidays", "content": "We are closed on holidays.\n"}}}, 201)
	s.call(s.Key, "PATCH", "/api/v1/documents/"+id, map[string]string{"content": "We open at eight.\n\nWe close at five.\n"}, 200)
	ada.open("/")
	ada.arrive("My workspace")
	ada.click(".tabs a[href$='/proposals']")
	ada.arrive("Proposals")
	ada.click("=Open later")
	ada.arrive("Open later")
	ada.read("one of its changes conflicts")
	ada.read("We open at eight.")
	ada.shot("proposal-conflict")
	ada.click("=Accept")
	ada.see("dialog[open] .primary")
	ada.keys(kb.Enter)
	ada.read("Nothing was changed, because the proposal conflicts")

	// The editor resolves the conflict, and shows both sides.
	ada.click("=Resolve in the editor: Opening hours")
	ada.arrive("Resolve the conflict")
	ada.read("We open at eight.")
	ada.holds("We open at ten.\n\nWe close at five.\n")
	ada.shot("document-resolve")
	ada.put("We open at half past eight.\n\nWe close at five.\n")
	ada.click("=Update the proposal")
	ada.arrive("Open later")
	ada.gone("=Resolve in the editor: Opening hours")
	ada.read("We open at half past eight.")
	ada.read("We are closed on holidays.")

	ada.withoutScripts()
	ada.open(address)
	ada.await("document.querySelector('h1')?.innerText === 'Opening hours'")
	ada.click(".tabs a[href$='/proposals']")
	ada.await("document.querySelector('h1')?.innerText === 'Proposals'")
	ada.click("=Open later")
	ada.await("document.querySelector('h1')?.innerText === 'Open later'")
	ada.click("=Reject")
	ada.fill("[name=note]", "Eight is right.")
	ada.click("=Reject the proposal")
	ada.await("document.body.innerText.includes('Rejected by Ada') && document.body.innerText.includes('Eight is right.')")
	ada.click("=Proposals")
	ada.await("document.querySelector('h1')?.innerText === 'Proposals'")
	ada.click("=Rejected")
	ada.await("document.querySelector('.list')?.innerText.includes('Open later')")
}

// D177: in a project that needs review, the menu of a document in the tree suggests. A suggested document has its
// editor, and Accept becomes possible on the open page when the missing approval is there.
func TestProposals_WhereChangesNeedReview(t *testing.T) {
	t.Parallel()
	s := startService(t)
	ada := setUp(t, s)
	address := ada.writeDocument("Opening hours", "We open at nine.\n")
	ada.open("/")
	ada.arrive("My workspace")
	bob := ada.invited(s, "Bob Builder", "bob@example.com", "editor")
	project := s.created("/api/v1/projects", map[string]any{"name": "Manual"}, "id")
	document := s.created("/api/v1/documents", map[string]any{"title": "Reviewed", "project_id": project}, "id")
	s.call(s.Key, "PATCH", "/api/v1/projects/"+project, map[string]any{"review": map[string]int{"approvals": 1}}, 200)
	home := address[:strings.Index(address, "/documents/")]

	ada.open(home + "/projects/" + project)
	ada.arrive("Manual")
	ada.click("#row-" + document + " [data-menu]")
	ada.see("#row-menu a[href$='/suggest-delete'].danger")
	ada.until("only suggestions", "[...document.querySelectorAll('#row-menu a')].every((a) => a.innerText.startsWith('Suggest'))")
	ada.click("#row-menu a[href$='/suggest-move']")
	ada.see("dialog[open] [name=about]")
	ada.open(home + "/documents/suggest?in=" + project)
	ada.arrive("Suggest a document")
	ada.put("# Settings\n\nAll of them.\n")
	ada.fill("[name=title]", "Settings")
	ada.fill("[name=about]", "Explain the settings")
	ada.see("[data-preview-pane] .prose")
	ada.shot("document-suggest-new")
	ada.click("=Propose")
	ada.arrive("Explain the settings")
	ada.read("0 of 1 approval")
	ada.see("#accept button:disabled")
	ada.shot("proposal-approvals")

	made, _ := ask[string](ada, "location.pathname")
	bob.open(made)
	bob.arrive("Explain the settings")
	bob.click("=Approve")
	ada.read("1 of 1 approval")
	ada.see("#accept button:not(:disabled)")
	ada.click("=Accept")
	ada.click("dialog[open] .primary")
	ada.read("Accepted by Ada")
}
