package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A workspace with something in it, as it looks after a week.
func (b *tab) furnish() {
	b.t.Helper()
	ids := map[string]string{}
	for _, p := range []struct{ folder, in string }{{"Products", ""}, {"Mobile app", "Products"}, {"Company", ""}} {
		ids[p.folder] = b.post("folders", map[string]string{"name": p.folder, "type": "project", "in": ids[p.in],
			"color": map[string]string{"Products": "#2563eb", "Mobile app": "#0d9488", "Company": "#ca8a04"}[p.folder]})
	}
	for _, p := range []struct{ name, icon, color, in, about string }{
		{"Handbook", "book-open", "#db2777", "Company", "How we work, decide and write."},
		{"Onboarding", "graduation-cap", "#ea580c", "Company", ""},
		{"API guide", "code", "#2563eb", "Products", "Everything about the interface, from the first request to webhooks."},
		{"Release notes", "rocket", "#9333ea", "Mobile app", ""},
		{"Help centre", "lightbulb", "#16a34a", "", "Answers to what people ask most."},
		{"Scratch", "flame", "", "", ""},
	} {
		ids[p.name] = b.post("projects", map[string]string{"name": p.name, "icon": p.icon, "color": p.color, "in": ids[p.in], "description": p.about})
	}
	for _, title := range []string{"Holidays and leave", "How we review", "Writing for readers", "Our tools"} {
		b.post("documents", map[string]string{"title": title, "project": ids["Handbook"], "description": "Last read by everybody in spring."})
	}
	b.open("/")
	b.arrive("My workspace")
}

// post sends a form of the workspace from within the page, and returns the
// identifier in the address that it leads to.
func (b *tab) post(path string, form map[string]string) string {
	b.t.Helper()
	to, ok := ask[string](b, `(() => { const x = new XMLHttpRequest();
		x.open("POST", document.querySelector(".tabs a").href.replace(/projects$/, `+quote(path)+`), false);
		x.setRequestHeader("HX-Request", "true"); x.setRequestHeader("Content-Type", "application/x-www-form-urlencoded");
		x.send(new URLSearchParams(`+object(form)+`)); return x.getResponseHeader("HX-Redirect") || x.responseText })()`)
	if !ok || !strings.Contains(to, "/w/") {
		b.t.Fatalf("%s %v: %s", path, form, to)
	}
	to, _, _ = strings.Cut(to, "?")
	return to[strings.LastIndex(to, "/")+1:]
}

