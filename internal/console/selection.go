package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// Several records are moved or deleted at once, in one batch of app: all of them or none. The
// person ticks them in a list or selects them in the tree (select.js), and a page asks what to do
// with them. The answer says what happened, and has one button that undoes it.
//
// A form names a record as noun:id:revision, where the revision is the one that the form showed.

// picked is a selected record.
type picked struct {
	Noun     sheaf.BatchNoun
	ID       string
	Name     string
	In       string // the folder, or the project of a document; empty for none
	Revision int64
	Document sheaf.Document // if it is one
	shown    int64          // the revision in the form; 0 for none
}

// Item returns the name of the record in a form.
func (p picked) Item() string { return fmt.Sprintf("%s:%s:%d", p.Noun, p.ID, p.Revision) }

// selection is the records of one form.
type selection []picked

// List returns the records. Templates have a struct that embeds the selection, and cannot range
// over that.
func (s selection) List() []picked { return s }

// Summary returns the numbers of records, such as 1 folder and 2 projects, or the name of a single
// one.
func (s selection) Summary() string {
	if len(s) == 1 {
		return s[0].Name
	}
	var parts []string
	for _, noun := range []sheaf.BatchNoun{sheaf.BatchFolder, sheaf.BatchProject, sheaf.BatchDocument} {
		if n := s.count(noun); n > 0 {
			parts = append(parts, many(n, string(noun)))
		}
	}
	return listed(parts)
}

// count returns the number of records of a noun.
func (s selection) count(noun sheaf.BatchNoun) (n int) {
	for _, p := range s {
		if p.Noun == noun {
			n++
		}
	}
	return n
}

// Documents reports whether all records are documents. Only their deletion can be undone.
func (s selection) Documents() bool { return s.count(sheaf.BatchDocument) == len(s) }

// readSelection reads the records that a form or an address names, each once. It returns NotFound
// if one does not exist.
func (v *visit) readSelection(items []string) (out selection, err error) {
	if len(items) > sheaf.MaxBatch {
		return nil, sheaf.Invalidf("%d selected: at most %d can be changed at once", len(items), sheaf.MaxBatch)
	}
	seen := map[string]bool{}
	for _, item := range items {
		noun, rest, _ := strings.Cut(item, ":")
		id, revision, _ := strings.Cut(rest, ":")
		uuid, ok := sheaf.ParseUUID(id)
		if !ok {
			return nil, sheaf.Missing("record")
		}
		if seen[uuid] {
			continue
		}
		seen[uuid] = true
		p, err := v.pickedOne(sheaf.BatchNoun(noun), uuid)
		if err != nil {
			return nil, err
		}
		p.shown, _ = strconv.ParseInt(revision, 10, 64)
		out = append(out, p)
	}
	return out, nil
}

// readTops is readSelection without documents that are below another selected one: they are moved and
// deleted with that.
func (v *visit) readTops(items []string) (out selection, err error) {
	s, err := v.readSelection(items)
	if err != nil {
		return nil, err
	}
	chosen := map[sheaf.DocumentID]bool{}
	for _, p := range s {
		chosen[p.Document.ID] = true
	}
	for _, p := range s {
		var path []sheaf.PathEntry
		if p.Document.ParentID != nil && len(s) > 1 {
			if path, err = v.console.app.DocumentPath(v.r.Context(), v.caller, *p.Document.ParentID); err != nil {
				return nil, err
			}
		}
		if !slices.ContainsFunc(path, func(above sheaf.PathEntry) bool { return chosen[above.ID] }) {
			out = append(out, p)
		}
	}
	return out, nil
}

// pickedOne reads one record.
func (v *visit) pickedOne(noun sheaf.BatchNoun, id string) (picked, error) {
	ctx, a := v.r.Context(), v.console.app
	switch noun {
	case sheaf.BatchProject:
		p, err := a.Project(ctx, v.caller, sheaf.ProjectID(id))
		return picked{Noun: noun, ID: id, Name: p.Name, In: string(placeOf(p.FolderID)), Revision: p.Revision}, err
	case sheaf.BatchFolder:
		f, err := a.Folder(ctx, v.caller, sheaf.FolderID(id))
		return picked{Noun: noun, ID: id, Name: f.Name, In: string(placeOf(f.ParentID)), Revision: f.Revision}, err
	case sheaf.BatchDocument:
		d, err := a.Document(ctx, v.caller, sheaf.DocumentID(id))
		return picked{Noun: noun, ID: id, Name: d.Title, In: projectIDOf(d), Revision: d.Revision, Document: d}, err
	}
	return picked{}, sheaf.Missing("record")
}

