package console

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// D200: every route of the console that changes rights adds its audit line, for the person and the request, and
// no other route adds one. A new route must be in one of the two tables.
func TestAudit_EveryRoute(t *testing.T) {
	w := newTown(t)
	bob := string(w.callerOf(w.member).User)
	steps := []struct {
		path string
		form url.Values // what the page's own form lacks; nil: any form
		page string     // page with the form; empty: none
		want string
	}{
		{path: "/w/{workspace}/keys", want: "key.created"},
		{path: "/w/{workspace}/keys/{id}/rotate", want: "key.rotated"},
		{path: "/w/{workspace}/keys/{id}/revoke", want: "key.revoked"}, // a new key follows
		{path: "/w/{workspace}/keys/{id}/revoke-all", want: "key.revoked"},
		{path: "/w/{workspace}/connect", form: url.Values{"request": {w.connects}, "scope": {"projects:read"}}, want: "app.connected"},
		{path: "/w/{workspace}/apps/{id}/disconnect", want: "app.disconnected"},
		{path: "/w/{workspace}/members/invite", want: "invitation.created"},
		{path: "/w/{workspace}/invitations/{id}/withdraw", want: "invitation.withdrawn"},
		{path: "/w/{workspace}/members/{id}/role", page: "/w/{workspace}/members/" + bob + "/role", form: url.Values{"role": {"editor"}}, want: "member.role_changed"},
		{path: "/w/{workspace}/members/{id}/access", page: "/w/{workspace}/members/" + bob + "/access", form: url.Values{"reach": {"part"}, "within": {"project:" + w.ids["projects"]}}, want: "member.restriction_changed"},
		{path: "/w/{workspace}/members/{id}/remove", page: "/w/{workspace}/members/" + bob + "/remove", want: "member.removed"},
		{path: "/w/{workspace}/webhooks", want: "webhook.created"},
		{path: "/w/{workspace}/webhooks/{id}", page: "/w/{workspace}/webhooks/{id}/edit", form: url.Values{"name": {"Another name"}, "url": {"https://example.com/"}, "event": {"document.created"}}, want: "webhook.updated"},
		{path: "/w/{workspace}/webhooks/{id}/filter", form: url.Values{"add": {"project:" + w.ids["projects"]}}, want: "webhook.updated"},
		{path: "/w/{workspace}/webhooks/{id}/rotate", want: "webhook.secret_rotated"},
		{path: "/w/{workspace}/webhooks/{id}/pause", want: "webhook.updated"},
		{path: "/w/{workspace}/webhooks/{id}/reactivate", want: "webhook.updated"},
		{path: "/w/{workspace}/webhooks/{id}/delete", want: "webhook.deleted"},
		{path: "/w/{workspace}/documents/{id}/share", want: "share.created"},
		{path: "/w/{workspace}/projects/{id}/share", want: "share.created"},
		{path: "/w/{workspace}/folders/{id}/share", want: "share.created"},
		{path: "/w/{workspace}/selection/share", form: url.Values{"item": {"project:" + w.ids["projects"]}}, want: "share.created"},
		{path: "/w/{workspace}/shares/{id}", form: url.Values{"password": {"long enough"}}, want: "share.password_set"},
		{path: "/w/{workspace}/shares/{id}/delete", want: "share.deleted"},
		{path: "/w/{workspace}/projects/{id}/releases", want: "release.created"},
		{path: "/w/{workspace}/releases/{id}", form: url.Values{"notes": {"new"}}, want: "release.notes_changed"},
		{path: "/w/{workspace}/releases/{id}/delete", want: "release.deleted"},
		{path: "/w/{workspace}/projects/{id}", page: "/w/{workspace}/projects/{id}/edit", form: url.Values{"name": {"Project"}, "approvals": {"1"}}, want: "project.review_changed"},
		{path: "/w/{workspace}/projects/{id}/delete", want: "share.deleted share.deleted release.deleted release.deleted"},
		{path: "/w/{workspace}/settings/name", page: "/w/{workspace}/settings", form: url.Values{"name": {"Docs"}}, want: "workspace.renamed"},
		{path: "/w/{workspace}/settings/branding", page: "/w/{workspace}/settings", form: url.Values{"branding": {w.ids["brandings"]}}, want: "workspace.branding_changed"},
		{path: "/w/{workspace}/settings/plan", page: "/w/{workspace}/settings", form: url.Values{"plan": {"pro"}}, want: "workspace.plan_changed"},
		{path: "/account/password", want: "password.changed session.started"},
	}
	w.checkTables(slices.Collect(func(yield func(string) bool) {
		for _, s := range steps {
			yield(s.path)
		}
	}))
	shown := map[string]bool{"long enough": true} // secrets that pages showed or forms had
	for _, s := range steps {
		if s.path == "/w/{workspace}/projects/{id}/releases" { // the one of the town is gone, and a new one is needed
			w.ids["releases"] = string(w.release("2.0", sheaf.ProjectID(w.ids["projects"])).ID)
		}
		if strings.HasSuffix(s.path, "/revoke-all") {
			k, err := w.a.CreateKey(w.Context(), w.caller, app.NewKey{Name: "Leaked", Scopes: sheaf.Scopes{sheaf.KeysRead}})
			w.must(err)
			w.ids["keys"] = string(k.ID)
		}
		before := w.lines()
		send := s.path
		if at := strings.LastIndex(s.page, bob); at >= 0 {
			send = s.page
		}
		form := s.form
		if s.page != "" {
			form = w.fieldsOf(s.page, s.form)
		} else if form == nil {
			form = anyForm
		}
		got := w.sendAs(w.owner, send, form)
		for _, secret := range shownSecrets.FindAllStringSubmatch(got.Body.String(), -1) {
			shown[secret[1]] = true
		}
		added := w.added(before)
		if got.Code >= 400 || strings.Join(added, " ") != s.want {
			t.Errorf("%s: %d, adds %q, want %s: %s", s.path, got.Code, added, s.want, got.Body)
		}
	}
	w.wantNoLineWith(shown)
	w = newTown(t)
	for _, path := range strings.Fields(unaudited) {
		if strings.HasPrefix(path, "/sign-out") {
			continue
		}
		before := w.lines()
		w.ask(http.MethodPost, w.address(path), w.owner)
		if added := slices.DeleteFunc(w.added(before), func(a string) bool { return a == "sign_in.failed" }); len(added) > 0 {
			t.Errorf("%s adds %q", path, added)
		}
	}
}

