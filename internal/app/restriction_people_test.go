package app

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// village is a workspace whose owner can restrict people, with a folder and a project inside, and others
// outside.
type village struct {
	t     *testing.T
	a     *App
	owner Caller
	// The folder `inner` is in `inside`, and `filed` in `inner`. `single` is in `outside`.
	inside, inner, outside sheaf.FolderID
	filed, single, hidden  sheaf.ProjectID
}

func newVillage(t *testing.T, a *App) *village {
	t.Helper()
	in, _ := ada(t, a)
	n, _ := signIn(t, a, in)
	v := &village{t: t, a: a, owner: caller(t, a, n.Token)}
	v.inside, v.outside = v.folder("Inside", nil), v.folder("Outside", nil)
	v.inner = v.folder("Inner", &v.inside)
	v.filed, v.single, v.hidden = v.project("Filed", &v.inner), v.project("Single", &v.outside), v.project("Hidden", &v.outside)
	return v
}

func (v *village) folder(name string, in *sheaf.FolderID) sheaf.FolderID {
	v.t.Helper()
	change := sheaf.FolderChange{Name: sheaf.Some(name), EntityType: sheaf.Some(string(sheaf.ProjectFolder))}
	if in != nil {
		change.ParentID = sheaf.Some(*in)
	}
	f, err := v.a.CreateFolder(v.t.Context(), v.owner, change)
	v.must(err)
	return f.ID
}

func (v *village) project(name string, in *sheaf.FolderID) sheaf.ProjectID {
	v.t.Helper()
	change := sheaf.ProjectChange{Name: sheaf.Some(name)}
	if in != nil {
		change.FolderID = sheaf.Some(*in)
	}
	p, err := v.a.CreateProject(v.t.Context(), v.owner, change)
	v.must(err)
	return p.ID
}

func (v *village) must(err error) {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
}

// join invites a person, who joins, and returns the token of their session.
func (v *village) join(email string, role sheaf.Role, to *RestrictTo) string {
	v.t.Helper()
	i, err := v.a.Invite(v.t.Context(), v.owner, email, role, to)
	v.must(err)
	s, _, err := v.a.Join(v.t.Context(), Join{Token: i.Token, Name: email, Password: testPassword, Address: "192.0.2.2"}, "")
	v.must(err)
	return s.Token
}

// here is a restriction to the folder `inside` and the project `single`.
func (v *village) here() *RestrictTo {
	return &RestrictTo{Folders: []sheaf.FolderID{v.inside}, Projects: []sheaf.ProjectID{v.single}}
}

// names returns the names of the projects that the caller sees.
func (v *village) names(c Caller) string {
	v.t.Helper()
	page, err := v.a.Projects(v.t.Context(), c, sheaf.ProjectFilter{Sort: sheaf.ByName, Paging: sheaf.Paging{Limit: 100}})
	v.must(err)
	var names []string
	for _, p := range page.Items {
		names = append(names, p.Name)
	}
	return strings.Join(names, " ")
}

func (v *village) live() int64 {
	v.t.Helper()
	w, err := readUnasked(v.t.Context(), v.a, func(r *store.Reader) (sheaf.Workspace, error) { return r.Workspace(v.owner.Workspace) })
	v.must(err)
	all, err := readUnasked(v.t.Context(), v.a, func(r *store.Reader) ([]*sheaf.Restriction, error) { return r.Restrictions(v.owner.Workspace) })
	v.must(err)
	if w.Restrictions != int64(len(all)) {
		v.t.Errorf("the workspace counts %d restrictions, %d are live", w.Restrictions, len(all))
	}
	return w.Restrictions
}

func (v *village) restrict(c Caller, to *RestrictTo) {
	v.t.Helper()
	v.must(v.a.Restrict(v.t.Context(), v.owner, c.User, to, sheaf.Opt[string]{}))
}

