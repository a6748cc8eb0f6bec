-- +goose Up
-- The API key that did what an event tells of: its number in the workspace; 0 where a person did it, and for events of
-- before. A program of schema 20 goes on beside it: what it writes has 0.
INSERT INTO schema_compat (version, oldest) VALUES (21, 20);

ALTER TABLE events ADD COLUMN key_number BIGINT NOT NULL DEFAULT 0;
