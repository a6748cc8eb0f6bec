package app

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

type testOrigin struct{}

func (testOrigin) Address() string   { return "192.0.2.9" }
func (testOrigin) RequestID() string { return "req-9" }

// auditor reads what was added to the audit logs.
type auditor struct {
	*testing.T
	a        *App
	ws       sheaf.WorkspaceID
	after    sheaf.AuditID
	instance sheaf.AuditID
}

var anyID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// added returns the lines that were added since the last call, with every id as ID.
func (x *auditor) added() (workspace, instance []string) {
	x.Helper()
	page, err := x.a.Operator().Audit(x.Context(), x.ws, sheaf.AuditFilter{After: x.after, Paging: sheaf.Paging{Limit: 100}})
	if err != nil {
		x.Fatal(err)
	}
	for _, l := range page.Items {
		workspace, x.after = append(workspace, asText(l)), l.ID
	}
	page, err = x.a.Operator().InstanceAudit(x.Context(), sheaf.AuditFilter{After: x.instance, Paging: sheaf.Paging{Limit: 100}})
	if err != nil {
		x.Fatal(err)
	}
	for _, l := range page.Items {
		instance, x.instance = append(instance, asText(l)), l.ID
	}
	return workspace, instance
}

func asText(l sheaf.AuditLine) string {
	by := "server"
	switch {
	case l.Actor.Operator:
		by = "operator"
	case l.Actor.Key != "":
		by = "key"
	case l.Actor.User != "":
		by = "person"
	}
	if l.Actor.Address != "" {
		by += " " + l.Actor.Address
	}
	if l.Actor.RequestID != "" {
		by += " " + l.Actor.RequestID
	}
	out := fmt.Sprintf("%s by %s", l.Action, by)
	if l.Count > 0 {
		out += fmt.Sprintf(" ×%d", l.Count)
	}
	before, after := l.Facts()
	if before != nil {
		out += " was " + string(before)
	}
	if after != nil {
		out += " is " + string(after)
	}
	return anyID.ReplaceAllString(out, "ID")
}

// want fails the test unless exactly these lines were added. A line that ends in … may go on.
func (x *auditor) want(what string, workspace, instance []string) {
	x.Helper()
	ws, in := x.added()
	for _, c := range []struct {
		log       string
		got, want []string
	}{{"workspace", ws, workspace}, {"instance", in, instance}} {
		if !slices.EqualFunc(c.got, c.want, func(got, want string) bool {
			begin, open := strings.CutSuffix(want, "…")
			return got == want || open && strings.HasPrefix(got, begin)
		}) {
			x.Errorf("%s: the %s's log has\n  %s\nwant\n  %s", what, c.log, strings.Join(c.got, "\n  "), strings.Join(c.want, "\n  "))
		}
	}
}

