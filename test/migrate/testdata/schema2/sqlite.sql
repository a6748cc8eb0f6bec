PRAGMA application_id = 1397245249;
CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
INSERT INTO goose_db_version VALUES(1,0,1,'2026-11-15 07:28:28');
INSERT INTO goose_db_version VALUES(2,1,1,'2026-11-15 07:28:28');
INSERT INTO goose_db_version VALUES(3,2,1,'2026-11-15 07:28:28');
CREATE TABLE schema_compat (
  version BIGINT PRIMARY KEY,
  oldest BIGINT NOT NULL
);
INSERT INTO schema_compat VALUES(1,1);
INSERT INTO schema_compat VALUES(2,2);
CREATE TABLE settings (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
);
INSERT INTO settings VALUES('master_key_check','370b0c9b88d5de2301a5bc13fa59bca370ea6f07d7361f4499243e21a6c2bc86');
CREATE TABLE workspaces (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  plan TEXT NOT NULL,
  personal BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  version BIGINT NOT NULL,
  last_number BIGINT NOT NULL,
  last_event BIGINT NOT NULL,
  projects BIGINT NOT NULL,
  documents BIGINT NOT NULL,
  subscriptions BIGINT NOT NULL
);
INSERT INTO workspaces VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','Acme','business',0,1794727708553,1794727709033001,15,16,2,3,2);
CREATE TABLE users (
  id TEXT PRIMARY KEY,
  email TEXT,
  email_folded TEXT UNIQUE,
  name TEXT NOT NULL,
  password_hash TEXT NOT NULL,
  created_at BIGINT NOT NULL
);
INSERT INTO users VALUES('01a1de1b-8788-7cdf-ad2c-13e65b08bb4e',NULL,NULL,'','',1794727708552);
CREATE TABLE members (
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  user_id TEXT NOT NULL REFERENCES users (id),
  role TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, user_id)
);
INSERT INTO members VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8788-7cdf-ad2c-13e65b08bb4e','owner',1794727708553);
CREATE TABLE setup_links (
  hash BLOB PRIMARY KEY,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE TABLE api_keys (
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  id TEXT NOT NULL,
  user_id TEXT NOT NULL REFERENCES users (id),
  name TEXT NOT NULL,
  prefix TEXT NOT NULL,
  hash BLOB NOT NULL UNIQUE,
  scopes TEXT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT,
  last_used_at BIGINT,
  number BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, id)
);
INSERT INTO api_keys VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8811-78e9-a3af-3f444a4c8e49','01a1de1b-8788-7cdf-ad2c-13e65b08bb4e','fixture','shf_cJ6f30',X'e7e7d8aeeb850a50a72daf8c14f25950adf0c0a157034fbfa0923d260752045d','projects:read,projects:write,documents:read,documents:write,webhooks:read,webhooks:write,events:read,events:write,keys:read,keys:write',NULL,NULL,1794727709042,1,1794727708688);
CREATE TABLE folders (
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  id TEXT NOT NULL,
  entity_type TEXT NOT NULL,
  parent_id TEXT,
  name TEXT NOT NULL,
  name_folded TEXT NOT NULL,
  color TEXT NOT NULL,
  sort_order BIGINT NOT NULL,
  depth BIGINT NOT NULL,
  project_count BIGINT NOT NULL,
  number BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, id),
  FOREIGN KEY (workspace_id, parent_id) REFERENCES folders (workspace_id, id)
);
INSERT INTO folders VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8917-70ec-be8f-1b43bc062f03','project',NULL,'Products','products','#6b7280',0,1,0,5,1,1794727708951,1794727708951);
INSERT INTO folders VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-891a-764d-b2b9-7d741230db4b','project','01a1de1b-8917-70ec-be8f-1b43bc062f03','Käse','käse','#2563eb',0,2,0,6,1,1794727708954,1794727708954);
INSERT INTO folders VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8926-7a91-932f-c6a48ef9760e','project','01a1de1b-891a-764d-b2b9-7d741230db4b','Leaf','leaf','#6b7280',0,3,1,7,1,1794727708966,1794727708966);
INSERT INTO folders VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8929-7114-8925-5b4194bb1f01','branding',NULL,'Brand','brand','#6b7280',0,1,0,8,1,1794727708969,1794727708969);
CREATE TABLE projects (
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  id TEXT NOT NULL,
  folder_id TEXT,
  name TEXT NOT NULL,
  name_folded TEXT NOT NULL,
  description TEXT,
  description_folded TEXT,
  icon TEXT,
  color TEXT,
  sort_order BIGINT NOT NULL,
  visibility TEXT NOT NULL,
  document_count BIGINT NOT NULL,
  number BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, id),
  FOREIGN KEY (workspace_id, folder_id) REFERENCES folders (workspace_id, id)
);
INSERT INTO projects VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-892c-798f-af0a-6576c3dd8b70','01a1de1b-8926-7a91-932f-c6a48ef9760e','Handbook','handbook',replace('“odd” \ \n ☃ 😀','\n',char(10)),replace('“odd” \ \n ☃ 😀','\n',char(10)),'book-open',NULL,-7,'private',1,9,2,1794727708972,1794727708975);
INSERT INTO projects VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8937-7e4e-8bae-4106e4994bc7',NULL,'Free','free',NULL,NULL,NULL,NULL,0,'private',0,10,1,1794727708983,1794727708983);
CREATE TABLE documents (
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  id TEXT NOT NULL,
  project_id TEXT,
  title TEXT NOT NULL,
  title_folded TEXT NOT NULL,
  description TEXT,
  description_folded TEXT,
  deleted_at BIGINT,
  number BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, id),
  FOREIGN KEY (workspace_id, project_id) REFERENCES projects (workspace_id, id)
);
INSERT INTO documents VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8942-719e-a535-45abc8cd79d2','01a1de1b-892c-798f-af0a-6576c3dd8b70','In','in',NULL,NULL,NULL,12,1,1794727708994,1794727708994);
INSERT INTO documents VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8945-7fa8-8f92-35aa1fd5b83f',NULL,'Loose','loose','d','d',NULL,13,1,1794727708997,1794727708997);
INSERT INTO documents VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8948-72d4-8a9e-1c1c4e352b71',NULL,'Unlinked','unlinked',NULL,NULL,NULL,14,2,1794727709000,1794727709033);
INSERT INTO documents VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-894a-745a-b664-d696f6deb081',NULL,'Deleted','deleted',NULL,NULL,1794727709018,15,1,1794727709002,1794727709002);
CREATE TABLE events (
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  number BIGINT NOT NULL,
  id TEXT NOT NULL,
  type TEXT NOT NULL,
  resource_id TEXT NOT NULL,
  at BIGINT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (workspace_id, number)
);
INSERT INTO events VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d',1,'evt_01a1de1b-8917-71d6-abc4-b115499ad8bb','folder.created','01a1de1b-8917-70ec-be8f-1b43bc062f03',1794727708951,'{"id":"evt_01a1de1b-8917-71d6-abc4-b115499ad8bb","type":"folder.created","timestamp":"2026-11-15T07:28:28.951Z","user_id":"01a1de1b-8788-7cdf-ad2c-13e65b08bb4e","workspace_id":"01a1de1b-8789-7eab-a0b3-844fa706a76d","resource_type":"folder","resource_id":"01a1de1b-8917-70ec-be8f-1b43bc062f03","payload":{"id":"01a1de1b-8917-70ec-be8f-1b43bc062f03","name":"Products","entity_type":"project","parent_id":null,"color":"#6b7280","sort_order":0,"depth":1,"project_count":0,"created_at":"2026-11-15T07:28:28.951Z","updated_at":"2026-11-15T07:28:28.951Z"}}');
INSERT INTO events VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d',2,'evt_01a1de1b-891a-7865-ba18-ef7804c67711','folder.created','01a1de1b-891a-764d-b2b9-7d741230db4b',1794727708954,'{"id":"evt_01a1de1b-891a-7865-ba18-ef7804c67711","type":"folder.created","timestamp":"2026-11-15T07:28:28.954Z","user_id":"01a1de1b-8788-7cdf-ad2c-13e65b08bb4e","workspace_id":"01a1de1b-8789-7eab-a0b3-844fa706a76d","resource_type":"folder","resource_id":"01a1de1b-891a-764d-b2b9-7d741230db4b","payload":{"id":"01a1de1b-891a-764d-b2b9-7d741230db4b","name":"Käse","entity_type":"project","parent_id":"01a1de1b-8917-70ec-be8f-1b43bc062f03","color":"#2563eb","sort_order":0,"depth":2,"project_count":0,"created_at":"2026-11-15T07:28:28.954Z","updated_at":"2026-11-15T07:28:28.954Z"}}');
INSERT INTO events VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d',3,'evt_01a1de1b-8926-7932-a2a3-67441e59f605','folder.created','01a1de1b-8926-7a91-932f-c6a48ef9760e',1794727708966,'{"id":"evt_01a1de1b-8926-7932-a2a3-67441e59f605","type":"folder.created","timestamp":"2026-11-15T07:28:28.966Z","user_id":"01a1de1b-8788-7cdf-ad2c-13e65b08bb4e","workspace_id":"01a1de1b-8789-7eab-a0b3-844fa706a76d","resource_type":"folder","resource_id":"01a1de1b-8926-7a91-932f-c6a48ef9760e","payload":{"id":"01a1de1b-8926-7a91-932f-c6a48ef9760e","name":"Leaf","entity_type":"project","parent_id":"01a1de1b-891a-764d-b2b9-7d741230db4b","color":"#6b7280","sort_order":0,"depth":3,"project_count":0,"created_at":"2026-11-15T07:28:28.966Z","updated_at":"2026-11-15T07:28:28.966Z"}}');
INSERT INTO events VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d',4,'evt_01a1de1b-8929-75c1-9018-bcdb4c998554','folder.created','01a1de1b-8929-7114-8925-5b4194bb1f01',1794727708969,'{"id":"evt_01a1de1b-8929-75c1-9018-bcdb4c998554","type":"folder.created","timestamp":"2026-11-15T07:28:28.969Z","user_id":"01a1de1b-8788-7cdf-ad2c-13e65b08bb4e","workspace_id":"01a1de1b-8789-7eab-a0b3-844fa706a76d","resource_type":"folder","resource_id":"01a1de1b-8929-7114-8925-5b4194bb1f01","payload":{"id":"01a1de1b-8929-7114-8925-5b4194bb1f01","name":"Brand","entity_type":"branding","parent_id":null,"color":"#6b7280","sort_order":0,"depth":1,"project_count":0,"created_at":"2026-11-15T07:28:28.969Z","updated_at":"2026-11-15T07:28:28.969Z"}}');
INSERT INTO events VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d',5,'evt_01a1de1b-892c-7722-bbea-35f56c90cefe','project.created','01a1de1b-892c-798f-af0a-6576c3dd8b70',1794727708972,'{"id":"evt_01a1de1b-892c-7722-bbea-35f56c90cefe","type":"project.created","timestamp":"2026-11-15T07:28:28.972Z","user_id":"01a1de1b-8788-7cdf-ad2c-13e65b08bb4e","workspace_id":"01a1de1b-8789-7eab-a0b3-844fa706a76d","resource_type":"project","resource_id":"01a1de1b-892c-798f-af0a-6576c3dd8b70","payload":{"id":"01a1de1b-892c-798f-af0a-6576c3dd8b70","name":"Handbook","description":"“odd” \\ \n ☃ 😀","icon":"book-open","color":null,"folder_id":"01a1de1b-8926-7a91-932f-c6a48ef9760e","sort_order":0,"visibility":"private","document_count":0,"created_at":"2026-11-15T07:28:28.972Z","updated_at":"2026-11-15T07:28:28.972Z"}}');
INSERT INTO events VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d',6,'evt_01a1de1b-892f-7562-a1f2-205dcd26598d','project.updated','01a1de1b-892c-798f-af0a-6576c3dd8b70',1794727708975,'{"id":"evt_01a1de1b-892f-7562-a1f2-205dcd26598d","type":"project.updated","timestamp":"2026-11-15T07:28:28.975Z","user_id":"01a1de1b-8788-7cdf-ad2c-13e65b08bb4e","workspace_id":"01a1de1b-8789-7eab-a0b3-844fa706a76d","resource_type":"project","resource_id":"01a1de1b-892c-798f-af0a-6576c3dd8b70","payload":{"id":"01a1de1b-892c-798f-af0a-6576c3dd8b70","name":"Handbook","description":"“odd” \\ \n ☃ 😀","icon":"book-open","color":null,"folder_id":"01a1de1b-8926-7a91-932f-c6a48ef9760e","sort_order":-7,"visibility":"private","document_count":0,"created_at":"2026-11-15T07:28:28.972Z","updated_at":"2026-11-15T07:28:28.975Z","previous":{"sort_order":0,"updated_at":"2026-11-15T07:28:28.972Z"}}}');
INSERT INTO events VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d',7,'evt_01a1de1b-8937-763a-aaf7-086445ff55a8','project.created','01a1de1b-8937-7e4e-8bae-4106e4994bc7',1794727708983,'{"id":"evt_01a1de1b-8937-763a-aaf7-086445ff55a8","type":"project.created","timestamp":"2026-11-15T07:28:28.983Z","user_id":"01a1de1b-8788-7cdf-ad2c-13e65b08bb4e","workspace_id":"01a1de1b-8789-7eab-a0b3-844fa706a76d","resource_type":"project","resource_id":"01a1de1b-8937-7e4e-8bae-4106e4994bc7","payload":{"id":"01a1de1b-8937-7e4e-8bae-4106e4994bc7","name":"Free","description":null,"icon":null,"color":null,"folder_id":null,"sort_order":0,"visibility":"private","document_count":0,"created_at":"2026-11-15T07:28:28.983Z","updated_at":"2026-11-15T07:28:28.983Z"}}');
INSERT INTO events VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d',8,'evt_01a1de1b-893e-771a-ae85-914e86254551','project.created','01a1de1b-893e-7841-82b0-67558b6b45f5',1794727708989,'{"id":"evt_01a1de1b-893e-771a-ae85-914e86254551","type":"project.created","timestamp":"2026-11-15T07:28:28.989Z","user_id":"01a1de1b-8788-7cdf-ad2c-13e65b08bb4e","workspace_id":"01a1de1b-8789-7eab-a0b3-844fa706a76d","resource_type":"project","resource_id":"01a1de1b-893e-7841-82b0-67558b6b45f5","payload":{"id":"01a1de1b-893e-7841-82b0-67558b6b45f5","name":"Doomed","description":null,"icon":null,"color":null,"folder_id":"01a1de1b-891a-764d-b2b9-7d741230db4b","sort_order":0,"visibility":"private","document_count":0,"created_at":"2026-11-15T07:28:28.989Z","updated_at":"2026-11-15T07:28:28.989Z"}}');
INSERT INTO events VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d',9,'evt_01a1de1b-8942-7b29-b334-0eebe50ec041','document.created','01a1de1b-8942-719e-a535-45abc8cd79d2',1794727708994,'{"id":"evt_01a1de1b-8942-7b29-b334-0eebe50ec041","type":"document.created","timestamp":"2026-11-15T07:28:28.994Z","user_id":"01a1de1b-8788-7cdf-ad2c-13e65b08bb4e","workspace_id":"01a1de1b-8789-7eab-a0b3-844fa706a76d","resource_type":"document","resource_id":"01a1de1b-8942-719e-a535-45abc8cd79d2","payload":{"id":"01a1de1b-8942-719e-a535-45abc8cd79d2","title":"In","description":null,"project_id":"01a1de1b-892c-798f-af0a-6576c3dd8b70","created_at":"2026-11-15T07:28:28.994Z","updated_at":"2026-11-15T07:28:28.994Z"}}');
INSERT INTO events VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d',10,'evt_01a1de1b-8945-7531-918d-03d34f79985c','document.created','01a1de1b-8945-7fa8-8f92-35aa1fd5b83f',1794727708997,'{"id":"evt_01a1de1b-8945-7531-918d-03d34f79985c","type":"document.created","timestamp":"2026-11-15T07:28:28.997Z","user_id":"01a1de1b-8788-7cdf-ad2c-13e65b08bb4e","workspace_id":"01a1de1b-8789-7eab-a0b3-844fa706a76d","resource_type":"document","resource_id":"01a1de1b-8945-7fa8-8f92-35aa1fd5b83f","payload":{"id":"01a1de1b-8945-7fa8-8f92-35aa1fd5b83f","title":"Loose","description":"d","project_id":null,"created_at":"2026-11-15T07:28:28.997Z","updated_at":"2026-11-15T07:28:28.997Z"}}');
INSERT INTO events VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d',11,'evt_01a1de1b-8948-7aa2-b35e-cc2bce0a49b4','document.created','01a1de1b-8948-72d4-8a9e-1c1c4e352b71',1794727709000,'{"id":"evt_01a1de1b-8948-7aa2-b35e-cc2bce0a49b4","type":"document.created","timestamp":"2026-11-15T07:28:29.000Z","user_id":"01a1de1b-8788-7cdf-ad2c-13e65b08bb4e","workspace_id":"01a1de1b-8789-7eab-a0b3-844fa706a76d","resource_type":"document","resource_id":"01a1de1b-8948-72d4-8a9e-1c1c4e352b71","payload":{"id":"01a1de1b-8948-72d4-8a9e-1c1c4e352b71","title":"Unlinked","description":null,"project_id":"01a1de1b-893e-7841-82b0-67558b6b45f5","created_at":"2026-11-15T07:28:29.000Z","updated_at":"2026-11-15T07:28:29.000Z"}}');
INSERT INTO events VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d',12,'evt_01a1de1b-894a-7c81-8366-3b82c7458701','document.created','01a1de1b-894a-745a-b664-d696f6deb081',1794727709002,'{"id":"evt_01a1de1b-894a-7c81-8366-3b82c7458701","type":"document.created","timestamp":"2026-11-15T07:28:29.002Z","user_id":"01a1de1b-8788-7cdf-ad2c-13e65b08bb4e","workspace_id":"01a1de1b-8789-7eab-a0b3-844fa706a76d","resource_type":"document","resource_id":"01a1de1b-894a-745a-b664-d696f6deb081","payload":{"id":"01a1de1b-894a-745a-b664-d696f6deb081","title":"Deleted","description":null,"project_id":"01a1de1b-893e-7841-82b0-67558b6b45f5","created_at":"2026-11-15T07:28:29.002Z","updated_at":"2026-11-15T07:28:29.002Z"}}');
INSERT INTO events VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d',13,'evt_01a1de1b-895a-727b-abdd-a9aa780fdaaf','document.deleted','01a1de1b-894a-745a-b664-d696f6deb081',1794727709018,'{"id":"evt_01a1de1b-895a-727b-abdd-a9aa780fdaaf","type":"document.deleted","timestamp":"2026-11-15T07:28:29.018Z","user_id":"01a1de1b-8788-7cdf-ad2c-13e65b08bb4e","workspace_id":"01a1de1b-8789-7eab-a0b3-844fa706a76d","resource_type":"document","resource_id":"01a1de1b-894a-745a-b664-d696f6deb081","payload":{"id":"01a1de1b-894a-745a-b664-d696f6deb081","title":"Deleted","description":null,"project_id":"01a1de1b-893e-7841-82b0-67558b6b45f5","created_at":"2026-11-15T07:28:29.002Z","updated_at":"2026-11-15T07:28:29.002Z"}}');
INSERT INTO events VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d',14,'evt_01a1de1b-8969-7013-855b-ee55edb471b4','project.deleted','01a1de1b-893e-7841-82b0-67558b6b45f5',1794727709033,'{"id":"evt_01a1de1b-8969-7013-855b-ee55edb471b4","type":"project.deleted","timestamp":"2026-11-15T07:28:29.033Z","user_id":"01a1de1b-8788-7cdf-ad2c-13e65b08bb4e","workspace_id":"01a1de1b-8789-7eab-a0b3-844fa706a76d","resource_type":"project","resource_id":"01a1de1b-893e-7841-82b0-67558b6b45f5","payload":{"id":"01a1de1b-893e-7841-82b0-67558b6b45f5","name":"Doomed","description":null,"icon":null,"color":null,"folder_id":"01a1de1b-891a-764d-b2b9-7d741230db4b","sort_order":0,"visibility":"private","document_count":1,"created_at":"2026-11-15T07:28:28.989Z","updated_at":"2026-11-15T07:28:28.989Z"}}');
INSERT INTO events VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d',15,'evt_01a1de1b-8969-7928-9bd6-3206129f4d9e','document.updated','01a1de1b-8948-72d4-8a9e-1c1c4e352b71',1794727709033,'{"id":"evt_01a1de1b-8969-7928-9bd6-3206129f4d9e","type":"document.updated","timestamp":"2026-11-15T07:28:29.033Z","user_id":"01a1de1b-8788-7cdf-ad2c-13e65b08bb4e","workspace_id":"01a1de1b-8789-7eab-a0b3-844fa706a76d","resource_type":"document","resource_id":"01a1de1b-8948-72d4-8a9e-1c1c4e352b71","payload":{"id":"01a1de1b-8948-72d4-8a9e-1c1c4e352b71","title":"Unlinked","description":null,"project_id":null,"created_at":"2026-11-15T07:28:29.000Z","updated_at":"2026-11-15T07:28:29.033Z","previous":{"project_id":"01a1de1b-893e-7841-82b0-67558b6b45f5","updated_at":"2026-11-15T07:28:29.000Z"}}}');
INSERT INTO events VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d',16,'evt_01a1de1b-896c-7502-bff6-2581b2aca3c8','media.uploaded','01a1de1b-892c-798f-af0a-6576c3dd8b70',1794727709036,'{"id":"evt_01a1de1b-896c-7502-bff6-2581b2aca3c8","type":"media.uploaded","timestamp":"2026-11-15T07:28:29.036Z","user_id":"01a1de1b-8788-7cdf-ad2c-13e65b08bb4e","workspace_id":"01a1de1b-8789-7eab-a0b3-844fa706a76d","resource_type":"media","resource_id":"01a1de1b-892c-798f-af0a-6576c3dd8b70","payload":{"size":1.5}}');
CREATE TABLE idempotency_keys (
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  method TEXT NOT NULL,
  path TEXT NOT NULL,
  key TEXT NOT NULL,
  body_hash BLOB NOT NULL,
  status BIGINT NOT NULL,
  location TEXT NOT NULL,
  etag TEXT NOT NULL,
  body TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, method, path, key)
);
INSERT INTO idempotency_keys VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','POST','/api/v1/folders','/api/v1/folders 44',X'8df391b5e2482f208db5900953a13f836a1376def91ef6b69643cf70ea3df086',201,'/api/v1/folders/01a1de1b-8917-70ec-be8f-1b43bc062f03','"1-de48610779fc3bff3ac4"','{"id":"01a1de1b-8917-70ec-be8f-1b43bc062f03","name":"Products","entity_type":"project","parent_id":null,"color":"#6b7280","sort_order":0,"depth":1,"project_count":0,"created_at":"2026-11-15T07:28:28.951Z","updated_at":"2026-11-15T07:28:28.951Z"}',1794727708951);
INSERT INTO idempotency_keys VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','POST','/api/v1/folders','/api/v1/folders 110',X'5653f99b2b46d5774c0315d71cd2cd39abf342b29d02d2f7baae1ae2d51797ab',201,'/api/v1/folders/01a1de1b-891a-764d-b2b9-7d741230db4b','"1-5b887d76526f506d9313"','{"id":"01a1de1b-891a-764d-b2b9-7d741230db4b","name":"Käse","entity_type":"project","parent_id":"01a1de1b-8917-70ec-be8f-1b43bc062f03","color":"#2563eb","sort_order":0,"depth":2,"project_count":0,"created_at":"2026-11-15T07:28:28.954Z","updated_at":"2026-11-15T07:28:28.954Z"}',1794727708954);
INSERT INTO idempotency_keys VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','POST','/api/v1/folders','/api/v1/folders 91',X'9b3663870d9f6890b9965d90aab305e45ddca76e28edd3cee7c4897b5d1dbf87',201,'/api/v1/folders/01a1de1b-8926-7a91-932f-c6a48ef9760e','"1-92785d60320bee19fe5f"','{"id":"01a1de1b-8926-7a91-932f-c6a48ef9760e","name":"Leaf","entity_type":"project","parent_id":"01a1de1b-891a-764d-b2b9-7d741230db4b","color":"#6b7280","sort_order":0,"depth":3,"project_count":0,"created_at":"2026-11-15T07:28:28.966Z","updated_at":"2026-11-15T07:28:28.966Z"}',1794727708966);
INSERT INTO idempotency_keys VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','POST','/api/v1/folders','/api/v1/folders 42',X'6130677c0be9925fd27f66c3e969134eddbd30b419039f0267ccce37ebc54933',201,'/api/v1/folders/01a1de1b-8929-7114-8925-5b4194bb1f01','"1-6bed0224ec55d63f63cb"','{"id":"01a1de1b-8929-7114-8925-5b4194bb1f01","name":"Brand","entity_type":"branding","parent_id":null,"color":"#6b7280","sort_order":0,"depth":1,"project_count":0,"created_at":"2026-11-15T07:28:28.969Z","updated_at":"2026-11-15T07:28:28.969Z"}',1794727708969);
INSERT INTO idempotency_keys VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','POST','/api/v1/projects','/api/v1/projects 131',X'5351fed921fb066857b3a578b7df895864b5ff5d63d891e7e9b4b33bf0960f6d',201,'/api/v1/projects/01a1de1b-892c-798f-af0a-6576c3dd8b70','"1-202414a9d27e6e02b162"','{"id":"01a1de1b-892c-798f-af0a-6576c3dd8b70","name":"Handbook","description":"“odd” \\ \n ☃ 😀","icon":"book-open","color":null,"folder_id":"01a1de1b-8926-7a91-932f-c6a48ef9760e","sort_order":0,"visibility":"private","document_count":0,"created_at":"2026-11-15T07:28:28.972Z","updated_at":"2026-11-15T07:28:28.972Z"}',1794727708972);
INSERT INTO idempotency_keys VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','POST','/api/v1/projects','/api/v1/projects 16',X'bf301d45b06dae37a39cd72c8ee5c38ed46f7085f74c6b5d5e663f3c8e682aac',201,'/api/v1/projects/01a1de1b-8937-7e4e-8bae-4106e4994bc7','"1-31c9de5f3a2e91cfaddc"','{"id":"01a1de1b-8937-7e4e-8bae-4106e4994bc7","name":"Free","description":null,"icon":null,"color":null,"folder_id":null,"sort_order":0,"visibility":"private","document_count":0,"created_at":"2026-11-15T07:28:28.983Z","updated_at":"2026-11-15T07:28:28.983Z"}',1794727708983);
INSERT INTO idempotency_keys VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','POST','/api/v1/projects','/api/v1/projects 69',X'c97489ee6ca89e6acca208565cc2eb46328e0c233c620d83107b1429474f3a38',201,'/api/v1/projects/01a1de1b-893e-7841-82b0-67558b6b45f5','"1-7445861331b2ccf396da"','{"id":"01a1de1b-893e-7841-82b0-67558b6b45f5","name":"Doomed","description":null,"icon":null,"color":null,"folder_id":"01a1de1b-891a-764d-b2b9-7d741230db4b","sort_order":0,"visibility":"private","document_count":0,"created_at":"2026-11-15T07:28:28.989Z","updated_at":"2026-11-15T07:28:28.989Z"}',1794727708989);
INSERT INTO idempotency_keys VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','POST','/api/v1/documents','/api/v1/documents 67',X'ca8d194c4327c17836f577454601f32bbd138a5e1c77e88be7cb6ca9036b92b1',201,'/api/v1/documents/01a1de1b-8942-719e-a535-45abc8cd79d2','"1-46bc230386b2c3c4d299"','{"id":"01a1de1b-8942-719e-a535-45abc8cd79d2","title":"In","description":null,"project_id":"01a1de1b-892c-798f-af0a-6576c3dd8b70","created_at":"2026-11-15T07:28:28.994Z","updated_at":"2026-11-15T07:28:28.994Z"}',1794727708994);
INSERT INTO idempotency_keys VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','POST','/api/v1/documents','/api/v1/documents 36',X'5712d471315d11294058596765763eff9c624bc8e3bf377917fc113e63f88ad6',201,'/api/v1/documents/01a1de1b-8945-7fa8-8f92-35aa1fd5b83f','"1-d749a25f6c314cbf9192"','{"id":"01a1de1b-8945-7fa8-8f92-35aa1fd5b83f","title":"Loose","description":"d","project_id":null,"created_at":"2026-11-15T07:28:28.997Z","updated_at":"2026-11-15T07:28:28.997Z"}',1794727708997);
INSERT INTO idempotency_keys VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','POST','/api/v1/documents','/api/v1/documents 73',X'9cfddcc482d6f719de85b558be7d6230486d549af907ba98c50cb89aae759ef6',201,'/api/v1/documents/01a1de1b-8948-72d4-8a9e-1c1c4e352b71','"1-6d5c04534a8818d23b7b"','{"id":"01a1de1b-8948-72d4-8a9e-1c1c4e352b71","title":"Unlinked","description":null,"project_id":"01a1de1b-893e-7841-82b0-67558b6b45f5","created_at":"2026-11-15T07:28:29.000Z","updated_at":"2026-11-15T07:28:29.000Z"}',1794727709000);
INSERT INTO idempotency_keys VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','POST','/api/v1/documents','/api/v1/documents 72',X'0f46359c1b08a5f021c7bd83122cb91bed9beca232105a6545e09da031cc4c92',201,'/api/v1/documents/01a1de1b-894a-745a-b664-d696f6deb081','"1-838dd30f3289b8a7cfd2"','{"id":"01a1de1b-894a-745a-b664-d696f6deb081","title":"Deleted","description":null,"project_id":"01a1de1b-893e-7841-82b0-67558b6b45f5","created_at":"2026-11-15T07:28:29.002Z","updated_at":"2026-11-15T07:28:29.002Z"}',1794727709002);
INSERT INTO idempotency_keys VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','POST','/api/v1/events','/api/v1/events 102',X'25c9cdbc62f8378134567fac7acd6373fa19431b5378bf01a92534119a593f78',202,'/api/v1/events/evt_01a1de1b-896c-7502-bff6-2581b2aca3c8','"1-fac39beb8d1f0302783f"','{"id":"evt_01a1de1b-896c-7502-bff6-2581b2aca3c8","type":"media.uploaded","timestamp":"2026-11-15T07:28:29.036Z","user_id":"01a1de1b-8788-7cdf-ad2c-13e65b08bb4e","workspace_id":"01a1de1b-8789-7eab-a0b3-844fa706a76d","resource_type":"media","resource_id":"01a1de1b-892c-798f-af0a-6576c3dd8b70","payload":{"size":1.5}}',1794727709036);
CREATE TABLE subscriptions (
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  url TEXT NOT NULL,
  events TEXT NOT NULL,
  active BIGINT NOT NULL,
  failure_count BIGINT NOT NULL,
  deactivated_at BIGINT,
  deactivation_reason TEXT,
  last_error TEXT,
  header_names TEXT NOT NULL,
  headers BLOB,
  secret BLOB NOT NULL,
  old_secret BLOB,
  old_secret_until BIGINT,
  since_event BIGINT NOT NULL,
  events_since BIGINT NOT NULL,
  number BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, id)
);
INSERT INTO subscriptions VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-88e6-70ab-aa51-60e674430ed8','On','https://127.0.0.1:34525/hook','folder.created,project.created,project.updated,document.created,document.deleted',1,0,NULL,NULL,NULL,'X-Mine',X'01ea3353672a0e9739735dfca3c502abc6ef1c504170999ba8135478b996084ea14231c5e7501dfd29053b7b2b8a82f0d77d',X'01806fcd6665a29092bc011bc3d1ae93553fc03c0c21042e21b3045f4ece72a0ad4cfac1cc7535df2ee9592e6a446e276806fd25dbbe4559023665f616bd0ad8ba573b9c16e284d4e21792faa58965b7ea3060a9253d415cd65474',X'01b26b7a9ed06c68741e6b9ddaefd1533f8464680ba7f4e1741073e92cc6144998d9fa6a295ed588b570fb3d6322005ce284faba523a2b065c3bf48bcba3f199845776dff74e57ea813d605d13196f361bad3e134c0e0165ee690a',1795327708933,0,0,2,2,1794727708902,1794727708933);
INSERT INTO subscriptions VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8909-79f7-bb35-fc35e6f861dd','Off','https://127.0.0.1:34525/hook','folder.created,project.created,project.updated,document.created,document.deleted',0,0,1794727708942,'manual',NULL,'',NULL,X'01189895b372645fb76e00f8a1152fa7278c5d065637879ef71ba942e07017ec739cebc011462c48e98221cc6edcd5ac6458485487c6aa85bc79e5adda78e80c1057935937f97b3da8615931497ac76cfad3f7bd030134a43adcc3',NULL,NULL,0,0,3,2,1794727708937,1794727708942);
CREATE TABLE deleted_subscriptions (
  id TEXT PRIMARY KEY,
  workspace_id TEXT NOT NULL,
  deleted_at BIGINT NOT NULL
);
INSERT INTO deleted_subscriptions VALUES('01a1de1b-8915-7fe9-8e37-f0f3ac90935f','01a1de1b-8789-7eab-a0b3-844fa706a76d',1794727709037);
CREATE TABLE deliveries (
  workspace_id TEXT NOT NULL,
  id TEXT NOT NULL,
  subscription_id TEXT NOT NULL,
  event_number BIGINT NOT NULL,
  event_id TEXT NOT NULL,
  event_type TEXT NOT NULL,
  state TEXT NOT NULL,
  attempt_count BIGINT NOT NULL,
  tries BIGINT NOT NULL,
  retry BIGINT NOT NULL,
  next_attempt_at BIGINT,
  lease_token TEXT,
  lease_until BIGINT,
  back_state TEXT,
  back_at BIGINT,
  again BIGINT NOT NULL DEFAULT 0,
  last_status_code BIGINT,
  last_error TEXT,
  created_at BIGINT NOT NULL,
  finished_at BIGINT,
  PRIMARY KEY (workspace_id, id)
);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8917-75b0-bbac-ca93412e1732','01a1de1b-88e6-70ab-aa51-60e674430ed8',1,'evt_01a1de1b-8917-71d6-abc4-b115499ad8bb','folder.created','failed',4,4,1,NULL,NULL,NULL,NULL,NULL,0,500,'the endpoint answered 500',1794727708951,1794727708986);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8917-721c-922b-bf82cfd319dc','01a1de1b-8909-79f7-bb35-fc35e6f861dd',1,'evt_01a1de1b-8917-71d6-abc4-b115499ad8bb','folder.created','held',0,0,0,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,1794727708951,NULL);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8917-7717-967a-dd09ceba4ab3','01a1de1b-8915-7fe9-8e37-f0f3ac90935f',1,'evt_01a1de1b-8917-71d6-abc4-b115499ad8bb','folder.created','failed',4,4,1,NULL,NULL,NULL,NULL,NULL,0,500,'the endpoint answered 500',1794727708951,1794727708990);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-891a-7502-a382-0ca51b7b4707','01a1de1b-88e6-70ab-aa51-60e674430ed8',2,'evt_01a1de1b-891a-7865-ba18-ef7804c67711','folder.created','failed',4,4,1,NULL,NULL,NULL,NULL,NULL,0,500,'the endpoint answered 500',1794727708954,1794727708993);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-891a-7920-9ba3-7eefdcd1d134','01a1de1b-8909-79f7-bb35-fc35e6f861dd',2,'evt_01a1de1b-891a-7865-ba18-ef7804c67711','folder.created','held',0,0,0,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,1794727708954,NULL);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-891a-7ce8-b2c4-cffb9e9d30fe','01a1de1b-8915-7fe9-8e37-f0f3ac90935f',2,'evt_01a1de1b-891a-7865-ba18-ef7804c67711','folder.created','failed',4,4,1,NULL,NULL,NULL,NULL,NULL,0,500,'the endpoint answered 500',1794727708954,1794727708992);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8926-77b2-9653-fb19983271ad','01a1de1b-88e6-70ab-aa51-60e674430ed8',3,'evt_01a1de1b-8926-7932-a2a3-67441e59f605','folder.created','failed',4,4,1,NULL,NULL,NULL,NULL,NULL,0,500,'the endpoint answered 500',1794727708966,1794727708998);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8926-71e5-9c3f-cc50a962d9c5','01a1de1b-8909-79f7-bb35-fc35e6f861dd',3,'evt_01a1de1b-8926-7932-a2a3-67441e59f605','folder.created','held',0,0,0,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,1794727708966,NULL);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8926-718b-ae01-bd3ed1512db4','01a1de1b-8915-7fe9-8e37-f0f3ac90935f',3,'evt_01a1de1b-8926-7932-a2a3-67441e59f605','folder.created','failed',4,4,1,NULL,NULL,NULL,NULL,NULL,0,500,'the endpoint answered 500',1794727708966,1794727708998);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-892a-7ad0-aa0a-52f05fec902b','01a1de1b-88e6-70ab-aa51-60e674430ed8',4,'evt_01a1de1b-8929-75c1-9018-bcdb4c998554','folder.created','failed',4,4,1,NULL,NULL,NULL,NULL,NULL,0,500,'the endpoint answered 500',1794727708969,1794727709001);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-892a-76a1-bfae-eff3af02b27e','01a1de1b-8909-79f7-bb35-fc35e6f861dd',4,'evt_01a1de1b-8929-75c1-9018-bcdb4c998554','folder.created','held',0,0,0,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,1794727708969,NULL);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-892a-74df-8735-f953d0081e6c','01a1de1b-8915-7fe9-8e37-f0f3ac90935f',4,'evt_01a1de1b-8929-75c1-9018-bcdb4c998554','folder.created','failed',4,4,1,NULL,NULL,NULL,NULL,NULL,0,500,'the endpoint answered 500',1794727708969,1794727709001);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-892d-7655-bfc0-67d90b829fc2','01a1de1b-88e6-70ab-aa51-60e674430ed8',5,'evt_01a1de1b-892c-7722-bbea-35f56c90cefe','project.created','delivered',1,1,1,NULL,NULL,NULL,NULL,NULL,0,200,NULL,1794727708972,1794727708980);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-892d-7279-a6f0-dfb0fabea38a','01a1de1b-8909-79f7-bb35-fc35e6f861dd',5,'evt_01a1de1b-892c-7722-bbea-35f56c90cefe','project.created','held',0,0,0,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,1794727708972,NULL);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-892d-75f1-a81a-501910bd81d2','01a1de1b-8915-7fe9-8e37-f0f3ac90935f',5,'evt_01a1de1b-892c-7722-bbea-35f56c90cefe','project.created','delivered',1,1,1,NULL,NULL,NULL,NULL,NULL,0,200,NULL,1794727708972,1794727708981);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-892f-7043-9795-13ff024f3e93','01a1de1b-88e6-70ab-aa51-60e674430ed8',6,'evt_01a1de1b-892f-7562-a1f2-205dcd26598d','project.updated','delivered',1,1,1,NULL,NULL,NULL,NULL,NULL,0,200,NULL,1794727708975,1794727708986);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-892f-765a-8516-2957d3c90170','01a1de1b-8909-79f7-bb35-fc35e6f861dd',6,'evt_01a1de1b-892f-7562-a1f2-205dcd26598d','project.updated','held',0,0,0,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,1794727708975,NULL);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-892f-700e-9cc4-7452d22abd31','01a1de1b-8915-7fe9-8e37-f0f3ac90935f',6,'evt_01a1de1b-892f-7562-a1f2-205dcd26598d','project.updated','delivered',1,1,1,NULL,NULL,NULL,NULL,NULL,0,200,NULL,1794727708975,1794727708986);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8937-7240-8f44-8a67de049409','01a1de1b-88e6-70ab-aa51-60e674430ed8',7,'evt_01a1de1b-8937-763a-aaf7-086445ff55a8','project.created','delivered',1,1,1,NULL,NULL,NULL,NULL,NULL,0,200,NULL,1794727708983,1794727708990);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8937-7856-85f3-1981b8d2bb41','01a1de1b-8909-79f7-bb35-fc35e6f861dd',7,'evt_01a1de1b-8937-763a-aaf7-086445ff55a8','project.created','held',0,0,0,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,1794727708983,NULL);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8937-7432-a0e5-1c8d3480e645','01a1de1b-8915-7fe9-8e37-f0f3ac90935f',7,'evt_01a1de1b-8937-763a-aaf7-086445ff55a8','project.created','delivered',1,1,1,NULL,NULL,NULL,NULL,NULL,0,200,NULL,1794727708983,1794727708991);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-893e-7ba6-9b1d-21ddbdd606f4','01a1de1b-88e6-70ab-aa51-60e674430ed8',8,'evt_01a1de1b-893e-771a-ae85-914e86254551','project.created','delivered',1,1,1,NULL,NULL,NULL,NULL,NULL,0,200,NULL,1794727708989,1794727708993);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-893e-782a-8308-97a6ceb5754b','01a1de1b-8909-79f7-bb35-fc35e6f861dd',8,'evt_01a1de1b-893e-771a-ae85-914e86254551','project.created','held',0,0,0,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,1794727708989,NULL);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-893e-72e5-82df-2a38b70af92c','01a1de1b-8915-7fe9-8e37-f0f3ac90935f',8,'evt_01a1de1b-893e-771a-ae85-914e86254551','project.created','delivered',1,1,1,NULL,NULL,NULL,NULL,NULL,0,200,NULL,1794727708989,1794727708993);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8942-728f-bc59-746ed783ca9f','01a1de1b-88e6-70ab-aa51-60e674430ed8',9,'evt_01a1de1b-8942-7b29-b334-0eebe50ec041','document.created','delivered',1,1,1,NULL,NULL,NULL,NULL,NULL,0,200,NULL,1794727708994,1794727708998);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8942-72d9-aab5-ca7d41e53757','01a1de1b-8909-79f7-bb35-fc35e6f861dd',9,'evt_01a1de1b-8942-7b29-b334-0eebe50ec041','document.created','held',0,0,0,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,1794727708994,NULL);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8942-793f-851d-bf5586d383bf','01a1de1b-8915-7fe9-8e37-f0f3ac90935f',9,'evt_01a1de1b-8942-7b29-b334-0eebe50ec041','document.created','delivered',1,1,1,NULL,NULL,NULL,NULL,NULL,0,200,NULL,1794727708994,1794727708998);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8945-75dd-a996-2029069b37f5','01a1de1b-88e6-70ab-aa51-60e674430ed8',10,'evt_01a1de1b-8945-7531-918d-03d34f79985c','document.created','delivered',1,1,1,NULL,NULL,NULL,NULL,NULL,0,200,NULL,1794727708997,1794727709001);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8945-77c6-8c8a-d4042c075364','01a1de1b-8909-79f7-bb35-fc35e6f861dd',10,'evt_01a1de1b-8945-7531-918d-03d34f79985c','document.created','held',0,0,0,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,1794727708997,NULL);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8945-789c-810e-e4309c3d0870','01a1de1b-8915-7fe9-8e37-f0f3ac90935f',10,'evt_01a1de1b-8945-7531-918d-03d34f79985c','document.created','delivered',1,1,1,NULL,NULL,NULL,NULL,NULL,0,200,NULL,1794727708997,1794727709001);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8949-79a5-907d-87c1c3b49f25','01a1de1b-88e6-70ab-aa51-60e674430ed8',11,'evt_01a1de1b-8948-7aa2-b35e-cc2bce0a49b4','document.created','delivered',1,1,1,NULL,NULL,NULL,NULL,NULL,0,200,NULL,1794727709000,1794727709018);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8949-7b4b-96bf-6bb557caee6a','01a1de1b-8909-79f7-bb35-fc35e6f861dd',11,'evt_01a1de1b-8948-7aa2-b35e-cc2bce0a49b4','document.created','held',0,0,0,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,1794727709000,NULL);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8949-7275-bab6-7944418227a9','01a1de1b-8915-7fe9-8e37-f0f3ac90935f',11,'evt_01a1de1b-8948-7aa2-b35e-cc2bce0a49b4','document.created','delivered',1,1,1,NULL,NULL,NULL,NULL,NULL,0,200,NULL,1794727709000,1794727709029);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-894a-72a9-9ff8-a50fa6d265a9','01a1de1b-88e6-70ab-aa51-60e674430ed8',12,'evt_01a1de1b-894a-7c81-8366-3b82c7458701','document.created','delivered',1,1,1,NULL,NULL,NULL,NULL,NULL,0,200,NULL,1794727709002,1794727709029);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-894a-7bd3-95b8-dd62a3db4d4f','01a1de1b-8909-79f7-bb35-fc35e6f861dd',12,'evt_01a1de1b-894a-7c81-8366-3b82c7458701','document.created','held',0,0,0,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,1794727709002,NULL);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-894a-70ae-8578-db85f0c3b37c','01a1de1b-8915-7fe9-8e37-f0f3ac90935f',12,'evt_01a1de1b-894a-7c81-8366-3b82c7458701','document.created','delivered',1,1,1,NULL,NULL,NULL,NULL,NULL,0,200,NULL,1794727709002,1794727709029);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-895b-7868-83ff-99e240fac1a9','01a1de1b-88e6-70ab-aa51-60e674430ed8',13,'evt_01a1de1b-895a-727b-abdd-a9aa780fdaaf','document.deleted','delivered',1,1,1,NULL,NULL,NULL,NULL,NULL,0,200,NULL,1794727709018,1794727709035);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-895b-76c1-b53e-8c79013377dc','01a1de1b-8909-79f7-bb35-fc35e6f861dd',13,'evt_01a1de1b-895a-727b-abdd-a9aa780fdaaf','document.deleted','held',0,0,0,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,1794727709018,NULL);
INSERT INTO deliveries VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-895b-7dce-bc68-430869dcc1db','01a1de1b-8915-7fe9-8e37-f0f3ac90935f',13,'evt_01a1de1b-895a-727b-abdd-a9aa780fdaaf','document.deleted','delivered',1,1,1,NULL,NULL,NULL,NULL,NULL,0,200,NULL,1794727709018,1794727709035);
CREATE TABLE attempts (
  workspace_id TEXT NOT NULL,
  delivery_id TEXT NOT NULL,
  number BIGINT NOT NULL,
  started_at BIGINT NOT NULL,
  duration_us BIGINT NOT NULL,
  status_code BIGINT NOT NULL,
  error_class TEXT NOT NULL,
  error TEXT NOT NULL,
  remote_address TEXT NOT NULL,
  dns_us BIGINT NOT NULL,
  connect_us BIGINT NOT NULL,
  tls_us BIGINT NOT NULL,
  first_byte_us BIGINT NOT NULL,
  body_us BIGINT NOT NULL,
  response_body TEXT NOT NULL,
  PRIMARY KEY (workspace_id, delivery_id, number)
);
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8917-75b0-bbac-ca93412e1732',1,1794727708955,2805,500,'status','the endpoint answered 500','',0,52,2117,433,156,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8917-7717-967a-dd09ceba4ab3',1,1794727708954,3300,500,'status','the endpoint answered 500','',0,0,0,131,20,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-891a-7ce8-b2c4-cffb9e9d30fe',1,1794727708968,910,500,'status','the endpoint answered 500','',0,0,0,831,38,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-891a-7502-a382-0ca51b7b4707',1,1794727708968,872,500,'status','the endpoint answered 500','',0,0,0,846,14,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8917-75b0-bbac-ca93412e1732',2,1794727708968,1934,500,'status','the endpoint answered 500','',0,0,0,1100,25,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8926-718b-ae01-bd3ed1512db4',1,1794727708971,126,500,'status','the endpoint answered 500','',0,0,0,91,22,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8926-77b2-9653-fb19983271ad',1,1794727708971,364,500,'status','the endpoint answered 500','',0,0,0,338,12,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8917-7717-967a-dd09ceba4ab3',2,1794727708971,723,500,'status','the endpoint answered 500','',0,0,0,570,8,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-892a-7ad0-aa0a-52f05fec902b',1,1794727708974,157,500,'status','the endpoint answered 500','',0,0,0,122,18,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-891a-7502-a382-0ca51b7b4707',2,1794727708973,804,500,'status','the endpoint answered 500','',0,0,0,768,9,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-892a-74df-8735-f953d0081e6c',1,1794727708974,231,500,'status','the endpoint answered 500','',0,0,0,135,82,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8917-75b0-bbac-ca93412e1732',3,1794727708974,149,500,'status','the endpoint answered 500','',0,0,0,132,9,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-891a-7ce8-b2c4-cffb9e9d30fe',2,1794727708976,222,500,'status','the endpoint answered 500','',0,0,0,171,20,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8926-718b-ae01-bd3ed1512db4',2,1794727708976,3626,500,'status','the endpoint answered 500','',0,0,0,3578,29,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-892d-7655-bfc0-67d90b829fc2',1,1794727708976,3615,200,'','','',0,0,0,3579,25,'');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8926-77b2-9653-fb19983271ad',2,1794727708976,3601,500,'status','the endpoint answered 500','',0,0,0,3581,13,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-892d-75f1-a81a-501910bd81d2',1,1794727708976,4433,200,'','','',0,434,2949,996,9,'');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8917-7717-967a-dd09ceba4ab3',3,1794727708976,4302,500,'status','the endpoint answered 500','',0,0,0,834,12,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8917-75b0-bbac-ca93412e1732',4,1794727708984,1571,500,'status','the endpoint answered 500','',0,0,0,1529,16,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-891a-7ce8-b2c4-cffb9e9d30fe',3,1794727708983,738,500,'status','the endpoint answered 500','',0,0,0,666,44,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-892f-700e-9cc4-7452d22abd31',1,1794727708984,1276,200,'','','',0,0,0,1238,28,'');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-892f-7043-9795-13ff024f3e93',1,1794727708983,2717,200,'','','',0,0,0,2691,8,'');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-891a-7502-a382-0ca51b7b4707',3,1794727708984,1511,500,'status','the endpoint answered 500','',0,0,0,1492,9,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-892a-7ad0-aa0a-52f05fec902b',2,1794727708984,1487,500,'status','the endpoint answered 500','',0,0,0,1467,13,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-892a-74df-8735-f953d0081e6c',2,1794727708984,2352,500,'status','the endpoint answered 500','',0,0,0,133,17,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8917-7717-967a-dd09ceba4ab3',4,1794727708989,853,500,'status','the endpoint answered 500','',0,0,0,825,7,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8926-77b2-9653-fb19983271ad',3,1794727708989,294,500,'status','the endpoint answered 500','',0,0,0,264,19,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8937-7240-8f44-8a67de049409',1,1794727708989,575,200,'','','',0,0,0,551,7,'');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8926-718b-ae01-bd3ed1512db4',3,1794727708990,1236,500,'status','the endpoint answered 500','',0,0,0,1188,42,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8937-7432-a0e5-1c8d3480e645',1,1794727708990,1356,200,'','','',0,0,0,1337,9,'');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-893e-72e5-82df-2a38b70af92c',1,1794727708992,751,200,'','','',0,0,0,723,13,'');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-893e-7ba6-9b1d-21ddbdd606f4',1,1794727708993,698,200,'','','',0,0,0,685,5,'');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-892a-74df-8735-f953d0081e6c',3,1794727708993,747,500,'status','the endpoint answered 500','',0,0,0,729,12,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-892a-7ad0-aa0a-52f05fec902b',3,1794727708993,784,500,'status','the endpoint answered 500','',0,0,0,767,9,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-891a-7ce8-b2c4-cffb9e9d30fe',4,1794727708992,478,500,'status','the endpoint answered 500','',0,0,0,435,18,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-891a-7502-a382-0ca51b7b4707',4,1794727708993,743,500,'status','the endpoint answered 500','',0,0,0,727,10,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8942-728f-bc59-746ed783ca9f',1,1794727708996,1291,200,'','','',0,0,0,1274,7,'');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8942-793f-851d-bf5586d383bf',1,1794727708996,1235,200,'','','',0,0,0,1223,5,'');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8926-77b2-9653-fb19983271ad',4,1794727708996,345,500,'status','the endpoint answered 500','',0,0,0,314,24,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8926-718b-ae01-bd3ed1512db4',4,1794727708996,1360,500,'status','the endpoint answered 500','',0,0,0,1311,28,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8945-75dd-a996-2029069b37f5',1,1794727709001,122,200,'','','',0,0,0,79,16,'');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-892a-74df-8735-f953d0081e6c',4,1794727709001,290,500,'status','the endpoint answered 500','',0,0,0,266,13,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-892a-7ad0-aa0a-52f05fec902b',4,1794727709001,722,500,'status','the endpoint answered 500','',0,0,0,680,8,'no folders');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8945-789c-810e-e4309c3d0870',1,1794727709001,460,200,'','','',0,0,0,441,4,'');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8949-79a5-907d-87c1c3b49f25',1,1794727709014,3620,200,'','','',0,0,0,3534,28,'');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-894a-70ae-8578-db85f0c3b37c',1,1794727709018,11077,200,'','','',0,0,0,10961,67,'');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-8949-7275-bab6-7944418227a9',1,1794727709018,11058,200,'','','',0,0,0,11030,12,'');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-894a-72a9-9ff8-a50fa6d265a9',1,1794727709024,5289,200,'','','',0,0,0,5212,10,'');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-895b-7868-83ff-99e240fac1a9',1,1794727709034,389,200,'','','',0,0,0,357,22,'');
INSERT INTO attempts VALUES('01a1de1b-8789-7eab-a0b3-844fa706a76d','01a1de1b-895b-7dce-bc68-430869dcc1db',1,1794727709034,885,200,'','','',0,0,0,263,547,'');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('goose_db_version',3);
CREATE INDEX members_by_user ON members (user_id);
CREATE INDEX api_keys_by_id ON api_keys (id);
CREATE UNIQUE INDEX folders_in_order ON folders (workspace_id, sort_order, number);
CREATE INDEX folders_in_parent ON folders (workspace_id, parent_id, sort_order, number);
CREATE UNIQUE INDEX projects_in_order ON projects (workspace_id, sort_order, number);
CREATE INDEX projects_in_folder ON projects (workspace_id, folder_id, sort_order, number);
CREATE INDEX projects_by_name ON projects (workspace_id, name_folded, number);
CREATE INDEX projects_by_update ON projects (workspace_id, updated_at, number);
CREATE UNIQUE INDEX documents_in_order ON documents (workspace_id, number) WHERE deleted_at IS NULL;
CREATE INDEX documents_by_update ON documents (workspace_id, updated_at, number) WHERE deleted_at IS NULL;
CREATE INDEX documents_by_title ON documents (workspace_id, title_folded, number) WHERE deleted_at IS NULL;
CREATE INDEX documents_in_project ON documents (workspace_id, project_id, updated_at, number);
CREATE UNIQUE INDEX events_by_id ON events (workspace_id, id);
CREATE INDEX events_by_resource ON events (workspace_id, resource_id, number);
CREATE INDEX events_by_type ON events (workspace_id, type, number);
CREATE INDEX events_by_time ON events (at);
CREATE INDEX idempotency_keys_by_time ON idempotency_keys (created_at);
CREATE UNIQUE INDEX subscriptions_by_id ON subscriptions (id);
CREATE UNIQUE INDEX deliveries_once ON deliveries (subscription_id, event_number);
CREATE INDEX deliveries_waiting ON deliveries (subscription_id, retry, next_attempt_at) WHERE state = 'waiting';
CREATE INDEX deliveries_sending ON deliveries (lease_until) WHERE state = 'sending';
CREATE INDEX deliveries_held ON deliveries (subscription_id, event_number) WHERE state = 'held';
CREATE INDEX deliveries_by_time ON deliveries (created_at);
