package sheaf

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Limits of proposals.
const (
	MaxProposed      = 100     // changes of a proposal
	MaxProposedTexts = 4 << 20 // bytes of the texts of a proposal together
	MaxMessage       = 10_000  // characters of a proposal's message, and of the note of a decision
	// MaxOpenOfUser is the largest number of open proposals of one user.
	MaxOpenOfUser = 100
	// MaxAsked is the largest number of people who are asked to approve one proposal.
	MaxAsked = 20
	// AskedApart is the least time between two asks of the same person to approve the same proposal.
	AskedApart = time.Hour
)

// ProposalState is the state of a proposal. All states but open are final.
type ProposalState string

// The states.
const (
	ProposalOpen           ProposalState = "open"
	ProposalStateAccepted  ProposalState = "accepted"
	ProposalStateRejected  ProposalState = "rejected"
	ProposalStateWithdrawn ProposalState = "withdrawn"
)

// ProposalOp is what a change of a proposal does with a document.
type ProposalOp string

// The ops.
const (
	ProposeEdit    ProposalOp = "edit"
	ProposeCreate  ProposalOp = "create"
	ProposeDelete  ProposalOp = "delete"
	ProposeRestore ProposalOp = "restore"
	ProposeMove    ProposalOp = "move"
)

// Proposal is a set of changes to documents that waits for a decision. It is a batch: accepting it
// makes all changes in one transaction, or none.
type Proposal struct {
	ID        ProposalID
	Title     string
	Message   *string
	State     ProposalState
	Changes   []ProposedChange
	People    []Reviewer // the people who wrote or approved it, or were asked to approve it
	User      UserID     // the author
	Key       *KeyID     // key of the author; nil in the console
	Note      *string    // reason given with the decision
	CreatedAt time.Time
	UpdatedAt time.Time
	DecidedAt *time.Time
	DecidedBy *UserID

	// Number counts the records created in the workspace. Proposals are sorted by it.
	Number int64
	// Revision rises when title, message or changes change, and with the decision. ETag and If-Match
	// carry it.
	Revision int64
	// Comments is the number given to the newest comment. A comment does not change Revision.
	Comments int64
}

// Reviewer is a person who wrote or approved a proposal, or was asked to approve it.
type Reviewer struct {
	User       UserID     `json:"user"`
	Wrote      bool       `json:"wrote,omitempty"`       // made the changes or changed them: an approval by this user does not count
	ApprovedAt *time.Time `json:"approved_at,omitempty"` // nil: did not approve
	Key        *KeyID     `json:"key,omitempty"`         // key that approved; nil in the console
	AskedAt    *time.Time `json:"asked_at,omitempty"`    // when the person was last asked to approve; nil: never
	AskedBy    *UserID    `json:"asked_by,omitempty"`    // the user who asked last
}

// Waits reports whether the proposal waits for the person: they were asked to approve it, and neither
// approved nor changed it.
func (r *Reviewer) Waits() bool { return r.AskedAt != nil && r.ApprovedAt == nil && !r.Wrote }

// Reviewer returns the entry of a user, which it adds if there is none.
func (p *Proposal) Reviewer(u UserID) *Reviewer {
	i := slices.IndexFunc(p.People, func(r Reviewer) bool { return r.User == u })
	if i < 0 {
		p.People = append(p.People, Reviewer{User: u})
		i = len(p.People) - 1
	}
	return &p.People[i]
}

// Asked returns the users whom the proposal waits for.
func (p *Proposal) Asked() (users []UserID) {
	for i := range p.People {
		if p.People[i].Waits() {
			users = append(users, p.People[i].User)
		}
	}
	return users
}

// WaitsFor reports whether the proposal is open and waits for the user.
func (p *Proposal) WaitsFor(u UserID) bool {
	return p.State == ProposalOpen && slices.Contains(p.Asked(), u)
}

// ForgetApprovals removes all approvals. Who was asked to approve stays asked.
func (p *Proposal) ForgetApprovals() {
	for i := range p.People {
		p.People[i].ApprovedAt, p.People[i].Key = nil, nil
	}
}