// D200: what changes who may do what has its line, with its actor and without secrets. What changes nothing
// has none.
func TestAudit_OfAWorkspace(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		ctx, op := t.Context(), a.Operator()
		in, first := ada(t, a)
		n, _ := signIn(t, a, in)
		owner := caller(t, a, n.Token)
		owner.Origin = testOrigin{}
		x := &auditor{T: t, a: a, ws: first.Workspace.ID}
		x.added()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		person := " by person 192.0.2.9 req-9"

		k, err := a.CreateKey(ctx, owner, NewKey{Name: "CI", Scopes: sheaf.Scopes{sheaf.KeysWrite, sheaf.KeysRead}})
		must(err)
		x.want("a key", []string{`key.created` + person + ` is {"name":"CI","scopes":["keys:write","keys:read"],"restricted_to":null,"user_id":"ID","owner":"user","expires_at":null}`}, nil)
		byKey := Caller{Workspace: owner.Workspace, User: owner.User, Key: k.Key, Origin: testOrigin{}}
		r, err := a.RotateKey(ctx, byKey, k.ID, time.Hour)
		must(err)
		x.want("rotated by itself", []string{`key.rotated by key 192.0.2.9 req-9 is {"name":"CI","previous_secret_until":"2026-11-15T11:00:00.000Z"}`}, nil)
		byKey.Key = r.Key
		must(a.RevokeKey(ctx, byKey, k.ID))
		x.want("revoked by itself", []string{`key.revoked by key 192.0.2.9 req-9 was {"name":"CI",…`}, nil)
		wantKind(t, "revoked again", a.RevokeKey(ctx, owner, k.ID), sheaf.NotFound)
		x.want("revoked again", nil, nil)

		i, err := a.Invite(ctx, owner, "Bob@example.com", sheaf.Editor, nil)
		must(err)
		x.want("invited", []string{`invitation.created` + person + ` is {"email":"bob@example.com","role":"editor","restricted_to":null}`}, nil)
		_, err = a.Invite(ctx, owner, "bob@example.com", sheaf.Admin, nil)
		must(err)
		x.want("invited again", []string{
			`invitation.withdrawn` + person + ` was {"email":"bob@example.com","role":"editor","restricted_to":null}`,
			`invitation.created` + person + ` is {"email":"bob@example.com","role":"admin","restricted_to":null}`}, nil)
		_, _, err = a.Join(ctx, Join{Token: i.Token, Name: "Bob", Password: testPassword, Address: "192.0.2.2"}, "")
		wantKind(t, "the replaced link", err, sheaf.NotFound)
		x.want("the replaced link", nil, nil)
		j, err := a.Invite(ctx, owner, "bob@example.com", sheaf.Admin, nil)
		must(err)
		x.added()
		_, _, err = a.Join(ctx, Join{Token: j.Token, Name: "Bob", Password: testPassword, Address: "192.0.2.2", RequestID: "req-2"}, "")
		must(err)
		x.want("joined", []string{`member.joined by person 192.0.2.2 req-2 is {"role":"admin","restricted_to":null}`},
			[]string{`session.started by person 192.0.2.2 req-2`})
		s, err := a.SignIn(ctx, SignIn{Email: "bob@example.com", Password: testPassword, Address: "192.0.2.2"}, "")
		must(err)
		bob := caller(t, a, s.Token)
		_, err = a.CreateKey(ctx, bob, NewKey{Name: "Bob's", Scopes: sheaf.Scopes{sheaf.ProjectsRead}})
		must(err)
		p, err := a.CreateProject(ctx, owner, sheaf.ProjectChange{Name: sheaf.Some("Manual")})
		must(err)
		x.added()
		must(a.SetRole(ctx, owner, bob.User, sheaf.Admin, sheaf.Opt[sheaf.Role]{}))
		x.want("the same role", nil, nil)
		must(a.SetRole(ctx, owner, bob.User, sheaf.Editor, sheaf.Opt[sheaf.Role]{}))
		x.want("another role", []string{`member.role_changed` + person + ` was {"role":"admin"} is {"role":"editor"}`, `key.revoked` + person + ` was {"name":"Bob's",…`}, nil)
		must(a.Restrict(ctx, owner, bob.User, &RestrictTo{Projects: []sheaf.ProjectID{p.ID}}, sheaf.Opt[string]{}))
		x.want("restricted", []string{`member.restriction_changed` + person + ` was {"restricted_to":null} is {"restricted_to":{"project_ids":["ID"],"folder_ids":[]}}`}, nil)
		must(a.RemoveMember(ctx, owner, bob.User))
		x.want("removed", []string{`member.removed` + person + ` was {"role":"editor"}`}, nil)

		must(a.RenameWorkspace(ctx, owner, "Docs", sheaf.Opt[string]{}))
		must(a.RenameWorkspace(ctx, owner, "Docs", sheaf.Opt[string]{}))
		must(a.ChangePlan(ctx, owner, sheaf.Pro, sheaf.Opt[sheaf.Plan]{}))
		must(a.ChangePlan(ctx, owner, sheaf.Business, sheaf.Opt[sheaf.Plan]{}))
		x.want("settings", []string{`workspace.renamed` + person + ` was {"name":"My workspace"} is {"name":"Docs"}`,
			`workspace.plan_changed` + person + ` was {"plan":"business"} is {"plan":"pro"}`, `workspace.plan_changed` + person + ` was {"plan":"pro"} is {"plan":"business"}`}, nil)

		share, err := a.CreateShare(ctx, owner, sheaf.ShareChange{ResourceType: sheaf.Some("project"), ResourceID: sheaf.Some(string(p.ID)), Password: sheaf.Some("a secret word")})
		must(err)
		x.want("shared", []string{`share.created` + person + ` is {"resource_type":"project","resource_id":"ID","has_password":true,…`}, nil)
		_, err = a.UpdateShare(ctx, owner, share.ID, sheaf.ShareChange{Password: sheaf.Some("another secret"), Listed: sheaf.Some(true)}, sheaf.Match{})
		must(err)
		x.want("another password", []string{`share.password_set` + person, `share.updated` + person + ` was {"listed":false} is {"listed":true}`}, nil)
		_, err = a.UpdateShare(ctx, owner, share.ID, sheaf.ShareChange{Password: sheaf.Nil[string]()}, sheaf.Match{})
		must(err)
		x.want("no password", []string{`share.password_removed` + person}, nil)
		_, err = a.UpdateProject(ctx, owner, p.ID, sheaf.ProjectChange{Approvals: sheaf.Some(int64(2))}, sheaf.Match{})
		must(err)
		x.want("reviewed", []string{`project.review_changed` + person + ` was {"review":null} is {"review":{"approvals":2}}`}, nil)
		rel, err := a.CreateRelease(ctx, owner, p.ID, sheaf.ReleaseChange{Name: sheaf.Some("1.0")})
		must(err)
		_, err = a.UpdateRelease(ctx, owner, rel.ID, sheaf.ReleaseChange{Notes: sheaf.Some("All new")}, sheaf.Match{})
		must(err)
		x.want("released", []string{`release.created` + person + ` is {"project_id":"ID","name":"1.0","documents":0}`, `release.notes_changed` + person + ` is {"name":"1.0"}`}, nil)
		must(a.DeleteProject(ctx, owner, p.ID, sheaf.Match{}))
		ws, instance := x.added()
		slices.Sort(ws)
		if want := []string{`release.deleted` + person + ` was {"project_id":"ID","name":"1.0","documents":0}`, `share.deleted` + person}; len(ws) != 2 || ws[0] != want[0] || !strings.HasPrefix(ws[1], want[1]) || instance != nil {
			t.Errorf("a deleted project adds %q and %q, want %q", ws, instance, want)
		}

		*now = now.Add(time.Second)
		ok, err := op.CreateKey(ctx, owner.Workspace, NewKey{Name: "Ops", Scopes: sheaf.Scopes{sheaf.ProjectsRead}})
		must(err)
		_, err = op.RotateKey(ctx, ok.ID, 0)
		must(err)
		_, err = op.RevokeKey(ctx, ok.ID)
		must(err)
		_, err = op.Invite(ctx, owner.Workspace, "eve@example.com", sheaf.Member, nil)
		must(err)
		_, err = op.SetPlan(ctx, owner.Workspace, sheaf.Pro)
		must(err)
		_, err = op.DeleteWorkspace(ctx, owner.Workspace, time.Hour)
		must(err)
		_, err = op.UndeleteWorkspace(ctx, owner.Workspace)
		must(err)
		same := []string{`key.created by operator is {"name":"Ops",…`, `key.rotated by operator is {"name":"Ops","previous_secret_until":null}`, `key.revoked by operator was {"name":"Ops",…`,
			`invitation.created by operator is {"email":"eve@example.com","role":"member","restricted_to":null}`, `workspace.plan_changed by operator was {"plan":"business"} is {"plan":"pro"}`,
			`workspace.deleted by operator is {"name":"Docs","plan":"pro","ends_at":"2026-11-15T11:00:01.000Z"}`, `workspace.undeleted by operator is {"name":"Docs","plan":"pro"}`}
		x.want("the operator", same, same)
	})
}

