package console

import (
	"net/http"
	"slices"
	"time"

	"sheaf.dev/internal/sheaf"
)

// maxShown is the number of shares of one document, project or folder that the page shows. The API lists
// all.
const maxShown = 100

// sharePage is the data of share.html: the shares of a document, a project or a folder, and the
// form of a new one.
type sharePage struct {
	Kind      sheaf.Shareable
	ID        string // of the document, the project or the folder
	Title     string
	Back      string // the address of its page
	At        string // the address of this page
	In        string // the id of the project, the document's project, or the folder; empty for none
	Shares    []sheaf.Share
	Brandings []sheaf.Branding
	Plan      bool          // the plan includes making and changing shares
	Made      sheaf.ShareID // the share that was just made
	Inner     bool          // no public address is configured, so links may work on this machine only
	Form      shareForm     // the form that was refused, or the new one
	// Choice says that the share can show a release, and Releases are those to choose from, the newest
	// first.
	Choice   bool
	Releases []sheaf.Release
}

// shareForm has the values of the form of a share.
type shareForm struct {
	Share    sheaf.ShareID // empty for a new share
	Expires  string
	Branding string
	Listed   bool
	Release  string // as in sheaf.Share; empty: the documents as they are now
	Switch   bool   // readers can switch between releases
	// PasswordLost: a password was typed before the session ended, and has to be typed again.
	PasswordLost bool
	basis
}

// shareFields returns the fields of the form that two people may change at once. The password is
// not one of them, because it is never shown.
func (p sharePage) shareFields(expires string, f shareForm) []field {
	branded := field{Name: "branding", Label: "Branding", Value: f.Branding, Shown: "Workspace default"}
	for _, b := range p.Brandings {
		if string(b.ID) == f.Branding {
			branded.Shown = b.Name
		}
	}
	end := field{Name: "expires", Label: "Expires", Value: expires}
	if expires == "" {
		end.Shown = "never"
	}
	out := []field{end, branded, ticked("listed", "Search engines", f.Listed, "listed", "not listed")}
	if p.Choice {
		out = append(out, field{Name: "release", Label: "Readers see", Value: f.Release, Shown: p.shown(f.Release)},
			ticked("show_releases", "Other releases", f.Switch, "readers can switch", "readers cannot switch"))
	}
	return out
}

// ticked returns the field of a checkbox, with the texts for a person.
func ticked(name, label string, on bool, yes, no string) field {
	if on {
		return field{Name: name, Label: label, Value: "yes", Shown: yes}
	}
	return field{Name: name, Label: label, Shown: no}
}

// shown returns what readers of a share see.
func (p sharePage) shown(release string) string {
	switch release {
	case "":
		return "the documents as they are now"
	case sheaf.NewestRelease:
		return "the newest release"
	}
	return "release " + p.NameOf(release)
}

// NameOf returns the name of a release.
func (p sharePage) NameOf(id string) string {
	for _, r := range p.Releases {
		if string(r.ID) == id {
			return r.Name
		}
	}
	return "that was deleted"
}

// Newest returns the name of the newest release; empty if there is none.
func (p sharePage) Newest() string {
	if len(p.Releases) == 0 {
		return ""
	}
	return p.Releases[0].Name
}

// fieldsOf returns the fields with the share's stored values.
func (p sharePage) fieldsOf(s sheaf.Share) []field {
	expires := ""
	if s.ExpiresAt != nil {
		expires = exact(s.ExpiresAt)
	}
	return p.shareFields(expires, storedForm(s))
}

// storedForm returns the form with the share's stored values, without a base.
func storedForm(s sheaf.Share) shareForm {
	f := shareForm{Share: s.ID, Expires: keepExpiry, Listed: s.Listed, Release: text(s.Release), Switch: s.ShowReleases}
	if s.BrandingID != nil {
		f.Branding = string(*s.BrandingID)
	}
	return f
}

// FormOf returns the form of a share: the one that was refused, or else one with the stored values.
func (p sharePage) FormOf(s sheaf.Share) shareForm {
	if p.Form.Share == s.ID {
		return p.Form
	}
	f := storedForm(s)
	f.basis = basis{Revision: s.Revision, Was: p.fieldsOf(s)}
	return f
}