// Fields appends the proposal as lists, answers and events show it. It has no texts of documents.
func (p *Proposal) Fields(o *Object) {
	o.Text("id", string(p.ID))
	o.Int("number", p.Number)
	o.Text("title", p.Title)
	o.OptText("message", p.Message)
	o.Text("state", string(p.State))
	o.Int("revision", p.Revision)
	list := []byte{'['}
	for i := range p.Changes {
		list = appendItem(list, &p.Changes[i])
	}
	o.Raw("changes", append(list, ']'))
	list = []byte{'['}
	for i := range p.People {
		if p.People[i].ApprovedAt != nil {
			list = appendItem(list, &p.People[i])
		}
	}
	o.Raw("approvals", append(list, ']'))
	o.Text("user_id", string(p.User))
	o.OptText("key_id", (*string)(p.Key))
	o.OptText("note", p.Note)
	o.Time("created_at", p.CreatedAt)
	o.Time("updated_at", p.UpdatedAt)
	o.OptTime("decided_at", p.DecidedAt)
	o.OptText("decided_by", (*string)(p.DecidedBy))
}

// appendItem appends a record to a JSON array that is not closed.
func appendItem(list []byte, r Record) []byte {
	if len(list) > 1 {
		list = append(list, ',')
	}
	return AppendJSON(list, r)
}

// Fields appends the approval as a proposal shows it.
func (r *Reviewer) Fields(o *Object) {
	o.Text("user_id", string(r.User))
	o.OptText("key_id", (*string)(r.Key))
	o.OptTime("created_at", r.ApprovedAt)
}

// ProposedChange is one change of a proposal.
type ProposedChange struct {
	Op         ProposalOp `json:"op"`
	DocumentID DocumentID `json:"document_id,omitempty"` // empty: the document is created
	// BaseVersion is the version that the author saw, of an edit or a deletion.
	BaseVersion int64          `json:"base_version,omitempty"`
	Document    DocumentChange `json:"document,omitzero"` // of an edit or a creation; its text is stored separately
	Move        DocumentMove   `json:"move,omitzero"`

	// These fields are set when the proposal is stored.
	ContentBytes  int64         `json:"content_bytes,omitempty"` // of the proposed text
	ContentSHA256 string        `json:"content_sha256,omitempty"`
	Base          *ProposalBase `json:"base,omitempty"` // of an edit or a deletion

	// Done is what accepting the proposal did. It is nil before that, and if nothing was left to do.
	Done *ProposalDone `json:"done,omitempty"`
}

// ProposalDone is what accepting a change did. A revert of the proposal undoes it.
type ProposalDone struct {
	DocumentID DocumentID     `json:"document_id,omitempty"` // of a document that was created
	Version    int64          `json:"version,omitempty"`     // of an edited document afterwards
	Was        *ProposalBase  `json:"was,omitempty"`         // an edited document before
	Is         *ProposalBase  `json:"is,omitempty"`          // an edited document afterwards
	From       *DocumentPlace `json:"from,omitempty"`        // of a document that was moved
}

// DocumentPlace is where a document is: its project, the document above it, and its neighbours there.
type DocumentPlace struct {
	ProjectID *ProjectID  `json:"project_id,omitempty"`
	ParentID  *DocumentID `json:"parent_id,omitempty"`
	AfterID   DocumentID  `json:"after_id,omitempty"`  // the neighbour before it; empty: it is the first
	BeforeID  DocumentID  `json:"before_id,omitempty"` // the neighbour after it; empty: it is the last
}

// BaseOf returns a document as a base. The base has no documents below it.
func BaseOf(d Document) *ProposalBase {
	return &ProposalBase{Title: d.Title, ContentSHA256: d.ContentSHA256, Description: d.Description, ExternalID: d.ExternalID,
		URL: d.URL, Metadata: d.Metadata, Revision: d.Revision}
}

// ProposalBase is a document as the author of a proposal saw it. Title and text are those of the
// base version. The other fields have no versions: they are those of the moment of the proposal.
type ProposalBase struct {
	Title         string       `json:"title"`
	ContentSHA256 string       `json:"content_sha256"`
	Description   *string      `json:"description,omitempty"`
	ExternalID    *string      `json:"external_id,omitempty"`
	URL           *string      `json:"url,omitempty"`
	Metadata      Metadata     `json:"metadata,omitempty"`
	Revision      int64        `json:"revision"`
	Below         []DocumentID `json:"below,omitempty"` // the documents below a document to delete
}

