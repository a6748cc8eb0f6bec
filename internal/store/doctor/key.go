package doctor

// checkKeys are the promises about API keys.
var checkKeys = []check{
	// It belongs to its user or to the workspace.
	{name: "key owner", judge: tells("key %s belongs to %s"), sql: `
SELECT id, owner
FROM api_keys
WHERE ws = $1 AND owner NOT IN ('user', 'workspace')`},

	// A previous secret has an end, and a key that was never rotated has none.
	{name: "key rotation", judge: tells("key %s was rotated %s times: it has a previous secret without an end, an end without a secret, or one before the first"), sql: `
SELECT id, rotation
FROM api_keys
WHERE ws = $1 AND (rotation < 0 OR (old_hash IS NULL) <> (old_until IS NULL) OR old_hash IS NOT NULL AND rotation = 0)`},
}
