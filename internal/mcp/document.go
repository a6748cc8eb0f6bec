package mcp

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

func listDocuments(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	f := sheaf.DocumentFilter{Project: readPlace[sheaf.ProjectID](in, "project_id"), Parent: readPlace[sheaf.DocumentID](in, "parent_id"),
		Sort: sheaf.DocumentsByUpdated, Paging: readPaging(in, maxPage, usualPage)}
	f.Desc, f.MustExist, f.UpdatedSince = true, true, in.Time("updated_since").Pointer()
	if f.Parent.Set {
		f.Sort, f.Desc = sheaf.DocumentsByOrder, false
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	list, err := c.server.App.Documents(c.ctx, c.Caller, f)
	if err != nil {
		return nil, err
	}
	places := make([]app.Placed, len(list.Items))
	for i := range list.Items {
		places[i] = placed(&list.Items[i])
	}
	paths, err := c.paths(places)
	if err != nil {
		return nil, err
	}
	return recordResult(page(list, func(i int, d *sheaf.Document, o *sheaf.Object) {
		named(o, string(d.ID), d.Title, paths[i])
		optionalText(o, "description", d.Description)
		if !f.Project.Set {
			optionalText(o, "project_id", d.ProjectID)
		}
		if !f.Parent.Set {
			optionalText(o, "parent_id", d.ParentID)
		}
		o.Int("bytes", d.ContentBytes)
		o.Time("updated_at", d.UpdatedAt)
	}), nil), nil
}

// readTree lists the documents of a project in reading order.
func readTree(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	id, p := readID[sheaf.ProjectID](in, "project_id").Value, readPaging(in, maxTree, usualTree)
	if err := in.Err(); err != nil {
		return nil, err
	}
	tree, err := c.server.App.DocumentTree(c.ctx, c.Caller, id)
	if sheaf.KindOf(err) == sheaf.Invalid {
		err = sheaf.Invalidf("the project has more than %d documents: call list_documents with project_id and parent_id \"none\" for the top level, then with the id of a document as parent_id for the level below it", sheaf.MaxTree)
	}
	if err != nil {
		return nil, err
	}
	shown := tree[min(p.Offset, len(tree)):]
	shown = shown[:min(p.Limit, len(shown))]
	var outline strings.Builder
	for _, e := range shown {
		fmt.Fprintf(&outline, "%s%s %s\n", strings.Repeat("  ", e.Depth-1), e.ID, oneLine(e.Title))
	}
	text := outline.String()
	return recordResult(sheaf.RecordFunc(func(o *sheaf.Object) {
		pageEnd(sheaf.Page[sheaf.TreeEntry]{Items: shown, Total: int64(len(tree)), Paging: p}, o)
	}), &text), nil
}

// oneLine returns the text with a space for every control character.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}

// documentFields appends where a document is, and the revision that a change names.
func documentFields(d *sheaf.Document, path string, o *sheaf.Object) {
	named(o, string(d.ID), d.Title, path)
	optionalText(o, "project_id", d.ProjectID)
	optionalText(o, "parent_id", d.ParentID)
	o.Int("revision", d.Revision)
}

// documentResult returns the result of a tool that created or changed a document. If the path cannot be read
// afterwards, it is left out: the change is done.
func (c *call) documentResult(d sheaf.Document, err error) (*sdk.CallToolResult, error) {
	if err != nil {
		return nil, err
	}
	path, _ := c.path(placed(&d))
	return recordResult(sheaf.RecordFunc(func(o *sheaf.Object) {
		documentFields(&d, path, o)
		o.Int("bytes", d.ContentBytes)
	}), nil), nil
}

func readDocument(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	id, version, with := c.readShared(in), in.Int("version", 1, maxOffset), in.Text("line_with")
	read := readLines(in)
	if err := in.Err(); err != nil {
		return nil, err
	}
	if version.Given() {
		return c.readVersion(id, version.Value, read, with.Value)
	}
	d, err := c.server.App.DocumentText(c.ctx, c.Caller, id)
	if err != nil {
		return nil, err
	}
	path, err := c.path(placed(&d.Document))
	if err != nil {
		return nil, err
	}
	part, err := read.cut(d.Content, with.Value)
	if err != nil {
		return nil, err
	}
	return recordResult(sheaf.RecordFunc(func(o *sheaf.Object) {
		documentFields(&d.Document, path, o)
		optionalText(o, "description", d.Description)
		if c.Caller.May(sheaf.ProposalsWrite) {
			o.Int("version", d.Version)
		}
		o.Time("updated_at", d.UpdatedAt)
		part.fields(o)
	}), &part.text), nil
}

// lineChoice is the part of a text that a caller asked for.
type lineChoice struct{ from, lines int }

// readLines reads from_line and lines.
func readLines(in *strict.Fields) lineChoice {
	from, lines := in.Int("from_line", 1, maxLine), in.Int("lines", 1, maxLines)
	return lineChoice{int(max(from.Value, 1)), int(lines.Value)}
}

// cut returns the chosen lines. If `with` is not empty, they begin contextLines before the first line at or after
// from_line that contains `with`, in upper or lower case.
func (c lineChoice) cut(text, with string) (lineRange, error) {
	if with == "" {
		return cutLines(text, c.from, c.lines)
	}
	number, folded := 0, strings.ToLower(with)
	for line := range strings.Lines(text) {
		if number++; number >= c.from && strings.Contains(strings.ToLower(line), folded) {
			return cutLines(text, max(number-contextLines, 1), c.lines)
		}
	}
	return lineRange{}, sheaf.InvalidField("line_with", "no line from line %d on has %q: use fewer words of the line, or leave line_with out", c.from, sheaf.Clip(with))
}

// fields appends which lines of the text the part has, unless it is the whole text.
func (r *lineRange) fields(o *sheaf.Object) {
	o.Int("lines", int64(r.all))
	if r.to-r.from+1 == r.all {
		return
	}
	o.Int("from_line", int64(r.from))
	o.Int("to_line", int64(r.to))
	if r.to < r.all {
		o.Int("next_line", int64(r.to+1))
	}
}

// lineRange is a part of a text, whole lines with their ends.
type lineRange struct {
	text     string
	from, to int // the first and the last line, counted from 1
	all      int // the number of lines of the text
}

// cutLines returns `lines` lines of the text starting at line `from`; 0 means usualLines. It stops earlier
// if they exceed maxRead bytes, but returns at least one line.
func cutLines(text string, from, lines int) (r lineRange, err error) {
	if lines == 0 {
		lines = usualLines
	}
	r.from, r.to = from, from-1
	at, start, end := 0, 0, 0 // offsets of the current line, and of the part
	for line := range strings.Lines(text) {
		r.all++
		if r.all == from {
			start, end = at, at
		}
		at += len(line)
		next := r.all == r.to+1 // the part has no gaps
		if fits := at-start <= maxRead || r.to < from; next && fits && r.all < from+lines {
			r.to, end = r.all, at
		}
	}
	if from > max(r.all, 1) {
		return r, sheaf.InvalidField("from_line", "from_line is %d, but the text has only %d lines: use a smaller number", from, r.all)
	}
	r.text = text[start:end]
	return r, nil
}

func createDocument(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	change := sheaf.DocumentChange{Title: in.Text("title"), Content: in.Text("content"), Description: in.Text("description"),
		ProjectID: readPlace[sheaf.ProjectID](in, "project_id"), ParentID: readPlace[sheaf.DocumentID](in, "parent_id")}
	if err := in.Err(); err != nil {
		return nil, err
	}
	return c.documentResult(c.server.App.CreateDocument(c.ctx, c.Caller, change))
}

func editDocument(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	id, match := readDocumentID(in).Value, readRevision(in)
	change := sheaf.DocumentChange{Title: in.Text("title"), Description: in.Text("description")}
	edits, err := readEdits(in)
	if err != nil {
		return nil, err
	}
	d, err := c.server.App.EditDocument(c.ctx, c.Caller, id, edits, change, match)
	return c.documentResult(d, c.documentConflict(err, match, id))
}

// readEdits reads the passages to replace, and the text to append.
func readEdits(in *strict.Fields) (edits []sheaf.Edit, err error) {
	list, end := in.Objects("edits"), in.Text("append")
	for i, entry := range list.Value {
		f := entry.Fields()
		for _, name := range entry.Names() {
			if !slices.Contains(editNames, name) {
				f.Refuse(sheaf.Invalidf("%q is not a field of an edit, which takes %s", sheaf.Clip(name), strings.Join(editNames, ", ")))
			}
		}
		before, after := f.Text("old"), f.Text("new")
		switch {
		case f.Err() != nil:
		case !before.Given() || !after.Given():
			f.Refuse(sheaf.InvalidField("edits", "edits[%d] must have old, the exact passage, and new, its replacement", i))
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
	d, err := c.server.App.UpdateDocument(c.ctx, c.Caller, id, change, match)
	return c.documentResult(d, c.documentConflict(err, match, id))
}

func moveDocument(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	id := readDocumentID(in).Value
	move := sheaf.DocumentMove{ProjectID: readPlace[sheaf.ProjectID](in, "project_id"), ParentID: readPlace[sheaf.DocumentID](in, "parent_id"),
		BeforeID: readID[sheaf.DocumentID](in, "before_id"), AfterID: readID[sheaf.DocumentID](in, "after_id")}
	if err := in.Err(); err != nil {
		return nil, err
	}
	if move.Empty() {
		return nil, sheaf.Invalidf("no place to move to: send project_id, parent_id, before_id or after_id")
	}
	return c.documentResult(c.server.App.MoveDocument(c.ctx, c.Caller, id, move, sheaf.Match{}))
}

func deleteDocument(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	id, match := readDocumentID(in).Value, readRevision(in)
	if err := in.Err(); err != nil {
		return nil, err
	}
	c.LiftDeadlines() // any number of documents may be below it
	if err := c.server.App.DeleteDocument(c.ctx, c.Caller, id, match); err != nil {
		return nil, c.documentConflict(err, match, id)
	}
	return deletedResult(string(id), "it is in the trash, with everything below it: restore_document brings it back"), nil
}

func restoreDocument(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	id := readDocumentID(in).Value
	if err := in.Err(); err != nil {
		return nil, err
	}
	c.LiftDeadlines()
	return c.documentResult(c.server.App.RestoreDocument(c.ctx, c.Caller, id))
}

// deletedResult returns the result of a tool that deleted something.
func deletedResult(id, what string) *sdk.CallToolResult {
	return recordResult(sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Text("id", id)
		o.Bool("deleted", true)
		o.Text("note", what)
	}), nil)
}

// documentConflict is explainConflict for a document.
func (c *call) documentConflict(err error, match sheaf.Match, id sheaf.DocumentID) error {
	return c.explainConflict(err, match, "document", func() (int64, error) {
		d, err := c.server.App.Document(c.ctx, c.Caller, id)
		return d.Revision, err
	})
}

// explainConflict rewords PRECONDITION_FAILED for an agent: the record was changed since it was read, or it never
// had that revision. It returns any other error unchanged. now returns the current revision, which the error
// names, or an error if the caller may not read the record.
func (c *call) explainConflict(err error, match sheaf.Match, noun string, now func() (int64, error)) error {
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
		text = fmt.Sprintf("this %s was changed after you read revision %d, and nothing was done. It is now at revision %d. Read it again, compare it with yours, and repeat your change with the new revision", noun, asked, is)
	}
	return &sheaf.Error{Kind: sheaf.PreconditionFailed, Code: sheaf.CodePreconditionFailed, Field: "revision", Text: text}
}
