-- +goose Up
-- The tables of Sheaf 1.0.0, grouped by noun: the installation, people, keys, content, shares,
-- proposals, releases, media, the event log, webhooks. A later change is a file of its own.
--
-- Conventions:
--   ws           the workspace's small number (workspaces.ws), first in nearly every key, so that the
--                rows of a workspace are read by themselves
--   sub          the subscription's small number (subscriptions.sub)
--   id           a UUID whose first bits are its creation time, as 16 bytes
--   number       a position in the workspace's count of created records: the order of lists, and the
--                order among records that are equal otherwise
--   revision     rises when a field of the record itself changes: its ETag
--   *_folded     the text in the form in which it is compared and searched (store.Fold)
--   *_at, until, due   a time, in milliseconds since 1970, UTC
--   0 and 1      false and true
-- Default values are for rows whose insert leaves the column out.
--
-- The order of a table's indexes matters: between indexes of equal cost, PostgreSQL takes the one made
-- last.

-- The versions of this schema: a program of schema n may serve the database if n >= oldest in the
-- row with the highest version.
CREATE TABLE schema_compat (
  version BIGINT PRIMARY KEY,
  oldest BIGINT NOT NULL
);
INSERT INTO schema_compat (version, oldest) VALUES (1, 1);

-- ===== The installation =====

-- Values that the program keeps for itself, such as the check of the master key and the time up to
-- which the sweep trusted the clock.
CREATE TABLE settings (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
);

-- The last small numbers given: 'workspace', 'subscription' and 'instance_audit'.
CREATE TABLE counters (
  name TEXT PRIMARY KEY,
  last BIGINT NOT NULL
);

-- One-time links with which the first person sets a password.
CREATE TABLE setup_links (
  hash BLOB PRIMARY KEY, -- SHA-256 of the token in the link
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);

-- ===== Workspaces and people =====

-- A workspace is a tenant. A transaction that changes its content locks this row, and maintains the
-- counters in it.
CREATE TABLE workspaces (
  ws INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE,
  name TEXT NOT NULL,
  plan TEXT NOT NULL,
  personal BIGINT NOT NULL, -- 1: it belongs to one user and takes no second member
  created_at BIGINT NOT NULL,
  version BIGINT NOT NULL, -- rises when its content changes: the key of cached answers
  last_number BIGINT NOT NULL, -- the number of the record created last
  last_event BIGINT NOT NULL, -- the number of its newest event
  last_event_at BIGINT NOT NULL DEFAULT 0, -- the time of that event. No later event gets an earlier time
  newest_at BIGINT NOT NULL DEFAULT 0, -- the latest updated_at that a record was given (app/newest.go)
  newest_shared BIGINT NOT NULL DEFAULT 0, -- how many records were given newest_at
  projects BIGINT NOT NULL, -- its number of projects, and so on
  documents BIGINT NOT NULL, -- without deleted ones
  subscriptions BIGINT NOT NULL,
  filters BIGINT NOT NULL DEFAULT 0, -- subscriptions that have a filter
  restrictions BIGINT NOT NULL DEFAULT 0, -- restrictions that are live
  reviewed BIGINT NOT NULL DEFAULT 0, -- projects whose documents change only after review
  given TEXT NOT NULL DEFAULT '', -- deliveries that events have added to each lane, as sub:count (store/lane_count.go)
  brandings BIGINT NOT NULL DEFAULT 0,
  shares BIGINT NOT NULL DEFAULT 0,
  storage BIGINT NOT NULL DEFAULT 0, -- bytes of texts, past versions, proposals, releases and media
  kept BIGINT NOT NULL DEFAULT 0, -- bytes of reported events and of kept answers
  default_branding BLOB, -- the look of shares that name no branding
  letters_until BIGINT NOT NULL DEFAULT 0, -- until when its allowance of mails about webhooks is used up (notice.go)
  asks_until BIGINT NOT NULL DEFAULT 0, -- until when its allowance of mails to people who are asked to approve is used up
  deleted_at BIGINT NOT NULL DEFAULT 0, -- when the operator deleted it. 0: it is not deleted
  ends_at BIGINT NOT NULL DEFAULT 0, -- when the removal of a deleted workspace begins
  removing BIGINT NOT NULL DEFAULT 0 -- 1: some of its rows may be removed already
);
CREATE INDEX workspaces_deleted ON workspaces (ends_at) WHERE deleted_at <> 0; -- for the sweep

-- The ids of removed workspaces. With them the sweep removes bytes of media that an upload wrote after
-- the removal.
CREATE TABLE removed_workspaces (
  id BLOB PRIMARY KEY NOT NULL,
  removed_at BIGINT NOT NULL
);

CREATE TABLE users (
  id BLOB PRIMARY KEY NOT NULL,
  email TEXT, -- NULL: the user cannot sign in
  email_folded TEXT UNIQUE,
  name TEXT NOT NULL,
  password_hash TEXT NOT NULL, -- empty until a password is set
  password_allowed BIGINT NOT NULL DEFAULT 0, -- 1: the user may sign in with it even if the server has turned passwords off
  created_at BIGINT NOT NULL,
  erased_at BIGINT -- when the name and the e-mail were erased. NULL: they were not
);

CREATE TABLE members (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  user_id BLOB NOT NULL REFERENCES users (id),
  role TEXT NOT NULL, -- owner, admin, editor or member
  restriction BIGINT NOT NULL DEFAULT 0, -- restrictions.number. 0: they see the whole workspace
  restricted_to TEXT NOT NULL DEFAULT '', -- restrictions.ids. Only editors and members have one
  created_at BIGINT NOT NULL, -- when the user joined
  PRIMARY KEY (ws, user_id)
);
CREATE INDEX members_by_user ON members (user_id); -- the workspaces of a person who signs in
CREATE INDEX members_restricted ON members (ws, restriction) WHERE restriction <> 0; -- whether a restriction is live

-- Who joined, left or was removed, and who got another role. A workspace keeps the newest 1,000
-- (sheaf.MemberEventsKept), and none that is older than its events may be.
CREATE TABLE member_events (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  number BIGINT NOT NULL,
  kind TEXT NOT NULL, -- joined, left, removed or role
  user_id BLOB NOT NULL, -- the member
  by_user BLOB, -- who did it. NULL: an operator
  role TEXT NOT NULL, -- the new role, or the last
  was TEXT NOT NULL, -- the role before. Empty: none
  at BIGINT NOT NULL,
  PRIMARY KEY (ws, number)
) WITHOUT ROWID;
CREATE INDEX member_events_by_time ON member_events (at); -- for the sweep

