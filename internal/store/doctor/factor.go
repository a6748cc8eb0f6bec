package doctor

import (
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// checkFactors are the promises about the second factors of people, who belong to no workspace.
var checkFactors = []check{
	// Its secret opens with the master key.
	{name: "second factor", args: noArgs, judge: (*patient).opensFactor, sql: `
SELECT user_id, secret
FROM factors`},

	// Recovery codes are for a second factor.
	{name: "recovery code", args: noArgs, judge: tells("user %s has recovery codes and no second factor"), sql: `
SELECT DISTINCT c.user_id
FROM recovery_codes c
WHERE NOT EXISTS (SELECT 1 FROM factors f WHERE f.user_id = c.user_id)`},
}

func (p *patient) opensFactor(r *engine.Row) string {
	user, sealed := sheaf.FormatUUID(r.ID()), r.Blob()
	if p.Box == nil {
		return ""
	}
	if _, err := p.Box.OpenFactorSecret(user, sealed); err != nil {
		return "open the second factor of user " + user + ": " + err.Error()
	}
	return ""
}