// D200: sign-ins, second factors and what operators do to people are lines of the instance's log. Failures are
// counted by account, address and minute.
func TestAudit_OfTheInstance(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		ctx, op := t.Context(), a.Operator()
		in, first := ada(t, a)
		x := &auditor{T: t, a: a, ws: first.Workspace.ID}
		x.want("the first start", []string{`workspace.created by operator is {"name":"My workspace","plan":"business"}`, `key.created by operator is {"name":"First key",…`},
			[]string{`workspace.created by operator is {"name":"My workspace","plan":"business"}`, `key.created by operator is {"name":"First key",…`, `setup.completed by person`})
		in.RequestID = "req-1"
		n, s := signIn(t, a, in)
		x.want("signed in", nil, []string{`session.started by person 192.0.2.1 req-1`})
		for range 3 {
			if _, err := a.SignIn(ctx, in.with(func(s *SignIn) { s.Password = "wrong" }), ""); err == nil {
				t.Fatal("a wrong password signs in")
			}
		}
		if _, err := a.SignIn(ctx, in.with(func(s *SignIn) { s.Email, s.Password = "my secret password", "x" }), ""); err == nil {
			t.Fatal("an unknown e-mail signs in")
		}
		x.want("failures", nil, []string{`sign_in.failed by server 192.0.2.1 ×3`, `sign_in.failed by server 192.0.2.1 ×1`})
		*now = now.Add(time.Minute)
		if _, err := a.SignIn(ctx, in.with(func(s *SignIn) { s.Password = "wrong" }), ""); err == nil {
			t.Fatal("a wrong password signs in")
		}
		x.want("a minute later", nil, []string{`sign_in.failed by server 192.0.2.1 ×1`})

		s.Origin = testOrigin{}
		b := Browser{Address: "192.0.2.9", RequestID: "req-9"}
		person := " by person 192.0.2.9 req-9"
		n, err := a.ChangePassword(ctx, s, in.Password, "another long password", b)
		if err != nil {
			t.Fatal(err)
		}
		x.want("another password", nil, []string{`password.changed` + person, `session.started` + person})
		s, err = a.Session(ctx, n.Token)
		if err != nil {
			t.Fatal(err)
		}
		s.Origin = testOrigin{}
		if err := a.SignOut(ctx, "no such token", b); err != nil {
			t.Fatal(err)
		}
		x.want("no session", nil, nil)
		if err := a.SignOut(ctx, n.Token, b); err != nil {
			t.Fatal(err)
		}
		if err := a.SignOutEverywhere(ctx, s); err != nil {
			t.Fatal(err)
		}
		x.want("signed out", nil, []string{`session.ended` + person, `session.all_ended` + person})
		if _, err := op.SetPassword(ctx, in.Email, testPassword); err != nil {
			t.Fatal(err)
		}
		x.want("a password of the operator", nil, []string{`password.set by operator`})
		owner := caller(t, a, mustSignIn(t, a, in).Token)
		invited(t, a, owner, "eve@example.com", sheaf.Admin)
		x.added()
		if _, err := op.EraseUser(ctx, "eve@example.com"); err != nil {
			t.Fatal(err)
		}
		x.want("erased", []string{`member.removed by operator was {"role":"admin"}`}, []string{`member.removed by operator was {"role":"admin"}`, `user.erased by operator`})
		wantNowhere(t, a, "eve@example.com")
		wantNowhere(t, a, "my secret password")
	})
}

