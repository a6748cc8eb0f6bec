package apitest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// Workspace is a tenant of the test.
type Workspace struct {
	ID    sheaf.WorkspaceID
	Owner sheaf.UserID
	api   *API
}

// Workspace creates a workspace on the plan. `change` may alter it first, for example with
// Personal.
func (a *API) Workspace(plan sheaf.Plan, change ...func(*app.NewWorkspace)) *Workspace {
	a.t.Helper()
	in := app.NewWorkspace{Name: "Acme", Plan: plan}
	for _, c := range change {
		c(&in)
	}
	ws, err := a.App.Operator().CreateWorkspace(context.Background(), in)
	if err != nil {
		a.t.Fatalf("create a workspace: %v", err)
	}
	return &Workspace{ID: ws.ID, Owner: ws.Owner, api: a}
}

// Personal makes the workspace personal: it belongs to one user.
func Personal(in *app.NewWorkspace) { in.Personal = true }

// SetPlan changes the plan.
func (w *Workspace) SetPlan(p sheaf.Plan) {
	w.api.t.Helper()
	if _, err := w.api.App.Operator().SetPlan(context.Background(), w.ID, p); err != nil {
		w.api.t.Fatalf("set the plan: %v", err)
	}
}

// Key creates a key with the scopes, or with all scopes if none is named. It ignores the plan's
// limit of keys.
func (w *Workspace) Key(scopes ...sheaf.Scope) string {
	w.api.t.Helper()
	secret, _ := w.NewKey(func(k *sheaf.Key) {
		if len(scopes) > 0 {
			k.Scopes = scopes
		}
	})
	return secret
}

// NewKey creates a key, which `change` may alter first, and returns its secret too. It ignores all
// rules.
func (w *Workspace) NewKey(change func(*sheaf.Key)) (secret string, k sheaf.Key) {
	w.api.t.Helper()
	now := w.api.Clock.Now().UTC().Truncate(time.Millisecond)
	secret = sheaf.NewSecretKey(rand.Reader)
	hash, _ := sheaf.HashKey(secret)
	k = sheaf.Key{ID: sheaf.KeyID(sheaf.NewUUID(now, rand.Reader)), Name: "test", Prefix: sheaf.KeyHint(secret),
		Scopes: sheaf.AllScopes, UserID: w.Owner, CreatedAt: now}
	if change != nil {
		change(&k)
	}
	err := w.api.Store.Write(context.Background(), func(tx *store.Tx) error {
		ws, err := tx.LockWorkspace(w.ID)
		if err != nil {
			return err
		}
		ws.LastNumber++
		k.Number = ws.LastNumber
		if err := tx.InsertKey(w.ID, k, hash); err != nil {
			return err
		}
		line := sheaf.AuditLine{ID: sheaf.AuditID(sheaf.NewUUID(now, rand.Reader)), At: now, Action: sheaf.ActionKeyCreated, Target: string(k.ID)}
		if err := tx.InsertAudit(w.ID, line); err != nil {
			return err
		}
		return tx.SaveWorkspace(ws)
	})
	if err != nil {
		w.api.t.Fatalf("make a key: %v", err)
	}
	return secret, k
}

// Revoke ends the key.
func (w *Workspace) Revoke(id sheaf.KeyID) {
	w.api.t.Helper()
	if _, err := w.api.App.Operator().RevokeKey(context.Background(), id); err != nil {
		w.api.t.Fatalf("revoke a key: %v", err)
	}
}

// Client returns a client with the key, or with a new key of all scopes if it is empty.
func (w *Workspace) Client(key string) *Client {
	w.api.t.Helper()
	if key == "" {
		key = w.Key()
	}
	return w.api.Client(key)
}

// App connects an app in the name of a person, and returns its access token.
func (w *Workspace) App(person app.Caller, scopes sheaf.Scopes, to *app.RestrictTo) string {
	w.api.t.Helper()
	ctx, verifier := context.Background(), strings.Repeat("verifier", 6)
	sum := sha256.Sum256([]byte(verifier))
	code, err := w.api.App.Connect(ctx, person, app.NewGrant{App: sheaf.OAuthClient{ID: "app", Name: "app"}, Redirect: "https://app.example/",
		Challenge: base64.RawURLEncoding.EncodeToString(sum[:]), Scopes: scopes, RestrictTo: to})
	if err != nil {
		w.api.t.Fatalf("connect an app: %v", err)
	}
	tokens, err := w.api.App.RedeemCode(ctx, app.Redemption{Code: code, Client: "app", Verifier: verifier})
	if err != nil {
		w.api.t.Fatalf("redeem a code: %v", err)
	}
	return tokens.Access
}