-- Who did what to keys, members, webhooks, shares and settings (sheaf.WorkspaceActions). A line is written
-- in the transaction of its action, and kept for --audit-retention.
CREATE TABLE audit (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  number BIGINT NOT NULL, -- in the order of the transactions
  id BLOB NOT NULL,
  at BIGINT NOT NULL,
  action TEXT NOT NULL, -- noun.verb
  actor_user BLOB, -- NULL: no person
  actor_key BLOB, -- NULL: not by a key
  operator BIGINT NOT NULL, -- 1: on the command line
  address TEXT NOT NULL, -- of the client. Empty: none, or the person was erased
  request_id TEXT NOT NULL,
  target TEXT NOT NULL,
  email TEXT, -- of an invited person. NULL: none, or the person was erased
  fields_before TEXT, -- JSON without secrets
  fields_after TEXT,
  PRIMARY KEY (ws, number),
  UNIQUE (ws, id)
);
CREATE INDEX audit_by_time ON audit (at); -- for the sweep
CREATE INDEX audit_by_action ON audit (ws, action, number);
CREATE INDEX audit_by_target ON audit (ws, target, number);
CREATE INDEX audit_by_user ON audit (actor_user, ws, number) WHERE actor_user IS NOT NULL; -- also to erase a person
CREATE INDEX audit_by_key ON audit (ws, actor_key, number) WHERE actor_key IS NOT NULL;
CREATE INDEX audit_by_email ON audit (email) WHERE email IS NOT NULL; -- to erase a person

-- Sign-ins, second factors, and what operators did (sheaf.InstanceActions). counters numbers the lines.
CREATE TABLE instance_audit (
  number BIGINT PRIMARY KEY,
  id BLOB NOT NULL UNIQUE,
  at BIGINT NOT NULL,
  action TEXT NOT NULL, -- noun.verb
  actor_user BLOB, -- NULL: no person
  actor_key BLOB, -- NULL: not by a key
  operator BIGINT NOT NULL, -- 1: on the command line
  address TEXT NOT NULL, -- of the client. Empty: none, or the person was erased
  request_id TEXT NOT NULL,
  target TEXT NOT NULL,
  email TEXT, -- of an invited person. NULL: none, or the person was erased
  fields_before TEXT, -- JSON without secrets
  fields_after TEXT,
  workspace BLOB, -- id of the workspace. NULL: none
  count BIGINT NOT NULL -- failures in the minute from `at`. 0: the line stands for one action
);
CREATE INDEX instance_audit_by_time ON instance_audit (at); -- for the sweep
CREATE INDEX instance_audit_by_user ON instance_audit (actor_user) WHERE actor_user IS NOT NULL; -- to erase a person
CREATE INDEX instance_audit_by_target ON instance_audit (target, number);
CREATE INDEX instance_audit_by_workspace ON instance_audit (workspace) WHERE workspace IS NOT NULL; -- to remove it
CREATE INDEX instance_audit_by_email ON instance_audit (email) WHERE email IS NOT NULL; -- to erase a person
CREATE UNIQUE INDEX instance_audit_counted ON instance_audit (action, at, target, address) WHERE count > 0;

-- Open invitations. An accepted one is deleted.
CREATE TABLE invitations (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  id BLOB NOT NULL,
  hash BLOB NOT NULL UNIQUE, -- SHA-256 of the token in the link
  email TEXT NOT NULL,
  email_folded TEXT NOT NULL,
  role TEXT NOT NULL,
  restriction BIGINT NOT NULL DEFAULT 0, -- the restriction of the person who joins, as in members
  restricted_to TEXT NOT NULL DEFAULT '',
  invited_by BLOB NOT NULL REFERENCES users (id),
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  letter BLOB, -- what the mail needs, sealed with the master key: the token of the link. NULL: no mail is to be sent
  letter_due BIGINT, -- when to send the mail. NULL: no mail is to be sent
  letter_tries BIGINT NOT NULL DEFAULT 0, -- failed attempts to send it
  PRIMARY KEY (ws, id)
);
CREATE UNIQUE INDEX invitations_by_email ON invitations (ws, email_folded); -- one open invitation per address
CREATE INDEX invitations_by_expiry ON invitations (expires_at); -- for the sweep
CREATE INDEX invitations_letters ON invitations (letter_due) WHERE letter_due IS NOT NULL; -- the mails to send
CREATE INDEX invitations_restricted ON invitations (ws, restriction) WHERE restriction <> 0; -- whether a restriction is live

-- People who are signed in to the console.
CREATE TABLE sessions (
  hash BLOB PRIMARY KEY, -- SHA-256 of the token in the cookie
  user_id BLOB NOT NULL REFERENCES users (id),
  created_at BIGINT NOT NULL,
  seen_at BIGINT NOT NULL, -- accurate to about a minute
  expires_at BIGINT NOT NULL,
  address TEXT NOT NULL DEFAULT '', -- of the client that signed in
  agent TEXT NOT NULL DEFAULT '' -- what its browser called itself
);
CREATE INDEX sessions_by_user ON sessions (user_id); -- to list them, and to sign a user out everywhere
CREATE INDEX sessions_by_expiry ON sessions (expires_at); -- for the sweep

-- The second factor of a person, an authenticator app (RFC 6238). It is not of a workspace.
CREATE TABLE factors (
  user_id BLOB PRIMARY KEY NOT NULL REFERENCES users (id),
  secret BLOB NOT NULL, -- sealed with the master key
  created_at BIGINT NOT NULL,
  last_step BIGINT NOT NULL, -- the time step of the newest accepted code: no code of it, or before it, is accepted again
  failures BIGINT NOT NULL DEFAULT 0, -- wrong codes in a row
  failed_at BIGINT NOT NULL DEFAULT 0 -- the last wrong code
);

-- The recovery codes that are not used yet.
CREATE TABLE recovery_codes (
  user_id BLOB NOT NULL REFERENCES users (id),
  hash BLOB NOT NULL, -- SHA-256 of the user's id and the code
  PRIMARY KEY (user_id, hash)
);

-- People who gave the right password, and not yet a code of their second factor. They are not signed in.
CREATE TABLE pending_sign_ins (
  hash BLOB PRIMARY KEY, -- SHA-256 of the token in the cookie
  user_id BLOB NOT NULL REFERENCES users (id),
  invitation BLOB, -- hash of the link of the invitation that the sign-in will accept. NULL: none
  expires_at BIGINT NOT NULL
);
CREATE INDEX pending_sign_ins_by_user ON pending_sign_ins (user_id); -- a new password or factor ends them
CREATE INDEX pending_sign_ins_by_expiry ON pending_sign_ins (expires_at); -- for the sweep

-- Accounts at the sign-in provider (OpenID Connect) with which people sign in.
CREATE TABLE identities (
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL, -- the provider never gives it to another person
  user_id BLOB NOT NULL REFERENCES users (id),
  created_at BIGINT NOT NULL,
  PRIMARY KEY (issuer, subject)
);
CREATE UNIQUE INDEX identities_by_user ON identities (user_id, issuer); -- one account of each provider

