package console

import (
	"cmp"
	"errors"
	"net/http"
	"slices"

	"sheaf.dev/internal/sheaf"
)

// releasesPage is the data of releases.html: the releases of a project.
type releasesPage struct {
	Project  sheaf.Project
	Releases []sheaf.Release // the newest first
	People   people
}

// Full reports whether the project has as many releases as it may have.
func (p releasesPage) Full() bool { return len(p.Releases) >= sheaf.MaxReleases }

// Most returns how many releases a project may have.
func (releasesPage) Most() int { return sheaf.MaxReleases }

// releases answers GET /w/{workspace}/projects/{id}/releases: the releases of a project.
func (c *Console) releases(v *visit) error {
	d, err := find(v, "project", c.app.Project)
	if err != nil {
		return err
	}
	p := releasesPage{Project: d.Project}
	if p.Releases, err = v.releasesOf(d.ID); err != nil {
		return err
	}
	var users []sheaf.UserID
	for _, r := range p.Releases {
		users = append(users, r.User)
	}
	if p.People, err = v.people(users...); err != nil {
		return err
	}
	return v.showWithTree(http.StatusOK, "releases", string(d.ID), p)
}

// releasesOf returns the releases of a project, the newest first.
func (v *visit) releasesOf(id sheaf.ProjectID) ([]sheaf.Release, error) {
	page, err := v.console.app.Releases(v.r.Context(), v.caller, id, sheaf.ReleaseFilter{Paging: sheaf.Paging{Limit: sheaf.MaxReleases, Desc: true}})
	return page.Items, err
}

// releaseForm is the form of a new release, or of the notes of one.
type releaseForm struct {
	ID        sheaf.ReleaseID // empty for a new release
	Project   sheaf.ProjectID
	Documents int64 // number of the project's documents
	Name      string
	Notes     string
	basis
}

// fields returns the fields that change a release.
func (f releaseForm) fields() []field {
	return []field{{Name: "notes", Label: "Notes", Value: f.Notes}}
}

// formOfRelease returns the form with the stored notes.
func formOfRelease(r sheaf.Release) releaseForm {
	f := releaseForm{ID: r.ID, Project: r.ProjectID, Name: r.Name, Notes: text(r.Notes)}
	f.basis = basis{Revision: r.Revision, Was: f.fields()}
	return f
}

// newRelease answers GET /w/{workspace}/projects/{id}/releases/new: an empty form.
func (c *Console) newRelease(v *visit) error {
	d, err := find(v, "project", c.app.Project)
	if err != nil {
		return err
	}
	return v.showWithTree(http.StatusOK, "release-form", string(d.ID), releaseForm{Project: d.ID, Documents: d.DocumentCount})
}

// createRelease answers POST /w/{workspace}/projects/{id}/releases: it makes a release.
func (c *Console) createRelease(v *visit) error {
	d, err := find(v, "project", c.app.Project)
	if err != nil {
		return err
	}
	v.LiftDeadlines() // it may copy many texts
	f := releaseForm{Project: d.ID, Documents: d.DocumentCount, Name: v.field("name"), Notes: v.field("notes")}
	r, err := c.app.CreateRelease(v.r.Context(), v.caller, d.ID, sheaf.ReleaseChange{Name: sheaf.Some(f.Name), Notes: v.typedOpt("notes")})
	if err != nil {
		return v.again("release-form", f, ofName(err))
	}
	return v.done(v.at("releases", string(r.ID)))
}

// ofName marks the CONFLICT about a name that another release has as an error of the field "name". It
// returns any other error unchanged.
func ofName(err error) error {
	var refusal *sheaf.Error
	if !errors.As(err, &refusal) || refusal.Kind != sheaf.Conflict || refusal == errSignedInAgain {
		return err
	}
	out := *refusal
	return out.At("name")
}

// releasePage is the data of release.html: a release and its documents.
type releasePage struct {
	Release sheaf.Release
	By      string
	Tree    []sheaf.TreeEntry // the documents of this page
	List    listing           // of the documents
}

// releaseRows is the number of documents of a release on a page.
const releaseRows = 200

