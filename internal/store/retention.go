package store

import (
	"fmt"
	"math"
	"time"

	"sheaf.dev/internal/sheaf"
)

// LastOld returns the highest number up to which all events of the workspace are from before
// `before`. An event that a fast clock dated too late gives its time to the events after it, so they
// are kept as long.
func (r *Reader) LastOld(ws sheaf.WorkspaceID, before time.Time) (int64, error) {
	first, found, err := r.firstSince(ws, before)
	if err != nil || found {
		return first - 1, err
	}
	w, err := r.Workspace(ws)
	return w.LastEvent, err
}

const selectSubs = `
SELECT sub
FROM lanes
WHERE ws = $1`

const doneUpTo = `
SELECT number
FROM deliveries
WHERE ws = $1 AND sub = $2 AND number <= $3 AND state IN (1, 2) AND due IS NULL AND token IS NULL
ORDER BY number
LIMIT $4`

// DeleteDeliveries deletes up to `most` finished deliveries of events up to number `upTo`, with
// their attempts, and returns how many. It locks the workspace, so recovery and redelivery wait
// meanwhile.
func (tx *Tx) DeleteDeliveries(ws sheaf.WorkspaceID, upTo int64, most int) (int64, error) {
	if _, err := tx.LockWorkspace(ws); err != nil {
		return 0, err
	}
	number, err := tx.number(ws)
	if err != nil {
		return 0, err
	}
	subs, err := all(&tx.Reader, selectSubs, (*row).Int, number)
	removed := 0
	for _, sub := range subs {
		if err != nil || removed == most {
			break
		}
		var done []int64
		if done, err = all(&tx.Reader, doneUpTo, (*row).Int, number, sub, upTo, most-removed); err == nil {
			err = tx.removeDeliveries(number, sub, done)
			removed += len(done)
		}
	}
	return int64(removed), err
}

const selectHolding = `
SELECT ` + laneColumns + `
FROM lanes l
JOIN subscriptions s ON s.ws = l.ws AND s.sub = l.sub
WHERE l.ws = $1 AND l.held_from <= $2
ORDER BY s.id`

// DeleteHeld deletes up to `most` of the workspace's held deliveries of events up to number `upTo`,
// and returns how many.
func (tx *Tx) DeleteHeld(ws sheaf.WorkspaceID, upTo int64, most int) (int64, error) {
	if _, err := tx.LockWorkspace(ws); err != nil {
		return 0, err
	}
	lanes, err := all(&tx.Reader, selectHolding+tx.dialect().ForUpdate(), scanLane, ws, upTo)
	if err != nil {
		return 0, err
	}
	removed := 0
	for i := range lanes {
		l := &lanes[i]
		in := listing{columns: "number", table: "deliveries", order: []string{"number"}}
		in.where.And("ws = ?", l.ws)
		in.where.And("sub = ?", l.sub)
		in.where.And("number <= ?", upTo)
		if err := tx.where(&in.where, l, sheaf.Held); err != nil {
			return 0, err
		}
		held, err := all(&tx.Reader, in.text(false), (*row).Int, append(in.where.Args, most-removed, 0)...)
		if err != nil {
			return 0, err
		}
		if err := tx.removeDeliveries(l.ws, l.sub, held); err != nil {
			return 0, err
		}
		l.holdFresh(-int64(len(held)))
		removed += len(held)
		if removed < most { // no delivery up to upTo is held any more
			next := upTo + 1
			if l.heldFrom = &next; l.heldTo != nil && next > *l.heldTo {
				l.heldFrom, l.heldTo = nil, nil
			}
		}
		if err := tx.saveLane(l); err != nil || removed == most {
			return int64(removed), err
		}
	}
	return int64(removed), nil
}

const firstNeeded = `
SELECT MIN(d.number)
FROM lanes l
JOIN deliveries d ON d.ws = l.ws AND d.sub = l.sub
WHERE l.ws = $1 AND d.number <= $2 AND (d.state IN (0, 3) OR d.due IS NOT NULL OR d.token IS NOT NULL)`

// NeededEvent returns the number of the workspace's oldest event, up to `upTo`, that still has a
// delivery to send or held. If there is none, it returns upTo + 1.
func (r *Reader) NeededEvent(ws sheaf.WorkspaceID, upTo int64) (int64, error) {
	needed, _, err := one(r, firstNeeded, (*row).OptInt, ws, upTo)
	if needed == nil {
		return upTo + 1, err
	}
	return *needed, err
}

// removeDeliveries deletes each delivery before its attempts. A transaction that is recording an
// attempt has locked the delivery; once it ends, its attempt is deleted too.
func (tx *Tx) removeDeliveries(ws, sub int64, numbers []int64) error {
	for _, number := range numbers {
		for _, sql := range []string{
			`DELETE FROM deliveries WHERE ws = $1 AND sub = $2 AND number = $3`,
			`DELETE FROM attempts WHERE ws = $1 AND sub = $2 AND event = $3`,
		} {
			if err := tx.exec(sql, ws, sub, number); err != nil {
				return err
			}
		}
	}
	return nil
}

