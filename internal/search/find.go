package search

import (
	"maps"
	"slices"
	"strings"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// behindMost is the number of events by which the index may lag for a search. The search reads the
// records of these events from the store. If the index lags further, the search waits for it.
const behindMost = 2000

// Scope is what the caller is allowed to see.
type Scope struct {
	Types []sheaf.SearchType // kinds of records to search
	// Folders allows a hit of a document to name the folder of its project.
	Folders bool
}

// Find returns the page that the query asks for, as of the snapshot r of the store, which must be
// younger than the view.
//
// The index shows the store as of its cursor, an event of the log. The events after the cursor name
// the records that changed since. Find ignores the index for those records and matches each of them
// as the store has it. So the page and its total are those of the snapshot, however far the index
// lags. Each record of the page is read from the store once more and must contain the words.
func (v *View) Find(r *store.Reader, may Scope) (page sheaf.Page[sheaf.Hit], err error) {
	page.Paging = v.query.Paging
	changed, err := v.changed(r)
	if err != nil {
		return page, err
	}
	where, err := v.where(r)
	if err != nil {
		return page, err
	}
	asked := make([]bool, len(kinds))
	for _, t := range may.Types {
		asked[kindOf(t)] = true
	}
	wanted := func(kind int64, at, parent id) bool {
		return asked[kind] && where.has(kind, parent) && (where.seen == nil || where.seen.has(kind, at, parent))
	}
	most := v.query.Offset + v.query.Limit
	found, err := v.scan(most, func(kind int64, at, parent id) bool {
		_, stale := changed[at]
		return !stale && wanted(kind, at, parent)
	})
	if err != nil {
		return page, err
	}
	if err := v.findChanged(r, changed, wanted, found); err != nil {
		return page, err
	}
	slices.SortFunc(found.first, hit.before)
	page.Total = found.total
	if v.query.Offset < len(found.first) {
		page.Items, err = v.show(r, may, found.first[v.query.Offset:])
	}
	page.Total -= int64(max(0, len(found.first)-v.query.Offset) - len(page.Items))
	return page, err
}

// changed returns the records that changed after the view was opened, with their types. It returns
// errBehind if there are more than behindMost, or if the log no longer continues from the view's
// cursor.
func (v *View) changed(r *store.Reader) (map[id]sheaf.SearchType, error) {
	log, found, err := r.Log(v.ws)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, sheaf.Missing("workspace")
	}
	if goesOn, err := v.space.follows(r, v.ws, log); err != nil {
		return nil, err
	} else if !goesOn {
		return nil, errBehind
	}
	if log.Last-v.space.cursor > behindMost {
		return nil, errBehind
	}
	changes, err := r.ChangesAfter(v.ws, v.space.cursor, behindMost)
	changed := make(map[id]sheaf.SearchType, len(changes))
	for i := range changes {
		if t := changes[i].Type; t != "" {
			changed[idOf(changes[i].ID)] = t
		}
	}
	return changed, err
}

// where limits a search to the records in a project, in folders, or both, and to those that the
// caller sees.
type where struct {
	project *id
	folders map[id]struct{} // nil: anywhere
	within  map[id]struct{} // the projects in these folders
	seen    *seen           // nil: everything
}

// seen are the projects and folders that a restricted caller sees.
type seen struct{ projects, folders map[id]struct{} }

// has reports whether the caller sees the record of that kind, id and parent.
func (s *seen) has(kind int64, at, parent id) (ok bool) {
	switch kinds[kind] {
	case sheaf.SearchDocument:
		_, ok = s.projects[parent]
	case sheaf.SearchProject:
		_, ok = s.projects[at]
	case sheaf.SearchFolder:
		_, ok = s.folders[at]
	}
	return ok
}

// where reads the limits of the query from the store.
func (v *View) where(r *store.Reader) (w where, err error) {
	if ids, err := r.Seen(v.ws); err != nil {
		return w, err
	} else if ids != nil {
		w.seen = &seen{setOf(ids.Projects), setOf(ids.Folders)}
	}
	if v.query.Project != nil {
		p := idOf(string(*v.query.Project))
		w.project = &p
	}
	if v.query.Folder == nil {
		return w, nil
	}
	folders, projects, err := r.Below(v.ws, *v.query.Folder)
	w.folders, w.within = setOf(folders), setOf(projects)
	return w, err
}

func setOf(ids []id) map[id]struct{} {
	out := make(map[id]struct{}, len(ids))
	for _, one := range ids {
		out[one] = struct{}{}
	}
	return out
}

// has reports whether a record of `kind` in `parent` is within the limits.
func (w *where) has(kind int64, parent id) bool {
	document := kinds[kind] == sheaf.SearchDocument
	if w.project != nil && !(document && parent == *w.project && parent != (id{})) { // the zero id means: no project
		return false
	}
	if w.folders == nil {
		return true
	}
	in := w.folders
	if document {
		in = w.within
	}
	_, ok := in[parent]
	return ok
}

// named identifies a record to read from the store.
type named struct {
	kind sheaf.SearchType
	id   string
}

func (n *named) what() (sheaf.SearchType, string) { return n.kind, n.id }

