package httpapi_test

import (
	"fmt"
	"sync"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// D19: a burst of one workspace waits for its turn, on either engine: nobody gets a 503. What is refused
// is what has waited for seconds, which on a busy machine is all of it: the kit waits for a turn as long as
// it takes, and package engine tests the seconds.
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
