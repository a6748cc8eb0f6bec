package mcp

import (
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

func listDocuments(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	f := sheaf.DocumentFilter{Project: readPlace[sheaf.ProjectID](in, "project_id"), Sort: sheaf.DocumentsByUpdated, Paging: readPaging(in)}
	f.Desc, f.MustExist, f.UpdatedSince = true, true, in.Time("updated_since").Pointer()
	if err := in.Err(); err != nil {
		return nil, err
	}
	list, err := c.server.App.Documents(c.ctx, c.caller, f)
	if err != nil {
		return nil, err
	}
	return told(page(list, documentFields), nil), nil
}

// documentFields appends the fields of a document that an agent needs, without its text.
func documentFields(d *sheaf.Document, o *sheaf.Object) {
	o.Text("id", string(d.ID))
	o.Text("title", d.Title)
	given(o, "description", d.Description)
	given(o, "project_id", d.ProjectID)
	o.Int("bytes", d.ContentBytes)
	o.Int("revision", d.Revision)
	o.Time("updated_at", d.UpdatedAt)
}

// toldDocument returns the result of a tool that created or changed a document.
func toldDocument(d sheaf.Document, err error) (*sdk.CallToolResult, error) {
	if err != nil {
		return nil, err
	}
	return told(sheaf.RecordFunc(func(o *sheaf.Object) { documentFields(&d, o) }), nil), nil
}

func readDocument(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	id := readDocumentID(in).Value
	from, lines := in.Int("from_line", 1, maxLine), in.Int("lines", 1, maxLines)
	if err := in.Err(); err != nil {
		return nil, err
	}
	d, err := c.server.App.DocumentText(c.ctx, c.caller, id)
	if err != nil {
		return nil, err
	}
	part, err := cutLines(d.Content, int(max(from.Value, 1)), int(lines.Value))
	if err != nil {
		return nil, err
	}
	return told(sheaf.RecordFunc(func(o *sheaf.Object) {
		documentFields(&d.Document, o)
		o.Int("lines", int64(part.all))
		o.Int("from_line", int64(part.from))
		o.Int("to_line", int64(part.to))
		if part.to < part.all {
			o.Int("next_line", int64(part.to+1))
		}
	}), &part.text), nil
}

// lineRange is a part of a text, whole lines with their ends.
type lineRange struct {
	text     string
	from, to int // the first and the last line, counted from 1
	all      int // how many the text has
}

// cutLines returns `lines` lines of the text starting at line `from`; 0 means usualLines. It stops earlier
// if they exceed maxRead bytes, but returns at least one line.
func cutLines(text string, from, lines int) (r lineRange, err error) {
	if lines == 0 {
		lines = usualLines
	}
	r.from, r.to = from, from-1
	at, start, end := 0, 0, 0 // of this line, and of the part
	for line := range strings.Lines(text) {
		r.all++
		if r.all == from {
			start, end = at, at
		}
		at += len(line)
		next := r.all == r.to+1 // no line between was left out
		if fits := at-start <= maxRead || r.to < from; next && fits && r.all < from+lines {
			r.to, end = r.all, at
		}
	}
	if from > max(r.all, 1) {
		return r, sheaf.InvalidField("from_line", "from_line is %d, and the text has %d lines: take a smaller one", from, r.all)
	}
	r.text = text[start:end]
	return r, nil
}

func createDocument(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	change := sheaf.DocumentChange{Title: in.Text("title"), Content: in.Text("content"), Description: in.Text("description"),
		ProjectID: readPlace[sheaf.ProjectID](in, "project_id")}
	if err := in.Err(); err != nil {
		return nil, err
	}
	return toldDocument(c.server.App.CreateDocument(c.ctx, c.caller, change))
}

func editDocument(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	id, match := readDocumentID(in).Value, readRevision(in)
	change := sheaf.DocumentChange{Title: in.Text("title"), Description: in.Text("description")}
	edits, err := readEdits(in)
	if err != nil {
		return nil, err
	}
	d, err := c.server.App.EditDocument(c.ctx, c.caller, id, edits, change, match)
	return toldDocument(d, c.fasterDocument(err, match, id))
}

// readEdits reads the passages to replace, and the text to append.
func readEdits(in *strict.Fields) (edits []sheaf.Edit, err error) {
	list, end := in.Objects("edits"), in.Text("append")
	for i, entry := range list.Value {
		f := entry.Fields()
		for _, name := range entry.Names() {
			if !slices.Contains(editNames, name) {
				f.Refuse(sheaf.Invalidf("%q is no part of an edit: it takes %s", sheaf.Clip(name), strings.Join(editNames, ", ")))
			}
		}
		before, after := f.Text("old"), f.Text("new")
		switch {
		case f.Err() != nil:
		case !before.Given() || !after.Given():
			f.Refuse(sheaf.InvalidField("edits", "edits[%d] must have old, the passage as it stands, and new, what takes its place", i))
		}
		edits = append(edits, sheaf.Edit{Old: before.Value, New: after.Value, All: f.Bool("all").Value})
		if err := f.Err(); err != nil {
			in.Refuse(sheaf.InvalidField("edits", "edits[%d]: %v", i, err))
		}
	}
	if end.Given() && end.Value != "" {
		edits = append(edits, sheaf.Edit{New: end.Value, End: true})
	}
	return edits, in.Err()
}

func rewriteDocument(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	id, match := readDocumentID(in).Value, readRevision(in)
	change := sheaf.DocumentChange{Content: in.Text("content")}
	if err := in.Err(); err != nil {
		return nil, err
	}
	d, err := c.server.App.UpdateDocument(c.ctx, c.caller, id, change, match)
	return toldDocument(d, c.fasterDocument(err, match, id))
}

func moveDocument(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	id, project := readDocumentID(in).Value, readPlace[sheaf.ProjectID](in, "project_id")
	if err := in.Err(); err != nil {
		return nil, err
	}
	return toldDocument(c.server.App.UpdateDocument(c.ctx, c.caller, id, sheaf.DocumentChange{ProjectID: project}, sheaf.Match{}))
}

func deleteDocument(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	id, match := readDocumentID(in).Value, readRevision(in)
	if err := in.Err(); err != nil {
		return nil, err
	}
	if err := c.server.App.DeleteDocument(c.ctx, c.caller, id, match); err != nil {
		return nil, c.fasterDocument(err, match, id)
	}
	return toldGone(string(id), "it is in the trash: restore_document brings it back"), nil
}

func restoreDocument(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	id := readDocumentID(in).Value
	if err := in.Err(); err != nil {
		return nil, err
	}
	return toldDocument(c.server.App.RestoreDocument(c.ctx, c.caller, id))
}

// toldGone returns the result of a tool that deleted something.
func toldGone(id, what string) *sdk.CallToolResult {
	return told(sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Text("id", id)
		o.Bool("deleted", true)
		o.Text("note", what)
	}), nil)
}

