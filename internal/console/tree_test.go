package console

import (
	"fmt"
	"net/http"
	"testing"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// row returns the beginning of a row of the tree.
func row[T ~string](id T) string { return `<li id="row-` + string(id) + `">` }

// newFolder creates a folder, in another one or at the root level.
func (w *town) newFolder(name string, in sheaf.FolderID) sheaf.FolderID {
	w.Helper()
	change := sheaf.FolderChange{Name: sheaf.Some(name), EntityType: sheaf.Some("project")}
	if in != "" {
		change.ParentID = sheaf.Some(in)
	}
	f, err := w.a.CreateFolder(w.Context(), w.caller, change)
	w.must(err)
	return f.ID
}

// opened returns the header of a browser that has these folders open.
func opened(ids string) func(*http.Request) {
	return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: openCookie, Value: ids}) }
}

// A folder of the tree has rows if the reader has opened it, or if it contains the page's record.
func TestTree_HasTheRowsOfOpenFolders(t *testing.T) {
	w := newTown(t)
	folder := w.ids["folders"]
	inner := w.newFolder("Inner", sheaf.FolderID(folder))
	closed := w.get("activity") // without a tree
	w.wantIn(closed, false, row(folder))
	closed = w.get("projects")
	w.wantIn(closed, true, row(folder), `aria-expanded="false" aria-controls="in-`+folder, `<ul id="in-`+folder+`" hidden></ul>`)
	w.wantIn(closed, false, row(inner), row(w.ids["projects"]))
	open := w.get("projects", opened("nonsense."+folder+"."+string(w.caller.User)))
	w.wantIn(open, true, row(inner), row(w.ids["projects"]), `aria-expanded="true" aria-controls="in-`+folder, `<ul id="in-`+folder+`">`)
	w.wantIn(w.get("folders/"+string(inner)), true, row(inner), row(w.ids["projects"]))
	// The reader may close the folder of the page's record.
	shut := w.get("folders/"+string(inner), func(r *http.Request) { r.Header.Set(closedHeader, folder) })
	w.wantIn(shut, false, row(inner))
	w.wantIn(shut, true, row(folder), `>Folder</a></li></ol>`)

	rows := w.get("folders/" + folder + "/branch")
	w.wantIn(rows, true, row(inner), row(w.ids["projects"]))
	w.wantIn(rows, false, "<html", row(folder))
}

// A level shows its first records and the number of the others, and always the page's record.
func TestTree_AlwaysShowsWhereTheReaderIs(t *testing.T) {
	w := newTown(t)
	var ids []sheaf.FolderID
	for i := range app.MaxLevel + 5 {
		ids = append(ids, w.newFolder(fmt.Sprint("F ", i), ""))
	}
	last := ids[len(ids)-1]
	inside := w.newFolder("Inside", last)
	w.more(app.MaxLevel + 3)
	page := w.get("projects?q=nothing")
	w.wantIn(page, true, row(ids[0]), `<li class="rest"><a href="/w/`+string(w.caller.Workspace)+`/projects">9 more</a></li>`)
	w.wantIn(page, false, row(last))
	w.wantIn(w.get("folders/"+string(inside)+"?q=nothing"), true, row(last), row(inside), ">8 more</a>", `>F 34</a></li></ol>`)
}

// The number of open folders is bounded, because a browser can send any cookie.
func TestTree_BoundsTheOpenFolders(t *testing.T) {
	w := newTown(t)
	var all string
	var last sheaf.FolderID
	for i := range app.MaxOpen + 1 {
		last = w.newFolder(fmt.Sprint("F ", i), "")
		all += string(last) + "."
		w.newFolder(fmt.Sprint("In ", i), last)
	}
	page := w.get("projects?q=nothing", opened(all))
	w.wantIn(page, true, `>In 0<`, fmt.Sprintf(">In %d<", app.MaxOpen-1))
	w.wantIn(page, false, fmt.Sprintf(">In %d<", app.MaxOpen))
}
