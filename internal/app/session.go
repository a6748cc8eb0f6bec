package app

import (
	"bytes"
	"context"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"sheaf.dev/internal/fair"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

const (
	// sessionLives is the longest life of a session. A session that is not used ends after
	// sessionIdle.
	sessionLives = 7 * 24 * time.Hour
	sessionIdle  = 12 * time.Hour
	// sessionNoted is the precision with which the last use of a session is stored, so that not
	// every page view writes.
	sessionNoted = time.Minute
)

// SignIn is what a person sends to sign in.
type SignIn struct {
	Email, Password string
	Address         string // address of the client; failures are counted under it
	Agent           string // User-Agent header of the client
	RequestID       string // for the audit log
	Device          string // NewSession.Device of an earlier session in this browser; may be empty
	Expected        bool   // as in Browser
}

func (in SignIn) browser() Browser {
	return Browser{Address: in.Address, Agent: in.Agent, RequestID: in.RequestID, Device: in.Device, Expected: in.Expected}
}

// NewSession is a new session. Both tokens are only for the person's browser.
type NewSession struct {
	Token           string // session token; only its hash is stored
	ExpiresAt       time.Time
	Device          string // recognises the browser when it signs in again: see newDevice; empty after a sign-in at the provider
	DeviceExpiresAt time.Time
	// Pending has a token if the person has yet to give a code, or to set up a second factor. Then no session was opened,
	// and the other fields are empty.
	Pending Pending
}

// errSignIn does not reveal whether the e-mail is known.
var errSignIn = unauthorized("The e-mail or the password is wrong.")

// SignIn opens a session, or a pending sign-in if the person has a second factor or must set one up. For a wrong password, an unknown e-mail and a user without a password, it
// returns the same Unauthorized after the same work. After too many failures for this account or
// from this address, it returns RateLimited with the time to wait. Failures of others do not count
// for a browser in which the person signed in before. `old` is the token of the session that this
// one replaces, or "".
func (a *App) SignIn(ctx context.Context, in SignIn, old string) (NewSession, error) {
	user, err := a.checkSignIn(ctx, in)
	if err != nil {
		return NewSession{}, err
	}
	var s NewSession
	err = a.writeUnasked(ctx, func(tx *store.Tx) (err error) {
		if err := samePassword(tx, user); err != nil {
			return err
		}
		s, err = a.enter(tx, user, in.browser(), old)
		return err
	})
	return s, err
}

// samePassword returns Unauthorized if the password was changed after it was compared, or the user was
// erased. It locks the user until the transaction ends.
func samePassword(tx *store.Tx, user sheaf.User) error {
	now, err := tx.LockUser(user.ID)
	if err == nil && now.PasswordHash != user.PasswordHash {
		err = errSignIn
	}
	return err
}

// firstError returns the first error that is not nil. Its arguments are evaluated before the call,
// so use it only for checks: no statement may run after another one of its transaction has failed.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// checkSignIn returns the user with this e-mail and password, or the errors of SignIn.
func (a *App) checkSignIn(ctx context.Context, in SignIn) (sheaf.User, error) {
	user, err := readUnasked(ctx, a, func(r *store.Reader) (sheaf.User, error) { return r.UserByEmail(in.Email) })
	if err != nil && sheaf.KindOf(err) != sheaf.NotFound {
		return user, err
	}
	if device, ok := a.knownDevice(user, in.Device); ok {
		err = a.checkPasswordOf(ctx, user, in.Password, brakesOf(device), a.lines.known, string(user.ID))
	} else {
		err = a.checkPasswordOf(ctx, user, in.Password, brakesFor(user.ID, in), a.lines.strangers, in.Address)
	}
	return user, a.countWrong(ctx, user.ID, in.Address, err)
}

// countWrong counts a failed sign-in in the instance's audit log if err says that the password was wrong. It
// returns err.
func (a *App) countWrong(ctx context.Context, u sheaf.UserID, address string, err error) error {
	if err != errSignIn {
		return err
	}
	failed := a.writeUnasked(ctx, func(tx *store.Tx) error { return a.insertFailure(tx, sheaf.ActionSignInFailed, string(u), address) })
	return firstError(failed, err)
}

// checkPasswordAgain returns Unauthorized unless the password is that of the person who is signed in.
// Failures of others do not count.
func (a *App) checkPasswordAgain(ctx context.Context, s Session, password string) error {
	err := a.checkPasswordOf(ctx, s.User, password, brakesOf(s.token), a.lines.known, string(s.User.ID))
	return a.countWrong(ctx, s.User.ID, s.actor().Address, err)
}

// checkPasswordOf returns Unauthorized unless the password is the user's, and the user may use it. The attempt
// must pass the brakes, and waits in `line` under `name`. If passwords are turned off for everybody, it returns Forbidden.
func (a *App) checkPasswordOf(ctx context.Context, user sheaf.User, password string, b brakes, line *fair.Turns, name string) error {
	if err := a.passwordsOpen(ctx); err != nil {
		return err
	}
	if err := a.countAttempt(ctx, b); err != nil {
		return err
	}
	hash, known := user.PasswordHash, a.UsesPassword(user)
	if user.PasswordHash == "" {
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

// clipPassword bounds the work for texts that are too long to be a password.
func clipPassword(s string) string { return s[:min(len(s), MaxPassword+1)] }

// Browser is the browser of a person.
type Browser struct {
	Address string // of the client
	Agent   string // its User-Agent header
	// RequestID is that of the request, for the audit log.
	RequestID string
	Device    string // NewSession.Device of an earlier session in this browser; may be empty
	// Expected means that a sign-in from this browser is no news: the person has just chosen the password in it.
	Expected bool
}

// openSession creates a session for a user who gave the password.
func (a *App) openSession(tx *store.Tx, u sheaf.User, in Browser) (NewSession, error) {
	device, until, err := a.newDevice(u)
	if err != nil {
		return NewSession{}, err
	}
	s, err := a.openSessionFor(tx, u, in, sessionLives)
	s.Device, s.DeviceExpiresAt = device, until
	return s, err
}

// openSessionFor creates a session that lives at most that long.
func (a *App) openSessionFor(tx *store.Tx, u sheaf.User, in Browser, lives time.Duration) (NewSession, error) {
	token, err := a.newToken()
	if err != nil {
		return NewSession{}, err
	}
	now := a.now()
	s := store.Session{Hash: tokenHash(token), User: u.ID, CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(lives), Address: in.Address, Agent: cleanAgent(in.Agent)}
	if err := tx.InsertSession(s); err != nil {
		return NewSession{}, err
	}
	return NewSession{Token: token, ExpiresAt: s.ExpiresAt}, a.auditInstance(tx, in.actor(u.ID), sheaf.ActionSessionStarted, u.ID, nil)
}

// mostAgent bounds the stored bytes of a User-Agent header.
const mostAgent = 300

// cleanAgent returns a User-Agent header as a text that can be stored.
func cleanAgent(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) {
			return -1
		}
		return r
	}, s[:min(len(s), mostAgent)])
}

