package console

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/search"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// opens says who may open each route: the scope that the person's role must have, and the lowest role
// that has it. A new route, or a change of its access, must be written here
// by hand: that is the moment to think about it.
const opens = `
GET /{$}: anyone
GET /assets/{file}: anything
GET /favicon.ico: anything
GET /setup/{token}: anyone
POST /setup/{token}: anyone
GET /invite/{token}: anyone
POST /invite/{token}: anyone
GET /invite/{token}/provider: anyone
GET /sign-in: anyone
POST /sign-in: anyone
GET /sign-in/code: anyone
POST /sign-in/code: anyone
GET /sign-in/set-up: anyone
POST /sign-in/set-up: anyone
GET /sign-in/provider: anyone
GET /sign-in/provider/callback: anyone
GET /sign-in/bind: anyone
POST /sign-in/bind: anyone
GET /sign-in/forgot: anyone
POST /sign-in/forgot: anyone
GET /sign-in/reset/{token}: anyone
POST /sign-in/reset/{token}: anyone
POST /sign-in/continue: signed in
POST /sign-out: anyone
POST /sign-out-everywhere: signed in
GET /account: signed in
GET /oauth/authorize: signed in
GET /w/{workspace}/connect: projects:read member
POST /w/{workspace}/connect: projects:read member
POST /w/{workspace}/apps/{id}/disconnect: projects:read member
POST /account/name: signed in
POST /account/password: signed in
GET /account/second-factor: signed in
POST /account/second-factor: signed in
POST /account/second-factor/codes: signed in
POST /account/second-factor/off: signed in
POST /account/sessions/{id}/end: signed in
GET /w/{workspace}: projects:read member
GET /w/{workspace}/live: events:read member
GET /w/{workspace}/search: projects:read member
GET /w/{workspace}/jump: projects:read member
GET /w/{workspace}/projects: projects:read member
POST /w/{workspace}/steps/close: projects:write editor
GET /w/{workspace}/projects/new: projects:write editor
GET /w/{workspace}/projects/choose: projects:read member
POST /w/{workspace}/projects: projects:write editor
GET /w/{workspace}/projects/{id}: projects:read member
GET /w/{workspace}/projects/{id}/edit: projects:write editor
POST /w/{workspace}/projects/{id}: projects:write editor
GET /w/{workspace}/projects/{id}/move: projects:write editor
POST /w/{workspace}/projects/{id}/move: projects:write editor
GET /w/{workspace}/projects/{id}/delete: projects:write editor
POST /w/{workspace}/projects/{id}/delete: projects:write editor
GET /w/{workspace}/folders/new: projects:write editor
GET /w/{workspace}/folders/choose: projects:read member
POST /w/{workspace}/folders: projects:write editor
GET /w/{workspace}/folders/{id}: projects:read member
GET /w/{workspace}/folders/{id}/branch: projects:read member
GET /w/{workspace}/folders/{id}/edit: projects:write editor
POST /w/{workspace}/folders/{id}: projects:write editor
GET /w/{workspace}/folders/{id}/move: projects:write editor
POST /w/{workspace}/folders/{id}/move: projects:write editor
GET /w/{workspace}/folders/{id}/delete: projects:write editor
POST /w/{workspace}/folders/{id}/delete: projects:write editor
GET /w/{workspace}/selection/move: projects:write editor
POST /w/{workspace}/selection/move: projects:write editor
GET /w/{workspace}/selection/places: documents:read member
GET /w/{workspace}/selection/delete: projects:write editor
POST /w/{workspace}/selection/delete: projects:write editor
GET /w/{workspace}/selection/share: shares:write editor
POST /w/{workspace}/selection/share: shares:write editor
POST /w/{workspace}/selection/undo: projects:write editor
POST /w/{workspace}/selection/order: projects:write editor
GET /w/{workspace}/brandings: brandings:read member
GET /w/{workspace}/brandings/new: brandings:write editor
POST /w/{workspace}/brandings: brandings:write editor
GET /w/{workspace}/brandings/sample: brandings:read member
GET /w/{workspace}/brandings/{id}: brandings:read member
GET /w/{workspace}/brandings/{id}/edit: brandings:write editor
POST /w/{workspace}/brandings/{id}: brandings:write editor
GET /w/{workspace}/brandings/{id}/move: brandings:write editor
POST /w/{workspace}/brandings/{id}/move: brandings:write editor
GET /w/{workspace}/brandings/{id}/delete: brandings:write editor
POST /w/{workspace}/brandings/{id}/delete: brandings:write editor
POST /w/{workspace}/settings/branding: brandings:write editor
GET /w/{workspace}/documents: documents:read member
GET /w/{workspace}/documents/new: documents:write editor
GET /w/{workspace}/documents/links: documents:read member
POST /w/{workspace}/documents: documents:write editor
POST /w/{workspace}/documents/preview: proposals:write member
GET /w/{workspace}/documents/{id}: documents:read member
GET /w/{workspace}/documents/{id}/branch: documents:read member
GET /w/{workspace}/documents/{id}/linked: documents:read member
GET /w/{workspace}/documents/{id}/edit: documents:write editor
GET /w/{workspace}/documents/{id}/versions: documents:read member
GET /w/{workspace}/documents/{id}/versions/compare: documents:read member
GET /w/{workspace}/documents/{id}/versions/{n}: documents:read member
GET /w/{workspace}/documents/{id}/versions/{n}/restore: documents:write editor
POST /w/{workspace}/documents/{id}/versions/{n}/restore: documents:write editor
POST /w/{workspace}/documents/{id}: documents:write editor
GET /w/{workspace}/documents/{id}/delete: documents:write editor
POST /w/{workspace}/documents/{id}/delete: documents:write editor
POST /w/{workspace}/documents/{id}/restore: documents:write editor
GET /w/{workspace}/documents/{id}/share: shares:read member
POST /w/{workspace}/documents/{id}/share: shares:write editor
GET /w/{workspace}/projects/{id}/share: shares:read member
POST /w/{workspace}/projects/{id}/share: shares:write editor
GET /w/{workspace}/folders/{id}/share: shares:read member
POST /w/{workspace}/folders/{id}/share: shares:write editor
POST /w/{workspace}/shares/{id}: shares:write editor
POST /w/{workspace}/shares/{id}/delete: shares:write editor
GET /w/{workspace}/documents/suggest: proposals:write member
POST /w/{workspace}/documents/suggest: proposals:write member
GET /w/{workspace}/documents/{id}/suggest: proposals:write member
POST /w/{workspace}/documents/{id}/suggest: proposals:write member
GET /w/{workspace}/documents/{id}/suggest-move: proposals:write member
POST /w/{workspace}/documents/{id}/suggest-move: proposals:write member
GET /w/{workspace}/documents/{id}/suggest-delete: proposals:write member
POST /w/{workspace}/documents/{id}/suggest-delete: proposals:write member
GET /w/{workspace}/documents/{id}/versions/{n}/suggest: proposals:write member
POST /w/{workspace}/documents/{id}/versions/{n}/suggest: proposals:write member
GET /w/{workspace}/trash/{id}/suggest: proposals:write member
POST /w/{workspace}/trash/{id}/suggest: proposals:write member
POST /w/{workspace}/selection/suggest-move: proposals:write member
POST /w/{workspace}/selection/suggest-delete: proposals:write member
GET /w/{workspace}/proposals: proposals:read member
GET /w/{workspace}/proposals/{id}: proposals:read member
POST /w/{workspace}/proposals/{id}/approve: proposals:approve editor
POST /w/{workspace}/proposals/{id}/ask: proposals:write member
POST /w/{workspace}/proposals/{id}/take-back: proposals:approve editor
POST /w/{workspace}/proposals/{id}/accept: proposals:approve editor
POST /w/{workspace}/proposals/{id}/reject: proposals:approve editor
POST /w/{workspace}/proposals/{id}/withdraw: proposals:write member
POST /w/{workspace}/proposals/{id}/revert: proposals:write member
POST /w/{workspace}/proposals/{id}/comments: proposals:write member
GET /w/{workspace}/proposals/{id}/comments/{n}/edit: proposals:write member
POST /w/{workspace}/proposals/{id}/comments/{n}: proposals:write member
POST /w/{workspace}/proposals/{id}/comments/{n}/delete: proposals:write member
GET /w/{workspace}/projects/{id}/releases: releases:read member
GET /w/{workspace}/projects/{id}/releases/new: releases:write editor
GET /w/{workspace}/projects/{id}/releases/compare: releases:read member
POST /w/{workspace}/projects/{id}/releases: releases:write editor
GET /w/{workspace}/releases/{id}: releases:read member
GET /w/{workspace}/releases/{id}/documents/{document}: releases:read member
GET /w/{workspace}/releases/{id}/documents/{document}/compare: releases:read member
GET /w/{workspace}/releases/{id}/media/{medium}/content: releases:read member
GET /w/{workspace}/releases/{id}/edit: releases:write editor
POST /w/{workspace}/releases/{id}: releases:write editor
GET /w/{workspace}/releases/{id}/delete: releases:write editor
POST /w/{workspace}/releases/{id}/delete: releases:write editor
GET /w/{workspace}/trash: documents:read member
GET /w/{workspace}/trash/{id}/delete: documents:write editor
POST /w/{workspace}/trash/{id}/delete: documents:write editor
GET /w/{workspace}/media: media:read member
POST /w/{workspace}/media: media:write editor
GET /w/{workspace}/media/{id}/content: media:read member
GET /w/{workspace}/media/{id}/rename: media:write editor
POST /w/{workspace}/media/{id}/rename: media:write editor
GET /w/{workspace}/media/{id}/delete: media:write editor
POST /w/{workspace}/media/{id}/delete: media:write editor
GET /w/{workspace}/webhooks: webhooks:read member
GET /w/{workspace}/webhooks/new: webhooks:write admin
POST /w/{workspace}/webhooks: webhooks:write admin
GET /w/{workspace}/webhooks/{id}: webhooks:read member
GET /w/{workspace}/webhooks/{id}/edit: webhooks:write admin
POST /w/{workspace}/webhooks/{id}: webhooks:write admin
GET /w/{workspace}/webhooks/{id}/filter: webhooks:read member
POST /w/{workspace}/webhooks/{id}/filter: webhooks:write admin
POST /w/{workspace}/webhooks/{id}/test: webhooks:write admin
GET /w/{workspace}/webhooks/{id}/rotate: webhooks:write admin
POST /w/{workspace}/webhooks/{id}/rotate: webhooks:write admin
GET /w/{workspace}/webhooks/{id}/pause: webhooks:write admin
POST /w/{workspace}/webhooks/{id}/pause: webhooks:write admin
GET /w/{workspace}/webhooks/{id}/reactivate: webhooks:write admin
POST /w/{workspace}/webhooks/{id}/reactivate: webhooks:write admin
POST /w/{workspace}/webhooks/{id}/recover: webhooks:write admin
POST /w/{workspace}/webhooks/{id}/resend: webhooks:write admin
GET /w/{workspace}/webhooks/{id}/delete: webhooks:write admin
POST /w/{workspace}/webhooks/{id}/delete: webhooks:write admin
GET /w/{workspace}/deliveries/{id}: webhooks:read member
POST /w/{workspace}/deliveries/{id}/redeliver: webhooks:write admin
GET /w/{workspace}/keys: keys:read member
GET /w/{workspace}/keys/new: keys:write admin
GET /w/{workspace}/keys/{id}: keys:read member
POST /w/{workspace}/keys/{id}/revoke-all: keys:write admin
POST /w/{workspace}/keys: keys:write admin
GET /w/{workspace}/keys/{id}/rotate: keys:write admin
POST /w/{workspace}/keys/{id}/rotate: keys:write admin
GET /w/{workspace}/keys/{id}/revoke: keys:write admin
POST /w/{workspace}/keys/{id}/revoke: keys:write admin
GET /w/{workspace}/activity: events:read member
GET /w/{workspace}/audit: audit:read owner
GET /w/{workspace}/events/{id}: events:read member
GET /w/{workspace}/members: projects:read member
GET /w/{workspace}/members/invite: owners
POST /w/{workspace}/members/invite: owners
GET /w/{workspace}/members/{id}/role: owners
POST /w/{workspace}/members/{id}/role: owners
GET /w/{workspace}/members/{id}/access: owners
POST /w/{workspace}/members/{id}/access: owners
GET /w/{workspace}/members/{id}/remove: projects:read member
POST /w/{workspace}/members/{id}/remove: projects:read member
POST /w/{workspace}/invitations/{id}/withdraw: owners
GET /w/{workspace}/settings: projects:read member
POST /w/{workspace}/settings/name: owners
POST /w/{workspace}/settings/plan: owners
`

