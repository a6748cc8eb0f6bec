-- +goose Up
-- Every order and every filter of a list has an index. A program of schema 2 goes
-- on beside it: it asks for the same rows.
INSERT INTO schema_compat (version, oldest) VALUES (9, 2);

CREATE INDEX projects_by_creation ON projects (workspace_id, number);

CREATE INDEX folders_by_creation ON folders (workspace_id, number);
CREATE INDEX folders_by_name ON folders (workspace_id, name_folded, number);
CREATE INDEX folders_by_update ON folders (workspace_id, updated_at, number);
CREATE INDEX folders_of_type ON folders (workspace_id, entity_type, sort_order, number);

-- The times of one workspace's log. Until now there was one index for all
-- workspaces, by which no client could be answered.
DROP INDEX events_by_time;
CREATE INDEX events_by_time ON events (workspace_id, at, number);

CREATE INDEX deliveries_failed ON deliveries (subscription_id, event_number) WHERE state = 'failed';
