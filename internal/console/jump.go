package console

import (
	"net/url"
	"slices"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// Ctrl-K opens the jump: one field that finds records by name or id, pages and acts, wherever somebody is.
// The script asks for the list as they type, and a choice from it is a link like any other (jump.js).

// jumpPage is the data of jump.html.
type jumpPage struct {
	Query  string
	Fault  string // what is wrong with the words
	Groups []jumpGroup
}

// Count is how many there are to choose.
func (p jumpPage) Count() (n int) {
	for _, g := range p.Groups {
		n += len(g.Items)
	}
	return n
}

// jumpGroup is the finds of one kind.
type jumpGroup struct {
	Name  string
	Items []jumpItem
}

// jumpItem is one thing to choose.
type jumpItem struct {
	Title, Where string  // its name, and where it is or what it does
	Icon, Link   string  // the address has no Base
	Dialog       bool    // it opens in the dialog
	Pieces       []piece // of the text in which the words were found
}

// goal is something to choose that is on a page of its own.
func goal(title, where, icon, link string) jumpItem {
	return jumpItem{Title: title, Where: where, Icon: icon, Link: link}
}

// mostFound is how many records of a kind are shown; the search page has the rest.
const mostFound = 6

// jump answers GET /w/{workspace}/jump: what there is to choose for what was typed so far.
func (c *Console) jump(v *visit) error {
	p := jumpPage{Query: typedQuery(v.r.URL.Query().Get("q"))}
	for _, fill := range []func(*jumpPage) error{v.jumpToID, v.jumpToNames, v.jumpToProgrammed, v.jumpToActs, v.jumpToSearch} {
		if err := fill(&p); err != nil {
			return err
		}
	}
	return v.fragment("jump", "choices-of-jump", p)
}

// add puts a group onto the page, unless it is empty.
func (p *jumpPage) add(name string, items []jumpItem) {
	if len(items) > 0 {
		p.Groups = append(p.Groups, jumpGroup{name, items})
	}
}

// jumpToNames finds projects, folders and documents by their words.
func (v *visit) jumpToNames(p *jumpPage) error {
	if p.Query == "" {
		return nil
	}
	paths := folderPaths{v: v, known: map[sheaf.FolderID]sheaf.Folder{}}
	for _, types := range [][]sheaf.SearchType{{sheaf.SearchProject}, {sheaf.SearchFolder}, {sheaf.SearchDocument}} {
		hits, err := v.console.app.Search(v.r.Context(), v.caller, sheaf.SearchQuery{Text: p.Query, Types: types, Paging: sheaf.Paging{Limit: mostFound}})
		if sheaf.KindOf(err) == sheaf.Invalid {
			p.Fault = faultOf(err)
			return nil
		}
		if err != nil {
			return err
		}
		items, err := v.jumpHits(hits.Items, paths)
		if err != nil {
			return err
		}
		p.add(strings.ToUpper(string(types[0][:1]))+string(types[0][1:])+"s", items)
	}
	return nil
}

// jumpHits are hits of a search with where they are.
func (v *visit) jumpHits(hits []sheaf.Hit, paths folderPaths) (out []jumpItem, err error) {
	names, err := v.projectsOf(hits)
	if err != nil {
		return nil, err
	}
	for _, h := range hits {
		where, err := paths.to(h.FolderID)
		if err != nil {
			return nil, err
		}
		if h.Type == sheaf.SearchDocument && h.ProjectID != nil {
			where = joined(where, names[*h.ProjectID])
		}
		f := found{Hit: h}
		out = append(out, jumpItem{Title: h.Title, Where: where, Icon: f.Icon(), Link: v.link(f.Path(), h.ID), Pieces: marked(h)})
	}
	return out, nil
}

// marked is the text in which a search found its words; nothing where it found them in the name alone.
func marked(h sheaf.Hit) []piece {
	if len(h.Ranges) == 0 {
		return nil
	}
	return pieces(h.Snippet, h.Ranges)
}

// joined is a place in a place.
func joined(outer, inner string) string {
	if outer == "" || inner == "" {
		return outer + inner
	}
	return outer + " / " + inner
}

// to is the folder of that id behind those that it is in; empty for the root level.
func (f folderPaths) to(id *sheaf.FolderID) (string, error) {
	if id == nil {
		return "", nil
	}
	x, err := f.folder(*id)
	if sheaf.KindOf(err) == sheaf.NotFound {
		return "", nil // it was deleted between two questions
	}
	if err != nil {
		return "", err
	}
	label, _, err := f.path(x, "")
	return label, err
}

// link is an address within the workspace, without what stands before every address.
func (v *visit) link(path ...string) string {
	return "/w/" + string(v.caller.Workspace) + "/" + strings.Join(path, "/")
}

// jumpToID finds whatever has the identifier that was typed.
func (v *visit) jumpToID(p *jumpPage) error {
	if id, ok := sheaf.ParseEventID(p.Query); ok {
		return v.jumpToEvent(p, id)
	}
	id, ok := sheaf.ParseUUID(p.Query)
	if !ok {
		return nil
	}
	var items []jumpItem
	for _, look := range v.byID(id) {
		item, err := look()
		switch kind := sheaf.KindOf(err); {
		case err == nil:
			items = append(items, item)
		case kind != sheaf.NotFound && kind != sheaf.Forbidden:
			return err
		}
	}
	p.add("By id", items)
	return nil
}

// byID are the looks for an identifier, one for each noun.
func (v *visit) byID(id string) []func() (jumpItem, error) {
	ctx, a, c := v.r.Context(), v.console.app, v.caller
	return []func() (jumpItem, error){
		func() (jumpItem, error) {
			x, err := a.Project(ctx, c, sheaf.ProjectID(id))
			return goal(x.Name, "project", "book-open", v.link("projects", id)), err
		},
		func() (jumpItem, error) {
			x, err := a.Folder(ctx, c, sheaf.FolderID(id))
			return goal(x.Name, "folder", "folder", v.link("folders", id)), err
		},
		func() (jumpItem, error) {
			x, err := a.Document(ctx, c, sheaf.DocumentID(id))
			return goal(x.Title, "document", "file", v.link("documents", id)), err
		},
		func() (jumpItem, error) {
			x, err := a.Branding(ctx, c, sheaf.BrandingID(id))
			return goal(x.Name, "branding", "palette", v.link("brandings", id)), err
		},
		func() (jumpItem, error) {
			x, err := a.Subscription(ctx, c, sheaf.SubscriptionID(id))
			return goal(x.Name, "webhook", "webhook", v.link("webhooks", id)), err
		},
		func() (jumpItem, error) {
			x, err := a.Delivery(ctx, c, sheaf.DeliveryID(id))
			return goal(string(x.EventType), "delivery", "webhook", v.link("deliveries", id)), err
		},
		func() (jumpItem, error) {
			x, err := a.Medium(ctx, c, sheaf.MediumID(id))
			return goal(x.Filename, "file", "image", v.link("media", id, "content")), err
		},
	}
}

// jumpToEvent finds the event of an identifier.
func (v *visit) jumpToEvent(p *jumpPage, id sheaf.EventID) error {
	e, err := v.console.app.Event(v.r.Context(), v.caller, id)
	switch sheaf.KindOf(err) {
	case sheaf.NotFound, sheaf.Forbidden:
		return nil
	}
	if err != nil {
		return err
	}
	p.add("By id", []jumpItem{goal(string(e.Type), "event", "pulse", v.link("events", string(id)))})
	return nil
}

// jumpToProgrammed finds webhooks by name or address, and keys by name, prefix or id: no plan has many.
func (v *visit) jumpToProgrammed(p *jumpPage) error {
	if p.Query == "" {
		return nil
	}
	if err := v.jumpToWebhooks(p); err != nil {
		return err
	}
	return v.jumpToKeys(p)
}

// jumpToWebhooks finds webhooks by name or address.
func (v *visit) jumpToWebhooks(p *jumpPage) error {
	if !v.caller.May(sheaf.WebhooksRead) {
		return nil
	}
	hooks, err := v.console.app.Subscriptions(v.r.Context(), v.caller, sheaf.Paging{Limit: webhookPage})
	var items []jumpItem
	for _, h := range hooks.Items {
		if p.asksFor(h.Name, h.URL) && len(items) < mostFound {
			items = append(items, goal(h.Name, h.URL, "webhook", v.link("webhooks", string(h.ID))))
		}
	}
	p.add("Webhooks", items)
	return err
}

// jumpToKeys finds keys by name, prefix or id.
func (v *visit) jumpToKeys(p *jumpPage) error {
	if !v.caller.May(sheaf.KeysRead) {
		return nil
	}
	keys, err := v.console.app.Keys(v.r.Context(), v.caller, sheaf.Paging{Limit: keyPage})
	var items []jumpItem
	for _, k := range keys.Items {
		if p.asksFor(k.Name, k.Prefix, string(k.ID)) && len(items) < mostFound {
			items = append(items, goal(k.Name, k.Prefix+"…", "key", v.link("keys#key-"+string(k.ID))))
		}
	}
	p.add("Keys", items)
	return err
}

// asksFor reports whether every word of the query is in one of these texts.
func (p *jumpPage) asksFor(texts ...string) bool {
	all := strings.ToLower(strings.Join(texts, "\n"))
	return !slices.ContainsFunc(strings.Fields(strings.ToLower(p.Query)), func(word string) bool { return !strings.Contains(all, word) })
}

// jumpToSearch leads to the page that searches the texts.
func (v *visit) jumpToSearch(p *jumpPage) error {
	if p.Query != "" {
		p.add("Search", []jumpItem{goal("Search all texts for “"+p.Query+"”", "", "search", v.link("search?"+url.Values{"q": {p.Query}}.Encode()))})
	}
	return nil
}
