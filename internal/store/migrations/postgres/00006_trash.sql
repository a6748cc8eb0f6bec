-- +goose Up
-- A program of schema 2 serves beside it: this is an index, for counting deleted
-- documents and removing those that are too many.
INSERT INTO schema_compat (version, oldest) VALUES (6, 2);

CREATE INDEX documents_deleted ON documents (workspace_id, deleted_at, id) WHERE deleted_at IS NOT NULL;
