package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Proposal is a set of changes to documents that waits for a decision.
type Proposal struct {
	Received
	ID        string           `json:"id"`
	Number    int64            `json:"number"`
	Title     string           `json:"title"`
	Message   *string          `json:"message"` // Markdown; nil: none
	State     string           `json:"state"`   // open, accepted, rejected or withdrawn
	Revision  int64            `json:"revision"`
	Changes   []ProposedChange `json:"changes"` // without texts
	Approvals []Approval       `json:"approvals"`
	UserID    string           `json:"user_id"` // the author
	KeyID     *string          `json:"key_id"`  // the author's key; nil: the console
	Note      *string          `json:"note"`    // given with the decision; nil: none
	CreatedAt time.Time        `json:"created_at"`
	UpdatedAt time.Time        `json:"updated_at"`
	DecidedAt *time.Time       `json:"decided_at"` // nil: it is open
	DecidedBy *string          `json:"decided_by"`
	// Conflicts are the changes that cannot be made at the moment. Only Get returns them.
	Conflicts []Conflict `json:"conflicts"`
}

// Approval records that a person approved a proposal.
type Approval struct {
	UserID    string    `json:"user_id"`
	KeyID     *string   `json:"key_id"` // nil: the console
	CreatedAt time.Time `json:"created_at"`
}

// Conflict is a change that cannot be made, because its document has changed since the base version.
type Conflict struct {
	Change     int    `json:"change"` // counted from 0
	DocumentID string `json:"document_id"`
	Reason     string `json:"reason"` // for a person
	// Hunks are the lines that both sides changed. They are empty without the scope documents:read.
	Hunks []ConflictHunk `json:"hunks"`
}

// ConflictHunk has whole lines of the three texts, each with the number of its first line.
type ConflictHunk struct {
	BaseLine     int    `json:"base_line"`
	Base         string `json:"base"`
	PresentLine  int    `json:"present_line"`
	Present      string `json:"present"`
	ProposedLine int    `json:"proposed_line"`
	Proposed     string `json:"proposed"`
}

// ProposedChange is one change of a proposal, without its text. Fields that were not sent are nil.
type ProposedChange struct {
	Op            string             `json:"op"`
	DocumentID    string             `json:"document_id"`  // empty: a document is created
	BaseVersion   int64              `json:"base_version"` // the version that the author has read; 0: the op has none
	Title         *string            `json:"title"`
	Description   *string            `json:"description"`
	ProjectID     *string            `json:"project_id"`
	ParentID      *string            `json:"parent_id"`
	BeforeID      *string            `json:"before_id"`
	AfterID       *string            `json:"after_id"`
	SortOrder     *int64             `json:"sort_order"`
	ContentBytes  *int64             `json:"content_bytes"`
	ContentSHA256 *string            `json:"content_sha256"`
	ExternalID    *string            `json:"external_id"`
	URL           *string            `json:"url"`
	Metadata      map[string]*string `json:"metadata"`
}

// NewChange is a change to propose. Empty fields are left out.
//
//	edit     DocumentID, BaseVersion and the fields to change
//	create   the fields of the document; ParentID may be [MadeBy] of an earlier change
//	delete   DocumentID, BaseVersion
//	restore  DocumentID
//	move     DocumentID, and ProjectID, ParentID, BeforeID or AfterID
type NewChange struct {
	Op          string                  `json:"op"`
	DocumentID  string                  `json:"document_id,omitempty"`
	BaseVersion int64                   `json:"base_version,omitempty"` // the version that you have read
	Title       Opt[string]             `json:"title,omitzero"`
	Description Opt[string]             `json:"description,omitzero"`
	ProjectID   Opt[string]             `json:"project_id,omitzero"`
	ParentID    Opt[string]             `json:"parent_id,omitzero"`
	BeforeID    string                  `json:"before_id,omitempty"`
	AfterID     string                  `json:"after_id,omitempty"`
	SortOrder   Opt[int64]              `json:"sort_order,omitzero"`
	Content     Opt[string]             `json:"content,omitzero"` // Markdown
	ExternalID  Opt[string]             `json:"external_id,omitzero"`
	URL         Opt[string]             `json:"url,omitzero"`
	Metadata    Opt[map[string]*string] `json:"metadata,omitzero"`
}

