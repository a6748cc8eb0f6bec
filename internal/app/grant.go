package app

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// An app gets a grant, and with it acts in a workspace as a key does:
//
//	the person agrees  ──▶ Connect ────▶ a grant that ends in a minute, and a code
//	the app, once      ──▶ RedeemCode ──▶ the grant lives as long as the person chose; access and refresh token
//	the app, each hour ──▶ RenewTokens ─▶ the next pair
//
// A code that comes twice, and a refresh token that was replaced more than a minute ago, were perhaps stolen: they end the
// grant. Within that minute, the old refresh token gets the same answer again, since the first one may have been lost.
//
// A grant ends with the membership of its person, and when a scope of it goes beyond the role. It never sees more than the
// person: see fitGrants.

// NewGrant is the consent of a person.
type NewGrant struct {
	App       sheaf.OAuthClient
	Redirect  string
	Challenge string // of PKCE: S256
	Scopes    sheaf.Scopes
	// RestrictTo limits the app to these records; nil: everything that the person sees.
	RestrictTo *RestrictTo
	ExpiresAt  *time.Time // nil: never
	From       Browser
}

// check returns the first error of the fields.
func (g NewGrant) check() error {
	if len(g.Scopes) == 0 {
		return sheaf.InvalidField("scopes", "choose at least one permission")
	}
	for _, s := range g.Scopes {
		if !sheaf.GrantScopes.Has(s) {
			return sheaf.InvalidField("scopes", "scopes: an app cannot get %s", s)
		}
	}
	return NewKey{Scopes: g.Scopes, RestrictTo: g.RestrictTo}.checkRestriction()
}

// Connect stores the consent of a person to an app, and returns the code that the app redeems. Only people connect apps,
// and grant scopes that they have themselves (Forbidden). It returns Conflict for too many apps.
func (a *App) Connect(ctx context.Context, c Caller, in NewGrant) (code string, err error) {
	fault := firstError(in.check(), scope(in.Scopes...)(c))
	return write(ctx, a, c, person(sheaf.ProjectsRead), fault, func(w *work) (string, error) {
		if err := firstError(w.ws.Plan.AllowAPI(), NewKey{ExpiresAt: in.ExpiresAt}.checkExpiry(w.now)); err != nil {
			return "", err
		}
		if err := w.roomForGrant(); err != nil {
			return "", err
		}
		code, err := a.newToken()
		if err != nil {
			return "", err
		}
		g, err := w.newGrant(in, code)
		if err != nil {
			return "", err
		}
		nobodys, _ := sheaf.HashKey(sheaf.NewAccessToken(a.random))
		if err := w.InsertGrant(w.ws.ID, g, nobodys); err != nil {
			return "", err
		}
		w.audit(sheaf.ActionAppConnected, string(g.ID), nil, grantFacts(g))
		return code, a.notify(w.Tx, c.User, sheaf.Letter{About: sheaf.AboutApp, Workspace: w.ws.ID, Key: g.Name,
			Address: in.From.Address, Agent: cleanAgent(in.From.Agent)})
	})
}

// newGrant returns the grant of a consent. It ends with its code.
func (w *work) newGrant(in NewGrant, code string) (sheaf.Grant, error) {
	to, err := w.restriction(in.RestrictTo)
	if err != nil {
		return sheaf.Grant{}, err
	}
	salt := []byte(sheaf.RandomBase62(w.app.random, 32))
	ends := w.now.Add(sheaf.CodeLives)
	g := sheaf.Grant{Key: sheaf.Key{ID: sheaf.KeyID(w.app.newID()), Name: in.App.Name, Scopes: in.Scopes, UserID: w.caller.User, ExpiresAt: &ends,
		CreatedAt: w.now, Number: w.nextNumber(), RestrictedTo: to, Resource: w.app.connecting.Resource, MadeByKey: sheaf.NoKey},
		Client: in.App.ID, Redirect: in.Redirect, CodeHash: sha256.Sum256([]byte(code)), Challenge: in.Challenge, Salt: salt, EndsAt: in.ExpiresAt,
		Follows: in.RestrictTo == nil, RenewedAt: w.now}
	g.See(w.caller.Within, to)
	return g, nil
}

