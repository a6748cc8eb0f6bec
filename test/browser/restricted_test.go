package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// D168: an owner chooses what a person sees, in the dialog of the invitation, and the person finds their
// folder and project, and forms that lead there. A change is on an open page at once.
func TestConsole_ARestrictedEditor(t *testing.T) {
	t.Parallel()
	s := startService(t)
	owner := setUp(t, s)
	owner.furnish()

	// The search of the choice keeps what was typed and ticked, and shows where a record is.
	owner.click("=Members")
	owner.arrive("Members")
	owner.click("=Invite someone")
	owner.fill("dialog [name=email]", "bob@example.com")
	owner.click("dialog [name=role][value=editor]")
	owner.gone("dialog .within [name=find-reach]")
	owner.click("dialog [name=reach][value=part]")
	owner.see("dialog .within [name=find-reach]")
	owner.shot("invite-reach")
	owner.fill("dialog [name=find-reach]", "mobile")
	owner.keys(kb.Enter)
	owner.see("dialog [aria-label='Search results']")
	owner.until("the focus in the search", find("dialog [name=find-reach]")+" === document.activeElement")
	owner.until("the path", "document.querySelector('dialog .within').innerText.includes('folder in Products')")
	owner.click("dialog [aria-label='Search results'] label")
	owner.fill("dialog [name=find-reach]", "handbook")
	owner.click("dialog [name=find]")
	owner.until("the folder that is chosen", "document.querySelectorAll('dialog [aria-label=Chosen] :checked').length === 1")
	owner.until("the project that is found", "document.querySelector('dialog [aria-label=\"Search results\"]').innerText.includes('Handbook')")
	owner.click("dialog [aria-label='Search results'] label")
	owner.until("what was typed", find("dialog [name=email]")+".value === 'bob@example.com' && "+find("dialog [name=role][value=editor]")+".checked")
	owner.shot("invite-chosen")
	owner.click("=Create link")
	owner.see(".secret code")
	link, _ := ask[string](owner, "document.querySelector('.secret code').innerText")
	owner.click("=Done")
	owner.arrive("Members")
	owner.read("sees one project, one folder and what is in it")

	bob := newTab(t, s)
	bob.open(link)
	bob.fill("[name=name]", "Bob Builder")
	bob.fill("[name=password]", password)
	bob.fill("[name=again]", password)
	bob.click("=Join")
	bob.arrive("My workspace")
	bob.read("Of this workspace you see one project, one folder and what is in it.")
	bob.see("#tree .row[data-name='Mobile app']")
	bob.see("#tree .row[data-name=Handbook]")
	for _, hidden := range []string{"#tree .row[data-name=Products]", "#tree .row[data-name=Company]", "#tree .row[data-name=Scratch]", "=New project", "=New folder", "=Webhooks", "=Keys", "#tree [popovertarget=add]"} {
		bob.gone(hidden)
	}
	bob.shot("restricted-home")

	// In their folder they make projects, and in these documents.
	bob.click("#tree .row[data-name='Mobile app'] a")
	bob.arrive("Mobile app")
	bob.gone("=Move")
	bob.gone("=Delete")
	bob.shot("restricted-folder")
	bob.click("=New project")
	bob.fill("dialog [name=name]", "Beta")
	bob.click("=Create project")
	bob.arrive("Beta")
	bob.click("=Move")
	bob.see("dialog select:focus")
	bob.until("the places", "[...document.querySelectorAll('dialog option')].map((o) => o.innerText).join() === 'Mobile app'")
	bob.keys(kb.Escape)
	bob.click("=New document")
	bob.arrive("New document")
	bob.until("the projects", "[...document.querySelectorAll('#project option')].map((o) => o.innerText).join() === 'Beta,Handbook,Release notes'")
	bob.shot("restricted-editor")
	bob.open("/")
	bob.arrive("My workspace")

	// Search and the list of Ctrl-K have what is inside.
	if bob.jumpOffers("Scratch", "Scratch") {
		t.Error("the jump offers a project outside")
	}
	bob.jumpTo("review", "How we review")
	bob.arrive("How we review")

	bob.click("=Activity")
	bob.arrive("Activity")
	bob.gone("#charts")
	bob.shot("restricted-activity")
	bob.click("=Members")
	bob.arrive("Members")
	bob.gone("=Invite someone")
	bob.shot("restricted-members")
	bob.until("no e-mail of the owner", "!document.body.innerText.includes('ada@example.com')")

	// The owner takes the project away while its page is open: it is gone without a click.
	bob.jumpTo("review", "How we review")
	bob.arrive("How we review")
	owner.click("=Members")
	owner.see("=Access of Bob Builder")
	owner.shot("members-restricted")
	owner.click("=Access of Bob Builder")
	owner.see("dialog [aria-label=Chosen]")
	owner.shot("member-access")
	owner.click("dialog [aria-label=Chosen] li:last-child label")
	owner.click("=Save")
	owner.read("sees one folder and what is in it")
	bob.arrive("Nothing here")
	bob.open("/")
	bob.arrive("My workspace")
	bob.gone("#tree .row[data-name=Handbook]")

	// Lifted, everything is there again.
	owner.click("=Access of Bob Builder")
	owner.click("dialog [name=reach][value='']")
	owner.click("=Save")
	owner.until("the list without a restriction", "!document.querySelector('main').innerText.includes('one folder')")
	bob.see("#tree .row[data-name=Scratch]")

	// The same choice for a key.
	owner.click("=Keys")
	owner.arrive("Keys")
	owner.click("=New key")
	owner.fill("dialog [name=name]", "Site builder")
	owner.click("dialog [name=reach][value=part]")
	owner.shot("key-reach")
	owner.click("dialog [aria-label='Projects and folders'] li:first-child label")
	owner.click("=Create key")
	owner.see(".secret code")
	if key, _ := ask[string](owner, "document.querySelector('#made-key').innerText"); !strings.HasPrefix(key, "shf_") {
		t.Errorf("the key is %q", key)
	}
	owner.click("=Done")
	owner.read("sees one folder and what is in it")
}
