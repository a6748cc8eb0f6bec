package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// The filter of a webhook has a page of its own: what the webhook hears of, by name, and a search for what
// is to be added. Each click adds or removes one thing, so that two people who do so at once lose nothing.

// filtered is one thing that a filter names.
type filtered struct {
	Kind string // project, folder or record
	ID   string
	Name string // empty: it is no longer there
	Path string // of its page, below the workspace's
}

// Key is the thing as the form names it.
func (f filtered) Key() string { return f.Kind + ":" + f.ID }

// Noun is what it is called to a reader.
func (f filtered) Noun() string {
	if f.Kind == ofRecord && f.Name != "" {
		return "document" // of others the name is not known
	}
	return f.Kind
}

// The kinds of what a filter names.
const (
	inProject = "project"
	inFolder  = "folder"
	ofRecord  = "record"
)

// filterPage is what a webhook hears of.
type filterPage struct {
	sheaf.Subscription
	Only  []filtered // all of it; none: it hears of everything
	Query string
	Found []filtered // what the query leads to, without what is in the filter
	Cut   bool       // there is more than these
}

// filter answers GET /w/{workspace}/webhooks/{id}/filter: it shows what a webhook hears of, and what a
// search leads to.
func (c *Console) filter(v *visit) error {
	p, err := v.filterPage(v.r.URL.Query().Get("q"))
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "webhook-filter", p)
}

func (v *visit) filterPage(query string) (p filterPage, err error) {
	if p.Subscription, err = v.webhookOf(); err != nil {
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
	for _, f := range found.things() {
		if !slices.ContainsFunc(p.Only, func(o filtered) bool { return o.Key() == f.Key() }) {
			p.Found = append(p.Found, f)
		}
	}
	return p, nil
}

// things are what a name leads to, as a filter names it.
func (p named) things() (out []filtered) {
	for _, x := range p.Projects {
		out = append(out, filtered{inProject, string(x.ID), x.Name, "projects/" + string(x.ID)})
	}
	for _, x := range p.Folders {
		out = append(out, filtered{inFolder, string(x.ID), x.Name, "folders/" + string(x.ID)})
	}
	for _, x := range p.Documents {
		out = append(out, filtered{ofRecord, string(x.ID), x.Title, "documents/" + string(x.ID)})
	}
	return out
}

// namesOf finds the names of what a filter has. Of a record that is no document the identifier is its name.
func (v *visit) namesOf(f *sheaf.Filter) (out []filtered, err error) {
	if f == nil {
		return nil, nil
	}
	ctx, a := v.r.Context(), v.console.app
	for _, id := range f.Projects {
		p, err := a.Project(ctx, v.caller, id)
		if out, err = withName(out, filtered{inProject, string(id), p.Name, "projects/" + string(id)}, err); err != nil {
			return nil, err
		}
	}
	for _, id := range f.Folders {
		x, err := a.Folder(ctx, v.caller, id)
		if out, err = withName(out, filtered{inFolder, string(id), x.Name, "folders/" + string(id)}, err); err != nil {
			return nil, err
		}
	}
	for _, id := range f.Resources {
		d, err := a.Document(ctx, v.caller, sheaf.DocumentID(id))
		if out, err = withName(out, filtered{ofRecord, id, d.Title, "documents/" + id}, err); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// withName appends a thing, without a name where it was not found.
func withName(all []filtered, f filtered, err error) ([]filtered, error) {
	if sheaf.KindOf(err) == sheaf.NotFound {
		f.Name, f.Path, err = "", "", nil
	}
	return append(all, f), err
}

// filterTries bounds the attempts to change a filter that other people change at the same time.
const filterTries = 5

// changeFilter answers POST /w/{workspace}/webhooks/{id}/filter: it adds one thing to the filter, or removes
// one.
func (c *Console) changeFilter(v *visit) error {
	var err error
	for range filterTries {
		if err = v.changeFilterOnce(); sheaf.KindOf(err) != sheaf.PreconditionFailed {
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

// changeFilterOnce changes the filter as it is now, unless somebody else does so in the same moment.
func (v *visit) changeFilterOnce() error {
	s, err := v.webhookOf()
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
	_, err = v.console.app.UpdateSubscription(v.r.Context(), v.caller, s.ID, change, sheaf.Match{Asked: true, Revisions: []int64{s.Revision}})
	return err
}

// filterWith is the filter with one thing more, or less, or both.
func filterWith(before *sheaf.Filter, add, remove string) (f sheaf.Filter, err error) {
	if before != nil {
		f = *before.Once()
	}
	if kind, id, err := readKey(add); err != nil {
		return f, err
	} else if id != "" {
		f.Projects, f.Folders = withID(f.Projects, kind == inProject, id), withID(f.Folders, kind == inFolder, id)
		f.Resources = withID(f.Resources, kind == ofRecord, id)
	}
	if kind, id, err := readKey(remove); err != nil {
		return f, err
	} else if id != "" {
		f.Projects, f.Folders = withoutID(f.Projects, kind == inProject, id), withoutID(f.Folders, kind == inFolder, id)
		f.Resources = withoutID(f.Resources, kind == ofRecord, id)
	}
	return *f.Once(), nil
}

// readKey reads what Key writes; nothing is none.
func readKey(key string) (kind, id string, err error) {
	if key == "" {
		return "", "", nil
	}
	kind, id, _ = strings.Cut(key, ":")
	id, ok := sheaf.ParseUUID(id)
	if !ok || kind != inProject && kind != inFolder && kind != ofRecord {
		return "", "", sheaf.Invalidf("%q names nothing that a webhook can hear of", key)
	}
	return kind, id, nil
}

func withID[T ~string](ids []T, is bool, id string) []T {
	if is {
		return append(ids, T(id))
	}
	return ids
}

func withoutID[T ~string](ids []T, is bool, id string) []T {
	return slices.DeleteFunc(ids, func(x T) bool { return is && string(x) == id })
}
