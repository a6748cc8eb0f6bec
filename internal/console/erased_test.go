package console

import (
	"net/http"
	"testing"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// D206: what an erased user wrote stays, by an "erased user", in the log and among the versions.
func TestErased_UsersAreShownAsSuch(t *testing.T) {
	w := newTown(t)
	i, err := w.a.Invite(t.Context(), w.caller, "zoe@example.com", sheaf.Admin, nil)
	w.must(err)
	joined, _, err := w.a.Join(t.Context(), app.Join{Token: i.Token, Name: "Zoe Canary", Password: "long enough"}, "")
	w.must(err)
	zoe := w.callerOf(joined.Token)
	d, err := w.a.CreateDocument(t.Context(), zoe, sheaf.DocumentChange{Title: sheaf.Some("By Zoe"), Content: sheaf.Some("text")})
	w.must(err)
	_, err = w.a.Operator().EraseUser(t.Context(), "zoe@example.com")
	w.must(err)
	for path, want := range map[string]string{
		"/activity": "<bdi>erased user</bdi> created the document “<bdi>By Zoe</bdi>”",
		"/documents/" + string(d.ID) + "/versions": "erased user",
	} {
		page := w.ask(http.MethodGet, w.address("/w/{workspace}"+path), w.owner).Body.String()
		w.wantIn(page, true, want)
		w.wantIn(page, false, "Zoe Canary", "zoe@example.com")
	}
}
