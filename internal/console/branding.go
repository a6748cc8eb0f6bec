package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"

	"sheaf.dev/internal/sheaf"
)

// brandingsPage is the data of brandings.html, the root level of brandings.
type brandingsPage struct {
	Folders []branch
	Inside  listing // of the folders
	Roots   []sheaf.Branding
	Filed   listing // of the brandings
	Plan    bool    // the plan includes making brandings
}

// brandings answers GET /w/{workspace}/brandings: the brandings and branding folders at the root
// level.
func (c *Console) brandings(v *visit) (err error) {
	root := sheaf.Nil[sheaf.FolderID]()
	data := brandingsPage{Plan: v.mayMakeBrandings(), Inside: v.listing("folder", "folders", folderPart, treeOrders), Filed: v.listing("branding", "from", listPage, treeOrders)}
	if data.Folders, err = v.listFolders(&data.Inside, sheaf.BrandingFolder, root); err != nil {
		return err
	}
	if data.Roots, err = v.listBrandings(&data.Filed, root); err != nil {
		return err
	}
	return v.showWithTree(http.StatusOK, "brandings", "", data)
}

// brandingPage is the data of branding.html.
type brandingPage struct {
	Branding sheaf.Branding
	Preview  brandingPreview
	Default  bool // it is the workspace's default branding
	Plan     bool // the plan includes changing it
}

// branding answers GET /w/{workspace}/brandings/{id}: a branding, with a preview of its pages.
func (c *Console) branding(v *visit) error {
	b, err := find(v, "branding", c.app.Branding)
	if err != nil {
		return err
	}
	return v.showWithTree(http.StatusOK, "branding", string(b.ID), brandingPage{Branding: b, Preview: v.previewOf(b),
		Default: v.member.Workspace.DefaultBranding == b.ID, Plan: v.mayMakeBrandings()})
}

// brandingPreview is a page in a branding, light and dark, each in a frame.
type brandingPreview struct {
	Base  string // address of the page that is shown in the frames, without its parameters
	Faces []brandingFace
}

// brandingFace is one of the frames.
type brandingFace struct{ Scheme, Address string }

// previewOf returns the preview of a branding, which need not be stored. It also allows the current
// page to show frames.
func (v *visit) previewOf(b sheaf.Branding) (p brandingPreview) {
	if v.console.Sample == nil {
		return p
	}
	v.Header().Set("Content-Security-Policy", v.console.policy+"; frame-src 'self'")
	p.Base = v.at("brandings/sample")
	values := url.Values{"name": {b.Name}, "color": {b.ColorPrimary}, "font": {string(b.Font)}, "footer": {text(b.Footer)}}
	if b.LogoMediaID != nil {
		values.Set("logo", string(*b.LogoMediaID))
	}
	for _, scheme := range []string{"light", "dark"} {
		values.Set("scheme", scheme)
		p.Faces = append(p.Faces, brandingFace{scheme, p.Base + "?" + values.Encode()})
	}
	return p
}

// sampleBranding answers GET /w/{workspace}/brandings/sample: a sample share page in the branding that
// the parameters describe, for a frame of the editor. It ignores invalid values: the form reports them.
func (c *Console) sampleBranding(v *visit) error {
	if c.Sample == nil {
		return sheaf.Missing("preview")
	}
	q, b := v.r.URL.Query(), sheaf.NewBranding()
	for _, change := range []sheaf.BrandingChange{{Name: sheaf.Some(cmp.Or(q.Get("name"), "Name"))}, {ColorPrimary: sheaf.Some(q.Get("color"))},
		{Font: sheaf.Some(q.Get("font"))}, {Footer: sheaf.Some(q.Get("footer"))}} {
		if q.Get("footer") == "" && change.Footer.Set {
			continue
		}
		if change.Check() == nil {
			b = change.Apply(b)
		}
	}
	logo := ""
	if id, ok := sheaf.ParseUUID(q.Get("logo")); ok && v.caller.May(sheaf.MediaRead) {
		logo = v.at("media", id, "content")
	}
	page, policy, err := c.Sample(v.AwaitTurn, b, logo, q.Get("scheme"))
	if err != nil {
		return overloaded(err)
	}
	v.Header().Set("Content-Security-Policy", policy)
	v.Header().Set("X-Frame-Options", "SAMEORIGIN")
	return v.send(http.StatusOK, page)
}

