-- +goose Up
-- Brandings, in folders of their own type, and the one that a workspace takes where none is named.
-- Whoever is of before would delete a folder and leave its brandings behind: its nodes stop first.
INSERT INTO schema_compat (version, oldest) VALUES (15, 15);

ALTER TABLE folders ADD COLUMN branding_count BIGINT NOT NULL DEFAULT 0;
ALTER TABLE workspaces ADD COLUMN brandings BIGINT NOT NULL DEFAULT 0;
ALTER TABLE workspaces ADD COLUMN default_branding UUID;

CREATE TABLE brandings (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  id UUID NOT NULL,
  folder_id UUID,
  name TEXT NOT NULL,
  name_folded TEXT COLLATE "C" NOT NULL,
  logo_media_id UUID,
  color_primary TEXT NOT NULL,
  font TEXT NOT NULL,
  footer TEXT,
  sort_order BIGINT NOT NULL,
  number BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (id, ws),
  FOREIGN KEY (folder_id, ws) REFERENCES folders (id, ws)
);
CREATE UNIQUE INDEX brandings_in_order ON brandings (ws, sort_order, number);
CREATE INDEX brandings_in_folder ON brandings (ws, folder_id, sort_order, number);
CREATE INDEX brandings_by_name ON brandings (ws, name_folded, number);
CREATE INDEX brandings_by_update ON brandings (ws, updated_at, number);
CREATE INDEX brandings_by_creation ON brandings (ws, number);
