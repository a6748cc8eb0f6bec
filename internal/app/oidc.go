package app

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"sheaf.dev/internal/fair"
	"sheaf.dev/internal/oidc"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// People can sign in at an OpenID Connect provider. What is needed until they come back is in a sealed cookie of their
// browser, so that strangers who begin sign-ins store nothing:
//
//	the button ──▶ state, nonce and PKCE verifier, sealed ──▶ the provider's page
//	the way back ─▶ the code is redeemed ─▶ a verified identity ─┬─▶ its subject is bound: a session
//	                                                             ├─▶ its e-mail is of an account, or invited: it is bound, a session
//	                                                             ├─▶ … of an account with a password: the password is asked for, once
//	                                                             └─▶ refused
//
// The code is redeemed before the transaction, which decides. It stores that the state was used, so no state works twice.

const (
	// providerSignInLives is how long a person may take at the provider, and bindingLives how long to give the password.
	providerSignInLives = 15 * time.Minute
	bindingLives        = 10 * time.Minute
	// providerSessionLives is the longest life of a session that began at the provider. The provider does not tell when a
	// person leaves, so the person is asked there at least this often.
	providerSessionLives = 12 * time.Hour
	// mostAccepted bounds the invitations that one sign-in accepts without their links.
	mostAccepted = 100
)

// providerTurns bounds the codes that are redeemed at once, so that a provider that is slow, or a stranger who sends many
// codes, holds up nobody for long.
var providerTurns = fair.Limits{Places: 16, Each: 4, Waiting: lineEach, AllWaiting: lineMost, Wait: turnWithin}

// SignInProvider is the OpenID Connect provider and what is trusted of it.
type SignInProvider struct {
	*oidc.Provider
	// Name is how people know it.
	Name string
	// TrustEmail means that an e-mail counts if the provider does not say whether it is verified.
	TrustEmail bool
}

// OIDCReason says why a sign-in at the provider was refused. A reason of the protocol is an oidc.Reason.
type OIDCReason = oidc.Reason

// The reasons of the rules.
const (
	OIDCNotBegun        OIDCReason = "not_begun"          // this browser began no sign-in, or another one, or too long ago
	OIDCRefusedThere    OIDCReason = "refused_by_person"  // the provider sent an error instead of a code
	OIDCUsed            OIDCReason = "state_used"         // the sign-in was completed before
	OIDCBusy            OIDCReason = "busy"               // too many people sign in
	OIDCNoEmail         OIDCReason = "email_missing"      // or it cannot be one
	OIDCUnverified      OIDCReason = "email_unverified"   // or it may be: see SignInProvider.TrustEmail
	OIDCOtherSubject    OIDCReason = "other_subject"      // another account at the provider is bound to the user with this e-mail
	OIDCErased          OIDCReason = "user_erased"        // or the user changed at this moment
	OIDCNoMember        OIDCReason = "no_member"          // neither a member nor invited
	OIDCNoInvitation    OIDCReason = "invitation_gone"    // the link was used or withdrawn, or has expired
	OIDCOtherInvitation OIDCReason = "invitation_another" // the invitation is to another e-mail
	OIDCRace            OIDCReason = "at_the_same_moment" // another sign-in bound the account or accepted the invitation
)

// OIDCRefusal is the error of a refused sign-in at the provider. The person sees the sentence of the wrapped *sheaf.Error,
// which does not reveal the reason.
type OIDCRefusal struct {
	Reason OIDCReason
	Cause  error // for the log; may be nil
	shown  *sheaf.Error
}

// Error returns the sentence for the person.
func (r *OIDCRefusal) Error() string { return r.shown.Text }

// Unwrap returns the *sheaf.Error.
func (r *OIDCRefusal) Unwrap() error { return r.shown }

// refuseOIDC returns the error of a sign-in at the provider that was refused. Every refusal comes through here. It is
// counted in the instance's audit log, for its reason, the address and the minute.
func (a *App) refuseOIDC(ctx context.Context, b Browser, reason OIDCReason, cause error) error {
	err := a.writeUnasked(ctx, func(tx *store.Tx) error {
		return a.insertFailure(tx, sheaf.ActionSignInRefused, string(reason), b.Address)
	})
	if err != nil {
		return err
	}
	text := "Signing in with " + a.provider.Name + " did not work. Try again, or ask your administrator, whose log has the reason."
	shown := &sheaf.Error{Kind: sheaf.Unauthorized, Code: sheaf.CodeUnauthorized, Text: text}
	if reason == oidc.Unavailable || reason == OIDCBusy {
		shown = &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: turnWithin,
			Text: a.provider.Name + " cannot be reached at the moment. Try again in a few seconds."}
	}
	return &OIDCRefusal{reason, cause, shown}
}