// D168: an owner restricts a person when inviting or later. A request that begins afterwards is judged
// by the new restriction.
func TestRestriction_OfPeople(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		v := newVillage(t, a)
		ctx := t.Context()
		invited, later := v.join("bob@example.com", sheaf.Editor, v.here()), v.join("carl@example.com", sheaf.Member, nil)
		bob := caller(t, a, invited)
		if got := v.names(bob); got != "Filed Single" {
			t.Errorf("a person who was invited with a restriction sees %q", got)
		}
		if got := v.names(caller(t, a, later)); got != "Filed Hidden Single" {
			t.Errorf("a person without a restriction sees %q", got)
		}
		carl := caller(t, a, later)
		v.restrict(carl, &RestrictTo{Projects: []sheaf.ProjectID{v.hidden}})
		if got := v.names(caller(t, a, later)); got != "Hidden" {
			t.Errorf("a person who was restricted sees %q", got)
		}
		v.restrict(carl, v.here())
		if c := caller(t, a, later); v.names(c) != "Filed Single" || !c.Restriction().Is(bob.Restriction()) {
			t.Errorf("a person who was restricted otherwise sees %q", v.names(c))
		}
		v.restrict(carl, nil)
		if got := v.names(caller(t, a, later)); got != "Filed Hidden Single" || caller(t, a, later).Restriction() != nil {
			t.Errorf("a person whose restriction was lifted sees %q", got)
		}

		// What the restriction does is the same as for keys.
		_, err := a.Project(ctx, bob, v.hidden)
		wantKind(t, "a project outside", err, sheaf.NotFound)
		_, err = a.CreateProject(ctx, bob, sheaf.ProjectChange{Name: sheaf.Some("x")})
		wantKind(t, "a project at the top", err, sheaf.Forbidden)
		_, err = a.CreateProject(ctx, bob, sheaf.ProjectChange{Name: sheaf.Some("x"), FolderID: sheaf.Some(v.inner)})
		v.must(err)
		wantKind(t, "deleting what the restriction names", a.DeleteProject(ctx, bob, v.single, sheaf.Match{}), sheaf.Forbidden)

		// A project that leaves the folder is gone at once.
		_, err = a.MoveProject(ctx, v.owner, v.filed, &v.outside, sheaf.Match{})
		v.must(err)
		if got := v.names(bob); got != "Single x" {
			t.Errorf("after a project left: %q", got)
		}
	})
}

// D168: which restrictions are refused.
func TestRestriction_OfPeopleThatIsRefused(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		v := newVillage(t, a)
		ctx := t.Context()
		bob := caller(t, a, v.join("bob@example.com", sheaf.Editor, nil))
		dora := caller(t, a, v.join("dora@example.com", sheaf.Admin, nil))
		many := &RestrictTo{}
		for range sheaf.MaxRestrictedTo + 1 {
			many.Folders = append(many.Folders, sheaf.FolderID(a.newID()))
		}
		for _, wrong := range []struct {
			what string
			role sheaf.Role
			to   *RestrictTo
			kind sheaf.Kind
			says string
		}{
			{"an admin", sheaf.Admin, v.here(), sheaf.Invalid, "admin"},
			{"an owner", sheaf.Owner, v.here(), sheaf.Invalid, "owner"},
			{"nothing", sheaf.Editor, &RestrictTo{}, sheaf.Invalid, "restricted_to"},
			{"too much", sheaf.Editor, many, sheaf.Invalid, "100"},
			{"an unknown project", sheaf.Member, &RestrictTo{Projects: []sheaf.ProjectID{sheaf.ProjectID(a.newID())}}, sheaf.NotFound, "project"},
			{"an unknown folder", sheaf.Member, &RestrictTo{Folders: []sheaf.FolderID{sheaf.FolderID(a.newID())}}, sheaf.NotFound, "folder"},
		} {
			_, err := a.Invite(ctx, v.owner, "eve@example.com", wrong.role, wrong.to)
			wantKind(t, "inviting with "+wrong.what, err, wrong.kind)
			if err == nil || !strings.Contains(err.Error(), wrong.says) {
				t.Errorf("inviting with %s: %v, want %q in it", wrong.what, err, wrong.says)
			}
			if _, err := a.Operator().Invite(ctx, v.owner.Workspace, "eve@example.com", wrong.role, wrong.to); sheaf.KindOf(err) != wrong.kind {
				t.Errorf("the operator invites with %s: %v", wrong.what, err)
			}
			user := bob.User
			if wrong.role == sheaf.Admin {
				user = dora.User
			} else if wrong.role == sheaf.Owner {
				user = v.owner.User
			}
			wantKind(t, "restricting to "+wrong.what, a.Restrict(ctx, v.owner, user, wrong.to, sheaf.Opt[string]{}), wrong.kind)
		}
		wantKind(t, "someone who is no member", a.Restrict(ctx, v.owner, sheaf.UserID(a.newID()), v.here(), sheaf.Opt[string]{}), sheaf.NotFound)
		for who, c := range map[string]Caller{"an admin": dora, "an editor": bob} {
			wantKind(t, who+" restricts", a.Restrict(ctx, c, bob.User, v.here(), sheaf.Opt[string]{}), sheaf.Forbidden)
		}
		v.restrict(bob, v.here())
		wantKind(t, "against another restriction than was seen", a.Restrict(ctx, v.owner, bob.User, nil, sheaf.Some("")), sheaf.PreconditionFailed)

		// A role that sees the whole workspace needs the restriction lifted first.
		for _, role := range []sheaf.Role{sheaf.Admin, sheaf.Owner} {
			err := a.SetRole(ctx, v.owner, bob.User, role, sheaf.Opt[sheaf.Role]{})
			wantKind(t, "a restricted "+string(role), err, sheaf.Conflict)
		}
		v.must(a.SetRole(ctx, v.owner, bob.User, sheaf.Member, sheaf.Opt[sheaf.Role]{}))
		v.restrict(bob, nil)
		v.must(a.SetRole(ctx, v.owner, bob.User, sheaf.Admin, sheaf.Opt[sheaf.Role]{}))
	})
}

