-- +goose Up
-- A program of schema 2 serves beside it: these are indexes, for the bound on
-- keys made in an hour, for counting live keys beside many dead ones, and for
-- removing the dead.
INSERT INTO schema_compat (version, oldest) VALUES (5, 2);

CREATE INDEX api_keys_by_creation ON api_keys (workspace_id, created_at);
CREATE INDEX api_keys_live ON api_keys (workspace_id, number) WHERE revoked_at IS NULL;
CREATE INDEX api_keys_by_revocation ON api_keys (revoked_at) WHERE revoked_at IS NOT NULL;
CREATE INDEX api_keys_by_expiry ON api_keys (expires_at) WHERE expires_at IS NOT NULL;