func TestRoutes_SayWhoOpensThem(t *testing.T) {
	c, _ := newConsole(t)
	var got []string
	for _, r := range c.allRoutes() {
		who := map[int]string{byAnything: "anything", byAnyone: "anyone", bySignedIn: "signed in", byOwner: "owners", byMember: fmt.Sprintf("%s %s", r.who.scope, sheaf.LowestRole(r.who.scope))}[r.who.level]
		got = append(got, fmt.Sprintf("%s %s: %s", r.method, r.path, who))
	}
	want := strings.Split(strings.TrimSpace(opens), "\n")
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the routes open to others (-want +got):\n%s", diff)
	}
}

// town is two workspaces with people: an owner, a member, and the owner of the other workspace.
type town struct {
	*testing.T
	c                       *Console
	a                       *app.App
	store                   *store.Store
	index                   *search.Index
	owner, member, stranger string // their cookies
	caller                  app.Caller
	ids                     map[string]string // of one record of each noun, by the word in the path
	secrets                 []string          // shown once, and never again
	connects                string            // the request of an app
}

func newTown(t *testing.T) *town {
	t.Helper()
	c, a, st, index := newConsoleOver(t)
	w := &town{T: t, c: c, a: a, store: st, index: index, ids: map[string]string{}}
	first, _, err := a.Operator().FirstRun(t.Context())
	w.must(err)
	w.must(a.CompleteSetup(t.Context(), first.Link.Token, app.SetUp{Name: "Ada", Email: "ada@example.com", Password: "long enough"}))
	w.owner = w.signIn("ada@example.com")
	w.caller = w.callerOf(w.owner)
	w.member = w.join("bob@example.com", "Bob", sheaf.Member)
	_, err = a.Operator().CreateWorkspace(t.Context(), app.NewWorkspace{Name: "Other", Plan: sheaf.Business, OwnerEmail: "eve@example.com"})
	w.must(err)
	_, err = a.Operator().SetPassword(t.Context(), "eve@example.com", "long enough")
	w.must(err)
	w.stranger = w.signIn("eve@example.com")
	w.fill()
	return w
}

