package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
)

// jumpFor returns what the jump finds for a person.
func (w *town) jumpFor(token, query string) string {
	w.Helper()
	got := w.ask(http.MethodGet, w.address("/w/{workspace}/jump")+"?q="+url.QueryEscape(query), token)
	if got.Code != http.StatusOK || strings.Contains(got.Body.String(), "<html") {
		w.Fatalf("%d %s", got.Code, got.Body)
	}
	return got.Body.String()
}

// The jump finds records by name and by id, and shows where they are.
func TestJump_FindsByNameAndID(t *testing.T) {
	w := newTown(t)
	inner := w.newFolder("Drawer", sheaf.FolderID(w.ids["folders"]))
	p, err := w.a.CreateProject(t.Context(), w.caller, sheaf.ProjectChange{Name: sheaf.Some("Lighthouse"), FolderID: sheaf.Some(inner)})
	w.must(err)
	d, err := w.a.CreateDocument(t.Context(), w.caller, sheaf.DocumentChange{Title: sheaf.Some("Lighthouse keeping"), ProjectID: sheaf.Some(p.ID)})
	w.must(err)
	byName := w.jumpFor(w.owner, "lighth")
	w.wantIn(byName, true, `>Lighthouse</span></span><small class="muted where" dir="auto" title="Folder / Drawer">Folder / Drawer</small>`,
		`>Lighthouse keeping</span></span><small class="muted where" dir="auto" title="Folder / Drawer / Lighthouse">Folder / Drawer / Lighthouse</small>`,
		`href="`+w.address("/w/{workspace}/documents/")+string(d.ID)+`"`, ">Projects</p>", ">Documents</p>", "Search all texts for “lighth”")
	w.wantIn(byName, false, ">Folders</p>", "New project")
	w.wantIn(w.jumpFor(w.owner, "drawer"), true, ">Folders</p>", `>Drawer</span></span><small class="muted where" dir="auto" title="Folder">Folder</small>`)
	w.wantIn(w.jumpFor(w.owner, "webh"), true, ">Webhook</span>", "https://example.com/", "New webhook", `href="`+w.address("/w/{workspace}/webhooks")+`"`)
	w.wantIn(w.jumpFor(w.owner, "key"), true, `#key-`+w.ids["keys"]+`"`, "New key")
	for _, noun := range []string{"projects", "folders", "documents", "releases", "brandings", "webhooks", "deliveries", "events"} {
		w.wantIn(w.jumpFor(w.owner, " "+w.ids[noun]), true, ">By id</p>", `href="`+w.address("/w/{workspace}/"+noun+"/{id}")+`"`)
	}
	w.wantIn(w.jumpFor(w.owner, w.ids["media"]), true, ">picture.gif</span>")
	w.wantIn(w.jumpFor(w.owner, w.ids["keys"]), true, `#key-`+w.ids["keys"]+`"`)
	w.wantIn(w.jumpFor(w.owner, `"`), true, "at least one word")
}

// Without a query the jump shows the actions. It shows no action that the person may not do, and no
// record of others.
func TestJump_OffersWhatThePersonMay(t *testing.T) {
	w := newTown(t)
	all := w.jumpFor(w.owner, "")
	w.wantIn(all, true, "New project", "New document", "New webhook", "Upload a file", "Invite someone", ">Settings</span>", ">Trash</span>", `href="/account"`,
		`projects/new" data-dialog>`)
	member := w.jumpFor(w.member, "")
	w.wantIn(member, true, ">Settings</span>", ">Trash</span>")
	w.wantIn(member, false, "New project", "New document", "New webhook", "Upload a file", "Invite someone")
	editor := w.jumpFor(w.join("dan@example.com", "Dan", sheaf.Editor), "")
	w.wantIn(editor, true, "New project", "New document", "New branding", "Upload a file")
	w.wantIn(editor, false, "New webhook", "New key", "Invite someone")
	theirs := strings.ReplaceAll(w.address("/w/{workspace}/jump"), string(w.caller.Workspace), string(w.callerOf(w.stranger).Workspace))
	for _, noun := range []string{"projects", "folders", "documents", "brandings", "webhooks", "deliveries", "events", "media", "keys"} {
		got := w.ask(http.MethodGet, theirs+"?q="+w.ids[noun], w.stranger).Body.String()
		w.wantIn(got, false, ">By id</p>", ">Keys</p>")
	}
}

// A person who types the name of a command gets the command first, and records after it. Words in the
// purpose of a command come after the records.
func TestJump_CommandsComeFirst(t *testing.T) {
	w := newTown(t)
	_, err := w.a.CreateProject(t.Context(), w.caller, sheaf.ProjectChange{Name: sheaf.Some("New projects of the settings, a look")})
	w.must(err)
	before := func(query, first, second string) {
		t.Helper()
		body := w.jumpFor(w.owner, query)
		one, two := strings.Index(body, first), strings.Index(body, second)
		if one < 0 || two < one {
			t.Errorf("%q offers %q at %d and %q at %d", query, first, one, second, two)
		}
	}
	before("new proj", ">New project</span>", ">New projects of")
	before("SETT", ">Settings</span>", ">New projects of")
	before("look", ">New projects of", ">New branding</span>") // "the look of what you share"
	if body := w.jumpFor(w.owner, "new proj"); strings.Count(body, ">New project</span>") != 1 {
		t.Errorf("a command is offered twice in %s", body)
	}
}

// The jump shows texts as they are read, and leaves out documents whose words no reader sees. The
// search page has them, with the total of the API, and says where the words are.
func TestJump_ShowsTextAsItIsRead(t *testing.T) {
	w := newTown(t)
	write := func(title, content string) {
		_, err := w.a.CreateDocument(t.Context(), w.caller, sheaf.DocumentChange{Title: sheaf.Some(title), Content: sheaf.Some(content)})
		w.must(err)
	}
	write("Seen", "## Birds\n\nThe **grey** [heron](https://example.com/stork) stands.")
	for range mostFound {
		write("Hidden", "See [the page](https://example.com/grey-heron). <!-- heron -->")
	}
	body := w.jumpFor(w.owner, "heron")
	w.wantIn(body, true, ">Seen</span>", "Birds The grey <mark>heron</mark> stands.")
	w.wantIn(body, false, ">Hidden</span>", "**", "##", "stork")
	w.wantIn(w.jumpFor(w.owner, "stork"), false, ">Seen</span>")
	page := w.get("search?q=heron")
	w.wantIn(page, true, "7 results", "Found in the address of a link, or in a comment", ">Hidden</span>", "Birds The grey <mark>heron</mark> stands.")
	hits, err := w.a.Search(t.Context(), w.caller, sheaf.SearchQuery{Text: "stork", Paging: sheaf.Paging{Limit: 5}})
	if err != nil || hits.Total != 1 || !strings.Contains(hits.Items[0].Snippet, "**grey** [heron](https://example.com/stork)") || hits.Items[0].Unread {
		t.Errorf("the API finds %+v, %v", hits, err)
	}
}
