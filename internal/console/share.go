package console

import (
	"net/http"
	"time"

	"sheaf.dev/internal/sheaf"
)

// maxShown is how many shares of one document or project the page shows. Those beyond are reached by
// the API.
const maxShown = 100

// sharePage is the data of share.html: the shares of a document or a project, and a form for one more.
type sharePage struct {
	Kind      sheaf.Shareable
	ID        string // of the document or the project
	Title     string
	Back      string // the address of its page
	At        string // the address of this page
	In        string // the project that it is in, or that it is; empty for none
	Shares    []sheaf.Share
	Brandings []sheaf.Branding
	Plan      bool          // the plan includes making and changing shares
	Made      sheaf.ShareID // just now
	Inner     bool          // nobody told the service how others reach it
	Form      shareForm     // that was refused, or is new
}

// shareForm is what the form of a share holds.
type shareForm struct {
	Share    sheaf.ShareID // empty: a new one
	Expires  string
	Branding string
	Listed   bool
	// PasswordLost says that a password was typed before a sign-in, over which it is not carried.
	PasswordLost bool
	basis
}

// shareFields are the fields of the form that two people may change at once. A password is none: nobody
// is shown one.
func (p sharePage) shareFields(expires, branding, listed string) []field {
	look := field{Name: "branding", Label: "Look", Value: branding, Shown: "The workspace's default"}
	for _, b := range p.Brandings {
		if string(b.ID) == branding {
			look.Shown = b.Name
		}
	}
	end := field{Name: "expires", Label: "It ends", Value: expires}
	if expires == "" {
		end.Shown = "never"
	}
	list := field{Name: "listed", Label: "Search engines", Value: listed, Shown: "do not list it"}
	if listed != "" {
		list.Shown = "may list it"
	}
	return []field{end, look, list}
}

// fieldsOf are the fields of a share as it is stored.
func (p sharePage) fieldsOf(s sheaf.Share) []field {
	expires, branding, listed := "", "", ""
	if s.ExpiresAt != nil {
		expires = exact(s.ExpiresAt)
	}
	if s.BrandingID != nil {
		branding = string(*s.BrandingID)
	}
	if s.Listed {
		listed = "yes"
	}
	return p.shareFields(expires, branding, listed)
}

// FormOf is the form of a share: the one that was refused, else what is stored.
func (p sharePage) FormOf(s sheaf.Share) shareForm {
	if p.Form.Share == s.ID {
		return p.Form
	}
	f := shareForm{Share: s.ID, Expires: keepExpiry, Listed: s.Listed, basis: basisOf(s.Revision, p.fieldsOf(s))}
	if s.BrandingID != nil {
		f.Branding = string(*s.BrandingID)
	}
	return f
}

// keepExpiry is the choice of a form that leaves the end of a share as it is.
const keepExpiry = "keep"

// shareEnds are when a share may end, by the value of the form's field.
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

// Ends lists the choices.
func (sharePage) Ends() any { return shareEnds }

// Ended reports whether a share shows nothing any more.
func (p sharePage) Ended(s sheaf.Share, made int64) bool { return s.Expired(time.UnixMilli(made)) }

// shareDocument answers GET /w/{workspace}/documents/{id}/share.
func (c *Console) shareDocument(v *visit) error { return v.showShares(sheaf.ShareOfDocument) }

// shareProject answers GET /w/{workspace}/projects/{id}/share.
func (c *Console) shareProject(v *visit) error { return v.showShares(sheaf.ShareOfProject) }

// makeDocumentShare answers POST /w/{workspace}/documents/{id}/share.
func (c *Console) makeDocumentShare(v *visit) error { return v.makeShare(sheaf.ShareOfDocument) }

// makeProjectShare answers POST /w/{workspace}/projects/{id}/share.
func (c *Console) makeProjectShare(v *visit) error { return v.makeShare(sheaf.ShareOfProject) }

// showShares shows what is shared of the document or the project in the path.
func (v *visit) showShares(kind sheaf.Shareable) error {
	id, err := id[string](v, string(kind))
	if err != nil {
		return err
	}
	p, err := v.sharesOf(kind, id)
	if err != nil {
		return err
	}
	return v.showBeside(http.StatusOK, "share", p.In, p)
}

