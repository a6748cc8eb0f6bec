package httpapi_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/sheaftest/migrated"
	"sheaf.dev/internal/store"
)

// D19: a burst of one workspace waits for its turn, on either engine: nobody gets a 503. What is refused
// is what has waited for seconds, which on a busy machine is all of it: here a turn is waited for as long
// as it takes, and package engine tests the seconds.
func TestBurst_ManyClientsOfOneWorkspaceAreAllServed(t *testing.T) {
	t.Parallel()
	const forEver = time.Hour
	for name, open := range map[string]func(*testing.T) *apitest.API{
		"sqlite": func(t *testing.T) *apitest.API {
			return apitest.Open(t, store.Options{Folder: migrated.Folder(t), Turn: forEver}, apitest.Quiet)
		},
		"nodes": func(t *testing.T) *apitest.API {
			return apitest.OpenNodes(t, store.Options{DatabaseURL: migrated.URL(t), Turn: forEver}, apitest.Quiet)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := open(t)
			for clients, rounds := range map[int]int{64: 6, 200: 2} {
				pressTogether(t, a.Workspace(sheaf.Business).Client(""), clients, rounds)
			}
		})
	}
}

// pressTogether lets so many clients write and read so often, all at once.
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