// findChanged reads the changed records from the store and adds those that match to `found`.
func (v *View) findChanged(r *store.Reader, changed map[id]sheaf.SearchType, wanted func(int64, id, id) bool, found *hits) error {
	list := make([]named, 0, len(changed))
	for at, t := range changed {
		list = append(list, named{t, sheaf.FormatUUID(at)})
	}
	for group := range slices.Chunk(list, groupRecords) {
		records, err := readGroup(r, v.ws, group, (*named).what)
		if err != nil {
			return err
		}
		for i := range records {
			if err := v.ctx.Err(); err != nil { // each record may have a mebibyte of text to fold
				return sheaf.UnavailableError(err)
			}
			if h, _, ok := v.match(&records[i]); ok && wanted(h.kind, h.id, parentOf(&records[i])) {
				found.add(h)
			}
		}
	}
	return nil
}

// parentOf returns the id of the project or folder that contains the record; the zero id means
// none.
func parentOf(f *store.Findable) id {
	switch {
	case f.Project != nil:
		return idOf(string(*f.Project))
	case f.Folder != nil:
		return idOf(string(*f.Folder))
	}
	return id{}
}

// match folds a record of the store. ok reports whether the record contains all words.
func (v *View) match(f *store.Findable) (h hit, folded record, ok bool) {
	folded = newRecord(f)
	ok, inTitle := v.words.match([]byte(folded.title), func() []byte { return []byte(folded.body) })
	return hit{inTitle: inTitle, updated: f.UpdatedAt.UnixMilli(), kind: folded.kind, id: folded.id}, folded, ok
}

// show reads the hits of a page from the store. It leaves out hits that do not match there, and
// logs an error for each: such a hit means that the index is wrong.
func (v *View) show(r *store.Reader, may Scope, page []hit) (shown []sheaf.Hit, err error) {
	parents := map[sheaf.DocumentID][]int{} // the places in `shown` of the documents below each
	for group := range slices.Chunk(page, groupRecords) {
		records, err := readGroup(r, v.ws, group, func(h *hit) (sheaf.SearchType, string) { return kinds[h.kind], sheaf.FormatUUID(h.id) })
		if err != nil {
			return nil, err
		}
		for _, h := range group {
			if err := v.ctx.Err(); err != nil {
				return nil, sheaf.UnavailableError(err)
			}
			i := slices.IndexFunc(records, func(f store.Findable) bool { return idOf(f.ID) == h.id })
			if i < 0 {
				v.index.Log.Error("the index of search names what is not there: run sheaf reindex", "workspace_id", v.ws, "id", sheaf.FormatUUID(h.id))
				continue
			}
			now, folded, ok := v.match(&records[i])
			if !ok || now != h {
				v.index.Log.Error("the index of search differs from what is stored: run sheaf reindex", "workspace_id", v.ws, "id", records[i].ID)
				continue
			}
			if p := records[i].Parent; p != nil {
				parents[*p] = append(parents[*p], len(shown))
			}
			shown = append(shown, v.hitOf(&records[i], folded.body))
		}
	}
	if err := v.showPaths(r, shown, parents); err != nil {
		return nil, err
	}
	if may.Folders {
		err = v.showFolders(r, shown)
	}
	return shown, err
}

// showPaths sets the path of every document that has a parent.
func (v *View) showPaths(r *store.Reader, shown []sheaf.Hit, parents map[sheaf.DocumentID][]int) error {
	if len(parents) == 0 {
		return nil
	}
	ids := slices.Collect(maps.Keys(parents))
	paths, err := r.AncestorsOf(v.ws, ids)
	for i, nearestFirst := range paths {
		titles := make([]string, 0, len(nearestFirst))
		for _, d := range slices.Backward(nearestFirst) {
			titles = append(titles, d.Title)
		}
		for _, at := range parents[ids[i]] {
			shown[at].Path = titles
		}
	}
	return err
}

// hitOf builds the hit to show for a record. `body` is the folded body that newRecord returned.
func (v *View) hitOf(f *store.Findable, body string) sheaf.Hit {
	var unread bool
	if v.query.Reading && f.Type == sheaf.SearchDocument {
		read := *f
		read.Content = readable(f.Content)
		_, folded, ok := v.match(&read)
		f, body, unread = &read, folded.body, !ok
	}
	description, content, _ := strings.Cut(body, between)
	h := sheaf.Hit{Type: f.Type, ID: f.ID, Title: f.Title, ProjectID: f.Project, FolderID: f.Folder, UpdatedAt: f.UpdatedAt.Truncate(time.Millisecond), Unread: unread}
	h.Snippet, h.Ranges = snippet(v.words.long, folding{f.Description, description}, folding{f.Content, content})
	return h
}

// showFolders sets the folder of every document to the folder of its project.
func (v *View) showFolders(r *store.Reader, shown []sheaf.Hit) error {
	var projects []sheaf.ProjectID
	for i := range shown {
		if p := shown[i].ProjectID; p != nil && !slices.Contains(projects, *p) {
			projects = append(projects, *p)
		}
	}
	folders, err := r.FoldersOf(v.ws, projects)
	for i := range shown {
		if p := shown[i].ProjectID; p != nil {
			if f, ok := folders[*p]; ok {
				shown[i].FolderID = &f
			}
		}
	}
	return err
}
