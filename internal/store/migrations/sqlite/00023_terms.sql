-- +goose Up
-- Terms and heads in the index of search, which is a file of its own beside this one and makes its tables
-- itself. A program of before goes on with this.
INSERT INTO schema_compat (version, oldest) VALUES (23, 20);
