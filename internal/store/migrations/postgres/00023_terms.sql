-- +goose Up
-- Terms and heads in the index of search. A program of before goes on beside it: it seals chunks without
-- them, which the next one adds; from where it took a record away, texts are read as before.
INSERT INTO schema_compat (version, oldest) VALUES (23, 20);

-- Those that have left a chunk since it was full.
ALTER TABLE search_chunks ADD COLUMN gone BYTEA;

-- The terms of a page, and the set of each. at is the first place of the chunk, and the page. All names
-- are read by who searches: they are not compressed.
CREATE TABLE search_terms (
  at BIGINT PRIMARY KEY,
  names TEXT NOT NULL,
  sets BYTEA NOT NULL
);
ALTER TABLE search_terms ALTER COLUMN names SET STORAGE EXTERNAL;
ALTER TABLE search_terms ALTER COLUMN sets SET STORAGE EXTERNAL;

-- The heads of a chunk. at is its first place.
CREATE TABLE search_heads (
  at BIGINT PRIMARY KEY,
  heads BYTEA NOT NULL
);
ALTER TABLE search_heads ALTER COLUMN heads SET STORAGE EXTERNAL;
