package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// ProposalColumns are what ScanProposal reads, in its order.
const ProposalColumns = `id, title, message, state, changes, people, user_id, key_id, note, number, revision, comments, created_at, updated_at, decided_at, decided_by`

// ScanProposal reads a row of ProposalColumns. A proposal whose changes this program did not write
// has none.
func ScanProposal(r *row) sheaf.Proposal {
	p := sheaf.Proposal{ID: readID[sheaf.ProposalID](r), Title: r.Text(), Message: r.OptText(), State: readProposalState(r)}
	readJSON(r, &p.Changes)
	readJSON(r, &p.People)
	p.User, p.Key, p.Note = readID[sheaf.UserID](r), optID[sheaf.KeyID](r), r.OptText()
	p.Number, p.Revision, p.Comments, p.CreatedAt, p.UpdatedAt = r.Int(), r.Int(), r.Int(), r.Time(), r.Time()
	p.DecidedAt, p.DecidedBy = r.OptTime(), optID[sheaf.UserID](r)
	return p
}

// readJSON reads a column of JSON. If it cannot be read, the value is nil, and the doctor reports it.
func readJSON[T any](r *row, into *[]T) {
	if json.Unmarshal([]byte(r.Text()), into) != nil {
		*into = nil
	}
}

// proposalStates lists the states in the order of their stored numbers, which begin at 1.
var proposalStates = []sheaf.ProposalState{sheaf.ProposalOpen, sheaf.ProposalStateAccepted, sheaf.ProposalStateRejected, sheaf.ProposalStateWithdrawn}

func readProposalState(r *row) sheaf.ProposalState {
	n := r.Int()
	if n < 1 || n > int64(len(proposalStates)) {
		return sheaf.ProposalState(fmt.Sprint("number ", n))
	}
	return proposalStates[n-1]
}

func proposalStateNumber(s sheaf.ProposalState) int64 {
	return int64(slices.Index(proposalStates, s) + 1)
}

const selectProposal = `
SELECT ` + ProposalColumns + `
FROM proposals
WHERE ws = $1 AND id = $2`

// Proposal returns the workspace's proposal, or NotFound.
func (r *Reader) Proposal(ws sheaf.WorkspaceID, id sheaf.ProposalID) (sheaf.Proposal, error) {
	p, err := mustFind(r, "proposal", selectProposal, ScanProposal, ws, id)
	if err == nil {
		err = must("proposal")(r.seesProposal(ws, p.Number))
	}
	return p, err
}

// seesProposal reports whether everything that the proposal names is visible.
func (r *Reader) seesProposal(ws sheaf.WorkspaceID, number int64) (bool, error) {
	if r.sight.restriction == nil {
		return true, nil
	}
	var w engine.Conditions
	w.And("ws = ?", ws)
	w.And("number = ?", number)
	r.seeProposals(&w, ws)
	n, err := r.count("SELECT COUNT(*) FROM proposals "+w.SQL(), w.Args...)
	return n > 0, err
}

