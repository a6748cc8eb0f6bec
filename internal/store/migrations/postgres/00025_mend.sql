-- +goose Up
-- A program of schema 24 would not keep the counters that this migration adds: it is not served.
INSERT INTO schema_compat (version, oldest) VALUES (25, 25);

-- The bytes of reported events and of kept answers count in the quota, apart from those of texts and media. A reported
-- event has a row here, so that an event of this service costs nothing more. What is older than this counts nothing.
ALTER TABLE workspaces ADD COLUMN kept BIGINT NOT NULL DEFAULT 0;
ALTER TABLE idempotency_keys ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;
CREATE TABLE reported_events (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  number BIGINT NOT NULL,
  bytes BIGINT NOT NULL,
  PRIMARY KEY (ws, number)
);

-- The lanes that were recovered lately: no event tells of that.
CREATE INDEX lanes_recovered ON lanes (recovered_at) WHERE recovered_at IS NOT NULL;

-- When the last mail went that a subscription was turned off, and when a workspace will have got no more than
-- one mail each quarter of an hour.
ALTER TABLE notices ADD COLUMN off_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE workspaces ADD COLUMN letters_until BIGINT NOT NULL DEFAULT 0;
