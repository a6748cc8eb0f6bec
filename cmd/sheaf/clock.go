package main

import (
	"context"
	"fmt"

	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

type confirmClockCommand struct {
	storeFlags
	cli.Output
}

// Run records that the operator confirms this machine's clock, so that servers resume deleting old
// records.
func (c *confirmClockCommand) Run(ctx context.Context, p *program) error {
	st, err := c.open(ctx, p, false)
	if err != nil {
		return err
	}
	defer st.Close()
	now := p.Now().UTC()
	if err := st.Write(ctx, func(tx *store.Tx) error { return tx.SetSweepClock(store.SweepClock{Trusted: now}) }); err != nil {
		return err
	}
	return c.Show(&p.Program, sheaf.RecordFunc(func(o *sheaf.Object) { o.Time("clock", now) }), func() string {
		return fmt.Sprintf("the clock is right: it is %s UTC; servers delete old data again within a minute\n", now.Format("2006-01-02 15:04:05"))
	})
}