// D168: a restricted person sees no keys, webhooks, brandings of others to change, charts, and no
// e-mails of members.
func TestRestriction_OfPeopleHidesTheWorkspace(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		v := newVillage(t, a)
		ctx := t.Context()
		token := v.join("bob@example.com", sheaf.Editor, v.here())
		bob, _ := caller(t, a, token), v.join("carl@example.com", sheaf.Member, &RestrictTo{Projects: []sheaf.ProjectID{v.hidden}})
		for _, s := range sheaf.AllScopes {
			want := slices.Contains([]sheaf.Scope{sheaf.ProjectsRead, sheaf.ProjectsWrite, sheaf.DocumentsRead, sheaf.DocumentsWrite, sheaf.MediaRead, sheaf.MediaWrite,
				sheaf.SharesRead, sheaf.SharesWrite, sheaf.ProposalsRead, sheaf.ProposalsWrite, sheaf.ProposalsApprove,
				sheaf.ReleasesRead, sheaf.ReleasesWrite, sheaf.EventsRead, sheaf.BrandingsRead}, s)
			if bob.May(s) != want {
				t.Errorf("a restricted editor has %s: %v", s, !want)
			}
		}
		for what, read := range map[string]func() error{
			"keys":     func() error { _, err := a.Keys(ctx, bob, sheaf.Paging{Limit: 1}); return err },
			"webhooks": func() error { _, err := a.Subscriptions(ctx, bob, sheaf.Paging{Limit: 1}); return err },
			"charts":   func() error { _, err := a.Minutes(ctx, bob, now.Add(-time.Hour)); return err },
		} {
			wantKind(t, what, read(), sheaf.Forbidden)
		}
		all, err := a.Members(ctx, bob)
		v.must(err)
		if len(all.Members) != 3 || len(all.Invitations) > 0 {
			t.Fatalf("%+v", all)
		}
		for _, m := range all.Members {
			if mine := m.User.ID == bob.User; (m.User.Email != nil) != mine || (m.RestrictedTo != nil) != mine || m.User.Name == "" {
				t.Errorf("a restricted person sees of a member: %+v", m)
			}
		}
		all, err = a.Members(ctx, v.owner)
		v.must(err)
		for _, m := range all.Members {
			if (m.RestrictedTo == nil) != (m.Role == sheaf.Owner) || m.User.Email == nil {
				t.Errorf("an owner sees of a member: %+v", m)
			}
		}
		s, err := a.Session(ctx, token)
		v.must(err)
		if w := s.Memberships[0].Workspace; w.Documents+w.Projects+w.LastEvent+w.Version+w.Storage+w.Shares+w.LastNumber > 0 || w.Name == "" {
			t.Errorf("a restricted person sees of the workspace: %+v", w)
		}
	})
}

