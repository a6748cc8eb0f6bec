package console

import (
	"html/template"
	"net/http"
	"strconv"

	"sheaf.dev/internal/sheaf"
)

// commentsPage is the number of comments that a page of a proposal shows.
const commentsPage = 100

// comment is a comment of a proposal as the page shows it.
type comment struct {
	sheaf.Comment
	By   string
	HTML template.HTML
	Mine bool
	On   string // title of the changed document, if the comment is not shown at its change
}

// commentForm is what was typed into a form of a proposal's page.
type commentForm struct {
	Body   string
	Change *int64 // change that the comment is about; nil: the whole proposal
	Note   string // of a rejection
}

// readComments reads the comments that the page shows, oldest first.
func (v *visit) readComments(p *proposalPage, id sheaf.ProposalID) ([]sheaf.Comment, error) {
	p.Talk = v.listing("comment", "comments", commentsPage, []order{{}})
	page, err := v.console.app.Comments(v.r.Context(), v.caller, id, p.Talk.Paging)
	p.Talk.setResult(page.Total, len(page.Items))
	return page.Items, err
}

// placeComments renders the comments, and puts each at its change if the page shows that.
func (v *visit) placeComments(p *proposalPage, comments []sheaf.Comment, names people) error {
	for _, x := range comments {
		html, _, err := v.renderPart("comment"+strconv.FormatInt(x.Number, 10), x.Body, "", "")
		if err != nil {
			return err
		}
		c := comment{Comment: x, By: names.Of(x.User, x.Key), HTML: html, Mine: p.Open() && x.User == v.caller.User}
		if at := p.shown(x.Change); at != nil {
			at.Comments = append(at.Comments, c)
			continue
		}
		if n := x.Change; n != nil && *n < int64(len(p.Proposal.Changes)) {
			if c.On, _, err = v.documentOf(&p.Proposal.Changes[*n]); err != nil {
				return err
			}
		}
		p.Comments = append(p.Comments, c)
	}
	return nil
}

// shown returns the change of that number if the page shows it, otherwise nil.
func (p *proposalPage) shown(n *int64) *proposedChange {
	for i := range p.Changes {
		if n != nil && int64(p.Changes[i].N) == *n {
			return &p.Changes[i]
		}
	}
	return nil
}

// addComment answers POST /w/{workspace}/proposals/{id}/comments: a comment on the proposal, or on
// the change in the field "change".
func (c *Console) addComment(v *visit) error {
	id, err := id[sheaf.ProposalID](v, "proposal")
	if err != nil {
		return err
	}
	form := commentForm{Body: v.field("body")}
	in := sheaf.CommentChange{Body: sheaf.Some(form.Body)}
	if field := v.field("change"); field != "" {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil || n < 0 {
			return errForm
		}
		form.Change, in.Change = &n, sheaf.Some(n)
	}
	x, err := c.app.CreateComment(v.r.Context(), v.caller, id, in)
	if err != nil {
		return v.proposalAgain(id, err, form)
	}
	q := ""
	if x.Number > commentsPage {
		all, err := c.app.Comments(v.r.Context(), v.caller, id, sheaf.Paging{Limit: 1})
		if err != nil {
			return err
		}
		q = "?comments=" + strconv.FormatInt((all.Total-1)/commentsPage*commentsPage, 10)
	}
	return v.done(v.at("proposals", string(id)) + q + "#comment-" + strconv.FormatInt(x.Number, 10))
}

// ownComment returns the comment in the path, if the person wrote it.
func (v *visit) ownComment() (sheaf.Comment, error) {
	id, err := id[sheaf.ProposalID](v, "proposal")
	if err != nil {
		return sheaf.Comment{}, err
	}
	n, err := strconv.ParseInt(v.r.PathValue("n"), 10, 64)
	if err != nil || n < 1 {
		return sheaf.Comment{}, sheaf.Missing("comment")
	}
	x, err := v.console.app.Comment(v.r.Context(), v.caller, id, n)
	if err == nil && x.User != v.caller.User {
		err = sheaf.Forbiddenf("only its author may change or delete a comment")
	}
	return x, err
}

// updateComment answers POST /w/{workspace}/proposals/{id}/comments/{n}.
func (c *Console) updateComment(v *visit) error {
	x, err := v.ownComment()
	if err != nil {
		return err
	}
	revision, err := v.revision()
	if err != nil {
		return err
	}
	body := v.field("body")
	_, err = c.app.UpdateComment(v.r.Context(), v.caller, x.Proposal, x.Number, sheaf.CommentChange{Body: sheaf.Some(body)},
		sheaf.Match{Asked: true, Revisions: []int64{revision}})
	if sheaf.KindOf(err) == sheaf.PreconditionFailed {
		err = &sheaf.Error{Kind: sheaf.PreconditionFailed, Code: sheaf.CodePreconditionFailed,
			Text: "You have changed this comment meanwhile, in another window. Your text is below: save it again if you want to replace the other one"}
	}
	if err != nil {
		x.Body = body
		return v.again("comment-edit", x, err)
	}
	return v.done(v.at("proposals", string(x.Proposal)))
}

// deleteComment answers POST /w/{workspace}/proposals/{id}/comments/{n}/delete.
func (c *Console) deleteComment(v *visit) error {
	x, err := v.ownComment()
	if err != nil {
		return err
	}
	if err := c.app.DeleteComment(v.r.Context(), v.caller, x.Proposal, x.Number, sheaf.Match{}); err != nil {
		return v.proposalAgain(x.Proposal, err, commentForm{})
	}
	return v.done(v.at("proposals", string(x.Proposal)))
}

// editComment answers GET /w/{workspace}/proposals/{id}/comments/{n}/edit.
func (c *Console) editComment(v *visit) error {
	x, err := v.ownComment()
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "comment-edit", x)
}

// On returns what was typed into the form for a comment on a change.
func (f commentForm) On(n int) string {
	if f.Change == nil || *f.Change != int64(n) {
		return ""
	}
	return f.Body
}
