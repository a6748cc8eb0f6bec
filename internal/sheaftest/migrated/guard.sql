-- A guard for tests (D200): a transaction that changes who may do what, and has no line about it in an audit
-- log, is refused when it commits. So is one with a line about a change that it did not make.

-- owed refuses a changed row without a line of this transaction. Its arguments are the noun of the action and
-- another action that serves instead.
CREATE FUNCTION owed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  line RECORD;
  changed jsonb := to_jsonb(COALESCE(NEW, OLD));
  subject text := COALESCE(changed ->> TG_ARGV[2], changed ->> 'id');
  workspace integer := (changed ->> 'ws')::integer;
BEGIN
  IF EXISTS (SELECT 1 FROM workspaces w WHERE w.ws = workspace AND w.removing = 1) THEN
    RETURN NULL; -- its data is removed, the log too
  END IF;
  IF workspace IS NOT NULL AND EXISTS (SELECT 1 FROM audit a WHERE a.ws = workspace AND a.xmin = pg_current_xact_id()::xid
      AND (a.action LIKE TG_ARGV[0] || '.%' AND a.target = subject OR a.action = TG_ARGV[1])) THEN
    RETURN NULL;
  END IF;
  IF workspace IS NULL AND EXISTS (SELECT 1 FROM instance_audit a WHERE a.xmin = pg_current_xact_id()::xid
      AND (a.action LIKE TG_ARGV[0] || '.%' OR a.action LIKE TG_ARGV[1]) AND a.target = subject) THEN
    RETURN NULL;
  END IF;
  RAISE EXCEPTION 'no audit line: % of a row of %, %', TG_OP, TG_TABLE_NAME, changed;
END $$;

CREATE CONSTRAINT TRIGGER owed_made AFTER INSERT ON api_keys DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (NEW.resource = '') EXECUTE FUNCTION owed('key', '', 'id');
CREATE CONSTRAINT TRIGGER owed_connected AFTER INSERT ON api_keys DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (NEW.resource <> '') EXECUTE FUNCTION owed('app', '', 'id');
CREATE CONSTRAINT TRIGGER owed_rotated AFTER UPDATE ON api_keys DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (NEW.resource = '' AND OLD.hash IS DISTINCT FROM NEW.hash) EXECUTE FUNCTION owed('key', '', 'id');
CREATE CONSTRAINT TRIGGER owed_revoked AFTER UPDATE ON api_keys DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (NEW.resource = '' AND OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL AND COALESCE(OLD.expires_at > NEW.revoked_at, true)) EXECUTE FUNCTION owed('key', '', 'id');
CREATE CONSTRAINT TRIGGER owed_disconnected AFTER UPDATE ON api_keys DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (NEW.resource <> '' AND OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL) EXECUTE FUNCTION owed('app', '', 'id');

CREATE CONSTRAINT TRIGGER owed_made AFTER INSERT OR DELETE ON members DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION owed('member', 'workspace.created', 'user_id');
CREATE CONSTRAINT TRIGGER owed_changed AFTER UPDATE ON members DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (OLD.role IS DISTINCT FROM NEW.role OR OLD.restriction IS DISTINCT FROM NEW.restriction) EXECUTE FUNCTION owed('member', '', 'user_id');

CREATE CONSTRAINT TRIGGER owed_made AFTER INSERT ON invitations DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION owed('invitation', '', 'id');

CREATE CONSTRAINT TRIGGER owed_made AFTER INSERT OR DELETE ON subscriptions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION owed('webhook', '', 'id');
CREATE CONSTRAINT TRIGGER owed_changed AFTER UPDATE ON subscriptions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (OLD.revision IS DISTINCT FROM NEW.revision AND (OLD.name, OLD.url, OLD.events, OLD.filter, OLD.secret) IS DISTINCT FROM (NEW.name, NEW.url, NEW.events, NEW.filter, NEW.secret))
  EXECUTE FUNCTION owed('webhook', '', 'id');

CREATE CONSTRAINT TRIGGER owed_made AFTER INSERT OR DELETE ON shares DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION owed('share', '', 'id');
CREATE CONSTRAINT TRIGGER owed_changed AFTER UPDATE ON shares DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (OLD.revision IS DISTINCT FROM NEW.revision) EXECUTE FUNCTION owed('share', '', 'id');

