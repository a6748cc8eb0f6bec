package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/config"
)

// firstRun makes, on the first start, what a person needs to begin, and shows it once. Later starts
// show the addresses only.
func (p *program) firstRun(ctx context.Context, a *app.App, s *config.Settings, base string) error {
	if s.FirstRun == config.FirstRunNone {
		return nil
	}
	first, made, err := a.Operator().FirstRun(ctx)
	if err != nil {
		return err
	}
	if !made {
		return p.showAddresses(ctx, a, s, base)
	}
	if s.FirstRun == config.FirstRunPrint {
		return p.Print(p.firstRunText(s, base, first))
	}
	path, err := writeFirstRun(s.Data, p.firstRunText(s, base, first))
	if err != nil {
		// What was made is in the database, and each part can be had anew.
		return fmt.Errorf("%s cannot be written (%w): get a link with %s and a key with %s key create %s --workspace %s", path, err, p.setupCommand(s, base), p.called(), storeFlag(s), first.Workspace.ID)
	}
	return p.Print(path + "\n")
}

// setupCommand makes a new link of this very server, from whatever shell.
func (p *program) setupCommand(s *config.Settings, base string) string {
	return p.called() + " user setup-link " + storeFlag(s) + " --public-url " + base
}

// storeFlag names the server's store. The address of a database has a password in it, and is not
// shown.
func storeFlag(s *config.Settings) string {
	if s.DatabaseURL != "" {
		return "--database-url ..."
	}
	return "--data " + shellWord(s.Data)
}

var plainWord = regexp.MustCompile(`^[\w./@%+=:,-]+$`)

// shellWord is a word as a shell reads it.
func shellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// firstRunText is what the first start prints, once.
func (p *program) firstRunText(s *config.Settings, base string, first app.FirstRun) string {
	return fmt.Sprintf(`Sheaf is ready. This is shown once:

  Set up the console   %s
                       (works once, until %s; a new one:
                       %s)
  API key              %s
  API reference        %s/docs

Try it:

  curl -H 'Authorization: Bearer %s' %s/api/v1/me

`, setupURL(base, first.Link), first.Link.ExpiresAt.Format("15:04:05 MST"), p.setupCommand(s, base), first.Key, base, first.Key, base)
}

// showAddresses is what every later start prints.
func (p *program) showAddresses(ctx context.Context, a *app.App, s *config.Settings, base string) error {
	text := fmt.Sprintf("Console        %s/\nAPI reference  %s/docs\n", base, base)
	pending, err := a.SetupPending(ctx)
	if err != nil {
		return err
	}
	if pending {
		text += "The set-up is not finished. A new link: " + p.setupCommand(s, base) + "\n"
	}
	_ = p.Print(text) // a server without a standard output goes on without
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
