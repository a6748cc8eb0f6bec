package main

import (
	"context"
	"fmt"
	"os"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/config"
	"sheaf.dev/internal/disk"
	"sheaf.dev/internal/store"
)

// storeFlags are shared by the commands on the store. Those work beside a running server, whose
// lock they do not take.
type storeFlags struct{ config.Store }

// open opens the store that the flags name. An empty database is migrated first, so that a script
// can begin with any command; an older one is not, as a server of that age may be using it. The
// folder is made for commands that write into a new one.
func (f storeFlags) open(ctx context.Context, p *program, writes bool) (*store.Store, error) {
	settings, err := f.Load(p.Env)
	if err != nil {
		return nil, err
	}
	if err := needFolder(settings, writes); err != nil {
		return nil, err
	}
	return openMigrated(ctx, storeOptions(settings))
}

// operate runs act on the store that open opens.
func (f storeFlags) operate(ctx context.Context, p *program, writes bool, act func(app.Operator) error) error {
	st, err := f.open(ctx, p, writes)
	if err != nil {
		return err
	}
	defer st.Close()
	return act(p.app(st).Operator())
}

// operateWithMedia is operate, without writing into a new folder, for what needs the bytes of media.
func (f storeFlags) operateWithMedia(ctx context.Context, p *program, act func(app.Operator) error) error {
	settings, err := f.Load(p.Env)
	if err != nil {
		return err
	}
	files, err := p.media(settings)
	if err != nil {
		return err
	}
	st, err := f.open(ctx, p, false)
	if err != nil {
		return err
	}
	defer st.Close()
	return act(app.New(app.Config{Store: st, Now: p.Now, Random: p.Random, Media: files}).Operator())
}

func (p *program) app(st *store.Store) *app.App {
	return app.New(app.Config{Store: st, Now: p.Now, Random: p.Random})
}

// openStore opens the store. On a full disk it deletes the ballast first: SQLite needs room to open.
func openStore(ctx context.Context, o store.Options) (*store.Store, error) {
	if o.DatabaseURL == "" {
		if err := disk.Relieve(o.Folder); err != nil {
			return nil, err
		}
	}
	return store.Open(ctx, o)
}

func storeOptions(s config.StoreSettings) store.Options {
	return store.Options{Folder: s.Data, DatabaseURL: s.DatabaseURL.Reveal(), DirectURL: s.DatabaseDirectURL.Reveal()}
}

// needFolder makes the data folder for a command that writes, and refuses one that only reads when
// there is none: it would leave an empty one behind.
func needFolder(s config.StoreSettings, writes bool) error {
	if s.DatabaseURL != "" {
		return nil
	}
	if writes {
		return makeFolder(s.Data)
	}
	if _, err := os.Stat(s.Data); err != nil {
		return fmt.Errorf("the data folder cannot be read (%w): name it with --data, or start sheaf serve once", err)
	}
	return nil
}

// openReady opens a store that this program can serve as it is.
func openReady(ctx context.Context, o store.Options) (*store.Store, error) {
	st, err := openStore(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := st.Ready(ctx); err != nil {
		st.Close()
		return nil, err
	}
	return st, nil
}

// openMigrated opens a store that this program can serve, and migrates an empty one.
func openMigrated(ctx context.Context, o store.Options) (*store.Store, error) {
	st, err := openStore(ctx, o)
	if err != nil {
		return nil, err
	}
	schema, err := st.Schema(ctx)
	if err == nil && schema.Version == 0 {
		err = store.Migrate(ctx, o)
	} else if err == nil {
		err = schema.Serves()
	}
	if err != nil {
		st.Close()
		return nil, err
	}
	return st, nil
}