// selectionForm is the data of selection-move.html and selection-delete.html.
type selectionForm struct {
	selection
	Places pick // where they may be moved
}

// moveSelectionForm answers GET /w/{workspace}/selection/move: the form that asks where to. If a document
// is in a project that needs review, the form suggests the move.
func (c *Console) moveSelectionForm(v *visit) error {
	f, err := v.moveSelectionTo(v.r.URL.Query()["item"], nil)
	if err != nil {
		return err
	}
	switch suggests, err := v.onlySuggest(f.selection); {
	case err != nil:
		return err
	case suggests:
		return v.showSuggestion(suggestMove, f.selection)
	}
	return v.showWithTree(http.StatusOK, "selection-move", "", f)
}

// moveSelectionTo returns the form that moves records: documents into a project or below another
// document, all others into a folder. `now` is what the person chose; nil for nothing yet.
func (v *visit) moveSelectionTo(items []string, now *string) (f selectionForm, err error) {
	if f.selection, err = v.readTops(items); err != nil {
		return f, err
	}
	documents := f.count(sheaf.BatchDocument)
	switch {
	case documents > 0 && documents == len(f.selection):
		f.Places, err = v.pickPlaces(f.selection, v.r.URL.Query().Get("q"), now)
	case documents > 0:
		return f, sheaf.Invalidf("Documents move into projects, and projects and folders move into folders. Select only one of these kinds.")
	default:
		f.Places, err = v.pickFolders(sheaf.ProjectFolder, "", "", v.r.URL.Query().Get("q"))
	}
	f.Places.Name = "to"
	return f, err
}

// choosePlace answers GET /w/{workspace}/selection/places: the options of the choice where the
// documents go, for a script that searches.
func (c *Console) choosePlace(v *visit) error {
	q := v.r.URL.Query()
	s, err := v.readTops(q["item"])
	if err != nil {
		return err
	}
	if len(s) == 0 {
		p := pick{None: "No project"}
		v.mustChoose(&p, "Choose a project or document")
		return v.fragment("selection-move", "options", p)
	}
	if !s.Documents() {
		return sheaf.Missing("document")
	}
	now := q.Get("now")
	p, err := v.pickPlaces(s, q.Get("q"), &now)
	if err != nil {
		return err
	}
	return v.fragment("selection-move", "options", p)
}

// moveSelection answers POST /w/{workspace}/selection/move: it moves all of them, or none.
func (c *Console) moveSelection(v *visit) error {
	to := v.field("to")
	var below picked // the document that documents are moved below
	if id, ok := strings.CutPrefix(to, belowPrefix); ok {
		parent, err := asID(sheaf.DocumentID(id), "document")
		if err == nil {
			below, err = v.pickedOne(sheaf.BatchDocument, string(parent.Value))
		}
		if err != nil {
			return v.selectionAgain("selection-move", err)
		}
		to = below.In
	}
	chosen, undo, err := v.batch(func(p picked) sheaf.BatchOperation {
		o := moveTo(p.Noun, p.ID, to)
		if below.ID != "" {
			o.Move.ParentID = sheaf.Some(below.Document.ID)
		}
		return o
	}, func(p picked, r sheaf.BatchResult) string {
		if p.Noun == sheaf.BatchDocument {
			return undoOfMove(p, r)
		}
		return fmt.Sprintf("move:%s:%s:%s:%d", p.Noun, p.ID, p.In, r.Revision)
	})
	if err != nil {
		return v.selectionAgain("selection-move", err)
	}
	noun, place := sheaf.BatchFolder, "the top level"
	if chosen.Documents() {
		noun, place = sheaf.BatchProject, "“No project”"
	}
	switch {
	case below.ID != "":
		return v.showResult(selectionResult{Text: fmt.Sprintf("Moved %s below %s.", chosen.Summary(), below.Name), Undo: undo})
	case to != "":
		place = "another place" // if it was just deleted
		if p, err := v.pickedOne(noun, to); err == nil {
			place = p.Name
		}
	}
	return v.showResult(selectionResult{Text: fmt.Sprintf("Moved %s to %s.", chosen.Summary(), place), Undo: undo})
}

