package console

import (
	"net/http"

	"sheaf.dev/internal/look"
	"sheaf.dev/internal/sheaf"
)

// brandingsPage is the data of brandings.html, the root level of brandings.
type brandingsPage struct {
	Folders []branch
	Inside  listing // of the folders
	Roots   []sheaf.Branding
	Filed   listing // of the brandings
	Plan    bool    // the plan includes making them
}

// brandings answers GET /w/{workspace}/brandings: the brandings and branding folders at the root level.
func (c *Console) brandings(v *visit) (err error) {
	root := sheaf.Nil[sheaf.FolderID]()
	data := brandingsPage{Plan: v.mayMakeBrandings(), Inside: v.shelf("folder", "folders", folderPart), Filed: v.shelf("branding", "from", listPage)}
	if data.Folders, err = v.listFolders(&data.Inside, sheaf.BrandingFolder, root); err != nil {
		return err
	}
	if data.Roots, err = v.listBrandings(&data.Filed, root); err != nil {
		return err
	}
	return v.showBeside(http.StatusOK, "brandings", "", data)
}

// mayMakeBrandings reports whether the workspace's plan includes making and changing brandings.
func (v *visit) mayMakeBrandings() bool { return v.member.Workspace.Plan.AllowBrandings() == nil }

// brandingPage is the data of branding.html.
type brandingPage struct {
	Branding sheaf.Branding
	Preview  lookPreview
	Default  bool // it is the workspace's default one
	Plan     bool // the plan includes changing it
}

// brandingOf finds the branding in the path, or NotFound.
func (v *visit) brandingOf() (sheaf.Branding, error) {
	id, err := id[sheaf.BrandingID](v, "branding")
	if err != nil {
		return sheaf.Branding{}, err
	}
	return v.console.app.Branding(v.r.Context(), v.caller, id)
}

// branding answers GET /w/{workspace}/brandings/{id}: it shows what pages in it look like.
func (c *Console) branding(v *visit) error {
	b, err := v.brandingOf()
	if err != nil {
		return err
	}
	return v.showBeside(http.StatusOK, "branding", string(b.ID), brandingPage{Branding: b, Preview: v.previewOf(b),
		Default: v.member.Workspace.DefaultBranding == b.ID, Plan: v.mayMakeBrandings()})
}

// lookPreview is a page in a branding, in small, by day and by night.
type lookPreview struct {
	Style  string // the address of its style sheet
	Name   string
	Logo   string // its address; empty: there is none
	Footer string
	Faces  []string // "light" and "dark"
}

// previewOf returns the preview of a branding, also of one that is not stored.
func (v *visit) previewOf(b sheaf.Branding) lookPreview {
	p := lookPreview{Style: v.console.base + "/assets/" + look.Name(b), Name: b.Name, Footer: text(b.Footer), Faces: []string{"light", "dark"}}
	if b.LogoMediaID != nil && v.caller.May(sheaf.MediaRead) {
		p.Logo = v.at("media", string(*b.LogoMediaID), "content")
	}
	return p
}

// previewBranding answers POST /w/{workspace}/brandings/preview: the preview of what the form holds,
// for the editor. It changes nothing.
func (c *Console) previewBranding(v *visit) error {
	_, change, err := v.brandingForm()
	if err != nil {
		return err
	}
	if err := change.Check(); err != nil {
		return err
	}
	return v.fragment("branding-form", "looks", v.previewOf(change.Apply(sheaf.NewBranding())))
}

// brandingForm is for a new branding, or a change of one.
type brandingForm struct {
	ID      sheaf.BrandingID // empty: a new one
	Name    string
	Color   string
	Font    string
	Logo    string // its medium; empty: none
	Footer  string
	Picks   bool           // the person may see the library
	Logos   []sheaf.Medium // to choose from
	Folder  sheaf.FolderID // of a new one
	Inside  string         // the folder's name
	Preview lookPreview
	basis
}

// fields are those of the form that change the branding.
func (f brandingForm) fields() []field {
	return []field{{Name: "name", Label: "Name", Value: f.Name}, {Name: "color", Label: "Color", Value: f.Color},
		{Name: "font", Label: "Font", Value: f.Font}, logoField(f.Logo), {Name: "footer", Label: "Footer", Value: f.Footer}}
}

// Fonts lists the fonts with what they are called.
func (brandingForm) Fonts() []fontChoice {
	return []fontChoice{{sheaf.SystemFont, "System", "what the reader's screen is set in"}, {sheaf.SerifFont, "Serif", "as in a book"},
		{sheaf.MonoFont, "Mono", "as in a terminal"}}
}

// fontChoice is a font to choose.
type fontChoice struct {
	Font        sheaf.Font
	Name, Words string
}

// formOf is the form of a branding as it is stored.
func (v *visit) formOf(b sheaf.Branding) brandingForm {
	f := brandingForm{ID: b.ID, Name: b.Name, Color: b.ColorPrimary, Font: string(b.Font), Footer: text(b.Footer), Preview: v.previewOf(b)}
	if b.LogoMediaID != nil {
		f.Logo = string(*b.LogoMediaID)
	}
	f.basis = basisOf(b.Revision, f.fields())
	return f
}

