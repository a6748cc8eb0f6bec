-- +goose Up
-- A program of schema 2 goes on beside it: it asks for the same rows.
INSERT INTO schema_compat (version, oldest) VALUES (7, 2);

-- What retention removes for its age: deliveries that are done. Those that wait
-- or are held may be as old, and are not to be read over and over.
DROP INDEX deliveries_by_time;
CREATE INDEX deliveries_done ON deliveries (created_at) WHERE state IN ('delivered', 'failed');
