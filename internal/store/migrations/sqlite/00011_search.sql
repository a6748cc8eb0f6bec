-- +goose Up
-- The index of search is a file of its own beside this one, which makes its tables itself. A program
-- of before goes on with this.
INSERT INTO schema_compat (version, oldest) VALUES (11, 10);
