package mcp

import (
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

// shownComments is how many comments of a proposal an agent reads.
const shownComments = 50

// proposedNames are the fields of a change of propose_changes, by its op.
var proposedNames = map[sheaf.ProposalOp][]string{
	sheaf.ProposeEdit:    {"op", "document_id", "base_version", "title", "description", "content", "edits", "append"},
	sheaf.ProposeCreate:  {"op", "title", "description", "content", "project_id", "parent_id"},
	sheaf.ProposeDelete:  {"op", "document_id", "base_version"},
	sheaf.ProposeRestore: {"op", "document_id"},
	sheaf.ProposeMove:    {"op", "document_id", "project_id", "parent_id", "before_id", "after_id"},
}

var changesSchema = map[string]any{"type": "array", "minItems": 1, "maxItems": sheaf.MaxProposed, "items": map[string]any{
	"type": "object", "required": []string{"op"}, "additionalProperties": false, "properties": map[string]any{
		"op":           described("string", "", "enum", []string{"edit", "create", "delete", "restore", "move"}),
		"document_id":  described("string", "for all but create"),
		"base_version": described("integer", "for edit and delete: the version that you read; default the present one"),
		"title":        described("string", "required for create"),
		"description":  described("string", ""),
		"content":      described("string", "the whole text, in Markdown"),
		"edits":        editsSchema,
		"append":       described("string", "Markdown for the end of the text"),
		"project_id":   described("string", `for create and move; "none": no project`),
		"parent_id":    described("string", `for create and move: the document above, or $0 for what the first change creates; "none": the top level`),
		"before_id":    described("string", "for move"),
		"after_id":     described("string", "for move"),
	}}}

// described returns the JSON Schema of a field, with further pairs of names and values.
func described(kind, about string, more ...any) map[string]any {
	s := map[string]any{"type": kind}
	if about != "" {
		s["description"] = about
	}
	for i := 0; i < len(more); i += 2 {
		s[more[i].(string)] = more[i+1]
	}
	return s
}

func proposeChanges(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	change := sheaf.ProposalChange{Title: in.Text("title"), Message: in.Text("message")}
	objects := in.Objects("changes")
	if err := in.Err(); err != nil {
		return nil, err
	}
	if n := len(objects.Value); n == 0 || n > sheaf.MaxProposed {
		return nil, sheaf.InvalidField("changes", "changes must have 1 to %d entries", sheaf.MaxProposed)
	}
	if err := c.Charge(sheaf.BatchCost(len(objects.Value))); err != nil {
		return nil, err
	}
	change.Changes = sheaf.Some(make([]sheaf.ProposedChange, len(objects.Value)))
	texts := 0
	for i, o := range objects.Value {
		one, err := c.proposedChange(o)
		if err != nil {
			return nil, sheaf.AtChange(i, c.Explain(err))
		}
		change.Changes.Value[i] = one
		// A short edit makes a long text, so the rest is not read if the texts are too long already.
		if texts += len(one.Document.Content.Value); texts > sheaf.MaxProposedTexts {
			change.Changes.Value = change.Changes.Value[:i+1]
			break
		}
	}
	p, err := c.server.App.CreateProposal(c.ctx, c.Caller, change)
	if err != nil {
		return nil, err
	}
	return recordResult(sheaf.RecordFunc(func(o *sheaf.Object) {
		proposalFields(0, &p, o)
		o.Text("note", "no document has changed yet: a person decides about the proposal")
	}), nil), nil
}

// proposedChange reads one change of a proposal.
func (c *call) proposedChange(object strict.Object) (p sheaf.ProposedChange, err error) {
	in := object.Fields()
	p.Op = sheaf.ProposalOp(in.Text("op").Value)
	names, ok := proposedNames[p.Op]
	for _, name := range object.Names() {
		if ok && !slices.Contains(names, name) {
			return p, sheaf.Invalidf("%q is not a field of a change with the op %s, which takes %s", sheaf.Clip(name), p.Op, strings.Join(names, ", "))
		}
	}
	p.DocumentID = readDocumentID(in).Value
	p.BaseVersion = in.Int("base_version", 1, maxOffset).Value
	title, description, content := in.Text("title"), in.Text("description"), in.Text("content")
	switch p.Op {
	case sheaf.ProposeCreate:
		p.Document = sheaf.DocumentChange{Title: title, Description: description, Content: content, ProjectID: readPlace[sheaf.ProjectID](in, "project_id"),
			ParentID: readParent(in)}
	case sheaf.ProposeMove:
		p.Move = sheaf.DocumentMove{ProjectID: readPlace[sheaf.ProjectID](in, "project_id"), ParentID: readParent(in),
			BeforeID: readID[sheaf.DocumentID](in, "before_id"), AfterID: readID[sheaf.DocumentID](in, "after_id")}
	case sheaf.ProposeEdit:
		p.Document = sheaf.DocumentChange{Title: title, Description: description, Content: content}
	}
	edits, err := readEdits(in)
	based := p.Op == sheaf.ProposeEdit || p.Op == sheaf.ProposeDelete
	if err != nil || !based || p.DocumentID == "" {
		return p, err // the rules name what is missing
	}
	return p, c.base(&p, edits)
}

// base sets a missing base version of a change, and the text that its edits make from the base text.
func (c *call) base(p *sheaf.ProposedChange, edits []sheaf.Edit) error {
	if p.BaseVersion == 0 {
		d, err := c.server.App.Document(c.ctx, c.Caller, p.DocumentID)
		if err != nil {
			return err
		}
		p.BaseVersion = d.Version
	}
	if len(edits) == 0 || p.Op != sheaf.ProposeEdit {
		return nil
	}
	if p.Document.Content.Given() {
		return sheaf.InvalidField("content", "content is the whole text: send it, or edits and append, but not both")
	}
	if err := sheaf.CheckEdits(edits); err != nil {
		return err
	}
	v, err := c.server.App.Version(c.ctx, c.Caller, p.DocumentID, p.BaseVersion)
	if err != nil {
		return err
	}
	text, err := sheaf.ApplyEdits(v.Content, edits)
	p.Document.Content = sheaf.Some(text)
	return err
}

// readParent is readPlace for parent_id, which may also name a document that an earlier change creates.
func readParent(in *strict.Fields) sheaf.Opt[sheaf.DocumentID] {
	t := in.Text("parent_id")
	if _, made := sheaf.ParseMadeBy(t.Value); made {
		return sheaf.Some(sheaf.DocumentID(t.Value))
	}
	return readPlace[sheaf.DocumentID](in, "parent_id")
}

// proposalFields appends what lists show of a proposal.
func proposalFields(_ int, p *sheaf.Proposal, o *sheaf.Object) {
	proposalHead(p, o)
	o.Int("changes", int64(len(p.Changes)))
}

// proposalHead appends what a proposal is about, who made it, and what was decided.
func proposalHead(p *sheaf.Proposal, o *sheaf.Object) {
	o.Text("id", string(p.ID))
	o.Text("title", p.Title)
	o.Text("state", string(p.State))
	o.Text("user_id", string(p.User))
	o.Time("created_at", p.CreatedAt)
	optionalText(o, "decision", p.Note)
}

func listProposals(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	f := sheaf.ProposalFilter{State: sheaf.ProposalState(in.Text("state").Value), Project: readID[sheaf.ProjectID](in, "project_id").Value,
		Document: readDocumentID(in).Value, Paging: readPaging(in, maxPage, usualPage)}
	f.Desc = true
	if f.State != "" && !slices.Contains(proposalStates, string(f.State)) {
		in.Refuse(sheaf.InvalidField("state", "state must be %s", strings.Join(proposalStates, ", ")))
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	list, err := c.server.App.Proposals(c.ctx, c.Caller, f)
	if err != nil {
		return nil, err
	}
	return recordResult(page(list, proposalFields), nil), nil
}

var proposalStates = []string{"open", "accepted", "rejected", "withdrawn"}

func readProposal(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	id, change := readID[sheaf.ProposalID](in, "proposal_id").Value, in.Int("change", 0, sheaf.MaxProposed-1)
	lines := readLines(in)
	if err := in.Err(); err != nil {
		return nil, err
	}
	if change.Given() {
		return c.readProposedChange(id, int(change.Value), lines)
	}
	p, err := c.server.App.Proposal(c.ctx, c.Caller, id)
	if err != nil {
		return nil, err
	}
	comments, err := c.server.App.Comments(c.ctx, c.Caller, id, sheaf.Paging{Limit: shownComments, Desc: true})
	if err != nil {
		return nil, err
	}
	slices.Reverse(comments.Items)
	return recordResult(sheaf.RecordFunc(func(o *sheaf.Object) {
		proposalHead(&p.Proposal, o)
		optionalText(o, "message", p.Message)
		o.Raw("changes", arrayOf(p.Changes, func(_ int, v *sheaf.ProposedChange, o *sheaf.Object) { v.Fields(o) }))
		sheaf.AppendConflicts(o, p.Conflicts)
		o.Record("comments", page(comments, func(_ int, v *sheaf.Comment, o *sheaf.Object) {
			o.Int("number", v.Number)
			if v.Change != nil {
				o.Int("change", *v.Change)
			}
			o.Text("body", v.Body)
			o.Text("user_id", string(v.User))
			o.Time("created_at", v.CreatedAt)
		}))
	}), nil), nil
}

// readProposedChange returns one change with its difference, or with some lines of the difference.
func (c *call) readProposedChange(id sheaf.ProposalID, n int, lines lineChoice) (*sdk.CallToolResult, error) {
	v, err := c.server.App.PreviewChange(c.ctx, c.Caller, id, n)
	if err != nil {
		return nil, err
	}
	var part lineRange
	text := v.Diff
	if text == nil {
		text = v.Proposed // it is too long to be compared
	}
	if text != nil {
		if part, err = lines.cut(*text, ""); err != nil {
			return nil, err
		}
		text = &part.text
	}
	return recordResult(sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Int("change", int64(n))
		v.Change.Fields(o)
		sheaf.AppendConflicts(o, v.Conflicts)
		if text != nil {
			o.Bool("diff", v.Diff != nil)
			part.fields(o)
		}
	}), text), nil
}

func commentProposal(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	id := readID[sheaf.ProposalID](in, "proposal_id").Value
	comment := sheaf.CommentChange{Body: in.Text("body"), Change: in.Int("change", 0, sheaf.MaxProposed-1)}
	if err := in.Err(); err != nil {
		return nil, err
	}
	v, err := c.server.App.CreateComment(c.ctx, c.Caller, id, comment)
	if err != nil {
		return nil, err
	}
	return recordResult(sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Text("proposal_id", string(v.Proposal))
		o.Int("number", v.Number)
	}), nil), nil
}

func withdrawProposal(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	id := readID[sheaf.ProposalID](in, "proposal_id").Value
	if err := in.Err(); err != nil {
		return nil, err
	}
	p, err := c.server.App.WithdrawProposal(c.ctx, c.Caller, id, sheaf.Match{})
	if err != nil {
		return nil, err
	}
	return recordResult(sheaf.RecordFunc(func(o *sheaf.Object) { proposalFields(0, &p, o) }), nil), nil
}
