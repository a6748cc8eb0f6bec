package httpapi_test

import (
	"fmt"
	"sync"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// D19: the requests of a burst of one workspace wait for their turn, on either engine, and none gets a 503.
// A server refuses a request that has waited for seconds, and on a busy machine that would be all of them.
// So the kit waits without a limit, and package engine tests the limit.
func TestBurst_ManyClientsOfOneWorkspaceAreAllServed(t *testing.T) {
	t.Parallel()
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		for clients, rounds := range map[int]int{64: 6, 200: 2} {
			pressTogether(t, a.Workspace(sheaf.Business).Client(""), clients, rounds)
		}
	}, apitest.Quiet)
}

// pressTogether lets `clients` clients write and read `rounds` times each, all at once.
func pressTogether(t *testing.T, c *apitest.Client, clients, rounds int) {
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			for round := range rounds {
				name := fmt.Sprintf("%d of client %d", round, i)
				id := c.POST("/api/v1/projects", map[string]any{"name": name}).Want(t, 201).Text(t, "id")
				c.PATCH("/api/v1/projects/"+id, map[string]any{"color": "#123456"}).Want(t, 200)
				c.GET("/api/v1/projects/"+id).Want(t, 200)
				c.GET("/api/v1/projects?sort=updated_at&q=client").Want(t, 200)
			}
		})
	}
	wg.Wait()
}