// moveTo returns the operation that moves a record. An empty `to` is the root level, or no project. A
// document goes to the top level of its project.
func moveTo(noun sheaf.BatchNoun, id, to string) sheaf.BatchOperation {
	o := sheaf.BatchOperation{Action: sheaf.BatchMove, Noun: noun, ID: id}
	o.Project.FolderID, o.Folder.ParentID = sheaf.Nil[sheaf.FolderID](), sheaf.Nil[sheaf.FolderID]()
	o.Move.ProjectID, o.Move.ParentID = sheaf.Nil[sheaf.ProjectID](), sheaf.Nil[sheaf.DocumentID]()
	if to != "" {
		o.Project.FolderID, o.Folder.ParentID = sheaf.Some(sheaf.FolderID(to)), sheaf.Some(sheaf.FolderID(to))
		o.Move.ProjectID = sheaf.Some(sheaf.ProjectID(to))
	}
	return o
}

// deleteSelectionForm answers GET /w/{workspace}/selection/delete: it asks for confirmation. If a document
// is in a project that needs review, the form suggests the deletion.
func (c *Console) deleteSelectionForm(v *visit) error {
	s, err := v.readTops(v.r.URL.Query()["item"])
	if err != nil {
		return err
	}
	switch suggests, err := v.onlySuggest(s); {
	case err != nil:
		return err
	case suggests:
		return v.showSuggestion(suggestDelete, s)
	}
	return v.showWithTree(http.StatusOK, "selection-delete", "", selectionForm{selection: s})
}

// deleteSelection answers POST /w/{workspace}/selection/delete: it deletes all of them, or none.
// Documents can be restored.
func (c *Console) deleteSelection(v *visit) error {
	v.LiftDeadlines()
	chosen, undo, err := v.batch(func(p picked) sheaf.BatchOperation {
		return sheaf.BatchOperation{Action: sheaf.BatchDelete, Noun: p.Noun, ID: p.ID}
	}, func(p picked, _ sheaf.BatchResult) string { return "restore:document:" + p.ID })
	if err != nil {
		return v.selectionAgain("selection-delete", err)
	}
	if !chosen.Documents() {
		undo = nil
	}
	return v.showResult(selectionResult{Text: chosen.Summary() + " deleted.", Undo: undo, Gone: true})
}

// batch applies an operation to every record of the form, or to none, and returns the undo of each.
// If another person changed a record since the form was made, it returns PreconditionFailed and
// names the record. Records that were dragged have no form: they are read again and the batch is
// repeated.
func (v *visit) batch(do func(picked) sheaf.BatchOperation, undo func(picked, sheaf.BatchResult) string) (s selection, undos []string, err error) {
	for range maxSaveTries {
		if s, err = v.readTops(v.r.PostForm["item"]); err != nil {
			return s, nil, err
		}
		var operations []sheaf.BatchOperation
		asked := false
		for _, p := range s {
			o := do(p)
			o.Match = sheaf.Match{Asked: true, Revisions: []int64{p.Revision}}
			if p.shown != 0 {
				o.Match.Revisions[0], asked = p.shown, true
			}
			operations = append(operations, o)
		}
		var results []sheaf.BatchResult
		results, err = v.console.app.Batch(v.r.Context(), v.caller, operations)
		if sheaf.KindOf(err) == sheaf.PreconditionFailed && !asked {
			continue
		}
		for i, r := range results {
			undos = append(undos, undo(s[i], r))
		}
		break
	}
	if sheaf.KindOf(err) != sheaf.PreconditionFailed {
		return s, undos, err
	}
	name := "One of them"
	var e *sheaf.Error
	if errors.As(err, &e) && e.Index != nil && *e.Index < len(s) {
		name = "“" + s[*e.Index].Name + "”"
	}
	return s, undos, &sheaf.Error{Kind: sheaf.PreconditionFailed, Code: sheaf.CodePreconditionFailed, Text: name + " was changed meanwhile, and nothing was done. Check it, and try again."}
}

// selectionAgain shows the form of a refused change with the records as they are now. Records that
// were dragged have no form: it returns err.
func (v *visit) selectionAgain(page string, err error) error {
	if v.byScript() && !v.inDialog() {
		return err
	}
	var f selectionForm
	var missing error
	if page == "selection-move" {
		to := v.field("to")
		f, missing = v.moveSelectionTo(v.r.PostForm["item"], &to)
		f.Places.choose(to)
	} else {
		f.selection, missing = v.readTops(v.r.PostForm["item"])
	}
	if missing != nil {
		return err
	}
	if needsReview(err) && f.Documents() && v.page(nil).MaySuggest() {
		act, to := suggestDelete, (*string)(nil)
		if page == "selection-move" {
			place := v.field("to")
			act, to = suggestMove, &place
		}
		s, missing := v.suggestionOf(act, f.selection, to)
		if missing != nil {
			return missing
		}
		return v.again("document-suggest-act", s, err)
	}
	return v.again(page, f, err)
}