// Fields appends the change as a proposal shows it: what was sent, without the text.
func (c *ProposedChange) Fields(o *Object) {
	o.Text("op", string(c.Op))
	if c.DocumentID != "" {
		o.Text("document_id", string(c.DocumentID))
	}
	if c.BaseVersion > 0 {
		o.Int("base_version", c.BaseVersion)
	}
	d := &c.Document
	sentText(o, "title", d.Title)
	sentText(o, "description", d.Description)
	sentText(o, "project_id", d.ProjectID)
	sentText(o, "parent_id", d.ParentID)
	if d.SortOrder.Set {
		o.Int("sort_order", d.SortOrder.Value)
	}
	if d.Content.Set {
		o.Int("content_bytes", c.ContentBytes)
		o.Text("content_sha256", c.ContentSHA256)
	}
	sentText(o, "external_id", d.ExternalID)
	sentText(o, "url", d.URL)
	switch m := d.Metadata; {
	case m.Null:
		o.Null("metadata")
	case m.Set:
		o.Raw("metadata", AppendJSON(nil, RecordFunc(func(o *Object) {
			for _, e := range m.Value.Entries {
				o.OptText(e.Name, e.Value)
			}
		})))
	}
	sentText(o, "project_id", c.Move.ProjectID)
	sentText(o, "parent_id", c.Move.ParentID)
	sentText(o, "before_id", c.Move.BeforeID)
	sentText(o, "after_id", c.Move.AfterID)
}

// sentText appends a field if it was sent.
func sentText[T ~string](o *Object, name string, v Opt[T]) {
	switch {
	case v.Null:
		o.Null(name)
	case v.Set:
		o.Text(name, string(v.Value))
	}
}

// Operation returns the change as an operation of a batch.
func (c *ProposedChange) Operation() BatchOperation {
	action := map[ProposalOp]BatchAction{ProposeEdit: BatchUpdate, ProposeCreate: BatchCreate, ProposeDelete: BatchDelete,
		ProposeRestore: BatchRestore, ProposeMove: BatchMove}[c.Op]
	return BatchOperation{Action: action, Noun: BatchDocument, ID: string(c.DocumentID), Document: c.Document, Move: c.Move}
}

// EncodeChanges returns the stored form of the changes, without texts.
func EncodeChanges(changes []ProposedChange) (string, error) {
	changes = slices.Clone(changes)
	for i := range changes {
		if text := &changes[i].Document.Content; text.Set {
			*text = Some("")
		}
	}
	b, err := json.Marshal(changes)
	return string(b), err
}

// DecodeChanges is the inverse of EncodeChanges, for changes that another program wrote. It makes all
// checks that need no stored data.
func DecodeChanges(stored []byte) ([]ProposedChange, error) {
	var changes []ProposedChange
	d := json.NewDecoder(bytes.NewReader(stored))
	d.DisallowUnknownFields()
	if err := d.Decode(&changes); err != nil {
		return nil, InvalidField("changes", "changes cannot be read: copy the array that sheaf export wrote")
	}
	for i := range changes {
		if err := changes[i].checkStored(); err != nil {
			return nil, AtChange(i, err)
		}
	}
	return changes, ProposalChange{Changes: Some(changes)}.Check()
}