func mustSignIn(t *testing.T, a *App, in SignIn) NewSession {
	t.Helper()
	n, _ := signIn(t, a, in)
	return n
}

// D200: erasing a person deletes the addresses from which they acted, however many lines there are.
func TestAudit_EraseDeletesAddresses(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		in, first := ada(t, a)
		owner := caller(t, a, mustSignIn(t, a, in).Token)
		eve := invited(t, a, owner, "eve@example.com", sheaf.Admin)
		by := sheaf.Actor{User: eve.User, Address: "198.51.100.7"}
		err := a.writeUnasked(t.Context(), func(tx *store.Tx) error {
			for range erasedAtOnce + 3 {
				if err := a.auditIn(tx, first.Workspace.ID, by, sheaf.ActionKeyRevoked, "", nil, nil); err != nil {
					return err
				}
				if err := a.auditInstance(tx, by, sheaf.ActionSessionEnded, eve.User, nil); err != nil {
					return err
				}
			}
			return a.insertFailure(tx, sheaf.ActionSignInFailed, string(eve.User), by.Address)
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Operator().EraseUser(t.Context(), "eve@example.com"); err != nil {
			t.Fatal(err)
		}
		wantNowhere(t, a, by.Address)
		_, err = a.Operator().EraseUser(t.Context(), in.Email)
		wantKind(t, "the last owner", err, sheaf.Conflict)
		page, err := a.Operator().InstanceAudit(t.Context(), sheaf.AuditFilter{User: owner.User, Action: sheaf.ActionSessionStarted, Paging: sheaf.Paging{Limit: 1}})
		if err != nil || len(page.Items) != 1 || page.Items[0].Actor.Address != in.Address {
			t.Errorf("after a refused erasure the line of the owner is %+v, %v", page.Items, err)
		}
	})
}