// reasonError carries a reason out of a transaction, to refuseOIDC.
type reasonError OIDCReason

func (e reasonError) Error() string { return string(e) }

// refusedBecause returns err, or the refusal that its reason means.
func (a *App) refusedBecause(ctx context.Context, b Browser, err error) error {
	var reason reasonError
	var protocol *oidc.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &reason):
		return a.refuseOIDC(ctx, b, OIDCReason(reason), nil)
	case errors.As(err, &protocol):
		return a.refuseOIDC(ctx, b, protocol.Reason, protocol)
	case errors.Is(err, store.ErrDuplicate):
		return a.refuseOIDC(ctx, b, OIDCRace, nil)
	}
	return err
}

// SignInWays are the ways in which people can sign in.
type SignInWays struct {
	Provider  string // name of the provider; empty for none
	Passwords bool   // with a password; for some people alone if PasswordsOff
	// PasswordsOff means that the server has turned passwords off.
	PasswordsOff bool
}

// SignInWays returns the ways in which people can sign in.
func (a *App) SignInWays(ctx context.Context) (SignInWays, error) {
	w := SignInWays{Passwords: !a.passwordsOff, PasswordsOff: a.passwordsOff}
	if a.provider != nil {
		w.Provider = a.provider.Name
	}
	if !a.passwordsOff {
		return w, nil
	}
	var err error
	w.Passwords, err = readUnasked(ctx, a, func(r *store.Reader) (bool, error) { return r.AnyPasswordAllowed() })
	return w, err
}

// UsesPassword reports whether the user has a password and may sign in with it.
func (a *App) UsesPassword(u sheaf.User) bool {
	return u.PasswordHash != "" && (!a.passwordsOff || u.PasswordAllowed)
}

// errPasswordsOff says what to do instead. It is the same for every e-mail.
func (a *App) errPasswordsOff() error {
	name := "the provider"
	if a.provider != nil {
		name = a.provider.Name
	}
	return &sheaf.Error{Kind: sheaf.Forbidden, Code: sheaf.CodeForbidden,
		Text: "Passwords are turned off on this server, and nothing was changed. Sign in with " + name + ". If that does not work, ask your administrator to run sheaf user allow-password."}
}

// passwordsOpen returns nil if anybody may use a password, and otherwise Forbidden.
func (a *App) passwordsOpen(ctx context.Context) error {
	ways, err := a.SignInWays(ctx)
	if err == nil && !ways.Passwords {
		err = a.errPasswordsOff()
	}
	return err
}

// ProviderSignIn is a sign-in that was begun at the provider.
type ProviderSignIn struct {
	Address string // page of the provider, to which the browser goes
	// Sealed is for a cookie of the browser, until ExpiresAt.
	Sealed    string
	ExpiresAt time.Time
}

// begunSignIn is what the browser keeps, sealed, while its person is at the provider.
type begunSignIn struct {
	oidc.Secrets
	Next       string // page to go to afterwards
	Invitation string // token of the invitation's link; empty for none
	Until      time.Time
}

// BeginProviderSignIn begins a sign-in at the provider. `next` is the page to go to afterwards, and `invitation` the token of
// the link of an invitation that is accepted with it, or "". It returns NotFound without a provider, and an *OIDCRefusal if
// the provider does not answer.
func (a *App) BeginProviderSignIn(ctx context.Context, next, invitation string, b Browser) (ProviderSignIn, error) {
	if a.provider == nil {
		return ProviderSignIn{}, sheaf.Missing("page")
	}
	s := begunSignIn{Next: next, Invitation: invitation, Until: a.now().Add(providerSignInLives)}
	for _, secret := range []*string{&s.State, &s.Nonce, &s.Verifier} {
		token, err := a.newToken()
		if err != nil {
			return ProviderSignIn{}, err
		}
		*secret = token
	}
	address, err := a.provider.Address(ctx, s.Secrets)
	if err != nil {
		return ProviderSignIn{}, a.refusedBecause(ctx, b, err)
	}
	plain, err := json.Marshal(s)
	if err != nil {
		return ProviderSignIn{}, fmt.Errorf("begin a sign-in: %w", err)
	}
	return ProviderSignIn{Address: address, Sealed: base64.RawURLEncoding.EncodeToString(a.webhooks.Box.ProviderSignIn(plain)), ExpiresAt: s.Until}, nil
}

