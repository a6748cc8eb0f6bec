package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"sheaf.dev/internal/sheaf"
)

// Mails to people wait in three queues, until internal/mail has sent them:
//
//	an invitation              in the row of the invitation, with which it ends
//	a reset of a password      in password_resets (reset.go)
//	a notice about an account  in letters
//
// Each is written by the transaction that causes it. What a mail needs and no other row has is sealed.

// Letter is a mail to a person that waits.
type Letter struct {
	Kind       sheaf.LetterKind
	ID         string             // unique in the queue; its sealed part was sealed for it
	Workspace  sheaf.WorkspaceID  // of the invitation
	Invitation sheaf.InvitationID // empty: it is no invitation
	User       sheaf.UserID       // to whom it goes. Empty: it is an invitation
	Sealed     []byte             // a sheaf.Letter
	At         time.Time          // when it was caused
	Tries      int64              // failed attempts to send it

	number int64 // of a reset
}

const (
	// lettersWaiting is the largest number of notices that wait for one person. Further ones are not sent: the
	// person has many to read already.
	lettersWaiting = 20
	// LettersKept is the age at which a notice that could not be sent is dropped.
	LettersKept = 24 * time.Hour
)

const insertLetter = `
INSERT INTO letters (user_id, id, letter, at, due)
SELECT $1, $2, $3, $4, $4
WHERE (SELECT COUNT(*) FROM letters WHERE user_id = $1) < $5`

// InsertLetter requests a notice to a person, unless lettersWaiting wait for the person already.
func (tx *Tx) InsertLetter(u sheaf.UserID, id string, sealed []byte, now time.Time) error {
	return tx.exec(insertLetter, u, letterID(id), sealed, now, lettersWaiting)
}

// letterID is the id of a notice.
type letterID string

const requestInvitationLetter = `
UPDATE invitations
SET letter = $3, letter_due = $4
WHERE ws = $1 AND id = $2`

// MailInvitation requests the mail of an invitation, whose sealed part has the token of its link.
func (tx *Tx) MailInvitation(ws sheaf.WorkspaceID, i sheaf.InvitationID, sealed []byte, now time.Time) error {
	return tx.exec(requestInvitationLetter, ws, i, sealed, now)
}

const (
	selectDueResets = `
SELECT name, number, user_id, letter, asked_at, tries
FROM password_resets
WHERE due IS NOT NULL AND due <= $1 AND user_id IS NOT NULL AND letter IS NOT NULL
ORDER BY due, asked_at, number
LIMIT $2`

	selectDueInvitations = `
SELECT w.id, i.id, i.letter, i.created_at, i.letter_tries
FROM invitations i
JOIN workspaces w ON w.ws = i.ws
WHERE i.letter_due IS NOT NULL AND i.letter_due <= $1 AND i.letter IS NOT NULL AND w.deleted_at = 0
ORDER BY i.letter_due
LIMIT $2`

	selectDueLetters = `
SELECT user_id, id, letter, at, tries
FROM letters
WHERE due <= $1
ORDER BY due
LIMIT $2`
)

// LettersDue returns up to `most` due mails to people of each kind: resets first, because people wait for them.
func (r *Reader) LettersDue(now time.Time, most int) ([]Letter, error) {
	resets, err := all(r, selectDueResets, func(w *row) Letter {
		l := Letter{Kind: sheaf.LetterReset, ID: w.Text(), number: w.Int(), User: readID[sheaf.UserID](w)}
		l.Sealed, l.At, l.Tries = w.Blob(), w.Time(), w.Int()
		return l
	}, now, most)
	if err != nil {
		return nil, err
	}
	invitations, err := all(r, selectDueInvitations, func(w *row) Letter {
		l := Letter{Kind: sheaf.LetterInvitation, Workspace: readID[sheaf.WorkspaceID](w), Invitation: readID[sheaf.InvitationID](w)}
		l.ID, l.Sealed, l.At, l.Tries = string(l.Invitation), w.Blob(), w.Time(), w.Int()
		return l
	}, now, most)
	if err != nil {
		return nil, err
	}
	notices, err := all(r, selectDueLetters, func(w *row) Letter {
		l := Letter{Kind: sheaf.LetterNotice, User: readID[sheaf.UserID](w), ID: string(readID[letterID](w))}
		l.Sealed, l.At, l.Tries = w.Blob(), w.Time(), w.Int()
		return l
	}, now, most)
	return slices.Concat(resets, invitations, notices), err
}