// roomForGrant returns Conflict if the person, or the workspace, has as many apps as are allowed.
func (w *work) roomForGrant() error {
	own, err := w.GrantsOf(w.ws.ID, w.caller.User, w.now)
	if err != nil {
		return err
	}
	if len(own) >= sheaf.MaxGrantsOfPerson {
		return sheaf.Conflictf("you have connected %d apps to this workspace, which is the maximum: disconnect one on your account page", len(own))
	}
	n, err := w.CountGrants(w.ws.ID, w.now)
	if err == nil && n >= sheaf.MaxGrants {
		err = sheaf.Conflictf("%d apps are connected to this workspace, which is the maximum: ask an owner to disconnect some", n)
	}
	return err
}

// Tokens is what an app gets for a code or a refresh token.
type Tokens struct {
	Access, Refresh string
	ExpiresIn       time.Duration // of the access token
	Scopes          sheaf.Scopes
}

// Redemption is the request of an app for its first tokens.
type Redemption struct {
	Code, Client, Verifier string
	Redirect               string // may be empty: the verifier binds the code to the app
	Resource               string // empty: that of the server
	Origin                 Origin
}

// errGrant is the answer for everything that does not, or no longer, get tokens. It reveals nothing.
var errGrant = oauthError("invalid_grant", "the code or refresh token is unknown, was used, has expired or belongs to another app: ask the person to connect the app again")

// RedeemCode returns the first tokens of a grant. The code works once: the second time it ends the grant.
func (a *App) RedeemCode(ctx context.Context, in Redemption) (Tokens, error) {
	if err := a.CheckResource(in.Resource); err != nil {
		return Tokens{}, err
	}
	hash := sha256.Sum256([]byte(in.Code))
	at, err := a.findGrant(ctx, func(r *store.Reader) (sheaf.WorkspaceID, sheaf.Grant, error) { return r.GrantByCode(hash[:]) })
	if err != nil {
		return Tokens{}, err
	}
	g := at.grant
	if !g.Redeemed() && (g.Client != in.Client || in.Redirect != "" && in.Redirect != g.Redirect || !verifies(in.Verifier, g.Challenge)) {
		return Tokens{}, errGrant
	}
	return a.asGrant(ctx, at, in.Origin, func(w *work, g sheaf.Grant) (Tokens, string, error) {
		if g.Redeemed() {
			return Tokens{}, "code_reused", nil
		}
		if err := w.mayIssue(g); err != nil {
			return Tokens{}, "", err
		}
		t, err := w.issue(g)
		return t, "", err
	})
}

// verifies reports whether the verifier hashes to the challenge (PKCE, S256).
func verifies(verifier, challenge string) bool {
	sum := sha256.Sum256([]byte(verifier))
	return len(verifier) >= 43 && len(verifier) <= 128 &&
		subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(challenge)) == 1
}

// Renewal is the request of an app for its next tokens.
type Renewal struct {
	Token, Client string
	Resource      string   // empty: that of the server
	Scopes        []string // those that the app asks for; none: all that it has
	Origin        Origin
}

// RenewTokens returns the next tokens of a grant. The refresh token before the present one gets the present tokens for a
// minute after it was used, and ends the grant later, as do all older ones.
func (a *App) RenewTokens(ctx context.Context, in Renewal) (Tokens, error) {
	if err := a.CheckResource(in.Resource); err != nil {
		return Tokens{}, err
	}
	sent, ok := sheaf.ParseRefreshToken(in.Token)
	if !ok {
		return Tokens{}, errGrant
	}
	at, err := a.findGrant(ctx, func(r *store.Reader) (sheaf.WorkspaceID, sheaf.Grant, error) { return r.GrantByID(sent.Grant) })
	if err != nil {
		return Tokens{}, err
	}
	if !a.madeRefresh(at.grant, sent) || at.grant.Client != in.Client {
		return Tokens{}, errGrant
	}
	for _, s := range in.Scopes {
		if !at.grant.Scopes.Has(sheaf.Scope(s)) {
			return Tokens{}, oauthError("invalid_scope", "the person has not allowed the scope "+sheaf.Clip(s)+": ask them to connect the app again")
		}
	}
	return a.asGrant(ctx, at, in.Origin, func(w *work, g sheaf.Grant) (Tokens, string, error) {
		repeated := sent.Rotation == g.Rotation-1 && w.now.Before(g.RenewedAt.Add(sheaf.RefreshGrace))
		if sent.Rotation != g.Rotation && !repeated {
			return Tokens{}, "refresh_token_reused", nil
		}
		if err := w.mayIssue(g); err != nil {
			return Tokens{}, "", err
		}
		if repeated {
			return w.tokens(g), "", nil
		}
		t, err := w.issue(g)
		return t, "", err
	})
}

