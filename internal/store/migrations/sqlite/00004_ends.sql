-- +goose Up
-- Identifiers begin with their time. An index that begins with one grows at its
-- end, in one page; behind the workspace it grows in one page a workspace, and
-- a group of writes has as many of them to write as it has workspaces.
INSERT INTO schema_compat (version, oldest) VALUES (4, 2);

DROP INDEX events_by_id;
CREATE UNIQUE INDEX events_by_id ON events (id, workspace_id);
DROP INDEX events_by_resource;
CREATE INDEX events_by_resource ON events (resource_id, workspace_id, number);

CREATE TABLE deliveries_new (
  workspace_id TEXT NOT NULL,
  id TEXT NOT NULL,
  subscription_id TEXT NOT NULL,
  event_number BIGINT NOT NULL,
  event_id TEXT NOT NULL,
  event_type TEXT NOT NULL,
  state TEXT NOT NULL,
  attempt_count BIGINT NOT NULL,
  tries BIGINT NOT NULL,
  retry BIGINT NOT NULL,
  next_attempt_at BIGINT,
  lease_token TEXT,
  lease_until BIGINT,
  back_state TEXT,
  back_at BIGINT,
  again BIGINT NOT NULL DEFAULT 0,
  last_status_code BIGINT,
  last_error TEXT,
  created_at BIGINT NOT NULL,
  finished_at BIGINT,
  PRIMARY KEY (id, workspace_id)
);
INSERT INTO deliveries_new SELECT * FROM deliveries;
DROP TABLE deliveries;
ALTER TABLE deliveries_new RENAME TO deliveries;
CREATE UNIQUE INDEX deliveries_once ON deliveries (subscription_id, event_number);
CREATE INDEX deliveries_waiting ON deliveries (subscription_id, retry, next_attempt_at) WHERE state = 'waiting';
CREATE INDEX deliveries_sending ON deliveries (lease_until) WHERE state = 'sending';
CREATE INDEX deliveries_held ON deliveries (subscription_id, event_number) WHERE state = 'held';
CREATE INDEX deliveries_by_time ON deliveries (created_at);