// D172: a change that began before the restriction is judged by the restriction. Open pages end.
func TestRestriction_OfPeopleInsideTheTransaction(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		v := newVillage(t, a)
		ctx := t.Context()
		token := v.join("bob@example.com", sheaf.Editor, nil)
		bob := caller(t, a, token)
		open := func(c Caller) bool {
			t.Helper()
			gone, err := a.EndedVisits(ctx, []Visit{NewVisit(token, c.Workspace, c.Restriction())})
			v.must(err)
			return len(gone) == 0
		}
		if !open(bob) {
			t.Error("a page of a member ended")
		}
		announced := 0
		a.store.OnCommit(func(n store.Note) {
			if n.Credentials {
				announced++
			}
		})
		rename := func(c Caller) error {
			_, err := a.UpdateProject(ctx, c, v.hidden, sheaf.ProjectChange{Name: sheaf.Some("Hidden")}, sheaf.Match{})
			return err
		}
		v.must(rename(bob))
		v.restrict(bob, v.here())
		if announced == 0 {
			t.Error("the change was not announced")
		}
		wantKind(t, "a change that began before the restriction", rename(bob), sheaf.Forbidden)
		if open(bob) {
			t.Error("a page from before the restriction goes on")
		}
		restricted := caller(t, a, token)
		if !open(restricted) {
			t.Error("a page of a restricted member ended")
		}
		v.restrict(bob, nil)
		wantKind(t, "a change under a restriction that was lifted", rename(restricted), sheaf.Forbidden)
		if open(restricted) {
			t.Error("a page from under the restriction goes on")
		}
		v.must(rename(caller(t, a, token)))
	})
}

// D167, D168: a restriction lives while a member or an invitation has it.
func TestRestriction_OfPeopleLives(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		v := newVillage(t, a)
		ctx := t.Context()
		one := func(p sheaf.ProjectID) *RestrictTo { return &RestrictTo{Projects: []sheaf.ProjectID{p}} }
		live := func(when string, want int64) {
			t.Helper()
			if got := v.live(); got != want {
				t.Errorf("%s: %d restrictions, want %d", when, got, want)
			}
		}
		i, err := a.Invite(ctx, v.owner, "bob@example.com", sheaf.Editor, one(v.hidden))
		v.must(err)
		live("an invitation", 1)
		_, err = a.Invite(ctx, v.owner, "bob@example.com", sheaf.Editor, one(v.single))
		v.must(err)
		live("an invitation in place of another", 1)
		i, err = a.Invite(ctx, v.owner, "eve@example.com", sheaf.Editor, one(v.hidden))
		v.must(err)
		live("two invitations", 2)
		v.must(a.Withdraw(ctx, v.owner, i.ID))
		live("one was withdrawn", 1)

		bob := caller(t, a, v.join("bob@example.com", sheaf.Editor, v.here()))
		live("a member", 1)
		k, err := a.Operator().CreateKey(ctx, v.owner.Workspace, NewKey{Name: "k", Scopes: sheaf.Scopes{sheaf.ProjectsRead}, RestrictTo: v.here()})
		v.must(err)
		live("a member and a key with the same", 1)
		v.restrict(bob, one(v.hidden))
		live("a member and a key with different ones", 2)
		_, err = a.Operator().RevokeKey(ctx, k.ID)
		v.must(err)
		v.restrict(bob, v.here())
		live("the member again", 1)
		v.restrict(bob, nil)
		live("lifted", 0)
		v.restrict(bob, v.here())
		v.must(a.RemoveMember(ctx, v.owner, bob.User))
		live("the member left", 0)

		// A person who is erased leaves, and so does the restriction at the next sweep.
		carl := v.join("carl@example.com", sheaf.Member, v.here())
		_ = carl
		_, err = a.Operator().EraseUser(ctx, "carl@example.com")
		v.must(err)
		live("the member was erased", 0)

		// The events of an invitation's restriction are noted before the person joins.
		i, err = a.Invite(ctx, v.owner, "dora@example.com", sheaf.Member, v.here())
		v.must(err)
		_, err = a.UpdateProject(ctx, v.owner, v.filed, sheaf.ProjectChange{Name: sheaf.Some("Renamed")}, sheaf.Match{})
		v.must(err)
		_, err = a.UpdateProject(ctx, v.owner, v.hidden, sheaf.ProjectChange{Name: sheaf.Some("Renamed too")}, sheaf.Match{})
		v.must(err)
		s, _, err := a.Join(ctx, Join{Token: i.Token, Name: "Dora", Password: testPassword, Address: "192.0.2.2"}, "")
		v.must(err)
		dora := caller(t, a, s.Token)
		events, err := a.Events(ctx, dora, sheaf.EventFilter{Paging: sheaf.Paging{Limit: 10}})
		v.must(err)
		if len(events.Items) != 1 || events.Total != 1 || events.Items[0].ResourceID != string(v.filed) {
			t.Errorf("the log has %+v", events)
		}
		// The position of the log moves only with events that the person sees.
		end := func() int64 {
			t.Helper()
			at, err := a.FollowEvents(ctx, dora, sheaf.EventFilter{})
			v.must(err)
			return at
		}
		before := end()
		v.project("Another", &v.outside)
		if end() != before {
			t.Error("an event outside moves the end of the log")
		}
		v.project("Another", &v.inside)
		if end() == before {
			t.Error("an event inside does not move the end of the log")
		}
	})
}

