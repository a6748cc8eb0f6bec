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
	MasterKey *string `placeholder:"BASE64" help:"The master key, to see whether it opens the webhooks' secrets. Without it, the file in the data folder."`
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
	st, err := openUnchanged(ctx, settings.StoreSettings)
	if err != nil {
		return err
	}
	defer st.Close()
	out := &diagnosis{Output: c.Output, p: p}
	out.begin()
	x := doctor.Examination{Now: p.Now(), Retention: settings.Retention}
	if x.Media.Store, err = p.media(settings.StoreSettings); err != nil {
		return err
	}
	if c.Media && x.Media.Store == nil {
		return errors.New("--media needs the bytes of media, and nobody said where they are: name the bucket with --media-url, as for the server")
	}
	if c.Media {
		x.Media.Verify = func(ctx context.Context, key media.Key) error { return media.Verify(ctx, x.Media.Store, key) }
	}
	x.Box, err = p.boxOf(ctx, st, settings, out.tell)
	if err == nil {
		err = doctor.Examine(ctx, st, x, out.tell)
	}
	return errors.Join(out.end(err == nil), err, errorIf(out.violations > 0, fmt.Errorf("violations found: %d", out.violations)))
}

// errorIf is the error where yes, else nil.
func errorIf(yes bool, err error) error {
	if yes {
		return err
	}
	return nil
}

// openUnchanged opens a store that is there and that this program can serve.
func openUnchanged(ctx context.Context, s config.StoreSettings) (*store.Store, error) {
	if s.DatabaseURL == "" {
		if _, err := os.Stat(filepath.Join(s.Data, store.FileName)); err != nil {
			return nil, fmt.Errorf("there is no database to look at (%w): name its folder with --data", err)
		}
	}
	return openReady(ctx, storeOptions(s))
}

// boxOf returns the box that decrypts the store's secrets. If the master key is missing, it reports that and
// returns nil.
func (p *program) boxOf(ctx context.Context, st *store.Store, s *config.Settings, tell func(doctor.Finding)) (*seal.Box, error) {
	kept, known, err := keyCheck(ctx, st)
	if err != nil || !known {
		return nil, err
	}
	key, from, err := keyAtHand(s)
	if errors.Is(err, os.ErrNotExist) {
		tell(doctor.Finding{Check: "master key", Text: from + " does not exist: whether secrets open was not looked at", Information: true})
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !hmac.Equal([]byte(kept), []byte(checkValue(key))) {
		tell(doctor.Finding{Check: "master key", Text: from + " is another key than the one that the database was made with"})
		return nil, nil
	}
	return seal.New(key, p.Random)
}

// diagnosis prints findings as they come, because their number is not known in advance.
type diagnosis struct {
	cli.Output
	p          *program
	told       int
	violations int
	err        error // of standard output
}

// print writes unless writing has failed before.
func (d *diagnosis) print(s string) {
	if d.err == nil {
		d.err = d.p.Print(s)
	}
}

// begin opens the list.
func (d *diagnosis) begin() {
	if d.JSON {
		d.print("[")
	}
}

// tell prints a finding and counts it.
func (d *diagnosis) tell(f doctor.Finding) {
	if !f.Information {
		d.violations++
	}
	d.told++
	switch {
	case d.JSON && d.told > 1:
		d.print(",\n" + string(sheaf.AppendJSON(nil, &f)))
	case d.JSON:
		d.print(string(sheaf.AppendJSON(nil, &f)))
	case f.Information:
		d.print("information: " + f.String() + "\n")
	default:
		d.print("violation: " + f.String() + "\n")
	}
}

// end closes the list, and says so if everything was checked and nothing is wrong.
func (d *diagnosis) end(complete bool) error {
	if d.JSON {
		d.print("]\n")
	} else if complete && d.violations == 0 {
		d.print("no violation was found\n")
	}
	return d.err
}
