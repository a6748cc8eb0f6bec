package console

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// undoSelection answers POST /w/{workspace}/selection/undo: it undoes a change of all records, or
// of none if another person has changed one of them since. The undo of one record is
// move:NOUN:ID:FROM:REVISION, place:NOUN:ID:FROM:REVISION:ORDER, restore:document:ID,
// unshare:share:ID or, for a document that was moved, put:document:ID:PROJECT:REVISION:ORDER:PARENT.
func (c *Console) undoSelection(v *visit) error {
	errUndo := sheaf.Invalidf("This cannot be undone.")
	var operations []sheaf.BatchOperation
	for _, line := range v.r.PostForm["undo"] {
		f := append(strings.Split(line, ":"), "", "", "", "", "")
		if _, ok := sheaf.ParseUUID(f[2]); !ok {
			return errUndo
		}
		noun, id, back := sheaf.BatchNoun(f[1]), f[2], moveTo(sheaf.BatchNoun(f[1]), f[2], f[3])
		back.Match.Asked = true
		if revision, err := strconv.ParseInt(f[4], 10, 64); err == nil {
			back.Match.Revisions = []int64{revision}
		}
		switch f[0] {
		case "restore":
			operations = append(operations, sheaf.BatchOperation{Action: sheaf.BatchRestore, Noun: noun, ID: id})
		case "unshare":
			operations = append(operations, sheaf.BatchOperation{Action: sheaf.BatchDelete, Noun: sheaf.BatchShare, ID: id})
		case "move":
			operations = append(operations, back)
		case "place":
			order, err := strconv.ParseInt(f[5], 10, 32)
			if err != nil {
				return errUndo
			}
			number := sheaf.BatchOperation{Action: sheaf.BatchUpdate, Noun: noun, ID: id}
			number.Project.SortOrder, number.Folder.SortOrder = sheaf.Some(int32(order)), sheaf.Some(int32(order))
			operations = append(operations, back, number)
		case "put":
			put, err := putBack(f)
			if err != nil {
				return errUndo
			}
			put.Match = back.Match
			// The last move is undone first: each document then goes back to a place that was free for it.
			operations = slices.Insert(operations, 0, put)
		default:
			return errUndo
		}
	}
	if _, err := c.app.Batch(v.r.Context(), v.caller, operations); err != nil {
		if sheaf.KindOf(err) == sheaf.PreconditionFailed {
			err = &sheaf.Error{Kind: sheaf.PreconditionFailed, Code: sheaf.CodePreconditionFailed, Text: "One of them was changed since, and nothing was undone."}
		}
		return err
	}
	return v.showResult(selectionResult{Text: "Undone."})
}

// putBack returns the operation that puts a moved document back, as undoSelection describes it.
func putBack(f []string) (o sheaf.BatchOperation, err error) {
	o = sheaf.BatchOperation{Action: sheaf.BatchUpdate, Noun: sheaf.BatchNoun(f[1]), ID: f[2]}
	if o.Document.ProjectID, err = asID(sheaf.ProjectID(f[3]), "project"); err != nil {
		return o, err
	}
	if o.Document.ParentID, err = asID(sheaf.DocumentID(f[6]), "document"); err != nil {
		return o, err
	}
	order, err := strconv.ParseInt(f[5], 10, 64)
	o.Document.SortOrder = sheaf.Some(order)
	return o, err
}

// undoOfMove returns the undo of the move of a document, which undoSelection reads.
func undoOfMove(p picked, r sheaf.BatchResult) string {
	parent := ""
	if p.Document.ParentID != nil {
		parent = string(*p.Document.ParentID)
	}
	return fmt.Sprintf("put:document:%s:%s:%d:%d:%s", p.ID, p.In, r.Revision, p.Document.SortOrder, parent)
}
