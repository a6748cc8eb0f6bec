package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// What a page of the console may cost, however much a workspace has.
const (
	maxNodes     = 3000      // elements, and the texts between them
	maxPageBytes = 150 << 10 // of a first visit: the page, and all that it loads
	maxLiveBytes = 50 << 10  // that a change makes an open page read again
	maxLiveNodes = 40        // that a change touches in it
)

// bulk adds 10,000 projects, 1,000 folders and 10,000 documents to the workspace: ten folders at the top, 90 in the first
// of them, and 900 in the first of those. Each holds projects, and as many again are at the top.
func (s *service) bulk(workspace string) {
	s.t.Helper()
	var lines strings.Builder
	lines.WriteString(`{"kind":"sheaf_export","form":1}` + "\n")
	id := func(kind, n int) string { return fmt.Sprintf("0198c0de-%04x-7000-8000-%012x", kind, n) }
	in := func(n int) string {
		switch {
		case n < 10:
			return "null"
		case n < 100:
			return quote(id(1, 0))
		}
		return quote(id(1, 10))
	}
	for n := range 1000 {
		fmt.Fprintf(&lines, `{"kind":"folder","id":%q,"name":"Folder %04d","entity_type":"project","parent_id":%s}`+"\n", id(1, n), n, in(n))
	}
	for n := range 10_000 {
		folder := "null"
		if n%2 == 0 {
			folder = quote(id(1, n/2%1000))
		}
		if n < 200 {
			folder = quote(id(1, 10))
		}
		fmt.Fprintf(&lines, `{"kind":"project","id":%q,"name":"Project %05d","icon":"rocket","color":"#2563eb","description":"What everybody should know about it","folder_id":%s}`+"\n", id(2, n), n, folder)
	}
	// And 10,000 documents in a project: half of them at its top, the others below one of each level.
	for n := range 10_000 {
		below := map[int]string{0: quote(id(3, 0)), 1: quote(id(3, 1)), 2: quote(id(3, 2501)), 3: quote(id(3, 5001)), 4: quote(id(3, 2))}[min(n/2500, 3)+n/9000]
		if n%2 == 0 {
			below = "null"
		}
		fmt.Fprintf(&lines, `{"kind":"document","id":%q,"title":"Document %05d","project_id":%q,"parent_id":%s}`+"\n", id(3, n), n, id(2, 1), below)
	}
	lines.WriteString(`{"kind":"end"}` + "\n")
	file := filepath.Join(s.t.TempDir(), "bulk.ndjson")
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.make("import", "--workspace", workspace, file)
}

// nodes is how many elements and texts the page has.
const nodes = `(() => { let n = 0; const walk = document.createTreeWalker(document, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT); while (walk.nextNode()) n++; return n })()`

// transferred is how many bytes came over the wire for the page and what it loaded, as they were compressed.
const transferred = `performance.getEntriesByType("navigation").concat(performance.getEntriesByType("resource")).reduce((sum, e) => sum + e.encodedBodySize, 0)`

// light fails the test for a page with too many nodes, and returns how many it has.
func (b *tab) light(page string) {
	b.t.Helper()
	n, ok := ask[int](b, nodes)
	if !ok || n > maxNodes {
		b.t.Errorf("%s has %d nodes", page, n)
	}
	b.t.Logf("%s has %d nodes", page, n)
}

// At 10,000 projects and 1,000 folders every page stays small, a change makes an open page read little and touch less, the tree
// is opened branch by branch, and lists are paged, ordered and filtered.
func TestScale_TenThousandProjects(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	workspace, _ := ask[string](b, "location.pathname.split('/')[2]")
	s.bulk(workspace)

	b.open("/")
	b.arrive("My workspace")
	b.light("the first page")
	b.until("the icons", "performance.getEntriesByType('resource').some((e) => e.name.includes('icons.svg'))")
	if n, ok := ask[int](b, transferred); !ok || n > maxPageBytes || n < 10_000 {
		t.Errorf("the first visit takes %d bytes", n)
	} else {
		t.Logf("the first visit takes %d bytes", n)
	}
	if n, _ := ask[int](b, "document.querySelectorAll('svg.icon :not(use)').length"); n != 0 {
		t.Errorf("%d drawings are in the page itself", n)
	}
	b.shot("scale")
	b.change(s)
	b.branches()
	b.lists()
	b.pickers(s, workspace)
	b.documentTree(workspace)
}

// documentTree opens a project with 10,000 documents, level by level. If there is no room for more rows, what was opened first is closed.
func (b *tab) documentTree(workspace string) {
	b.t.Helper()
	b.open("/w/" + workspace + "/projects/0198c0de-0002-7000-8000-000000000001")
	b.arrive("Project 00001")
	b.read("10,000 documents")
	b.read("1 to 30 of 5,000 documents")
	b.light("a project of 10,000 documents")
	rows := func(n int) {
		b.t.Helper()
		b.until(fmt.Sprint(n, " rows"), fmt.Sprint("[...document.querySelectorAll('#tree-documents .row')].filter((r) => r.checkVisibility()).length === ", n))
	}
	for i, name := range []string{"00000", "00001", "02501", "05001"} {
		b.click("#tree-documents .row[data-name='Document " + name + "'] .twist")
		rows(60 + 30*i)
	}
	b.light("its tree, as full as it gets")
	b.shot("scale-documents")
	b.open("/w/" + workspace + "/projects/0198c0de-0002-7000-8000-000000000001")
	rows(150)
	b.light("the same, from the server")
	b.click("#tree-documents .row[data-name='Document 00002'] .twist")
	rows(60)
}