// release answers GET /w/{workspace}/releases/{id}: a release, and its documents in reading order.
func (c *Console) release(v *visit) error {
	r, err := find(v, "release", c.app.Release)
	if err != nil {
		return err
	}
	tree, err := c.app.ReleaseTree(v.r.Context(), v.caller, r.ID)
	if err != nil {
		return err
	}
	names, err := v.people(r.User)
	if err != nil {
		return err
	}
	p := releasePage{Release: r, By: names.Of(r.User, r.Key), List: v.listing("document", "from", releaseRows, []order{{}})}
	from := min(p.List.Offset, len(tree))
	p.Tree = tree[from:min(from+releaseRows, len(tree))]
	p.List.setResult(int64(len(tree)), len(p.Tree))
	return v.showWithTree(http.StatusOK, "release", string(r.ProjectID), p)
}

// editRelease answers GET /w/{workspace}/releases/{id}/edit: the form of a release's notes.
func (c *Console) editRelease(v *visit) error {
	r, err := find(v, "release", c.app.Release)
	if err != nil {
		return err
	}
	return v.showWithTree(http.StatusOK, "release-form", string(r.ProjectID), formOfRelease(r))
}

// updateRelease answers POST /w/{workspace}/releases/{id}: it changes the notes of a release.
func (c *Console) updateRelease(v *visit) error {
	before, err := find(v, "release", c.app.Release)
	if err != nil {
		return err
	}
	f := releaseForm{ID: before.ID, Project: before.ProjectID, Name: before.Name, Notes: v.typed("notes")}
	f.basis = v.basis(f.fields())
	err = v.saveForm(&f.basis, f.fields(), func(m sheaf.Match) error {
		_, err := c.app.UpdateRelease(v.r.Context(), v.caller, before.ID, sheaf.ReleaseChange{Notes: v.typedOpt("notes")}, m)
		return err
	}, func() (current, error) {
		now, err := c.app.Release(v.r.Context(), v.caller, before.ID)
		return current{"", now.Revision, formOfRelease(now).fields()}, err // a change of the notes has no event
	})
	if err != nil {
		return v.again("release-form", f, err)
	}
	return v.done(v.at("releases", string(before.ID)))
}

// releaseRemoval is the data of release-delete.html: a release, and the shares that depend on it.
type releaseRemoval struct {
	Release  sheaf.Release
	Naming   int64  // shares that name the release; it cannot be deleted as long as there are some
	Newest   int64  // shares that show it, because it is the newest
	Then     string // the name of the release that these shares show afterwards; empty: nothing
	Switched int64  // shares whose readers can switch to it
}

// releaseRemoval reads what the deletion of the release in the path would do.
func (v *visit) releaseRemoval() (p releaseRemoval, err error) {
	if p.Release, err = find(v, "release", v.console.app.Release); err != nil || !v.caller.May(sheaf.SharesRead) {
		return p, err
	}
	all, err := v.releasesOf(p.Release.ProjectID)
	if err != nil {
		return p, err
	}
	isNewest := len(all) > 0 && all[0].ID == p.Release.ID
	if isNewest && len(all) > 1 {
		p.Then = all[1].Name
	}
	shares, err := v.console.app.Shares(v.r.Context(), v.caller, sheaf.ShareFilter{ResourceID: string(p.Release.ProjectID), Paging: sheaf.Paging{Limit: maxShown, Desc: true}})
	for _, s := range shares.Items {
		switch {
		case s.Release != nil && *s.Release == string(p.Release.ID):
			p.Naming++
		case isNewest && s.Release != nil && *s.Release == sheaf.NewestRelease:
			p.Newest++
		case s.ShowReleases:
			p.Switched++
		}
	}
	return p, err
}

// deleteReleaseForm answers GET /w/{workspace}/releases/{id}/delete: it asks for confirmation.
func (c *Console) deleteReleaseForm(v *visit) error {
	p, err := v.releaseRemoval()
	if err != nil {
		return err
	}
	return v.showWithTree(http.StatusOK, "release-delete", string(p.Release.ProjectID), p)
}

// deleteRelease answers POST /w/{workspace}/releases/{id}/delete: it deletes a release.
func (c *Console) deleteRelease(v *visit) error {
	p, err := v.releaseRemoval()
	if err != nil {
		return err
	}
	v.LiftDeadlines() // it may have many texts
	if err := c.app.DeleteRelease(v.r.Context(), v.caller, p.Release.ID, sheaf.Match{}); err != nil {
		return v.again("release-delete", p, err)
	}
	return v.done(v.at("projects", string(p.Release.ProjectID), "releases"))
}

// releaseComparison is the data of release-compare.html: what differs between two states of a project.
type releaseComparison struct {
	Project  sheaf.Project
	Releases []sheaf.Release // to choose from, the newest first
	From     sheaf.Release   // the earlier state
	To       *sheaf.Release  // the later state; nil: the documents as they are now
	Parts    []comparedPart
	Note     string // why there are no parts
}