-- Sign-ins at the provider that were completed. Each works once.
CREATE TABLE used_sign_ins (
  hash BLOB PRIMARY KEY NOT NULL, -- SHA-256 of the state
  expires_at BIGINT NOT NULL -- when nobody can use the state any more
);
CREATE INDEX used_sign_ins_by_expiry ON used_sign_ins (expires_at); -- for the sweep

-- Recent failed sign-ins, by account and by client address.
CREATE TABLE sign_in_failures (
  name TEXT PRIMARY KEY,
  failures BIGINT NOT NULL,
  failed_at BIGINT NOT NULL -- the last failure
);
CREATE INDEX sign_in_failures_by_time ON sign_in_failures (failed_at); -- for the sweep

-- Resets of forgotten passwords that were asked for within the last hour, for each e-mail that somebody typed, whether
-- or not a user has it. An e-mail has at most three.
CREATE TABLE password_resets (
  name TEXT NOT NULL, -- hash of the e-mail
  number BIGINT NOT NULL, -- 0, 1 or 2
  user_id BLOB, -- the user with the e-mail and a password. NULL: there is none, so no mail is sent
  asked_at BIGINT NOT NULL,
  letter BLOB, -- what the mail says, sealed with the master key. NULL: no mail is to be sent
  due BIGINT, -- when to send the mail. NULL: no mail is to be sent
  tries BIGINT NOT NULL DEFAULT 0, -- failed attempts to send it
  hash BLOB UNIQUE, -- SHA-256 of the token in the link. NULL: there is no valid link
  PRIMARY KEY (name, number)
);
CREATE INDEX password_resets_due ON password_resets (due) WHERE due IS NOT NULL; -- the mails to send
CREATE INDEX password_resets_by_user ON password_resets (user_id); -- a new password ends them
CREATE INDEX password_resets_by_time ON password_resets (asked_at); -- for the sweep

-- Mails to people about their own accounts that wait to be sent. A sent one is deleted.
CREATE TABLE letters (
  user_id BLOB NOT NULL REFERENCES users (id),
  id BLOB NOT NULL,
  letter BLOB NOT NULL, -- what it says, sealed with the master key
  at BIGINT NOT NULL, -- when that happened
  due BIGINT NOT NULL, -- when to send it
  tries BIGINT NOT NULL DEFAULT 0, -- failed attempts to send it
  PRIMARY KEY (user_id, id)
);
CREATE INDEX letters_due ON letters (due); -- the mails to send
CREATE INDEX letters_by_time ON letters (at); -- for the sweep

-- Until when an allowance of mails is used up, by its name.
CREATE TABLE mail_rates (
  name TEXT PRIMARY KEY,
  until BIGINT NOT NULL
);
CREATE INDEX mail_rates_by_end ON mail_rates (until); -- for the sweep

-- ===== API keys, kept answers, usage =====

CREATE TABLE api_keys (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  id BLOB NOT NULL,
  user_id BLOB NOT NULL REFERENCES users (id), -- the user who created it
  name TEXT NOT NULL,
  prefix TEXT NOT NULL, -- the beginning of the key, which lists show
  hash BLOB NOT NULL UNIQUE, -- of the key, by which requests find it
  owner TEXT NOT NULL DEFAULT 'user', -- user, or workspace: then it outlives the membership of user_id
  rotation BIGINT NOT NULL DEFAULT 0, -- how often the key got a new secret
  old_hash BLOB, -- of the previous secret, which works until old_until
  old_until BIGINT,
  scopes TEXT NOT NULL, -- separated by commas
  restriction BIGINT NOT NULL DEFAULT 0, -- restrictions.number. 0: it sees the whole workspace
  restricted_to TEXT NOT NULL DEFAULT '', -- restrictions.ids, which never change
  resource TEXT NOT NULL DEFAULT '', -- of a grant: the address at which its access tokens work. '': an API key
  secret_until BIGINT, -- of a grant: the end of its present access token
  within BIGINT NOT NULL DEFAULT 0, -- of a grant: the restriction of its person, if the grant has another one
  expires_at BIGINT,
  revoked_at BIGINT,
  last_used_at BIGINT,
  made_by_key BLOB, -- the API key that created it; only zeros: none. NULL: not known
  rotated_by_key BLOB, -- the other API key that its newest secret was made with. NULL: none
  number BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (ws, id)
);
CREATE INDEX api_keys_restricted ON api_keys (ws, restriction) WHERE restriction <> 0; -- whether a restriction is live
CREATE INDEX api_keys_by_maker ON api_keys (made_by_key) WHERE made_by_key IS NOT NULL; -- if a key has leaked
CREATE INDEX api_keys_by_rotator ON api_keys (rotated_by_key) WHERE rotated_by_key IS NOT NULL; -- likewise
CREATE INDEX api_keys_by_id ON api_keys (id); -- an operator revokes a key by its id alone
CREATE INDEX api_keys_by_creation ON api_keys (ws, created_at); -- the limit on keys created in an hour
CREATE INDEX api_keys_live ON api_keys (ws, number) WHERE revoked_at IS NULL; -- the list
CREATE INDEX api_keys_by_revocation ON api_keys (revoked_at) WHERE revoked_at IS NOT NULL; -- for the sweep
CREATE INDEX api_keys_by_expiry ON api_keys (expires_at) WHERE expires_at IS NOT NULL; -- for the sweep
CREATE UNIQUE INDEX api_keys_by_old_hash ON api_keys (old_hash) WHERE old_hash IS NOT NULL; -- requests with a previous secret
CREATE INDEX api_keys_by_old_until ON api_keys (old_until) WHERE old_until IS NOT NULL; -- for the sweep
CREATE INDEX api_keys_grants ON api_keys (ws, user_id) WHERE resource <> '' AND revoked_at IS NULL; -- the apps of a person
CREATE INDEX api_keys_unredeemed ON api_keys (expires_at) WHERE resource <> '' AND rotation = 0; -- for the sweep

-- What a grant has beyond a key. A grant is the consent of a person to an app, which then acts with access tokens.
CREATE TABLE grants (
  ws INTEGER NOT NULL,
  id BLOB NOT NULL, -- api_keys.id
  client TEXT NOT NULL, -- id of the app: oauth_clients.id, or the address of its document
  redirect TEXT NOT NULL, -- address that the code was sent to
  code_hash BLOB NOT NULL UNIQUE, -- SHA-256 of the code, which the app redeems once
  challenge TEXT NOT NULL, -- hash of the app's verifier
  salt BLOB NOT NULL, -- the tokens are derived from it and the master key
  ends_at BIGINT, -- chosen by the person. Until the code is redeemed, api_keys.expires_at is the end of the code
  follows BIGINT NOT NULL DEFAULT 0, -- 1: it sees what its person sees
  renewed_at BIGINT NOT NULL, -- when tokens were last issued
  PRIMARY KEY (ws, id),
  FOREIGN KEY (ws, id) REFERENCES api_keys (ws, id) ON DELETE CASCADE
);
CREATE INDEX grants_by_client ON grants (client); -- whether an app is in use

