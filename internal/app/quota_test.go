package app

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
)

// A person on the free plan, who only has the console, reaches the limit of that plan, until the
// plan is raised.
func TestQuota_OnTheFreePlan(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		a = New(Config{Store: a.store, Now: func() time.Time { return *now }, Random: rand.Reader,
			MaxRecords: func(p sheaf.Plan) int { return map[sheaf.Plan]int{sheaf.Free: 2, sheaf.Pro: 100}[p] }})
		ws, err := a.Operator().CreateWorkspace(t.Context(), NewWorkspace{Name: "x", Plan: sheaf.Free})
		if err != nil {
			t.Fatal(err)
		}
		owner := Caller{Workspace: ws.ID, User: ws.Owner, Role: sheaf.Owner, Plan: sheaf.Free}
		create := func() error {
			_, err := a.CreateProject(t.Context(), owner, sheaf.ProjectChange{Name: sheaf.Some("p")})
			return err
		}
		for range 2 {
			if err := create(); err != nil {
				t.Fatal(err)
			}
		}
		err = create()
		if e, ok := err.(*sheaf.Error); !ok || e.Code != sheaf.CodeQuota || !strings.Contains(e.Text, "the free plan allows 2") {
			t.Errorf("the third: %v", err)
		}
		if _, err := a.Operator().SetPlan(t.Context(), ws.ID, sheaf.Pro); err != nil {
			t.Fatal(err)
		}
		if err := create(); err != nil {
			t.Errorf("on a higher plan: %v", err)
		}
	})
}
