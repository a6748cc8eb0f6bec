-- +goose Up
-- The index of search. With SQLite it is a file of its own, which needs no migration; here its
-- tables stand beside all others, in no backup. A program of before goes on beside it: the index
-- follows the log, whoever writes that.
INSERT INTO schema_compat (version, oldest) VALUES (11, 10);

-- A space is one workspace's index; while a new one is built, a workspace has two. cursor is the
-- event up to which it has followed the log, mark the id of that event. Until it is built, kind and
-- number say up to where. chunk is the open chunk, with so many places used and bytes written.
CREATE TABLE search_spaces (
  space BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  workspace UUID NOT NULL,
  state SMALLINT NOT NULL,
  form BIGINT NOT NULL,
  asked BIGINT NOT NULL,
  turn BIGINT NOT NULL,
  cursor BIGINT NOT NULL,
  mark UUID,
  kind SMALLINT NOT NULL,
  number BIGINT NOT NULL,
  chunk BIGINT NOT NULL,
  used BIGINT NOT NULL,
  bytes BIGINT NOT NULL,
  moves BIGINT NOT NULL
);
CREATE INDEX search_spaces_of ON search_spaces (workspace);

-- A record at its place. at is the space and the place in it. Its text is read as a whole by who
-- searches: it is kept in the row, and not compressed.
CREATE TABLE search_texts (
  at BIGINT PRIMARY KEY,
  id UUID NOT NULL,
  kind SMALLINT NOT NULL,
  parent UUID,
  updated_at BIGINT NOT NULL,
  title TEXT NOT NULL,
  body TEXT NOT NULL
) WITH (toast_tuple_target = 8160);
ALTER TABLE search_texts ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE UNIQUE INDEX search_texts_by_id ON search_texts ((at >> 32), id);

-- A chunk that is full. at is its first place, live how many of its places still have a record.
CREATE TABLE search_chunks (
  at BIGINT PRIMARY KEY,
  places BIGINT NOT NULL,
  live BIGINT NOT NULL,
  sealed SMALLINT NOT NULL
);

-- The sets of a page of buckets. at is the first place of the chunk, and the page.
CREATE TABLE search_grams (
  at BIGINT PRIMARY KEY,
  sets BYTEA NOT NULL
) WITH (toast_tuple_target = 8160);
ALTER TABLE search_grams ALTER COLUMN sets SET STORAGE EXTERNAL;