-- Apps that have registered. One that no grant names is deleted after a day.
CREATE TABLE oauth_clients (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  uri TEXT NOT NULL,
  redirects TEXT NOT NULL, -- one in a line
  address TEXT NOT NULL, -- of the client that registered it
  created_at BIGINT NOT NULL
);
CREATE INDEX oauth_clients_by_address ON oauth_clients (address, created_at); -- the limit on registrations in an hour
CREATE INDEX oauth_clients_by_creation ON oauth_clients (created_at); -- for the sweep

-- Answers to requests with an Idempotency-Key, sent again if the request is repeated.
CREATE TABLE idempotency_keys (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  method TEXT NOT NULL,
  path TEXT NOT NULL,
  key TEXT NOT NULL,
  body_hash BLOB NOT NULL, -- of the request: a different request with the same key is refused
  status BIGINT NOT NULL,
  location TEXT NOT NULL,
  etag TEXT NOT NULL,
  bytes BIGINT NOT NULL DEFAULT 0, -- what the row counts in workspaces.kept
  body TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  restriction BIGINT NOT NULL DEFAULT 0, -- restrictions.number of the caller
  PRIMARY KEY (ws, method, path, key, restriction)
);
CREATE INDEX idempotency_keys_by_time ON idempotency_keys (created_at); -- for the sweep

-- Requests and attempts of each minute, for the charts.
CREATE TABLE minutes (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  minute BIGINT NOT NULL, -- Unix time divided by 60
  requests BIGINT NOT NULL,
  rate_limited BIGINT NOT NULL,
  delivered BIGINT NOT NULL,
  retried BIGINT NOT NULL,
  failed BIGINT NOT NULL,
  took_sum BIGINT NOT NULL, -- milliseconds of all attempts
  took_max BIGINT NOT NULL,
  took_10 BIGINT NOT NULL, -- attempts that took up to 10 ms
  took_30 BIGINT NOT NULL, -- attempts that took more than that and up to 30 ms, and so on
  took_100 BIGINT NOT NULL,
  took_300 BIGINT NOT NULL,
  took_1000 BIGINT NOT NULL,
  took_3000 BIGINT NOT NULL,
  took_more BIGINT NOT NULL,
  PRIMARY KEY (ws, minute)
);
CREATE INDEX minutes_by_time ON minutes (minute); -- for the sweep

-- ===== Folders, brandings, projects, documents =====

-- The primary keys of these tables begin with the id, which begins with its time: the inserts of a
-- hundred workspaces then change one page of the index and not a hundred.

CREATE TABLE folders (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  id BLOB NOT NULL,
  entity_type TEXT NOT NULL, -- what it holds: project or branding
  parent_id BLOB, -- NULL: it is at the root level
  external_id TEXT, -- its name in another system
  name TEXT NOT NULL,
  name_folded TEXT NOT NULL,
  color TEXT NOT NULL,
  sort_order BIGINT NOT NULL,
  depth BIGINT NOT NULL, -- 1 at the root level
  project_count BIGINT NOT NULL, -- the projects directly in it
  branding_count BIGINT NOT NULL DEFAULT 0, -- the brandings directly in it
  number BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (id, ws),
  FOREIGN KEY (parent_id, ws) REFERENCES folders (id, ws)
);
-- Each order of the list, each filter, and the lookup by external id.
CREATE UNIQUE INDEX folders_in_order ON folders (ws, sort_order, number);
CREATE INDEX folders_in_parent ON folders (ws, parent_id, sort_order, number);
CREATE INDEX folders_by_creation ON folders (ws, number);
CREATE INDEX folders_by_name ON folders (ws, name_folded, number);
CREATE INDEX folders_by_update ON folders (ws, updated_at, number);
CREATE INDEX folders_of_type ON folders (ws, entity_type, sort_order, number);
CREATE UNIQUE INDEX folders_by_external_id ON folders (ws, external_id) WHERE external_id IS NOT NULL;

-- How published pages look.
CREATE TABLE brandings (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  id BLOB NOT NULL,
  folder_id BLOB, -- NULL: it is at the root level
  name TEXT NOT NULL,
  name_folded TEXT NOT NULL,
  logo_media_id BLOB,
  color_primary TEXT NOT NULL,
  font TEXT NOT NULL,
  footer TEXT,
  sort_order BIGINT NOT NULL,
  number BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (id, ws),
  FOREIGN KEY (folder_id, ws) REFERENCES folders (id, ws)
);
-- Each order of the list, and its filter.
CREATE UNIQUE INDEX brandings_in_order ON brandings (ws, sort_order, number);
CREATE INDEX brandings_in_folder ON brandings (ws, folder_id, sort_order, number);
CREATE INDEX brandings_by_name ON brandings (ws, name_folded, number);
CREATE INDEX brandings_by_update ON brandings (ws, updated_at, number);
CREATE INDEX brandings_by_creation ON brandings (ws, number);
-- The brandings that lose their logo when a medium is deleted.
CREATE INDEX brandings_by_logo ON brandings (ws, logo_media_id, number) WHERE logo_media_id IS NOT NULL;

CREATE TABLE projects (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  id BLOB NOT NULL,
  folder_id BLOB, -- NULL: it is at the root level
  external_id TEXT, -- its name in another system
  url TEXT, -- its address in another system
  name TEXT NOT NULL,
  name_folded TEXT NOT NULL,
  description TEXT,
  description_folded TEXT,
  icon TEXT,
  color TEXT,
  metadata TEXT, -- a JSON object. NULL: empty
  sort_order BIGINT NOT NULL,
  visibility TEXT NOT NULL,
  approvals BIGINT NOT NULL DEFAULT 0, -- how many a change of its documents needs. 0: no review
  document_count BIGINT NOT NULL, -- without deleted ones
  number BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (id, ws),
  FOREIGN KEY (folder_id, ws) REFERENCES folders (id, ws)
);
-- Two orders of the list, and the lookup by external id.
CREATE INDEX projects_by_name ON projects (ws, name_folded, number);
CREATE INDEX projects_by_update ON projects (ws, updated_at, number);
CREATE UNIQUE INDEX projects_by_external_id ON projects (ws, external_id) WHERE external_id IS NOT NULL;
-- The other orders. Most projects are at the root level with sort_order 0: they are in the first
-- index only. A list of all projects merges the parts (projectParts in store/project.go). The last
-- column of the first two is in their condition: SQLite would otherwise read the row to count it or
-- to skip it.
CREATE INDEX projects_at_root ON projects (ws, sort_order, number, folder_id) WHERE folder_id IS NULL;
CREATE INDEX projects_filed ON projects (ws, sort_order, number, folder_id) WHERE folder_id IS NOT NULL;
CREATE INDEX projects_in_folder ON projects (ws, folder_id, sort_order, number) WHERE folder_id IS NOT NULL;
CREATE INDEX projects_by_creation ON projects (ws, number, sort_order) WHERE sort_order <> 0;

