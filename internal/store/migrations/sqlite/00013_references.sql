-- +goose Up
-- Documents, projects and folders say by which name another system knows them, and a workspace keeps
-- the newest time that it gave to one. Whoever is of before does not: its nodes stop first.
INSERT INTO schema_compat (version, oldest) VALUES (13, 13);

ALTER TABLE folders ADD COLUMN external_id TEXT;
ALTER TABLE projects ADD COLUMN external_id TEXT;
ALTER TABLE projects ADD COLUMN url TEXT;
ALTER TABLE projects ADD COLUMN metadata TEXT;
ALTER TABLE documents ADD COLUMN external_id TEXT;
ALTER TABLE documents ADD COLUMN url TEXT;
ALTER TABLE documents ADD COLUMN metadata TEXT;

-- A deleted document keeps its name: it can be restored.
CREATE UNIQUE INDEX folders_by_external_id ON folders (ws, external_id) WHERE external_id IS NOT NULL;
CREATE UNIQUE INDEX projects_by_external_id ON projects (ws, external_id) WHERE external_id IS NOT NULL;
CREATE UNIQUE INDEX documents_by_external_id ON documents (ws, external_id) WHERE external_id IS NOT NULL;

-- The trash is a list as any other, in each of its orders.
DROP INDEX documents_deleted;
CREATE INDEX documents_deleted ON documents (ws, deleted_at, number) WHERE deleted_at IS NOT NULL;
CREATE INDEX documents_deleted_in_order ON documents (ws, number) WHERE deleted_at IS NOT NULL;
CREATE INDEX documents_deleted_by_update ON documents (ws, updated_at, number) WHERE deleted_at IS NOT NULL;
CREATE INDEX documents_deleted_by_title ON documents (ws, title_folded, number) WHERE deleted_at IS NOT NULL;

-- The newest updated_at that was given to a project, folder or document, and to how many. That as many
-- as possible have it already is the safe thing to say: the next one gets a later time.
ALTER TABLE workspaces ADD COLUMN newest_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE workspaces ADD COLUMN newest_shared BIGINT NOT NULL DEFAULT 0;
UPDATE workspaces
SET newest_shared = 1000, newest_at = max(
  COALESCE((SELECT MAX(f.updated_at) FROM folders f WHERE f.ws = workspaces.ws), 0),
  COALESCE((SELECT MAX(p.updated_at) FROM projects p WHERE p.ws = workspaces.ws), 0),
  COALESCE((SELECT MAX(d.updated_at) FROM documents d WHERE d.ws = workspaces.ws), 0));