// Session is a signed-in person with their memberships.
type Session struct {
	User        sheaf.User
	Memberships []sheaf.Membership
	Leaving     []sheaf.Membership // in workspaces that the operator has deleted, until all data is removed
	// Origin is where the request comes from; nil: unknown.
	Origin Origin
	token  string // the session's token
}

// actor returns the person as the audit log names them.
func (s Session) actor() sheaf.Actor {
	return Caller{User: s.User.ID, Role: sheaf.Member, Origin: s.Origin}.actor()
}

// Session returns the current session of a browser's token, or Unauthorized.
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
		s.Memberships, err = r.EveryMembership(stored.User)
		for i := range s.Memberships {
			if m := &s.Memberships[i]; m.RestrictedTo != nil {
				m.Workspace = m.Workspace.WithoutFigures()
			}
		}
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
	s.Memberships, s.Leaving = withoutDeleted(s.Memberships)
	s.token = token
	if now.Sub(stored.SeenAt) >= sessionNoted {
		// If nothing can be written, as on a full disk, people can still read. Their session only
		// ends sooner.
		_ = a.writeUnasked(ctx, func(tx *store.Tx) error { return tx.TouchSessions([][]byte{hash}, now) })
	}
	return s, nil
}

// visitNoted is how exactly it is stored when a session was last used whose pages are only open. It
// is far below sessionIdle, and far above sessionNoted, so that open pages write hardly ever.
const visitNoted = time.Hour