-- A document, with its current version. The text is in texts, and past versions are in versions.
CREATE TABLE documents (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  id BLOB NOT NULL,
  project_id BLOB, -- NULL: it is in no project
  parent_id BLOB, -- the document above it, in the same project. NULL: it is at the top level
  sort_order BIGINT, -- its position among those with the same parent. NULL: number * 1048576
  external_id TEXT, -- its name in another system. A deleted document keeps it, for a restore
  url TEXT, -- its address in another system
  title TEXT NOT NULL,
  title_folded TEXT NOT NULL,
  description TEXT,
  description_folded TEXT,
  metadata TEXT, -- a JSON object. NULL: empty
  deleted_at BIGINT, -- NULL: it is not in the trash
  deletion BIGINT, -- the number of the deletion that it shares with others, negative for the document that was deleted itself (app/document_trash.go)
  version BIGINT NOT NULL DEFAULT 1,
  version_at BIGINT, -- when the current version was made. NULL: with the document
  version_user BLOB, -- the user who made the current version
  version_key BLOB, -- the API key with which it was made. NULL: none
  version_proposal BLOB, -- the proposal whose acceptance made it. NULL: none
  version_restored BIGINT, -- the version that the current one restored. NULL: none
  content_bytes BIGINT NOT NULL DEFAULT 0,
  content_hash BLOB, -- SHA-256 of the text. NULL: the text is empty
  fields_hash BLOB, -- SHA-256 of description, external_id, url and metadata (store/fields.go). NULL: it has none of them
  number BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (id, ws),
  FOREIGN KEY (project_id, ws) REFERENCES projects (id, ws),
  FOREIGN KEY (parent_id, ws) REFERENCES documents (id, ws)
);
-- Each order of the list, and its filter.
CREATE UNIQUE INDEX documents_in_order ON documents (ws, number) WHERE deleted_at IS NULL;
CREATE INDEX documents_by_update ON documents (ws, updated_at, number) WHERE deleted_at IS NULL;
-- project_id is there to skip documents that a restricted caller does not see without reading their rows.
CREATE INDEX documents_by_title ON documents (ws, title_folded, number, project_id) WHERE deleted_at IS NULL;
CREATE INDEX documents_in_project ON documents (ws, project_id, updated_at, number);
-- The documents at the top level of a project, or of none, in their order. 1048576 is sheaf.OrderStep.
-- The last columns are in its condition: SQLite would otherwise read the row to count it or to skip it.
CREATE INDEX documents_at_top ON documents (ws, project_id, COALESCE(sort_order, number * 1048576), number, parent_id, deleted_at)
  WHERE parent_id IS NULL AND deleted_at IS NULL;
-- The documents below a parent, in their order. deleted_at is there to skip deleted ones without
-- reading their rows.
CREATE INDEX documents_in_parent ON documents (ws, parent_id, COALESCE(sort_order, number * 1048576), number, deleted_at)
  WHERE parent_id IS NOT NULL;
-- Documents whose old versions the sweep may delete. 100 is sheaf.KeptVersions.
CREATE INDEX documents_of_many_versions ON documents (ws, id) WHERE version > 100;
-- The lookup by external id.
CREATE UNIQUE INDEX documents_by_external_id ON documents (ws, external_id) WHERE external_id IS NOT NULL;
-- The trash, in each order of its list. The sweep uses the first.
CREATE INDEX documents_deleted ON documents (ws, deleted_at, number) WHERE deleted_at IS NOT NULL;
CREATE INDEX documents_deleted_in_order ON documents (ws, number) WHERE deleted_at IS NOT NULL;
CREATE INDEX documents_deleted_by_update ON documents (ws, updated_at, number) WHERE deleted_at IS NOT NULL;
CREATE INDEX documents_deleted_by_title ON documents (ws, title_folded, number) WHERE deleted_at IS NOT NULL;

-- The documents that were deleted together.
CREATE INDEX documents_of_deletion ON documents (ws, deletion) WHERE deletion IS NOT NULL;
-- The documents whose deletion or restore takes several transactions and has not ended.
CREATE INDEX documents_between ON documents (ws, deletion) WHERE deletion IS NOT NULL AND deleted_at IS NULL;

-- The texts of documents. Versions of a document with the same text share one row.
CREATE TABLE texts (
  ws INTEGER NOT NULL,
  document_id BLOB NOT NULL,
  hash BLOB NOT NULL, -- SHA-256 of the text
  form SMALLINT NOT NULL, -- how body is compressed (store/pack.go)
  bytes BIGINT NOT NULL, -- the length of the text
  body BLOB NOT NULL,
  PRIMARY KEY (document_id, ws, hash),
  FOREIGN KEY (document_id, ws) REFERENCES documents (id, ws)
);

-- Past versions of documents.
CREATE TABLE versions (
  ws INTEGER NOT NULL,
  document_id BLOB NOT NULL,
  version BIGINT NOT NULL,
  title TEXT NOT NULL,
  content_bytes BIGINT NOT NULL,
  content_hash BLOB, -- NULL: the text was empty
  user_id BLOB, -- the user who made it
  key_id BLOB, -- the API key with which it was made. NULL: none
  proposal_id BLOB, -- the proposal whose acceptance made it. NULL: none
  created_at BIGINT NOT NULL,
  restored BIGINT, -- the number of the version that it restored. NULL: none
  PRIMARY KEY (document_id, ws, version),
  FOREIGN KEY (document_id, ws) REFERENCES documents (id, ws)
) WITHOUT ROWID;

-- ===== Shares =====

-- Published pages, which people without an account read.
CREATE TABLE shares (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  id BLOB NOT NULL,
  resource_type BIGINT NOT NULL, -- 1: a document, 2: a project, 3: a folder
  resource_id BLOB NOT NULL,
  token TEXT NOT NULL, -- the secret part of the address
  password_hash TEXT, -- NULL: readers need no password
  expires_at BIGINT,
  branding_id BLOB, -- NULL: the workspace's default
  listed BIGINT NOT NULL, -- 1: search engines may list it
  newest_release SMALLINT NOT NULL DEFAULT 0, -- 1: it shows the newest release of its project
  release_id BLOB, -- the release that it shows. NULL: the newest, or the documents as they are now
  show_releases SMALLINT NOT NULL DEFAULT 0, -- 1: readers switch between releases
  views BIGINT NOT NULL,
  last_viewed_at BIGINT,
  made_by_key BLOB, -- the API key that created it; only zeros: none. NULL: not known
  number BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (id, ws)
);
CREATE INDEX shares_by_maker ON shares (ws, made_by_key, number) WHERE made_by_key IS NOT NULL; -- if a key has leaked
CREATE UNIQUE INDEX shares_by_token ON shares (token); -- a reader's request
CREATE INDEX shares_in_order ON shares (ws, number); -- the list
CREATE INDEX shares_of ON shares (ws, resource_id, number); -- the shares of a document, project or folder
CREATE INDEX shares_with_release ON shares (ws, release_id) WHERE release_id IS NOT NULL; -- whether a release that is deleted is shown
CREATE INDEX shares_with_branding ON shares (ws, branding_id, number) WHERE branding_id IS NOT NULL; -- those of a branding that is deleted

