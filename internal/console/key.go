package console

import (
	"net/http"
	"slices"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

type keysPage struct {
	Keys []keyRow
	Most int // keys that the plan allows
	Apps []appRow
}

// appRow is a connected app.
type appRow struct {
	sheaf.Grant
	By  string // the person in whose name it acts
	Own bool   // this person connected it
}

type keyRow struct {
	sheaf.Key
	By        string     // the user in whose name it acts
	Rotatable bool       // the person may rotate it
	Old       *time.Time // end of the previous secret, which still works; nil: there is none
}

// Everything reports whether the key has every scope.
func (k keyRow) Everything() bool { return len(k.Scopes) == len(sheaf.AllScopes) }

// Left returns the number of keys that the plan still allows.
func (p keysPage) Left() int { return max(p.Most-len(p.Keys), 0) }

// keys answers GET /w/{workspace}/keys: the live keys.
func (c *Console) keys(v *visit) error {
	page, err := c.app.Keys(v.r.Context(), v.caller, sheaf.Paging{Limit: keyPage})
	if err != nil {
		return err
	}
	members, err := c.app.Members(v.r.Context(), v.caller)
	if err != nil {
		return err
	}
	out := keysPage{Most: v.member.Workspace.Plan.MaxKeys()}
	for _, k := range page.Items {
		row := keyRow{Key: k, By: nameOf(members.Members, k.UserID), Rotatable: v.caller.MayRotate(k)}
		if k.Takes(k.Rotation-1, c.Now()) {
			row.Old = k.OldUntil
		}
		out.Keys = append(out.Keys, row)
	}
	grants, err := c.app.Grants(v.r.Context(), v.caller)
	if err != nil {
		return err
	}
	for _, g := range grants {
		out.Apps = append(out.Apps, appRow{g, nameOf(members.Members, g.UserID), g.UserID == v.caller.User})
	}
	return v.show(http.StatusOK, "keys", out)
}

// scopeChoice is a scope to tick, with what it allows.
type scopeChoice struct {
	Scope   sheaf.Scope
	Allows  string
	Checked bool
}

var allows = map[sheaf.Scope]string{
	sheaf.ProjectsRead:     "see projects and folders",
	sheaf.ProjectsWrite:    "create, change, move and delete projects and folders",
	sheaf.ProjectsAdmin:    "decide which projects need review, and delete such projects",
	sheaf.DocumentsRead:    "see documents",
	sheaf.DocumentsWrite:   "create, change, delete and restore documents",
	sheaf.MediaRead:        "see and download media",
	sheaf.MediaWrite:       "upload, change and delete media",
	sheaf.SharesRead:       "see shares, with their addresses, which anyone can open",
	sheaf.SharesWrite:      "publish documents, projects and folders that it can read, and stop publishing them",
	sheaf.ProposalsRead:    "see proposals",
	sheaf.ProposalsWrite:   "make proposals, and change or withdraw its own",
	sheaf.ProposalsApprove: "approve, accept and reject proposals",
	sheaf.ReleasesRead:     "see releases of projects; their texts need documents:read too",
	sheaf.ReleasesWrite:    "make releases, change their notes and delete them",
	sheaf.BrandingsRead:    "see brandings",
	sheaf.BrandingsWrite:   "create, change, move and delete brandings",
	sheaf.WebhooksRead:     "see webhooks and the results of deliveries",
	sheaf.WebhooksWrite:    "create and change webhooks: they show all content of the workspace",
	sheaf.EventsRead:       "read the log of events: it shows all content of the workspace",
	sheaf.EventsWrite:      "report events of media, generations and shares",
	sheaf.KeysRead:         "see the list of keys, never a key itself",
	sheaf.AuditRead:        "read the audit log: who changed keys, members, webhooks, shares and settings",
	sheaf.KeysWrite:        "create keys with no more rights than its own, and revoke any key",
}

// expiries are the lifetimes to choose from, by the value of the form's field.
var expiries = []struct {
	Value, Text string
	Lasts       time.Duration
}{
	{"", "Never", 0},
	{"30", "In 30 days", 30 * 24 * time.Hour},
	{"90", "In 90 days", 90 * 24 * time.Hour},
	{"365", "In a year", 365 * 24 * time.Hour},
}

// keyForm is the data of key-form.html.
type keyForm struct {
	Name      string
	Expires   string
	Scopes    []scopeChoice
	Workspace bool // it belongs to the workspace
	Reach     reach
	Secret    string // shown once
}

// Expiries returns the lifetimes to choose from.
func (keyForm) Expiries() any { return expiries }

// newKeyForm returns the form with these scopes ticked.
func newKeyForm(chosen ...string) keyForm {
	var f keyForm
	for _, s := range sheaf.AllScopes {
		f.Scopes = append(f.Scopes, scopeChoice{s, allows[s], slices.Contains(chosen, string(s))})
	}
	return f
}

// newKey answers GET /w/{workspace}/keys/new: the form of a new key.
func (c *Console) newKey(v *visit) error {
	f := newKeyForm(string(sheaf.ProjectsRead), string(sheaf.DocumentsRead))
	f.Expires = "90"
	var err error
	if f.Reach, err = v.newReach(nil); err != nil {
		return err
	}
	return v.show(http.StatusOK, "key-form", f)
}

// createKey answers POST /w/{workspace}/keys: it creates a key and shows it, once.
func (c *Console) createKey(v *visit) error {
	f := newKeyForm(v.r.PostForm["scope"]...)
	f.Name, f.Expires, f.Workspace = v.field("name"), v.field("expires"), v.field("owner") == sheaf.OwnerWorkspace
	var restrictTo *app.RestrictTo
	var err error
	if f.Reach, restrictTo, err = v.readReach(); err != nil {
		return err
	}
	if f.Reach.Searched {
		return v.show(http.StatusOK, "key-form", f)
	}
	scopes, err := sheaf.ParseScopes(v.r.PostForm["scope"])
	if err != nil {
		return v.again("key-form", f, sheaf.InvalidField("scopes", "choose at least one permission"))
	}
	if err := f.Reach.checkScopes(scopes); err != nil {
		return v.again("key-form", f, err)
	}
	in := app.NewKey{Name: f.Name, Scopes: scopes, OfWorkspace: f.Workspace, ExpiresAt: expiryOf(f.Expires, c.Now()), RestrictTo: restrictTo, From: v.browser()}
	k, err := c.app.CreateKey(v.r.Context(), v.caller, in)
	if err != nil {
		return v.again("key-form", f, err)
	}
	f.Secret = *k.Secret
	return v.show(http.StatusOK, "key-form", f)
}

// keyOf finds the live key in the path, or NotFound.
func (v *visit) keyOf() (sheaf.Key, error) {
	id, err := id[sheaf.KeyID](v, "key")
	if err != nil {
		return sheaf.Key{}, err
	}
	page, err := v.console.app.Keys(v.r.Context(), v.caller, sheaf.Paging{Limit: keyPage})
	if err != nil {
		return sheaf.Key{}, err
	}
	i := slices.IndexFunc(page.Items, func(k sheaf.Key) bool { return k.ID == id })
	if i < 0 {
		return sheaf.Key{}, sheaf.Missing("key")
	}
	return page.Items[i], nil
}

// graces are the times for which the previous secret can go on working, by the value of the form's
// field.
var graces = []struct {
	Value, Text string
	Lasts       time.Duration
}{
	{"now", "At once", 0},
	{"hour", "In an hour", time.Hour},
	{"day", "In a day", sheaf.MaxKeyGrace},
}

// rotateForm is the data of key-rotate.html.
type rotateForm struct {
	sheaf.Key
	Grace  string
	Secret string // shown once
}

// Graces returns the times to choose from.
func (rotateForm) Graces() any { return graces }

// rotateKeyForm answers GET /w/{workspace}/keys/{id}/rotate.
func (c *Console) rotateKeyForm(v *visit) error {
	k, err := v.keyOf()
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "key-rotate", rotateForm{Key: k, Grace: "hour"})
}

// rotateKey answers POST /w/{workspace}/keys/{id}/rotate: it makes a new secret and shows it, once.
func (c *Console) rotateKey(v *visit) error {
	k, err := v.keyOf()
	if err != nil {
		return err
	}
	f := rotateForm{Key: k, Grace: v.field("grace")}
	var grace time.Duration
	for _, g := range graces {
		if g.Value == f.Grace {
			grace = g.Lasts
		}
	}
	rotated, err := c.app.RotateKey(v.r.Context(), v.caller, k.ID, grace)
	if err != nil {
		return v.again("key-rotate", f, err)
	}
	f.Key, f.Secret = rotated.Key, *rotated.Secret
	return v.show(http.StatusOK, "key-rotate", f)
}

// revokeKey answers POST /w/{workspace}/keys/{id}/revoke: it revokes a key.
func (c *Console) revokeKey(v *visit) error {
	k, err := v.keyOf()
	if err != nil {
		return err
	}
	if err := c.app.RevokeKey(v.r.Context(), v.caller, k.ID); err != nil {
		return v.again("key-revoke", k, err)
	}
	return v.done(v.at("keys"))
}
