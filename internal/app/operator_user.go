package app

import (
	"context"
	"slices"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// SetPassword sets the password of the user with that e-mail, or returns NotFound. It returns
// Invalid for a password that is too short or too long.
func (o Operator) SetPassword(ctx context.Context, email, password string) (sheaf.User, error) {
	if err := checkPassword(password); err != nil {
		return sheaf.User{}, err
	}
	hash, err := o.app.hashInLine(ctx, password, o.app.lines.known, "operator")
	if err != nil {
		return sheaf.User{}, err
	}
	var user sheaf.User
	err = o.app.writeUnasked(ctx, func(tx *store.Tx) error {
		u, err := tx.UserByEmail(email)
		if err == nil {
			u, err = tx.LockUser(u.ID) // reads it again, now that no other transaction can change it
		}
		if err == nil && u.ErasedAt != nil {
			err = sheaf.Missing("user")
		}
		if err != nil {
			return err
		}
		u.PasswordHash = hash
		user = u
		// An open set-up link would still let its holder in.
		if err := tx.UseSetupLinks(); err != nil {
			return err
		}
		if err := o.app.replacePassword(tx, u); err != nil {
			return err
		}
		return o.app.auditInstance(tx, anOperator, sheaf.ActionPasswordSet, u.ID, nil)
	})
	return user, forOperator(err, "user", email, "make one with sheaf workspace create --owner-email")
}

// ResetFactors removes the second factor and the recovery codes of the user with that e-mail, and ends every session of
// the user. It returns NotFound for an unknown e-mail. `had` is false if the user had no second factor: then nothing changes.
func (o Operator) ResetFactors(ctx context.Context, email string) (u sheaf.User, had bool, err error) {
	err = o.app.writeUnasked(ctx, func(tx *store.Tx) error {
		if u, err = lockUserByEmail(tx, email); err != nil {
			return err
		}
		if had, err = tx.DeleteFactor(u.ID); err != nil || !had {
			return err
		}
		if err := tx.DeleteSessions(u.ID); err != nil {
			return err
		}
		return o.app.auditInstance(tx, anOperator, sheaf.ActionFactorReset, u.ID, nil)
	})
	return u, had, forOperator(err, "user", email, "sheaf user list shows all users")
}

// User returns the user with that e-mail, or NotFound.
func (o Operator) User(ctx context.Context, email string) (sheaf.User, error) {
	u, err := readUnasked(ctx, o.app, func(r *store.Reader) (sheaf.User, error) { return r.UserByEmail(email) })
	return u, forOperator(err, "user", email, "make one with sheaf workspace create --owner-email")
}

// Erased is what EraseUser erased.
type Erased struct {
	sheaf.User        // has no ID if the e-mail was only invited
	Invitations int64 // number of invitations to the e-mail that were deleted
}

// Fields appends the fields of the JSON object.
func (e *Erased) Fields(o *sheaf.Object) {
	if e.ID == "" {
		for _, name := range []string{"id", "email", "name"} {
			o.Null(name)
		}
	} else {
		e.User.Fields(o)
	}
	o.Int("invitations", e.Invitations)
}

// EraseUser ends the memberships of the user with that e-mail, revokes the keys of the user, and
// overwrites the name, the e-mail and everything else that tells who the user was. The id stays in what
// the user wrote. Invitations to the e-mail are deleted in every workspace, also if no user has it. EraseUser
// returns NotFound for an e-mail without a user and an invitation, and Conflict if the user is the last owner
// of a workspace.
func (o Operator) EraseUser(ctx context.Context, email string) (Erased, error) {
	var out Erased
	if err := o.eraseAudit(ctx, email); err != nil {
		return out, err
	}
	err := o.app.writeUnasked(ctx, func(tx *store.Tx) error {
		out = Erased{}
		u, err := tx.UserByEmail(email)
		if err != nil && sheaf.KindOf(err) != sheaf.NotFound {
			return err
		}
		known := err == nil
		var memberships []sheaf.Membership
		if known {
			if memberships, err = tx.EveryMembership(u.ID); err != nil {
				return err
			}
		}
		now := o.app.now()
		l := leaver{app: o.app, tx: tx, user: u.ID, now: now}
		if out.Invitations, err = l.leaveAll(memberships, email); err != nil {
			return err
		}
		if !known {
			if out.Invitations == 0 {
				return sheaf.Missing("user")
			}
			if err := forgetEmail(tx, email); err != nil {
				return err
			}
			if err := l.audit(); err != nil {
				return err
			}
			return tx.EraseAuditEmail(email)
		}
		// The user is locked after the workspaces, as when a person joins one.
		if u, err = tx.LockUser(u.ID); err != nil {
			return err
		}
		left, err := tx.EveryMembership(u.ID)
		if err == nil && (len(left) > 0 || u.ErasedAt != nil) {
			err = sheaf.Conflictf("the user joined a workspace, or was erased, at the same moment: repeat the command")
		}
		if err != nil {
			return err
		}
		if err := forgetBrakes(tx, "user "+string(u.ID)); err != nil {
			return err
		}
		if err := forgetEmail(tx, email); err != nil {
			return err
		}
		out.User = u
		out.Email, out.Name, out.PasswordHash, out.ErasedAt = nil, sheaf.ErasedUser, "", &now
		if err := tx.EraseUser(u, now); err != nil {
			return err
		}
		if err := l.audit(); err != nil {
			return err
		}
		if err := o.app.auditInstance(tx, anOperator, sheaf.ActionUserErased, u.ID, nil); err != nil {
			return err
		}
		if _, err := tx.EraseAuditOf(u.ID, erasedAtOnce); err != nil {
			return err
		}
		return tx.EraseAuditEmail(email)
	})
	return out, forOperator(err, "user", email, "no user and no invitation has this e-mail; sheaf user list shows all users")
}

// erasedAtOnce bounds the audit lines that one transaction changes.
const erasedAtOnce = 500

// eraseAudit deletes the addresses from the audit lines of the user with that e-mail, in transactions that
// others need not wait for. The transaction that erases the user deletes those that were added meanwhile.
func (o Operator) eraseAudit(ctx context.Context, email string) error {
	for n := int64(erasedAtOnce); n == erasedAtOnce; {
		err := o.app.writeUnasked(ctx, func(tx *store.Tx) error {
			u, err := tx.UserByEmail(email)
			if sheaf.KindOf(err) == sheaf.NotFound {
				n = 0
				return nil
			}
			if err != nil {
				return err
			}
			n = 0
			alone, err := lastOwnerSomewhere(&tx.Reader, u.ID)
			if err != nil || alone {
				return err // EraseUser refuses to erase a last owner
			}
			n, err = tx.EraseAuditOf(u.ID, erasedAtOnce)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// lastOwnerSomewhere reports whether a workspace would have no owner without the user.
func lastOwnerSomewhere(r *store.Reader, u sheaf.UserID) (bool, error) {
	memberships, err := r.EveryMembership(u)
	if err != nil {
		return false, err
	}
	for _, m := range memberships {
		if m.Role != sheaf.Owner {
			continue
		}
		if owners, err := r.Owners(m.Workspace.ID); err != nil || owners < 2 {
			return true, err
		}
	}
	return false, nil
}

// leaver ends the memberships of a user who is erased.
type leaver struct {
	app  *App
	tx   *store.Tx
	user sheaf.UserID
	now  time.Time
	done []done
}

// done is an audit line of a workspace. The lines are written last, because they lock the number of the
// instance's log, and every transaction locks workspaces and users before it.
type done struct {
	ws   sheaf.WorkspaceID
	line sheaf.AuditLine
}

// leaveAll ends the memberships, and deletes the invitations to the e-mail in every workspace, with the
// restrictions that only they had. It locks the workspaces in the order of their ids, as all transactions do,
// and returns the number of deleted invitations.
func (l *leaver) leaveAll(memberships []sheaf.Membership, email string) (deleted int64, err error) {
	tx := l.tx
	ids, err := tx.InvitedTo(email)
	if err != nil {
		return 0, err
	}
	in := map[sheaf.WorkspaceID]bool{}
	for _, m := range memberships {
		ids, in[m.Workspace.ID] = append(ids, m.Workspace.ID), true
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if in[id] {
			if err := l.leave(id); err != nil {
				return 0, err
			}
		} else if _, err := tx.LockWorkspace(id); err != nil {
			return 0, err
		}
		n, err := tx.EraseInvitations(id, email)
		if err != nil {
			return 0, err
		}
		deleted += int64(len(n))
		for _, i := range n {
			l.note(id, sheaf.ActionInvitationWithdrawn, string(i.ID), memberFacts(i.Role, i.RestrictedTo))
		}
		if err := tx.EndIdleRestrictions(id, l.now); err != nil {
			return 0, err
		}
	}
	return deleted, nil
}

// leave ends a membership and revokes the keys of the user in the workspace, which it locks. The caller
// ends restrictions that nothing uses any more. leave returns Conflict if the workspace would have no owner.
func (l *leaver) leave(id sheaf.WorkspaceID) error {
	tx, u, now := l.tx, l.user, l.now
	ws, err := tx.LockWorkspace(id)
	if err != nil {
		return err
	}
	role, err := tx.Role(id, u)
	if err != nil {
		return err
	}
	owners, err := tx.Owners(id)
	if err != nil {
		return err
	}
	switch alone := role == sheaf.Owner && owners < 2; {
	case alone && ws.IsDeleted():
		return sheaf.Conflictf("this is the last owner of the deleted workspace %q (%s), which can be brought back until %s: wait until its data is removed, or bring it back and delete it with --delete-after 0",
			sheaf.Clip(ws.Name), id, ws.EndsAt.Format(time.RFC3339))
	case alone:
		return sheaf.Conflictf("this is the last owner of the workspace %q (%s): make another member an owner first", sheaf.Clip(ws.Name), id)
	}
	if err := tx.DeleteMember(id, u); err != nil {
		return err
	}
	if err := tx.AddMemberEvent(id, sheaf.MemberEvent{Kind: sheaf.MemberRemoved, User: u, Role: role, Was: role, At: now}); err != nil {
		return err
	}
	l.note(id, sheaf.ActionMemberRemoved, string(u), namedFacts("role", string(role)))
	grants, err := tx.GrantsOf(id, u, now)
	if err != nil {
		return err
	}
	for _, g := range grants {
		if err := tx.RevokeKey(id, g.ID, now); err != nil {
			return err
		}
		l.note(id, sheaf.ActionAppDisconnected, string(g.ID), endedGrantFacts(g, ""))
	}
	keys, err := tx.RevokeKeysOf(id, u, now)
	for _, k := range keys {
		l.note(id, sheaf.ActionKeyRevoked, string(k.ID), keyFacts(k))
	}
	return err
}

// note keeps the audit line of something that ended in a workspace.
func (l *leaver) note(ws sheaf.WorkspaceID, action sheaf.AuditAction, target string, before sheaf.Record) {
	line, _ := l.app.auditLine(anOperator, action, target, before, nil)
	l.done = append(l.done, done{ws, line})
}

// audit writes the audit lines.
func (l *leaver) audit() error {
	for _, d := range l.done {
		if err := l.tx.InsertAudit(d.ws, d.line); err != nil {
			return err
		}
	}
	return nil
}

// forgetBrakes deletes the counts of failed sign-ins under these names, with the addresses from which
// they came.
func forgetBrakes(tx *store.Tx, names ...string) error {
	for _, name := range names {
		if err := tx.ForgetFailures(name); err != nil {
			return err
		}
		if err := tx.ForgetFailuresFrom(name + " from "); err != nil {
			return err
		}
	}
	return nil
}

// forgetEmail deletes what is counted under the hash of an e-mail: failed sign-ins, resets of passwords, and mails.
func forgetEmail(tx *store.Tx, email string) error {
	if err := forgetBrakes(tx, emailBrake(email)); err != nil {
		return err
	}
	if err := tx.ForgetResets(resetName(email)); err != nil {
		return err
	}
	return tx.ForgetMailRates(store.MailRatesTo(email)...)
}

// UserIn is a user with their memberships, as the command line shows them.
type UserIn struct {
	sheaf.User
	Memberships  []sheaf.Membership
	SecondFactor bool // it is set up
	Provider     bool // an account at a sign-in provider is bound
}

// Fields appends the fields of the JSON object.
func (u *UserIn) Fields(o *sheaf.Object) {
	u.User.Fields(o)
	o.Bool("has_password", u.PasswordHash != "")
	o.Bool("has_second_factor", u.SecondFactor)
	o.Bool("has_provider", u.Provider)
	o.Bool("password_allowed", u.PasswordAllowed)
	list := []byte{'['}
	for i := range u.Memberships {
		if i > 0 {
			list = append(list, ',')
		}
		list = sheaf.AppendJSON(list, (*membershipRecord)(&u.Memberships[i]))
	}
	o.Raw("workspaces", append(list, ']'))
}

type membershipRecord sheaf.Membership

// Fields appends the fields of the JSON object.
func (m *membershipRecord) Fields(o *sheaf.Object) {
	o.Text("id", string(m.Workspace.ID))
	o.Text("name", m.Workspace.Name)
	o.Text("role", string(m.Role))
	if m.RestrictedTo == nil {
		o.Null("restricted_to")
	} else {
		o.Record("restricted_to", m.RestrictedTo)
	}
}

// Users returns all users, oldest first.
func (o Operator) Users(ctx context.Context) ([]UserIn, error) {
	return readUnasked(ctx, o.app, func(r *store.Reader) ([]UserIn, error) {
		users, err := r.Users()
		if err != nil {
			return nil, err
		}
		factors, err := r.UsersWithFactor()
		if err != nil {
			return nil, err
		}
		providers, err := r.UsersWithIdentity()
		if err != nil {
			return nil, err
		}
		out := make([]UserIn, len(users))
		for i, u := range users {
			out[i].User, out[i].SecondFactor, out[i].Provider = u, factors[u.ID], providers[u.ID]
			if out[i].Memberships, err = r.Memberships(u.ID); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
}

// Invite creates a one-time link for joining a workspace, in the name of its owner, as App.Invite
// does. It returns NotFound for an unknown workspace.
func (o Operator) Invite(ctx context.Context, id sheaf.WorkspaceID, email string, role sheaf.Role, restrictTo *RestrictTo) (NewInvitation, error) {
	if err := checkInvite(email, role, restrictTo); err != nil {
		return NewInvitation{}, err
	}
	i, err := operate(ctx, o, id, func(w *work) (NewInvitation, error) {
		owner, err := w.OwnerOf(id)
		if err != nil {
			return NewInvitation{}, err
		}
		if err := w.mayInvite(email); err != nil {
			return NewInvitation{}, err
		}
		w.caller.User = owner
		return w.invite(email, role, restrictTo)
	})
	return i, forOperator(err, "workspace", string(id), "sheaf workspace list shows all workspaces")
}
