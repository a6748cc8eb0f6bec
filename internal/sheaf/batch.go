package sheaf

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The bounds of a batch.
const (
	MaxBatch = 100 // operations
	// BatchPerRequest is how many operations count as one request in the rate limit.
	BatchPerRequest = 10
)

// BatchCost returns a batch's cost against the rate limit: one request per started group of ten operations.
func BatchCost(operations int) int {
	return max(1, (operations+BatchPerRequest-1)/BatchPerRequest)
}

// BatchAction is what an operation of a batch does.
type BatchAction string

// The actions.
const (
	BatchCreate  BatchAction = "create"
	BatchUpdate  BatchAction = "update"
	BatchMove    BatchAction = "move"
	BatchDelete  BatchAction = "delete"
	BatchRestore BatchAction = "restore" // undoes the deletion of a document
)

// BatchNoun is what an operation of a batch is about, as resource_type of events names it.
type BatchNoun string

// The nouns.
const (
	BatchProject  BatchNoun = "project"
	BatchFolder   BatchNoun = "folder"
	BatchDocument BatchNoun = "document"
	BatchShare    BatchNoun = "share"
)

// batchActions are what can be done with each noun in a batch.
var batchActions = map[BatchNoun][]BatchAction{
	BatchProject:  {BatchCreate, BatchUpdate, BatchMove, BatchDelete},
	BatchFolder:   {BatchCreate, BatchUpdate, BatchMove, BatchDelete},
	BatchDocument: {BatchCreate, BatchUpdate, BatchMove, BatchDelete, BatchRestore},
	BatchShare:    {BatchCreate, BatchDelete},
}

// BatchOperation is one change of a batch: what a request of its own would do.
//
// In the place of an identifier it may have that of what an earlier operation of the same batch
// makes, by MadeBy.
type BatchOperation struct {
	Action BatchAction
	Noun   BatchNoun
	ID     string // of the record; empty where it is made
	Match  Match  // what is asked of its revision

	// What is written, in the one of these that is of the noun: all of it, or for a move where to.
	Project  ProjectChange
	Folder   FolderChange
	Document DocumentChange
	Share    ShareChange
}

// MadeBy stands for the identifier of what operation n of the same batch, counted from 0, makes: "$0".
func MadeBy(n int) string { return "$" + strconv.Itoa(n) }

// ParseMadeBy returns n of MadeBy(n).
func ParseMadeBy(id string) (n int, ok bool) {
	digits, ok := strings.CutPrefix(id, "$")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil && n >= 0 && digits == strconv.Itoa(n)
}

// Identifiers calls visit for every identifier in the operation that may be one of MadeBy, with the
// name of its field and what it must be of. What visit writes through the pointer is in the operation
// then.
func (o *BatchOperation) Identifiers(visit func(field string, of BatchNoun, id *string) error) error {
	for _, i := range []struct {
		field string
		of    BatchNoun
		given bool
		id    *string
	}{
		{"resource_id", o.Noun, o.ID != "", &o.ID},
		{"folder_id", BatchFolder, o.Project.FolderID.Given(), (*string)(&o.Project.FolderID.Value)},
		{"parent_id", BatchFolder, o.Folder.ParentID.Given(), (*string)(&o.Folder.ParentID.Value)},
		{"project_id", BatchProject, o.Document.ProjectID.Given(), (*string)(&o.Document.ProjectID.Value)},
		{"resource_id", BatchNoun(o.Share.ResourceType.Value), o.Share.ResourceID.Given(), &o.Share.ResourceID.Value},
	} {
		if !i.given {
			continue
		}
		if err := visit(i.field, i.of, i.id); err != nil {
			return err
		}
	}
	return nil
}

// CheckBatch returns what is wrong with operations whatever is stored, but for what they write: how
// many there are, what is to be done with what, and what stands for what earlier ones make. An error
// about one of them has its Index.
func CheckBatch(operations []BatchOperation) error {
	if n := len(operations); n == 0 || n > MaxBatch {
		return InvalidField("operations", "operations has %d entries: send 1 to %d of them", n, MaxBatch)
	}
	for i := range operations {
		if err := checkOperation(operations, i); err != nil {
			return AtOperation(i, err)
		}
	}
	return nil
}

func checkOperation(all []BatchOperation, i int) error {
	o := all[i]
	actions, known := batchActions[o.Noun]
	switch {
	case !known:
		return InvalidField("resource_type", "resource_type must be project, folder, document or share, not %q", Clip(string(o.Noun)))
	case !slices.Contains(actions, o.Action):
		return InvalidField("action", "action of a %s must be one of %s, not %q", o.Noun, batchNames(actions), Clip(string(o.Action)))
	case o.Action == BatchCreate && o.ID != "":
		return InvalidField("resource_id", "resource_id is given by the service when something is made: leave it out")
	case o.Action == BatchCreate && o.Match.Asked:
		return InvalidField("if_match", "if_match asks for something that is there: leave it out where something is made")
	case o.Action != BatchCreate && o.ID == "":
		return InvalidField("resource_id", "resource_id is required: the UUID of the %s, or $ and the number of the operation before this one that makes it", o.Noun)
	}
	return o.Identifiers(func(field string, of BatchNoun, id *string) error { return checkMadeBy(all[:i], field, of, *id) })
}

// checkMadeBy returns what is wrong with an identifier that stands for what one of the operations
// before makes.
func checkMadeBy(before []BatchOperation, field string, of BatchNoun, id string) error {
	n, made := ParseMadeBy(id)
	switch {
	case !made:
		return nil
	case n >= len(before):
		return InvalidField(field, "%s is %s, and no operation before this one has that number: they count from 0", field, id)
	case before[n].Action != BatchCreate || before[n].Noun != of:
		return InvalidField(field, "%s is %s, and that operation does not make a %s: name one that does, or give a UUID", field, id, of)
	}
	return nil
}

func batchNames(actions []BatchAction) string {
	names := make([]string, len(actions))
	for i, a := range actions {
		names[i] = string(a)
	}
	return strings.Join(names, ", ")
}

// BatchResult is what became of one operation.
type BatchResult struct {
	Action   BatchAction
	Noun     BatchNoun
	ID       string
	Record   Record // as it is now; nil where it was deleted
	Revision int64  // of the record
}

// AtOperation returns a refusal as that of an operation of a batch: with its Index, and so that the
// text names it, unless a person reads it, who sees what is refused. Any other error stays as it is.
func AtOperation(index int, err error) error {
	var e *Error
	if !errors.As(err, &e) || e.Cause != nil {
		return err
	}
	in := *e // it may be one that others are shown too
	in.Index = &index
	in.Text = fmt.Sprintf("operations[%d]: %s", index, e.Text)
	if in.Person == "" {
		in.Person = e.Text
	}
	return &in
}
