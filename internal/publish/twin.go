package publish

import (
	"bytes"
	"fmt"
	"strings"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// If search engines may list the pages of a share, the pages are for programs too. Only such a share has:
//
//	/s/TOKEN/index.md       the first page as Markdown, its twin
//	/s/TOKEN/ID.md          the twin of the page /s/TOKEN/ID
//	/s/TOKEN/llms.txt       a list of the twins, as llmstxt.org describes it
//	/s/TOKEN/sitemap.xml    a list of the pages, as sitemaps.org describes it
//
// All of them read what the pages read, by the same methods of app, so they show nothing else. Requests
// for them do not count as views: most programs read everything.

const (
	twinEnd   = ".md"
	frontTwin = "/index" + twinEnd
)

// alternates are the addresses that a page names in its head for programs. The zero value is none.
type alternates struct{ Twin, List, Sitemap string }

// alternates returns the alternates of a page of the share.
func (v *visit) alternates(page string) alternates {
	if !v.listed() {
		return alternates{}
	}
	return alternates{v.twinOf(page), v.home() + "/llms.txt", v.home() + "/sitemap.xml"}
}

// twinOf returns the address of the twin of a page.
func (v *visit) twinOf(page string) string {
	path, query, paged := strings.Cut(page, "?")
	if path == v.home() {
		path += frontTwin
	} else {
		path += twinEnd
	}
	if paged {
		path += "?" + query
	}
	return path
}

// absolute returns an address of the share with the scheme and the host of the service.
func (v *visit) absolute(address string) string {
	return v.share.URL + strings.TrimPrefix(address, v.home())
}

// twinFront answers with the twin of the first page.
func (v *visit) twinFront() error {
	if !v.listed() {
		return errNothing
	}
	id := v.share.ResourceID
	switch v.share.ResourceType {
	case sheaf.ShareOfFolder:
		return v.twinFolder(sheaf.FolderID(id))
	case sheaf.ShareOfProject:
		return v.twinProject(sheaf.ProjectID(id), v.home())
	}
	return v.twinDocument(sheaf.DocumentID(id), v.home())
}

// twin answers with the twin of what document shows.
func (v *visit) twin() error {
	if !v.listed() {
		return errNothing
	}
	v.r.SetPathValue("document", strings.TrimSuffix(v.r.PathValue("document"), twinEnd))
	id, err := v.belowID()
	if err != nil {
		return err
	}
	return v.firstOf(
		func() error { return v.twinDocument(sheaf.DocumentID(id), v.below(id)) },
		func() error { return v.twinProject(sheaf.ProjectID(id), v.below(id)) },
		func() error { return v.twinFolder(sheaf.FolderID(id)) })
}

// keepTwin answers with the twin of a page.
func (v *visit) keepTwin(body []byte, page string) error {
	body = append(bytes.TrimRight(body, "\n"), '\n')
	return v.keepAnswer(&answer{body: body, kind: markdownType, of: v.absolute(page)})
}

// twinDocument answers with a document as its page shows it: the title, the description and the text, whose
// links lead where those of the page lead. Without a text, it lists the documents directly below.
func (v *visit) twinDocument(id sheaf.DocumentID, page string) error {
	d, err := v.publisher.App.SharedDocument(v.r.Context(), v.share, id)
	if err != nil {
		return err
	}
	text, err := v.publisher.Render.Page(v.AwaitTurn, d.Content)
	if err != nil {
		return crowded(err)
	}
	refs, err := v.refs(id, text)
	if err != nil {
		return err
	}
	document, medium := refs.Document, refs.Media
	refs.Title = d.Title
	refs.Document = func(id string) string {
		if found := document(id); found != "" {
			return v.absolute(found)
		}
		return ""
	}
	refs.Media = func(id string) string { return v.absolute(medium(id)) }
	var b bytes.Buffer
	title := d.Title
	if _, left := text.Titled(title); !left && titled(text, title) {
		title = "" // the text shows it
	}
	begin(&b, title, d.Description)
	content := bytes.Trim(text.Markdown(d.Content, refs), "\n")
	if len(content) > 0 {
		fmt.Fprintf(&b, "%s\n", content)
	} else if d.Project != nil {
		for _, e := range placeOf(d.Tree, d.ID, int64(len(d.Tree)) == d.Project.DocumentCount).Below {
			v.item(&b, 0, e.Title, v.documentAddress(e.ID), "")
		}
	}
	return v.keepTwin(b.Bytes(), page)
}

// twinProject answers with the contents of a project, whose page is `home`.
func (v *visit) twinProject(id sheaf.ProjectID, home string) error {
	p, list, n, err := v.contents(id)
	if err != nil {
		return err
	}
	address := func(page int) string { return pageAddress(home, page) }
	var b bytes.Buffer
	begin(&b, p.Name, p.Description)
	for _, d := range list {
		v.item(&b, d.Level-1, d.Title, v.documentAddress(d.ID), textOf(d.Description))
	}
	v.rest(&b, pagesOf(n, documentsPerPage, p.Documents.Total, address))
	return v.keepTwin(b.Bytes(), address(n))
}

// twinFolder answers with the contents of a folder.
func (v *visit) twinFolder(id sheaf.FolderID) error {
	f, list, n, err := v.folderContents(id)
	if err != nil {
		return err
	}
	address := func(page int) string { return pageAddress(v.folderAddress(id), page) }
	var b bytes.Buffer
	begin(&b, f.Name, nil)
	for _, e := range list {
		v.item(&b, 0, e.Title, e.Address, e.Note)
	}
	v.rest(&b, pagesOf(n, app.SitePage, f.Total, address))
	return v.keepTwin(b.Bytes(), address(n))
}

// item writes a page in a list of pages, with a link to its twin.
func (v *visit) item(b *bytes.Buffer, level int, title, page, note string) {
	fmt.Fprintf(b, "%s- [%s](%s)", strings.Repeat("  ", level), named(title), v.absolute(v.twinOf(page)))
	if note = words(note); note != "" {
		b.WriteString(": " + note)
	}
	b.WriteByte('\n')
}

// rest writes links to the pages of a list before and after this one.
func (v *visit) rest(b *bytes.Buffer, p pager) {
	for _, link := range []struct{ name, page string }{{"Previous page", p.Previous}, {"Next page", p.Next}} {
		if link.page != "" {
			fmt.Fprintf(b, "\n[%s](%s)\n", link.name, v.absolute(v.twinOf(link.page)))
		}
	}
}
