package publish

import (
	"html/template"
	"io"
	"slices"
	"strings"

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
	Titled  bool // the text begins with its title
	Outline []render.Heading
	Raw     string // address of its Markdown
	Home    string
	Place   place
	Tree    []*navItem // pages of the project
}

// front shows the first page of a share: its document, or the contents of its project.
func (v *visit) front() error {
	if v.share.ResourceType == sheaf.ShareOfProject {
		return v.project()
	}
	return v.showDocument(sheaf.DocumentID(v.share.ResourceID), v.home()+"/raw")
}

// document shows a document of a shared project.
func (v *visit) document() error {
	id, err := v.documentID()
	if err != nil {
		return err
	}
	return v.showDocument(id, v.home()+"/"+string(id)+"/raw")
}

// documentID returns the document in the path. It returns NotFound if the id is not written as we
// write it, or if the share is of a single document: every page has one address.
func (v *visit) documentID() (sheaf.DocumentID, error) {
	id, err := v.id("document")
	if err != nil || v.share.ResourceType != sheaf.ShareOfProject {
		return "", errNothing
	}
	return sheaf.DocumentID(id), nil
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
	data := documentPage{Document: d.Document, HTML: template.HTML(text.HTML(refs)), Raw: raw, Home: v.home(), // #nosec G203 -- what render wrote
		Titled: titled(text, d.Title), Outline: outline(text)}
	l := layout{Title: d.Title, Description: described(d.Description, text.Opening()), URL: v.share.URL, Listed: v.listed(), Brand: v.brandOf(d.Branding)}
	if d.Project != nil {
		l.Home, l.Project, l.URL = v.home(), d.Project.Name, v.share.URL+"/"+string(d.ID)
		data.Place, data.Tree = placeOf(d.Tree, d.ID, int64(len(d.Tree)) == d.Project.DocumentCount), v.navigation(d.Tree, d.ID)
		l.Tree = data.Tree
	}
	body, err := v.page("document", l, data)
	if err != nil {
		return err
	}
	return v.keep(body, htmlType, l.Brand)
}

// listed reports whether search engines may list the page.
func (v *visit) listed() bool { return v.share.Listed && v.share.PasswordHash == "" }

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

// titled reports whether a text begins with a heading that is the title. Then the title is not
// shown twice.
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
// of the project.
func (v *visit) rawFront() error {
	if v.share.ResourceType == sheaf.ShareOfProject {
		return v.rawProject()
	}
	return v.rawDocument(sheaf.DocumentID(v.share.ResourceID))
}

// raw answers with the Markdown of a document of a shared project.
func (v *visit) raw() error {
	id, err := v.documentID()
	if err != nil {
		return err
	}
	return v.rawDocument(id)
}

func (v *visit) rawDocument(id sheaf.DocumentID) error {
	d, err := v.publisher.App.SharedDocument(v.r.Context(), v.share, id)
	if err != nil {
		return err
	}
	return v.keep([]byte(d.Content), markdownType, pageBrand{})
}