// openSealed reads a sealed value of a browser into `to`, and reports whether it is one.
func openSealed(sealed string, open func([]byte) ([]byte, error), to any) bool {
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return false
	}
	plain, err := open(raw)
	return err == nil && json.Unmarshal(plain, to) == nil
}

// ProviderAnswer is what the provider and the browser send when a person comes back.
type ProviderAnswer struct {
	Sealed string // ProviderSignIn.Sealed
	State  string
	Code   string
	Error  string // of the provider, in place of a code
}

// Entered is the end of a sign-in at the provider: a session, or a form that asks for the password.
type Entered struct {
	NewSession
	Next string // page to go to
	// Binding, if it is not empty, is for a cookie of the browser until BindingExpiresAt: the person has yet to give the
	// password of their account. Then no session was opened.
	Binding          string
	BindingExpiresAt time.Time
}

// FinishProviderSignIn redeems the code and opens a session, which lives providerSessionLives. It lets in a person whose
// subject is bound to a user, and binds the subject to the user with the verified e-mail; a new user is made only for an
// invitation. The user must be a member of a workspace or invited. It asks for the password of an account first, unless
// passwords are off. Every refusal is an *OIDCRefusal. `old` is the token of the session that this one replaces, or "".
func (a *App) FinishProviderSignIn(ctx context.Context, in ProviderAnswer, b Browser, old string) (Entered, error) {
	if a.provider == nil {
		return Entered{}, sheaf.Missing("page")
	}
	var s begunSignIn
	if !openSealed(in.Sealed, a.webhooks.Box.OpenProviderSignIn, &s) || !a.now().Before(s.Until) ||
		subtle.ConstantTimeCompare([]byte(in.State), []byte(s.State)) != 1 {
		return Entered{}, a.refuseOIDC(ctx, b, OIDCNotBegun, nil)
	}
	if in.Code == "" || in.Error != "" {
		return Entered{}, a.refuseOIDC(ctx, b, OIDCRefusedThere, nil)
	}
	done, err := a.redeeming.Take(ctx, b.Address, 1)
	if err != nil {
		return Entered{}, a.refuseOIDC(ctx, b, OIDCBusy, err)
	}
	who, err := a.provider.Exchange(ctx, in.Code, s.Secrets)
	done()
	if err != nil {
		return Entered{}, a.refusedBecause(ctx, b, err)
	}
	e := providerEntry{Issuer: who.Issuer, Subject: who.Subject, Name: personName(who), Invitation: s.Invitation, Next: s.Next}
	e.Email, e.NoEmail = a.countedEmail(who)
	out, err := a.enterByProvider(ctx, e, b, old, func(tx *store.Tx) error {
		first, err := tx.UseSignIn(tokenHash(s.State), s.Until)
		if err == nil && !first {
			err = reasonError(OIDCUsed)
		}
		return err
	})
	return out, a.refusedBecause(ctx, b, err)
}

// countedEmail returns the e-mail of an identity if it counts, and otherwise the reason why it does not.
func (a *App) countedEmail(who oidc.Identity) (email string, why OIDCReason) {
	switch {
	case who.Email == "" || firstError(checkOperatorText("e-mail", who.Email), checkEmail(who.Email)) != nil:
		return "", OIDCNoEmail
	case who.Verified == nil && !a.provider.TrustEmail || who.Verified != nil && !*who.Verified:
		return "", OIDCUnverified
	}
	return who.Email, ""
}

// personName returns the name for a new user: that of the identity, or else what is before the @ of the e-mail.
func personName(who oidc.Identity) string {
	name := strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(who.Name, "")))
	if checkPersonName(name) == nil {
		return name
	}
	name, _, _ = strings.Cut(who.Email, "@")
	if checkPersonName(name) == nil {
		return name
	}
	return "?"
}

// providerEntry is a verified identity that wants in. The browser keeps it, sealed, while it asks for a password.
type providerEntry struct {
	Issuer, Subject  string
	Email            string     // empty if it does not count
	NoEmail          OIDCReason // why it does not
	Name             string     // of a new user
	Invitation, Next string
	// User is whose password is asked for.
	User  sheaf.UserID
	Until time.Time
	// proven is the user as they were when the password was checked; nil: it was not.
	proven *sheaf.User
	code   string // of the second factor, given with the password
}