// join adds a person to the workspace, and returns their cookie.
func (w *town) join(email, name string, role sheaf.Role) string {
	w.Helper()
	i, err := w.a.Invite(w.Context(), w.caller, email, role, nil)
	w.must(err)
	s, _, err := w.a.Join(w.Context(), app.Join{Token: i.Token, Name: name, Password: "long enough"}, "")
	w.must(err)
	return s.Token
}

// freeze stops the clock, so that no wait ends before the test checks it.
func (w *town) freeze() {
	w.Helper()
	now := time.Now()
	w.setClock(func() time.Time { return now })
}

// setClock lets the console and the app read the time from now.
func (w *town) setClock(now func() time.Time) {
	w.Helper()
	w.c, w.a, _, _ = consoleOver(w.T, w.store, w.index, now)
}

func (w *town) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *town) signIn(email string) string {
	w.Helper()
	s, err := w.a.SignIn(w.Context(), app.SignIn{Email: email, Password: "long enough"}, "")
	w.must(err)
	return s.Token
}

func (w *town) callerOf(token string) app.Caller {
	w.Helper()
	s, err := w.a.Session(w.Context(), token)
	w.must(err)
	c, _, err := s.Caller(s.Memberships[0].Workspace.ID)
	w.must(err)
	return c
}