// Proposals returns a page of the workspace's proposals, oldest first.
func (r *Reader) Proposals(ws sheaf.WorkspaceID, f sheaf.ProposalFilter) (sheaf.Page[sheaf.Proposal], error) {
	l := listing{columns: ProposalColumns, table: "proposals", order: []string{"number"}, total: -1}
	l.where.And("ws = ?", ws)
	if f.State != "" {
		l.where.And("state = ?", proposalStateNumber(f.State))
	}
	if f.User != "" {
		l.where.And("user_id = ?", f.User)
	}
	if f.UpdatedSince != nil {
		l.where.And("updated_at >= ?", *f.UpdatedSince)
	}
	if f.Asked != "" {
		l.where.And("number IN (SELECT t.number FROM proposal_targets t"+r.dialect().By("proposals_naming")+" WHERE t.ws = ? AND t.resource_id = ? AND t.kind = 4)", ws, f.Asked)
	}
	if f.Document != "" {
		l.where.And("number IN (SELECT t.number FROM proposal_targets t WHERE t.ws = ? AND t.resource_id = ?)", ws, f.Document)
	}
	if f.Project != "" {
		l.where.And(`(number IN (SELECT t.number FROM proposal_targets t WHERE t.ws = ? AND t.resource_id = ?)
  OR number IN (SELECT t.number FROM documents d CROSS JOIN proposal_targets t WHERE d.ws = ? AND d.project_id = ? AND t.ws = d.ws AND t.resource_id = d.id))`,
			ws, f.Project, ws, f.Project)
	}
	switch { // use the index of the narrowest filter
	case f.Document != "" || f.Project != "" || f.Asked != "":
		l.table += r.dialect().By("proposals_in_order")
	case f.User != "":
		l.table += r.dialect().By("proposals_of_user")
	case f.State != "":
		l.table += r.dialect().By("proposals_of_state")
	case f.UpdatedSince != nil:
		l.table += r.dialect().By("proposals_by_update")
	}
	r.seeProposals(&l.where, ws)
	return list(r, l, f.Paging, ScanProposal)
}

const countOpenProposals = `
SELECT COUNT(*)
FROM proposals
WHERE ws = $1 AND state = 1`

// CountOpenProposals counts the workspace's open proposals.
func (r *Reader) CountOpenProposals(ws sheaf.WorkspaceID) (int64, error) {
	return r.count(countOpenProposals, ws)
}

// OpenProposals counts the visible open proposals of the workspace, up to `most`.
func (r *Reader) OpenProposals(ws sheaf.WorkspaceID, most int) (int64, error) {
	sql, args := r.countVisibleOpen(ws, most)
	return r.count(sql, args...)
}

// countVisibleOpen returns the statement of OpenProposals, and its arguments.
func (r *Reader) countVisibleOpen(ws sheaf.WorkspaceID, most int) (sql string, args []any) {
	var w engine.Conditions
	w.And("ws = ?", ws)
	w.And("state = ?", proposalStateNumber(sheaf.ProposalOpen))
	r.seeProposals(&w, ws)
	sql = "SELECT COUNT(*) FROM (SELECT 1 FROM proposals" + r.dialect().By("proposals_of_state") + " " + w.SQL() + " LIMIT " + strconv.Itoa(most) + ") AS visible"
	return sql, w.Args
}

// CountOpenOf counts the open proposals of one user.
func (r *Reader) CountOpenOf(ws sheaf.WorkspaceID, user sheaf.UserID) (int64, error) {
	return r.count(countOpenProposals+` AND user_id = $2`, ws, user)
}

const insertProposal = `
INSERT INTO proposals (ws, ` + ProposalColumns + `)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`

// InsertProposal adds a proposal. The caller adds its texts and what it names.
func (tx *Tx) InsertProposal(ws sheaf.WorkspaceID, p sheaf.Proposal) error {
	return tx.writeProposal(insertProposal, ws, p)
}

const updateProposal = `
UPDATE proposals
SET title = $3, message = $4, state = $5, changes = $6, people = $7, user_id = $8, key_id = $9, note = $10, number = $11, revision = $12,
  comments = $13, created_at = $14, updated_at = $15, decided_at = $16, decided_by = $17
WHERE ws = $1 AND id = $2`

// UpdateProposal writes all fields of a proposal.
func (tx *Tx) UpdateProposal(ws sheaf.WorkspaceID, p sheaf.Proposal) error {
	return tx.writeProposal(updateProposal, ws, p)
}