// NewProposal is a proposal to make.
type NewProposal struct {
	Title   string      `json:"title"`
	Message string      `json:"message,omitempty"` // Markdown
	Changes []NewChange `json:"changes"`           // 1 to 100
}

// ProposalChange has the fields of an open proposal to change. New changes replace all earlier ones,
// and remove the approvals.
type ProposalChange struct {
	Title   Opt[string]      `json:"title,omitzero"`
	Message Opt[string]      `json:"message,omitzero"`
	Changes Opt[[]NewChange] `json:"changes,omitzero"`
}

// ProposalPreview is one change of a proposal with its texts. A text that does not exist is nil.
type ProposalPreview struct {
	Received
	Change     int        `json:"change"` // counted from 0
	Op         string     `json:"op"`
	DocumentID string     `json:"document_id"` // empty: a document is created
	Base       *string    `json:"base"`        // what the author saw
	Proposed   *string    `json:"proposed"`
	Present    *string    `json:"present"`
	Merged     *string    `json:"merged"` // what the document would have
	Diff       *string    `json:"diff"`   // from Present to Merged, unified
	Conflicts  []Conflict `json:"conflicts"`
}

// Comment is a text about a proposal.
type Comment struct {
	Received
	Number     int64     `json:"number"` // from 1, in its proposal
	ProposalID string    `json:"proposal_id"`
	Change     *int64    `json:"change"` // counted from 0; nil: the whole proposal
	Body       string    `json:"body"`   // Markdown
	UserID     string    `json:"user_id"`
	KeyID      *string   `json:"key_id"` // nil: the console
	CreatedAt  time.Time `json:"created_at"`
	UpdatedAt  time.Time `json:"updated_at"`
}

// NewComment is a comment to make.
type NewComment struct {
	Body   string     `json:"body"`            // Markdown
	Change Opt[int64] `json:"change,omitzero"` // left out: the whole proposal
}

// ProposalFilter narrows a list of proposals.
type ProposalFilter struct {
	State        string    // open, accepted, rejected or withdrawn
	ProjectID    string    // only those that name this project, or documents of it
	DocumentID   string    // only those that name this document
	UserID       string    // only those of this author
	UpdatedSince time.Time // changed at this time or later; zero: any
	Paging
}

func (f ProposalFilter) values() url.Values {
	q := f.Paging.values()
	set(q, "state", f.State)
	set(q, "project_id", f.ProjectID)
	set(q, "document_id", f.DocumentID)
	set(q, "user_id", f.UserID)
	setReferences(q, "", f.UpdatedSince)
	return q
}

// Proposals are the operations on proposals. Reading proposals needs the scope proposals:read. Making and
// discussing them needs proposals:write. Approving, accepting and rejecting them needs proposals:approve.
// Accepting also needs documents:write, and reading texts needs documents:read.
type Proposals struct{ c *Client }

const proposalsPath = "/api/v1/proposals"

func proposalPath(id, act string) string { return proposalsPath + "/" + escape(id) + act }

// List returns one page.
func (s Proposals) List(ctx context.Context, f ProposalFilter, opts ...Option) (Page[Proposal], error) {
	return list[Proposal](ctx, s.c, proposalsPath, f.values(), opts)
}

// All returns every proposal that matches, as Projects.All does.
func (s Proposals) All(ctx context.Context, f ProposalFilter, opts ...Option) iter.Seq2[Proposal, error] {
	return all(f.Paging, func(p Paging) (Page[Proposal], error) {
		f.Paging = p
		return s.List(ctx, f, opts...)
	})
}

// Get returns one proposal, with its present conflicts.
func (s Proposals) Get(ctx context.Context, id string, opts ...Option) (Proposal, error) {
	return send[Proposal](ctx, s.c, request{method: http.MethodGet, path: proposalPath(id, "")}, opts)
}