// Visit is an open page of a session in a workspace, with the restriction that it was made for.
type Visit = store.Visit

// NewVisit returns the Visit of the session with that token, whose person is restricted to `within`.
func NewVisit(token string, ws sheaf.WorkspaceID, within *sheaf.Restriction) Visit {
	v := Visit{Hash: [32]byte(tokenHash(token)), Workspace: ws}
	if within != nil {
		v.Restriction = within.Number
	}
	return v
}

// EndedVisits returns the open pages whose session has ended, or whose user has left the workspace or got
// another restriction. It reads all sessions in one query. An open page keeps its session in use.
func (a *App) EndedVisits(ctx context.Context, open []Visit) ([]Visit, error) {
	now := a.now()
	found, err := readUnasked(ctx, a, func(r *store.Reader) (map[Visit]store.Session, error) { return r.Visits(open) })
	if err != nil {
		return nil, err
	}
	var gone []Visit
	old := map[Visit]struct{}{} // one for each session that was last used long ago
	for _, v := range open {
		s, there := found[v]
		switch {
		case !there || ended(s, now):
			gone = append(gone, v)
		case now.Sub(s.SeenAt) >= visitNoted:
			old[Visit{Hash: v.Hash}] = struct{}{}
		}
	}
	if len(old) > 0 {
		var hashes [][]byte
		for v := range old {
			hashes = append(hashes, v.Hash[:])
		}
		_ = a.writeUnasked(ctx, func(tx *store.Tx) error { return tx.TouchSessions(hashes, now) }) // as in Session
	}
	return gone, nil
}

// maxKnownSessions bounds the memory for known sessions: about 200 bytes each.
const maxKnownSessions = 10_000

// knownSessions remembers the users of sessions that were found before. It only decides which share
// of the store's connections looks up the session again: the user's own. Without it, all look-ups
// would use one share, which a sender of made-up cookies could keep full.
type knownSessions struct {
	mu   sync.Mutex              // guards user
	user map[string]sheaf.UserID // by the hash of the token; at most maxKnownSessions
}

// part returns the name of the share of connections in which to look up the session. It is "", the
// share of everyone unknown, if the session is not known.
func (k *knownSessions) part(hash []byte) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if user, ok := k.user[string(hash)]; ok {
		return "user " + string(user)
	}
	return ""
}

// know remembers the user of the session. If the memory is full, it forgets any other session.
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

// forget removes a session that has ended.
func (k *knownSessions) forget(hash []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.user, string(hash))
}

func ended(s store.Session, now time.Time) bool {
	return !now.Before(s.ExpiresAt) || now.Sub(s.SeenAt) >= sessionIdle
}

// withoutDeleted splits the memberships: `living` are in workspaces that are not deleted, `leaving` in deleted ones.
func withoutDeleted(every []sheaf.Membership) (living, leaving []sheaf.Membership) {
	for _, m := range every {
		if m.Workspace.IsDeleted() {
			leaving = append(leaving, m)
		} else {
			living = append(living, m)
		}
	}
	return living, leaving
}

// LeavingFrom returns the deleted workspace with that id if the person is a member of it.
func (s Session) LeavingFrom(ws sheaf.WorkspaceID) (w sheaf.Workspace, found bool) {
	i := slices.IndexFunc(s.Leaving, func(m sheaf.Membership) bool { return m.Workspace.ID == ws })
	if i < 0 {
		return w, false
	}
	return s.Leaving[i].Workspace, true
}

// Caller returns the person as a caller in one of their workspaces. For any other workspace, and for
// a deleted one, it returns NotFound, as for an unknown workspace.
func (s Session) Caller(ws sheaf.WorkspaceID) (Caller, sheaf.Membership, error) {
	i := slices.IndexFunc(s.Memberships, func(m sheaf.Membership) bool { return m.Workspace.ID == ws })
	if i < 0 {
		return Caller{}, sheaf.Membership{}, sheaf.Missing("workspace")
	}
	m := s.Memberships[i]
	return Caller{Workspace: ws, User: s.User.ID, Role: m.Role, Within: m.RestrictedTo, Plan: m.Workspace.Plan, Origin: s.Origin}, m, nil
}

