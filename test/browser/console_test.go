package browser

import "testing"

// password is good enough for a test.
const password = "correct horse battery"

// setUp opens the set-up link and chooses a password, as the first person does.
func setUp(t *testing.T, s *service) *tab {
	t.Helper()
	b := newTab(t, s)
	b.open(s.SetupLink)
	b.fill("[name=name]", "Ada")
	b.fill("[name=email]", "ada@example.com")
	b.fill("[name=password]", password)
	b.fill("[name=again]", password)
	b.click("=Finish setup")
	b.arrive("My workspace")
	return b
}

// newFolder and newProject make what a person makes with the buttons of a page.
func (b *tab) newFolder(name string) {
	b.t.Helper()
	b.click("=New folder")
	b.fill("dialog [name=name]", name)
	b.click("=Create folder")
	b.arrive(name)
}

// arrive waits for the page of that heading. A link that was clicked and did not lead there is clicked again, as a person
// would.
func (b *tab) arrive(heading string) {
	b.t.Helper()
	there := "document.querySelector('h1')?.innerText === " + quote(heading) + " && !document.querySelector('dialog[open]') && document.readyState === 'complete'"
	link := b.link
	for n := 0; n < 5 && link != "" && !b.soon(there); n++ {
		b.again(link)
	}
	b.link = ""
	b.until("the page "+heading, there)
}

func (b *tab) newProject(name, icon string) {
	b.t.Helper()
	b.click("=New project")
	b.fill("dialog [name=name]", name)
	b.fill("dialog [data-filter-icons]", icon)
	b.click("dialog label[data-name=" + icon + "]")
	b.click("=Create project")
	b.arrive(name)
}

func TestConsole_FromTheSetUpLinkToAProjectInAFolder(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := newTab(t, s)
	b.open(s.SetupLink)
	b.shot("setup")
	b = setUp(t, s)
	b.shot("overview-empty")
	b.open(s.SetupLink)
	b.arrive("This link is closed")
	b.shot("setup-closed")
	b.open("/")
	b.arrive("My workspace")

	b.peek("=New folder", "folder-form")
	b.newFolder("Products")
	b.picture("folder-empty")
	b.click("=All projects")
	b.arrive("My workspace")
	b.peek("=New project", "project-form")
	b.newProject("Handbook", "book-open")
	b.picture("project-empty")

	b.drag("#tree .row[data-name=Handbook] a", "#tree .row[data-name=Products] a")
	b.see("#tree li:has(> .row[data-name=Products]) ul .row[data-name=Handbook]")
	b.read("Moved Handbook to Products.")
	// The page of the project says so too, and so does the server.
	b.see(".crumbs a[href*='/folders/']")
	b.open("/")
	b.arrive("My workspace")
	b.see("#tree li:has(> .row[data-name=Products]) ul .row[data-name=Handbook]")
	b.shot("overview")

	// A folder is dragged as well, and gets another name and colour.
	b.newFolder("Company")
	b.drag("#tree .row[data-name=Company] a", "#tree .row[data-name=Products] a")
	b.read("Moved Company to Products.")
	b.click("=Edit")
	b.fill("dialog [name=name]", "Firm")
	b.click("dialog label[title=Teal]")
	b.click("=Save")
	b.arrive("Firm")
	b.see("#tree li:has(> .row[data-name=Products]) ul .row[data-name=Firm] svg[color='#0d9488']")
	b.gone("#tree .row[data-name=Company]")
}
