-- +goose Up
-- A program of schema 2 serves beside it: it reads and writes none of this.
INSERT INTO schema_compat (version, oldest) VALUES (3, 2);

-- Who is signed in to the console. Only the hash of the cookie's token.
CREATE TABLE sessions (
  hash BLOB PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES users (id),
  created_at BIGINT NOT NULL,
  seen_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX sessions_by_user ON sessions (user_id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

-- One-time links into a workspace. A used one is removed.
CREATE TABLE invitations (
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  id TEXT NOT NULL,
  hash BLOB NOT NULL UNIQUE,
  email TEXT NOT NULL,
  email_folded TEXT NOT NULL,
  role TEXT NOT NULL,
  invited_by TEXT NOT NULL REFERENCES users (id),
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, id)
);
CREATE UNIQUE INDEX invitations_by_email ON invitations (workspace_id, email_folded);
CREATE INDEX invitations_by_expiry ON invitations (expires_at);

-- How often signing in failed lately, by account and by address.
CREATE TABLE sign_in_failures (
  name TEXT PRIMARY KEY,
  failures BIGINT NOT NULL,
  failed_at BIGINT NOT NULL
);
CREATE INDEX sign_in_failures_by_time ON sign_in_failures (failed_at);

-- What happened in each minute, for the charts: minute is Unix time divided by
-- 60. The columns from took_10 on count attempts by how long they took, in
-- milliseconds; took_more is all above.
CREATE TABLE minutes (
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  minute BIGINT NOT NULL,
  requests BIGINT NOT NULL,
  rate_limited BIGINT NOT NULL,
  delivered BIGINT NOT NULL,
  retried BIGINT NOT NULL,
  failed BIGINT NOT NULL,
  took_sum BIGINT NOT NULL,
  took_max BIGINT NOT NULL,
  took_10 BIGINT NOT NULL,
  took_30 BIGINT NOT NULL,
  took_100 BIGINT NOT NULL,
  took_300 BIGINT NOT NULL,
  took_1000 BIGINT NOT NULL,
  took_3000 BIGINT NOT NULL,
  took_more BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, minute)
);
CREATE INDEX minutes_by_time ON minutes (minute);
