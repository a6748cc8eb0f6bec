package app

import (
	"context"
	"net/url"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// The audit log says who did what to keys, members, webhooks, shares and settings. A line is written in the
// transaction of its action, so that neither exists without the other. Content is not in it: versions and
// the event log have that.
//
// A workspace has a log of its own. The instance has one for what happens outside of workspaces: sign-ins,
// second factors, and what an operator did in any workspace.

// Origin says where a request comes from. A front.Exchange is one.
type Origin interface {
	Address() string   // of the client
	RequestID() string // in the access log
}

// actor returns the caller as the audit log names it. A caller without a key and a role is an operator.
func (c Caller) actor() sheaf.Actor {
	by := sheaf.Actor{User: c.User, Key: c.Key.ID}
	if c.Key.ID == "" && c.Role == "" {
		by.User, by.Operator = "", true
	}
	if c.Origin != nil {
		by.Address, by.RequestID = c.Origin.Address(), c.Origin.RequestID()
	}
	return by
}

// actor returns a person who acts in this browser.
func (b Browser) actor(u sheaf.UserID) sheaf.Actor {
	return sheaf.Actor{User: u, Address: b.Address, RequestID: b.RequestID}
}

// anOperator is the actor of a command.
var anOperator = sheaf.Actor{Operator: true}

// audit adds a line about an action of this transaction to the workspace's audit log. `before` and `after` are
// two states of the record; one of them is nil if the record is created or deleted. If both are given, the
// line has the fields that differ, and there is no line if none differs.
func (w *work) audit(action sheaf.AuditAction, target string, before, after sheaf.Record) {
	by := w.caller.actor()
	if w.unattended {
		by = sheaf.Actor{}
	}
	if l, differ := w.app.auditLine(by, action, target, before, after); differ {
		l.At = w.now
		w.lines = append(w.lines, l)
	}
}

// auditLine returns a line. `differ` is false if both states are given and are the same.
func (a *App) auditLine(by sheaf.Actor, action sheaf.AuditAction, target string, before, after sheaf.Record) (l sheaf.AuditLine, differ bool) {
	l = sheaf.AuditLine{ID: sheaf.AuditID(a.newID()), At: a.now(), Actor: by, Action: action, Target: target}
	switch {
	case before != nil && after != nil:
		l.Before, l.After = sheaf.AppendPrevious(nil, before, after), sheaf.AppendPrevious(nil, after, before)
		return l, string(l.After) != "{}"
	case before != nil:
		l.Before = sheaf.AppendJSON(nil, before)
	case after != nil:
		l.After = sheaf.AppendJSON(nil, after)
	}
	return l, true
}

// writeAudit writes the lines of this transaction.
func (w *work) writeAudit() error {
	for _, l := range w.lines {
		if err := w.InsertAudit(w.ws.ID, l); err != nil {
			return err
		}
	}
	return nil
}

// auditIn writes a line to the audit log of a workspace that the transaction has locked.
func (a *App) auditIn(tx *store.Tx, ws sheaf.WorkspaceID, by sheaf.Actor, action sheaf.AuditAction, target string, before, after sheaf.Record) error {
	l, _ := a.auditLine(by, action, target, before, after)
	return tx.InsertAudit(ws, l)
}

// auditInstance writes a line about a person to the instance's audit log.
func (a *App) auditInstance(tx *store.Tx, by sheaf.Actor, action sheaf.AuditAction, target sheaf.UserID, after sheaf.Record) error {
	l, _ := a.auditLine(by, action, string(target), nil, after)
	return tx.InsertInstanceAudit(l)
}

// insertFailure counts a failure in the instance's audit log, for this target, address and minute. The target is
// the id of an account. It is empty for an unknown one: what was typed may be a password, and is not stored.
func (a *App) insertFailure(tx *store.Tx, action sheaf.AuditAction, target, address string) error {
	l, _ := a.auditLine(sheaf.Actor{Address: address}, action, target, nil, nil)
	l.At, l.Count = l.At.Truncate(time.Minute), 1
	return tx.InsertInstanceAudit(l)
}

// Audit returns a page of the workspace's audit log, oldest first. The plan must include it (PLAN_REQUIRED).
// If the log does not have the line f.After, Audit returns NotFound.
func (a *App) Audit(ctx context.Context, c Caller, f sheaf.AuditFilter) (sheaf.Page[sheaf.AuditLine], error) {
	return read(ctx, a, c, scope(sheaf.AuditRead), func(r *store.Reader) (sheaf.Page[sheaf.AuditLine], error) {
		ws, err := r.Workspace(c.Workspace)
		if err == nil {
			err = ws.Plan.AllowAudit()
		}
		if err != nil {
			return sheaf.Page[sheaf.AuditLine]{}, err
		}
		return auditAfter(r.Audit(c.Workspace, f))
	})
}

// auditAfter explains that the line to continue after is missing.
func auditAfter(p sheaf.Page[sheaf.AuditLine], err error) (sheaf.Page[sheaf.AuditLine], error) {
	if sheaf.KindOf(err) == sheaf.NotFound {
		err = &sheaf.Error{Kind: sheaf.NotFound, Code: sheaf.CodeNotFound,
			Text: "after: this audit line is unknown or no longer kept: start from since"}
	}
	return p, err
}

// AuditNames has the present names of people and keys in audit lines. Keys that are no longer kept, and
// people without a name, are missing.
type AuditNames struct {
	People map[sheaf.UserID]string
	Keys   map[sheaf.KeyID]string
}

// AuditNames returns the names of the actors and targets of these lines.
func (a *App) AuditNames(ctx context.Context, c Caller, lines []sheaf.AuditLine) (AuditNames, error) {
	return read(ctx, a, c, scope(sheaf.AuditRead), func(r *store.Reader) (AuditNames, error) {
		names := AuditNames{map[sheaf.UserID]string{}, map[sheaf.KeyID]string{}}
		for _, l := range lines {
			if err := names.add(r, c.Workspace, l); err != nil {
				return names, err
			}
		}
		return names, nil
	})
}

// add looks up the actor of a line, and its target if that is a person or a key.
func (n AuditNames) add(r *store.Reader, ws sheaf.WorkspaceID, l sheaf.AuditLine) error {
	people, keys := []sheaf.UserID{l.Actor.User}, []sheaf.KeyID{l.Actor.Key}
	switch noun := l.Action.Noun(); noun {
	case "member":
		people = append(people, sheaf.UserID(l.Target))
	case "key", "app":
		keys = append(keys, sheaf.KeyID(l.Target))
	}
	for _, id := range people {
		if _, known := n.People[id]; known || id == "" {
			continue
		}
		u, err := r.User(id)
		if err != nil && sheaf.KindOf(err) != sheaf.NotFound {
			return err
		}
		n.People[id] = u.Name
	}
	for _, id := range keys {
		if _, known := n.Keys[id]; known || id == "" {
			continue
		}
		k, err := r.Key(ws, id)
		if err != nil && sheaf.KindOf(err) != sheaf.NotFound {
			return err
		}
		n.Keys[id] = k.Name
	}
	return nil
}

// Audit returns a page of a workspace's audit log, on any plan, or NotFound. It also serves workspaces that are
// deleted and not yet removed.
func (o Operator) Audit(ctx context.Context, id sheaf.WorkspaceID, f sheaf.AuditFilter) (sheaf.Page[sheaf.AuditLine], error) {
	page, err := readUnasked(ctx, o.app, func(r *store.Reader) (sheaf.Page[sheaf.AuditLine], error) {
		if _, err := r.Workspace(id); err != nil {
			return sheaf.Page[sheaf.AuditLine]{}, forOperator(err, "workspace", string(id), "sheaf workspace list shows all workspaces")
		}
		return auditAfter(r.Audit(id, f))
	})
	return page, err
}

// InstanceAudit returns a page of the instance's audit log, oldest first.
func (o Operator) InstanceAudit(ctx context.Context, f sheaf.AuditFilter) (sheaf.Page[sheaf.AuditLine], error) {
	return readUnasked(ctx, o.app, func(r *store.Reader) (sheaf.Page[sheaf.AuditLine], error) {
		return auditAfter(r.InstanceAudit(f))
	})
}

// What follows says which fields of a record its audit lines have. They have no secrets: the address of a
// share is one, and that of an endpoint may contain one.

func keyFacts(k sheaf.Key) sheaf.Record {
	return sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Text("name", k.Name)
		o.Texts("scopes", k.Scopes.Strings())
		restrictionFact(o, k.RestrictedTo)
		o.Text("user_id", string(k.UserID))
		o.Text("owner", k.Owner())
		o.OptTime("expires_at", k.ExpiresAt)
	})
}

