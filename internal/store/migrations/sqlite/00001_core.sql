-- +goose Up
PRAGMA application_id = 0x53484541;

-- What each schema asks of the programs beside it: a program whose own schema
-- is number n may serve this database when n >= oldest of its newest row.
CREATE TABLE schema_compat (
  version BIGINT PRIMARY KEY,
  oldest BIGINT NOT NULL
);
INSERT INTO schema_compat (version, oldest) VALUES (1, 1);

CREATE TABLE settings (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
);

CREATE TABLE workspaces (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  plan TEXT NOT NULL,
  personal BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  version BIGINT NOT NULL,
  last_number BIGINT NOT NULL,
  last_event BIGINT NOT NULL,
  projects BIGINT NOT NULL,
  documents BIGINT NOT NULL,
  subscriptions BIGINT NOT NULL
);

CREATE TABLE users (
  id TEXT PRIMARY KEY,
  email TEXT,
  email_folded TEXT UNIQUE,
  name TEXT NOT NULL,
  password_hash TEXT NOT NULL,
  created_at BIGINT NOT NULL
);

CREATE TABLE members (
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  user_id TEXT NOT NULL REFERENCES users (id),
  role TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, user_id)
);
CREATE INDEX members_by_user ON members (user_id);

-- One-time links by which a person sets the first password. Only hashes.
CREATE TABLE setup_links (
  hash BLOB PRIMARY KEY,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);

CREATE TABLE api_keys (
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  id TEXT NOT NULL,
  user_id TEXT NOT NULL REFERENCES users (id),
  name TEXT NOT NULL,
  prefix TEXT NOT NULL,
  hash BLOB NOT NULL UNIQUE,
  scopes TEXT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT,
  last_used_at BIGINT,
  number BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, id)
);
CREATE INDEX api_keys_by_id ON api_keys (id);

CREATE TABLE folders (
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  id TEXT NOT NULL,
  entity_type TEXT NOT NULL,
  parent_id TEXT,
  name TEXT NOT NULL,
  name_folded TEXT NOT NULL,
  color TEXT NOT NULL,
  sort_order BIGINT NOT NULL,
  depth BIGINT NOT NULL,
  project_count BIGINT NOT NULL,
  number BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, id),
  FOREIGN KEY (workspace_id, parent_id) REFERENCES folders (workspace_id, id)
);
CREATE UNIQUE INDEX folders_in_order ON folders (workspace_id, sort_order, number);
CREATE INDEX folders_in_parent ON folders (workspace_id, parent_id, sort_order, number);

CREATE TABLE projects (
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  id TEXT NOT NULL,
  folder_id TEXT,
  name TEXT NOT NULL,
  name_folded TEXT NOT NULL,
  description TEXT,
  description_folded TEXT,
  icon TEXT,
  color TEXT,
  sort_order BIGINT NOT NULL,
  visibility TEXT NOT NULL,
  document_count BIGINT NOT NULL,
  number BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, id),
  FOREIGN KEY (workspace_id, folder_id) REFERENCES folders (workspace_id, id)
);
CREATE UNIQUE INDEX projects_in_order ON projects (workspace_id, sort_order, number);
CREATE INDEX projects_in_folder ON projects (workspace_id, folder_id, sort_order, number);
CREATE INDEX projects_by_name ON projects (workspace_id, name_folded, number);
CREATE INDEX projects_by_update ON projects (workspace_id, updated_at, number);

CREATE TABLE documents (
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  id TEXT NOT NULL,
  project_id TEXT,
  title TEXT NOT NULL,
  title_folded TEXT NOT NULL,
  description TEXT,
  description_folded TEXT,
  deleted_at BIGINT,
  number BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, id),
  FOREIGN KEY (workspace_id, project_id) REFERENCES projects (workspace_id, id)
);
CREATE UNIQUE INDEX documents_in_order ON documents (workspace_id, number) WHERE deleted_at IS NULL;
CREATE INDEX documents_by_update ON documents (workspace_id, updated_at, number) WHERE deleted_at IS NULL;
CREATE INDEX documents_by_title ON documents (workspace_id, title_folded, number) WHERE deleted_at IS NULL;
CREATE INDEX documents_in_project ON documents (workspace_id, project_id, updated_at, number);

CREATE TABLE events (
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  number BIGINT NOT NULL,
  id TEXT NOT NULL,
  type TEXT NOT NULL,
  resource_id TEXT NOT NULL,
  at BIGINT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (workspace_id, number)
);
CREATE UNIQUE INDEX events_by_id ON events (workspace_id, id);
CREATE INDEX events_by_resource ON events (workspace_id, resource_id, number);
CREATE INDEX events_by_type ON events (workspace_id, type, number);
CREATE INDEX events_by_time ON events (at);

CREATE TABLE idempotency_keys (
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  method TEXT NOT NULL,
  path TEXT NOT NULL,
  key TEXT NOT NULL,
  body_hash BLOB NOT NULL,
  status BIGINT NOT NULL,
  location TEXT NOT NULL,
  etag TEXT NOT NULL,
  body TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, method, path, key)
);
CREATE INDEX idempotency_keys_by_time ON idempotency_keys (created_at);
