package console

import (
	"net/http"
	"testing"
	"time"
)

// D206: members of a deleted workspace are told so, with the time until which it can be brought back.
// Others are told nothing.
func TestLeaving_MembersAreTold(t *testing.T) {
	w := newTown(t)
	op := w.a.Operator()
	ws, err := op.DeleteWorkspace(t.Context(), w.caller.Workspace, 7*24*time.Hour)
	w.must(err)
	get := func(path, who string, status int) string {
		t.Helper()
		got := w.ask(http.MethodGet, w.address(path), who)
		if got.Code != status {
			t.Errorf("GET %s: %d, want %d", path, got.Code, status)
		}
		return got.Body.String()
	}
	until := ws.EndsAt.Format(time.RFC3339)[:16]
	for _, who := range []string{w.owner, w.member} {
		page := get("/w/{workspace}/projects", who, 404)
		w.wantIn(page, true, "This workspace was deleted", ws.Name, "the operator can bring everything back", until)
		page = get("/account", who, 200)
		w.wantIn(page, true, ws.Name, "the operator can bring everything back", until)
		w.wantIn(page, false, "You are not a member of any workspace")
	}
	w.wantIn(get("/w/{workspace}/projects", w.stranger, 404), false, "This workspace was deleted", "operator of this server", ws.Name)
	w.wantIn(get("/account", w.stranger, 200), false, "operator of this server")
	for _, path := range []string{"/w/{workspace}/projects", "/w/{workspace}/settings/name"} {
		w.wantIn(w.ask(http.MethodPost, w.address(path), w.owner).Body.String(), true, "This workspace was deleted")
	}
	home := w.ask(http.MethodGet, "/", w.owner)
	if to := home.Header().Get("Location"); home.Code != 303 || to != "/account" {
		t.Errorf("the home page leads to %q with %d", to, home.Code)
	}
	_, err = op.UndeleteWorkspace(t.Context(), ws.ID)
	w.must(err)
	w.wantIn(get("/w/{workspace}/projects", w.owner, 200), false, "This workspace was deleted")
	_, err = op.DeleteWorkspace(t.Context(), ws.ID, 0)
	w.must(err)
	w.must(op.RemoveWorkspaces(t.Context(), time.Now().Add(time.Second)))
	w.wantIn(get("/w/{workspace}/projects", w.owner, 404), false, "This workspace was deleted", ws.Name)
	w.wantIn(get("/account", w.owner, 200), true, "You are not a member of any workspace")
}
