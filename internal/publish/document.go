package publish

import (
	"cmp"
	"html/template"
	"io"
	"slices"
	"strings"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/render"
	"sheaf.dev/internal/sheaf"
)

// outlineFrom is the number of headings from which a document has a table of contents.
const outlineFrom = 3

// documentPage is the data of the page of a document.
type documentPage struct {
	sheaf.Document
	HTML    template.HTML
	Titled  bool   // the text shows its title, as its first heading
	ID      string // of that heading, if the page shows the title instead
	Outline []render.Heading
	Raw     string // address of its Markdown
	Home    string
	Place   place
	Beside  neighbours
	Crumbs  []crumb    // pages above it
	Tree    []*navItem // pages of the project or the folder
}

// front shows the first page of a share: its document, or the contents of its project or folder.
func (v *visit) front() error {
	switch v.share.ResourceType {
	case sheaf.ShareOfFolder:
		return v.folder(sheaf.FolderID(v.share.ResourceID))
	case sheaf.ShareOfProject:
		return v.project(sheaf.ProjectID(v.share.ResourceID), v.home())
	}
	return v.showDocument(sheaf.DocumentID(v.share.ResourceID), v.home()+"/raw")
}

// document shows a document of a shared project or folder; in a folder also a project or another
// folder.
func (v *visit) document() error {
	id, err := v.belowID()
	if err != nil {
		return err
	}
	err = v.firstOf(
		func() error { return v.showDocument(sheaf.DocumentID(id), v.below(id)+"/raw") },
		func() error { return v.project(sheaf.ProjectID(id), v.below(id)) },
		func() error { return v.folder(sheaf.FolderID(id)) })
	if sheaf.KindOf(err) == sheaf.NotFound {
		return v.notInRelease(err)
	}
	return err
}

// firstOf answers with a document. In a shared folder, it answers with a project or a folder if
// there is no document.
func (v *visit) firstOf(document, project, folder func() error) error {
	err := document()
	if v.share.ResourceType == sheaf.ShareOfFolder {
		for _, next := range []func() error{project, folder} {
			if sheaf.KindOf(err) == sheaf.NotFound {
				err = next()
			}
		}
	}
	return err
}

// belowID returns the id in the path. It returns NotFound if the id is not written as we write it,
// or if it is that of the shared record, whose address ends before it: every page has one address.
func (v *visit) belowID() (string, error) {
	id, err := v.id("document")
	if err != nil || v.share.ResourceType == sheaf.ShareOfDocument || id == v.share.ResourceID {
		return "", errNothing
	}
	return id, nil
}

// id returns an identifier in the path. It must be written as we write it.
func (v *visit) id(name string) (string, error) {
	id := v.r.PathValue(name)
	if known, ok := sheaf.ParseUUID(id); !ok || known != id {
		return "", errNothing
	}
	return id, nil
}

// showDocument shows a document that the share shows.
func (v *visit) showDocument(id sheaf.DocumentID, raw string) error {
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
	refs.Selves, refs.Title = true, d.Title
	data := documentPage{Document: d.Document, HTML: template.HTML(text.HTML(refs)), Raw: raw, Home: v.home(), // #nosec G203 -- what render wrote
		Outline: outline(text)}
	var left bool
	data.ID, left = text.Titled(d.Title)
	data.Titled = !left && titled(text, d.Title)
	l := layout{Title: d.Title, Description: described(d.Description, text.Opening()), URL: v.share.URL, Listed: v.indexed(), Brand: v.brandOf(d.Branding),
		Icon: v.iconOf(d.Project, d.Branding), Picture: v.pictureOf(d.Branding, d.ID, text)}
	l.For = v.alternates(v.home())
	if d.Project != nil {
		l.Home, l.Project, l.URL = v.home(), d.Project.Name, v.share.URL+"/"+string(d.ID)
		l.For = v.alternates(v.documentAddress(d.ID))
		v.place(&data, d)
		l.Tree = data.Tree
	}
	if d.Site != nil {
		l.Project = d.Site.Top.Name
	}
	body, err := v.page("document", l, data)
	if err != nil {
		return err
	}
	return v.keep(body, htmlType, l.Brand)
}

// place sets what the page of a document shows around it.
func (v *visit) place(page *documentPage, d app.SharedDocument) {
	p := placeOf(d.Tree, d.ID, int64(len(d.Tree)) == d.Project.DocumentCount)
	if d.Site == nil {
		page.Tree = v.navigation(d.Tree, d.ID)
		if len(p.Above) > 0 {
			page.Crumbs = []crumb{{d.Project.Name, v.home()}}
		}
	} else {
		page.Tree = v.siteNavigation(d.Site, d.Project.ID, string(d.ID))
		page.Crumbs = append(v.crumbs(d.Site, d.Site.Path), crumb{d.Project.Name, v.below(string(d.Project.ID))})
		p.Previous, p.Next = cmp.Or(p.Previous, d.Site.Previous), cmp.Or(p.Next, d.Site.Next)
	}
	for _, above := range p.Above {
		page.Crumbs = append(page.Crumbs, crumb{above.Title, v.documentAddress(above.ID)})
	}
	page.Place, page.Beside = p, neighbours{v.home(), p.Previous, p.Next}
}

