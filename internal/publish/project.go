package publish

import (
	"fmt"
	"strconv"
	"strings"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// documentsPerPage is the number of documents on a page of a project's contents.
const documentsPerPage = 200

// maxPage limits the page number, so that no offset overflows.
const maxPage = 1_000_000

// projectPage is the data of the contents of a project.
type projectPage struct {
	app.SharedProject
	Crumbs []crumb
	List   []contentsEntry
	Raw    string // address of its Markdown
	Pages  pager
	Beside neighbours
}

// contentsEntry is a document in the contents of a project, with its level in the tree.
type contentsEntry struct {
	sheaf.Document
	Level int
}

// pager has the addresses of the previous and the next page, or "".
type pager struct{ Previous, Next string }

// pagesOf returns the pager of a list. address returns the address of a page by its number.
func pagesOf(number, size int, total int64, address func(page int) string) (p pager) {
	if number > 1 {
		p.Previous = address(number - 1)
	}
	if int64(number)*int64(size) < total {
		p.Next = address(number + 1)
	}
	return p
}

// number returns the requested page number, or NotFound if it is not valid.
func (v *visit) number() (int, error) {
	text := v.r.URL.Query().Get("page")
	if text == "" {
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxPage {
		return 0, errNothing
	}
	return n, nil
}

// contents reads a page of a shared project's documents, and returns its number. After the last page
// it returns NotFound.
func (v *visit) contents(id sheaf.ProjectID) (p app.SharedProject, list []contentsEntry, n int, err error) {
	if n, err = v.number(); err != nil {
		return p, nil, 0, err
	}
	p, err = v.publisher.App.SharedProject(v.r.Context(), v.share, id, sheaf.Paging{Limit: documentsPerPage, Offset: (n - 1) * documentsPerPage})
	if err == nil && n > 1 && len(p.Documents.Items) == 0 {
		err = errNothing
	}
	for i, d := range p.Documents.Items {
		level := 1
		if at := p.Documents.Offset + i; at < len(p.Tree) {
			level = p.Tree[at].Depth
		}
		list = append(list, contentsEntry{d, level})
	}
	return p, list, n, err
}

// project shows the contents of a shared project, whose address is `home`.
func (v *visit) project(id sheaf.ProjectID, home string) error {
	p, list, n, err := v.contents(id)
	if err != nil {
		return err
	}
	data := projectPage{SharedProject: p, List: list, Raw: home + "/raw",
		Pages: pagesOf(n, documentsPerPage, p.Documents.Total, func(page int) string { return fmt.Sprintf("%s?page=%d", home, page) })}
	l := layout{Title: p.Name, Description: described(p.Description, ""), URL: v.share.URL + strings.TrimPrefix(home, v.home()), Listed: v.indexed(),
		Home: v.home(), Project: p.Name, Brand: v.brandOf(p.Branding),
		Icon: v.iconOf(&p.Project, p.Branding), Picture: v.pictureOf(p.Branding, "", nil), For: v.alternates(pageAddress(home, n))}
	if p.Site != nil {
		l.Project, l.Tree, data.Crumbs = p.Site.Top.Name, v.siteNavigation(p.Site, id, string(id)), v.crumbs(p.Site, p.Site.Path)
		if data.Pages == (pager{}) {
			data.Beside = neighbours{v.home(), p.Site.Previous, p.Site.Next}
		}
	}
	body, err := v.page("project", l, data)
	if err != nil {
		return err
	}
	return v.keep(body, htmlType, l.Brand)
}

// rawProject answers with the contents of a project as Markdown.
func (v *visit) rawProject(id sheaf.ProjectID) error {
	p, list, _, err := v.contents(id)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", oneLine(p.Name))
	if p.Description != nil {
		fmt.Fprintf(&b, "\n%s\n", *p.Description)
	}
	if len(list) > 0 {
		b.WriteString("\n")
	}
	for _, d := range list {
		fmt.Fprintf(&b, "%s- [%s](%s/%s/raw)\n", strings.Repeat("  ", d.Level-1), linkText(d.Title), v.share.URL, d.ID)
	}
	return v.keep([]byte(b.String()), markdownType, pageBrand{})
}

// oneLine returns a text on one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// linkText escapes a text for use in a Markdown link.
func linkText(s string) string {
	return strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, "`", "\\`", `*`, `\*`, `_`, `\_`, `<`, `\<`).Replace(oneLine(s))
}