// madeRefresh reports whether this server made the refresh token.
func (a *App) madeRefresh(g sheaf.Grant, sent sheaf.RefreshToken) bool {
	made := a.refreshToken(g, sent.Rotation)
	return subtle.ConstantTimeCompare([]byte(made.Proof), []byte(sent.Proof)) == 1
}

func (a *App) refreshToken(g sheaf.Grant, rotation int64) sheaf.RefreshToken {
	return sheaf.NewRefreshToken(g.ID, rotation, a.webhooks.Box.GrantToken(string(g.ID), g.Salt, "refresh", rotation))
}

// EndToken ends the grant of an access or refresh token that belongs to the app. It does nothing for any other.
func (a *App) EndToken(ctx context.Context, token, client string, origin Origin) error {
	var at grantAt
	var err error
	if sent, ok := sheaf.ParseRefreshToken(token); ok {
		at, err = a.findGrant(ctx, func(r *store.Reader) (sheaf.WorkspaceID, sheaf.Grant, error) { return r.GrantByID(sent.Grant) })
		if err == nil && !a.madeRefresh(at.grant, sent) {
			err = errGrant
		}
	} else if hash, ok := sheaf.HashKey(token); ok {
		at, err = a.findGrant(ctx, func(r *store.Reader) (sheaf.WorkspaceID, sheaf.Grant, error) { return r.GrantByToken(hash) })
	} else {
		return nil
	}
	if err == nil && at.grant.Client == client {
		_, err = a.asGrant(ctx, at, origin, func(*work, sheaf.Grant) (Tokens, string, error) { return Tokens{}, "revoked_by_app", nil })
	}
	var refused *sheaf.OAuthError
	if errors.As(err, &refused) {
		return nil
	}
	return err
}

// CheckResource returns an OAuthError for a resource of another server.
func (a *App) CheckResource(resource string) error {
	if resource == "" || sameResource(resource, a.connecting.Resource) {
		return nil
	}
	return oauthError("invalid_target", "resource must be "+a.connecting.Resource)
}

// sameResource compares two addresses. Apps disagree about the slash at the end, and about capitals in the host.
func sameResource(sent, own string) bool {
	head := func(s string) (string, string) {
		at := strings.Index(s, "://")
		if at < 0 {
			return "", s
		}
		end := len(s)
		if slash := strings.IndexByte(s[at+3:], '/'); slash >= 0 {
			end = at + 3 + slash
		}
		return strings.ToLower(s[:end]), s[end:]
	}
	a, rest := head(sent)
	b, path := head(own)
	return a == b && strings.TrimSuffix(rest, "/") == path
}

// grantAt is a grant and where it is.
type grantAt struct {
	ws    sheaf.WorkspaceID
	grant sheaf.Grant
}

// findGrant returns the grant that `find` finds, or errGrant.
func (a *App) findGrant(ctx context.Context, find func(*store.Reader) (sheaf.WorkspaceID, sheaf.Grant, error)) (grantAt, error) {
	return readUnasked(ctx, a, func(r *store.Reader) (at grantAt, err error) {
		at.ws, at.grant, err = find(r)
		if sheaf.KindOf(err) == sheaf.NotFound {
			err = errGrant
		}
		return at, err
	})
}