func (tx *Tx) writeProposal(sql string, ws sheaf.WorkspaceID, p sheaf.Proposal) error {
	changes, err := sheaf.EncodeChanges(p.Changes)
	if err != nil {
		return fmt.Errorf("encode the changes of proposal %s: %w", p.ID, err)
	}
	people, err := json.Marshal(p.People)
	if err != nil {
		return fmt.Errorf("encode the people of proposal %s: %w", p.ID, err)
	}
	err = tx.exec(sql, ws, p.ID, p.Title, p.Message, proposalStateNumber(p.State), changes, string(people), p.User, p.Key, p.Note,
		p.Number, p.Revision, p.Comments, p.CreatedAt, p.UpdatedAt, p.DecidedAt, p.DecidedBy)
	if err != nil {
		return fmt.Errorf("write proposal %s: %w", p.ID, err)
	}
	return nil
}

// Targets are what a proposal names, and the people whom it waits for.
type Targets struct {
	Documents []sheaf.DocumentID
	Projects  []sheaf.ProjectID
	Unfiled   bool           // the proposal puts a document into no project
	Asked     []sheaf.UserID // the users who were asked to approve it and have not done so
}

var insertTargets = engine.NewBulkInsert("proposal_targets", "ws int", "number int", "kind int", "resource_id id")

// SetTargets replaces what the proposal names and whom it waits for.
func (tx *Tx) SetTargets(ws sheaf.WorkspaceID, number int64, t Targets) error {
	if err := tx.exec(deleteTargets, ws, number); err != nil {
		return fmt.Errorf("delete the targets of proposal %d: %w", number, err)
	}
	var rows [][]any
	for _, id := range once(t.Documents) {
		rows = append(rows, []any{ws, number, 1, id})
	}
	for _, id := range once(t.Projects) {
		rows = append(rows, []any{ws, number, 2, id})
	}
	if t.Unfiled {
		rows = append(rows, []any{ws, number, 3, make([]byte, 16)})
	}
	for _, id := range once(t.Asked) {
		rows = append(rows, []any{ws, number, 4, id})
	}
	if len(rows) == 0 {
		return nil
	}
	if err := tx.insertMany(insertTargets, rows); err != nil {
		return fmt.Errorf("insert the targets of proposal %d: %w", number, err)
	}
	return nil
}

const deleteAsked = `
DELETE FROM proposal_targets
WHERE ws = $1 AND number = $2 AND kind = 4`

// SetAsked replaces whom the proposal waits for.
func (tx *Tx) SetAsked(ws sheaf.WorkspaceID, number int64, users []sheaf.UserID) error {
	if err := tx.exec(deleteAsked, ws, number); err != nil {
		return fmt.Errorf("delete whom proposal %d waits for: %w", number, err)
	}
	var rows [][]any
	for _, id := range once(users) {
		rows = append(rows, []any{ws, number, 4, id})
	}
	if len(rows) == 0 {
		return nil
	}
	if err := tx.insertMany(insertTargets, rows); err != nil {
		return fmt.Errorf("insert whom proposal %d waits for: %w", number, err)
	}
	return nil
}

// MayApprove reports whether the user is a member of the workspace who may approve the proposal at this
// moment. It does not check who wrote the proposal.
func (r *Reader) MayApprove(ws sheaf.WorkspaceID, u sheaf.UserID, id sheaf.ProposalID) (bool, error) {
	role, to, err := r.Rights(ws, u)
	if err == nil {
		var may bool
		if may, err = r.mayApprove(ws, role, to, id); err == nil {
			return may, nil
		}
	}
	if sheaf.KindOf(err) == sheaf.NotFound {
		err = nil
	}
	return false, err
}

// mayApprove returns NotFound if somebody with the restriction does not see the proposal.
func (r *Reader) mayApprove(ws sheaf.WorkspaceID, role sheaf.Role, to *sheaf.Restriction, id sheaf.ProposalID) (bool, error) {
	if to == nil {
		return role.Scopes().Has(sheaf.ProposalsApprove), nil
	}
	if !role.RestrictedScopes().Has(sheaf.ProposalsApprove) {
		return false, nil
	}
	_, err := r.SeenBy(Restricted(to, false)).Proposal(ws, id)
	return err == nil, err
}

