package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/archive"
	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/sheaf"
)

// exportCommand is sheaf export.
type exportCommand struct {
	storeFlags
	cli.Output
	workspaceFlag
	WithoutMedia bool   `help:"Leave out media."`
	File         string `arg:"" help:"The file to write. It must not exist. - is standard output."`
}

// Run writes a snapshot of a workspace. A server may be running.
func (c *exportCommand) Run(ctx context.Context, p *program) error {
	if c.File == "-" && c.JSON {
		return errors.New("standard output cannot take the export and --json: name a file")
	}
	return c.operateWithMedia(ctx, p, func(op app.Operator) error {
		id, err := c.find(ctx, op)
		if err != nil {
			return err
		}
		var count archive.Count
		err = c.to(p, func(out io.Writer) (err error) {
			count, err = archive.Write(ctx, op, id, out, !c.WithoutMedia)
			return err
		})
		if err != nil || c.File == "-" {
			return err
		}
		return c.Show(&p.Program, sheaf.RecordFunc(func(o *sheaf.Object) {
			o.Text("file", c.File)
			countFields(o, count)
		}), func() string { return fmt.Sprintf("%s are in %s\n", recordCounts(count), c.File) })
	})
}

// to writes the file, completely or not at all.
func (c *exportCommand) to(p *program, write func(io.Writer) error) error {
	if c.File == "-" {
		return spooled(p.Stdout, write)
	}
	err := writeFileFrom(c.File, write)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s exists: choose another name", c.File)
	}
	return err
}

// spooled writes to a temporary file first, and then copies that to out, so that a slow reader does
// not keep a snapshot of the store open.
func spooled(out io.Writer, write func(io.Writer) error) error {
	f, err := os.CreateTemp("", "sheaf-export-*") // mode 0600
	if err != nil {
		return err
	}
	defer f.Close()
	if err := os.Remove(f.Name()); err != nil {
		return err
	}
	if err := write(f); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = io.Copy(out, f)
	return err
}

// countFields writes the number of records of each noun.
func countFields(o *sheaf.Object, c archive.Count) {
	o.Int("folders", c.Folders)
	o.Int("brandings", c.Brandings)
	o.Int("projects", c.Projects)
	o.Int("documents", c.Documents)
	o.Int("versions", c.Versions)
	o.Int("proposals", c.Proposals)
	o.Int("media", c.Media)
	o.Int("releases", c.Releases)
	o.Int("shares", c.Shares)
	o.Int("subscriptions", c.Subscriptions)
}

// recordCounts returns the numbers as a sentence.
func recordCounts(c archive.Count) string {
	past, looks := "", ""
	if c.Media > 0 {
		looks = fmt.Sprintf(" %d media,", c.Media)
	}
	if c.Versions > 0 {
		past = fmt.Sprintf(" with %d past versions", c.Versions)
	}
	if c.Brandings > 0 {
		looks += fmt.Sprintf(" %d brandings,", c.Brandings)
	}
	if c.Proposals > 0 {
		past += fmt.Sprintf(", %d proposals", c.Proposals)
	}
	if c.Releases > 0 {
		past += fmt.Sprintf(", %d releases", c.Releases)
	}
	shares := ""
	if c.Shares > 0 {
		shares = fmt.Sprintf(", %d shares", c.Shares)
	}
	return fmt.Sprintf("%d folders,%s %d projects, %d documents%s%s and %d subscriptions", c.Folders, looks, c.Projects, c.Documents, past, shares, c.Subscriptions)
}
