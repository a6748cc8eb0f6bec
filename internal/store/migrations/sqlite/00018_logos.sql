-- +goose Up
-- A medium that is deleted leaves the brandings whose logo it is, which an index finds. Whoever is of
-- before would leave the logo there: its nodes stop first.
INSERT INTO schema_compat (version, oldest) VALUES (18, 18);

CREATE INDEX brandings_by_logo ON brandings (ws, logo_media_id, number) WHERE logo_media_id IS NOT NULL;
