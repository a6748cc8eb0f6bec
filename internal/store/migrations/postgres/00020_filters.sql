-- +goose Up
-- Filters of subscriptions: of which projects, folders and records they get events, and how many
-- subscriptions of a workspace have one. Whoever is of before would send them everything: its nodes
-- stop first.
INSERT INTO schema_compat (version, oldest) VALUES (20, 20);

ALTER TABLE subscriptions ADD COLUMN filter TEXT NOT NULL DEFAULT '';
ALTER TABLE subscriptions ADD COLUMN filter_since BIGINT NOT NULL DEFAULT 0;
ALTER TABLE workspaces ADD COLUMN filters BIGINT NOT NULL DEFAULT 0;