// sharesOf reads the page of a document or a project.
func (v *visit) sharesOf(kind sheaf.Shareable, id string) (sharePage, error) {
	p := sharePage{Kind: kind, ID: id, Plan: v.member.Workspace.Plan.AllowShares() == nil, Inner: v.console.PublicURL == nil, Made: v.madeShare()}
	if kind == sheaf.ShareOfProject {
		detail, err := v.console.app.Project(v.r.Context(), v.caller, sheaf.ProjectID(id))
		if err != nil {
			return p, err
		}
		p.Title, p.Back, p.In = detail.Name, v.at("projects", id), id
	} else {
		d, err := v.console.app.Document(v.r.Context(), v.caller, sheaf.DocumentID(id))
		if err != nil {
			return p, err
		}
		p.Title, p.Back, p.In = d.Title, v.at("documents", id), v.here(d)
	}
	p.At = p.Back + "/share"
	page, err := v.console.app.Shares(v.r.Context(), v.caller, sheaf.ShareFilter{ResourceID: id, Paging: sheaf.Paging{Limit: maxShown, Desc: true}})
	if err != nil {
		return p, err
	}
	p.Shares = page.Items
	looks, err := v.console.app.Brandings(v.r.Context(), v.caller, sheaf.BrandingFilter{Paging: sheaf.Paging{Limit: maxShown}})
	p.Brandings = looks.Items
	return p, err
}

// madeShare is the share that was made just before the browser was led here.
func (v *visit) madeShare() sheaf.ShareID {
	id, _ := sheaf.ParseUUID(v.r.URL.Query().Get("made"))
	return sheaf.ShareID(id)
}

// shareChange reads the form. An empty password leaves the share as it is: a box takes it away.
func (v *visit) shareChange() (f shareForm, in sheaf.ShareChange, err error) {
	f = shareForm{Expires: v.field("expires"), Branding: v.typed("branding"), Listed: v.typed("listed") != "", PasswordLost: v.lostSecret("password")}
	if v.field("keep-expires") == "saved" {
		f.Expires = keepExpiry
	}
	in.Listed = sheaf.Some(f.Listed)
	if in.BrandingID = sheaf.Nil[sheaf.BrandingID](); f.Branding != "" {
		id, ok := sheaf.ParseUUID(f.Branding)
		if !ok {
			return f, in, sheaf.Missing("branding")
		}
		in.BrandingID = sheaf.Some(sheaf.BrandingID(id))
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

// makeShare shares the document or the project in the path.
func (v *visit) makeShare(kind sheaf.Shareable) error {
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

// shareOf finds the share in the path, or NotFound.
func (v *visit) shareOf() (sheaf.Share, error) {
	id, err := id[sheaf.ShareID](v, "share")
	if err != nil {
		return sheaf.Share{}, err
	}
	return v.console.app.Share(v.r.Context(), v.caller, id)
}

// updateShare answers POST /w/{workspace}/shares/{id}.
func (c *Console) updateShare(v *visit) error {
	s, err := v.shareOf()
	if err != nil {
		return err
	}
	f, in, err := v.shareChange()
	if err != nil {
		return err
	}
	f.Share = s.ID
	if err := v.saveShare(s, &f, in); err != nil {
		return v.shareAgain(s.ResourceType, s.ResourceID, f, err)
	}
	return v.sharesAfter(s, s.ID)
}

// saveShare saves the form of a share, unless somebody changed what it changes.
func (v *visit) saveShare(s sheaf.Share, f *shareForm, in sheaf.ShareChange) error {
	p, err := v.sharesOf(s.ResourceType, s.ResourceID)
	if err != nil {
		return err
	}
	f.basis = v.basis(p.shareFields("", "", ""))
	expires, listed := f.Was[0].Value, ""
	if in.ExpiresAt.Set {
		expires = ""
	}
	if in.ExpiresAt.Given() {
		expires = exact(in.ExpiresAt.Value)
	}
	if f.Listed {
		listed = "yes"
	}
	return v.saveOver(&f.basis, p.shareFields(expires, f.Branding, listed), func(m sheaf.Match) error {
		_, err := v.console.app.UpdateShare(v.r.Context(), v.caller, s.ID, in, m)
		return err
	}, func() (present, error) {
		now, err := v.console.app.Share(v.r.Context(), v.caller, s.ID)
		return present{string(s.ID), now.Revision, p.fieldsOf(now)}, err
	})
}

// deleteShare answers POST /w/{workspace}/shares/{id}/delete.
func (c *Console) deleteShare(v *visit) error {
	s, err := v.shareOf()
	if err != nil {
		return err
	}
	if err := c.app.DeleteShare(v.r.Context(), v.caller, s.ID, sheaf.Match{}); err != nil {
		return err
	}
	return v.sharesAfter(s, "")
}

// shareAgain shows the page once more with what was wrong with a form.
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

// sharesAfter shows the page after a change: in the dialog at once, else by leading the browser there.
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
