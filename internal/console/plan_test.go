package console

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// D205: with plans of the operator, the page shows the plan to its owner and says whom to ask, and
// the form is refused. The operator changes it.
func TestSettings_OnlyTheOperatorChangesPlans(t *testing.T) {
	w := newTown(t)
	form := url.Values{"plan": {"pro"}}
	w.a = app.New(app.Config{Store: w.store, Index: w.index, Now: time.Now, Random: rand.Reader, Webhooks: testWebhooks(t), FixedPlans: true})
	config := w.c.Config
	config.App = w.a
	w.c = New(config)
	page := w.ask(http.MethodGet, w.address("/w/{workspace}/settings"), w.owner).Body.String()
	w.wantIn(page, true, "The operator of this server changes plans.", `value="business" checked`, `<fieldset class="choices" disabled>`)
	w.wantIn(page, false, "Change plan")
	if got := w.send("/w/{workspace}/settings/plan", form).Code; got != http.StatusForbidden {
		t.Errorf("the owner's form gets %d", got)
	}
	if ws := w.planOf(); ws != sheaf.Business {
		t.Errorf("the plan is %s", ws)
	}
	_, err := w.a.Operator().SetPlan(t.Context(), w.caller.Workspace, sheaf.Pro)
	w.must(err)
	if ws := w.planOf(); ws != sheaf.Pro {
		t.Errorf("after the operator the plan is %s", ws)
	}
}

// planOf returns the stored plan.
func (w *town) planOf() sheaf.Plan {
	w.Helper()
	all, err := w.a.Operator().Workspaces(w.Context())
	w.must(err)
	for _, ws := range all {
		if ws.ID == w.caller.Workspace {
			return ws.Plan
		}
	}
	return ""
}
