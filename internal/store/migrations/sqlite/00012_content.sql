-- +goose Up
-- Documents hold text. Whoever is of before keeps neither the counter of bytes nor the versions: its
-- nodes stop first.
INSERT INTO schema_compat (version, oldest) VALUES (12, 12);

-- The bytes of all texts of the workspace.
ALTER TABLE workspaces ADD COLUMN storage BIGINT NOT NULL DEFAULT 0;

-- The present version is in the document's own row, with who made it; version_at is NULL for the
-- first one, which is as old as the document. content_hash is NULL for the empty text.
ALTER TABLE documents ADD COLUMN version BIGINT NOT NULL DEFAULT 1;
ALTER TABLE documents ADD COLUMN version_at BIGINT;
ALTER TABLE documents ADD COLUMN version_user BLOB;
ALTER TABLE documents ADD COLUMN version_key BLOB;
ALTER TABLE documents ADD COLUMN content_bytes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE documents ADD COLUMN content_hash BLOB;

-- The documents of which the sweep may remove versions.
CREATE INDEX documents_of_many_versions ON documents (ws, id) WHERE version > 100;

-- A text of a document, once however many of its versions have it. form says how body is packed
-- (text.go), bytes how long it is unpacked.
CREATE TABLE texts (
  ws INTEGER NOT NULL,
  document_id BLOB NOT NULL,
  hash BLOB NOT NULL,
  form SMALLINT NOT NULL,
  bytes BIGINT NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY (document_id, ws, hash),
  FOREIGN KEY (document_id, ws) REFERENCES documents (id, ws)
);

-- The past versions of a document.
CREATE TABLE versions (
  ws INTEGER NOT NULL,
  document_id BLOB NOT NULL,
  version BIGINT NOT NULL,
  title TEXT NOT NULL,
  content_bytes BIGINT NOT NULL,
  content_hash BLOB,
  user_id BLOB,
  key_id BLOB,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (document_id, ws, version),
  FOREIGN KEY (document_id, ws) REFERENCES documents (id, ws)
) WITHOUT ROWID;