// asGrant runs act in one transaction on a live grant, as it is now. If act returns a reason, the grant is ended and asGrant
// returns errGrant. The consent of the person is what authorizes it.
func (a *App) asGrant(ctx context.Context, at grantAt, origin Origin, act func(*work, sheaf.Grant) (Tokens, string, error)) (t Tokens, err error) {
	ended, err := conclude(ctx, a, at.ws, func(w *work) (reason string, err error) {
		w.caller.User, w.caller.Key, w.caller.Origin = at.grant.UserID, at.grant.Key, origin // for the audit log
		g, err := w.Grant(w.ws.ID, at.grant.ID)
		if err == nil && !g.Live(w.now) {
			err = errGrant
		}
		if err == nil {
			t, reason, err = act(w, g)
		}
		if err != nil || reason == "" {
			return "", err
		}
		return reason, w.endGrant(g, reason)
	})
	switch kind := sheaf.KindOf(err); {
	case err == nil && ended != "", kind == sheaf.NotFound, kind == sheaf.Forbidden, kind == sheaf.Unauthorized:
		return Tokens{}, errGrant
	case err != nil:
		return Tokens{}, err
	}
	return t, nil
}

// mayIssue returns why a live grant gets no tokens now: because of the plan, of its person's role, or of what it is limited
// to.
func (w *work) mayIssue(g sheaf.Grant) error {
	if err := w.ws.Plan.AllowAPI(); err != nil {
		return err
	}
	role, within, err := w.Rights(w.ws.ID, g.UserID)
	if err != nil {
		return err
	}
	if err := scope(g.Scopes...)(Caller{Role: role, Within: within}); err != nil || g.Within == 0 {
		return err
	}
	return checkWithin(&w.Reader, w.ws.ID, g.Key)
}

// issue gives the grant its next tokens. The previous access token works until its end.
func (w *work) issue(g sheaf.Grant) (Tokens, error) {
	g.OldUntil = nil
	if g.SecretUntil != nil && g.SecretUntil.After(w.now) {
		g.OldUntil = g.SecretUntil
	}
	until := w.now.Add(sheaf.TokenLives)
	if g.EndsAt != nil && g.EndsAt.Before(until) {
		until = *g.EndsAt
	}
	g.Rotation++
	g.SecretUntil, g.ExpiresAt, g.RenewedAt = &until, g.EndsAt, w.now
	t := w.tokens(g)
	g.Prefix = sheaf.KeyHint(t.Access)
	hash, _ := sheaf.HashKey(t.Access)
	return t, w.RenewGrant(w.ws.ID, g, hash)
}

// tokens returns the present tokens of a grant.
func (w *work) tokens(g sheaf.Grant) Tokens {
	access := sheaf.NewAccessToken(w.app.webhooks.Box.GrantToken(string(g.ID), g.Salt, "access", g.Rotation))
	return Tokens{Access: access, Refresh: w.app.refreshToken(g, g.Rotation).String(), ExpiresIn: g.SecretUntil.Sub(w.now), Scopes: g.Scopes}
}

// endGrant revokes a grant. reason is empty if a person ended it.
func (w *work) endGrant(g sheaf.Grant, reason string) error {
	if err := w.RevokeKey(w.ws.ID, g.ID, w.now); err != nil {
		return err
	}
	w.auditGrantEnded(g, reason)
	return w.endRestrictions()
}

// auditGrantEnded adds the line of a grant that has ended.
func (w *work) auditGrantEnded(g sheaf.Grant, reason string) {
	w.audit(sheaf.ActionAppDisconnected, string(g.ID), endedGrantFacts(g, reason), nil)
}

// GrantOf is a connected app and its workspace.
type GrantOf struct {
	sheaf.Grant
	Workspace sheaf.Workspace
}

// Grants returns the apps that people have connected to the workspace.
func (a *App) Grants(ctx context.Context, c Caller) ([]sheaf.Grant, error) {
	return read(ctx, a, c, scope(sheaf.KeysRead), func(r *store.Reader) ([]sheaf.Grant, error) {
		all, err := r.Grants(c.Workspace, a.now())
		return slices.DeleteFunc(all, func(g sheaf.Grant) bool { return !g.Redeemed() }), err
	})
}