// newBranding answers GET /w/{workspace}/brandings/new: it shows an empty form.
func (c *Console) newBranding(v *visit) error {
	f := v.formOf(sheaf.NewBranding())
	if folder := v.r.URL.Query().Get("in"); folder != "" {
		id, ok := sheaf.ParseUUID(folder)
		if !ok {
			return sheaf.Missing("folder")
		}
		in, err := c.app.Folder(v.r.Context(), v.caller, sheaf.FolderID(id))
		if err != nil {
			return err
		}
		f.Folder, f.Inside = in.ID, in.Name
	}
	f, err := v.withLogos(f)
	if err != nil {
		return err
	}
	return v.showBeside(http.StatusOK, "branding-form", "", f)
}

// brandingForm reads the form of a branding. What was typed is previewed as far as it is right.
func (v *visit) brandingForm() (brandingForm, sheaf.BrandingChange, error) {
	change := sheaf.BrandingChange{Name: sheaf.Some(v.typed("name")), ColorPrimary: v.typedOr("color"), Font: v.typedOr("font"), Footer: v.typedOr("footer")}
	wrong := v.readLogo(&change)
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

// brandingAgain shows the form once more with what was wrong with it.
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

// editBranding answers GET /w/{workspace}/brandings/{id}/edit: it shows the form of a branding.
func (c *Console) editBranding(v *visit) error {
	b, err := v.brandingOf()
	if err != nil {
		return err
	}
	f, err := v.withLogos(v.formOf(b))
	if err != nil {
		return err
	}
	return v.showBeside(http.StatusOK, "branding-form", string(b.ID), f)
}

// updateBranding answers POST /w/{workspace}/brandings/{id}: it changes a branding.
func (c *Console) updateBranding(v *visit) error {
	before, err := v.brandingOf()
	if err != nil {
		return err
	}
	form, change, err := v.brandingForm()
	form.ID = before.ID
	if err != nil {
		return v.brandingAgain(form, err)
	}
	err = v.saveOver(&form.basis, form.fields(), func(m sheaf.Match) error {
		_, err := c.app.UpdateBranding(v.r.Context(), v.caller, before.ID, change, m)
		return err
	}, func() (present, error) {
		b, err := c.app.Branding(v.r.Context(), v.caller, before.ID)
		return present{"", b.Revision, v.formOf(b).fields()}, err
	})
	if err != nil {
		return v.brandingAgain(form, err)
	}
	return v.done(v.at("brandings", string(before.ID)))
}

// brandingMove is the form that moves a branding, with every place that it may go to.
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

// deleteBrandingForm answers GET /w/{workspace}/brandings/{id}/delete: it asks whether to delete a
// branding.
func (c *Console) deleteBrandingForm(v *visit) error {
	b, err := v.brandingOf()
	if err != nil {
		return err
	}
	return v.showBeside(http.StatusOK, "branding-delete", string(b.ID), brandingRemoval{b, v.member.Workspace.DefaultBranding == b.ID})
}

// deleteBranding answers POST /w/{workspace}/brandings/{id}/delete: it deletes a branding.
func (c *Console) deleteBranding(v *visit) error {
	b, err := v.brandingOf()
	if err != nil {
		return err
	}
	if err := c.app.DeleteBranding(v.r.Context(), v.caller, b.ID, sheaf.Match{}); err != nil {
		return err
	}
	if b.FolderID == nil {
		return v.done(v.at("brandings"))
	}
	return v.done(v.inside(b.FolderID))
}

// chooseBranding answers POST /w/{workspace}/settings/branding: it says which branding shares take that
// name none.
func (c *Console) chooseBranding(v *visit) error {
	form := v.basis([]field{brandingField("", nil)})
	err := v.saveDefaultBranding(&form)
	if err != nil {
		return v.settingsAgain("branding", form, err)
	}
	return v.done(v.at("settings?done=branding"))
}

// saveDefaultBranding makes the branding that was chosen the default one.
func (v *visit) saveDefaultBranding(form *basis) error {
	all, err := v.brandingChoices()
	if err != nil {
		return err
	}
	var chosen *sheaf.BrandingID
	if text := v.typed("branding"); text != "" {
		id, ok := sheaf.ParseUUID(text)
		if !ok {
			return sheaf.Missing("branding")
		}
		chosen = (*sheaf.BrandingID)(&id)
	}
	return v.saveValue(form, brandingField(sheaf.BrandingID(v.typed("branding")), all), func(was string) error {
		return v.console.app.SetDefaultBranding(v.r.Context(), v.caller, chosen, sheaf.Some(sheaf.BrandingID(was)))
	}, func() (field, error) {
		now, err := v.workspaceNow()
		return brandingField(now.DefaultBranding, all), err
	})
}

// maxChoices is how many brandings the settings offer; the present default is always among them.
const maxChoices = 1000

// brandingChoices are the brandings from which the settings let choose the default, and that one.
func (v *visit) brandingChoices() ([]sheaf.Branding, error) {
	if !v.caller.May(sheaf.BrandingsRead) {
		return nil, nil
	}
	page, err := v.console.app.Brandings(v.r.Context(), v.caller, sheaf.BrandingFilter{Sort: sheaf.ByName, Paging: sheaf.Paging{Limit: maxChoices}})
	if err != nil || !page.More() {
		return page.Items, err
	}
	now, err := v.console.app.DefaultBranding(v.r.Context(), v.caller)
	if err == nil && now != nil {
		page.Items = append(page.Items, *now)
	}
	return page.Items, err
}
