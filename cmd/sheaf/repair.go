package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/config"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/doctor"
)

// repairCommand is sheaf repair.
type repairCommand struct {
	storeFlags
	cli.Output
	MasterKey *string `placeholder:"BASE64" help:"The master key, to check whether it decrypts the webhooks' secrets. Without it, the file in the data folder."`
	Retention *string `placeholder:"720h" help:"The --retention of the server. It matters only for a workspace that has no event left."`
	Accept    bool    `help:"Accept the pages even if sheaf doctor finds violations. A file that SQLite itself finds damaged is never accepted."`
}

// Run accepts the pages of an SQLite file that another program wrote while no server ran, if the
// data is consistent. Otherwise it changes nothing.
func (c *repairCommand) Run(ctx context.Context, p *program) error {
	settings, err := config.Serve{Store: c.Store, MasterKey: c.MasterKey, Retention: c.Retention}.Load(p.Env)
	if err != nil {
		return err
	}
	if settings.DatabaseURL != "" {
		return errors.New("only an SQLite file is repaired: PostgreSQL has its own tools")
	}
	if _, err := os.Stat(settings.Data); err != nil {
		return fmt.Errorf("there is no database to repair (%w): name its folder with --data", err)
	}
	unlock, err := lockFolder(settings.Data)
	if err != nil {
		return err
	}
	defer unlock()
	st, err := store.OpenTrusting(ctx, storeOptions(settings.StoreSettings))
	if err != nil {
		return err
	}
	defer st.Close()
	return c.repair(ctx, p, settings, st)
}

// repair gives pages with wrong checksums new ones, unless SQLite finds the file damaged, or the
// doctor finds violations and --accept is not set.
func (c *repairCommand) repair(ctx context.Context, p *program, settings *config.Settings, st *store.Store) error {
	unsound, pages, err := st.Unsound()
	if err != nil {
		return err
	}
	out := &diagnosis{p: p}
	violations, broken := 0, false // broken: SQLite's own check failed
	report := func(f doctor.Finding) {
		if !f.Information {
			violations++
			broken = broken || f.Check == doctor.FileCheck
		}
		if !c.JSON {
			out.report(f)
		}
	}
	if unsound > 0 {
		if err := c.examine(ctx, p, settings, st, report); err != nil {
			return errors.Join(out.err, err)
		}
	}
	switch {
	case broken:
		return errors.Join(out.err, errors.New("the file is damaged: restore it from a backup"))
	case violations > 0 && !c.Accept:
		return errors.Join(out.err, fmt.Errorf("violations found: %d: nothing was changed; restore a backup, or accept the data with --accept", violations))
	}
	restamped, err := st.Restamp()
	if err := errors.Join(out.err, err); err != nil {
		return err
	}
	return c.Show(&p.Program, sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Int("pages", pages)
		o.Int("repaired", restamped)
		o.Int("violations", int64(violations))
	}), func() string {
		if restamped == 0 {
			return fmt.Sprintf("all %d pages are as sheaf wrote them: nothing was changed\n", pages)
		}
		return fmt.Sprintf("%d of %d pages were not as sheaf wrote them, and are now accepted\n", restamped, pages)
	})
}

// examine checks for violations as sheaf doctor does.
func (c *repairCommand) examine(ctx context.Context, p *program, settings *config.Settings, st *store.Store, report func(doctor.Finding)) error {
	schema, err := st.Schema(ctx)
	if err != nil {
		return err
	}
	if schema.Version < store.Latest {
		// The file has an older schema. sheaf migrate would refuse it before it is repaired, and
		// the doctor needs this program's tables.
		return doctor.CheckFile(ctx, st, report)
	}
	if err := schema.Serves(); err != nil {
		return err
	}
	x := doctor.Examination{Now: p.Now(), Retention: settings.Retention}
	if x.Box, err = p.boxOf(ctx, st, settings, report); err != nil {
		return err
	}
	return doctor.Examine(ctx, st, x, report)
}