// shownSecrets finds keys, secrets of webhooks, and tokens of invitations and shares on a page.
var shownSecrets = regexp.MustCompile(`(shf_\w{40,}|whsec_[\w+/=]{20,}|(?:/invite/|/s/)[\w-]{20,})`)

// wantNoLineWith checks that neither log has one of the secrets, which must be of every kind.
func (w *town) wantNoLineWith(secrets map[string]bool) {
	w.Helper()
	kinds := map[string]bool{}
	var logs bytes.Buffer
	f := sheaf.AuditFilter{Paging: sheaf.Paging{Limit: 100}}
	workspace, err := w.a.Operator().Audit(w.Context(), w.caller.Workspace, f)
	w.must(err)
	instance, err := w.a.Operator().InstanceAudit(w.Context(), f)
	w.must(err)
	for _, l := range slices.Concat(workspace.Items, instance.Items) {
		before, after := l.Facts()
		fmt.Fprintf(&logs, "%s %s %+v %s %s\n", l.Action, l.Target, l.Actor, before, after)
	}
	for secret := range secrets {
		kinds[secret[:3]] = true
		bare := secret[strings.LastIndexByte(secret, '/')+1:]
		if strings.Contains(logs.String(), bare) {
			w.Errorf("a line has %s:\n%s", bare, logs.String())
		}
	}
	for _, kind := range []string{"shf", "whs", "/in", "/s/", "lon"} {
		if !kinds[kind] {
			w.Errorf("no secret begins with %s: %v", kind, secrets)
		}
	}
}

