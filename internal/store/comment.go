package store

import (
	"fmt"

	"sheaf.dev/internal/sheaf"
)

const commentColumns = `proposal_id, number, change, body, user_id, key_id, revision, created_at, updated_at`

func scanComment(r *row) sheaf.Comment {
	return sheaf.Comment{Proposal: readID[sheaf.ProposalID](r), Number: r.Int(), Change: r.OptInt(), Body: r.Text(), User: readID[sheaf.UserID](r),
		Key: optID[sheaf.KeyID](r), Revision: r.Int(), CreatedAt: r.Time(), UpdatedAt: r.Time()}
}

// Comments returns a page of the comments of a proposal, oldest first. The caller has read the proposal.
func (r *Reader) Comments(ws sheaf.WorkspaceID, id sheaf.ProposalID, p sheaf.Paging) (sheaf.Page[sheaf.Comment], error) {
	l := listing{columns: commentColumns, table: "proposal_comments", order: []string{"number"}, total: -1}
	l.where.And("ws = ?", ws)
	l.where.And("proposal_id = ?", id)
	return list(r, l, p, scanComment)
}

const selectComment = `
SELECT ` + commentColumns + `
FROM proposal_comments
WHERE ws = $1 AND proposal_id = $2 AND number = $3`

// Comment returns a comment of a proposal, or NotFound. The caller has read the proposal.
func (r *Reader) Comment(ws sheaf.WorkspaceID, id sheaf.ProposalID, number int64) (sheaf.Comment, error) {
	return mustFind(r, "comment", selectComment, scanComment, ws, id, number)
}

// CountComments counts the comments of a proposal.
func (r *Reader) CountComments(ws sheaf.WorkspaceID, id sheaf.ProposalID) (int64, error) {
	return r.count(`SELECT COUNT(*) FROM proposal_comments WHERE ws = $1 AND proposal_id = $2`, ws, id)
}

const insertComment = `
INSERT INTO proposal_comments (ws, ` + commentColumns + `)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`

// InsertComment adds a comment and counts its bytes in the workspace's storage. The caller has
// set its number.
func (tx *Tx) InsertComment(w *sheaf.Workspace, c sheaf.Comment) error {
	w.Storage += int64(len(c.Body))
	err := tx.exec(insertComment, w.ID, c.Proposal, c.Number, c.Change, c.Body, c.User, c.Key, c.Revision, c.CreatedAt, c.UpdatedAt)
	if err == nil {
		err = tx.exec(`UPDATE proposals SET comments = $3 WHERE ws = $1 AND id = $2`, w.ID, c.Proposal, c.Number)
	}
	if err != nil {
		return fmt.Errorf("insert comment %d of proposal %s: %w", c.Number, c.Proposal, err)
	}
	return nil
}

// UpdateComment writes the body of a comment.
func (tx *Tx) UpdateComment(w *sheaf.Workspace, before, c sheaf.Comment) error {
	w.Storage += int64(len(c.Body) - len(before.Body))
	return tx.mustChange("comment", `UPDATE proposal_comments SET body = $4, revision = $5, updated_at = $6 WHERE ws = $1 AND proposal_id = $2 AND number = $3`,
		w.ID, c.Proposal, c.Number, c.Body, c.Revision, c.UpdatedAt)
}

// DeleteComment deletes a comment.
func (tx *Tx) DeleteComment(w *sheaf.Workspace, c sheaf.Comment) error {
	w.Storage -= int64(len(c.Body))
	return tx.mustChange("comment", `DELETE FROM proposal_comments WHERE ws = $1 AND proposal_id = $2 AND number = $3`, w.ID, c.Proposal, c.Number)
}