// fill creates one record of each noun.
func (w *town) fill() {
	w.Helper()
	ctx := w.Context()
	f, err := w.a.CreateFolder(ctx, w.caller, sheaf.FolderChange{Name: sheaf.Some("Folder"), EntityType: sheaf.Some("project")})
	w.must(err)
	p, err := w.a.CreateProject(ctx, w.caller, sheaf.ProjectChange{Name: sheaf.Some("Project"), FolderID: sheaf.Some(f.ID)})
	w.must(err)
	branding, err := w.a.CreateBranding(ctx, w.caller, sheaf.BrandingChange{Name: sheaf.Some("Branding")})
	w.must(err)
	d, err := w.a.CreateDocument(ctx, w.caller, sheaf.DocumentChange{Title: sheaf.Some("Document"), ProjectID: sheaf.Some(p.ID)})
	w.must(err)
	release := w.release("1.0", p.ID)
	share, err := w.a.CreateShare(ctx, w.caller, sheaf.ShareChange{ResourceType: sheaf.Some("document"), ResourceID: sheaf.Some(string(d.ID))})
	w.must(err)
	gone, err := w.a.CreateDocument(ctx, w.caller, sheaf.DocumentChange{Title: sheaf.Some("Gone")})
	w.must(err)
	w.must(w.a.DeleteDocument(ctx, w.caller, gone.ID, sheaf.Match{}))
	proposal := w.propose(d.ID, "Proposal")
	i, err := w.a.Invite(ctx, w.caller, "carol@example.com", sheaf.Admin, nil)
	w.must(err)
	hook, err := w.a.CreateSubscription(ctx, w.caller, sheaf.SubscriptionChange{Name: sheaf.Some("Webhook"), URL: sheaf.Some("https://example.com/"),
		Events: sheaf.Some([]string{string(sheaf.DocumentCreated)}), Headers: sheaf.Some([]sheaf.Header{{Name: "X-Token", Value: "canary-header"}})})
	w.must(err)
	_, err = w.a.CreateDocument(ctx, w.caller, sheaf.DocumentChange{Title: sheaf.Some("<b>Sent</b>")})
	w.must(err)
	sent, err := w.a.Deliveries(ctx, w.caller, hook.ID, "", sheaf.Paging{Limit: 1})
	w.must(err)
	m, err := w.a.UploadMedium(ctx, w.caller, app.NewMedium{Filename: "picture.gif", Bytes: int64(len(pixel)), SHA256: sha256.Sum256([]byte(pixel)),
		Open: func() io.Reader { return strings.NewReader(pixel) }})
	w.must(err)
	k, err := w.a.CreateKey(ctx, w.caller, app.NewKey{Name: "Key", Scopes: sheaf.Admin.Scopes(), OfWorkspace: true})
	w.must(err)
	registered, err := w.a.RegisterApp(ctx, sheaf.OAuthClient{Name: "Helper", Redirects: []string{"http://127.0.0.1/callback"}}, "192.0.2.7")
	w.must(err)
	w.connects = url.Values{"response_type": {"code"}, "client_id": {registered.ID}, "code_challenge": {strings.Repeat("a", 43)}, "code_challenge_method": {"S256"}, "scope": {"documents:write"}}.Encode()
	w.secrets = []string{*hook.Secret, *k.Secret, "canary-header"}
	w.ids = map[string]string{"apps": w.connectApp(w.caller), "sessions": "00" /* of nobody */, "media": string(m.ID), "webhooks": string(hook.ID), "deliveries": string(sent.Items[0].ID), "events": string(sent.Items[0].EventID), "keys": string(k.ID), "folders": string(f.ID), "projects": string(p.ID), "brandings": string(branding.ID), "documents": string(d.ID), "proposals": string(proposal), "shares": string(share.ID), "releases": string(release.ID), "trash": string(gone.ID), "invitations": string(i.ID),
		"members": string(w.caller.User)}
}