// brandingForm is the form of a new branding, or of a change.
type brandingForm struct {
	ID      sheaf.BrandingID // empty for a new branding
	Name    string
	Color   string
	Font    string
	Logo    string // id of its medium; empty for none
	Footer  string
	Picks   bool           // the person may see the library
	Logos   []sheaf.Medium // to choose from
	Folder  sheaf.FolderID // of a new branding
	Inside  string         // the folder's name
	Preview brandingPreview
	basis
}

// fields returns the fields that change the branding. A person is shown that there is a logo, not
// its identifier.
func (f brandingForm) fields() []field {
	logo := field{Name: "logo", Label: "Logo", Value: f.Logo}
	if f.Logo != "" {
		logo.Shown = "the picture"
	}
	return []field{{Name: "name", Label: "Name", Value: f.Name}, {Name: "color", Label: "Color", Value: f.Color},
		{Name: "font", Label: "Font", Value: f.Font}, logo, {Name: "footer", Label: "Footer", Value: f.Footer}}
}

// Fonts returns the fonts with their names.
func (brandingForm) Fonts() []fontChoice {
	return []fontChoice{{sheaf.SystemFont, "System", "the font of the reader's system"}, {sheaf.SerifFont, "Serif", "as in a book"},
		{sheaf.MonoFont, "Mono", "as in a terminal"}}
}

// fontChoice is a font to choose.
type fontChoice struct {
	Font        sheaf.Font
	Name, Words string
}

// formOf returns the form with the branding's stored values.
func (v *visit) formOf(b sheaf.Branding) brandingForm {
	f := brandingForm{ID: b.ID, Name: b.Name, Color: b.ColorPrimary, Font: string(b.Font), Footer: text(b.Footer), Preview: v.previewOf(b)}
	if b.LogoMediaID != nil {
		f.Logo = string(*b.LogoMediaID)
	}
	f.basis = basis{Revision: b.Revision, Was: f.fields()}
	return f
}

// newBranding answers GET /w/{workspace}/brandings/new: an empty form.
func (c *Console) newBranding(v *visit) error {
	in, err := v.folderIn()
	if err != nil {
		return err
	}
	f, err := v.withLogos(v.formOf(sheaf.NewBranding()))
	if err != nil {
		return err
	}
	f.Folder, f.Inside = in.ID, in.Name
	return v.showWithTree(http.StatusOK, "branding-form", "", f)
}

// brandingForm reads the form of a branding. If its values are valid, the preview shows them. A
// form without the field of the logo, which only readers of the library have, leaves the logo as it
// is.
func (v *visit) brandingForm() (brandingForm, sheaf.BrandingChange, error) {
	change := sheaf.BrandingChange{Name: sheaf.Some(v.typed("name")), ColorPrimary: v.typedOpt("color"), Font: v.typedOpt("font"), Footer: v.typedOpt("footer")}
	var wrong error
	if v.r.PostForm.Has("logo") {
		change.LogoMediaID, wrong = asID(sheaf.MediumID(v.typed("logo")), "medium")
	}
	shown := sheaf.NewBranding()
	if change.Check() == nil {
		shown = change.Apply(shown)
	}
	f := brandingForm{Name: v.typed("name"), Color: v.typed("color"), Font: v.typed("font"), Logo: v.typed("logo"), Footer: v.typed("footer"),
		Folder: sheaf.FolderID(v.field("in")), Inside: v.field("inside"), Preview: v.previewOf(shown)}
	if !v.r.PostForm.Has("logo") {
		f.Logo = v.field("was-logo")
	}
	f.basis = v.basis(f.fields())
	return f, change, wrong
}

// brandingAgain shows the form again with its error.
func (v *visit) brandingAgain(f brandingForm, wrong error) error {
	f, err := v.withLogos(f)
	if err != nil {
		return err
	}
	return v.again("branding-form", f, wrong)
}

// createBranding answers POST /w/{workspace}/brandings: it makes a branding.
func (c *Console) createBranding(v *visit) error {
	form, change, err := v.brandingForm()
	if err != nil {
		return v.brandingAgain(form, err)
	}
	if change.FolderID, err = optID[sheaf.FolderID](v, "in", "folder"); err != nil {
		return v.brandingAgain(form, err)
	}
	b, err := c.app.CreateBranding(v.r.Context(), v.caller, change)
	if err != nil {
		return v.brandingAgain(form, err)
	}
	return v.done(v.at("brandings", string(b.ID)))
}

