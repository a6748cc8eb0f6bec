package console

import (
	"net/url"
	"strconv"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// A long list is shown page by page, in an order that the reader chooses, and narrowed by a text. All of
// that is in the address of the page: it needs no script, and a link to it can be passed on.

// How many records a page of a list shows. A page has two lists at most, one of folders: both together
// stay small enough for a phone.
const (
	listPage   = 50
	folderPart = 24
)

// order is an order of a list that can be chosen.
type order struct {
	Value, Text string // in the address, where the usual one is empty, and on the page
	sort        string // as the filters call it
	desc        bool
}

// The orders of projects, folders and brandings, those of documents, and of deleted ones.
var (
	shelfOrders = []order{{"", "In their order", string(sheaf.ByOrder), false}, {"name", "By name", string(sheaf.ByName), false},
		{"changed", "Last changed first", string(sheaf.ByUpdated), true}, {"newest", "Newest first", string(sheaf.ByCreated), true}}
	documentOrders = []order{{"", "Last changed first", string(sheaf.DocumentsByUpdated), true}, {"name", "By title", string(sheaf.DocumentsByTitle), false},
		{"newest", "Newest first", string(sheaf.DocumentsByCreated), true}, {"oldest", "Oldest first", string(sheaf.DocumentsByCreated), false}}
	trashOrders = []order{{"", "Last deleted first", string(sheaf.DocumentsByDeleted), true}, {"name", "By title", string(sheaf.DocumentsByTitle), false}}
)

// listing is which part of a list a page shows, and how.
type listing struct {
	Noun   string // of its records
	Query  string // that they are narrowed by; empty for all
	Order  order  // that was chosen
	Orders []order
	Total  int64 // of those that the query leaves
	Shown  int   // of these
	sheaf.Paging
	parameter string     // of the address, that says where the page begins
	address   url.Values // of the page
}

// listing reads from the address what the reader chose. A page with several lists has a parameter for
// where each of them begins.
func (v *visit) listing(noun, parameter string, limit int, orders []order) listing {
	q := v.r.URL.Query()
	l := listing{Noun: noun, Query: typedQuery(q.Get("q")), Order: orders[0], Orders: orders, parameter: parameter, address: q}
	for _, o := range orders {
		if o.Value == q.Get("sort") {
			l.Order = o
		}
	}
	l.Paging = sheaf.Paging{Limit: limit, Offset: v.offsetIn(parameter), Desc: l.Order.desc}
	return l
}

// typedQuery is what somebody typed to narrow a list, as far as a query reaches.
func typedQuery(s string) string {
	letters := []rune(strings.TrimSpace(s))
	return string(letters[:min(len(letters), sheaf.MaxQuery)])
}

// shelf is the listing of projects, folders or brandings.
func (v *visit) shelf(noun, parameter string, limit int) listing {
	return v.listing(noun, parameter, limit, shelfOrders)
}

// sort is the chosen order, for the filters of projects, folders and brandings.
func (l listing) sort() sheaf.ProjectSort { return sheaf.ProjectSort(l.Order.sort) }

// has takes over what was read.
func (l *listing) has(total int64, shown int) { l.Total, l.Shown = total, shown }

// First and Last are the places of what is shown in the whole list, counted from 1.
func (l listing) First() int { return l.Offset + 1 }

// Last is the place of the last one shown.
func (l listing) Last() int { return l.Offset + l.Shown }

// Narrowed reports whether the reader chose a text or an order.
func (l listing) Narrowed() bool { return l.Query != "" || l.Order.Value != "" }

// Long reports whether the list is worth narrowing.
func (l listing) Long() bool { return l.Narrowed() || l.Total > 10 }

// Prev is the address of the page before; empty at the beginning. Behind the end it is the last one.
func (l listing) Prev() string {
	if l.Offset == 0 {
		return ""
	}
	last := max(int(l.Total)-1, 0) / l.Limit * l.Limit
	return l.from(max(min(l.Offset-l.Limit, last), 0))
}

// Next is the address of the page behind; empty at the end.
func (l listing) Next() string {
	if int64(l.Offset+l.Limit) >= l.Total {
		return ""
	}
	return l.from(l.Offset + l.Limit)
}

// from is the address of the page that begins there.
func (l listing) from(offset int) string {
	q := url.Values{}
	for name, values := range l.address {
		if name != "deleted" && name != l.parameter { // what a page says once is not said again
			q[name] = values
		}
	}
	if offset > 0 {
		q.Set(l.parameter, strconv.Itoa(offset))
	}
	return "?" + q.Encode()
}

// offset is where the part of a long list begins that the page shows.
func (v *visit) offset() int { return v.offsetIn("from") }

// offsetIn is offset for a page with several lists, each with a parameter of its own.
func (v *visit) offsetIn(parameter string) int {
	n, err := strconv.Atoi(v.r.URL.Query().Get(parameter))
	if err != nil || n < 0 || n > 1<<30 {
		return 0
	}
	return n
}

// more is the address of the next part of a long list, which begins at next, or empty when there is
// none.
func (v *visit) more(is bool, next int) string {
	if !is {
		return ""
	}
	return "?from=" + strconv.Itoa(next)
}

// listFolders reads the folders of a type that are in a folder, at the root level, or where in is not set
// anywhere, with how many are in each.
func (v *visit) listFolders(l *listing, kind sheaf.EntityType, in sheaf.Opt[sheaf.FolderID]) ([]branch, error) {
	ctx := v.r.Context()
	page, err := v.console.app.Folders(ctx, v.caller, sheaf.FolderFilter{EntityType: kind, Parent: in, Query: l.Query, Sort: l.sort(), Paging: l.Paging})
	if err != nil {
		return nil, err
	}
	l.has(page.Total, len(page.Items))
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

// listProjects reads the projects in a folder, at the root level, or where in is not set anywhere.
func (v *visit) listProjects(l *listing, in sheaf.Opt[sheaf.FolderID]) ([]sheaf.Project, error) {
	page, err := v.console.app.Projects(v.r.Context(), v.caller, sheaf.ProjectFilter{Folder: in, Query: l.Query, Sort: l.sort(), Paging: l.Paging})
	l.has(page.Total, len(page.Items))
	return page.Items, err
}

// listBrandings reads the brandings in a folder, or at the root level.
func (v *visit) listBrandings(l *listing, in sheaf.Opt[sheaf.FolderID]) ([]sheaf.Branding, error) {
	page, err := v.console.app.Brandings(v.r.Context(), v.caller, sheaf.BrandingFilter{Folder: in, Query: l.Query, Sort: l.sort(), Paging: l.Paging})
	l.has(page.Total, len(page.Items))
	return page.Items, err
}
