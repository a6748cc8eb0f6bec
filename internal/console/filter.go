package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// The filter of a webhook has a page of its own: the records that it names, and a search for
// records to add. Each click adds or removes one record, so two people who change the filter at
// once lose nothing.

// filterItem is one record that a filter names.
type filterItem struct {
	Kind string // project, folder or record
	ID   string
	Name string // empty if it was deleted
	Path string // of its page, within the workspace
}

// Key returns the name of the record in the form.
func (f filterItem) Key() string { return f.Kind + ":" + f.ID }

// Noun returns the word for the record's kind.
func (f filterItem) Noun() string {
	if f.Kind == ofRecord && f.Name != "" {
		return "document" // the names of other records are not known
	}
	return f.Kind
}

// The kinds of records in a filter.
const (
	inProject = "project"
	inFolder  = "folder"
	ofRecord  = "record"
)

// filterPage is the data of webhook-filter.html.
type filterPage struct {
	sheaf.Subscription
	Only  []filterItem // the records of the filter; none: the webhook gets all events
	Query string
	Found []filterItem // the records that the query finds, without those in the filter
	Cut   bool         // there are more
}

// filter answers GET /w/{workspace}/webhooks/{id}/filter: the filter, and the result of a search.
func (c *Console) filter(v *visit) error {
	p, err := v.filterPage(v.r.URL.Query().Get("q"))
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "webhook-filter", p)
}

// filterPage reads the filter of the webhook in the path, and searches for the query.
func (v *visit) filterPage(query string) (p filterPage, err error) {
	if p.Subscription, err = find(v, "webhook", v.console.app.Subscription); err != nil {
		return p, err
	}
	if p.Only, err = v.namesOf(p.Filter); err != nil {
		return p, err
	}
	if p.Query = strings.TrimSpace(query); p.Query == "" {
		return p, nil
	}
	var found named
	if err := v.findNamed(&found, p.Query); err != nil {
		return p, err
	}
	p.Cut = found.Cut
	for _, x := range found.Projects {
		p.Found = append(p.Found, filterItem{inProject, string(x.ID), x.Name, "projects/" + string(x.ID)})
	}
	for _, x := range found.Folders {
		p.Found = append(p.Found, filterItem{inFolder, string(x.ID), x.Name, "folders/" + string(x.ID)})
	}
	for _, x := range found.Documents {
		p.Found = append(p.Found, filterItem{ofRecord, string(x.ID), x.Title, "documents/" + string(x.ID)})
	}
	p.Found = slices.DeleteFunc(p.Found, func(f filterItem) bool {
		return slices.ContainsFunc(p.Only, func(o filterItem) bool { return o.Key() == f.Key() })
	})
	return p, nil
}

// namesOf finds the names of the records in a filter. A record that is not a document has no name
// but its id, and one that was deleted has none.
func (v *visit) namesOf(f *sheaf.Filter) (out []filterItem, err error) {
	if f == nil {
		return nil, nil
	}
	add := func(f filterItem, err error) error {
		if sheaf.KindOf(err) == sheaf.NotFound {
			f.Name, f.Path, err = "", "", nil
		}
		out = append(out, f)
		return err
	}
	ctx, a := v.r.Context(), v.console.app
	for _, id := range f.Projects {
		p, err := a.Project(ctx, v.caller, id)
		if err := add(filterItem{inProject, string(id), p.Name, "projects/" + string(id)}, err); err != nil {
			return nil, err
		}
	}
	for _, id := range f.Folders {
		x, err := a.Folder(ctx, v.caller, id)
		if err := add(filterItem{inFolder, string(id), x.Name, "folders/" + string(id)}, err); err != nil {
			return nil, err
		}
	}
	for _, id := range f.Resources {
		d, err := a.Document(ctx, v.caller, sheaf.DocumentID(id))
		if err := add(filterItem{ofRecord, id, d.Title, "documents/" + id}, err); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// filterTries bounds the attempts to change a filter while other people change it.
const filterTries = 5

// changeFilter answers POST /w/{workspace}/webhooks/{id}/filter: it adds a record to the filter, or
// removes one.
func (c *Console) changeFilter(v *visit) error {
	// If another person changes the filter at the same time, change returns PreconditionFailed.
	change := func() error {
		s, err := find(v, "webhook", c.app.Subscription)
		if err != nil {
			return err
		}
		f, err := filterWith(s.Filter, v.field("add"), v.field("remove"))
		if err != nil {
			return err
		}
		change := sheaf.SubscriptionChange{Filter: sheaf.Some(f)}
		if len(f.Projects)+len(f.Folders)+len(f.Resources) == 0 {
			change.Filter = sheaf.Nil[sheaf.Filter]()
		}
		_, err = c.app.UpdateSubscription(v.r.Context(), v.caller, s.ID, change, sheaf.Match{Asked: true, Revisions: []int64{s.Revision}})
		return err
	}
	var err error
	for range filterTries {
		if err = change(); sheaf.KindOf(err) != sheaf.PreconditionFailed {
			break
		}
	}
	back := v.at("webhooks", v.r.PathValue("id"), "filter")
	if q := v.field("q"); q != "" {
		back += "?q=" + url.QueryEscape(q)
	}
	if err == nil {
		return v.done(back)
	}
	p, failed := v.filterPage(v.field("q"))
	if failed != nil {
		return failed
	}
	return v.again("webhook-filter", p, err)
}

// filterWith returns the filter with the record `add` and without the record `remove`. Either may
// be empty.
func filterWith(before *sheaf.Filter, add, remove string) (f sheaf.Filter, err error) {
	if before != nil {
		f = *before.Once()
	}
	if kind, id, err := readKey(add); err != nil {
		return f, err
	} else if id != "" {
		switch kind {
		case inProject:
			f.Projects = append(f.Projects, sheaf.ProjectID(id))
		case inFolder:
			f.Folders = append(f.Folders, sheaf.FolderID(id))
		default:
			f.Resources = append(f.Resources, id)
		}
	}
	if kind, id, err := readKey(remove); err != nil {
		return f, err
	} else if id != "" {
		switch kind {
		case inProject:
			f.Projects = slices.DeleteFunc(f.Projects, func(x sheaf.ProjectID) bool { return string(x) == id })
		case inFolder:
			f.Folders = slices.DeleteFunc(f.Folders, func(x sheaf.FolderID) bool { return string(x) == id })
		default:
			f.Resources = slices.DeleteFunc(f.Resources, func(x string) bool { return x == id })
		}
	}
	return *f.Once(), nil
}

// readKey reads a name that filterItem.Key returned. An empty one names no record.
func readKey(key string) (kind, id string, err error) {
	if key == "" {
		return "", "", nil
	}
	kind, id, _ = strings.Cut(key, ":")
	id, ok := sheaf.ParseUUID(id)
	if !ok || kind != inProject && kind != inFolder && kind != ofRecord {
		return "", "", sheaf.Invalidf("%q is not a project, folder or document that a webhook can be limited to", key)
	}
	return kind, id, nil
}
