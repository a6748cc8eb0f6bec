-- +goose Up
-- Uploads: media that arrive piece by piece. Their bytes are kept elsewhere; received says how many
-- are there, and state what is needed to go on. Whoever is of before counts none of what they reserve:
-- its nodes stop first.
INSERT INTO schema_compat (version, oldest) VALUES (19, 19);

CREATE TABLE uploads (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  id UUID NOT NULL,
  owner UUID NOT NULL,
  filename TEXT NOT NULL,
  document_id UUID,
  length BIGINT NOT NULL,
  received BIGINT NOT NULL,
  state BYTEA,
  reserved BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (id, ws)
);
CREATE INDEX uploads_of_owner ON uploads (ws, owner);
CREATE INDEX uploads_by_expiry ON uploads (expires_at);
