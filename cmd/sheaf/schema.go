package main

import (
	"context"
	"time"

	"sheaf.dev/internal/store"
)

// schemaLook is how often a server looks whether the database has become too new for it.
const schemaLook = time.Second

// watchSchema ends with an error, which stops the server in order, when a newer program has brought
// the database to a schema that this one may not serve. Such an upgrade begins with stopping the old
// nodes; one that was forgotten must neither write nor send for longer than it takes to notice.
// While the database does not answer, nothing is known and nothing ends.
func watchSchema(st *store.Store) func(context.Context) error {
	return func(ctx context.Context) error {
		tick := time.NewTicker(schemaLook)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
			schema, err := st.Schema(ctx)
			if err != nil {
				continue
			}
			if err := schema.TooNew(); err != nil {
				return err
			}
		}
	}
}
