package sheaf

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Limits of a batch.
const (
	MaxBatch = 100 // operations
	// BatchPerRequest is the number of operations that count as one request against the rate limit.
	BatchPerRequest = 10
)

// BatchCost returns a batch's cost against the rate limit: one request per started group of ten
// operations.
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

// BatchNoun is the kind of record that an operation of a batch changes, named as in resource_type
// of events.
type BatchNoun string

// The nouns.
const (
	BatchProject  BatchNoun = "project"
	BatchFolder   BatchNoun = "folder"
	BatchDocument BatchNoun = "document"
	BatchShare    BatchNoun = "share"
)

// batchActions has the possible actions for each noun.
var batchActions = map[BatchNoun][]BatchAction{
	BatchProject:  {BatchCreate, BatchUpdate, BatchMove, BatchDelete},
	BatchFolder:   {BatchCreate, BatchUpdate, BatchMove, BatchDelete},
	BatchDocument: {BatchCreate, BatchUpdate, BatchMove, BatchDelete, BatchRestore},
	BatchShare:    {BatchCreate, BatchDelete},
}

// BatchOperation is one change of a batch: it does what a separate request would do.
//
// In place of an identifier it may have that of a record which an earlier operation of the batch
// creates: see MadeBy.
type BatchOperation struct {
	Action BatchAction
	Noun   BatchNoun
	ID     string // id of the record; empty if it is created
	Match  Match  // precondition on its revision

	// What is written, in the field of the noun: all fields of a change, or the target of a move.
	Project  ProjectChange
	Folder   FolderChange
	Document DocumentChange
	Move     DocumentMove // of a document
	Share    ShareChange
}

// MadeBy returns the placeholder for the identifier of the record that operation n, counted from 0,
// creates: "$0".
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

// Identifiers calls visit for every identifier in the operation that may be a placeholder of
// MadeBy, with the name of its field and the kind of record it must name. visit may change it
// through the pointer.
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
		{"parent_id", BatchDocument, o.Document.ParentID.Given(), (*string)(&o.Document.ParentID.Value)},
		{"project_id", BatchProject, o.Move.ProjectID.Given(), (*string)(&o.Move.ProjectID.Value)},
		{"parent_id", BatchDocument, o.Move.ParentID.Given(), (*string)(&o.Move.ParentID.Value)},
		{"before_id", BatchDocument, o.Move.BeforeID.Given(), (*string)(&o.Move.BeforeID.Value)},
		{"after_id", BatchDocument, o.Move.AfterID.Given(), (*string)(&o.Move.AfterID.Value)},
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

// CheckBatch returns the first error of the operations that does not depend on what is stored:
// their number, their actions and nouns, and their placeholders. It does not check the fields they
// write. An error about one operation has its Index.
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
		return InvalidField("resource_id", "resource_id is assigned by the service when a record is created: leave it out")
	case o.Action == BatchCreate && o.Match.Asked:
		return InvalidField("if_match", "if_match needs an existing record: leave it out to create one")
	case o.Action != BatchCreate && o.ID == "":
		return InvalidField("resource_id", "resource_id is required: the UUID of the %s, or $ and the number of the earlier operation that creates it", o.Noun)
	}
	return o.Identifiers(func(field string, of BatchNoun, id *string) error { return checkMadeBy(all[:i], field, of, *id) })
}

// checkMadeBy returns an error if a placeholder does not name an earlier operation that creates
// such a record.
func checkMadeBy(before []BatchOperation, field string, of BatchNoun, id string) error {
	n, made := ParseMadeBy(id)
	switch {
	case !made:
		return nil
	case n >= len(before):
		return InvalidField(field, "%s is %s, but no earlier operation has that number: operations are numbered from 0", field, id)
	case before[n].Action != BatchCreate || before[n].Noun != of:
		return InvalidField(field, "%s is %s, but that operation does not create a %s: name one that does, or give a UUID", field, id, of)
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

// BatchResult is the result of one operation.
type BatchResult struct {
	Action   BatchAction
	Noun     BatchNoun
	ID       string
	Record   Record // the present state; nil if it was deleted
	Revision int64  // of the record
}

// AtOperation returns a refusal with the Index of its operation in a batch, and names the operation
// in the text. The text for a person stays as it was, because a person sees what is refused. Other
// errors are returned unchanged.
func AtOperation(index int, err error) error { return atIndex("operations", index, err) }

// AtChange is AtOperation for a change of a proposal.
func AtChange(index int, err error) error { return atIndex("changes", index, err) }

func atIndex(list string, index int, err error) error {
	var e *Error
	if !errors.As(err, &e) || e.Cause != nil {
		return err
	}
	in := *e // a copy, because the error may be shared
	in.Index = &index
	in.Text = fmt.Sprintf("%s[%d]: %s", list, index, e.Text)
	if in.Person == "" {
		in.Person = e.Text
	}
	return &in
}
