package console

import (
	"net/url"
	"strconv"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// A long list is shown page by page, in an order that the reader chooses, and filtered by a text.
// All three are in the page's address, so a list needs no script, and a link shows another reader
// the same.

// The number of records on a page of a list. A page has at most two lists, one of them of folders:
// both together stay small enough for a phone.
const (
	listPage   = 50
	folderPart = 24
)

// order is an order of a list that the reader can choose.
type order struct {
	Value, Text string // in the address, where the default is empty, and on the page
	sort        string // the filter's name for it
	desc        bool
}

// The orders of projects, folders and brandings, of documents, and of deleted documents. Documents in
// their own order are shown as a tree.
var (
	treeOrders = []order{{"", "Manual order", string(sheaf.ByOrder), false}, {"name", "By name", string(sheaf.ByName), false},
		{"changed", "Last changed first", string(sheaf.ByUpdated), true}, {"newest", "Newest first", string(sheaf.ByCreated), true}}
	documentOrders = []order{{"", "Last changed first", string(sheaf.DocumentsByUpdated), true}, {"name", "By title", string(sheaf.DocumentsByTitle), false},
		{"newest", "Newest first", string(sheaf.DocumentsByCreated), true}, {"oldest", "Oldest first", string(sheaf.DocumentsByCreated), false}}
	documentTreeOrders = append([]order{{"", "Manual order", string(sheaf.DocumentsByOrder), false},
		{"changed", documentOrders[0].Text, documentOrders[0].sort, true}}, documentOrders[1:]...)
	trashOrders = []order{{"", "Last deleted first", string(sheaf.DocumentsByDeleted), true}, {"name", "By title", string(sheaf.DocumentsByTitle), false}}
)

// listing is the part of a list that a page shows, and its order.
type listing struct {
	Noun   string // of its records
	Query  string // the text that filters the records; empty for all
	Order  order  // the chosen one
	Orders []order
	Total  int64 // records that match the query
	Shown  int   // records on this page
	Deep   bool  // there are more below those that Total counts
	sheaf.Paging
	parameter string     // of the address, with the offset
	address   url.Values // the parameters of the page
}

// listing reads from the address what the reader chose. A page with several lists has an offset
// parameter for each.
func (v *visit) listing(noun, parameter string, limit int, orders []order) listing {
	q := v.r.URL.Query()
	l := listing{Noun: noun, Query: typedQuery(q.Get("q")), Order: orders[0], Orders: orders, parameter: parameter, address: q}
	for _, o := range orders {
		if o.Value == q.Get("sort") {
			l.Order = o
		}
	}
	l.Paging = sheaf.Paging{Limit: limit, Offset: v.offset(parameter), Desc: l.Order.desc}
	return l
}

// typedQuery returns the text without outer space, cut to the greatest length of a query.
func typedQuery(s string) string {
	letters := []rune(strings.TrimSpace(s))
	return string(letters[:min(len(letters), sheaf.MaxQuery)])
}

// sort returns the chosen order, for the filters of projects, folders and brandings.
func (l listing) sort() sheaf.ProjectSort { return sheaf.ProjectSort(l.Order.sort) }

// setResult stores the total and the number of records that were read.
func (l *listing) setResult(total int64, shown int) { l.Total, l.Shown = total, shown }

// First returns the position of the first record shown, counted from 1.
func (l listing) First() int { return l.Offset + 1 }

// Last returns the position of the last record shown.
func (l listing) Last() int { return l.Offset + l.Shown }

// Narrowed reports whether the reader chose a query or an order.
func (l listing) Narrowed() bool { return l.Query != "" || l.Order.Value != "" }

// Long reports whether the list is long enough to offer a query and an order.
func (l listing) Long() bool { return l.Narrowed() || l.Deep || l.Total > 10 }

// Prev returns the address of the previous page; empty on the first. Past the end it returns the
// last page.
func (l listing) Prev() string {
	if l.Offset == 0 {
		return ""
	}
	last := max(int(l.Total)-1, 0) / l.Limit * l.Limit
	return l.from(max(min(l.Offset-l.Limit, last), 0))
}

// Next returns the address of the next page; empty on the last.
func (l listing) Next() string {
	if int64(l.Offset+l.Limit) >= l.Total {
		return ""
	}
	return l.from(l.Offset + l.Limit)
}

// from returns the address of the page that begins at the offset.
func (l listing) from(offset int) string {
	q := url.Values{}
	for name, values := range l.address {
		if name != "deleted" && name != l.parameter { // the note of a deletion is shown once
			q[name] = values
		}
	}
	if offset > 0 {
		q.Set(l.parameter, strconv.Itoa(offset))
	}
	return "?" + q.Encode()
}

// offset returns the number in a parameter of the address: where the page's part of a list begins.
func (v *visit) offset(parameter string) int {
	n, err := strconv.Atoi(v.r.URL.Query().Get(parameter))
	if err != nil || n < 0 || n > 1<<30 {
		return 0
	}
	return n
}

// more returns the address of the part of a list that begins at next; empty if there is none.
func (v *visit) more(is bool, next int) string {
	if !is {
		return ""
	}
	return "?from=" + strconv.Itoa(next)
}

// listFolders reads the folders of a type that are in a folder, or at the root level, with the
// number of subfolders of each. If `in` is not set, it reads folders anywhere.
func (v *visit) listFolders(l *listing, kind sheaf.EntityType, in sheaf.Opt[sheaf.FolderID]) ([]branch, error) {
	ctx := v.r.Context()
	f := sheaf.FolderFilter{EntityType: kind, Parent: in, Query: l.Query, Sort: l.sort(), Paging: l.Paging}
	if in.Null && kind == sheaf.ProjectFolder { // what a restricted person sees may begin below the root level
		f.Parent, f.Top = sheaf.Opt[sheaf.FolderID]{}, true
	}
	page, err := v.console.app.Folders(ctx, v.caller, f)
	if err != nil {
		return nil, err
	}
	l.setResult(page.Total, len(page.Items))
	var ids []sheaf.FolderID
	for _, f := range page.Items {
		ids = append(ids, f.ID)
	}
	inside, err := v.console.app.Subfolders(ctx, v.caller, ids)
	var out []branch
	for _, f := range page.Items {
		out = append(out, branch{Folder: f, Subfolders: inside[f.ID]})
	}
	return out, err
}

// listProjects reads the projects in a folder, or at the root level. If `in` is not set, it reads
// projects anywhere.
func (v *visit) listProjects(l *listing, in sheaf.Opt[sheaf.FolderID]) ([]sheaf.Project, error) {
	f := sheaf.ProjectFilter{Folder: in, Query: l.Query, Sort: l.sort(), Paging: l.Paging}
	if in.Null {
		f.Folder, f.Top = sheaf.Opt[sheaf.FolderID]{}, true
	}
	page, err := v.console.app.Projects(v.r.Context(), v.caller, f)
	l.setResult(page.Total, len(page.Items))
	return page.Items, err
}

// listBrandings reads the brandings in a folder, or at the root level.
func (v *visit) listBrandings(l *listing, in sheaf.Opt[sheaf.FolderID]) ([]sheaf.Branding, error) {
	page, err := v.console.app.Brandings(v.r.Context(), v.caller, sheaf.BrandingFilter{Folder: in, Query: l.Query, Sort: l.sort(), Paging: l.Paging})
	l.setResult(page.Total, len(page.Items))
	return page.Items, err
}

// named has the records whose names contain a text.
type named struct {
	Folders   []sheaf.Folder
	Projects  []sheaf.Project
	Documents []sheaf.Document
	Cut       bool // there are more
}

// Empty reports whether no record was found.
func (p named) Empty() bool { return len(p.Folders)+len(p.Projects)+len(p.Documents) == 0 }

// mostNamed is the number of records of each noun that findNamed returns.
const mostNamed = 8

// findNamed finds records whose names contain the text: the first mostNamed of each noun.
func (v *visit) findNamed(p *named, name string) error {
	ctx, a := v.r.Context(), v.console.app
	few := sheaf.Paging{Limit: mostNamed}
	projects, err := a.Projects(ctx, v.caller, sheaf.ProjectFilter{Query: name, Paging: few})
	if err != nil {
		return err
	}
	documents, err := a.Documents(ctx, v.caller, sheaf.DocumentFilter{Query: name, Paging: few})
	if err != nil {
		return err
	}
	p.Projects, p.Documents, p.Cut = projects.Items, documents.Items, projects.More() || documents.More()
	for _, entity := range []sheaf.EntityType{sheaf.ProjectFolder, sheaf.BrandingFolder} {
		folders, err := a.Folders(ctx, v.caller, sheaf.FolderFilter{EntityType: entity, Query: name, Paging: few})
		if err != nil {
			return err
		}
		p.Folders, p.Cut = append(p.Folders, folders.Items...), p.Cut || folders.More()
	}
	p.Cut = p.Cut || len(p.Folders) > mostNamed
	p.Folders = p.Folders[:min(len(p.Folders), mostNamed)]
	return nil
}

// keyPage bounds the keys that are shown. No plan allows more.
const keyPage = 100

// webhookPage bounds the webhooks that are shown. No plan allows more.
const webhookPage = 100