// Approvers returns the members of the workspace who may approve the proposal at this moment. It does not
// check who wrote the proposal.
func (r *Reader) Approvers(ws sheaf.WorkspaceID, id sheaf.ProposalID) (users []sheaf.UserID, err error) {
	members, err := r.Members(ws)
	if err != nil {
		return nil, err
	}
	for i := range members {
		m := &members[i]
		may, err := r.mayApprove(ws, m.Role, m.RestrictedTo, id)
		if err != nil && sheaf.KindOf(err) != sheaf.NotFound {
			return nil, err
		}
		if may {
			users = append(users, m.User.ID)
		}
	}
	return users, nil
}

func once[T ~string](ids []T) []T { return slices.Compact(slices.Sorted(slices.Values(ids))) }

const insertProposalText = `
INSERT INTO proposal_texts (ws, proposal_id, hash, form, bytes, body)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (proposal_id, ws, hash) DO NOTHING`

// InsertProposalText stores a text of an existing proposal. It returns by how many bytes the
// workspace's storage grows: 0 if the proposal already has this text.
func (tx *Tx) InsertProposalText(ws sheaf.WorkspaceID, id sheaf.ProposalID, t Text) (grown int64, err error) {
	if t.bytes == 0 {
		return 0, nil
	}
	n, err := tx.changed(insertProposalText, ws, id, t.hash[:], t.form, t.bytes, t.body)
	if err != nil {
		return 0, fmt.Errorf("insert a text of proposal %s: %w", id, err)
	}
	return n * t.bytes, nil
}

const copyProposalText = `
INSERT INTO proposal_texts (ws, proposal_id, hash, form, bytes, body)
SELECT ws, $2, hash, form, bytes, body
FROM texts
WHERE ws = $1 AND document_id = $3 AND hash = $4
ON CONFLICT (proposal_id, ws, hash) DO NOTHING
RETURNING bytes`

// CopyProposalText is InsertProposalText for a text that some version of the document has.
func (tx *Tx) CopyProposalText(ws sheaf.WorkspaceID, id sheaf.ProposalID, document sheaf.DocumentID, sha256 string) (grown int64, err error) {
	hash := textHash(sha256)
	if hash == nil {
		return 0, nil
	}
	err = tx.query(copyProposalText, func(r *row) { grown += r.Int() }, ws, id, document, hash)
	if err != nil {
		return 0, fmt.Errorf("copy a text of document %s into proposal %s: %w", document, id, err)
	}
	return grown, nil
}

const deleteProposalTexts = `
DELETE FROM proposal_texts
WHERE ws = $1 AND proposal_id = $2
RETURNING bytes`

// DeleteProposalTexts deletes the proposal's texts, and returns how many bytes they had.
func (tx *Tx) DeleteProposalTexts(ws sheaf.WorkspaceID, id sheaf.ProposalID) (freed int64, err error) {
	err = tx.query(deleteProposalTexts, func(r *row) { freed += r.Int() }, ws, id)
	if err != nil {
		return 0, fmt.Errorf("delete the texts of proposal %s: %w", id, err)
	}
	return freed, nil
}

const selectProposalText = `
SELECT ` + TextColumns + `
FROM proposal_texts
WHERE ws = $1 AND proposal_id = $2 AND hash = $3`

// ProposalText returns the text of the proposal with that hash. The caller has read the proposal.
func (r *Reader) ProposalText(ws sheaf.WorkspaceID, id sheaf.ProposalID, sha256 string) (string, error) {
	hash := textHash(sha256)
	if hash == nil {
		return "", nil
	}
	var unpacked error
	text, found, err := one(r, selectProposalText, func(w *row) (text string) {
		text, unpacked = ScanText(w)
		return text
	}, ws, id, hash)
	if err == nil && !found {
		err = fmt.Errorf("proposal %s has no text %s", id, sha256)
	}
	if err != nil {
		return "", err
	}
	return text, unpacked
}
