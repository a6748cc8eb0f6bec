package apitest

import (
	"context"
	"time"

	"sheaf.dev/internal/store/doctor"
)

// Doctor returns the violations in the stored data, one line each. Exceeding a plan is not a
// violation.
func (a *API) Doctor() (violations []string) {
	a.t.Helper()
	x := doctor.Examination{Now: a.Clock.Now(), Retention: 720 * time.Hour, Box: a.Webhooks.Box}
	err := doctor.Examine(context.Background(), a.Store, x, func(f doctor.Finding) {
		if !f.Information {
			violations = append(violations, f.String())
		}
	})
	if err != nil {
		a.t.Errorf("doctor: %v", err)
	}
	return violations
}