func object(m map[string]string) string {
	var parts []string
	for k, v := range m {
		parts = append(parts, quote(k)+": "+quote(v))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func TestConsole_TheOwnerAtWork(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	b.furnish()
	b.picture("projects")

	// Find a document, and open it from the keyboard.
	b.jumpTo("review", "How we review")
	b.arrive("How we review")
	b.click("#tree .row[data-name=Handbook] a")
	b.arrive("Handbook")
	b.shot("project")

	// Move the project with the menu of its row, without a mouse. After the
	// dialog, the focus is where it was.
	const row = "#tree .row[data-name=Handbook]"
	b.tabTo(row)
	b.do(chromedp.KeyEvent(kb.F10, chromedp.KeyModifiers(8)))
	b.see("#row-menu a:focus")
	b.keys(kb.ArrowDown + kb.Enter)
	b.see("dialog select:focus")
	b.shot("move")
	b.keys(kb.Escape)
	b.until("the focus back", find(row)+" === document.activeElement")
	b.do(chromedp.KeyEvent(kb.F10, chromedp.KeyModifiers(8)))
	b.see("#row-menu a:focus")
	b.keys(kb.ArrowDown + kb.Enter)
	b.see("dialog select:focus")
	b.keys("P") // chooses Products
	b.tabTo("=Move")
	b.keys(kb.Enter)
	b.see(".crumbs a[href*='/folders/']")
	b.until("the move", "document.querySelector('.crumbs').innerText.includes('Products')")

	// Delete a document and bring it back.
	b.click("=Actions for the document Our tools")
	b.click("#row-menu .danger")
	b.see("dialog .danger")
	b.shot("document-delete")
	b.click("=Delete document")
	b.read("The document was deleted.")
	b.read("3 documents")
	b.clickAway("=Restore")
	b.read("4 documents")

	// Delete a folder: the page says what will happen, and that happens.
	b.click("#tree .row[data-name=Products] a")
	b.arrive("Products")
	b.shot("folder")
	b.click("=Delete")
	b.read("1 subfolder goes with it. 3 projects move to the top level. No document is deleted.")
	b.shot("folder-delete")
	b.click("=Delete folder")
	b.arrive("My workspace")
	b.see("#tree .row[data-name='Release notes']")
	b.gone("#tree .row[data-name='Mobile app']")

	// Delete a project: its documents stay.
	b.click("#tree .row[data-name=Handbook] a")
	b.arrive("Handbook")
	b.click("=Delete")
	b.read("4 documents stay, without a project.")
	b.shot("project-delete")
	b.click("=Delete project")
	b.arrive("My workspace")
	b.click("=4 documents without a project")
	b.arrive("Documents without a project")
	b.shot("documents")

	b.phone()
	b.click("=Projects and folders")
	b.see("#tree .row[data-name=Company]")
	b.save("phone-tree")
}

// switchTo chooses a workspace with the switcher, which lists both.
func (b *tab) switchTo(name, role string) {
	b.t.Helper()
	b.open("/")
	b.click("button.switch")
	b.until("the list", "document.querySelectorAll('#workspaces:popover-open a').length === 2")
	b.read(role)
	b.click("=" + name + "\n" + role)
	b.arrive(name)
	b.see("button.switch[aria-label^=" + quote("Workspace "+name) + "]")
}

func TestConsole_InvitingSomebody(t *testing.T) {
	t.Parallel()
	s := startService(t)
	owner := setUp(t, s)
	owner.click("=Members")
	owner.arrive("Members")
	owner.click("=Invite someone")
	owner.fill("dialog [name=email]", "bob@example.com")
	owner.shot("invite")
	owner.click("=Create link")
	owner.see(".secret code")
	link, _ := ask[string](owner, "document.querySelector('.secret code').innerText")
	owner.shot("invite-link")
	owner.click("=Done")
	owner.arrive("Members")
	owner.read("bob@example.com")

	bob := newTab(t, s)
	bob.open(link)
	bob.read("invites you to this workspace as a member")
	bob.shot("invitation")
	bob.fill("[name=name]", "Bob Builder")
	bob.fill("[name=password]", password)
	bob.fill("[name=again]", password)
	bob.click("=Join")
	bob.arrive("My workspace")
	bob.gone("=New project")

	// What the owner makes appears by itself.
	owner.click("=Projects")
	owner.arrive("My workspace")
	owner.newProject("Handbook", "book-open")
	bob.see("#tree .row[data-name=Handbook]")

	owner.open("/")
	owner.click("=Members")
	owner.arrive("Members")
	owner.shot("members")
	owner.peek("=Remove Bob Builder", "member-remove")
	owner.peek("=Change the role of Bob Builder", "member-role")
	owner.click("=Change the role of Bob Builder")
	owner.click("dialog [value=admin]")
	owner.click("=Save")
	owner.until("the role", "[...document.querySelectorAll('.badge')].some((b) => b.innerText === 'admin')")
	bob.open("/")
	bob.see("=New project")

	// A second workspace, and back.
	s.make("workspace", "create", "--name", "Second", "--plan", "pro", "--owner-email", "ada@example.com")
	owner.switchTo("Second", "owner · pro")
	owner.gone("=Handbook")
	second, _ := ask[string](owner, "location.pathname")
	owner.switchTo("My workspace", "owner · business")
	owner.see("#tree .row[data-name=Handbook]")

	// The operator deletes the second one.
	s.make("workspace", "delete", "Second")
	owner.open(second)
	owner.arrive("This workspace was deleted")
	owner.shot("workspace-deleted")
	owner.open("/")

	owner.click("=Settings")
	owner.arrive("Settings")
	owner.shot("settings")
	owner.click("button.avatar")
	owner.click("=Account")
	owner.arrive("Account")
	owner.shot("account")
	owner.open(link)
	owner.arrive("This invitation is closed")
	owner.shot("invitation-closed")
	owner.open("/w/nowhere")
	owner.arrive("Nothing here")
	owner.shot("error")

	bob.click("button.avatar")
	bob.shot("menu")
	bob.click("=Sign out")
	bob.arrive("Sign in")
	bob.fill("[name=email]", "bob@example.com")
	bob.fill("[name=password]", "wrong")
	bob.click("button[type=submit]")
	bob.read("The e-mail or the password is wrong.")
	bob.shot("sign-in")
	bob.fill("[name=password]", password)
	bob.click("button[type=submit]")
	bob.arrive("My workspace")
}

// Two owners rename the workspace at once: the second sees both names and chooses, by the keyboard
// alone.
func TestSettings_OfTwoWhoRenameTheSecondChooses(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	other := newTab(t, s)
	other.open("/sign-in")
	other.signInHere()
	other.arrive("My workspace")
	for _, tab := range []*tab{b, other} {
		tab.click("=Settings")
		tab.arrive("Settings")
	}
	other.fill("[name=name]", "Theirs")
	other.click("=Save name")
	other.read("Workspace renamed.")
	b.fill("[name=name]", "Mine")
	b.keys(kb.Enter)
	b.read("Name: choose a version")
	b.picture("settings-two-values")
	b.tabTo("[name=keep-name]:checked")
	b.keys(kb.ArrowUp)
	b.tabTo("[name=name]")
	b.keys(kb.Enter)
	b.read("Workspace renamed.")
	b.until("the saved name", "document.querySelector('[name=name]').value === 'Theirs'")
}
