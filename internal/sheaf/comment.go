package sheaf

import (
	"strings"
	"time"
	"unicode"
)

// Limits of comments.
const (
	MaxComment  = 10_000 // characters of one
	MaxComments = 1000   // of a proposal
)

// Comment is a text in Markdown about a proposal.
type Comment struct {
	Proposal  ProposalID
	Number    int64  // from 1, in its proposal
	Change    *int64 // change that it is about, from 0; nil: the whole proposal
	Body      string
	User      UserID
	Key       *KeyID // nil in the console
	CreatedAt time.Time
	UpdatedAt time.Time

	// Revision rises when the body changes. ETag and If-Match carry it.
	Revision int64
}

// Fields appends the comment as answers show it.
func (c *Comment) Fields(o *Object) {
	o.Int("number", c.Number)
	o.Text("proposal_id", string(c.Proposal))
	o.OptInt("change", c.Change)
	o.Text("body", c.Body)
	o.Text("user_id", string(c.User))
	o.OptText("key_id", (*string)(c.Key))
	o.Time("created_at", c.CreatedAt)
	o.Time("updated_at", c.UpdatedAt)
}

// Commented is the payload of proposal.commented: the proposal, and which comment was made. It has
// no text of the comment.
type Commented struct {
	*Proposal
	Comment Comment
}

// Fields appends the proposal, and the number of the comment.
func (c *Commented) Fields(o *Object) {
	c.Proposal.Fields(o)
	o.Int("comment", c.Comment.Number)
}

// CommentChange is what a client sends to make or change a comment.
type CommentChange struct {
	Body   Opt[string]
	Change Opt[int64] // only of a new comment
}

// Check returns Invalid for the first bad field.
func (c CommentChange) Check() error {
	if !c.Body.Given() || strings.TrimFunc(c.Body.Value, unicode.IsSpace) == "" {
		return InvalidField("body", "body is required: Markdown of 1 to %d characters", MaxComment)
	}
	return CheckLength("body", c.Body.Value, MaxComment)
}