// grantFacts are what a person has allowed an app.
func grantFacts(g sheaf.Grant) sheaf.Record {
	return sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Text("name", g.Name)
		o.Text("client_id", g.Client)
		o.Text("redirect_host", g.Host())
		o.Texts("scopes", g.Scopes.Strings())
		restrictionFact(o, g.RestrictedTo)
		o.Text("user_id", string(g.UserID))
		o.OptTime("expires_at", g.EndsAt)
	})
}

// endedGrantFacts are grantFacts, and why the grant has ended if no person has ended it.
func endedGrantFacts(g sheaf.Grant, reason string) sheaf.Record {
	return sheaf.RecordFunc(func(o *sheaf.Object) {
		grantFacts(g).Fields(o)
		if reason != "" {
			o.Text("reason", reason)
		}
	})
}

// rotationFacts are the name of a key or a webhook and until when the previous secret works.
func rotationFacts(name string, oldUntil *time.Time) sheaf.Record {
	return sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Text("name", name)
		o.OptTime("previous_secret_until", oldUntil)
	})
}

func restrictionFact(o *sheaf.Object, to *sheaf.Restriction) {
	if to == nil {
		o.Null("restricted_to")
		return
	}
	o.Record("restricted_to", to)
}

// memberFacts are the role and the restriction of a member or of an invited person.
func memberFacts(role sheaf.Role, to *sheaf.Restriction) sheaf.Record {
	return sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Text("role", string(role))
		restrictionFact(o, to)
	})
}

