package app

import (
	"context"
	"slices"
	"sync"
	"time"

	"sheaf.dev/internal/fair"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

const (
	// sessionLives is how long a session lasts at most, and sessionIdle how long it lasts when it
	// is not used.
	sessionLives = 7 * 24 * time.Hour
	sessionIdle  = 12 * time.Hour
	// sessionNoted is how exactly it is stored when a session was last used: not every page that is
	// looked at may write.
	sessionNoted = time.Minute
)

// SignIn is what somebody sends who wants to sign in.
type SignIn struct {
	Email, Password string
	Address         string // of the client, under which failures are counted
	Device          string // NewSession.Device of an earlier session in this browser; may be empty
}

// NewSession is a session just made. Both tokens are for the person's browser alone.
type NewSession struct {
	Token           string // of the session; only its hash is kept
	ExpiresAt       time.Time
	Device          string // by which the browser is recognised when it signs in again: see newDevice
	DeviceExpiresAt time.Time
}

// errSignIn says nothing about whether the e-mail is known.
var errSignIn = unauthorized("The e-mail or the password is wrong.")

// SignIn opens a session. It returns Unauthorized, the same after the same work for a wrong
// password, an unknown e-mail and a user without a password, and RateLimited with the time to wait
// when there were too many failures of this account, or from this address: those of others do not
// count for a browser that the person signed in with before. old is the token of the session that
// this one replaces, if any.
func (a *App) SignIn(ctx context.Context, in SignIn, old string) (NewSession, error) {
	user, err := a.checkSignIn(ctx, in)
	if err != nil {
		return NewSession{}, err
	}
	var s NewSession
	err = a.writeUnasked(ctx, func(tx *store.Tx) (err error) {
		if err := tx.DeleteSession(tokenHash(old)); err != nil {
			return err
		}
		if err := samePassword(tx, user); err != nil {
			return err
		}
		s, err = a.openSession(tx, user)
		return err
	})
	return s, err
}

// samePassword returns Unauthorized when the password was changed since it was compared.
func samePassword(tx *store.Tx, user sheaf.User) error {
	now, err := tx.User(user.ID)
	if err == nil && now.PasswordHash != user.PasswordHash {
		err = errSignIn
	}
	return err
}

// firstError returns the first of some errors. All of them are made before it is called, so it is
// for checks alone: a statement must not run after another one of its transaction has failed.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// checkSignIn returns whose e-mail and password these are.
func (a *App) checkSignIn(ctx context.Context, in SignIn) (sheaf.User, error) {
	user, err := readUnasked(ctx, a, func(r *store.Reader) (sheaf.User, error) { return r.UserByEmail(in.Email) })
	if err != nil && sheaf.KindOf(err) != sheaf.NotFound {
		return user, err
	}
	if device, ok := a.knownDevice(user, in.Device); ok {
		return user, a.checkPasswordOf(ctx, user, in.Password, brakesOf(device), a.lines.known, string(user.ID))
	}
	return user, a.checkPasswordOf(ctx, user, in.Password, brakesFor(user.ID, in), a.lines.strangers, in.Address)
}

// checkPasswordOf returns Unauthorized unless the password is the user's. The caller has to pass the
// brakes, and waits in the line under that name.
func (a *App) checkPasswordOf(ctx context.Context, user sheaf.User, password string, b brakes, line *fair.Turns, name string) error {
	if err := a.countAttempt(ctx, b); err != nil {
		return err
	}
	hash, known := user.PasswordHash, user.PasswordHash != ""
	if !known {
		hash = nobodysHash(a.cost)
	}
	matches, err := a.compareInLine(ctx, hash, clipPassword(password), line, name)
	if err != nil {
		return a.uncountAttempt(ctx, b, err)
	}
	if !matches || !known {
		return errSignIn
	}
	return a.forgiveAttempt(ctx, b)
}

// clipPassword bounds the work for what can be no password anyway.
func clipPassword(s string) string { return s[:min(len(s), MaxPassword+1)] }

// openSession makes a session that begins now, for a user with this password.
func (a *App) openSession(tx *store.Tx, u sheaf.User) (NewSession, error) {
	token, err := a.newToken()
	if err != nil {
		return NewSession{}, err
	}
	device, until, err := a.newDevice(u)
	if err != nil {
		return NewSession{}, err
	}
	now := a.now()
	s := store.Session{Hash: tokenHash(token), User: u.ID, CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(sessionLives)}
	return NewSession{Token: token, ExpiresAt: s.ExpiresAt, Device: device, DeviceExpiresAt: until}, tx.InsertSession(s)
}

// Session is a person who is signed in, and where they are a member.
type Session struct {
	User        sheaf.User
	Memberships []sheaf.Membership
	token       string // by which it was found
}

// Session returns what the token of a browser stands for, as of now, or Unauthorized.
func (a *App) Session(ctx context.Context, token string) (Session, error) {
	now := a.now()
	hash := tokenHash(token)
	var stored store.Session
	s, err := readPart(ctx, a, a.sessions.part(hash), func(r *store.Reader) (s Session, err error) {
		if stored, err = r.Session(hash); err != nil {
			return s, err
		}
		if s.User, err = r.User(stored.User); err != nil {
			return s, err
		}
		s.Memberships, err = r.Memberships(stored.User)
		return s, err
	})
	if sheaf.KindOf(err) == sheaf.NotFound || err == nil && ended(stored, now) {
		a.sessions.forget(hash)
		return Session{}, unauthorized("you are signed out: sign in again")
	}
	if err != nil {
		return Session{}, err
	}
	a.sessions.know(hash, s.User.ID)
	s.token = token
	if now.Sub(stored.SeenAt) >= sessionNoted {
		// Where nothing can be written, on a full disk, people can still look: their session only
		// ends sooner.
		_ = a.writeUnasked(ctx, func(tx *store.Tx) error { return tx.TouchSession(hash, now) })
	}
	return s, nil
}

// maxKnownSessions bounds the memory of sessions: some 200 bytes each.
const maxKnownSessions = 10_000

// knownSessions remembers whose sessions were found before. It decides nothing but whose part of
// the store's connections is used to look for the session again: the person's own. Without it all
// would look in one part, which somebody who sends made-up cookies could keep full.
type knownSessions struct {
	mu   sync.Mutex              // guards user
	user map[string]sheaf.UserID // by the hash of the token; at most maxKnownSessions
}

// part names the part of the connections to look for the session in; empty is that of everybody
// who is not known.
func (k *knownSessions) part(hash []byte) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if user, ok := k.user[string(hash)]; ok {
		return "user " + string(user)
	}
	return ""
}