// unaudited are the routes that change no rights, or only of people who are not signed in: the tests of the rules
// have those.
const unaudited = `
/setup/{token} /invite/{token} /sign-in /sign-in/code /sign-in/set-up /sign-in/continue /sign-in/bind /sign-in/forgot /sign-in/reset/{token} /sign-out /sign-out-everywhere
/account/name /account/second-factor /account/second-factor/codes /account/second-factor/off /account/sessions/{id}/end
/w/{workspace}/steps/close /w/{workspace}/projects /w/{workspace}/projects/{id}/move
/w/{workspace}/folders /w/{workspace}/folders/{id} /w/{workspace}/folders/{id}/move /w/{workspace}/folders/{id}/delete
/w/{workspace}/selection/move /w/{workspace}/selection/delete /w/{workspace}/selection/suggest-move /w/{workspace}/selection/suggest-delete
/w/{workspace}/selection/undo /w/{workspace}/selection/order
/w/{workspace}/brandings /w/{workspace}/brandings/{id} /w/{workspace}/brandings/{id}/move /w/{workspace}/brandings/{id}/delete
/w/{workspace}/documents /w/{workspace}/documents/preview /w/{workspace}/documents/{id} /w/{workspace}/documents/{id}/versions/{n}/restore
/w/{workspace}/documents/{id}/delete /w/{workspace}/documents/{id}/restore
/w/{workspace}/proposals/{id}/approve /w/{workspace}/proposals/{id}/ask /w/{workspace}/proposals/{id}/take-back
/w/{workspace}/proposals/{id}/accept /w/{workspace}/proposals/{id}/reject /w/{workspace}/proposals/{id}/withdraw
/w/{workspace}/proposals/{id}/revert /w/{workspace}/proposals/{id}/comments /w/{workspace}/proposals/{id}/comments/{n}
/w/{workspace}/proposals/{id}/comments/{n}/delete
/w/{workspace}/documents/suggest /w/{workspace}/documents/{id}/suggest /w/{workspace}/documents/{id}/suggest-move
/w/{workspace}/documents/{id}/suggest-delete /w/{workspace}/documents/{id}/versions/{n}/suggest /w/{workspace}/trash/{id}/suggest
/w/{workspace}/trash/{id}/delete /w/{workspace}/media /w/{workspace}/media/{id}/rename /w/{workspace}/media/{id}/delete
/w/{workspace}/webhooks/{id}/test /w/{workspace}/webhooks/{id}/recover /w/{workspace}/webhooks/{id}/resend /w/{workspace}/deliveries/{id}/redeliver
`

// checkTables fails the test for a route that is in neither table, or in both.
func (w *town) checkTables(audited []string) {
	w.Helper()
	other := strings.Fields(unaudited)
	for _, r := range w.c.allRoutes() {
		if r.method == http.MethodPost && slices.Contains(audited, r.path) == slices.Contains(other, r.path) {
			w.Errorf("POST %s must be in one of the tables: does it change what the audit log keeps?", r.path)
		}
	}
}

// lines returns the actions of the lines of each log.
func (w *town) lines() (out [2][]string) {
	w.Helper()
	f := sheaf.AuditFilter{Paging: sheaf.Paging{Limit: 100}}
	workspace, err := w.a.Operator().Audit(w.Context(), w.caller.Workspace, f)
	w.must(err)
	instance, err := w.a.Operator().InstanceAudit(w.Context(), f)
	w.must(err)
	for i, page := range []sheaf.Page[sheaf.AuditLine]{workspace, instance} {
		for _, l := range page.Items {
			out[i] = append(out[i], string(l.Action))
		}
	}
	return out
}

// added returns the actions of the lines that were added to both logs.
func (w *town) added(before [2][]string) []string {
	w.Helper()
	now := w.lines()
	return slices.Concat(now[0][len(before[0]):], now[1][len(before[1]):])
}