// checkStored returns Invalid for an identifier or a hash that no proposal can have.
func (c *ProposedChange) checkStored() error {
	ids := []string{string(c.DocumentID)}
	for _, id := range []Opt[ProjectID]{c.Document.ProjectID, c.Move.ProjectID} {
		ids = append(ids, string(id.Value))
	}
	for _, id := range []Opt[DocumentID]{c.Document.ParentID, c.Move.ParentID, c.Move.BeforeID, c.Move.AfterID} {
		ids = append(ids, string(id.Value))
	}
	based := c.Op == ProposeEdit || c.Op == ProposeDelete
	if c.Base == nil && based || c.Base != nil && !based {
		return InvalidField("base", "base is required for edit and delete, and not allowed for other ops")
	}
	hashes := []string{}
	if c.Base != nil {
		hashes = append(hashes, c.Base.ContentSHA256)
		for _, id := range c.Base.Below {
			ids = append(ids, string(id))
		}
	}
	if c.Document.Content.Given() {
		hashes = append(hashes, c.ContentSHA256)
	}
	if d := c.Done; d != nil {
		ids = append(ids, string(d.DocumentID))
		for _, b := range []*ProposalBase{d.Was, d.Is} {
			if b != nil {
				hashes = append(hashes, b.ContentSHA256)
			}
		}
		if p := d.From; p != nil {
			ids = append(ids, string(valueOf(p.ProjectID)), string(valueOf(p.ParentID)), string(p.AfterID), string(p.BeforeID))
		}
		if (d.Was == nil) != (d.Is == nil) || c.Op == ProposeEdit && d.Was == nil || c.Op == ProposeMove && d.From == nil || c.Op == ProposeCreate && d.DocumentID == "" {
			return InvalidField("done", "done lacks what accepting a change of this op did: copy the array that sheaf export wrote")
		}
	}
	for _, id := range ids {
		_, made := ParseMadeBy(id)
		if parsed, ok := ParseUUID(id); id != "" && !made && (!ok || parsed != id) {
			return Invalidf("%q is not a UUID such as 0198c0de-0000-7000-8000-000000000000, in lower case", Clip(id))
		}
	}
	for _, h := range hashes {
		if b, err := hex.DecodeString(h); err != nil || len(b) != 32 || strings.ToLower(h) != h {
			return InvalidField("content_sha256", "content_sha256 must be 64 digits of a SHA-256, in lower case")
		}
	}
	return nil
}

func valueOf[T ~string](id *T) T {
	if id == nil {
		return ""
	}
	return *id
}

// TextHashes returns the hashes of the texts that a proposal with these changes has, without that of the
// empty text.
func TextHashes(changes []ProposedChange) map[string]bool {
	named := map[string]bool{}
	for i := range changes {
		c := &changes[i]
		if !c.Document.Content.Set {
			continue
		}
		named[c.ContentSHA256] = true
		if c.Base != nil {
			named[c.Base.ContentSHA256] = true
		}
	}
	delete(named, EmptySHA256)
	return named
}

// ProposalChange is what a client sends to make or change a proposal.
type ProposalChange struct {
	Title   Opt[string]
	Message Opt[string]
	Changes Opt[[]ProposedChange]
}

// Empty reports whether no field was sent.
func (c ProposalChange) Empty() bool { return !c.Title.Set && !c.Message.Set && !c.Changes.Set }

// CheckNew is Check for a new proposal.
func (c ProposalChange) CheckNew() error {
	switch {
	case !c.Title.Set:
		return InvalidField("title", "title is required: give it 1 to %d characters", MaxName)
	case !c.Changes.Set:
		return InvalidField("changes", "changes is required: an array of 1 to %d changes", MaxProposed)
	}
	return c.Check()
}

// Check returns Invalid for the first bad field of those that were sent. It does not check what is
// stored, or the fields of the documents.
func (c ProposalChange) Check() error {
	if c.Title.Null {
		return InvalidField("title", "title must not be null: give it 1 to %d characters", MaxName)
	}
	if c.Title.Set {
		if err := CheckName("title", c.Title.Value, MaxName); err != nil {
			return err
		}
	}
	if err := CheckLength("message", c.Message.Value, MaxMessage); err != nil {
		return err
	}
	if !c.Changes.Set {
		return nil
	}
	if n := len(c.Changes.Value); n == 0 || n > MaxProposed {
		return InvalidField("changes", "changes has %d entries: send 1 to %d of them", n, MaxProposed)
	}
	return checkProposed(c.Changes.Value)
}

