package console

import (
	"html/template"
	"strconv"

	"sheaf.dev/internal/sheaf"
)

// versionsPage is the data of versions.html.
type versionsPage struct {
	Document sheaf.Document
	Versions []sheaf.Version
	People   people
	Total    int64
	More     string
}

// Before returns the number of the version before the present one.
func (p versionsPage) Before() int64 { return p.Document.Version - 1 }

// versions answers GET /w/{workspace}/documents/{id}/versions: the versions of a document.
func (c *Console) versions(v *visit) error {
	d, err := find(v, "document", c.app.Document)
	if err != nil {
		return err
	}
	p := versionsPage{Document: d}
	offset := v.offset("from")
	page, err := c.app.Versions(v.r.Context(), v.caller, d.ID, sheaf.Paging{Limit: sheaf.DefaultLimit, Offset: offset, Desc: true})
	if err != nil {
		return err
	}
	if p.People, err = v.authors(page.Items...); err != nil {
		return err
	}
	p.Versions, p.Total, p.More = page.Items, page.Total, v.more(page.More(), offset+sheaf.DefaultLimit)
	return v.showDocument("versions", d, p)
}

// versionPage is the data of version.html: one version, in one of three views.
type versionPage struct {
	Document sheaf.Document
	Version  sheaf.Version
	By       string
	Restored int64  // the number of the version that it restored; 0: none
	Trimmed  bool   // the restored version is no longer kept
	View     string // "changes" since the previous version, "now" for those up to the current one, or "text"
	Diff     diffLines
	HTML     template.HTML
	Note     string // why there is no diff
}

// Present reports whether this is the document's current version.
func (p versionPage) Present() bool { return p.Version.Number == p.Document.Version }

// versionOf finds the document and the version in the path, or NotFound.
func (v *visit) versionOf() (d sheaf.Document, x sheaf.VersionText, err error) {
	if d, err = find(v, "document", v.console.app.Document); err != nil {
		return d, x, err
	}
	n, err := strconv.ParseInt(v.r.PathValue("n"), 10, 64)
	if err != nil || n < 1 {
		return d, x, sheaf.Missing("version")
	}
	x, err = v.console.app.Version(v.r.Context(), v.caller, d.ID, n)
	return d, x, err
}

// oldestVersion returns the number of the document's oldest version that is kept.
func (v *visit) oldestVersion(d sheaf.Document) (int64, error) {
	page, err := v.console.app.Versions(v.r.Context(), v.caller, d.ID, sheaf.Paging{Limit: 1})
	return d.Version - page.Total + 1, err
}

// version answers GET /w/{workspace}/documents/{id}/versions/{n}: what a version changed, how it
// differs from the current one, or its text.
func (c *Console) version(v *visit) error {
	d, x, err := v.versionOf()
	if err != nil {
		return err
	}
	names, err := v.authors(x.Version)
	if err != nil {
		return err
	}
	p := versionPage{Document: d, Version: x.Version, By: names.By(x.Version), View: v.r.URL.Query().Get("view")}
	if x.Restored != nil {
		p.Restored = *x.Restored
		oldest, err := v.oldestVersion(d)
		if err != nil {
			return err
		}
		p.Trimmed = p.Restored < oldest
	}
	switch p.View {
	case "text":
		p.HTML, _, err = v.renderText(x.Content, "", p.Document.ID)
	case "now":
		err = v.compare(&p, x.Number, d.Version)
	default:
		if p.View = "changes"; x.Number == 1 {
			p.Note = "This is the first version."
		} else {
			err = v.compare(&p, x.Number-1, x.Number)
		}
	}
	if err != nil {
		return err
	}
	return v.showDocument("version", d, p)
}

// compare sets the diff between two versions, or the note why there is none: one is no longer kept,
// or too long.
func (v *visit) compare(p *versionPage, from, to int64) (err error) {
	p.Diff, p.Note, err = v.diff(p.Document.ID, from, to)
	return err
}

// diff returns the diff between two versions, or the note why there is none.
func (v *visit) diff(id sheaf.DocumentID, from, to int64) (d diffLines, note string, err error) {
	unified, err := v.console.app.DiffVersions(v.r.Context(), v.caller, id, from, &to)
	switch sheaf.KindOf(err) {
	case sheaf.NotFound:
		return d, "The previous version is no longer kept.", nil
	case sheaf.Invalid:
		return d, faultOf(err), nil
	}
	if err == nil && unified == "" {
		note = "The text is the same."
	}
	return readDiff(unified), note, err
}

