package console

import (
	"html/template"
	"net/http"
	"slices"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/render"
	"sheaf.dev/internal/sheaf"
)

// releasedPage is the data of release-document.html: a document as a release has it.
type releasedPage struct {
	Release    sheaf.Release
	Document   sheaf.Document
	HTML       template.HTML     // of its text, without its title
	Heading    string            // id of the title in the text
	Above      []sheaf.TreeEntry // the documents above it in the release, the top one first
	Prev, Next *sheaf.TreeEntry  // its neighbours in reading order; nil for none
	Now        bool              // the document still exists
}

// releasedID returns the identifier of a record in a release from the path. A malformed one is NotFound,
// like an unknown one.
func releasedID[T ~string](v *visit, noun string) (T, error) {
	s, ok := sheaf.ParseUUID(v.r.PathValue(noun))
	if !ok {
		return "", sheaf.Missing(noun)
	}
	return T(s), nil
}

// released finds the release and the document in the path.
func (v *visit) released() (r sheaf.Release, d sheaf.DocumentText, err error) {
	if r, err = find(v, "release", v.console.app.Release); err != nil {
		return r, d, err
	}
	id, err := releasedID[sheaf.DocumentID](v, "document")
	if err != nil {
		return r, d, err
	}
	d, err = v.console.app.ReleasedDocument(v.r.Context(), v.caller, r.ID, id)
	return r, d, err
}

// releasedDocument answers GET /w/{workspace}/releases/{id}/documents/{document}: a document as a
// release has it.
func (c *Console) releasedDocument(v *visit) error {
	r, d, err := v.released()
	if err != nil {
		return err
	}
	tree, err := c.app.ReleaseTree(v.r.Context(), v.caller, r.ID)
	if err != nil {
		return err
	}
	p := releasedPage{Release: r, Document: d.Document}
	p.setPlace(tree)
	if p.HTML, p.Heading, err = v.renderReleased(r, d, tree); err != nil {
		return err
	}
	if p.Now, err = v.exists(d.ID); err != nil {
		return err
	}
	return v.showWithTree(http.StatusOK, "release-document", string(r.ProjectID), p)
}

// exists reports whether the person sees the document, and it is not deleted.
func (v *visit) exists(id sheaf.DocumentID) (bool, error) {
	_, err := v.console.app.Document(v.r.Context(), v.caller, id)
	if sheaf.KindOf(err) == sheaf.NotFound {
		return false, nil
	}
	return err == nil, err
}

// setPlace sets what is above and beside the document in the release.
func (p *releasedPage) setPlace(tree []sheaf.TreeEntry) {
	at := slices.IndexFunc(tree, func(e sheaf.TreeEntry) bool { return e.ID == p.Document.ID })
	if at < 0 {
		return
	}
	if at > 0 {
		p.Prev = &tree[at-1]
	}
	if at+1 < len(tree) {
		p.Next = &tree[at+1]
	}
	// In reading order, the nearest entry before one that is a level higher is the document above it.
	depth := tree[at].Depth
	for i := at - 1; i >= 0 && depth > 1; i-- {
		if tree[i].Depth < depth {
			depth = tree[i].Depth
			p.Above = slices.Insert(p.Above, 0, tree[i])
		}
	}
}

// renderReleased renders a text of a release, as renderText does. A link leads to the document in the
// release, if the release has it. Media are those of the release.
func (v *visit) renderReleased(r sheaf.Release, d sheaf.DocumentText, tree []sheaf.TreeEntry) (template.HTML, string, error) {
	has := make(map[string]bool, len(tree))
	for i := range tree {
		has[string(tree[i].ID)] = true
	}
	return v.renderWith(d.Content, d.Title, render.Refs{
		Document: func(id string) string {
			if has[id] {
				return v.at("releases", string(r.ID), "documents", id)
			}
			return v.at("documents", id)
		},
		Media: func(id string) string { return v.at("releases", string(r.ID), "media", id, "content") },
	})
}

// releasedMedium answers GET /w/{workspace}/releases/{id}/media/{medium}/content: the bytes of a file
// that a text of the release names.
func (c *Console) releasedMedium(v *visit) error {
	r, err := find(v, "release", c.app.Release)
	if err != nil {
		return err
	}
	id, err := releasedID[sheaf.MediumID](v, "medium")
	if err != nil {
		return err
	}
	m, err := c.app.ReleasedMedium(v.r.Context(), v.caller, r.ID, id)
	if err != nil {
		return err
	}
	content, err := c.app.ContentOf(v.r.Context(), v.caller, m)
	if err != nil {
		return err
	}
	defer content.Close()
	v.Header().Set("Cache-Control", "private, no-cache")
	return v.ServeFile(front.File{Name: m.Filename, Type: m.ContentType, Inline: m.Inline(), Tag: m.SHA256, Content: content})
}

// releasedDiff is the data of release-document-compare.html: a document in two states.
type releasedDiff struct {
	Release  sheaf.Release  // the earlier state
	To       *sheaf.Release // the later state; nil: the document as it is now
	From     sheaf.Document
	Then     sheaf.Document // as the later state has it
	Compared []changedField // fields that differ
	Diff     diffLines
	Note     string // why there is no diff
}

// compareReleased answers GET /w/{workspace}/releases/{id}/documents/{document}/compare: how a document
// differs from what the release has. The parameter "to" is the id of a later release. Without it, or if it
// is "present", the document as it is now is compared.
func (c *Console) compareReleased(v *visit) error {
	r, before, err := v.released()
	if err != nil {
		return err
	}
	p := releasedDiff{Release: r, From: before.Document}
	after, err := v.laterText(&p)
	if err != nil {
		return err
	}
	p.Then = after.Document
	for _, f := range []changedField{{"Title", before.Title, after.Title}, {"Description", text(before.Description), text(after.Description)}} {
		if f.Before != f.After {
			p.Compared = append(p.Compared, f)
		}
	}
	unified, err := app.DiffTexts(before.Content, after.Content)
	switch {
	case sheaf.KindOf(err) == sheaf.Invalid:
		p.Note = "A text is too long to be compared here. Read both, and compare them yourself."
	case err != nil:
		return err
	case unified == "" && len(p.Compared) > 0:
		p.Note = "The text is the same."
	case unified == "":
		p.Note = "Title, description and text are the same."
	}
	p.Diff = readDiff(unified)
	return v.showWithTree(http.StatusOK, "release-document-compare", string(r.ProjectID), p)
}

// laterText returns the document as the later state has it, and sets that state.
func (v *visit) laterText(p *releasedDiff) (d sheaf.DocumentText, err error) {
	asked := v.r.URL.Query().Get("to")
	if asked == "" || asked == present {
		return v.console.app.DocumentText(v.r.Context(), v.caller, p.From.ID)
	}
	id, ok := sheaf.ParseUUID(asked)
	if !ok {
		return d, sheaf.Missing("release")
	}
	to, err := v.console.app.Release(v.r.Context(), v.caller, sheaf.ReleaseID(id))
	if err != nil {
		return d, err
	}
	p.To = &to
	return v.console.app.ReleasedDocument(v.r.Context(), v.caller, to.ID, p.From.ID)
}