// D200: the log is for owners and keys with audit:read, on the Business plan. Filters and positions select what
// they say, and a position that is gone is NotFound.
func TestAudit_IsRead(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		ctx := t.Context()
		in, _ := ada(t, a)
		owner := caller(t, a, mustSignIn(t, a, in).Token)
		admin := invited(t, a, owner, "bob@example.com", sheaf.Admin)
		_, err := a.Audit(ctx, admin, sheaf.AuditFilter{Paging: sheaf.Paging{Limit: 10}})
		wantKind(t, "an admin", err, sheaf.Forbidden)
		_, err = a.AuditNames(ctx, admin, nil)
		wantKind(t, "names for an admin", err, sheaf.Forbidden)
		since := now.Add(time.Hour)
		*now = since
		k, err := a.CreateKey(ctx, owner, NewKey{Name: "SIEM", Scopes: sheaf.Scopes{sheaf.AuditRead, sheaf.KeysWrite}})
		if err != nil {
			t.Fatal(err)
		}
		byKey := Caller{Workspace: owner.Workspace, User: owner.User, Key: k.Key}
		made, err := a.CreateKey(ctx, byKey, NewKey{Name: "made", Scopes: sheaf.Scopes{sheaf.KeysWrite}})
		if err != nil {
			t.Fatal(err)
		}
		all, err := a.Audit(ctx, byKey, sheaf.AuditFilter{Paging: sheaf.Paging{Limit: 100}})
		if err != nil || len(all.Items) < 5 {
			t.Fatalf("%d lines, %v", len(all.Items), err)
		}
		for name, c := range map[string]struct {
			f    sheaf.AuditFilter
			want []sheaf.AuditLine
		}{
			"by action":      {sheaf.AuditFilter{Action: sheaf.ActionMemberJoined}, filterLines(all.Items, func(l sheaf.AuditLine) bool { return l.Action == sheaf.ActionMemberJoined })},
			"by person":      {sheaf.AuditFilter{User: admin.User}, filterLines(all.Items, func(l sheaf.AuditLine) bool { return l.Actor.User == admin.User })},
			"by key":         {sheaf.AuditFilter{Key: k.ID}, all.Items[len(all.Items)-1:]},
			"by target":      {sheaf.AuditFilter{Target: string(made.ID)}, all.Items[len(all.Items)-1:]},
			"since":          {sheaf.AuditFilter{Since: &since}, all.Items[len(all.Items)-2:]},
			"before":         {sheaf.AuditFilter{Before: &since}, all.Items[:len(all.Items)-2]},
			"after":          {sheaf.AuditFilter{After: all.Items[1].ID}, all.Items[2:]},
			"after the last": {sheaf.AuditFilter{After: all.Items[len(all.Items)-1].ID}, nil},
			"nothing":        {sheaf.AuditFilter{User: admin.User, Action: sheaf.ActionKeyRevoked}, nil},
		} {
			c.f.Limit = 100
			got, err := a.Audit(ctx, owner, c.f)
			if err != nil || got.Total != int64(len(c.want)) || !slices.EqualFunc(got.Items, c.want, func(a, b sheaf.AuditLine) bool { return a.ID == b.ID }) {
				t.Errorf("%s: %d lines, total %d, %v; want %d", name, len(got.Items), got.Total, err, len(c.want))
			}
		}
		_, err = a.Audit(ctx, owner, sheaf.AuditFilter{After: sheaf.AuditID(made.ID), Paging: sheaf.Paging{Limit: 1}})
		wantKind(t, "after an unknown line", err, sheaf.NotFound)
		names, err := a.AuditNames(ctx, owner, all.Items)
		if err != nil || names.People[admin.User] != "bob@example.com" || names.People[owner.User] != "Ada" || names.Keys[k.ID] != "SIEM" {
			t.Errorf("names %+v, %v", names, err)
		}
		if err := a.ChangePlan(ctx, owner, sheaf.Pro, sheaf.Opt[sheaf.Plan]{}); err != nil {
			t.Fatal(err)
		}
		_, err = a.Audit(ctx, byKey, sheaf.AuditFilter{Paging: sheaf.Paging{Limit: 10}})
		wantKind(t, "on Pro", err, sheaf.Forbidden)
	})
}

func filterLines(all []sheaf.AuditLine, keep func(sheaf.AuditLine) bool) (out []sheaf.AuditLine) {
	for _, l := range all {
		if keep(l) {
			out = append(out, l)
		}
	}
	return out
}

// D200: strangers with any number of addresses add a bounded number of lines in a minute.
func TestAudit_CountsAreBounded(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		err := a.writeUnasked(t.Context(), func(tx *store.Tx) error {
			for i := range 1100 {
				if err := a.insertFailure(tx, sheaf.ActionSignInRefused, "not_begun", fmt.Sprintf("2001:db8::%x", i)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		page, err := a.Operator().InstanceAudit(t.Context(), sheaf.AuditFilter{Paging: sheaf.Paging{Limit: 1, Desc: true}})
		if err != nil || page.Total != 1001 {
			t.Fatalf("%d lines, %v", page.Total, err)
		}
		if l := page.Items[0]; l.Count != 100 || l.Actor.Address != "" {
			t.Errorf("the last line counts %d, with the address %q", l.Count, l.Actor.Address)
		}
	})
}
