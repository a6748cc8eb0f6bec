-- +goose Up
-- Most projects lie at the root level, in a place that nobody has chosen, and were in three indexes for that: of the
-- order, of the folder and of the creation. Now they are in one, and a list of all projects is merged from parts.
-- A program of before asks for an index by a name that is now of a part: it is not served.
INSERT INTO schema_compat (version, oldest) VALUES (24, 24);

DROP INDEX projects_in_order;
DROP INDEX projects_in_folder;
DROP INDEX projects_by_creation;
-- The last column is what the condition asks for: SQLite would read the rows for it, to count or to skip them.
CREATE INDEX projects_at_root ON projects (ws, sort_order, number, folder_id) WHERE folder_id IS NULL;
CREATE INDEX projects_filed ON projects (ws, sort_order, number, folder_id) WHERE folder_id IS NOT NULL;
CREATE INDEX projects_in_folder ON projects (ws, folder_id, sort_order, number) WHERE folder_id IS NOT NULL;
CREATE INDEX projects_by_creation ON projects (ws, number, sort_order) WHERE sort_order <> 0;