-- ===== Proposals =====

-- Changes to documents that wait for a decision, or were decided.
CREATE TABLE proposals (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  id BLOB NOT NULL,
  title TEXT NOT NULL,
  message TEXT,
  state SMALLINT NOT NULL, -- 1: open, 2: accepted, 3: rejected, 4: withdrawn
  changes TEXT NOT NULL, -- a JSON array of what is proposed, without texts (sheaf/proposal.go)
  people TEXT NOT NULL, -- a JSON array of those who wrote or approved it, or were asked to
  user_id BLOB NOT NULL, -- the author
  key_id BLOB, -- the API key of the author. NULL: none
  note TEXT, -- why it was decided so
  number BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  comments BIGINT NOT NULL, -- the number of the comment made last
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  decided_at BIGINT,
  decided_by BLOB, -- a user
  PRIMARY KEY (id, ws)
);
-- The list, and its filters. The limits count open ones.
CREATE UNIQUE INDEX proposals_in_order ON proposals (ws, number);
CREATE INDEX proposals_by_update ON proposals (ws, updated_at, number);
CREATE INDEX proposals_of_state ON proposals (ws, state, number);
CREATE INDEX proposals_of_user ON proposals (ws, user_id, number);
CREATE INDEX proposals_open_of_user ON proposals (ws, user_id) WHERE state = 1;
CREATE INDEX proposals_decided ON proposals (ws, decided_at) WHERE decided_at IS NOT NULL; -- for the sweep

-- What a proposal names: who does not see all of it does not see the proposal. And whom it waits for.
CREATE TABLE proposal_targets (
  ws INTEGER NOT NULL,
  number BIGINT NOT NULL, -- of the proposal
  kind SMALLINT NOT NULL, -- 1: a document, 2: a project, 3: no project, with an id of zeros, 4: a person who was asked to approve it
  resource_id BLOB NOT NULL,
  PRIMARY KEY (ws, number, resource_id)
) WITHOUT ROWID;
CREATE INDEX proposals_naming ON proposal_targets (ws, resource_id, number); -- the list's filters

-- The texts of a proposal: the proposed ones, and those that they were made from.
CREATE TABLE proposal_texts (
  ws INTEGER NOT NULL,
  proposal_id BLOB NOT NULL,
  hash BLOB NOT NULL, -- SHA-256 of the text
  form SMALLINT NOT NULL, -- how body is compressed (store/pack.go)
  bytes BIGINT NOT NULL, -- the length of the text
  body BLOB NOT NULL,
  PRIMARY KEY (proposal_id, ws, hash),
  FOREIGN KEY (proposal_id, ws) REFERENCES proposals (id, ws)
);

-- What people say about a proposal.
CREATE TABLE proposal_comments (
  ws INTEGER NOT NULL,
  proposal_id BLOB NOT NULL,
  number BIGINT NOT NULL, -- from 1, in each proposal
  change BIGINT, -- the change of the proposal that it is about. NULL: the whole proposal
  body TEXT NOT NULL,
  user_id BLOB NOT NULL,
  key_id BLOB, -- the API key with which it was made. NULL: none
  revision BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (ws, proposal_id, number),
  FOREIGN KEY (proposal_id, ws) REFERENCES proposals (id, ws)
) WITHOUT ROWID;

-- ===== Releases =====

-- The documents of a project at one moment, under a name.
CREATE TABLE releases (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  id BLOB NOT NULL,
  project_id BLOB NOT NULL,
  name TEXT NOT NULL, -- unique in the project
  notes TEXT,
  documents BIGINT NOT NULL, -- how many it has
  user_id BLOB NOT NULL, -- the user who made it
  key_id BLOB, -- the API key with which it was made. NULL: none
  removing SMALLINT NOT NULL DEFAULT 0, -- 1: it was deleted, and its rows in the tables below are being removed. 2: it is being imported
  until BIGINT, -- until when the import goes on. NULL: it is not being imported
  number BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (id, ws)
);
CREATE UNIQUE INDEX releases_in_order ON releases (ws, number);
CREATE INDEX releases_of_project ON releases (ws, project_id, number) WHERE removing = 0; -- the list, and the newest
CREATE UNIQUE INDEX releases_by_name ON releases (ws, project_id, name) WHERE removing = 0;
CREATE INDEX releases_removing ON releases (ws, number) WHERE removing = 1; -- for the sweep
CREATE INDEX releases_until ON releases (until) WHERE until IS NOT NULL; -- for the sweep

-- The documents of a release, with their fields at that moment.
CREATE TABLE release_documents (
  ws INTEGER NOT NULL,
  release BIGINT NOT NULL, -- releases.number
  document_id BLOB NOT NULL,
  parent_id BLOB, -- a document of the same release. NULL: it is at the top level
  sort_order BIGINT NOT NULL,
  number BIGINT NOT NULL, -- of the document
  title TEXT NOT NULL,
  version BIGINT NOT NULL,
  content_bytes BIGINT NOT NULL,
  content_hash BLOB, -- NULL: the text is empty
  fields_hash BLOB, -- as in documents
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (ws, release, document_id)
) WITHOUT ROWID;
CREATE INDEX release_documents_of ON release_documents (ws, document_id, release); -- the releases that have a document
CREATE INDEX release_documents_by_hash ON release_documents (ws, content_hash) WHERE content_hash IS NOT NULL; -- whether a release has a text
CREATE INDEX release_documents_by_fields ON release_documents (ws, fields_hash) WHERE fields_hash IS NOT NULL; -- the same for fields
CREATE INDEX release_documents_below ON release_documents (ws, release, parent_id) WHERE parent_id IS NOT NULL; -- those below a document

-- The texts of the documents of releases, and their fields (store/fields.go). A text that many releases
-- have is stored once.
CREATE TABLE release_texts (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  hash BLOB NOT NULL, -- SHA-256 of the text
  form SMALLINT NOT NULL, -- how body is compressed (store/pack.go)
  bytes BIGINT NOT NULL, -- the length of the text
  body BLOB NOT NULL,
  media BLOB, -- the ids of the media that it names, one after the other. NULL: none
  until BIGINT, -- a release that needs it is being made, until then at most. NULL: a release has it
  PRIMARY KEY (hash, ws)
);
CREATE INDEX release_texts_until ON release_texts (until) WHERE until IS NOT NULL; -- for the sweep

