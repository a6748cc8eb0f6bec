package httpapi_test

import (
	"fmt"
	"sync"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// D56: of many that race for the last slots as many win as there are, and inactive ones hold
// theirs.
func TestSubscriptionLimit_HoldsUnderConcurrency(t *testing.T) {
	const path = "/api/webhooks/subscriptions"
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		for plan, most := range map[sheaf.Plan]int{sheaf.Pro: 3, sheaf.Business: 20} {
			ws := a.Workspace(plan)
			c := ws.Client("")
			answers := make([]*apitest.Response, most+5)
			var wait sync.WaitGroup
			for i := range answers {
				wait.Go(func() { answers[i] = c.POST(path, anyBody) })
			}
			wait.Wait()
			made := 0
			for _, r := range answers {
				if r.Status == 201 {
					made++
				} else {
					r.WantError(t, 403, "SUBSCRIPTION_LIMIT_REACHED", string(plan), fmt.Sprint(most))
				}
			}
			if total := c.GET(path).Want(t, 200).JSON["total"]; made != most || total != float64(most) {
				t.Fatalf("%s: %d were made and %v are there, want %d", plan, made, total, most)
			}
			id := c.GET(path).IDs(t)[0]
			c.PATCH(path+"/"+id, `{"active":false}`).Want(t, 200)
			c.POST(path, anyBody).WantError(t, 403, "SUBSCRIPTION_LIMIT_REACHED")
			c.DELETE(path+"/"+id).Want(t, 204)
			c.POST(path, anyBody).Want(t, 201)
		}
	})
}