// fasterDocument is faster for a document. The error names its revision if the caller may read it.
func (c *call) fasterDocument(err error, match sheaf.Match, id sheaf.DocumentID) error {
	return c.faster(err, match, "document", func() (int64, error) {
		d, err := c.server.App.Document(c.ctx, c.caller, id)
		return d.Revision, err
	})
}

// faster rewords PRECONDITION_FAILED for an agent: the record was changed since it was read, or it never
// had that revision. It returns any other error unchanged. now returns the current revision, if the caller
// may know it.
func (c *call) faster(err error, match sheaf.Match, noun string, now func() (int64, error)) error {
	if sheaf.KindOf(err) != sheaf.PreconditionFailed || len(match.Revisions) == 0 {
		return err
	}
	asked := match.Revisions[0]
	text := fmt.Sprintf("this %s is not at revision %d, and nothing was done: read it, and repeat your change with its revision", noun, asked)
	switch is, err := now(); {
	case err != nil:
	case asked > is:
		text = fmt.Sprintf("this %s never had revision %d, and nothing was done. It is at revision %d: read it, and repeat your change with that", noun, asked, is)
	default:
		text = fmt.Sprintf("somebody else was faster: this %s was changed after you read revision %d, and nothing was done. It is at revision %d now. Read it again, look what is different, and repeat your change with its new revision", noun, asked, is)
	}
	return &sheaf.Error{Kind: sheaf.PreconditionFailed, Code: sheaf.CodePreconditionFailed, Field: "revision", Text: text}
}
