-- +goose Up
INSERT INTO schema_compat (version, oldest) VALUES (2, 2);

CREATE TABLE subscriptions (
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  url TEXT NOT NULL,
  events TEXT NOT NULL,
  active BIGINT NOT NULL,
  failure_count BIGINT NOT NULL,
  deactivated_at BIGINT,
  deactivation_reason TEXT,
  last_error TEXT,
  header_names TEXT NOT NULL,
  headers BLOB,
  secret BLOB NOT NULL,
  old_secret BLOB,
  old_secret_until BIGINT,
  since_event BIGINT NOT NULL,
  events_since BIGINT NOT NULL,
  number BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, id)
);
CREATE UNIQUE INDEX subscriptions_by_id ON subscriptions (id);

-- A subscription that was deleted, until its deliveries are removed too.
CREATE TABLE deleted_subscriptions (
  id TEXT PRIMARY KEY,
  workspace_id TEXT NOT NULL,
  deleted_at BIGINT NOT NULL
);

CREATE TABLE deliveries (
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
  PRIMARY KEY (workspace_id, id)
);
CREATE UNIQUE INDEX deliveries_once ON deliveries (subscription_id, event_number);
-- What a lane claims: first attempts and retries are two queues.
CREATE INDEX deliveries_waiting ON deliveries (subscription_id, retry, next_attempt_at) WHERE state = 'waiting';
CREATE INDEX deliveries_sending ON deliveries (lease_until) WHERE state = 'sending';
CREATE INDEX deliveries_held ON deliveries (subscription_id, event_number) WHERE state = 'held';
CREATE INDEX deliveries_by_time ON deliveries (created_at);

CREATE TABLE attempts (
  workspace_id TEXT NOT NULL,
  delivery_id TEXT NOT NULL,
  number BIGINT NOT NULL,
  started_at BIGINT NOT NULL,
  duration_us BIGINT NOT NULL,
  status_code BIGINT NOT NULL,
  error_class TEXT NOT NULL,
  error TEXT NOT NULL,
  remote_address TEXT NOT NULL,
  dns_us BIGINT NOT NULL,
  connect_us BIGINT NOT NULL,
  tls_us BIGINT NOT NULL,
  first_byte_us BIGINT NOT NULL,
  body_us BIGINT NOT NULL,
  response_body TEXT NOT NULL,
  PRIMARY KEY (workspace_id, delivery_id, number)
);
