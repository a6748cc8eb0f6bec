package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/config"
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
	schema, err := readSchema(ctx, settings)
	if err != nil {
		return err
	}
	if err := schema.Serves(); err != nil && !c.Status {
		return err
	}
	return c.Show(&p.Program, sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Int("schema", schema.Version)
		o.Int("program", store.Latest)
		o.Bool("usable", schema.Serves() == nil)
	}), func() string { return schemaText(schema) })
}

// readSchema changes nothing: where there is no database, it makes none.
func readSchema(ctx context.Context, s config.StoreSettings) (store.Schema, error) {
	if s.DatabaseURL == "" {
		if _, err := os.Stat(filepath.Join(s.Data, store.FileName)); os.IsNotExist(err) {
			return store.Schema{}, nil
		}
	}
	st, err := openStore(ctx, storeOptions(s))
	if err != nil {
		return store.Schema{}, err
	}
	defer st.Close()
	return st.Schema(ctx)
}

// schemaText says what schema there is and whether this program can serve it.
func schemaText(s store.Schema) string {
	text := fmt.Sprintf("the database has schema %d, this program has %d\n", s.Version, store.Latest)
	if err := s.Serves(); err != nil {
		text += err.Error() + "\n"
	}
	return text
}