// OwnGrants returns the apps that the person has connected, in all of their workspaces.
func (a *App) OwnGrants(ctx context.Context, s Session) ([]GrantOf, error) {
	return readUnasked(ctx, a, func(r *store.Reader) (out []GrantOf, err error) {
		for _, m := range s.Memberships {
			all, err := r.GrantsOf(m.Workspace.ID, s.User.ID, a.now())
			if err != nil {
				return nil, err
			}
			for _, g := range all {
				if g.Redeemed() {
					out = append(out, GrantOf{g, m.Workspace})
				}
			}
		}
		return out, nil
	})
}

// EndGrant disconnects an app. A person can disconnect their own, and with keys:write every one. It returns NotFound for
// any other, and for one that has ended.
func (a *App) EndGrant(ctx context.Context, c Caller, id sheaf.KeyID) error {
	c.deletes = true
	return do(ctx, a, c, person(sheaf.ProjectsRead), nil, func(w *work) error {
		g, err := w.Grant(w.ws.ID, id)
		if err != nil {
			return err
		}
		if g.UserID != c.User && !c.May(sheaf.KeysWrite) {
			return sheaf.Missing("grant")
		}
		return w.endGrant(g, "")
	})
}

// fitGrants fits the grants of a member to the role and the restriction that they have now. It ends those with a scope
// beyond the role, and those that would see nothing. The others see what both they and the person may see.
func (w *work) fitGrants(u sheaf.UserID, role sheaf.Role, within *sheaf.Restriction) error {
	grants, err := w.GrantsOf(w.ws.ID, u, w.now)
	if err != nil {
		return err
	}
	person := Caller{Role: role, Within: within}
	for _, g := range grants {
		lacks := slices.ContainsFunc(g.Scopes, func(s sheaf.Scope) bool { return !person.May(s) })
		sees := !lacks
		if sees {
			if sees, err = w.narrow(&g, within); err != nil {
				return err
			}
		}
		if !sees {
			err = w.endGrant(g, "")
		} else {
			err = w.RestrictGrant(w.ws.ID, g)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// narrow limits a grant to what the person sees. It returns false if nothing is left.
func (w *work) narrow(g *sheaf.Grant, within *sheaf.Restriction) (sees bool, err error) {
	if g.Follows || within == nil {
		g.See(within, g.RestrictedTo)
		return true, nil
	}
	// What both cover is what one of them names and the other covers.
	part, err := w.CoveredPart(w.ws.ID, within, g.RestrictedTo)
	if err != nil {
		return false, err
	}
	more, err := w.CoveredPart(w.ws.ID, g.RestrictedTo, within)
	if err != nil {
		return false, err
	}
	to := RestrictTo{append(part.Projects, more.Projects...), append(part.Folders, more.Folders...)}
	slices.Sort(to.Projects)
	slices.Sort(to.Folders)
	to.Projects, to.Folders = slices.Compact(to.Projects), slices.Compact(to.Folders)
	if n := len(to.Projects) + len(to.Folders); n == 0 || n > sheaf.MaxRestrictedTo {
		return false, nil
	}
	both, err := w.restriction(&to)
	if fault, is := errors.AsType[*sheaf.Error](err); is && fault.Code == sheaf.CodeRestrictionLimit {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	g.See(within, both)
	return true, nil
}

// checkWithin returns Forbidden if the grant was limited to records that its person no longer sees, because they were
// moved or deleted. It reads what the person is restricted to now.
func checkWithin(r *store.Reader, ws sheaf.WorkspaceID, k sheaf.Key) error {
	_, within, err := r.Rights(ws, k.UserID)
	switch {
	case sheaf.KindOf(err) == sheaf.NotFound:
		return errNoToken
	case err != nil || within == nil:
		return err
	}
	covered, err := r.Covers(ws, within, k.RestrictedTo)
	if err == nil && !covered {
		err = sheaf.Forbiddenf("this app is limited to projects or folders that its person no longer sees, because they were moved or deleted: the person can connect the app again")
	}
	return err
}
