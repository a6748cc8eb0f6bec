package app

import (
	"context"
	"errors"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

const (
	// invitationLives is how long an invitation's link is valid.
	invitationLives = 7 * 24 * time.Hour
	// maxInvitations is the largest number of open invitations of a workspace. They are shown on
	// one page.
	maxInvitations = 100
)

// NewInvitation is a new invitation. Its token is shown once; only the hash is stored.
type NewInvitation struct {
	sheaf.Invitation
	Token string
}

// Invite creates a one-time link for joining the workspace. It replaces an older one for the same
// e-mail. If the server sends mail, the link is mailed too. restrictTo limits the person to these records; nil: the whole workspace.
// Invite returns Invalid if `email` is no e-mail address or the role allows no restriction. It returns
// NotFound for unknown records of the restriction. It returns Conflict for a personal workspace, for a
// member, or if maxInvitations to others are open.
func (a *App) Invite(ctx context.Context, c Caller, email string, role sheaf.Role, restrictTo *RestrictTo) (NewInvitation, error) {
	fault := checkInvite(email, role, restrictTo)
	return write(ctx, a, c, owner, fault, func(w *work) (NewInvitation, error) {
		if err := w.mayInvite(email); err != nil {
			return NewInvitation{}, err
		}
		return w.invite(email, role, restrictTo)
	})
}

// checkInvite returns the first error of an invitation that does not depend on what is stored.
func checkInvite(email string, role sheaf.Role, restrictTo *RestrictTo) error {
	return firstError(checkOperatorText("e-mail", email), checkEmail(email), restrictTo.checkPerson(role))
}

// invite stores an invitation and returns it with its token. Only the token's hash is stored.
func (w *work) invite(email string, role sheaf.Role, restrictTo *RestrictTo) (NewInvitation, error) {
	to, err := w.restriction(restrictTo)
	if err != nil {
		return NewInvitation{}, err
	}
	token, err := w.app.newToken()
	if err != nil {
		return NewInvitation{}, err
	}
	i := sheaf.Invitation{ID: sheaf.InvitationID(w.app.newID()), Email: email, Role: role, InvitedBy: w.caller.User,
		CreatedAt: w.now, ExpiresAt: w.now.Add(invitationLives), RestrictedTo: to}
	replaced, err := w.InsertInvitation(w.ws.ID, i, tokenHash(token))
	if err != nil {
		return NewInvitation{}, err
	}
	w.auditWithdrawn(replaced)
	w.audit(sheaf.ActionInvitationCreated, string(i.ID), nil, memberFacts(role, to))
	w.lines[len(w.lines)-1].Email = &i.Email
	if err := w.mailInvitation(i.ID, token); err != nil {
		return NewInvitation{}, err
	}
	return NewInvitation{i, token}, w.endRestrictions() // the replaced invitation may have had one
}

// mayInvite returns Conflict if no one, or not this person, can be invited.
func (w *work) mayInvite(email string) error {
	if w.ws.Personal {
		return sheaf.Conflictf("this workspace is personal and cannot have a second member: invite the person to another workspace")
	}
	open, err := w.OtherInvitations(w.ws.ID, email, w.now)
	if err != nil {
		return err
	}
	if open >= maxInvitations {
		return sheaf.Conflictf("%d invitations to this workspace are open, which is the maximum: withdraw one, or wait until one is used or has expired", open)
	}
	return w.notAMember(email)
}

// notAMember returns Conflict if the person belongs to the workspace already.
func (w *work) notAMember(email string) error {
	u, err := w.UserByEmail(email)
	if sheaf.KindOf(err) == sheaf.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	member, err := w.IsMember(w.ws.ID, u.ID)
	if member {
		return sheaf.Conflictf("%s is a member already: change their role instead", sheaf.Clip(email))
	}
	return err
}

// Withdraw ends an open invitation, or returns NotFound.
func (a *App) Withdraw(ctx context.Context, c Caller, id sheaf.InvitationID) error {
	c.deletes = true
	return do(ctx, a, c, owner, nil, func(w *work) error {
		i, err := w.DeleteInvitation(w.ws.ID, id)
		if err != nil {
			return err
		}
		w.auditWithdrawn([]sheaf.Invitation{i})
		return w.endRestrictions()
	})
}

// Offer is what the holder of an invitation's link sees.
type Offer struct {
	Invitation sheaf.Invitation
	Workspace  sheaf.Workspace
	InvitedBy  sheaf.User
	// Known means that a user with the e-mail exists, who joins with their own password. Locked
	// means that this user cannot join with a password, because they have none, or passwords are off.
	Known, Locked bool
}

var errInvitation = &sheaf.Error{Kind: sheaf.NotFound, Code: sheaf.CodeNotFound,
	Text: "this invitation was used, withdrawn, or has expired: ask for a new one"}

// Offer returns the offer of a link, or NotFound. It does not use up the link.
func (a *App) Offer(ctx context.Context, token string) (Offer, error) {
	return readUnasked(ctx, a, func(r *store.Reader) (Offer, error) { return a.offer(r, tokenHash(token)) })
}

// offer is Offer inside a transaction, for the hash of the link's token.
func (a *App) offer(r *store.Reader, hash []byte) (o Offer, err error) {
	ws, i, err := r.Invitation(hash, a.now())
	if sheaf.KindOf(err) == sheaf.NotFound {
		return o, errInvitation
	}
	if err != nil {
		return o, err
	}
	o.Invitation = i
	if o.Workspace, err = r.Workspace(ws); err != nil {
		return o, err
	}
	if o.InvitedBy, err = r.User(i.InvitedBy); err != nil {
		return o, err
	}
	u, err := r.UserByEmail(i.Email)
	if sheaf.KindOf(err) == sheaf.NotFound {
		return o, nil
	}
	o.Known, o.Locked = err == nil, err == nil && !a.UsesPassword(u)
	return o, err
}

// Join is what a person sends to accept an invitation.
type Join struct {
	Token    string // token of the invitation's link
	Name     string // name of a new user; a known user keeps theirs
	Password string
	// As in SignIn.
	Address, Agent, Device, RequestID string
}

func (j Join) browser() Browser {
	return Browser{Address: j.Address, Agent: j.Agent, RequestID: j.RequestID, Device: j.Device}
}

// Join uses up an invitation's link and signs the person in, as SignIn does. A new user gets the name and the
// password; a known user must give their own password, as for SignIn. It returns NotFound for a
// link that cannot be used, and Invalid for a name or password that is not allowed.
func (a *App) Join(ctx context.Context, in Join, old string) (NewSession, sheaf.WorkspaceID, error) {
	o, err := a.Offer(ctx, in.Token)
	if err != nil {
		return NewSession{}, "", err
	}
	user, err := a.joiner(ctx, o, in)
	if err != nil {
		return NewSession{}, "", err
	}
	s, err := a.useInvitation(ctx, in, o, user, old)
	if errors.Is(err, store.ErrDuplicate) {
		err = errInvitation // the same link or e-mail was used at this moment
	}
	return s, o.Workspace.ID, err
}

// joiner returns the user who joins: a known one, or a new one who is not stored yet.
func (a *App) joiner(ctx context.Context, o Offer, in Join) (sheaf.User, error) {
	if o.Known {
		return a.checkSignIn(ctx, SignIn{Email: o.Invitation.Email, Password: in.Password, Address: in.Address, Device: in.Device})
	}
	if a.passwordsOff {
		return sheaf.User{}, a.errPasswordsOff()
	}
	if err := firstError(checkPersonName(in.Name), checkPassword(in.Password)); err != nil {
		return sheaf.User{}, err
	}
	hash, err := a.hashInLine(ctx, in.Password, a.lines.strangers, in.Address)
	return sheaf.User{ID: sheaf.UserID(a.newID()), Email: &o.Invitation.Email, Name: in.Name, PasswordHash: hash, CreatedAt: a.now()}, err
}

// settled stores a new user. If the user is known, their password must still be the one that was
// compared.
func settled(tx *store.Tx, o Offer, user sheaf.User) error {
	if !o.Known {
		return tx.InsertUser(user)
	}
	return samePassword(tx, user)
}

// useInvitation adds the member, deletes the invitation and opens the session, in one transaction. If the user has a
// second factor, it opens a pending sign-in, which accepts the invitation when it is finished.
func (a *App) useInvitation(ctx context.Context, in Join, o Offer, user sheaf.User, old string) (s NewSession, err error) {
	err = a.writeUnasked(ctx, func(tx *store.Tx) error {
		ws, now, err := a.lockOffer(tx, tokenHash(in.Token))
		if err != nil {
			return err
		}
		if now.Known != o.Known {
			return errInvitation
		}
		if err := settled(tx, o, user); err != nil {
			return err
		}
		_, found, err := tx.Factor(user.ID)
		if err != nil {
			return err
		}
		if found {
			s, err = a.wait(tx, user, tokenHash(in.Token), false)
			return err
		}
		if err := a.acceptInvitation(tx, ws.ID, now.Invitation, user, in.browser()); err != nil {
			return err
		}
		b := in.browser()
		b.Expected = !o.Known
		s, err = a.enter(tx, user, b, old)
		return err
	})
	return s, err
}

// lockOffer locks the workspace of an invitation, and returns it with the offer. `hash` is that of the link's token. It
// returns NotFound if the invitation cannot be used.
func (a *App) lockOffer(tx *store.Tx, hash []byte) (sheaf.Workspace, Offer, error) {
	before, err := a.offer(&tx.Reader, hash)
	if err != nil {
		return sheaf.Workspace{}, Offer{}, err
	}
	ws, err := tx.LockWorkspace(before.Workspace.ID)
	if err != nil {
		return ws, Offer{}, err
	}
	o, err := a.offer(&tx.Reader, hash)
	return ws, o, err
}

// acceptInvitation adds the member and deletes the invitation. The transaction has locked the workspace and the user.
func (a *App) acceptInvitation(tx *store.Tx, ws sheaf.WorkspaceID, i sheaf.Invitation, user sheaf.User, b Browser) error {
	if _, err := tx.DeleteInvitation(ws, i.ID); err != nil {
		return err
	}
	if err := tx.InsertMember(sheaf.Membership{Workspace: sheaf.Workspace{ID: ws}, User: user, Role: i.Role, Since: a.now(), RestrictedTo: i.RestrictedTo}); err != nil {
		return err
	}
	if err := tx.AddMemberEvent(ws, sheaf.MemberEvent{Kind: sheaf.MemberJoined, User: user.ID, By: &user.ID, Role: i.Role, At: a.now()}); err != nil {
		return err
	}
	return a.auditIn(tx, ws, b.actor(user.ID), sheaf.ActionMemberJoined, string(user.ID), nil, memberFacts(i.Role, i.RestrictedTo))
}
