package main

import (
	"context"
	"crypto/hmac"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/config"
	"sheaf.dev/internal/media"
	"sheaf.dev/internal/seal"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/doctor"
)

// doctorCommand is sheaf doctor.
type doctorCommand struct {
	storeFlags
	cli.Output
	MasterKey *string `placeholder:"BASE64" help:"The master key, to check whether it decrypts the webhooks' secrets. Without it, the file in the data folder."`
	Media     bool    `help:"Read the bytes of all media, and report those that are damaged. Without it, only their number is compared."`
	Retention *string `placeholder:"720h" help:"The --retention of the server. It matters only for a workspace that has no event left."`
}

// Run prints a line for each violation, and fails if there is one. It changes nothing, not even a
// database that is missing or old.
func (c *doctorCommand) Run(ctx context.Context, p *program) error {
	settings, err := config.Serve{Store: c.Store, MasterKey: c.MasterKey, Retention: c.Retention}.Load(p.Env)
	if err != nil {
		return err
	}
	if settings.DatabaseURL == "" {
		if _, err := os.Stat(filepath.Join(settings.Data, store.FileName)); err != nil {
			return fmt.Errorf("there is no database to check (%w): name its folder with --data", err)
		}
	}
	st, err := openReady(ctx, storeOptions(settings.StoreSettings))
	if err != nil {
		return err
	}
	defer st.Close()
	out := &diagnosis{Output: c.Output, p: p}
	if c.JSON {
		out.print("[")
	}
	x := doctor.Examination{Now: p.Now(), Retention: settings.Retention}
	if x.Media.Store, err = p.media(settings.StoreSettings); err != nil {
		return err
	}
	if c.Media && x.Media.Store == nil {
		return errors.New("--media needs the bucket with the bytes of media: name it with --media-url, as for the server")
	}
	if c.Media {
		x.Media.Verify = func(ctx context.Context, key media.Key) error { return media.Verify(ctx, x.Media.Store, key) }
	}
	x.Box, err = p.boxOf(ctx, st, settings, out.report)
	if err == nil {
		err = doctor.Examine(ctx, st, x, out.report)
	}
	if c.JSON {
		out.print("]\n")
	} else if err == nil && out.violations == 0 {
		out.print("no violation was found\n")
	}
	if out.violations > 0 {
		err = errors.Join(err, fmt.Errorf("violations found: %d", out.violations))
	}
	return errors.Join(out.err, err)
}

// boxOf returns the box that decrypts the store's secrets. If the master key is missing, it reports
// that and returns nil.
func (p *program) boxOf(ctx context.Context, st *store.Store, s *config.Settings, report func(doctor.Finding)) (*seal.Box, error) {
	kept, known, err := keyCheck(ctx, st)
	if err != nil || !known {
		return nil, err
	}
	key, from, err := localKey(s)
	if errors.Is(err, os.ErrNotExist) {
		report(doctor.Finding{Check: "master key", Text: from + " does not exist: whether the secrets decrypt was not checked", Information: true})
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !hmac.Equal([]byte(kept), []byte(checkValue(key))) {
		report(doctor.Finding{Check: "master key", Text: from + " is another key than the one that the database was made with"})
		return nil, nil
	}
	return seal.New(key, p.Random)
}

// diagnosis prints findings as they come, because their number is not known in advance.
type diagnosis struct {
	cli.Output
	p          *program
	reported   int
	violations int
	err        error // first error of standard output
}

// print writes unless writing has failed before.
func (d *diagnosis) print(s string) {
	if d.err == nil {
		d.err = d.p.Print(s)
	}
}

// report prints a finding and counts it.
func (d *diagnosis) report(f doctor.Finding) {
	if !f.Information {
		d.violations++
	}
	d.reported++
	switch {
	case d.JSON && d.reported > 1:
		d.print(",\n" + string(sheaf.AppendJSON(nil, &f)))
	case d.JSON:
		d.print(string(sheaf.AppendJSON(nil, &f)))
	case f.Information:
		d.print("information: " + f.String() + "\n")
	default:
		d.print("violation: " + f.String() + "\n")
	}
}
