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
	Home  string
	List  []contentsEntry
	Pages pager
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

// contents reads a page of the shared project's documents, and returns its number. After the last page
// it returns NotFound.
func (v *visit) contents() (p app.SharedProject, list []contentsEntry, n int, err error) {
	if n, err = v.number(); err != nil {
		return p, nil, 0, err
	}
	p, err = v.publisher.App.SharedProject(v.r.Context(), v.share, sheaf.Paging{Limit: documentsPerPage, Offset: (n - 1) * documentsPerPage})
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

// project shows the contents of the shared project.
func (v *visit) project() error {
	p, list, n, err := v.contents()
	if err != nil {
		return err
	}
	data := projectPage{SharedProject: p, Home: v.home(), List: list,
		Pages: pagesOf(n, documentsPerPage, p.Documents.Total, func(page int) string { return fmt.Sprintf("%s?page=%d", v.home(), page) })}
	l := layout{Title: p.Name, Description: described(p.Description, ""), URL: v.share.URL, Listed: v.listed(), Home: v.home(), Project: p.Name, Brand: v.brandOf(p.Branding)}
	body, err := v.page("project", l, data)
	if err != nil {
		return err
	}
	return v.keep(body, htmlType, l.Brand)
}

// rawProject answers with the contents of the project as Markdown.
func (v *visit) rawProject() error {
	p, list, _, err := v.contents()
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