// editBranding answers GET /w/{workspace}/brandings/{id}/edit: the form of a branding.
func (c *Console) editBranding(v *visit) error {
	b, err := find(v, "branding", c.app.Branding)
	if err != nil {
		return err
	}
	f, err := v.withLogos(v.formOf(b))
	if err != nil {
		return err
	}
	return v.showWithTree(http.StatusOK, "branding-form", string(b.ID), f)
}

// updateBranding answers POST /w/{workspace}/brandings/{id}: it changes a branding.
func (c *Console) updateBranding(v *visit) error {
	before, err := find(v, "branding", c.app.Branding)
	if err != nil {
		return err
	}
	form, change, err := v.brandingForm()
	form.ID = before.ID
	if err != nil {
		return v.brandingAgain(form, err)
	}
	err = v.saveForm(&form.basis, form.fields(), func(m sheaf.Match) error {
		_, err := c.app.UpdateBranding(v.r.Context(), v.caller, before.ID, change, m)
		return err
	}, func() (current, error) {
		b, err := c.app.Branding(v.r.Context(), v.caller, before.ID)
		return current{"", b.Revision, v.formOf(b).fields()}, err
	})
	if err != nil {
		return v.brandingAgain(form, err)
	}
	return v.done(v.at("brandings", string(before.ID)))
}

// brandingMove returns the form that moves a branding, with the folders to choose from.
func (v *visit) brandingMove(id sheaf.BrandingID) (moveForm, error) {
	b, err := v.console.app.Branding(v.r.Context(), v.caller, id)
	if err != nil {
		return moveForm{}, err
	}
	f := moveForm{Noun: "branding", Name: b.Name, Action: v.at("brandings", string(id), "move"), From: placeOf(b.FolderID), Revision: b.Revision}
	f.Places, err = v.pickFolders(sheaf.BrandingFolder, "", f.From, v.r.URL.Query().Get("q"))
	f.Places.Name = "folder"
	return f, err
}

// brandingRemoval is the data of branding-delete.html.
type brandingRemoval struct {
	Branding sheaf.Branding
	Default  bool
}

// deleteBrandingForm answers GET /w/{workspace}/brandings/{id}/delete: it asks for confirmation.
func (c *Console) deleteBrandingForm(v *visit) error {
	b, err := find(v, "branding", c.app.Branding)
	if err != nil {
		return err
	}
	return v.showWithTree(http.StatusOK, "branding-delete", string(b.ID), brandingRemoval{b, v.member.Workspace.DefaultBranding == b.ID})
}

// deleteBranding answers POST /w/{workspace}/brandings/{id}/delete: it deletes a branding.
func (c *Console) deleteBranding(v *visit) error {
	b, err := find(v, "branding", c.app.Branding)
	if err != nil {
		return err
	}
	if err := c.app.DeleteBranding(v.r.Context(), v.caller, b.ID, sheaf.Match{}); err != nil {
		return err
	}
	if b.FolderID == nil {
		return v.done(v.at("brandings"))
	}
	return v.done(v.folderAddress(b.FolderID))
}

// The editor of brandings offers the newest pictures of the library as logo, and with a script an
// upload. The form has the field only if the person may see the library.

// maxLogos is the number of pictures that the editor shows. The current logo is always one of them.
const maxLogos = 48

// withLogos returns the form with the pictures to choose from.
func (v *visit) withLogos(f brandingForm) (brandingForm, error) {
	if f.Picks = v.caller.May(sheaf.MediaRead); !f.Picks {
		return f, nil
	}
	page, err := v.console.app.Media(v.r.Context(), v.caller, sheaf.MediumFilter{ContentType: "image/", Paging: sheaf.Paging{Limit: maxLogos, Desc: true}})
	if err != nil {
		return f, err
	}
	f.Logos = slices.DeleteFunc(page.Items, func(m sheaf.Medium) bool { return sheaf.CheckLogo(m) != nil })
	id, ok := sheaf.ParseUUID(f.Logo)
	if !ok || slices.ContainsFunc(f.Logos, func(m sheaf.Medium) bool { return string(m.ID) == id }) {
		return f, nil
	}
	m, err := v.console.app.Medium(v.r.Context(), v.caller, sheaf.MediumID(id))
	if sheaf.KindOf(err) == sheaf.NotFound {
		return f, nil // it was deleted meanwhile: saving the form reports that
	}
	f.Logos = append([]sheaf.Medium{m}, f.Logos...)
	return f, err
}