const (
	settleReset = `
UPDATE password_resets
SET letter = NULL, due = NULL
WHERE name = $1 AND number = $2 AND asked_at = $3`

	settleInvitation = `
UPDATE invitations
SET letter = NULL, letter_due = NULL
WHERE ws = $1 AND id = $2`

	settleLetter = `
DELETE FROM letters
WHERE user_id = $1 AND id = $2`
)

// SettleLetter ends a mail that was sent, or that is not to be sent.
func (tx *Tx) SettleLetter(l Letter) error {
	switch l.Kind {
	case sheaf.LetterReset:
		return tx.exec(settleReset, l.ID, l.number, l.At)
	case sheaf.LetterInvitation:
		return tx.exec(settleInvitation, l.Workspace, l.Invitation)
	}
	return tx.exec(settleLetter, l.User, letterID(l.ID))
}

const (
	delayReset = `
UPDATE password_resets
SET due = $4, tries = tries + $5
WHERE name = $1 AND number = $2 AND asked_at = $3 AND due IS NOT NULL`

	delayInvitation = `
UPDATE invitations
SET letter_due = $3, letter_tries = letter_tries + $4
WHERE ws = $1 AND id = $2 AND letter_due IS NOT NULL`

	delayLetter = `
UPDATE letters
SET due = $3, tries = tries + $4
WHERE user_id = $1 AND id = $2`
)

// DelayLetter postpones a mail to `due`. failed counts a failed attempt to send it.
func (tx *Tx) DelayLetter(l Letter, due time.Time, failed bool) error {
	tries := 0
	if failed {
		tries = 1
	}
	switch l.Kind {
	case sheaf.LetterReset:
		return tx.exec(delayReset, l.ID, l.number, l.At, due, tries)
	case sheaf.LetterInvitation:
		return tx.exec(delayInvitation, l.Workspace, l.Invitation, due, tries)
	}
	return tx.exec(delayLetter, l.User, letterID(l.ID), due, tries)
}

// DeleteLetters deletes what waits to be mailed to a user.
func (tx *Tx) DeleteLetters(u sheaf.UserID) error {
	return tx.exec(`DELETE FROM letters WHERE user_id = $1`, u)
}

// MailRate is an allowance of mails: `AtOnce` in a burst, and then one every `Every`.
type MailRate struct {
	Name   string
	AtOnce int
	Every  time.Duration
}

// NextMail returns the earliest time at which all rates allow another mail. In the past: now.
func (r *Reader) NextMail(rates []MailRate) (next time.Time, err error) {
	for _, rate := range rates {
		until, found, err := one(r, `SELECT until FROM mail_rates WHERE name = $1`, (*row).Time, rate.Name)
		if err != nil {
			return next, err
		}
		if at := until.Add(-time.Duration(rate.AtOnce-1) * rate.Every); found && at.After(next) {
			next = at
		}
	}
	return next, nil
}

const countMail = `
INSERT INTO mail_rates (name, until)
VALUES ($1, CAST($2 AS BIGINT) + CAST($3 AS BIGINT))
ON CONFLICT (name) DO UPDATE
SET until = CASE WHEN mail_rates.until > CAST($2 AS BIGINT) THEN mail_rates.until ELSE CAST($2 AS BIGINT) END + CAST($3 AS BIGINT)`

// RecordLetter records that a mail was sent: it ends it, and counts it in the rates.
func (tx *Tx) RecordLetter(l Letter, rates []MailRate, now time.Time) error {
	err := tx.SettleLetter(l)
	for _, rate := range rates {
		if err == nil {
			err = tx.exec(countMail, rate.Name, now, rate.Every.Milliseconds())
		}
	}
	return err
}

// MailRateTo returns the name of the rate of mails of a kind to an e-mail.
func MailRateTo(kind sheaf.LetterKind, email string) string {
	sum := sha256.Sum256([]byte(Fold(email)))
	return string(kind) + " to " + hex.EncodeToString(sum[:16])
}

// MailRatesTo returns the names of all rates of an e-mail.
func MailRatesTo(email string) []string {
	return []string{MailRateTo(sheaf.LetterInvitation, email), MailRateTo(sheaf.LetterNotice, email)}
}

// ForgetMailRates deletes the rates with these names.
func (tx *Tx) ForgetMailRates(names ...string) (err error) {
	for _, name := range names {
		err = errors.Join(err, tx.exec(`DELETE FROM mail_rates WHERE name = $1`, name))
	}
	return err
}
