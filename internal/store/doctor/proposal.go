package doctor

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/engine"
)

// checkProposals are the checks of proposals.
var checkProposals = []check{
	// A proposal has changes, all texts that they name, and no other texts.
	{name: "proposal text", judge: sameProposalTexts, sql: `
SELECT ` + store.ProposalColumns + `, (SELECT COUNT(*) FROM proposal_texts t WHERE t.ws = proposals.ws AND t.proposal_id = proposals.id)
FROM proposals
WHERE ws = $1`},

	// Each text matches its hash.
	{name: "proposal text hash", judge: sameProposalText, sql: `
SELECT proposal_id, hash, ` + store.TextColumns + `
FROM proposal_texts
WHERE ws = $1`},

	// Each target belongs to a proposal that exists.
	{name: "proposal target", judge: tells("%s is named by the proposal %s, which is not there"), sql: `
SELECT t.resource_id, t.number
FROM proposal_targets t
WHERE t.ws = $1 AND NOT EXISTS (SELECT 1 FROM proposals p WHERE p.ws = t.ws AND p.number = t.number)`},
}

// sameProposalTexts compares the number of a proposal's texts with those that its changes name.
func sameProposalTexts(_ *patient, r *engine.Row) string {
	p, stored := store.ScanProposal(r), r.Int()
	if len(p.Changes) == 0 {
		return fmt.Sprintf("proposal %s has no changes that can be read", p.ID)
	}
	named := sheaf.TextHashes(p.Changes)
	if int64(len(named)) == stored {
		return ""
	}
	return fmt.Sprintf("proposal %s names %d texts, but %d are stored", p.ID, len(named), stored)
}

// sameProposalText unpacks a text and compares it with its hash.
func sameProposalText(_ *patient, r *engine.Row) string {
	id, hash := sheaf.FormatUUID(r.ID()), r.Blob()
	text, err := store.ScanText(r)
	if err != nil {
		return fmt.Sprintf("a text of proposal %s cannot be read: %v", id, err)
	}
	if sum := sha256.Sum256([]byte(text)); string(sum[:]) != string(hash) {
		return fmt.Sprintf("a text of proposal %s does not match its hash %s", id, hex.EncodeToString(hash))
	}
	return ""
}
