package app

import (
	"context"

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
		if err != nil {
			return err
		}
		u.PasswordHash = hash
		user = u
		// An open set-up link would still let its holder in.
		if err := tx.UseSetupLinks(); err != nil {
			return err
		}
		// So would a session that was opened with the old password.
		if err := tx.DeleteSessions(u.ID); err != nil {
			return err
		}
		return tx.UpdateUser(u)
	})
	return user, forOperator(err, "user", email, "make one with sheaf workspace create --owner-email")
}

// User returns the user with that e-mail, or NotFound.
func (o Operator) User(ctx context.Context, email string) (sheaf.User, error) {
	u, err := readUnasked(ctx, o.app, func(r *store.Reader) (sheaf.User, error) { return r.UserByEmail(email) })
	return u, forOperator(err, "user", email, "make one with sheaf workspace create --owner-email")
}

// UserIn is a user with their memberships, as the command line shows them.
type UserIn struct {
	sheaf.User
	Memberships []sheaf.Membership
}

// Fields appends the fields of the JSON object.
func (u *UserIn) Fields(o *sheaf.Object) {
	u.User.Fields(o)
	o.Bool("has_password", u.PasswordHash != "")
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
}

// Users returns all users, oldest first.
func (o Operator) Users(ctx context.Context) ([]UserIn, error) {
	return readUnasked(ctx, o.app, func(r *store.Reader) ([]UserIn, error) {
		users, err := r.Users()
		if err != nil {
			return nil, err
		}
		out := make([]UserIn, len(users))
		for i, u := range users {
			out[i].User = u
			if out[i].Memberships, err = r.Memberships(u.ID); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
}

// Invite creates a one-time link for joining a workspace, in the name of its owner, as App.Invite
// does. It returns NotFound for an unknown workspace.
func (o Operator) Invite(ctx context.Context, id sheaf.WorkspaceID, email string, role sheaf.Role) (NewInvitation, error) {
	if err := firstError(checkOperatorText("e-mail", email), checkEmail(email)); err != nil {
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
		return w.invite(email, role)
	})
	return i, forOperator(err, "workspace", string(id), "sheaf workspace list shows them all")
}