const firstDeleted = `
SELECT ws, sub
FROM deleted_subscriptions
ORDER BY deleted_at, sub
LIMIT 1`

const deliveriesOf = `
SELECT number
FROM deliveries
WHERE ws = $1 AND sub = $2
LIMIT $3`

// DeleteOrphans deletes up to `most` deliveries of deleted subscriptions. It returns the number
// processed; fewer than `most` means none are left.
func (tx *Tx) DeleteOrphans(most int) (int64, error) {
	type gone struct{ ws, sub int64 }
	g, found, err := one(&tx.Reader, firstDeleted, func(r *row) gone { return gone{r.Int(), r.Int()} })
	if err != nil || !found {
		return 0, err
	}
	numbers, err := all(&tx.Reader, deliveriesOf, (*row).Int, g.ws, g.sub, most)
	if err != nil {
		return 0, err
	}
	if err := tx.removeDeliveries(g.ws, g.sub, numbers); err != nil {
		return 0, err
	}
	if len(numbers) < most {
		// This subscription is done, but there may be another: report `most`.
		return int64(most), tx.exec(`DELETE FROM deleted_subscriptions WHERE sub = $1`, g.sub)
	}
	return int64(len(numbers)), nil
}

// Each statement deletes at most $2 rows of one kind.
const (
	expiredSessions = `
DELETE FROM sessions
WHERE hash IN (SELECT hash FROM sessions WHERE expires_at <= $1 LIMIT $2)`
	expiredPendingSignIns = `
DELETE FROM pending_sign_ins
WHERE hash IN (SELECT hash FROM pending_sign_ins WHERE expires_at <= $1 LIMIT $2)`
	expiredUsedSignIns = `
DELETE FROM used_sign_ins
WHERE hash IN (SELECT hash FROM used_sign_ins WHERE expires_at <= $1 LIMIT $2)`
	expiredInvitations = `
DELETE FROM invitations
WHERE hash IN (SELECT hash FROM invitations WHERE expires_at <= $1 LIMIT $2)`
	oldFailures = `
DELETE FROM sign_in_failures
WHERE name IN (SELECT name FROM sign_in_failures WHERE failed_at <= $1 LIMIT $2)`
	oldResets = `
DELETE FROM password_resets
WHERE (name, number) IN (SELECT name, number FROM password_resets WHERE asked_at <= $1 LIMIT $2)`
	oldLetters = `
DELETE FROM letters
WHERE (user_id, id) IN (SELECT user_id, id FROM letters WHERE at <= $1 LIMIT $2)`
	oldMailRates = `
DELETE FROM mail_rates
WHERE name IN (SELECT name FROM mail_rates WHERE until <= $1 LIMIT $2)`
	oldMemberEvents = `
DELETE FROM member_events
WHERE (ws, number) IN (SELECT ws, number FROM member_events WHERE at < $1 LIMIT $2)`
)

// DeleteSessionsEnded deletes up to `most` expired sessions and returns how many.
func (tx *Tx) DeleteSessionsEnded(now time.Time, most int) (int64, error) {
	return tx.changed(expiredSessions, now, most)
}

// DeletePendingSignInsEnded deletes up to `most` expired sign-ins that waited for a second factor, and returns how
// many.
func (tx *Tx) DeletePendingSignInsEnded(now time.Time, most int) (int64, error) {
	return tx.changed(expiredPendingSignIns, now, most)
}

// DeleteUsedSignInsEnded deletes up to `most` records of sign-ins at the provider that nobody can repeat any more, and
// returns how many.
func (tx *Tx) DeleteUsedSignInsEnded(now time.Time, most int) (int64, error) {
	return tx.changed(expiredUsedSignIns, now, most)
}

// DeleteInvitationsEnded deletes up to `most` expired invitations and returns how many.
func (tx *Tx) DeleteInvitationsEnded(now time.Time, most int) (int64, error) {
	return tx.changed(expiredInvitations, now, most)
}

// DeleteFailures deletes up to `most` sign-in failure counts whose last failure was at or before
// `before`, and returns how many.
func (tx *Tx) DeleteFailures(before time.Time, most int) (int64, error) {
	return tx.changed(oldFailures, before, most)
}

// DeleteResets deletes up to `most` resets of passwords that were asked for at or before `before`, and returns how many.
func (tx *Tx) DeleteResets(before time.Time, most int) (int64, error) {
	return tx.changed(oldResets, before, most)
}

// DeleteOldLetters deletes up to `most` notices to people that were caused at or before `before`, and returns how many.
func (tx *Tx) DeleteOldLetters(before time.Time, most int) (int64, error) {
	return tx.changed(oldLetters, before, most)
}

// DeleteMailRates deletes up to `most` allowances of mails that are whole again at `now`, and returns how many.
func (tx *Tx) DeleteMailRates(now time.Time, most int) (int64, error) {
	return tx.changed(oldMailRates, now, most)
}

// TrashEnd is a position in the order in which a workspace's documents were deleted. It stands for
// all deleted documents up to and including it.
type TrashEnd struct{ deletedAt, number int64 }

