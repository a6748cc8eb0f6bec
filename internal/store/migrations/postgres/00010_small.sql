-- +goose Up
-- Small keys: workspaces and subscriptions are small integers in every key, identifiers have 16
-- bytes, a delivery is one compact row with its first attempt inside. Whoever is of before cannot
-- read any of it: its nodes stop first. These are the tables alone: carry.go runs this, and carries
-- over what was in those of before.
INSERT INTO schema_compat (version, oldest) VALUES (10, 10);

CREATE TABLE counters (
  name TEXT PRIMARY KEY,
  last BIGINT NOT NULL
);

CREATE TABLE workspaces (
  ws INTEGER PRIMARY KEY,
  id UUID NOT NULL UNIQUE,
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
  id UUID PRIMARY KEY NOT NULL,
  email TEXT,
  email_folded TEXT UNIQUE,
  name TEXT NOT NULL,
  password_hash TEXT NOT NULL,
  created_at BIGINT NOT NULL
);

CREATE TABLE members (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  user_id UUID NOT NULL REFERENCES users (id),
  role TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (ws, user_id)
);
CREATE INDEX members_by_user ON members (user_id);

CREATE TABLE sessions (
  hash BYTEA PRIMARY KEY,
  user_id UUID NOT NULL REFERENCES users (id),
  created_at BIGINT NOT NULL,
  seen_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX sessions_by_user ON sessions (user_id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

CREATE TABLE invitations (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  id UUID NOT NULL,
  hash BYTEA NOT NULL UNIQUE,
  email TEXT NOT NULL,
  email_folded TEXT NOT NULL,
  role TEXT NOT NULL,
  invited_by UUID NOT NULL REFERENCES users (id),
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (ws, id)
);
CREATE UNIQUE INDEX invitations_by_email ON invitations (ws, email_folded);
CREATE INDEX invitations_by_expiry ON invitations (expires_at);

CREATE TABLE api_keys (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  id UUID NOT NULL,
  user_id UUID NOT NULL REFERENCES users (id),
  name TEXT NOT NULL,
  prefix TEXT NOT NULL,
  hash BYTEA NOT NULL UNIQUE,
  scopes TEXT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT,
  last_used_at BIGINT,
  number BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (ws, id)
);
CREATE INDEX api_keys_by_id ON api_keys (id);
CREATE INDEX api_keys_by_creation ON api_keys (ws, created_at);
CREATE INDEX api_keys_live ON api_keys (ws, number) WHERE revoked_at IS NULL;
CREATE INDEX api_keys_by_revocation ON api_keys (revoked_at) WHERE revoked_at IS NOT NULL;
CREATE INDEX api_keys_by_expiry ON api_keys (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE idempotency_keys (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  method TEXT NOT NULL,
  path TEXT NOT NULL,
  key TEXT NOT NULL,
  body_hash BYTEA NOT NULL,
  status BIGINT NOT NULL,
  location TEXT NOT NULL,
  etag TEXT NOT NULL,
  body TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (ws, method, path, key)
);
CREATE INDEX idempotency_keys_by_time ON idempotency_keys (created_at);

CREATE TABLE minutes (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
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
  PRIMARY KEY (ws, minute)
);
CREATE INDEX minutes_by_time ON minutes (minute);

-- The keys of folders, projects and documents begin with the id, which begins with its time: a
-- group of writes in a hundred workspaces then adds to one page, not to a hundred.
CREATE TABLE folders (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  id UUID NOT NULL,
  entity_type TEXT NOT NULL,
  parent_id UUID,
  name TEXT NOT NULL,
  name_folded TEXT COLLATE "C" NOT NULL,
  color TEXT NOT NULL,
  sort_order BIGINT NOT NULL,
  depth BIGINT NOT NULL,
  project_count BIGINT NOT NULL,
  number BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (id, ws),
  FOREIGN KEY (parent_id, ws) REFERENCES folders (id, ws)
);
CREATE UNIQUE INDEX folders_in_order ON folders (ws, sort_order, number);
CREATE INDEX folders_in_parent ON folders (ws, parent_id, sort_order, number);
CREATE INDEX folders_by_creation ON folders (ws, number);
CREATE INDEX folders_by_name ON folders (ws, name_folded, number);
CREATE INDEX folders_by_update ON folders (ws, updated_at, number);
CREATE INDEX folders_of_type ON folders (ws, entity_type, sort_order, number);

CREATE TABLE projects (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  id UUID NOT NULL,
  folder_id UUID,
  name TEXT NOT NULL,
  name_folded TEXT COLLATE "C" NOT NULL,
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
  PRIMARY KEY (id, ws),
  FOREIGN KEY (folder_id, ws) REFERENCES folders (id, ws)
);
CREATE UNIQUE INDEX projects_in_order ON projects (ws, sort_order, number);
CREATE INDEX projects_in_folder ON projects (ws, folder_id, sort_order, number);
CREATE INDEX projects_by_name ON projects (ws, name_folded, number);
CREATE INDEX projects_by_update ON projects (ws, updated_at, number);
CREATE INDEX projects_by_creation ON projects (ws, number);

CREATE TABLE documents (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  id UUID NOT NULL,
  project_id UUID,
  title TEXT NOT NULL,
  title_folded TEXT COLLATE "C" NOT NULL,
  description TEXT,
  description_folded TEXT,
  deleted_at BIGINT,
  number BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (id, ws),
  FOREIGN KEY (project_id, ws) REFERENCES projects (id, ws)
);
CREATE UNIQUE INDEX documents_in_order ON documents (ws, number) WHERE deleted_at IS NULL;
CREATE INDEX documents_by_update ON documents (ws, updated_at, number) WHERE deleted_at IS NULL;
CREATE INDEX documents_by_title ON documents (ws, title_folded, number) WHERE deleted_at IS NULL;
CREATE INDEX documents_in_project ON documents (ws, project_id, updated_at, number);
CREATE INDEX documents_deleted ON documents (ws, deleted_at, id) WHERE deleted_at IS NOT NULL;

-- type is a number that the store knows (event.go).
CREATE TABLE events (
  ws INTEGER NOT NULL,
  number BIGINT NOT NULL,
  id UUID NOT NULL,
  type SMALLINT NOT NULL,
  resource_id UUID NOT NULL,
  at BIGINT NOT NULL,
  body TEXT NOT NULL
);
CREATE UNIQUE INDEX events_in_order ON events (ws, number);
CREATE UNIQUE INDEX events_by_id ON events (id, ws);
CREATE INDEX events_by_resource ON events (resource_id, ws, number);
CREATE INDEX events_by_type ON events (ws, type, number);
CREATE INDEX events_by_time ON events (ws, at, number);

-- sub is the subscription's small number in all tables below. Whether it is active is in its lane.
CREATE TABLE subscriptions (
  sub INTEGER PRIMARY KEY,
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  number BIGINT NOT NULL,
  id UUID NOT NULL UNIQUE,
  name TEXT NOT NULL,
  url TEXT NOT NULL,
  events TEXT NOT NULL,
  failure_count BIGINT NOT NULL,
  deactivated_at BIGINT,
  deactivation_reason TEXT,
  last_error TEXT,
  header_names TEXT NOT NULL,
  headers BYTEA,
  secret BYTEA NOT NULL,
  old_secret BYTEA,
  old_secret_until BIGINT,
  since_event BIGINT NOT NULL,
  events_since BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX subscriptions_in_order ON subscriptions (ws, number);

-- A subscription that was deleted, until its deliveries are removed too.
CREATE TABLE deleted_subscriptions (
  id UUID PRIMARY KEY NOT NULL,
  sub INTEGER NOT NULL,
  ws INTEGER NOT NULL,
  deleted_at BIGINT NOT NULL
);

-- How far a subscription's deliveries are (lane.go). What is held among those that no attempt was
-- made of is from held_from to held_to; held_to is open while the lane is inactive. What is fresh
-- up to recovered_to was recovered, last at recovered_at.
CREATE TABLE lanes (
  ws INTEGER NOT NULL,
  sub INTEGER NOT NULL,
  active SMALLINT NOT NULL,
  cursor BIGINT NOT NULL,
  held_from BIGINT,
  held_to BIGINT,
  recovered_to BIGINT,
  recovered_at BIGINT,
  PRIMARY KEY (ws, sub)
);

-- One event for one subscription (delivery.go), with its first attempt. state is 0 open, 1
-- delivered, 2 failed, 3 held. No index names it: what arrives at the first attempt changes no
-- index at all.
CREATE TABLE deliveries (
  ws INTEGER NOT NULL,
  sub INTEGER NOT NULL,
  number BIGINT NOT NULL,
  state SMALLINT NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  tries INTEGER NOT NULL DEFAULT 0,
  retry SMALLINT NOT NULL DEFAULT 0,
  due BIGINT,
  token TEXT,
  until BIGINT,
  hand SMALLINT NOT NULL DEFAULT 0,
  back_at BIGINT,
  again SMALLINT NOT NULL DEFAULT 0,
  stopped SMALLINT,
  finished_at BIGINT,
  last_status INTEGER,
  last_error TEXT,
  started_at BIGINT,
  duration_us BIGINT,
  status_code INTEGER,
  error_class TEXT,
  error TEXT,
  remote_address TEXT,
  dns_us BIGINT,
  connect_us BIGINT,
  tls_us BIGINT,
  first_byte_us BIGINT,
  body_us BIGINT,
  response_body TEXT,
  PRIMARY KEY (ws, sub, number)
) WITH (fillfactor = 70);
CREATE INDEX deliveries_due ON deliveries (sub, retry, due, number) WHERE due IS NOT NULL;
CREATE INDEX deliveries_stopped ON deliveries (sub, number) WHERE stopped IS NOT NULL;
CREATE INDEX deliveries_leased ON deliveries (until) WHERE until IS NOT NULL;

-- The second attempt of a delivery and those after it.
CREATE TABLE attempts (
  ws INTEGER NOT NULL,
  sub INTEGER NOT NULL,
  event BIGINT NOT NULL,
  number INTEGER NOT NULL,
  started_at BIGINT NOT NULL,
  duration_us BIGINT NOT NULL,
  status_code INTEGER NOT NULL,
  error_class TEXT NOT NULL,
  error TEXT NOT NULL,
  remote_address TEXT NOT NULL,
  dns_us BIGINT NOT NULL,
  connect_us BIGINT NOT NULL,
  tls_us BIGINT NOT NULL,
  first_byte_us BIGINT NOT NULL,
  body_us BIGINT NOT NULL,
  response_body TEXT NOT NULL,
  PRIMARY KEY (ws, sub, event, number)
);

-- What one node has cut from a lane: the fresh deliveries from lo to hi, of which open are neither
-- recorded nor given back yet.
CREATE TABLE leases (
  ws INTEGER NOT NULL,
  sub INTEGER NOT NULL,
  token TEXT NOT NULL,
  lo BIGINT NOT NULL,
  hi BIGINT NOT NULL,
  open INTEGER NOT NULL,
  until BIGINT NOT NULL,
  PRIMARY KEY (ws, sub, token)
);
CREATE INDEX leases_by_end ON leases (until);

-- The ids that deliveries had when those were random; they go with their events.
CREATE TABLE old_ids (
  ws INTEGER NOT NULL,
  sub INTEGER NOT NULL,
  number BIGINT NOT NULL,
  id UUID NOT NULL,
  PRIMARY KEY (ws, sub, number)
);
CREATE UNIQUE INDEX old_ids_by_id ON old_ids (id, ws);
