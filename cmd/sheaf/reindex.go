package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/config"
	"sheaf.dev/internal/search"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// reindexPoll is the interval at which sheaf reindex checks the progress of the server.
const reindexPoll = 200 * time.Millisecond

func (p *program) index(s config.StoreSettings, st *store.Store, log *slog.Logger) *search.Index {
	return search.New(search.Config{Store: st, Folder: s.Data, DatabaseURL: s.DatabaseURL.Reveal(), DirectURL: s.DatabaseDirectURL.Reveal(), Log: log, Now: p.Now})
}

type reindexCommand struct {
	storeFlags
	cli.Output
}

// Run rebuilds the index of every workspace. A running server does it, and uses the old index
// meanwhile. If no server is running, this program does it itself.
func (c *reindexCommand) Run(ctx context.Context, p *program) error {
	settings, err := c.Load(p.Env)
	if err != nil {
		return err
	}
	st, err := c.open(ctx, p, false)
	if err != nil {
		return err
	}
	defer st.Close()
	var asked int64
	err = st.Write(ctx, func(tx *store.Tx) (err error) {
		asked, err = tx.AskReindex()
		return err
	})
	if err != nil {
		return err
	}
	served, release := reserveFolder(settings)
	defer release()
	index := search.New(search.Config{Store: st, Folder: settings.Data, DatabaseURL: settings.DatabaseURL.Reveal(), DirectURL: settings.DatabaseDirectURL.Reveal(), Now: p.Now, Beside: served})
	defer index.Close()
	n, err := c.await(ctx, index, served, asked)
	if err != nil {
		return err
	}
	return c.Show(&p.Program, sheaf.RecordFunc(func(o *sheaf.Object) { o.Int("workspaces", int64(n)) }), func() string {
		return fmt.Sprintf("rebuilt the search index of %d workspaces\n", n)
	})
}

// await blocks until every workspace is reindexed and returns their number. If no server is
// running, it reindexes them itself.
func (c *reindexCommand) await(ctx context.Context, index *search.Index, served bool, asked int64) (done int, err error) {
	for {
		if !served {
			if err := index.CatchUp(ctx); err != nil {
				return 0, err
			}
		}
		done, all, err := index.Built(ctx, asked)
		if err != nil || done == all {
			return done, err
		}
		select {
		case <-ctx.Done():
			return done, fmt.Errorf("rebuilt the search index of %d of %d workspaces; a server continues with the others", done, all)
		case <-time.After(reindexPoll):
		}
	}
}