-- The media that the texts of a release name. Their bytes stay as long as the release.
CREATE TABLE release_media (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  release BIGINT NOT NULL, -- releases.number
  medium_id BLOB NOT NULL,
  filename TEXT NOT NULL,
  content_type TEXT NOT NULL,
  bytes BIGINT NOT NULL,
  hash BLOB NOT NULL, -- SHA-256 of the bytes
  width BIGINT,
  height BIGINT,
  mentions BIGINT NOT NULL, -- how many documents of the release have a text that names it
  created_at BIGINT NOT NULL,
  PRIMARY KEY (ws, release, medium_id)
) WITHOUT ROWID;
CREATE INDEX release_media_of ON release_media (ws, medium_id); -- whether a release has a medium
CREATE INDEX release_media_by_hash ON release_media (ws, hash); -- whether a release has the bytes
CREATE INDEX release_media_unnamed ON release_media (ws, release) WHERE mentions <= 0; -- those to remove after a document left the release

-- ===== Media =====

-- Files. Their bytes are in a folder or a bucket, by workspace and hash.
CREATE TABLE media (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  id BLOB NOT NULL,
  state SMALLINT NOT NULL, -- 0: its bytes are being written, 1: live, 2: its bytes are being removed
  until BIGINT, -- until when a process may write or remove the bytes, unless state is 1
  filename TEXT NOT NULL,
  content_type TEXT NOT NULL,
  bytes BIGINT NOT NULL,
  hash BLOB NOT NULL, -- SHA-256 of the bytes
  width BIGINT, -- of a picture, in pixels
  height BIGINT,
  document_id BLOB, -- NULL: it belongs to no document
  number BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (id, ws),
  FOREIGN KEY (document_id, ws) REFERENCES documents (id, ws)
);
CREATE UNIQUE INDEX media_in_order ON media (ws, number) WHERE state = 1; -- the list
CREATE INDEX media_of_document ON media (ws, document_id, number); -- the media of a document
CREATE INDEX media_of_type ON media (ws, content_type, number) WHERE state = 1; -- its filter
CREATE INDEX media_by_hash ON media (ws, hash); -- whether other media have the same bytes
CREATE INDEX media_unsettled ON media (until) WHERE state <> 1; -- for the sweep

-- Media that arrive in pieces. Each has a row in media with state 0, unless all bytes are there.
CREATE TABLE uploads (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  id BLOB NOT NULL, -- of the medium
  owner BLOB NOT NULL, -- the API key or the user who began it
  filename TEXT NOT NULL,
  document_id BLOB,
  length BIGINT NOT NULL, -- of the whole file, as announced
  received BIGINT NOT NULL, -- bytes that are stored
  state BLOB, -- what the media storage needs to continue
  reserved BIGINT NOT NULL, -- what it counts in workspaces.storage
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (id, ws)
);
CREATE INDEX uploads_of_owner ON uploads (ws, owner); -- the limit on unfinished uploads
CREATE INDEX uploads_by_expiry ON uploads (expires_at); -- for the sweep

-- ===== The event log =====

-- The events of each workspace, numbered without gaps. They are never changed, and deleted oldest
-- first. A time is found by bisecting the numbers: no index has times.
CREATE TABLE events (
  ws INTEGER NOT NULL,
  number BIGINT NOT NULL,
  id BLOB NOT NULL,
  type SMALLINT NOT NULL, -- a number of the list in store/event.go
  resource_id BLOB NOT NULL, -- the record that changed
  at BIGINT NOT NULL,
  key_number BIGINT NOT NULL DEFAULT 0, -- api_keys.number of the key that acted. 0: a person did
  person BLOB, -- the user who acted in the console. NULL: a program did
  body TEXT NOT NULL -- the JSON that deliveries send
);
CREATE UNIQUE INDEX events_in_order ON events (ws, number); -- the list, deliveries, the search index
CREATE UNIQUE INDEX events_by_id ON events (id, ws); -- the lookup by id
CREATE INDEX events_by_resource ON events (resource_id, ws, number); -- the history of a record
CREATE INDEX events_by_type ON events (ws, type, number); -- the filter of the list
-- What a person did. An event of a program, which is most of them, is not in it.
CREATE INDEX events_by_person ON events (ws, person, number) WHERE person IS NOT NULL;

-- What each event that a client reported counts in workspaces.kept. Other events have no row.
CREATE TABLE reported_events (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  number BIGINT NOT NULL, -- of the event
  bytes BIGINT NOT NULL,
  PRIMARY KEY (ws, number)
) WITHOUT ROWID;

-- The projects and folders to which keys and subscriptions are restricted: one row for each different set.
CREATE TABLE restrictions (
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  number BIGINT NOT NULL,
  ids TEXT NOT NULL, -- sorted, separated by commas, each after the letter of its kind
  live SMALLINT NOT NULL DEFAULT 1, -- 0: nothing has it any more. The row goes with its last event
  events BIGINT NOT NULL DEFAULT 0, -- its rows in restricted_events
  PRIMARY KEY (ws, number)
) WITHOUT ROWID;

-- The log of each restriction: the events about what it covers.
CREATE TABLE restricted_events (
  ws INTEGER NOT NULL,
  restriction BIGINT NOT NULL,
  number BIGINT NOT NULL, -- of the event
  type SMALLINT NOT NULL, -- of the event
  PRIMARY KEY (ws, restriction, number)
) WITHOUT ROWID;
CREATE INDEX restricted_events_by_type ON restricted_events (ws, restriction, type, number); -- the filter of the list

-- ===== Webhooks =====

