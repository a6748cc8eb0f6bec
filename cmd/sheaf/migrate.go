package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// migrateCommand is sheaf migrate.
type migrateCommand struct {
	storeFlags
	cli.Output
	Status bool `help:"Only say which schema the database has."`
}

func (c *migrateCommand) Run(ctx context.Context, p *program) error {
	settings, err := c.Load(p.Env)
	if err != nil {
		return err
	}
	if !c.Status {
		if err := needFolder(settings, true); err != nil {
			return err
		}
		if err := store.Migrate(ctx, storeOptions(settings)); err != nil {
			return err
		}
	}
	var schema store.Schema // if there is no database, --status does not create one
	_, err = os.Stat(filepath.Join(settings.Data, store.FileName))
	if settings.DatabaseURL != "" || !os.IsNotExist(err) {
		st, err := openStore(ctx, storeOptions(settings))
		if err != nil {
			return err
		}
		defer st.Close()
		if schema, err = st.Schema(ctx); err != nil {
			return err
		}
	}
	if err := schema.Serves(); err != nil && !c.Status {
		return err
	}
	return c.Show(&p.Program, sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Int("schema", schema.Version)
		o.Int("program", store.Latest)
		o.Bool("usable", schema.Serves() == nil)
	}), func() string {
		text := fmt.Sprintf("the database has schema %d, this program has %d\n", schema.Version, store.Latest)
		if err := schema.Serves(); err != nil {
			text += err.Error() + "\n"
		}
		return text
	})
}
