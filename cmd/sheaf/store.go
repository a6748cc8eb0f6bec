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

// storeFlags are the flags of the commands that open the store. They do not take the server's lock,
// so they work while a server is running.
type storeFlags struct{ config.Store }

// open opens the store that the flags name. It migrates an empty database first, so that a script
// can begin with any command. It does not migrate an older one, because a server of that version
// may be using it. If `writes` is set, it creates a missing data folder.
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

// operateWithMedia is operate for acts that need the bytes of media. It does not create the data
// folder.
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

// openStore opens the store. If the disk is full, it deletes the ballast first, because SQLite
// needs room to open.
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

// needFolder creates a missing data folder for a command that writes. For a command that only
// reads, a missing folder is an error: otherwise the command would leave an empty one behind.
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

// openReady opens a store. It returns an error if this program cannot use its schema.
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

// openMigrated opens a store and migrates an empty one. It returns an error if this program cannot
// use its schema.
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
