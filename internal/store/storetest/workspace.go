package storetest

import (
	"context"
	"slices"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

func workspaceRoundTrip(f *fixture) {
	same(f, "a new workspace", f.workspace(), f.ws)
	want := f.ws
	want.Version, want.LastNumber, want.LastEvent, want.Projects, want.Documents, want.Subscriptions = 2, 3, 4, 5, 6, 7
	f.write(func(tx *store.Tx) error { return tx.SaveWorkspace(want) })
	same(f, "saved counters", f.workspace(), want)

	want.Plan = sheaf.Business
	f.write(func(tx *store.Tx) error { return tx.SetPlan(want.ID, sheaf.Business) })
	same(f, "another plan", f.workspace(), want)

	personal := sheaf.Workspace{ID: sheaf.WorkspaceID(f.id()), Name: "Mine", Plan: sheaf.Free, Personal: true, CreatedAt: f.now(), Version: 1}
	f.write(func(tx *store.Tx) error { return tx.InsertWorkspace(personal) })
	got := get(f, func(r *store.Reader) (sheaf.Workspace, error) { return r.Workspace(personal.ID) })
	same(f, "a personal workspace", got, personal)

	err := f.store.Write(context.Background(), func(tx *store.Tx) error { return tx.InsertWorkspace(personal) })
	f.wantIs(err, store.ErrDuplicate)
}

func workspaceUnknown(f *fixture) {
	none := sheaf.WorkspaceID(f.id())
	_, err := try(f, func(r *store.Reader) (sheaf.Workspace, error) { return r.Workspace(none) })
	f.wantKind(err, sheaf.NotFound)
	_, err = try(f, func(r *store.Reader) (sheaf.UserID, error) { return r.OwnerOf(none) })
	f.wantKind(err, sheaf.NotFound)
	for _, act := range []func(*store.Tx) error{
		func(tx *store.Tx) error { _, err := tx.LockWorkspace(none); return err },
		func(tx *store.Tx) error { return tx.SetPlan(none, sheaf.Pro) },
	} {
		f.wantKind(f.store.Write(context.Background(), act), sheaf.NotFound)
	}
}

func members(f *fixture) {
	other := sheaf.User{ID: sheaf.UserID(f.id()), Name: "Bea", CreatedAt: f.now()}
	isMember := func() bool {
		return get(f, func(r *store.Reader) (bool, error) { return r.IsMember(f.ws.ID, other.ID) })
	}
	f.write(func(tx *store.Tx) error { return tx.InsertUser(other) })
	if isMember() {
		f.Error("a stranger is a member")
	}
	f.write(func(tx *store.Tx) error {
		return tx.InsertMember(sheaf.Membership{Workspace: f.ws, User: other, Role: sheaf.Member, Since: f.ws.CreatedAt})
	})
	if !isMember() {
		f.Error("a member is none")
	}
	to := &sheaf.Restriction{Number: 1, Projects: []sheaf.ProjectID{sheaf.ProjectID(f.id())}, Folders: []sheaf.FolderID{}}
	for _, now := range []*sheaf.Restriction{to, nil} {
		f.write(func(tx *store.Tx) error { return tx.RestrictMember(f.ws.ID, other.ID, now) })
		rights := get(f, func(r *store.Reader) (m sheaf.Membership, err error) {
			m.Role, m.RestrictedTo, err = r.Rights(f.ws.ID, other.ID)
			return m, err
		})
		same(f, "rights", rights, sheaf.Membership{Role: sheaf.Member, RestrictedTo: now})
		ofUser := get(f, func(r *store.Reader) ([]sheaf.Membership, error) { return r.Memberships(other.ID) })
		inWorkspace := get(f, func(r *store.Reader) ([]sheaf.Membership, error) { return r.Members(f.ws.ID) })
		for _, m := range append(ofUser, inWorkspace...) {
			if m.Role == sheaf.Member {
				same(f, "restriction", m.RestrictedTo, now)
			}
		}
	}
	stranger := func(tx *store.Tx) error { return tx.RestrictMember(f.ws.ID, sheaf.UserID(f.id()), to) }
	f.wantKind(f.store.Write(context.Background(), stranger), sheaf.NotFound)
	invitation := sheaf.Invitation{ID: sheaf.InvitationID(f.id()), Email: f.id() + "@example.org", Role: sheaf.Editor, InvitedBy: f.user.ID,
		CreatedAt: f.now(), ExpiresAt: f.now().Add(time.Hour), RestrictedTo: to}
	f.write(func(tx *store.Tx) error {
		_, err := tx.InsertInvitation(f.ws.ID, invitation, []byte(invitation.ID))
		return err
	})
	same(f, "invitations", get(f, func(r *store.Reader) ([]sheaf.Invitation, error) { return r.Invitations(f.ws.ID, f.now()) }), []sheaf.Invitation{invitation})
	owner := get(f, func(r *store.Reader) (sheaf.UserID, error) { return r.OwnerOf(f.ws.ID) })
	same(f, "owner", owner, f.user.ID)

	again := func(tx *store.Tx) error {
		return tx.InsertMember(sheaf.Membership{Workspace: f.ws, User: other, Role: sheaf.Admin, Since: f.ws.CreatedAt})
	}
	f.wantIs(f.store.Write(context.Background(), again), store.ErrDuplicate)
	nobody := sheaf.User{ID: sheaf.UserID(f.id())}
	dangling := func(tx *store.Tx) error {
		return tx.InsertMember(sheaf.Membership{Workspace: f.ws, User: nobody, Role: sheaf.Member, Since: f.ws.CreatedAt})
	}
	f.wantIs(f.store.Write(context.Background(), dangling), store.ErrReference)
}

// memberEvents checks that the newest member events are kept and that old ones are deleted.
func memberEvents(f *fixture) {
	at := f.now()
	event := func(n int) sheaf.MemberEvent {
		e := sheaf.MemberEvent{Kind: sheaf.RoleChanged, User: f.user.ID, By: &f.user.ID, Role: sheaf.Admin, Was: sheaf.Editor, At: at.Add(time.Duration(n) * time.Millisecond), Name: f.user.Name, ByName: f.user.Name}
		if n%2 == 1 {
			e.By, e.ByName = nil, ""
		}
		return e
	}
	f.write(func(tx *store.Tx) (err error) {
		for n := 0; n < sheaf.MemberEventsKept+3 && err == nil; n++ {
			err = tx.AddMemberEvent(f.ws.ID, event(n))
		}
		return err
	})
	all := func(filter sheaf.MemberEventFilter) []sheaf.MemberEvent {
		if filter.Limit == 0 {
			filter.Limit = 2 * sheaf.MemberEventsKept
		}
		return get(f, func(r *store.Reader) ([]sheaf.MemberEvent, error) { return r.MemberEvents(f.ws.ID, filter) })
	}
	kept := all(sheaf.MemberEventFilter{})
	if len(kept) != sheaf.MemberEventsKept {
		f.Fatalf("%d member events are kept, want %d", len(kept), sheaf.MemberEventsKept)
	}
	same(f, "the newest", kept[0], event(sheaf.MemberEventsKept+2))
	same(f, "the oldest", kept[len(kept)-1], event(3))
	same(f, "the second", all(sheaf.MemberEventFilter{Offset: 1, Limit: 1})[0], kept[1])
	since, before := event(10).At, event(14).At
	if got := all(sheaf.MemberEventFilter{Since: &since, Before: &before}); len(got) != 4 || !got[3].At.Equal(since) {
		f.Errorf("in a span of four: %+v", got)
	}
	if got := all(sheaf.MemberEventFilter{Person: sheaf.UserID(f.id())}); len(got) != 0 {
		f.Errorf("of a stranger: %+v", got)
	}
	if got := all(sheaf.MemberEventFilter{Person: f.user.ID}); len(got) != len(kept) {
		f.Errorf("of the only person: %d", len(got))
	}
}

// oldMemberEvents checks that old member events of all workspaces are deleted, in chunks.
func oldMemberEvents(f *fixture) {
	now := f.now()
	for range 2 {
		f.write(func(tx *store.Tx) error {
			for n := range 3 {
				e := sheaf.MemberEvent{Kind: sheaf.MemberJoined, User: f.user.ID, Role: sheaf.Member, At: now.Add(time.Duration(n) * time.Hour)}
				if err := tx.AddMemberEvent(f.ws.ID, e); err != nil {
					return err
				}
			}
			return nil
		})
		f.ws, _ = f.newWorkspace("Theirs")
	}
	for _, want := range []int64{3, 1, 0} {
		var n int64
		f.write(func(tx *store.Tx) (err error) {
			n, err = tx.DeleteMemberEvents(now.Add(2*time.Hour), 3)
			return err
		})
		if n != want {
			f.Errorf("removed %d member events, want %d", n, want)
		}
	}
}

func userRoundTrip(f *fixture) {
	same(f, "without e-mail", get(f, func(r *store.Reader) (sheaf.User, error) { return r.User(f.user.ID) }), f.user)
	u := sheaf.User{ID: sheaf.UserID(f.id()), Email: ptr(f.id() + "@Example.ORG"), Name: "Zoë", PasswordHash: "$argon2id$…", CreatedAt: f.now()}
	f.write(func(tx *store.Tx) error { return tx.InsertUser(u) })
	same(f, "by id", get(f, func(r *store.Reader) (sheaf.User, error) { return r.User(u.ID) }), u)

	u.Email, u.Name, u.PasswordHash = ptr(f.id()+"@example.org"), "Zoe", ""
	f.write(func(tx *store.Tx) error { return tx.UpdateUser(u) })
	same(f, "changed, by e-mail", get(f, func(r *store.Reader) (sheaf.User, error) { return r.UserByEmail(*u.Email) }), u)

	_, err := try(f, func(r *store.Reader) (sheaf.User, error) { return r.User(sheaf.UserID(f.id())) })
	f.wantKind(err, sheaf.NotFound)
	_, err = try(f, func(r *store.Reader) (sheaf.User, error) { return r.UserByEmail(f.id() + "@nowhere") })
	f.wantKind(err, sheaf.NotFound)
}

func userEmailUnique(f *fixture) {
	box := f.id()
	first := sheaf.User{ID: sheaf.UserID(f.id()), Email: ptr(box + "@ÉCOLE.fr"), Name: "A", CreatedAt: f.now()}
	f.write(func(tx *store.Tx) error { return tx.InsertUser(first) })
	spelled := box + "@e\u0301cole.FR" // é as two code points
	got := get(f, func(r *store.Reader) (sheaf.User, error) { return r.UserByEmail(spelled) })
	same(f, "found by another spelling", got.ID, first.ID)

	second := sheaf.User{ID: sheaf.UserID(f.id()), Email: &spelled, Name: "B", CreatedAt: f.now()}
	insert := func(tx *store.Tx) error { return tx.InsertUser(second) }
	f.wantIs(f.store.Write(context.Background(), insert), store.ErrDuplicate)
	f.user.Email = &spelled
	update := func(tx *store.Tx) error { return tx.UpdateUser(f.user) }
	f.wantIs(f.store.Write(context.Background(), update), store.ErrDuplicate)
}

func userWithoutEmail(f *fixture) {
	for range 2 {
		f.write(func(tx *store.Tx) error {
			return tx.InsertUser(sheaf.User{ID: sheaf.UserID(f.id()), Name: "No mail", CreatedAt: f.now()})
		})
	}
}

func workspacesInOrder(f *fixture) {
	want := []sheaf.WorkspaceID{f.ws.ID}
	for _, name := range []string{"z", "a", "m"} {
		w, _ := f.newWorkspace(name)
		want = append(want, w.ID)
	}
	early := sheaf.Workspace{ID: sheaf.WorkspaceID(f.id()), Name: "first", Plan: sheaf.Free, CreatedAt: f.ws.CreatedAt.Add(-time.Hour)}
	f.write(func(tx *store.Tx) error { return tx.InsertWorkspace(early) })
	want = slices.Insert(want, 0, early.ID)
	all := get(f, func(r *store.Reader) ([]sheaf.Workspace, error) { return r.Workspaces() })
	same(f, "oldest first", ids(all, func(w sheaf.Workspace) sheaf.WorkspaceID { return w.ID }), want)
}

func firstOwner(f *fixture) {
	anyPassword := func() bool {
		return get(f, func(r *store.Reader) (bool, error) { return r.AnySignIn() })
	}
	if anyPassword() {
		f.Error("a password before any was set")
	}
	_, later := f.newWorkspace("Later")
	later.PasswordHash = "x"
	f.write(func(tx *store.Tx) error { return tx.UpdateUser(later) })
	if !anyPassword() {
		f.Error("no password although one was set")
	}
	owner := get(f, func(r *store.Reader) (sheaf.User, error) { return r.FirstOwner() })
	same(f, "owner of the oldest workspace", owner, f.user)
}

func setupLinks(f *fixture) {
	hash, now := []byte{0, 1, 2, 0xff}, f.now()
	usable := func(hash []byte, at time.Time) bool {
		return get(f, func(r *store.Reader) (bool, error) { return r.SetupLink(hash, at) })
	}
	f.write(func(tx *store.Tx) error { return tx.InsertSetupLink(hash, now, now.Add(time.Hour)) })
	for _, c := range []struct {
		hash []byte
		at   time.Time
		want bool
	}{
		{hash, now, true}, {hash, now.Add(time.Hour - 1), true}, {hash, now.Add(time.Hour), false},
		{[]byte{0, 1, 2}, now, false}, {nil, now, false},
	} {
		if got := usable(c.hash, c.at); got != c.want {
			f.Errorf("link %x at %s: usable %t, want %t", c.hash, c.at, got, c.want)
		}
	}
	again := func(tx *store.Tx) error { return tx.InsertSetupLink(hash, now, now) }
	f.wantIs(f.store.Write(context.Background(), again), store.ErrDuplicate)
	f.write((*store.Tx).UseSetupLinks)
	if usable(hash, now) {
		f.Error("a used link is usable")
	}
}

func settings(f *fixture) {
	_, found := setting(f)
	if found {
		f.Error("a setting that nobody wrote")
	}
	keep := func(value string) (kept bool) {
		f.write(func(tx *store.Tx) (err error) {
			kept, err = tx.KeepSetting("secret", value)
			return err
		})
		return kept
	}
	if !keep("one") {
		f.Error("the first value was not kept")
	}
	if keep("two") {
		f.Error("a second value was kept")
	}
	if value, found := setting(f); !found || value != "one" {
		f.Errorf("got %q, %t, want the first value", value, found)
	}
}

func setting(f *fixture) (value string, found bool) {
	f.Helper()
	f.read(func(r *store.Reader) (err error) {
		value, found, err = r.Setting("secret")
		return err
	})
	return value, found
}

func schema(f *fixture) {
	got, err := f.store.Schema(context.Background())
	f.must(err)
	if got.Version != store.Latest {
		f.Errorf("got schema %d, want %d", got.Version, store.Latest)
	}
	f.must(f.store.Ready(context.Background()))
}