func webhookFacts(s sheaf.Subscription) sheaf.Record {
	return sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Text("name", s.Name)
		o.Text("endpoint", originOf(s.URL))
		events := make([]string, len(s.Events))
		for i, e := range s.Events {
			events[i] = string(e)
		}
		o.Texts("events", events)
		o.Bool("active", s.Active)
		o.Texts("header_names", s.HeaderNames)
		if s.Filter == nil {
			o.Null("filter")
		} else {
			o.Record("filter", s.Filter)
		}
	})
}

// auditWebhook adds a line about a changed webhook. The line also says that the address or the headers
// changed, but not to what.
func (w *work) auditWebhook(before, after sheaf.Subscription) {
	changed := func(s sheaf.Subscription, url bool) sheaf.Record {
		return sheaf.RecordFunc(func(o *sheaf.Object) {
			webhookFacts(s).Fields(o)
			o.Bool("address_or_headers_changed", url)
		})
	}
	facts := sheaf.AppendPrevious(nil, webhookFacts(before), webhookFacts(after))
	w.audit(sheaf.ActionWebhookUpdated, string(after.ID), changed(before, false), changed(after, string(facts) == "{}" || before.URL != after.URL))
}

// originOf returns the scheme, host and port of an address. The rest of it may contain a secret.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

func shareFacts(s sheaf.Share) sheaf.Record {
	return sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Text("resource_type", string(s.ResourceType))
		o.Text("resource_id", s.ResourceID)
		o.Bool("has_password", s.PasswordHash != "")
		o.OptTime("expires_at", s.ExpiresAt)
		o.OptText("branding_id", (*string)(s.BrandingID))
		o.Bool("listed", s.Listed)
		o.OptText("release", s.Release)
		o.Bool("show_releases", s.ShowReleases)
	})
}