// keepExpiry is the choice that does not change the end of a share.
const keepExpiry = "keep"

// shareEnds are the lifetimes to choose from, by the value of the form's field.
var shareEnds = []struct {
	Value, Text string
	Lasts       time.Duration
}{
	{"", "Never", 0},
	{"1", "In a day", 24 * time.Hour},
	{"7", "In a week", 7 * 24 * time.Hour},
	{"30", "In 30 days", 30 * 24 * time.Hour},
	{"365", "In a year", 365 * 24 * time.Hour},
}

// Ends returns the lifetimes to choose from.
func (sharePage) Ends() any { return shareEnds }

// Ended reports whether a share had expired when the page was made.
func (p sharePage) Ended(s sheaf.Share, made int64) bool { return s.Expired(time.UnixMilli(made)) }

// showShares returns the handler of GET …/documents/{id}/share and the like: the shares of the
// record.
func showShares(kind sheaf.Shareable) func(*visit) error {
	return func(v *visit) error {
		id, err := id[string](v, string(kind))
		if err != nil {
			return err
		}
		p, err := v.sharesOf(kind, id)
		if err != nil {
			return err
		}
		return v.showWithTree(http.StatusOK, "share", p.In, p)
	}
}

// sharesOf returns the page of a document, a project or a folder.
func (v *visit) sharesOf(kind sheaf.Shareable, id string) (sharePage, error) {
	p := sharePage{Kind: kind, ID: id, Plan: v.member.Workspace.Plan.AllowShares() == nil, Inner: v.console.PublicURL == nil}
	made, _ := sheaf.ParseUUID(v.r.URL.Query().Get("made")) // the browser was redirected here after it was made
	p.Made = sheaf.ShareID(made)
	switch kind {
	case sheaf.ShareOfFolder:
		f, err := v.console.app.Folder(v.r.Context(), v.caller, sheaf.FolderID(id))
		if err != nil {
			return p, err
		}
		p.Title, p.Back, p.In = f.Name, v.at("folders", id), id
	case sheaf.ShareOfProject:
		detail, err := v.console.app.Project(v.r.Context(), v.caller, sheaf.ProjectID(id))
		if err != nil {
			return p, err
		}
		p.Title, p.Back, p.In = detail.Name, v.at("projects", id), id
		if p.Choice = v.caller.May(sheaf.ReleasesRead); p.Choice {
			if p.Releases, err = v.releasesOf(detail.ID); err != nil {
				return p, err
			}
		}
	default:
		d, err := v.console.app.Document(v.r.Context(), v.caller, sheaf.DocumentID(id))
		if err != nil {
			return p, err
		}
		p.Title, p.Back, p.In = d.Title, v.at("documents", id), projectIDOf(d)
		if err := v.locateAbove(d.ParentID); err != nil {
			return p, err
		}
	}
	p.At = p.Back + "/share"
	page, err := v.console.app.Shares(v.r.Context(), v.caller, sheaf.ShareFilter{ResourceID: id, Paging: sheaf.Paging{Limit: maxShown, Desc: true}})
	if err != nil {
		return p, err
	}
	p.Shares = page.Items
	brandings, err := v.console.app.Brandings(v.r.Context(), v.caller, sheaf.BrandingFilter{Paging: sheaf.Paging{Limit: maxShown}})
	p.Brandings = brandings.Items
	return p, err
}

// shareChange reads the form. An empty password does not change the share; a checkbox removes its
// password.
func (v *visit) shareChange() (f shareForm, in sheaf.ShareChange, err error) {
	f = shareForm{Expires: v.field("expires"), Branding: v.typed("branding"), Listed: v.typed("listed") != "", PasswordLost: slices.Contains(v.r.PostForm["lost"], "password")}
	if v.field("keep-expires") == "saved" {
		f.Expires = keepExpiry
	}
	in.Listed = sheaf.Some(f.Listed)
	f.readRelease(v, &in)
	if in.BrandingID, err = asID(sheaf.BrandingID(f.Branding), "branding"); err != nil {
		return f, in, err
	}
	switch password := v.r.PostForm.Get("password"); {
	case v.field("open") != "":
		in.Password = sheaf.Nil[string]()
	case password != "":
		in.Password = sheaf.Some(password)
	}
	if f.Expires == keepExpiry {
		return f, in, nil
	}
	in.ExpiresAt = sheaf.Nil[time.Time]()
	for _, e := range shareEnds {
		if e.Value == f.Expires && e.Lasts > 0 {
			in.ExpiresAt = sheaf.Some(v.console.Now().Add(e.Lasts).UTC().Truncate(time.Millisecond))
		}
	}
	return f, in, nil
}

