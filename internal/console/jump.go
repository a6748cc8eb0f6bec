package console

import (
	"net/url"
	"slices"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// Ctrl-K opens the jump on every page: one field that finds records by name or id, pages and
// actions. The script reads the list while the person types, and every choice is a link (jump.js).

// jumpPage is the data of jump.html.
type jumpPage struct {
	Query  string
	Fault  string // what is wrong with the query; empty if nothing is
	Groups []jumpGroup
}

// Count returns the number of choices.
func (p jumpPage) Count() (n int) {
	for _, g := range p.Groups {
		n += len(g.Items)
	}
	return n
}

// jumpGroup is the choices of one kind.
type jumpGroup struct {
	Name  string
	Items []jumpItem
}

// jumpItem is one choice.
type jumpItem struct {
	Title, Where string  // its name, and its place or purpose
	Icon, Link   string  // the address has no Base
	Dialog       bool    // it opens in the dialog
	Pieces       []piece // of the text in which the query was found; none if only the name matches
}

func newJumpItem(title, where, icon, link string) jumpItem {
	return jumpItem{Title: title, Where: where, Icon: icon, Link: link}
}

// mostFound is the number of records of a kind that are shown. The search page shows all.
const mostFound = 6

// jump answers GET /w/{workspace}/jump: the choices for what was typed so far.
func (c *Console) jump(v *visit) error {
	p := jumpPage{Query: typedQuery(v.r.URL.Query().Get("q"))}
	v.jumpToActs(&p, p.calls)
	if p.Query != "" {
		for _, fill := range []func(*jumpPage) error{v.jumpToID, v.jumpToNames, v.jumpToIntegrations} {
			if err := fill(&p); err != nil {
				return err
			}
		}
	}
	if p.Query != "" {
		v.jumpToActs(&p, func(title, does string) bool { return !p.calls(title, does) && p.matches(title, does) })
		p.add("Search", []jumpItem{newJumpItem("Search all texts for “"+p.Query+"”", "", "search", v.link("search?"+url.Values{"q": {p.Query}}.Encode()))})
	}
	return v.fragment("jump", "choices-of-jump", p)
}

// add appends a group, unless it is empty.
func (p *jumpPage) add(name string, items []jumpItem) {
	if len(items) > 0 {
		p.Groups = append(p.Groups, jumpGroup{name, items})
	}
}

// matches reports whether every word of the query is in one of these texts.
func (p *jumpPage) matches(texts ...string) bool {
	all := strings.ToLower(strings.Join(texts, "\n"))
	return !slices.ContainsFunc(strings.Fields(strings.ToLower(p.Query)), func(word string) bool { return !strings.Contains(all, word) })
}

// calls reports whether every word of the query begins a word of the title: the person types the
// name of a command. Commands that are called come before all records.
func (p *jumpPage) calls(title, _ string) bool {
	parts := strings.Fields(strings.ToLower(title))
	return !slices.ContainsFunc(strings.Fields(strings.ToLower(p.Query)), func(word string) bool {
		return !slices.ContainsFunc(parts, func(part string) bool { return strings.HasPrefix(part, word) })
	})
}

// link returns an address within the workspace, without the prefix of all addresses.
func (v *visit) link(path ...string) string {
	return "/w/" + string(v.caller.Workspace) + "/" + strings.Join(path, "/")
}

// jumpToNames finds projects, folders and documents by their words, and shows where they are.
func (v *visit) jumpToNames(p *jumpPage) error {
	paths := folderPaths{v: v, known: map[sheaf.FolderID]sheaf.Folder{}}
	for _, types := range [][]sheaf.SearchType{{sheaf.SearchProject}, {sheaf.SearchFolder}, {sheaf.SearchDocument}} {
		hits, err := v.readHits(p.Query, types)
		if sheaf.KindOf(err) == sheaf.Invalid {
			p.Fault = faultOf(err)
			return nil
		}
		if err != nil {
			return err
		}
		names, err := v.projectsOf(hits)
		if err != nil {
			return err
		}
		var items []jumpItem
		for _, h := range hits {
			where := "" // the root level, or a folder that was just deleted
			if h.FolderID != nil {
				folder, err := paths.folder(*h.FolderID)
				if err == nil {
					where, _, err = paths.path(folder, "")
				}
				if err != nil && sheaf.KindOf(err) != sheaf.NotFound {
					return err
				}
			}
			if h.Type == sheaf.SearchDocument && h.ProjectID != nil {
				if where != "" && names[*h.ProjectID] != "" {
					where += " / "
				}
				where += names[*h.ProjectID]
			}
			f := found{Hit: h}
			item := jumpItem{Title: h.Title, Where: where, Icon: f.Icon(), Link: v.link(f.Path(), h.ID)}
			if len(h.Ranges) > 0 {
				item.Pieces = pieces(h.Snippet, h.Ranges)
			}
			items = append(items, item)
		}
		p.add(strings.ToUpper(string(types[0][:1]))+string(types[0][1:])+"s", items)
	}
	return nil
}

// readHits reads at most mostRounds pages of hits to find mostFound that it may return.
const mostRounds = 4

// readHits returns the first hits whose words a reader sees. A hit in the address of a link, or in a
// comment, is left out: the search page has it.
func (v *visit) readHits(text string, types []sheaf.SearchType) (out []sheaf.Hit, err error) {
	q := sheaf.SearchQuery{Text: text, Types: types, Reading: true, Paging: sheaf.Paging{Limit: mostFound}}
	for range mostRounds {
		page, err := v.console.app.Search(v.r.Context(), v.caller, q)
		if err != nil {
			return nil, err
		}
		for _, h := range page.Items {
			if !h.Unread && len(out) < mostFound {
				out = append(out, h)
			}
		}
		if len(out) == mostFound || !page.More() {
			break
		}
		q.Offset += mostFound
	}
	return out, nil
}

// jumpToID finds the record or event whose identifier was typed.
func (v *visit) jumpToID(p *jumpPage) error {
	ctx, a, c := v.r.Context(), v.console.app, v.caller
	var reads []func() (jumpItem, error) // one for each noun
	if id, ok := sheaf.ParseUUID(p.Query); ok {
		reads = []func() (jumpItem, error){
			func() (jumpItem, error) {
				x, err := a.Project(ctx, c, sheaf.ProjectID(id))
				return newJumpItem(x.Name, "project", "book-open", v.link("projects", id)), err
			},
			func() (jumpItem, error) {
				x, err := a.Folder(ctx, c, sheaf.FolderID(id))
				return newJumpItem(x.Name, "folder", "folder", v.link("folders", id)), err
			},
			func() (jumpItem, error) {
				x, err := a.Document(ctx, c, sheaf.DocumentID(id))
				return newJumpItem(x.Title, "document", "file", v.link("documents", id)), err
			},
			func() (jumpItem, error) {
				x, err := a.Release(ctx, c, sheaf.ReleaseID(id))
				return newJumpItem(x.Name, "release", "tag", v.link("releases", id)), err
			},
			func() (jumpItem, error) {
				x, err := a.Branding(ctx, c, sheaf.BrandingID(id))
				return newJumpItem(x.Name, "branding", "palette", v.link("brandings", id)), err
			},
			func() (jumpItem, error) {
				x, err := a.Subscription(ctx, c, sheaf.SubscriptionID(id))
				return newJumpItem(x.Name, "webhook", "webhook", v.link("webhooks", id)), err
			},
			func() (jumpItem, error) {
				x, err := a.Delivery(ctx, c, sheaf.DeliveryID(id))
				return newJumpItem(string(x.EventType), "delivery", "webhook", v.link("deliveries", id)), err
			},
			func() (jumpItem, error) {
				x, err := a.Medium(ctx, c, sheaf.MediumID(id))
				return newJumpItem(x.Filename, "file", "image", v.link("media", id, "content")), err
			},
		}
	}
	if id, ok := sheaf.ParseEventID(p.Query); ok {
		reads = append(reads, func() (jumpItem, error) {
			e, err := v.console.app.Event(v.r.Context(), v.caller, id)
			return newJumpItem(string(e.Type), "event", "pulse", v.link("events", string(id))), err
		})
	}
	var items []jumpItem
	for _, read := range reads {
		item, err := read()
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

// jumpToIntegrations finds webhooks by name or address, and keys by name, prefix or id. No plan
// allows many of either, so all are read.
func (v *visit) jumpToIntegrations(p *jumpPage) error {
	if v.caller.May(sheaf.WebhooksRead) {
		hooks, err := v.console.app.Subscriptions(v.r.Context(), v.caller, sheaf.Paging{Limit: webhookPage})
		if err != nil {
			return err
		}
		var items []jumpItem
		for _, h := range hooks.Items {
			if p.matches(h.Name, h.URL) && len(items) < mostFound {
				items = append(items, newJumpItem(h.Name, h.URL, "webhook", v.link("webhooks", string(h.ID))))
			}
		}
		p.add("Webhooks", items)
	}
	if v.caller.May(sheaf.KeysRead) {
		keys, err := v.console.app.Keys(v.r.Context(), v.caller, sheaf.Paging{Limit: keyPage})
		if err != nil {
			return err
		}
		var items []jumpItem
		for _, k := range keys.Items {
			if p.matches(k.Name, k.Prefix, string(k.ID)) && len(items) < mostFound {
				items = append(items, newJumpItem(k.Name, k.Prefix+"…", "key", v.link("keys#key-"+string(k.ID))))
			}
		}
		p.add("Keys", items)
	}
	return nil
}

// jumpToActs finds the actions, pages, and the person's other workspaces that `fits` accepts by title
// and purpose.
func (v *visit) jumpToActs(p *jumpPage, fits func(title, does string) bool) {
	allowed := func(all []act) (out []jumpItem) {
		for _, a := range all {
			if v.caller.May(a.needs) && (a.may == nil || a.may(v)) && fits(a.title, a.does) {
				item := newJumpItem(a.title, a.does, a.icon, v.link(a.link))
				item.Dialog = a.dialog
				out = append(out, item)
			}
		}
		return out
	}
	p.add("Create", allowed(acts))
	places := allowed(pagesToGo)
	for _, page := range []jumpItem{newJumpItem("Account", "your name and password", "lock", "/account"), newJumpItem("API reference", "for programs", "code", "/docs")} {
		if fits(page.Title, page.Where) {
			places = append(places, page)
		}
	}
	p.add("Go to", places)
	var others []jumpItem
	for _, m := range v.session.Memberships {
		if m.Workspace.ID != v.caller.Workspace && fits(m.Workspace.Name, "") {
			others = append(others, newJumpItem(m.Workspace.Name, string(m.Role), "updown", "/w/"+string(m.Workspace.ID)+"/projects"))
		}
	}
	p.add("Workspaces", others)
}