// TrashBefore returns the TrashEnd of all documents deleted at or before t.
func TrashBefore(t time.Time) TrashEnd { return TrashEnd{t.UnixMilli(), math.MaxInt64} }

const selectTrashEnd = `
SELECT deleted_at, number
FROM documents
WHERE ws = $1 AND deleted_at IS NOT NULL
ORDER BY deleted_at DESC, number DESC
LIMIT 1 OFFSET $2`

// TrashBeyond returns the TrashEnd of all deleted documents except the `keep` most recently
// deleted; found is false if there are no others. It reads `keep` rows, so call it once, and not
// while a client waits.
func (r *Reader) TrashBeyond(ws sheaf.WorkspaceID, keep int) (end TrashEnd, found bool, err error) {
	return one(r, selectTrashEnd, func(w *row) TrashEnd { return TrashEnd{w.Int(), w.Int()} }, ws, keep)
}

const longestDeleted = `
SELECT id
FROM documents
WHERE ws = $1 AND deleted_at IS NOT NULL AND (deleted_at, number) <= ($2, $3)
  AND NOT EXISTS (SELECT 1 FROM release_documents r WHERE r.ws = $1 AND r.document_id = documents.id)
ORDER BY deleted_at, number
LIMIT $4`

// purgedVersions is the number of versions, present ones included, after which a transaction
// deletes no further document.
const purgedVersions = 200

// DeleteTrash permanently deletes up to `most` trashed documents at or before `end`, oldest
// deletion first; fewer if they have many versions or much text. The transaction must have locked
// w. It returns the number processed; fewer than `most` means none are left. A document that was
// restored stays, even if it was deleted again later than `end`. So does a document that a release has.
//
// Before it deletes a document, it calls `first` to delete what depends on it. If `first` returns
// later, this document and all after it stay until the next call. The caller saves w.
func (tx *Tx) DeleteTrash(w *sheaf.Workspace, end TrashEnd, most int, first func(sheaf.DocumentID) (later bool, err error)) (int64, error) {
	ids, err := all(&tx.Reader, longestDeleted, readID[sheaf.DocumentID], w.ID, end.deletedAt, end.number, most)
	if err != nil {
		return 0, err
	}
	var versions, bytes int64 // deleted so far
	for _, id := range ids {
		if versions >= purgedVersions || bytes >= purgedBytes {
			return int64(most), nil // more are left
		}
		later, err := first(id)
		if err != nil {
			return 0, err
		}
		if later {
			return int64(most), nil
		}
		gone, err := tx.PurgeDocument(w.ID, id)
		if err != nil {
			return 0, err
		}
		w.Storage -= gone.Bytes
		if !gone.Whole {
			return int64(most), nil
		}
		versions += gone.Versions + 1
		bytes += gone.Bytes
	}
	return int64(len(ids)), nil
}

const (
	longestDecided = `
SELECT id, number
FROM proposals
WHERE ws = $1 AND decided_at < $2
ORDER BY decided_at
LIMIT $3`

	deleteComments = `
DELETE FROM proposal_comments
WHERE ws = $1 AND proposal_id = $2
RETURNING octet_length(body)`

	deleteTargets = `
DELETE FROM proposal_targets
WHERE ws = $1 AND number = $2`

	deleteNoticesOf = `
DELETE FROM notices
WHERE ws = $1 AND sub = 0 AND proposal = $2`

	deleteProposal = `
DELETE FROM proposals
WHERE ws = $1 AND id = $2 AND decided_at IS NOT NULL`
)

// DeleteProposals deletes up to `most` proposals of a workspace that were decided before `before`, with
// their texts and comments, and returns how many: fewer than `most` means none are left. If they have
// much text, it deletes fewer, at least one, and returns `most`. Versions keep the id of the proposal
// that made them.
func (tx *Tx) DeleteProposals(ws sheaf.WorkspaceID, before time.Time, most int64) (int64, error) {
	w, err := tx.LockWorkspace(ws)
	if err != nil {
		return 0, err
	}
	type decided struct {
		id     sheaf.ProposalID
		number int64
	}
	old, err := all(&tx.Reader, longestDecided, func(r *row) decided { return decided{readID[sheaf.ProposalID](r), r.Int()} }, ws, before, most)
	if err != nil {
		return 0, err
	}
	n, freed := int64(0), int64(0)
	for _, p := range old {
		if freed >= purgedBytes {
			n = most // more are left
			break
		}
		texts, err := tx.DeleteProposalTexts(ws, p.id)
		if err == nil {
			freed += texts
			err = tx.query(deleteComments, func(r *row) { freed += r.Int() }, ws, p.id)
		}
		if err == nil {
			err = tx.exec(deleteTargets, ws, p.number)
		}
		if err == nil {
			err = tx.exec(deleteNoticesOf, ws, p.number)
		}
		if err == nil {
			err = tx.exec(deleteProposal, ws, p.id)
		}
		if err != nil {
			return 0, fmt.Errorf("delete proposal %s: %w", p.id, err)
		}
		n++
	}
	w.Storage -= freed
	return n, tx.SaveWorkspace(w)
}
