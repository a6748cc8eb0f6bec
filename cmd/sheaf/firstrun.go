package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/config"
)

// firstRun makes, on the first start, what a person needs to begin, and shows
// it once. Later starts show the addresses only.
func (p *program) firstRun(ctx context.Context, a *app.App, s *config.Settings, base string) error {
	if s.FirstRun == config.FirstRunNone {
		return nil
	}
	first, made, err := a.Operator().FirstRun(ctx)
	if err != nil {
		return err
	}
	if !made {
		return p.showAddresses(ctx, a, base)
	}
	if s.FirstRun == config.FirstRunPrint {
		return p.print(firstRunText(base, first))
	}
	path, err := writeFirstRun(s.Data, firstRunText(base, first))
	if err != nil {
		// What was made is in the database, and each part can be had anew.
		return fmt.Errorf("%s cannot be written (%w): get a link with sheaf user setup-link and a key with sheaf key create --workspace %s", path, err, first.Workspace.ID)
	}
	return p.print(path + "\n")
}

func firstRunText(base string, first app.FirstRun) string {
	return fmt.Sprintf(`Sheaf is ready. This is shown once:

  Set up the console   %s
                       (works once, until %s; a new link: sheaf user setup-link)
  API key              %s
  API reference        %s/docs

Try it:

  curl -H 'Authorization: Bearer %s' %s/api/v1/me

`, setupURL(base, first.Link), first.Link.ExpiresAt.Format("15:04:05 MST"), first.Key, base, first.Key, base)
}

func (p *program) showAddresses(ctx context.Context, a *app.App, base string) error {
	text := fmt.Sprintf("Console        %s/\nAPI reference  %s/docs\n", base, base)
	pending, err := a.SetupPending(ctx)
	if err != nil {
		return err
	}
	if pending {
		text += "The set-up is not finished: sheaf user setup-link makes a new link.\n"
	}
	_ = p.print(text) // a server without a standard output goes on without
	return nil
}

// writeFirstRun writes the file in place of one that an earlier database left.
func writeFirstRun(folder, text string) (path string, err error) {
	path = filepath.Join(folder, "first-run.txt")
	if err := makeFolder(folder); err != nil {
		return path, err
	}
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return path, err
	}
	return path, writeFile(path, []byte(text))
}