CREATE CONSTRAINT TRIGGER owed_made AFTER INSERT ON releases DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (NEW.until IS NULL) EXECUTE FUNCTION owed('release', '', 'id');
CREATE CONSTRAINT TRIGGER owed_imported AFTER UPDATE ON releases DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (OLD.until IS NOT NULL AND NEW.until IS NULL AND NEW.removing = 0) EXECUTE FUNCTION owed('release', '', 'id');
CREATE CONSTRAINT TRIGGER owed_changed AFTER UPDATE ON releases DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (OLD.notes IS DISTINCT FROM NEW.notes OR OLD.until IS NULL AND OLD.removing <> NEW.removing) EXECUTE FUNCTION owed('release', '', 'id');

CREATE CONSTRAINT TRIGGER owed_changed AFTER UPDATE ON projects DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (OLD.approvals <> NEW.approvals) EXECUTE FUNCTION owed('project', '', 'id');

CREATE CONSTRAINT TRIGGER owed_made AFTER INSERT ON workspaces DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION owed('workspace', '', 'id');
CREATE CONSTRAINT TRIGGER owed_changed AFTER UPDATE ON workspaces DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN ((OLD.name, OLD.plan, OLD.deleted_at, OLD.default_branding) IS DISTINCT FROM (NEW.name, NEW.plan, NEW.deleted_at, NEW.default_branding))
  EXECUTE FUNCTION owed('workspace', '', 'id');

CREATE CONSTRAINT TRIGGER owed_changed AFTER UPDATE ON users DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (OLD.password_hash <> NEW.password_hash OR OLD.erased_at IS DISTINCT FROM NEW.erased_at) EXECUTE FUNCTION owed('password', '%.%ed', 'id');
CREATE CONSTRAINT TRIGGER owed_changed AFTER INSERT OR DELETE ON factors DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION owed('factor', 'user.erased', 'user_id');
CREATE CONSTRAINT TRIGGER owed_made AFTER INSERT ON sessions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION owed('session', '', 'user_id');

-- done refuses a line about a record that this transaction did not write. A record that is gone was deleted by it.
CREATE FUNCTION done() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  noun text := split_part(NEW.action, '.', 1);
  written boolean;
BEGIN
  EXECUTE CASE noun
    WHEN 'key' THEN 'SELECT bool_and(t.xmin = pg_current_xact_id()::xid) FROM api_keys t WHERE t.ws = $1 AND t.id::text = $2'
    WHEN 'app' THEN 'SELECT bool_and(t.xmin = pg_current_xact_id()::xid) FROM api_keys t WHERE t.ws = $1 AND t.id::text = $2'
    WHEN 'member' THEN 'SELECT bool_and(t.xmin = pg_current_xact_id()::xid) FROM members t WHERE t.ws = $1 AND t.user_id::text = $2'
    WHEN 'invitation' THEN 'SELECT bool_and(t.xmin = pg_current_xact_id()::xid) FROM invitations t WHERE t.ws = $1 AND t.id::text = $2'
    WHEN 'webhook' THEN 'SELECT bool_and(t.xmin = pg_current_xact_id()::xid) FROM subscriptions t WHERE t.ws = $1 AND t.id::text = $2'
    WHEN 'share' THEN 'SELECT bool_and(t.xmin = pg_current_xact_id()::xid) FROM shares t WHERE t.ws = $1 AND t.id::text = $2'
    WHEN 'release' THEN 'SELECT bool_and(t.xmin = pg_current_xact_id()::xid) FROM releases t WHERE t.ws = $1 AND t.id::text = $2'
    WHEN 'project' THEN 'SELECT bool_and(t.xmin = pg_current_xact_id()::xid) FROM projects t WHERE t.ws = $1 AND t.id::text = $2'
    WHEN 'workspace' THEN 'SELECT bool_and(t.xmin = pg_current_xact_id()::xid) FROM workspaces t WHERE t.ws = $1 AND t.id::text = $2'
  END INTO written USING NEW.ws, NEW.target;
  IF NOT COALESCE(written, true) THEN
    RAISE EXCEPTION 'an audit line about nothing: % of %', NEW.action, NEW.target;
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER done AFTER INSERT ON audit DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION done();
