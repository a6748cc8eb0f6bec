-- The tables of the index in its own SQLite file. PostgreSQL has the same tables in the store's
-- database (migrations of the store).

-- A space is one build of a workspace's index. While a new one is built, a workspace has two.
-- cursor is the last event that it contains, and mark the id of that event. While it is built, kind
-- and number are the last record built. chunk is the open chunk, with its used places and its bytes.
CREATE TABLE search_spaces (
  space INTEGER PRIMARY KEY AUTOINCREMENT,
  workspace BLOB NOT NULL,
  state SMALLINT NOT NULL,
  form BIGINT NOT NULL,
  asked BIGINT NOT NULL,
  turn BIGINT NOT NULL,
  cursor BIGINT NOT NULL,
  mark BLOB,
  kind SMALLINT NOT NULL,
  number BIGINT NOT NULL,
  chunk BIGINT NOT NULL,
  used BIGINT NOT NULL,
  bytes BIGINT NOT NULL,
  moves BIGINT NOT NULL
);
CREATE INDEX search_spaces_of ON search_spaces (workspace);
-- A workspace has one space that is being built, even if two nodes follow at once.
CREATE UNIQUE INDEX search_spaces_building ON search_spaces (workspace) WHERE state = 0;
-- The space to remove next.
CREATE INDEX search_spaces_leaving ON search_spaces (space) WHERE state = 2;

-- A record at its place. at combines the space (high 32 bits) and the place in it.
CREATE TABLE search_texts (
  at INTEGER PRIMARY KEY,
  id BLOB NOT NULL,
  kind SMALLINT NOT NULL,
  parent BLOB,
  updated_at BIGINT NOT NULL,
  title TEXT NOT NULL,
  body TEXT NOT NULL
);
CREATE UNIQUE INDEX search_texts_by_id ON search_texts ((at >> 32), id);

-- A chunk that is full. at is its first place, live how many of its places still have a record, gone
-- those that have left since. sealed is 1 when it has sets of grams, terms and heads.
CREATE TABLE search_chunks (
  at INTEGER PRIMARY KEY,
  places BIGINT NOT NULL,
  live BIGINT NOT NULL,
  sealed SMALLINT NOT NULL,
  gone BLOB
);

-- The sets of a page of buckets. at is the first place of the chunk plus the number of the page.
CREATE TABLE search_grams (
  at INTEGER PRIMARY KEY,
  sets BLOB NOT NULL
);

-- A page of terms with their sets. at is the first place of the chunk plus the number of the page.
CREATE TABLE search_terms (
  at INTEGER PRIMARY KEY,
  names TEXT NOT NULL,
  sets BLOB NOT NULL
);

-- The heads of a chunk. at is its first place.
CREATE TABLE search_heads (
  at INTEGER PRIMARY KEY,
  heads BLOB NOT NULL
);

-- The version of these tables. A file with another version is rebuilt.
CREATE TABLE search_layout (layout BIGINT NOT NULL);
INSERT INTO search_layout (layout) VALUES (3);
