-- +goose Up
-- Addresses under which people without an account read a document or a project. Whoever is of before
-- removes documents for good and leaves their shares: its nodes stop first.
INSERT INTO schema_compat (version, oldest) VALUES (16, 16);

ALTER TABLE workspaces ADD COLUMN shares BIGINT NOT NULL DEFAULT 0;

-- resource_type is 1 for a document and 2 for a project. branding_id is NULL for the workspace's
-- default look, password_hash where readers are asked for no password.
CREATE TABLE shares (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  id UUID NOT NULL,
  resource_type BIGINT NOT NULL,
  resource_id UUID NOT NULL,
  token TEXT COLLATE "C" NOT NULL,
  password_hash TEXT,
  expires_at BIGINT,
  branding_id UUID,
  listed BIGINT NOT NULL,
  views BIGINT NOT NULL,
  last_viewed_at BIGINT,
  number BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (id, ws)
);
CREATE UNIQUE INDEX shares_by_token ON shares (token);
CREATE INDEX shares_in_order ON shares (ws, number);
CREATE INDEX shares_of ON shares (ws, resource_id, number);
CREATE INDEX shares_with_branding ON shares (ws, branding_id, number) WHERE branding_id IS NOT NULL;
