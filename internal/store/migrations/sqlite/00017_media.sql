-- +goose Up
-- Media: files, whose bytes are kept elsewhere, by workspace and hash. Whoever is of before keeps no
-- count of their bytes, and none of the documents that they belong to: its nodes stop first.
INSERT INTO schema_compat (version, oldest) VALUES (17, 17);

-- state is 0 for one whose bytes are being written, 1 for one that is there, and 2 for one whose bytes
-- are being removed (store/medium.go). While it is not 1, until says until when somebody is at it.
CREATE TABLE media (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  id BLOB NOT NULL,
  state SMALLINT NOT NULL,
  until BIGINT,
  filename TEXT NOT NULL,
  content_type TEXT NOT NULL,
  bytes BIGINT NOT NULL,
  hash BLOB NOT NULL,
  width BIGINT,
  height BIGINT,
  document_id BLOB,
  number BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (id, ws),
  FOREIGN KEY (document_id, ws) REFERENCES documents (id, ws)
);
CREATE UNIQUE INDEX media_in_order ON media (ws, number) WHERE state = 1;
CREATE INDEX media_of_document ON media (ws, document_id, number);
CREATE INDEX media_of_type ON media (ws, content_type, number) WHERE state = 1;
CREATE INDEX media_by_hash ON media (ws, hash);
CREATE INDEX media_unsettled ON media (until) WHERE state <> 1;