func releaseFacts(r sheaf.Release) sheaf.Record {
	return sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Text("project_id", string(r.ProjectID))
		o.Text("name", r.Name)
		o.Int("documents", r.Documents)
	})
}

func reviewFacts(p sheaf.Project) sheaf.Record {
	return sheaf.RecordFunc(func(o *sheaf.Object) { o.Review(p.Approvals) })
}

// namedFacts is one field with a text.
func namedFacts(name, value string) sheaf.Record {
	return sheaf.RecordFunc(func(o *sheaf.Object) { o.Text(name, value) })
}

// auditDefaultBranding adds a line if the workspace's default branding is no longer this one.
func (w *work) auditDefaultBranding(before sheaf.BrandingID) {
	facts := func(id sheaf.BrandingID) sheaf.Record {
		return sheaf.RecordFunc(func(o *sheaf.Object) {
			if id == "" {
				o.Null("default_branding")
				return
			}
			o.Text("default_branding", string(id))
		})
	}
	w.audit(sheaf.ActionWorkspaceBrandingChanged, string(w.ws.ID), facts(before), facts(w.ws.DefaultBranding))
}

func workspaceFacts(name string, p sheaf.Plan) sheaf.Record {
	return sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Text("name", name)
		o.Text("plan", string(p))
	})
}

// auditEvent adds the audit line of an event, if it has one. Whichever way a share or a release is created or deleted,
// alone or with something else, it has its event.
func (w *work) auditEvent(t sheaf.EventType, id string, payload sheaf.Record) {
	switch t {
	case sheaf.ShareCreated:
		w.audit(sheaf.ActionShareCreated, id, nil, shareFacts(*payload.(*sheaf.Share)))
	case sheaf.ShareDeleted:
		w.audit(sheaf.ActionShareDeleted, id, shareFacts(*payload.(*sheaf.Share)), nil)
	case sheaf.ShareUpdated:
		u := payload.(*sheaf.Updated)
		w.auditShare(*u.Before.(*sheaf.Share), *u.After.(*sheaf.Share))
	case sheaf.ReleaseCreated:
		w.audit(sheaf.ActionReleaseCreated, id, nil, releaseFacts(*payload.(*sheaf.Release)))
	case sheaf.ReleaseDeleted:
		w.audit(sheaf.ActionReleaseDeleted, id, releaseFacts(*payload.(*sheaf.Release)), nil)
	}
}

// auditShare adds lines about a changed share: one if its password changed, and one if other fields did.
func (w *work) auditShare(before, after sheaf.Share) {
	id := string(after.ID)
	switch {
	case after.PasswordHash == before.PasswordHash:
	case after.PasswordHash == "":
		w.audit(sheaf.ActionSharePasswordRemoved, id, nil, nil)
	default:
		w.audit(sheaf.ActionSharePasswordSet, id, nil, nil)
	}
	before.PasswordHash = after.PasswordHash
	w.audit(sheaf.ActionShareUpdated, id, shareFacts(before), shareFacts(after))
}

// auditRevoked adds a line for each key.
func (w *work) auditRevoked(keys []sheaf.Key) {
	for _, k := range keys {
		w.audit(sheaf.ActionKeyRevoked, string(k.ID), keyFacts(k), nil)
	}
}

// auditWithdrawn adds a line for each of the invitations that were open.
func (w *work) auditWithdrawn(all []sheaf.Invitation) {
	for _, i := range all {
		if !i.ExpiresAt.After(w.now) {
			continue
		}
		w.audit(sheaf.ActionInvitationWithdrawn, string(i.ID), memberFacts(i.Role, i.RestrictedTo), nil)
		w.lines[len(w.lines)-1].Email = &i.Email
	}
}
