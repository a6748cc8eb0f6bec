package publish

import (
	"fmt"
	"strconv"
	"strings"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// documentsPerPage is how many documents a page of a project's contents has.
const documentsPerPage = 200

// maxPage bounds the number of a page, so that no offset is out of bounds.
const maxPage = 1_000_000

// projectPage is the data of the contents of a project.
type projectPage struct {
	app.SharedProject
	Home  string
	First int // the number of the first document of this page, from 1 on
	Pages pager
}

// pager leads to the pages before and behind this one; an empty address is none.
type pager struct{ Before, Behind string }

// pagesOf returns the way to the other pages of a list; address is that of the page with a number.
func pagesOf(number, size int, total int64, address func(page int) string) (p pager) {
	if number > 1 {
		p.Before = address(number - 1)
	}
	if int64(number)*int64(size) < total {
		p.Behind = address(number + 1)
	}
	return p
}

// number returns which page is asked for. One that cannot be is nothing.
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

// contents reads a page of the shared project's documents. One behind the last is nothing.
func (v *visit) contents() (app.SharedProject, int, error) {
	n, err := v.number()
	if err != nil {
		return app.SharedProject{}, 0, err
	}
	p, err := v.publisher.App.SharedProject(v.r.Context(), v.share, sheaf.Paging{Limit: documentsPerPage, Offset: (n - 1) * documentsPerPage})
	if err == nil && n > 1 && len(p.Documents.Items) == 0 {
		err = errNothing
	}
	return p, n, err
}

// project shows the contents of the shared project.
func (v *visit) project() error {
	p, n, err := v.contents()
	if err != nil {
		return err
	}
	data := projectPage{SharedProject: p, Home: v.home(), First: (n-1)*documentsPerPage + 1,
		Pages: pagesOf(n, documentsPerPage, p.Documents.Total, func(page int) string { return fmt.Sprintf("%s?page=%d", v.home(), page) })}
	l := layout{Title: p.Name, Description: described(p.Description, ""), URL: v.share.URL, Listed: v.listed(), Home: v.home(), Project: p.Name, Look: v.lookOf(p.Look)}
	body, err := v.page("project", l, data)
	if err != nil {
		return err
	}
	return v.keep(body, htmlType, l.Look)
}

// rawProject answers with the contents of the project as Markdown.
func (v *visit) rawProject() error {
	p, _, err := v.contents()
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", oneLine(p.Name))
	if p.Description != nil {
		fmt.Fprintf(&b, "\n%s\n", *p.Description)
	}
	if len(p.Documents.Items) > 0 {
		b.WriteString("\n")
	}
	for _, d := range p.Documents.Items {
		fmt.Fprintf(&b, "- [%s](%s/%s/raw)\n", linkText(d.Title), v.share.URL, d.ID)
	}
	return v.keep([]byte(b.String()), markdownType, pageLook{})
}

// oneLine is a text that stands in one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// linkText is a text that Markdown shows as it is, within a link.
func linkText(s string) string {
	return strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, "`", "\\`", `*`, `\*`, `_`, `\_`, `<`, `\<`).Replace(oneLine(s))
}