// SignOut ends the session with that token, if there is one.
func (a *App) SignOut(ctx context.Context, token string, b Browser) error {
	return a.writeUnasked(ctx, func(tx *store.Tx) error {
		u, found, err := tx.DeleteSession(tokenHash(token))
		if err != nil || !found {
			return err
		}
		return a.auditInstance(tx, b.actor(u), sheaf.ActionSessionEnded, u, nil)
	})
}

// SignOutEverywhere ends every session of the person, including this one.
func (a *App) SignOutEverywhere(ctx context.Context, s Session) error {
	return a.writeUnasked(ctx, func(tx *store.Tx) error {
		if err := tx.DeleteSessions(s.User.ID); err != nil {
			return err
		}
		return a.auditInstance(tx, s.actor(), sheaf.ActionSessionsEnded, s.User.ID, nil)
	})
}

// SignedIn is a session as its person sees it.
type SignedIn struct {
	ID                string // tells it from the person's other sessions. It does not sign anyone in
	CreatedAt, SeenAt time.Time
	Browser
	Present bool // the session of the request
}

// mostSignedIn bounds the list of sessions.
const mostSignedIn = 100

// SignedIn returns the open sessions of the person, the one used last first.
func (a *App) SignedIn(ctx context.Context, s Session) ([]SignedIn, error) {
	now := a.now()
	stored, err := readUnasked(ctx, a, func(r *store.Reader) ([]store.Session, error) {
		return r.SessionsOf(s.User.ID, now, now.Add(-sessionIdle), mostSignedIn)
	})
	out := make([]SignedIn, len(stored))
	present := tokenHash(s.token)
	for i, x := range stored {
		out[i] = SignedIn{ID: hex.EncodeToString(x.Hash), CreatedAt: x.CreatedAt, SeenAt: x.SeenAt, Browser: Browser{Address: x.Address, Agent: x.Agent}, Present: bytes.Equal(x.Hash, present)}
	}
	return out, err
}

// EndSession ends one session of the person. If it has ended before, or is not one of this person, nothing
// changes.
func (a *App) EndSession(ctx context.Context, s Session, id string) error {
	hash, err := hex.DecodeString(id)
	if err != nil {
		return sheaf.Missing("session")
	}
	return a.writeUnasked(ctx, func(tx *store.Tx) error {
		ended, err := tx.DeleteSessionOf(s.User.ID, hash)
		if err != nil || !ended {
			return err
		}
		return a.auditInstance(tx, s.actor(), sheaf.ActionSessionEnded, s.User.ID, nil)
	})
}

// ChangePassword sets a new password, ends every session of the person and returns a new one. It
// returns Invalid for a password that is too short or too long. If the current password is wrong,
// it returns Unauthorized or RateLimited, as SignIn does; failures of others do not count.
func (a *App) ChangePassword(ctx context.Context, s Session, current, password string, in Browser) (NewSession, error) {
	if err := checkPassword(password); err != nil {
		return NewSession{}, err
	}
	user := s.User
	if err := a.checkPasswordAgain(ctx, s, current); err != nil {
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
		if err := a.replacePassword(tx, user); err != nil {
			return err
		}
		if err := a.auditInstance(tx, in.actor(user.ID), sheaf.ActionPasswordChanged, user.ID, nil); err != nil {
			return err
		}
		out, err = a.openSession(tx, user, in)
		return err
	})
	return out, err
}

// Rename changes the person's name. It returns Invalid for a name that is empty or too long, and
// PRECONDITION_FAILED if `was` is given and is not the present name. It returns Unauthorized if the
// person was erased since the session was read.
func (a *App) Rename(ctx context.Context, s Session, name string, was sheaf.Opt[string]) error {
	if err := checkPersonName(name); err != nil {
		return err
	}
	return a.writeUnasked(ctx, func(tx *store.Tx) error {
		u, err := tx.LockUser(s.User.ID)
		if err == nil && u.ErasedAt != nil {
			err = unauthorized("you are signed out: sign in again")
		}
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
