package main

import (
	"context"
	"time"

	"sheaf.dev/internal/store"
)

// schemaPoll is the interval at which a server checks whether the database has become too new for
// it.
const schemaPoll = time.Second

// watchSchema returns an error, which stops the server in order, if a newer program has migrated
// the database to a schema that this one may not serve. Operators stop old nodes before such an
// upgrade; a forgotten node must stop writing and sending as soon as it notices. While the database
// does not answer, watchSchema waits.
func watchSchema(st *store.Store) func(context.Context) error {
	return func(ctx context.Context) error {
		tick := time.NewTicker(schemaPoll)
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
