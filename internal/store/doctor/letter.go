package doctor

import (
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// checkLetters are the promises about mails to people that wait and belong to no workspace: what they need opens with
// the master key.
var checkLetters = []check{
	{name: "notice letter", args: noArgs, judge: opensLetter(sheaf.LetterNotice, readID), sql: `
SELECT id, letter
FROM letters`},

	{name: "reset letter", args: noArgs, judge: opensLetter(sheaf.LetterReset, (*engine.Row).Text), sql: `
SELECT name, letter
FROM password_resets
WHERE letter IS NOT NULL`},
}

// checkInvitations is the same promise about the invitations of a workspace.
var checkInvitations = []check{
	{name: "invitation letter", judge: opensLetter(sheaf.LetterInvitation, readID), sql: `
SELECT id, letter
FROM invitations
WHERE ws = $1 AND letter IS NOT NULL`},
}

func readID(r *engine.Row) string { return sheaf.FormatUUID(r.ID()) }

// opensLetter returns a judge for rows with the id of a mail, which `id` reads, and its sealed part.
func opensLetter(kind sheaf.LetterKind, id func(*engine.Row) string) func(*patient, *engine.Row) string {
	return func(p *patient, r *engine.Row) string {
		of, sealed := id(r), r.Blob()
		if p.Box == nil {
			return ""
		}
		if _, err := p.Box.OpenLetter(string(kind), of, sealed); err != nil {
			return "open the mail " + of + " that waits: " + err.Error()
		}
		return ""
	}
}