// listed reports whether the share is for search engines and programs.
func (v *visit) listed() bool { return v.share.Listed && v.share.PasswordHash == "" }

// indexed reports whether search engines may list the page. Pages of a release to which readers switch would
// compete with the share's own.
func (v *visit) indexed() bool { return v.listed() && v.switched == "" }

// refs returns the addresses for a document's links: to other documents that the share shows, and
// to its media. Links to anything else become plain text.
func (v *visit) refs(in sheaf.DocumentID, text *render.Page) (render.Refs, error) {
	var ids []sheaf.DocumentID
	for _, id := range text.Documents() {
		ids = append(ids, sheaf.DocumentID(id))
	}
	shown, err := v.publisher.App.SharedDocuments(v.r.Context(), v.share, ids)
	return render.Refs{
		Document: func(id string) string {
			switch {
			case !shown[sheaf.DocumentID(id)]:
				return ""
			case v.share.ResourceType == sheaf.ShareOfDocument:
				return v.home()
			}
			return v.documentAddress(sheaf.DocumentID(id))
		},
		Media: func(id string) string { return v.home() + "/" + string(in) + "/media/" + id },
	}, err
}

// medium answers with a picture, or another file, in the text of a document of the share.
func (v *visit) medium() error {
	ctx := v.r.Context()
	in, err := v.id("document")
	if err != nil {
		return err
	}
	id, err := v.id("medium")
	if err != nil {
		return err
	}
	m, content, err := v.publisher.App.SharedMedium(ctx, v.share, sheaf.DocumentID(in), sheaf.MediumID(id),
		func(text string) (bool, error) {
			page, err := v.publisher.Render.Page(v.AwaitTurn, text)
			return err == nil && slices.Contains(page.Media(), id), crowded(err)
		})
	if err != nil {
		return err
	}
	return v.serveMedium(m, content)
}

// serveMedium answers with a file. The bytes at its address never change.
func (v *visit) serveMedium(m sheaf.Medium, content io.ReadSeekCloser) error {
	defer content.Close()
	if v.share.PasswordHash == "" {
		v.Header().Set("Cache-Control", "private, max-age=3600")
	}
	return v.ServeFile(front.File{Name: m.Filename, Type: m.ContentType, Inline: m.Inline(), Tag: m.SHA256, Content: content})
}

// titled reports whether a text begins with a heading that is the title. If the page cannot leave that
// heading out, because it has a link or a picture, the page leaves out its own.
func titled(text *render.Page, title string) bool {
	h := text.Headings()
	return len(h) > 0 && h[0].First && h[0].Level == 1 && strings.EqualFold(h[0].Text, strings.Join(strings.Fields(title), " "))
}

// outline returns the headings of the two highest levels below the title, if there are at least
// outlineFrom.
func outline(text *render.Page) []render.Heading {
	var below []render.Heading
	top := 7
	for _, h := range text.Headings() {
		if !(h.First && h.Level == 1) && h.Text != "" {
			below = append(below, h)
			top = min(top, h.Level)
		}
	}
	var out []render.Heading
	for _, h := range below {
		if h.Level <= top+1 {
			h.Level -= top - 1 // 1 or 2
			out = append(out, h)
		}
	}
	if len(out) < outlineFrom {
		return nil
	}
	return out
}

// described returns the text of a link preview: the description, or the start of the text.
func described(description *string, opening string) string {
	if description != nil && *description != "" {
		return *description
	}
	return opening
}

// rawFront answers with the Markdown of the first page: the text of the document, or the contents
// of the project or folder.
func (v *visit) rawFront() error {
	switch v.share.ResourceType {
	case sheaf.ShareOfFolder:
		return v.rawFolder(sheaf.FolderID(v.share.ResourceID))
	case sheaf.ShareOfProject:
		return v.rawProject(sheaf.ProjectID(v.share.ResourceID))
	}
	return v.rawDocument(sheaf.DocumentID(v.share.ResourceID))
}

// raw answers with the Markdown of what document shows.
func (v *visit) raw() error {
	id, err := v.belowID()
	if err != nil {
		return err
	}
	return v.firstOf(
		func() error { return v.rawDocument(sheaf.DocumentID(id)) },
		func() error { return v.rawProject(sheaf.ProjectID(id)) },
		func() error { return v.rawFolder(sheaf.FolderID(id)) })
}

func (v *visit) rawDocument(id sheaf.DocumentID) error {
	d, err := v.publisher.App.SharedDocument(v.r.Context(), v.share, id)
	if err != nil {
		return err
	}
	return v.keep([]byte(d.Content), markdownType, pageBrand{})
}
