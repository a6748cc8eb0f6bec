-- +goose Up
-- A program of schema 24 would not keep the counters that this migration adds: it is not served.
INSERT INTO schema_compat (version, oldest) VALUES (25, 25);

-- The bytes of reported events and of kept answers count in the quota, apart from those of texts and media. A reported
-- event has a row here, so that an event of this service costs nothing more. What is older than this counts nothing.
ALTER TABLE workspaces ADD COLUMN kept BIGINT NOT NULL DEFAULT 0;
ALTER TABLE idempotency_keys ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;
CREATE TABLE reported_events (
  ws BIGINT NOT NULL REFERENCES workspaces (ws),
  number BIGINT NOT NULL,
  bytes BIGINT NOT NULL,
  PRIMARY KEY (ws, number)
) WITHOUT ROWID;

-- The lanes that were recovered lately: no event tells of that.
CREATE INDEX lanes_recovered ON lanes (recovered_at) WHERE recovered_at IS NOT NULL;

-- When the last mail went that a subscription was turned off, and when a workspace will have got no more than
-- one mail each quarter of an hour.
ALTER TABLE notices ADD COLUMN off_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE workspaces ADD COLUMN letters_until BIGINT NOT NULL DEFAULT 0;

-- How many deliveries a lane holds (lane.go): of each lane, what event commits have given it, in the row of the
-- workspace, which they write anyway; and what was taken of it and is held beside that.
ALTER TABLE workspaces ADD COLUMN given TEXT NOT NULL DEFAULT '';
ALTER TABLE lanes ADD COLUMN taken BIGINT NOT NULL DEFAULT 0;
ALTER TABLE lanes ADD COLUMN held BIGINT NOT NULL DEFAULT 0;
ALTER TABLE lanes ADD COLUMN held_version BIGINT NOT NULL DEFAULT 0;
UPDATE lanes
SET taken = -(
    SELECT COUNT(*)
    FROM deliveries d
    WHERE d.ws = lanes.ws AND d.sub = lanes.sub AND d.number > lanes.cursor AND d.state = 0 AND d.due IS NULL AND d.token IS NULL
      AND NOT EXISTS (SELECT 1 FROM leases x WHERE x.ws = d.ws AND x.sub = d.sub AND d.number BETWEEN x.lo AND x.hi)),
  held = (
    SELECT COUNT(*)
    FROM deliveries d
    WHERE d.ws = lanes.ws AND d.sub = lanes.sub AND d.due IS NULL AND d.token IS NULL AND (d.state = 3
      OR d.state = 0 AND d.number <= lanes.cursor
        AND NOT EXISTS (SELECT 1 FROM leases x WHERE x.ws = d.ws AND x.sub = d.sub AND d.number BETWEEN x.lo AND x.hi)));

-- The time of the newest event: a later event has no earlier one, whatever the clocks say.
ALTER TABLE workspaces ADD COLUMN last_event_at BIGINT NOT NULL DEFAULT 0;
UPDATE workspaces
SET last_event_at = COALESCE((SELECT MAX(e.at) FROM events e WHERE e.ws = workspaces.ws), 0);
