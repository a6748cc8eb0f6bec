package console

import (
	"net/url"
	"slices"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// The editor offers documents for a link while the person types, and makes a link of the address of a
// document that is pasted.

// Limits of the documents that are offered.
const (
	mostLinked = 12 // documents that are shown; the path of each is read
	readLinked = 50 // documents that are read; those with the words in the title come first
)

// linkTarget is a document to link to.
type linkTarget struct {
	ID    sheaf.DocumentID
	Title string
	Path  string // the names of its project and of the documents above it; empty if it has none
}

// linkTargets answers GET /w/{workspace}/documents/links: the documents whose title or description has
// the words "q", the most recently changed first, or the document at the address "address". The answer
// is a list for the editor's script.
func (c *Console) linkTargets(v *visit) (err error) {
	q := v.r.URL.Query()
	var targets []linkTarget
	if q.Has("address") {
		targets, err = v.linkTargetAt(q.Get("address"))
	} else {
		targets, err = v.findLinkTargets(typedQuery(q.Get("q")), sheaf.DocumentID(q.Get("in")))
	}
	if err != nil {
		return err
	}
	return v.fragment("document-form", "link-targets", targets)
}

// findLinkTargets finds documents for a link, except the document `in` that is being written.
func (v *visit) findLinkTargets(query string, in sheaf.DocumentID) (out []linkTarget, err error) {
	page, err := v.console.app.Documents(v.r.Context(), v.caller, sheaf.DocumentFilter{Query: query, Sort: sheaf.DocumentsByUpdated,
		Paging: sheaf.Paging{Limit: readLinked, Desc: true}})
	if err != nil {
		return nil, err
	}
	found := slices.DeleteFunc(page.Items, func(d sheaf.Document) bool { return d.ID == in })
	byTitle := func(d sheaf.Document) int {
		if strings.Contains(strings.ToLower(d.Title), strings.ToLower(query)) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(found, func(a, b sheaf.Document) int { return byTitle(a) - byTitle(b) })
	return v.linkTargetsOf(found[:min(len(found), mostLinked)])
}

// linkTargetsOf returns the documents with their paths. It leaves out documents that were deleted meanwhile.
func (v *visit) linkTargetsOf(all []sheaf.Document) (out []linkTarget, err error) {
	paths := documentPaths{v, map[sheaf.ProjectID]string{}}
	for _, d := range all {
		names, _, err := paths.above(d)
		if sheaf.KindOf(err) == sheaf.NotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, linkTarget{d.ID, d.Title, strings.Join(names, " / ")})
	}
	return out, nil
}

// linkTargetAt returns the document at an address of the console or of a share, if the person may see
// it. Any other address has none. The host of the address does not matter: the document is found by its
// id, or by the token of the share.
func (v *visit) linkTargetAt(address string) ([]linkTarget, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, nil
	}
	id, err := v.documentAt(strings.Split(strings.Trim(strings.TrimPrefix(u.Path, v.console.base), "/"), "/"))
	if err != nil || id == "" {
		return nil, err
	}
	d, err := v.console.app.Document(v.r.Context(), v.caller, id)
	if sheaf.KindOf(err) == sheaf.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return v.linkTargetsOf([]sheaf.Document{d})
}

// documentAt returns the id of the document at a path of the console or of a share in this workspace;
// empty if there is none.
func (v *visit) documentAt(parts []string) (sheaf.DocumentID, error) {
	asDocument := func(s string) sheaf.DocumentID {
		id, _ := sheaf.ParseUUID(s)
		return sheaf.DocumentID(id)
	}
	switch {
	case len(parts) >= 4 && parts[0] == "w" && parts[1] == string(v.caller.Workspace) && parts[2] == "documents":
		return asDocument(parts[3]), nil
	case len(parts) >= 2 && parts[0] == "s":
		s, err := v.console.app.OpenShare(v.r.Context(), parts[1])
		switch {
		case sheaf.KindOf(err) == sheaf.NotFound || err == nil && s.Workspace != v.caller.Workspace:
			return "", nil
		case err != nil:
			return "", err
		case len(parts) > 2:
			return asDocument(parts[2]), nil
		case s.ResourceType == sheaf.ShareOfDocument:
			return sheaf.DocumentID(s.ResourceID), nil
		}
	}
	return "", nil
}

// documentPaths finds the paths of documents. It reads each project once.
type documentPaths struct {
	v     *visit
	names map[sheaf.ProjectID]string // of the projects that were read
}

// above returns the names of the document's project and of the documents above it, and the entries from
// the top level down to the document itself. It returns NotFound if the document is deleted.
func (p documentPaths) above(d sheaf.Document) (names []string, path []sheaf.PathEntry, err error) {
	ctx, a := p.v.r.Context(), p.v.console.app
	if path, err = a.DocumentPath(ctx, p.v.caller, d.ID); err != nil {
		return nil, nil, err
	}
	if id := d.ProjectID; id != nil {
		name, known := p.names[*id]
		if !known {
			project, err := a.Project(ctx, p.v.caller, *id)
			if err != nil && sheaf.KindOf(err) != sheaf.NotFound {
				return nil, nil, err
			}
			name = project.Name
			p.names[*id] = name
		}
		if name != "" {
			names = append(names, name)
		}
	}
	for _, e := range path[:max(len(path)-1, 0)] {
		names = append(names, e.Title)
	}
	return names, path, nil
}