// Later returns the id of the later state, as the address has it.
func (p releaseComparison) Later() string {
	if p.To == nil {
		return present
	}
	return string(p.To.ID)
}

// present stands for the documents as they are now, in an address.
const present = "present"

// comparedPart is the documents that differ in the same way.
type comparedPart struct {
	Name, Tone string
	Documents  []comparedDocument
	Count      int
}

// Rest returns the number of documents that the page leaves out.
func (p comparedPart) Rest() int { return p.Count - len(p.Documents) }

// comparedDocument is a document that differs, and the address where a reader sees it.
type comparedDocument struct{ Title, Link string }

// comparedRows is the number of documents that a part of a comparison shows.
const comparedRows = 200

// compareReleases answers GET /w/{workspace}/projects/{id}/releases/compare: what differs between two
// releases of a project, or between a release and the documents as they are now. The parameters "a" and
// "b" are the ids of releases, or "present", in any order. Without them it compares the newest release
// with the documents as they are now.
func (c *Console) compareReleases(v *visit) error {
	d, err := find(v, "project", c.app.Project)
	if err != nil {
		return err
	}
	p := releaseComparison{Project: d.Project}
	if p.Releases, err = v.releasesOf(d.ID); err != nil {
		return err
	}
	if len(p.Releases) == 0 {
		p.Note = "The project has no releases yet."
		return v.showWithTree(http.StatusOK, "release-compare", string(d.ID), p)
	}
	if err := p.choose(v.r.URL.Query().Get("a"), v.r.URL.Query().Get("b")); err != nil {
		return err
	}
	var to sheaf.ReleaseID
	if p.To != nil {
		to = p.To.ID
	}
	diff, err := c.app.DiffRelease(v.r.Context(), v.caller, p.From.ID, to)
	switch {
	case sheaf.KindOf(err) == sheaf.Invalid:
		p.Note = faultOf(err)
	case err != nil:
		return err
	case diff.Equal():
		p.Note = "Nothing differs."
	}
	p.setParts(v, diff)
	return v.showWithTree(http.StatusOK, "release-compare", string(d.ID), p)
}

// choose sets the two states of the comparison, the earlier one first. It returns NotFound for an id
// that is not that of a release of the project.
func (p *releaseComparison) choose(a, b string) error {
	var chosen []sheaf.Release
	for _, asked := range []string{a, b} {
		if asked == "" || asked == present {
			continue
		}
		i := slices.IndexFunc(p.Releases, func(r sheaf.Release) bool { return string(r.ID) == asked })
		if i < 0 {
			return sheaf.Missing("release")
		}
		chosen = append(chosen, p.Releases[i])
	}
	switch len(chosen) {
	case 0:
		p.From = p.Releases[0]
	case 1:
		p.From = chosen[0]
	default:
		slices.SortFunc(chosen, func(a, b sheaf.Release) int { return cmp.Compare(a.Number, b.Number) })
		p.From, p.To = chosen[0], &chosen[1]
	}
	return nil
}

// setParts sets the lists of the page. A document is shown as the later state has it; one that was
// removed, as the earlier state has it.
func (p *releaseComparison) setParts(v *visit, d sheaf.ReleaseDiff) {
	before := func(id sheaf.DocumentID) string { return v.at("releases", string(p.From.ID), "documents", string(id)) }
	after := func(id sheaf.DocumentID) string {
		if p.To == nil {
			return v.at("documents", string(id))
		}
		return v.at("releases", string(p.To.ID), "documents", string(id))
	}
	for _, l := range []struct {
		name, tone string
		list       []sheaf.DocumentName
		link       func(sheaf.DocumentID) string
	}{
		{"Added", "good", d.Added, after},
		{"Removed", "bad", d.Removed, before},
		{"Changed", "warn", d.Changed, func(id sheaf.DocumentID) string { return before(id) + "/compare?to=" + p.Later() }},
		{"Moved", "", d.Moved, after},
	} {
		if len(l.list) == 0 {
			continue
		}
		part := comparedPart{Name: l.name, Tone: l.tone, Count: len(l.list)}
		for _, one := range l.list[:min(len(l.list), comparedRows)] {
			part.Documents = append(part.Documents, comparedDocument{one.Title, l.link(one.ID)})
		}
		p.Parts = append(p.Parts, part)
	}
}
