package apitest

import (
	"context"
	"time"

	"sheaf.dev/internal/store"
)

// Doctor returns what breaks a promise about the stored data, a line each. What exceeds a plan is not among it.
func (a *API) Doctor() (violations []string) {
	a.t.Helper()
	x := store.Examination{Now: a.Clock.Now(), Retention: 720 * time.Hour, Box: a.Webhooks.Box}
	err := a.Store.Doctor(context.Background(), x, func(f store.Finding) {
		if !f.Information {
			violations = append(violations, f.String())
		}
	})
	if err != nil {
		a.t.Errorf("doctor: %v", err)
	}
	return violations
}
