package console

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// D196: the consent page says who asks and where the access goes, and suggests reading and proposing, whatever the app asks
// for. It offers nothing that the person may not do, and nothing that is not for apps.
func TestConnect_ThePageIsPlain(t *testing.T) {
	w := newTown(t)
	owner := w.ask(http.MethodGet, w.address("/w/{workspace}/connect"), w.owner).Body.String()
	w.wantIn(owner, true, "Connect <bdi>Helper</bdi>?", "<code>127.0.0.1</code>", "Any program there can pretend to be this app", "the app asks for it", `value="documents:write">`)
	w.wantIn(owner, false, `value="keys:`, `value="webhooks:`, `value="events:write"`, `value="audit:read"`, `value="projects:admin"`, `value="projects:read" checked`)
	member := w.ask(http.MethodGet, w.address("/w/{workspace}/connect"), w.member).Body.String()
	w.wantIn(member, true, `value="proposals:write"`)
	w.wantIn(member, false, `value="documents:write"`, "the app asks for it")
	w.connects = strings.Replace(w.connects, "scope=documents%3Awrite", "scope=", 1)
	w.wantIn(w.ask(http.MethodGet, w.address("/w/{workspace}/connect"), w.owner).Body.String(), true, `value="projects:read" checked`, `value="proposals:write" checked`)
	w.wantIn(w.ask(http.MethodGet, w.address("/w/{workspace}/connect"), w.owner).Body.String(), false, `value="documents:write" checked`, `value="proposals:approve" checked`)
}

// D196: a person with one workspace is led to its page, others choose.
func TestConnect_Workspace(t *testing.T) {
	w := newTown(t)
	got := w.ask(http.MethodGet, w.address("/oauth/authorize"), w.owner)
	if got.Code != http.StatusSeeOther || !strings.HasPrefix(got.Header().Get("Location"), "/w/"+string(w.caller.Workspace)+"/connect?") {
		t.Errorf("%d, to %s", got.Code, got.Header().Get("Location"))
	}
	_, err := w.a.Operator().CreateWorkspace(t.Context(), app.NewWorkspace{Name: "Second", Plan: sheaf.Pro, OwnerEmail: "ada@example.com"})
	w.must(err)
	page := w.ask(http.MethodGet, w.address("/oauth/authorize"), w.owner).Body.String()
	w.wantIn(page, true, "/w/"+string(w.caller.Workspace)+"/connect?", ">Second</a>", "client_id=")
	w.wantIn(w.ask(http.MethodGet, w.address("/w/{workspace}/connect"), w.owner).Body.String(), true, "Choose another workspace")
}

// D197: connected apps are listed for their person and for the workspace; only their person and admins see the button.
func TestConnect_Lists(t *testing.T) {
	w := newTown(t)
	w.wantIn(w.ask(http.MethodGet, "/account", w.owner).Body.String(), true, "Canary app", "app.example", "disconnect")
	w.wantIn(w.ask(http.MethodGet, "/account", w.member).Body.String(), false, "Canary app")
	w.wantIn(w.ask(http.MethodGet, w.address("/w/{workspace}/keys"), w.owner).Body.String(), true, "Canary app", "Disconnect Canary app")
	w.wantIn(w.ask(http.MethodGet, w.address("/w/{workspace}/keys"), w.member).Body.String(), true, "Canary app")
	w.wantIn(w.ask(http.MethodGet, w.address("/w/{workspace}/keys"), w.member).Body.String(), false, "Disconnect Canary app")
	if got := w.sendAs(w.member, "/w/{workspace}/apps/{id}/disconnect", nil); got.Code != http.StatusNotFound {
		t.Errorf("a member disconnects the app of another: %d", got.Code)
	}
	got := w.sendAs(w.owner, "/w/{workspace}/apps/{id}/disconnect", url.Values{"from": {"account"}})
	if got.Code != http.StatusSeeOther || got.Header().Get("Location") != "/account?done=app" {
		t.Errorf("%d, to %s", got.Code, got.Header().Get("Location"))
	}
	w.wantIn(w.ask(http.MethodGet, "/account", w.owner).Body.String(), false, "Canary app")
}

// D196: another site cannot agree for the person, and a form without a permission is shown again.
func TestConnect_Consent(t *testing.T) {
	w := newTown(t)
	form := url.Values{"request": {w.connects}, "scope": {"documents:read"}, "expires": {"30"}}
	cross := w.sendAs(w.owner, "/w/{workspace}/connect", form, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") })
	if cross.Code != http.StatusForbidden {
		t.Errorf("another site agreed: %d", cross.Code)
	}
	w.wantIn(w.sendAs(w.owner, "/w/{workspace}/connect", url.Values{"request": {w.connects}}).Body.String(), true, "Choose at least one permission")
	w.wantIn(w.sendAs(w.member, "/w/{workspace}/connect", url.Values{"request": {w.connects}, "scope": {"documents:write"}}).Body.String(), true, "make you an editor")
	done := w.sendAs(w.owner, "/w/{workspace}/connect", form)
	refresh := done.Header().Get("Refresh")
	if done.Code != http.StatusOK || !strings.HasPrefix(refresh, "0;url=http://127.0.0.1/callback?code=") || !strings.Contains(refresh, "iss=https%3A%2F%2Fdocs.example.com") {
		t.Errorf("%d, Refresh: %s", done.Code, refresh)
	}
	w.wantIn(html.UnescapeString(done.Body.String()), true, strings.TrimPrefix(refresh, "0;url="))
	no := w.sendAs(w.owner, "/w/{workspace}/connect", url.Values{"request": {w.connects}, "answer": {"no"}})
	w.wantIn(no.Body.String(), true, "was not connected", "error=access_denied")
}