func checkProposed(changes []ProposedChange) error {
	operations := make([]BatchOperation, len(changes))
	seen := map[string]bool{}
	texts := 0
	for i := range changes {
		c := &changes[i]
		operations[i] = c.Operation()
		err := c.check()
		if err == nil {
			err = checkOperation(operations[:i+1], i)
		}
		if id := string(c.Op) + string(c.DocumentID); err == nil && c.DocumentID != "" {
			if seen[id] {
				err = InvalidField("document_id", "document_id is also in an earlier change with the same op: make one change of the two")
			}
			seen[id] = true
		}
		if err != nil {
			return AtChange(i, err)
		}
		texts += len(c.Document.Content.Value)
	}
	if texts > MaxProposedTexts {
		return InvalidField("changes", "changes have texts of %d bytes together, and at most %d (4 MiB) are allowed: make several proposals", texts, MaxProposedTexts)
	}
	return nil
}

// check returns the error of the change's own fields.
func (c *ProposedChange) check() error {
	based := c.Op == ProposeEdit || c.Op == ProposeDelete
	d := &c.Document
	_, made := ParseMadeBy(string(c.DocumentID))
	switch {
	case !slices.Contains([]ProposalOp{ProposeEdit, ProposeCreate, ProposeDelete, ProposeRestore, ProposeMove}, c.Op):
		return InvalidField("op", "op must be edit, create, delete, restore or move, not %q", Clip(string(c.Op)))
	case c.Op == ProposeCreate && c.DocumentID != "":
		return InvalidField("document_id", "document_id is assigned by the service when a document is created: leave it out")
	case c.Op != ProposeCreate && (c.DocumentID == "" || made):
		return InvalidField("document_id", "document_id is required: the UUID of the document")
	case based && c.BaseVersion < 1:
		return InvalidField("base_version", "base_version is required: the version of the document that you have read")
	case !based && c.BaseVersion != 0:
		return InvalidField("base_version", "base_version is only for edit and delete: leave it out")
	case c.Op == ProposeEdit && (d.ProjectID.Set || d.ParentID.Set || d.SortOrder.Set):
		return InvalidField("op", "an edit does not change the place of a document: leave out project_id, parent_id and sort_order, and add a change with the op move")
	}
	return nil
}

// Apply returns p with the title and message that were sent.
func (c ProposalChange) Apply(p Proposal) Proposal {
	if c.Title.Set {
		p.Title = c.Title.Value
	}
	if c.Message.Set {
		p.Message = c.Message.Pointer()
	}
	return p
}

// ProposalFilter limits a list of proposals. The zero value has no limits.
type ProposalFilter struct {
	State        ProposalState
	Project      ProjectID
	Document     DocumentID
	User         UserID
	Asked        UserID // the proposal waits for this user (Reviewer.Waits)
	UpdatedSince *time.Time
	Paging
}

// ProposalConflict says that a change of a proposal cannot be made, because its document has changed
// since.
type ProposalConflict struct {
	Change     int
	DocumentID DocumentID
	Reason     string // in words
	Hunks      []ConflictHunk
}

// ConflictHunk is a place at which the text of a document and the proposed text changed the base
// differently. Its texts are whole lines.
type ConflictHunk struct {
	BaseLine, PresentLine, ProposedLine int
	Base, Present, Proposed             string
}

// Fields appends the conflict.
func (c *ProposalConflict) Fields(o *Object) {
	o.Int("change", int64(c.Change))
	o.Text("document_id", string(c.DocumentID))
	o.Text("reason", c.Reason)
	list := []byte{'['}
	for i := range c.Hunks {
		list = appendItem(list, &c.Hunks[i])
	}
	o.Raw("hunks", append(list, ']'))
}

// Fields appends the hunk, with the number of the first line in each text.
func (h *ConflictHunk) Fields(o *Object) {
	o.Int("base_line", int64(h.BaseLine))
	o.Text("base", h.Base)
	o.Int("present_line", int64(h.PresentLine))
	o.Text("present", h.Present)
	o.Int("proposed_line", int64(h.ProposedLine))
	o.Text("proposed", h.Proposed)
}

// AppendConflicts appends the conflicts as a JSON array.
func AppendConflicts(o *Object, conflicts []ProposalConflict) {
	list := []byte{'['}
	for i := range conflicts {
		list = appendItem(list, &conflicts[i])
	}
	o.Raw("conflicts", append(list, ']'))
}