// Create makes a proposal. No document changes.
func (s Proposals) Create(ctx context.Context, in NewProposal, opts ...Option) (Proposal, error) {
	return send[Proposal](ctx, s.c, request{method: http.MethodPost, path: proposalsPath, body: in}, opts)
}

// Update changes the fields of an open proposal that are set.
func (s Proposals) Update(ctx context.Context, id string, change ProposalChange, opts ...Option) (Proposal, error) {
	return send[Proposal](ctx, s.c, request{method: http.MethodPatch, path: proposalPath(id, ""), body: change}, opts)
}

// Preview returns one change of a proposal with its texts, counted from 0.
func (s Proposals) Preview(ctx context.Context, id string, change int, opts ...Option) (ProposalPreview, error) {
	return send[ProposalPreview](ctx, s.c, request{method: http.MethodGet, path: proposalPath(id, "/changes/"+strconv.Itoa(change))}, opts)
}

// Approve approves the revision of the proposal that Get returned with this etag.
func (s Proposals) Approve(ctx context.Context, id, etag string, opts ...Option) (Proposal, error) {
	return s.act(ctx, id, "/approve", nil, append(opts, IfMatch(etag)))
}

// TakeBackApproval removes the approval of the key's user.
func (s Proposals) TakeBackApproval(ctx context.Context, id string, opts ...Option) error {
	return s.c.exec(ctx, request{method: http.MethodDelete, path: proposalPath(id, "/approve")}, opts)
}

// Accept makes all changes of the revision that Get returned with this etag, or none.
// ErrConflict means that a document has changed in the same places: Get returns the conflicts.
func (s Proposals) Accept(ctx context.Context, id, etag string, opts ...Option) (Proposal, error) {
	return s.act(ctx, id, "/accept", nil, append(opts, IfMatch(etag)))
}

// Reject ends the proposal. note is the reason, and may be empty.
func (s Proposals) Reject(ctx context.Context, id, note string, opts ...Option) (Proposal, error) {
	var body any
	if note != "" {
		body = map[string]string{"note": note}
	}
	return s.act(ctx, id, "/reject", body, opts)
}

// Withdraw ends a proposal of the key's own user.
func (s Proposals) Withdraw(ctx context.Context, id string, opts ...Option) (Proposal, error) {
	return s.act(ctx, id, "/withdraw", nil, opts)
}

func (s Proposals) act(ctx context.Context, id, act string, body any, opts []Option) (Proposal, error) {
	return send[Proposal](ctx, s.c, request{method: http.MethodPost, path: proposalPath(id, act), body: body}, opts)
}

// Comments returns one page of the comments of a proposal, oldest first.
func (s Proposals) Comments(ctx context.Context, id string, p Paging, opts ...Option) (Page[Comment], error) {
	return list[Comment](ctx, s.c, proposalPath(id, "/comments"), p.values(), opts)
}

// AllComments returns every comment of a proposal, as Projects.All does.
func (s Proposals) AllComments(ctx context.Context, id string, p Paging, opts ...Option) iter.Seq2[Comment, error] {
	return all(p, func(p Paging) (Page[Comment], error) { return s.Comments(ctx, id, p, opts...) })
}

// Comment makes a comment on an open proposal.
func (s Proposals) Comment(ctx context.Context, id string, in NewComment, opts ...Option) (Comment, error) {
	return send[Comment](ctx, s.c, request{method: http.MethodPost, path: proposalPath(id, "/comments"), body: in}, opts)
}

// UpdateComment replaces the text of a comment of the key's own user.
func (s Proposals) UpdateComment(ctx context.Context, id string, number int64, body string, opts ...Option) (Comment, error) {
	return send[Comment](ctx, s.c, request{method: http.MethodPatch, path: proposalPath(id, "/comments/"+strconv.FormatInt(number, 10)), body: map[string]string{"body": body}}, opts)
}

// DeleteComment deletes a comment of the key's own user.
func (s Proposals) DeleteComment(ctx context.Context, id string, number int64, opts ...Option) error {
	return s.c.exec(ctx, request{method: http.MethodDelete, path: proposalPath(id, "/comments/"+strconv.FormatInt(number, 10))}, opts)
}