// D168: a person who becomes restricted loses the keys that they made as an admin.
func TestRestriction_OfPeopleEndsTheirKeys(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		v := newVillage(t, a)
		ctx := t.Context()
		bob := caller(t, a, v.join("bob@example.com", sheaf.Editor, nil))
		// An editor has no keys of their own. One is stored directly, as from an older rule.
		var own, of sheaf.NewKey
		_, err := operate(ctx, a.Operator(), v.owner.Workspace, func(w *work) (_ struct{}, err error) {
			if own, err = w.makeKey(bob.User, NewKey{Name: "own", Scopes: sheaf.Scopes{sheaf.ProjectsRead}}); err != nil {
				return struct{}{}, err
			}
			of, err = w.makeKey(bob.User, NewKey{Name: "of the workspace", Scopes: sheaf.Scopes{sheaf.ProjectsRead}, OfWorkspace: true})
			return struct{}{}, err
		})
		v.must(err)
		v.restrict(bob, v.here())
		if _, err := a.Authenticate(ctx, *own.Secret); sheaf.KindOf(err) != sheaf.Unauthorized {
			t.Errorf("the person's key: %v", err)
		}
		if _, err := a.Authenticate(ctx, *of.Secret); err != nil {
			t.Errorf("the workspace's key: %v", err)
		}
	})
}

// D169: the tree of a restricted person begins at what they see.
func TestRestriction_OfPeopleTree(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		v := newVillage(t, a)
		ctx := t.Context()
		see := func(c Caller, here string) string {
			t.Helper()
			tree, err := a.Tree(ctx, c, here, nil)
			v.must(err)
			var out []string
			for _, f := range tree.Projects.Folders.Items {
				out = append(out, f.Name)
				if in := tree.In[f.ID]; in != nil {
					for _, p := range in.Projects.Items {
						out = append(out, f.Name+"/"+p.Name)
					}
				}
			}
			for _, p := range tree.Projects.Projects.Items {
				out = append(out, p.Name)
			}
			for _, f := range tree.Path {
				out = append(out, "in "+f.Name)
			}
			return strings.Join(out, ", ")
		}
		token := v.join("bob@example.com", sheaf.Editor, &RestrictTo{Folders: []sheaf.FolderID{v.inner}, Projects: []sheaf.ProjectID{v.single}})
		bob := caller(t, a, token)
		for here, want := range map[string]string{
			"":                "Inner, Single",
			string(v.inner):   "Inner, Inner/Filed, Single",
			string(v.filed):   "Inner, Inner/Filed, Single, in Inner",
			string(v.single):  "Inner, Single",
			string(v.hidden):  "Inner, Single",
			string(v.outside): "Inner, Single",
		} {
			if got := see(bob, here); got != want {
				t.Errorf("at %q: %s, want %s", here, got, want)
			}
		}
		// A folder that is named and is in another one that is named is below it.
		v.restrict(bob, &RestrictTo{Folders: []sheaf.FolderID{v.inner, v.inside}, Projects: []sheaf.ProjectID{v.filed}})
		if got := see(caller(t, a, token), string(v.inner)); got != "Inside, in Inside" {
			t.Errorf("the tree is %s", got)
		}
		if got := see(v.owner, string(v.filed)); got != "Inside, Outside, in Inside, in Inner" {
			t.Errorf("the owner's tree is %s", got)
		}
	})
}