// selectionResult is the data of selection-done.html.
type selectionResult struct {
	Text string   // what happened
	Undo []string // the undo of each record; none if there is no undo
	Gone bool     // the records were deleted
}

// showResult shows what happened, with the button that undoes it. A script shows it for a moment
// only.
func (v *visit) showResult(r selectionResult) error {
	if v.byScript() {
		return v.fragment("selection-done", "done", r)
	}
	return v.showWithTree(http.StatusOK, "selection-done", "", r)
}

// arrange answers POST /w/{workspace}/selection/order: it puts a project or folder before another
// one, or at the end of its level. It puts one or several documents before or after another one, or
// last below another one.
func (c *Console) arrange(v *visit) error {
	s, err := v.readTops(v.r.PostForm["item"])
	if err != nil {
		return err
	}
	if len(s) > 0 && s.Documents() {
		return v.arrangeDocuments(s)
	}
	if len(s) != 1 {
		return sheaf.Invalidf("Only one at a time can change its position.")
	}
	in, err := optID[sheaf.FolderID](v, "in", "folder")
	if err != nil {
		return err
	}
	var all []app.Arranged
	if s[0].Noun == sheaf.BatchFolder {
		all, err = arrangedBefore(v, c.app.ArrangeFolder, sheaf.FolderID(s[0].ID), in.Pointer(), "folder")
	} else {
		all, err = arrangedBefore(v, c.app.ArrangeProject, sheaf.ProjectID(s[0].ID), in.Pointer(), "project")
	}
	if err != nil {
		return err
	}
	var undo []string
	for _, one := range all {
		undo = append(undo, fmt.Sprintf("place:%s:%s:%s:%d:%d", s[0].Noun, one.ID, placeOf(one.In), one.Revision, one.SortOrder))
	}
	if len(undo) > sheaf.MaxBatch/2 {
		undo = nil // each takes two operations, and that is more than a batch allows
	}
	return v.showResult(selectionResult{Text: "Moved " + s.Summary() + ".", Undo: undo})
}

// arrangeDocuments moves the documents before or after the one in a field of the form, or below the
// one in the field "in", in their order.
func (v *visit) arrangeDocuments(s selection) error {
	var to sheaf.DocumentMove
	for name, field := range map[string]*sheaf.Opt[sheaf.DocumentID]{"before": &to.BeforeID, "after": &to.AfterID, "in": &to.ParentID} {
		if v.field(name) == "" {
			continue
		}
		id, err := optID[sheaf.DocumentID](v, name, "document")
		if err != nil {
			return err
		}
		*field = id
	}
	next := to.AfterID
	s, undo, err := v.batch(func(p picked) sheaf.BatchOperation {
		o := sheaf.BatchOperation{Action: sheaf.BatchMove, Noun: sheaf.BatchDocument, ID: p.ID, Move: to}
		if p.ID == s[0].ID {
			next = to.AfterID // the batch may be tried again
		}
		if to.AfterID.Set {
			o.Move.AfterID, next = next, sheaf.Some(sheaf.DocumentID(p.ID))
		}
		return o
	}, undoOfMove)
	if sheaf.KindOf(err) == sheaf.NotFound {
		return &sheaf.Error{Kind: sheaf.NotFound, Code: sheaf.CodeNotFound, Text: "The document at the chosen place was moved or deleted meanwhile. Choose another place"}
	}
	if err != nil {
		return err
	}
	return v.showResult(selectionResult{Text: "Moved " + s.Summary() + ".", Undo: undo})
}

// arrangedBefore calls `arrange`, one of app's methods, with the record in the field "before".
func arrangedBefore[T ~string](v *visit, arrange func(context.Context, app.Caller, T, *sheaf.FolderID, *T) ([]app.Arranged, error), id T, in *sheaf.FolderID, noun string) ([]app.Arranged, error) {
	before, err := optID[T](v, "before", noun)
	if err != nil {
		return nil, err
	}
	return arrange(v.r.Context(), v.caller, id, in, before.Pointer())
}
