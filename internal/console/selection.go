package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// Several records are moved or deleted at once: all of them or none, in one batch of the rules. They are ticked in a list or chosen in
// the tree (select.js), and a page asks what is to become of them. The answer says what happened, and has one button that undoes it.
//
// A record is named by its noun and id with a colon between, behind which a form has the revision that it showed.

// picked is a record that was selected.
type picked struct {
	Noun     sheaf.BatchNoun
	ID       string
	Name     string
	In       string // the folder, or the project of a document; empty for none
	Revision int64
	shown    int64 // the revision that the form had; 0 for none
}

// Item is how a form names the record.
func (p picked) Item() string { return fmt.Sprintf("%s:%s:%d", p.Noun, p.ID, p.Revision) }

// selection are the records of one form.
type selection []picked

// List is all of them.
func (s selection) List() []picked { return s }

// Says is what they are: 3 projects, 1 folder and 2 projects, or the name of one.
func (s selection) Says() string {
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

// count is how many are of a noun.
func (s selection) count(noun sheaf.BatchNoun) (n int) {
	for _, p := range s {
		if p.Noun == noun {
			n++
		}
	}
	return n
}

// Documents reports whether all are documents, whose deletion can be undone.
func (s selection) Documents() bool { return s.count(sheaf.BatchDocument) == len(s) }

// readSelection finds the records that a form or an address names, each once, or NotFound.
func (v *visit) readSelection(items []string) (out selection, err error) {
	if len(items) > sheaf.MaxBatch {
		return nil, sheaf.Invalidf("%d are selected: at most %d can be changed at once", len(items), sheaf.MaxBatch)
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
		return picked{Noun: noun, ID: id, Name: d.Title, In: v.here(d), Revision: d.Revision}, err
	}
	return picked{}, sheaf.Missing("record")
}

// selectionForm is the data of selection-move.html and selection-delete.html.
type selectionForm struct {
	selection
	Places pick // where they may be moved
}

// moveSelectionForm answers GET /w/{workspace}/selection/move: it asks where to.
func (c *Console) moveSelectionForm(v *visit) error {
	f, err := v.moveSelectionTo(v.r.URL.Query()["item"])
	if err != nil {
		return err
	}
	return v.showBeside(http.StatusOK, "selection-move", "", f)
}

// moveSelectionTo is the form that moves records: documents into a project, all others into a folder.
func (v *visit) moveSelectionTo(items []string) (f selectionForm, err error) {
	if f.selection, err = v.readSelection(items); err != nil {
		return f, err
	}
	documents := f.count(sheaf.BatchDocument)
	switch {
	case documents == len(f.selection):
		f.Places, err = v.pickProjects("", v.r.URL.Query().Get("q"))
	case documents > 0:
		return f, sheaf.Invalidf("Documents go into projects, and projects and folders into folders: select one or the other.")
	default:
		f.Places, err = v.pickFolders(sheaf.ProjectFolder, "", "", v.r.URL.Query().Get("q"))
	}
	f.Places.Name = "to"
	return f, err
}

// moveSelection answers POST /w/{workspace}/selection/move: it moves all of them, or none.
func (c *Console) moveSelection(v *visit) error {
	to := v.field("to")
	chosen, undo, err := v.batch(func(p picked) sheaf.BatchOperation { return moveTo(p.Noun, p.ID, to) }, func(p picked, r sheaf.BatchResult) string {
		return fmt.Sprintf("move:%s:%s:%s:%d", p.Noun, p.ID, p.In, r.Revision)
	})
	if err != nil {
		return v.selectionAgain("selection-move", err)
	}
	return v.selectionDone(fmt.Sprintf("%s moved to %s.", chosen.Says(), v.placeName(chosen, to)), undo)
}

// moveTo is the operation that moves a record; an empty place is the root level, or no project.
func moveTo(noun sheaf.BatchNoun, id, to string) sheaf.BatchOperation {
	o := sheaf.BatchOperation{Action: sheaf.BatchMove, Noun: noun, ID: id}
	o.Project.FolderID, o.Folder.ParentID = sheaf.Nil[sheaf.FolderID](), sheaf.Nil[sheaf.FolderID]()
	o.Document.ProjectID = sheaf.Nil[sheaf.ProjectID]()
	if to != "" {
		o.Project.FolderID, o.Folder.ParentID = sheaf.Some(sheaf.FolderID(to)), sheaf.Some(sheaf.FolderID(to))
		o.Document.ProjectID = sheaf.Some(sheaf.ProjectID(to))
	}
	return o
}

// placeName is what the place is called that records were moved to.
func (v *visit) placeName(s selection, to string) string {
	switch {
	case to == "" && s.Documents():
		return "no project"
	case to == "":
		return "the top level"
	}
	noun := sheaf.BatchFolder
	if s.Documents() {
		noun = sheaf.BatchProject
	}
	p, err := v.pickedOne(noun, to)
	if err != nil {
		return "another place" // it was deleted at once
	}
	return p.Name
}

// deleteSelectionForm answers GET /w/{workspace}/selection/delete: it asks whether to, and says what goes with them.
func (c *Console) deleteSelectionForm(v *visit) error {
	s, err := v.readSelection(v.r.URL.Query()["item"])
	if err != nil {
		return err
	}
	return v.showBeside(http.StatusOK, "selection-delete", "", selectionForm{selection: s})
}

// deleteSelection answers POST /w/{workspace}/selection/delete: it deletes all of them, or none. Documents can be brought back.
func (c *Console) deleteSelection(v *visit) error {
	v.TakeTime()
	chosen, undo, err := v.batch(func(p picked) sheaf.BatchOperation {
		return sheaf.BatchOperation{Action: sheaf.BatchDelete, Noun: p.Noun, ID: p.ID}
	}, func(p picked, _ sheaf.BatchResult) string { return "restore:document:" + p.ID })
	if err != nil {
		return v.selectionAgain("selection-delete", err)
	}
	if !chosen.Documents() {
		undo = nil
	}
	return v.selectionResult(selectionResult{Text: chosen.Says() + " deleted.", Undo: undo, Gone: true})
}

// batch does the same with every record of the form, or nothing, and returns how each is undone. A record that somebody changed since
// the form was made is a refusal. What was dragged has no form: it is as it was a moment ago, or it is read again.
func (v *visit) batch(do func(picked) sheaf.BatchOperation, undo func(picked, sheaf.BatchResult) string) (s selection, undos []string, err error) {
	for range maxOver {
		if s, err = v.readSelection(v.r.PostForm["item"]); err != nil {
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
	return s, undos, changedMeanwhile(err, s)
}

// changedMeanwhile says of which record that somebody changed it.
func changedMeanwhile(err error, s selection) error {
	if sheaf.KindOf(err) != sheaf.PreconditionFailed {
		return err
	}
	name := "One of them"
	var e *sheaf.Error
	if errors.As(err, &e) && e.Index != nil && *e.Index < len(s) {
		name = "“" + s[*e.Index].Name + "”"
	}
	return &sheaf.Error{Kind: sheaf.PreconditionFailed, Code: sheaf.CodePreconditionFailed, Text: name + " was changed meanwhile, and nothing was done. Look at it, and try again."}
}

// selectionAgain shows the form of a refused change with the records as they are now; what was dragged has none.
func (v *visit) selectionAgain(page string, err error) error {
	if v.byScript() && !v.inDialog() {
		return err
	}
	var f selectionForm
	var missing error
	if page == "selection-move" {
		f, missing = v.moveSelectionTo(v.r.PostForm["item"])
		f.Places.choose(v.field("to"))
	} else {
		f.selection, missing = v.readSelection(v.r.PostForm["item"])
	}
	if missing != nil {
		return err
	}
	return v.again(page, f, err)
}

// selectionResult is the data of selection-done.html.
type selectionResult struct {
	Text string   // what happened
	Undo []string // how each is undone; none where it cannot be
	Gone bool     // they were deleted
}

// selectionDone says what happened.
func (v *visit) selectionDone(text string, undo []string) error {
	return v.selectionResult(selectionResult{Text: text, Undo: undo})
}

// selectionResult says what happened. A script shows it in passing, with the button that undoes it.
func (v *visit) selectionResult(r selectionResult) error {
	if v.byScript() {
		return v.fragment("selection-done", "done", r)
	}
	return v.showBeside(http.StatusOK, "selection-done", "", r)
}

// undoSelection answers POST /w/{workspace}/selection/undo: it takes a change back, all of it or nothing: not where somebody changed
// one of the records since.
func (c *Console) undoSelection(v *visit) error {
	var operations []sheaf.BatchOperation
	for _, line := range v.r.PostForm["undo"] {
		more, ok := undoes(line)
		if !ok {
			return sheaf.Invalidf("That cannot be undone.")
		}
		operations = append(operations, more...)
	}
	if _, err := c.app.Batch(v.r.Context(), v.caller, operations); err != nil {
		if sheaf.KindOf(err) == sheaf.PreconditionFailed {
			err = &sheaf.Error{Kind: sheaf.PreconditionFailed, Code: sheaf.CodePreconditionFailed, Text: "Somebody changed one of them since, and nothing was undone."}
		}
		return err
	}
	return v.selectionDone("Undone.", nil)
}

// undoes reads what selectionDone wrote: move:NOUN:ID:FROM:REVISION, place:NOUN:ID:FROM:REVISION:ORDER,
// restore:document:ID or unshare:share:ID.
func undoes(line string) ([]sheaf.BatchOperation, bool) {
	f := append(strings.Split(line, ":"), "", "", "", "")
	noun, id, from := sheaf.BatchNoun(f[1]), f[2], f[3]
	match := sheaf.Match{Asked: true}
	if revision, err := strconv.ParseInt(f[4], 10, 64); err == nil {
		match.Revisions = []int64{revision}
	}
	switch f[0] {
	case "restore":
		return []sheaf.BatchOperation{{Action: sheaf.BatchRestore, Noun: noun, ID: id}}, true
	case "unshare":
		return []sheaf.BatchOperation{{Action: sheaf.BatchDelete, Noun: sheaf.BatchShare, ID: id}}, true
	case "move":
		o := moveTo(noun, id, from)
		o.Match = match
		return []sheaf.BatchOperation{o}, true
	case "place":
		order, err := strconv.ParseInt(f[5], 10, 32)
		back, number := moveTo(noun, id, from), sheaf.BatchOperation{Action: sheaf.BatchUpdate, Noun: noun, ID: id}
		back.Match = match
		number.Project.SortOrder, number.Folder.SortOrder = sheaf.Some(int32(order)), sheaf.Some(int32(order))
		return []sheaf.BatchOperation{back, number}, err == nil
	}
	return nil, false
}

// arrange answers POST /w/{workspace}/selection/order: it puts a project or folder before another one, or behind all of its level.
func (c *Console) arrange(v *visit) error {
	s, err := v.readSelection(v.r.PostForm["item"])
	if err != nil {
		return err
	}
	if len(s) != 1 {
		return sheaf.Invalidf("One at a time is put into another place.")
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
		undo = nil // two operations each: more than a batch has
	}
	return v.selectionDone(s.Says()+" has another place.", undo)
}

// arrangedBefore calls one of the rules with the record before which another one is put.
func arrangedBefore[T ~string](v *visit, arrange func(context.Context, app.Caller, T, *sheaf.FolderID, *T) ([]app.Arranged, error), id T, in *sheaf.FolderID, noun string) ([]app.Arranged, error) {
	before, err := optID[T](v, "before", noun)
	if err != nil {
		return nil, err
	}
	return arrange(v.r.Context(), v.caller, id, in, before.Pointer())
}