// connectApp connects an app in the name of a person, and returns the grant.
func (w *town) connectApp(c app.Caller) string {
	w.Helper()
	verifier := strings.Repeat("verifier", 6)
	sum := sha256.Sum256([]byte(verifier))
	in := app.NewGrant{App: sheaf.OAuthClient{ID: "app", Name: "Canary app"}, Redirect: "https://app.example/", Challenge: base64.RawURLEncoding.EncodeToString(sum[:]), Scopes: sheaf.DefaultGrantScopes}
	code, err := w.a.Connect(w.Context(), c, in)
	w.must(err)
	_, err = w.a.RedeemCode(w.Context(), app.Redemption{Code: code, Client: "app", Redirect: in.Redirect, Verifier: verifier})
	w.must(err)
	all, err := w.a.Grants(w.Context(), w.caller)
	w.must(err)
	return string(all[len(all)-1].ID)
}

// release makes a release of a project.
func (w *town) release(name string, of sheaf.ProjectID) sheaf.Release {
	w.Helper()
	r, err := w.a.CreateRelease(w.Context(), w.caller, of, sheaf.ReleaseChange{Name: sheaf.Some(name)})
	w.must(err)
	return r
}

// propose makes a proposal for a document, with a comment.
func (w *town) propose(id sheaf.DocumentID, title string) sheaf.ProposalID {
	w.Helper()
	p, err := w.a.CreateProposal(w.Context(), w.caller, sheaf.ProposalChange{Title: sheaf.Some(title), Changes: sheaf.Some([]sheaf.ProposedChange{
		{Op: sheaf.ProposeEdit, DocumentID: id, BaseVersion: 1, Document: sheaf.DocumentChange{Content: sheaf.Some("proposed by " + title + "\n")}}})})
	w.must(err)
	_, err = w.a.CreateComment(w.Context(), w.caller, p.ID, sheaf.CommentChange{Body: sheaf.Some("comment on " + title), Change: sheaf.Some[int64](0)})
	w.must(err)
	return p.ID
}