// know remembers whose the session is. When the memory is full it forgets any other one.
func (k *knownSessions) know(hash []byte, user sheaf.UserID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.user[string(hash)]; !ok && len(k.user) >= maxKnownSessions {
		for any := range k.user {
			delete(k.user, any)
			break
		}
	}
	k.user[string(hash)] = user
}

// forget drops a session that has ended.
func (k *knownSessions) forget(hash []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.user, string(hash))
}

func ended(s store.Session, now time.Time) bool {
	return !now.Before(s.ExpiresAt) || now.Sub(s.SeenAt) >= sessionIdle
}

// Caller returns the person as a caller in one of their workspaces, or NotFound as for a workspace
// that does not exist.
func (s Session) Caller(ws sheaf.WorkspaceID) (Caller, sheaf.Membership, error) {
	i := slices.IndexFunc(s.Memberships, func(m sheaf.Membership) bool { return m.Workspace.ID == ws })
	if i < 0 {
		return Caller{}, sheaf.Membership{}, sheaf.Missing("workspace")
	}
	m := s.Memberships[i]
	return Caller{Workspace: ws, User: s.User.ID, Role: m.Role, Plan: m.Workspace.Plan}, m, nil
}

// SignOut ends the session of that token, if there is one.
func (a *App) SignOut(ctx context.Context, token string) error {
	return a.writeUnasked(ctx, func(tx *store.Tx) error { return tx.DeleteSession(tokenHash(token)) })
}

// SignOutEverywhere ends every session of the person, this one too.
func (a *App) SignOutEverywhere(ctx context.Context, s Session) error {
	return a.writeUnasked(ctx, func(tx *store.Tx) error { return tx.DeleteSessions(s.User.ID) })
}

// ChangePassword sets a new password, ends every session of the person and returns a new one. It
// returns Invalid for a password out of bounds, and Unauthorized or RateLimited as SignIn does when
// the current one is wrong; failures of others do not count.
func (a *App) ChangePassword(ctx context.Context, s Session, current, password string) (NewSession, error) {
	if err := checkPassword(password); err != nil {
		return NewSession{}, err
	}
	user := s.User
	if err := a.checkPasswordOf(ctx, user, current, brakesOf(s.token), a.lines.known, string(user.ID)); err != nil {
		return NewSession{}, err
	}
	hash, err := a.hashInLine(ctx, password, a.lines.known, string(user.ID))
	if err != nil {
		return NewSession{}, err
	}
	var out NewSession
	err = a.writeUnasked(ctx, func(tx *store.Tx) error {
		if err := samePassword(tx, user); err != nil {
			return err
		}
		user, err := tx.User(user.ID)
		if err != nil {
			return err
		}
		user.PasswordHash = hash
		if err := tx.UpdateUser(user); err != nil {
			return err
		}
		if err := tx.DeleteSessions(user.ID); err != nil {
			return err
		}
		out, err = a.openSession(tx, user)
		return err
	})
	return out, err
}

// Rename changes the person's name. It returns Invalid for one that is empty or too long, and PRECONDITION_FAILED where was
// is given and is their name no more.
func (a *App) Rename(ctx context.Context, s Session, name string, was sheaf.Opt[string]) error {
	if err := checkPersonName(name); err != nil {
		return err
	}
	return a.writeUnasked(ctx, func(tx *store.Tx) error {
		u, err := tx.User(s.User.ID)
		if err != nil {
			return err
		}
		if err := seen(was, u.Name); err != nil {
			return err
		}
		u.Name = name
		return tx.UpdateUser(u)
	})
}

func checkPersonName(name string) error {
	return firstError(checkOperatorText("name", name), sheaf.CheckName("name", name, sheaf.MaxName))
}
