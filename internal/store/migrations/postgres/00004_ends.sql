-- +goose Up
-- What changes is the order of columns in indexes of SQLite's file, where a
-- group of writes is one transaction. Here each has its own.
INSERT INTO schema_compat (version, oldest) VALUES (4, 2);