// pickers opens the editor of a document whose project is not among the first choices. It is selected
// there. TestPick_ThePresentProjectIsAlwaysThere shows that saving keeps it.
func (b *tab) pickers(s *service, workspace string) {
	b.t.Helper()
	const project = "0198c0de-0002-7000-8000-00000000270f" // the last
	document := s.created("/api/v1/documents", map[string]any{"title": "Far down", "project_id": project}, "id")
	edit := "/w/" + workspace + "/documents/" + document + "/edit"
	b.open(edit)
	b.until("the present project", "document.querySelector('#project')?.selectedOptions[0]?.text === 'Project 09999'")
	b.light("the editor")
}

// watch counts what a change touches from now on, and what the page reads.
const watch = `(() => { window.touched = 0; performance.clearResourceTimings();
	new MutationObserver((all) => { for (const m of all) window.touched += Math.max(1, m.addedNodes.length + m.removedNodes.length) })
		.observe(document.body, {subtree: true, childList: true, attributes: true, characterData: true}); return true })()`

// change lets a program rename a project that the page shows, and one that it does not.
func (b *tab) change(s *service) {
	b.t.Helper()
	shown, _ := ask[string](b, "document.querySelector('.card[href*=\"/projects/\"]').href.split('/').pop()")
	ask[bool](b, watch)
	s.call(s.Key, "PATCH", "/api/v1/projects/"+shown, map[string]string{"name": "Renamed meanwhile"}, 200)
	b.until("the change", "document.querySelector('.card[href*=\"/projects/\"] strong')?.innerText === 'Renamed meanwhile' && document.querySelector('#tree .row[data-name=\"Renamed meanwhile\"]')")
	touched, _ := ask[int](b, "window.touched")
	read, _ := ask[int](b, "performance.getEntriesByType('resource').reduce((sum, e) => sum + e.encodedBodySize, 0)")
	if touched == 0 || touched > maxLiveNodes || read == 0 || read > maxLiveBytes {
		b.t.Errorf("a change touched %d nodes and made the page read %d bytes", touched, read)
	}
	b.t.Logf("a change touched %d nodes and made the page read %d bytes", touched, read)
}

// branches opens the tree branch by branch, with the mouse and with the keys; what is open stays so, and what a page shows is there.
func (b *tab) branches() {
	b.t.Helper()
	b.gone("#tree .row[data-name='Folder 0010']")
	b.click("#tree .row[data-name='Folder 0000'] .twist")
	b.see("#tree .row[data-name='Folder 0010']")
	b.read("60 more")
	ask[bool](b, "(() => { document.querySelector(`#tree .row[data-name='Folder 0010']`).focus(); return true })()")
	b.keys(kb.ArrowRight)
	b.see("#tree .row[data-name='Folder 0100']")
	b.keys(kb.ArrowRight)
	b.until("the focus on the first in it", "document.activeElement.getAttribute('aria-label') === 'Folder 0100' && document.activeElement.ariaLevel === '3'")
	b.accessible("the tree")
	// The next page shows the same folders open.
	b.open("/")
	b.arrive("My workspace")
	b.see("#tree .row[data-name='Folder 0100']")
	b.keys(kb.Home)
	b.click("#tree .row[data-name='Folder 0000'] .twist")
	b.gone("#tree .row[data-name='Folder 0100']")
	// The deepest page shows where it is, beyond what its level lists, and is small.
	b.open("/")
	b.jumpTo("0198c0de-0001-7000-8000-000000000384", "Folder 0900")
	b.arrive("Folder 0900")
	b.see("#tree .row[data-name='Folder 0900'] [aria-current=page]")
	b.light("the deepest page")
	b.click(".crumbs a[href$='00000000000a']")
	b.arrive("Folder 0010")
	b.light("the fullest page")
	b.shot("scale-folder")
}

// lists pages through a list, narrows it and orders it, without leaving the page.
func (b *tab) lists() {
	b.t.Helper()
	first := func(name string) {
		b.t.Helper()
		b.until(name+" first", "[...document.querySelectorAll('.card[href*=\"/projects/\"] strong')][0]?.innerText === "+quote(name))
	}
	b.open("/")
	b.arrive("My workspace")
	b.click("nav[aria-label='Pages of the projects'] [rel=next]")
	b.read("51 to 100 of")
	b.click("nav[aria-label='Pages of the projects'] [rel=prev]")
	b.read("1 to 50 of")
	b.fill("[data-narrowing] [name=q]", "0777")
	b.until("what is called so", "document.querySelectorAll('.card').length === 12")
	b.until("the address", "location.search === '?q=0777'")
	b.until("the reader at the field", "document.activeElement.name === 'q'")
	b.picture("scale-narrowed")
	b.fill("[data-narrowing] [name=q]", "no such thing")
	b.read("No matches")
	b.fill("[data-narrowing] [name=q]", " ")
	b.read("1 to 50 of")
	b.keys(kb.Tab)
	b.until("the order", "document.activeElement.name === 'sort'")
	b.keys("N") // newest first
	first("Project 09999")
}