// readRelease reads what the share shows, if the form asks for it: only the form of a project does.
func (f *shareForm) readRelease(v *visit, in *sheaf.ShareChange) {
	if !v.r.PostForm.Has("release") {
		f.Release, f.Switch = v.field("was-release"), v.field("was-show_releases") != ""
		return
	}
	f.Release, f.Switch = v.typed("release"), v.typed("show_releases") != ""
	in.Release, in.ShowReleases = v.typedOpt("release"), sheaf.Some(f.Switch)
}

// makeShare returns the handler of POST …/documents/{id}/share and the like: it shares the record.
func makeShare(kind sheaf.Shareable) func(*visit) error {
	return func(v *visit) error {
		id, err := id[string](v, string(kind))
		if err != nil {
			return err
		}
		f, in, err := v.shareChange()
		if err != nil {
			return err
		}
		in.ResourceType, in.ResourceID = sheaf.Some(string(kind)), sheaf.Some(id)
		s, err := v.console.app.CreateShare(v.r.Context(), v.caller, in)
		if err != nil {
			return v.shareAgain(kind, id, f, err)
		}
		return v.sharesAfter(s, s.ID)
	}
}

// updateShare answers POST /w/{workspace}/shares/{id}: it changes a share, unless another person
// has changed the same fields.
func (c *Console) updateShare(v *visit) error {
	s, err := find(v, "share", c.app.Share)
	if err != nil {
		return err
	}
	f, in, err := v.shareChange()
	if err != nil {
		return err
	}
	f.Share = s.ID
	p, err := v.sharesOf(s.ResourceType, s.ResourceID)
	if err != nil {
		return err
	}
	f.basis = v.basis(p.shareFields("", shareForm{}))
	expires := f.Was[0].Value
	if in.ExpiresAt.Set {
		expires = ""
	}
	if in.ExpiresAt.Given() {
		expires = exact(in.ExpiresAt.Value)
	}
	err = v.saveForm(&f.basis, p.shareFields(expires, f), func(m sheaf.Match) error {
		_, err := c.app.UpdateShare(v.r.Context(), v.caller, s.ID, in, m)
		return err
	}, func() (current, error) {
		now, err := c.app.Share(v.r.Context(), v.caller, s.ID)
		return current{string(s.ID), now.Revision, p.fieldsOf(now)}, err
	})
	if err != nil {
		return v.shareAgain(s.ResourceType, s.ResourceID, f, err)
	}
	return v.sharesAfter(s, s.ID)
}

// deleteShare answers POST /w/{workspace}/shares/{id}/delete: it deletes a share.
func (c *Console) deleteShare(v *visit) error {
	s, err := find(v, "share", c.app.Share)
	if err != nil {
		return err
	}
	if err := c.app.DeleteShare(v.r.Context(), v.caller, s.ID, sheaf.Match{}); err != nil {
		return err
	}
	return v.sharesAfter(s, "")
}

// shareAgain shows the page again with the error of a form.
func (v *visit) shareAgain(kind sheaf.Shareable, id string, f shareForm, wrong error) error {
	p, err := v.sharesOf(kind, id)
	if err != nil {
		return err
	}
	p.Form = f
	if err := v.locate(sheaf.ProjectID(p.In)); err != nil {
		return err
	}
	return v.again("share", p, wrong)
}

// sharesAfter shows the page after a change: directly in the dialog, otherwise by a redirect.
func (v *visit) sharesAfter(s sheaf.Share, made sheaf.ShareID) error {
	if v.inDialog() {
		p, err := v.sharesOf(s.ResourceType, s.ResourceID)
		if err != nil {
			return err
		}
		p.Made = made
		return v.show(http.StatusOK, "share", p)
	}
	return v.redirect(v.at(string(s.ResourceType)+"s", s.ResourceID, "share") + "?made=" + string(made))
}