// enterByProvider opens the session of a verified identity, in one transaction that begins with `first`.
func (a *App) enterByProvider(ctx context.Context, e providerEntry, b Browser, old string, first func(tx *store.Tx) error) (out Entered, err error) {
	var refusal error
	err = a.writeUnasked(ctx, func(tx *store.Tx) error {
		out, refusal = Entered{Next: e.Next}, nil
		if err := first(tx); err != nil {
			return err
		}
		user, known, bound, err := a.identified(&tx.Reader, e)
		if err != nil {
			return err
		}
		// The workspaces are locked before the user, as when a person joins one.
		joins, err := a.joins(tx, e, user, known)
		if err != nil {
			return err
		}
		if known {
			if user, err = tx.LockUser(user.ID); err != nil {
				return err
			}
			if user.ErasedAt != nil {
				return reasonError(OIDCErased)
			}
		}
		if known && !bound && a.UsesPassword(user) {
			if e.proven == nil {
				out, err = a.askPassword(e, user)
				return err
			}
			if refusal, err = a.proves(tx, e, user, b); err != nil || refusal != nil {
				return err
			}
		}
		if !known {
			user = sheaf.User{ID: sheaf.UserID(a.newID()), Email: &e.Email, Name: e.Name, CreatedAt: a.now()}
			if err := tx.InsertUser(user); err != nil {
				return err
			}
		}
		if !bound {
			if err := tx.InsertIdentity(store.Identity{Issuer: e.Issuer, Subject: e.Subject, User: user.ID, CreatedAt: a.now()}); err != nil {
				return err
			}
			if err := a.auditInstance(tx, b.actor(user.ID), sheaf.ActionProviderBound, user.ID, namedFacts("issuer", e.Issuer)); err != nil {
				return err
			}
		}
		for _, o := range joins {
			if err := a.acceptInvitation(tx, o.Workspace.ID, o.Invitation, user, b); err != nil {
				return err
			}
			if e.Invitation != "" {
				out.Next = "/w/" + string(o.Workspace.ID) + "/projects"
			}
		}
		if _, _, err := tx.DeleteSession(tokenHash(old)); err != nil {
			return err
		}
		out.NewSession, err = a.openProviderSession(tx, user, b)
		return err
	})
	return out, firstError(err, refusal)
}

// identified returns the user of an identity: the one to whom the subject is bound, or else the one with the e-mail. If there
// is none, known is false.
func (a *App) identified(r *store.Reader, e providerEntry) (user sheaf.User, known, bound bool, err error) {
	id, bound, err := r.IdentityUser(e.Issuer, e.Subject)
	if err != nil {
		return user, false, false, err
	}
	if bound {
		user, err = r.User(id)
		return user, true, true, err
	}
	if e.NoEmail != "" {
		return user, false, false, reasonError(e.NoEmail)
	}
	user, err = r.UserByEmail(e.Email)
	if sheaf.KindOf(err) == sheaf.NotFound {
		return user, false, false, nil
	}
	if err != nil {
		return user, false, false, err
	}
	// The e-mail may have been given to another person at the provider. The subject never is.
	other, err := r.HasIdentity(user.ID, e.Issuer)
	if err == nil && other {
		err = reasonError(OIDCOtherSubject)
	}
	return user, true, false, err
}

// joins returns the invitations that the sign-in accepts, and locks their workspaces: that of the link or, for a person who is
// a member nowhere, all that are open to the e-mail, except those of owners. It refuses a person who is neither a member nor
// invited.
func (a *App) joins(tx *store.Tx, e providerEntry, user sheaf.User, known bool) ([]Offer, error) {
	email := e.Email
	if known && user.Email != nil {
		email = *user.Email // the provider does not change the e-mail of an account
	}
	if e.Invitation != "" {
		_, o, err := a.lockOffer(tx, tokenHash(e.Invitation))
		switch {
		case sheaf.KindOf(err) == sheaf.NotFound:
			return nil, reasonError(OIDCNoInvitation)
		case err == nil && store.Fold(o.Invitation.Email) != store.Fold(email):
			return nil, reasonError(OIDCOtherInvitation)
		}
		return []Offer{o}, err
	}
	if known {
		in, err := tx.EveryMembership(user.ID)
		if err != nil || len(in) > 0 {
			return nil, err
		}
	}
	open, err := tx.OpenInvitationsTo(email, a.now(), mostAccepted)
	if err != nil {
		return nil, err
	}
	var out []Offer
	for _, i := range open {
		_, o, err := a.lockOffer(tx, i.Hash)
		if sheaf.KindOf(err) == sheaf.NotFound { // used or withdrawn at this moment
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	if len(out) == 0 {
		return nil, reasonError(OIDCNoMember)
	}
	return out, nil
}

// openProviderSession opens a session for a person who signed in at the provider.
func (a *App) openProviderSession(tx *store.Tx, u sheaf.User, b Browser) (NewSession, error) {
	return a.openSessionFor(tx, u, b, providerSessionLives)
}