// address puts real identifiers into a route's path.
func (w *town) address(path string) string {
	path = strings.ReplaceAll(path, "{workspace}", string(w.caller.Workspace))
	path = strings.NewReplacer("{$}", "", "{file}", "console.css", "{token}", "none", "{n}", "1", "{document}", w.ids["documents"], "{medium}", w.ids["media"]).Replace(path)
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if part == "{id}" {
			parts[i] = w.ids[parts[i-1]]
		}
	}
	if path = strings.Join(parts, "/"); strings.HasSuffix(path, "/connect") || path == "/oauth/authorize" {
		path += "?" + w.connects
	}
	return path
}

// anyForm is valid for every route with a form.
var anyForm = url.Values{"name": {"n"}, "title": {"t"}, "type": {"project"}, "role": {"owner"}, "email": {"x@example.com"}, "plan": {"free"},
	"url": {"https://example.org/"}, "event": {"document.created"}, "scope": {"projects:read"}, "password": {"long enough"}, "again": {"long enough"}, "current": {"long enough"},
	"since": {"2026-01-01T00:00:00.000Z"}, "releases": {"true"}}

func (w *town) ask(method, path, token string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	w.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(anyForm.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if token != "" {
		r.AddCookie(&http.Cookie{Name: "sheaf", Value: token})
	}
	for _, c := range change {
		c(r)
	}
	return ask(w.T, w.c, r)
}

// everything returns all stored data that a refused request must not change.
func (w *town) everything() string {
	w.Helper()
	ctx, all := w.Context(), sheaf.Paging{Limit: 100}
	folders, err := w.a.Folders(ctx, w.caller, sheaf.FolderFilter{Paging: all})
	w.must(err)
	projects, err := w.a.Projects(ctx, w.caller, sheaf.ProjectFilter{Paging: all})
	w.must(err)
	var releases []sheaf.Release
	for _, p := range projects.Items {
		page, err := w.a.Releases(ctx, w.caller, p.ID, sheaf.ReleaseFilter{Paging: all})
		w.must(err)
		releases = append(releases, page.Items...)
	}
	brandings, err := w.a.Brandings(ctx, w.caller, sheaf.BrandingFilter{Paging: all})
	w.must(err)
	documents, err := w.a.Documents(ctx, w.caller, sheaf.DocumentFilter{Paging: all})
	w.must(err)
	trash, err := w.a.Documents(ctx, w.caller, sheaf.DocumentFilter{Deleted: true, Paging: all})
	w.must(err)
	shares, err := w.a.Shares(ctx, w.caller, sheaf.ShareFilter{Paging: all})
	w.must(err)
	members, err := w.a.Members(ctx, w.caller)
	w.must(err)
	s, err := w.a.Session(ctx, w.owner)
	w.must(err)
	hooks, err := w.a.Subscriptions(ctx, w.caller, all)
	w.must(err)
	deliveries, err := w.a.Deliveries(ctx, w.caller, sheaf.SubscriptionID(w.ids["webhooks"]), "", all)
	w.must(err)
	keys, err := w.a.Keys(ctx, w.caller, all)
	w.must(err)
	files, err := w.a.Media(ctx, w.caller, sheaf.MediumFilter{Paging: all})
	w.must(err)
	proposals, err := w.a.Proposals(ctx, w.caller, sheaf.ProposalFilter{Paging: all})
	w.must(err)
	comments, err := w.a.Comments(ctx, w.caller, sheaf.ProposalID(w.ids["proposals"]), all)
	w.must(err)
	b, err := json.Marshal([]any{releases, proposals, comments, files, folders, projects, brandings, documents, shares, trash, hooks, deliveries, keys, members, s.Memberships[0].Workspace, s.User})
	w.must(err)
	return string(b)
}

func TestAccess_SignedOut(t *testing.T) {
	w := newTown(t)
	before := w.everything()
	for _, r := range w.c.allRoutes() {
		if r.who.level <= byAnyone {
			continue
		}
		for _, token := range []string{"", "made-up"} {
			got := w.ask(r.method, w.address(r.path), token)
			to := got.Header().Get("Location")
			switch {
			case r.method == http.MethodGet && (got.Code != http.StatusSeeOther || !strings.HasPrefix(to, "/sign-in")):
				t.Errorf("%s %s: %d to %q", r.method, r.path, got.Code, to)
			case r.method == http.MethodPost && (got.Code != http.StatusUnauthorized || !strings.Contains(got.Body.String(), `action="/sign-in"`)):
				t.Errorf("%s %s: %d without the sign-in form", r.method, r.path, got.Code)
			case strings.Contains(got.Body.String(), "long enough"):
				t.Errorf("%s %s: the page has the password that was sent", r.method, r.path)
			}
		}
	}
	if w.everything() != before {
		t.Error("somebody who is signed out changed something")
	}
}

func TestAccess_AnotherWorkspace(t *testing.T) {
	w := newTown(t)
	before := w.everything()
	for _, r := range w.c.allRoutes() {
		if r.who.level < byMember {
			continue
		}
		if got := w.ask(r.method, w.address(r.path), w.stranger); got.Code != http.StatusNotFound {
			t.Errorf("%s %s: %d", r.method, r.path, got.Code)
		}
		// Nor may they use the ids of our records in their own workspace.
		theirs := strings.ReplaceAll(w.address(r.path), string(w.caller.Workspace), string(w.callerOf(w.stranger).Workspace))
		if got := w.ask(r.method, theirs, w.stranger); strings.Contains(r.path, "{id}") && got.Code != http.StatusNotFound {
			t.Errorf("%s %s in their own: %d", r.method, r.path, got.Code)
		}
	}
	if w.everything() != before {
		t.Error("somebody from elsewhere changed something")
	}
}

// opensTo returns the routes of the table `opens` that a member with the role may open, and those
// that they may not.
func opensTo(role sheaf.Role) (open, closed []string) {
	rank := []string{"member", "editor", "admin", "owners"}
	own := slices.Index(rank, string(role))
	for line := range strings.Lines(opens) {
		route, who, _ := strings.Cut(strings.TrimSpace(line), ": ")
		words := strings.Fields(who)
		if len(words) == 0 {
			continue
		}
		switch needs := slices.Index(rank, words[len(words)-1]); {
		case needs < 0: // it is open to people outside the workspace
		// Only owners may remove an owner. All people may remove themselves. Only its author may change a comment.
		case needs > own, strings.HasSuffix(route, "/members/{id}/remove"), strings.Contains(route, "/comments/{n}"):
			closed = append(closed, route)
		default:
			open = append(open, route)
		}
	}
	return open, closed
}

// D166: each route is refused to the roles below the one in the table, and to no other.
func TestAccess_WrongRole(t *testing.T) {
	for _, role := range []sheaf.Role{sheaf.Member, sheaf.Editor, sheaf.Admin} {
		t.Run(string(role), func(t *testing.T) {
			w := newTown(t)
			token := w.join("dan@example.com", "Dan", role)
			before := w.everything()
			open, closed := opensTo(role)
			for _, route := range closed {
				method, path, _ := strings.Cut(route, " ")
				if got := w.ask(method, w.address(path), token); got.Code != http.StatusForbidden {
					t.Errorf("%s: %d", route, got.Code)
				}
			}
			if w.everything() != before {
				t.Error("a refused request changed something")
			}
			for _, route := range open {
				method, path, _ := strings.Cut(route, " ")
				if got := w.ask(method, w.address(path), token); got.Code == http.StatusForbidden {
					t.Errorf("%s: %d %s", route, got.Code, got.Body)
				}
			}
			if role == sheaf.Member && w.everything() != before {
				t.Error("a member changed something")
			}
		})
	}
}

func TestAccess_AnotherSite(t *testing.T) {
	w := newTown(t)
	before := w.everything()
	for _, r := range w.c.allRoutes() {
		if r.method != http.MethodPost {
			continue
		}
		for name, from := range map[string]func(*http.Request){
			"by its own word": func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
			"a sibling":       func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
			"by its origin":   func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
		} {
			if got := w.ask(r.method, w.address(r.path), w.owner, from); got.Code != http.StatusForbidden {
				t.Errorf("%s %s, %s: %d", r.method, r.path, name, got.Code)
			}
		}
	}
	if w.everything() != before {
		t.Error("another site changed something")
	}
}

// The owner can open every page, so each refusal above depends on the person.
func TestAccess_TheOwnerOpensEverything(t *testing.T) {
	w := newTown(t)
	w.rewrite("![](media:" + w.ids["media"] + ")\n") // the release has the picture too
	w.ids["releases"] = string(w.release("1.1", sheaf.ProjectID(w.ids["projects"])).ID)
	for _, r := range w.c.allRoutes() {
		if r.method != http.MethodGet || r.who.level < bySignedIn {
			continue
		}
		got := w.ask(r.method, w.address(r.path), w.owner)
		if got.Code != http.StatusOK && r.path != "/w/{workspace}" && r.path != "/oauth/authorize" {
			t.Errorf("GET %s: %d %s", r.path, got.Code, got.Body)
		}
		if strings.Contains(got.Body.String(), " style=") || strings.Contains(got.Body.String(), "<script>") {
			t.Errorf("GET %s has what the policy blocks", r.path)
		}
		for _, secret := range w.secrets {
			if strings.Contains(got.Body.String(), secret) {
				t.Errorf("GET %s shows a secret", r.path)
			}
		}
	}
}