// comparePage is the data of version-compare.html: two versions of a document, the older one first.
type comparePage struct {
	Document  sheaf.Document
	From, To  sheaf.Version
	By, ByTo  string
	Diff      diffLines
	Note      string // why there is no diff
	Min, Max  int64  // the numbers of the oldest and of the present version
	Asked     [2]int64
	Incorrect string // what is wrong with the numbers; empty if nothing is
}

// compareVersions answers GET /w/{workspace}/documents/{id}/versions/compare: how two versions differ.
// The parameters "a" and "b" are their numbers, in any order.
func (c *Console) compareVersions(v *visit) error {
	d, err := find(v, "document", c.app.Document)
	if err != nil {
		return err
	}
	oldest, err := v.oldestVersion(d)
	if err != nil {
		return err
	}
	p := comparePage{Document: d, Max: d.Version, Min: oldest}
	q := v.r.URL.Query()
	for i, name := range []string{"a", "b"} {
		p.Asked[i], _ = strconv.ParseInt(q.Get(name), 10, 64)
	}
	if p.Asked[0] > p.Asked[1] {
		p.Asked[0], p.Asked[1] = p.Asked[1], p.Asked[0]
	}
	if p.Asked[0] < p.Min || p.Asked[1] > p.Max {
		p.Incorrect = "Choose two versions from " + strconv.FormatInt(p.Min, 10) + " to " + strconv.FormatInt(p.Max, 10) + ". Older ones are no longer kept."
		p.Asked = [2]int64{max(p.Min, p.Max-1), p.Max}
		return v.showDocument("version-compare", d, p)
	}
	if err := v.fillComparison(&p); err != nil {
		return err
	}
	return v.showDocument("version-compare", d, p)
}

// fillComparison reads the two versions of the page, and how they differ.
func (v *visit) fillComparison(p *comparePage) error {
	for i, into := range []*sheaf.Version{&p.From, &p.To} {
		x, err := v.console.app.Version(v.r.Context(), v.caller, p.Document.ID, p.Asked[i])
		if err != nil {
			return err
		}
		*into = x.Version
	}
	names, err := v.authors(p.From, p.To)
	if err != nil {
		return err
	}
	p.By, p.ByTo = names.By(p.From), names.By(p.To)
	p.Diff, p.Note, err = v.diff(p.Document.ID, p.Asked[0], p.Asked[1])
	return err
}

// versionRestore is the data of version-restore.html.
type versionRestore struct {
	Document sheaf.Document
	Version  sheaf.Version
}

// restoreVersionForm answers GET /w/{workspace}/documents/{id}/versions/{n}/restore: it asks for
// confirmation. If the document is in a project that needs review, the page suggests the restore.
func (c *Console) restoreVersionForm(v *visit) error {
	d, x, err := v.versionOf()
	if err != nil {
		return err
	}
	switch suggests, err := v.onlySuggests(d); {
	case err != nil:
		return err
	case suggests:
		return v.showDocument("document-suggest-act", d, v.versionSuggestion(d, x))
	}
	return v.showDocument("version-restore", d, versionRestore{d, x.Version})
}

// restoreVersion answers POST /w/{workspace}/documents/{id}/versions/{n}/restore: it saves an old
// version's values as a new version. If the document was changed since the form was made, it asks
// again.
func (c *Console) restoreVersion(v *visit) error {
	d, x, err := v.versionOf()
	if err != nil {
		return err
	}
	revision, err := v.revision()
	if err != nil {
		return err
	}
	_, err = c.app.RestoreVersion(v.r.Context(), v.caller, d.ID, x.Number, sheaf.Match{Asked: true, Revisions: []int64{revision}})
	if sheaf.KindOf(err) == sheaf.PreconditionFailed {
		err = &sheaf.Error{Kind: sheaf.PreconditionFailed, Code: sheaf.CodePreconditionFailed,
			Text: "The document was changed meanwhile, and nothing was restored. Check its versions, and restore again if you still want to"}
	}
	if err != nil {
		if lost := v.locate(sheaf.ProjectID(projectIDOf(d))); lost != nil {
			return lost
		}
		if lost := v.locateAbove(d.ParentID); lost != nil {
			return lost
		}
		return v.again("version-restore", versionRestore{d, x.Version}, err)
	}
	return v.done(v.at("documents", string(d.ID)))
}