-- Whether a subscription is active is in its lane.
CREATE TABLE subscriptions (
  sub INTEGER PRIMARY KEY,
  ws INTEGER NOT NULL REFERENCES workspaces (ws),
  number BIGINT NOT NULL,
  id BLOB NOT NULL UNIQUE,
  name TEXT NOT NULL,
  url TEXT NOT NULL,
  events TEXT NOT NULL, -- event types, separated by commas
  restriction BIGINT NOT NULL DEFAULT 0, -- restrictions.number of the key that created it. 0: none
  restricted_to TEXT NOT NULL DEFAULT '', -- restrictions.ids
  filter TEXT NOT NULL DEFAULT '', -- the projects, folders or records to which events are limited. Empty: no limit
  failure_count BIGINT NOT NULL, -- deliveries that failed in a row
  deactivated_at BIGINT,
  deactivation_reason TEXT,
  last_error TEXT, -- of the last attempt. NULL: it succeeded
  header_names TEXT NOT NULL, -- of its custom headers, separated by commas
  headers BLOB, -- their values, encrypted
  secret BLOB NOT NULL, -- the signing secret, encrypted
  old_secret BLOB, -- the previous secret, encrypted, which still signs until old_secret_until
  old_secret_until BIGINT,
  since_event BIGINT NOT NULL, -- the newest event when it was created
  events_since BIGINT NOT NULL, -- the newest event when events was last changed
  filter_since BIGINT NOT NULL DEFAULT 0, -- the newest event when filter was last changed
  made_by_key BLOB, -- the API key that created it; only zeros: none. NULL: not known
  revision BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX subscriptions_in_order ON subscriptions (ws, number); -- the list

-- Deleted subscriptions whose deliveries are not deleted yet.
CREATE TABLE deleted_subscriptions (
  id BLOB PRIMARY KEY NOT NULL,
  sub INTEGER NOT NULL,
  ws INTEGER NOT NULL,
  deleted_at BIGINT NOT NULL
);

-- The state of all deliveries of a subscription that have no state of their own (store/lane.go).
CREATE TABLE lanes (
  ws INTEGER NOT NULL,
  sub INTEGER NOT NULL,
  active SMALLINT NOT NULL,
  cursor BIGINT NOT NULL, -- fresh deliveries above this event number are still to be claimed
  held_from BIGINT, -- the first event number that may be held. NULL: none is held
  held_to BIGINT, -- the last one. NULL while the lane is inactive: the range is open
  recovered_to BIGINT, -- the cursor before the last recovery moved it back
  recovered_at BIGINT, -- when that was
  held BIGINT NOT NULL DEFAULT 0, -- held deliveries up to the cursor (store/lane_count.go)
  taken BIGINT NOT NULL DEFAULT 0, -- of the given deliveries, those that are no longer fresh above the cursor
  held_version BIGINT NOT NULL DEFAULT 0, -- rises when fresh deliveries become held or cease to be
  PRIMARY KEY (ws, sub)
) WITHOUT ROWID;
CREATE INDEX lanes_recovered ON lanes (recovered_at) WHERE recovered_at IS NOT NULL; -- lanes with work that no event announces

-- One event for one subscription, with its first attempt. A delivery that arrives at the first
-- attempt changes no index: no index contains state.
CREATE TABLE deliveries (
  ws INTEGER NOT NULL,
  sub INTEGER NOT NULL,
  number BIGINT NOT NULL, -- of the event
  state SMALLINT NOT NULL DEFAULT 0, -- 0: open, 1: delivered, 2: failed, 3: held
  attempts INTEGER NOT NULL DEFAULT 0,
  tries INTEGER NOT NULL DEFAULT 0, -- attempts in this run of the retry schedule
  retry SMALLINT NOT NULL DEFAULT 0, -- 1: due is the time of a retry
  due BIGINT, -- when the next attempt is due. NULL: the lane decides, or there is none
  token TEXT, -- of the claim of this row alone. NULL: it has none
  until BIGINT, -- when that claim ends
  hand SMALLINT NOT NULL DEFAULT 0, -- 1: a client asked for this attempt
  back_at BIGINT, -- the due time to return to if that attempt fails
  again SMALLINT NOT NULL DEFAULT 0, -- 1: a client asked for one more attempt during this one
  stopped SMALLINT, -- 1: it failed or is held. NULL otherwise
  finished_at BIGINT,
  last_status INTEGER, -- of the last attempt, and so is last_error
  last_error TEXT,
  started_at BIGINT, -- the first attempt, from here on. NULL: there was none
  duration_us BIGINT,
  status_code INTEGER,
  error_class TEXT,
  error TEXT,
  remote_address TEXT,
  dns_us BIGINT,
  connect_us BIGINT,
  tls_us BIGINT,
  first_byte_us BIGINT,
  body_us BIGINT,
  response_body TEXT,
  PRIMARY KEY (ws, sub, number)
) WITHOUT ROWID;
CREATE INDEX deliveries_due ON deliveries (sub, retry, due, number) WHERE due IS NOT NULL; -- a lane's claims: retries and other due rows are two queues
CREATE INDEX deliveries_stopped ON deliveries (sub, number) WHERE stopped IS NOT NULL; -- the list of failed ones, and recovery
CREATE INDEX deliveries_leased ON deliveries (until) WHERE until IS NOT NULL; -- claims that a dead node left

-- The attempts of a delivery after its first one.
CREATE TABLE attempts (
  ws INTEGER NOT NULL,
  sub INTEGER NOT NULL,
  event BIGINT NOT NULL, -- deliveries.number
  number INTEGER NOT NULL, -- 2 or more
  started_at BIGINT NOT NULL,
  duration_us BIGINT NOT NULL,
  status_code INTEGER NOT NULL,
  error_class TEXT NOT NULL,
  error TEXT NOT NULL,
  remote_address TEXT NOT NULL,
  dns_us BIGINT NOT NULL,
  connect_us BIGINT NOT NULL,
  tls_us BIGINT NOT NULL,
  first_byte_us BIGINT NOT NULL,
  body_us BIGINT NOT NULL,
  response_body TEXT NOT NULL,
  PRIMARY KEY (ws, sub, event, number)
) WITHOUT ROWID;

-- What one node has claimed from a lane: the fresh deliveries of the events lo to hi.
CREATE TABLE leases (
  ws INTEGER NOT NULL,
  sub INTEGER NOT NULL,
  token TEXT NOT NULL,
  lo BIGINT NOT NULL,
  hi BIGINT NOT NULL,
  open INTEGER NOT NULL, -- how many of them are neither recorded nor given back
  until BIGINT NOT NULL, -- when another node may take them over
  PRIMARY KEY (ws, sub, token)
) WITHOUT ROWID;
CREATE INDEX leases_by_end ON leases (until); -- leases that a dead node left

-- Mails: one row for each subscription that ever failed, and one for each person who was asked to approve
-- a proposal.
CREATE TABLE notices (
  ws INTEGER NOT NULL,
  sub INTEGER NOT NULL, -- the subscription. 0: the mail is about a proposal
  proposal BIGINT NOT NULL DEFAULT 0, -- number of the proposal. 0: the mail is about a subscription
  user_id BLOB NOT NULL DEFAULT X'00000000000000000000000000000000', -- the person who was asked. Zeros: the mail is about a subscription
  event BIGINT NOT NULL, -- the event that caused the notice, or the time of the ask
  at BIGINT NOT NULL, -- when that happened
  due BIGINT, -- when to send the mail. NULL: it was sent
  tries BIGINT NOT NULL, -- failed attempts to send it
  told_at BIGINT NOT NULL, -- the last mail that it began to fail, or to the person
  off_at BIGINT NOT NULL DEFAULT 0, -- the last mail that it was turned off
  PRIMARY KEY (ws, sub, proposal, user_id)
);
CREATE INDEX notices_due ON notices (due) WHERE due IS NOT NULL; -- the mails to send
