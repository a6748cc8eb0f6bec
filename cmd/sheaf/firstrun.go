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

// firstRun creates, on the first start, a workspace, a key and a set-up link, and shows them once.
// Later starts print only the addresses.
func (p *program) firstRun(ctx context.Context, a *app.App, s *config.Settings, base string) error {
	if s.FirstRun == config.FirstRunNone {
		return nil
	}
	first, made, err := a.Operator().FirstRun(ctx)
	if err != nil {
		return err
	}
	if !made {
		pending, err := a.SetupPending(ctx)
		if err != nil {
			return err
		}
		text := fmt.Sprintf("Console        %s/\nAPI reference  %s/docs\n", base, base)
		if pending {
			text += "The set-up is not finished. A new link: " + p.setupCommand(s, base) + "\n"
		}
		_ = p.Print(text) // a server works without standard output
		return nil
	}
	if s.FirstRun == config.FirstRunPrint {
		return p.Print(p.firstRunText(s, base, first))
	}
	path := filepath.Join(s.Data, "first-run.txt")
	err = makeFolder(s.Data)
	if err == nil {
		if err = os.Remove(path); os.IsNotExist(err) { // an earlier database may have left one
			err = nil
		}
	}
	if err == nil {
		err = writeFile(path, []byte(p.firstRunText(s, base, first)))
	}
	if err != nil {
		// The database is set up, and the commands make a new link and a new key.
		return fmt.Errorf("%s cannot be written (%w): get a link with %s and a key with %s key create %s --workspace %s", path, err, p.setupCommand(s, base), p.called(), storeFlag(s), first.Workspace.ID)
	}
	return p.Print(path + "\n")
}

// setupCommand returns the command that makes a new set-up link for this server, in any shell.
func (p *program) setupCommand(s *config.Settings, base string) string {
	return p.called() + " user setup-link " + storeFlag(s) + " --public-url " + base
}

// storeFlag returns the flag that names the server's store. The address of a database contains a
// password and is not shown.
func storeFlag(s *config.Settings) string {
	if s.DatabaseURL != "" {
		return "--database-url ..."
	}
	return "--data " + shellWord(s.Data)
}

var plainWord = regexp.MustCompile(`^[\w./@%+=:,-]+$`)

// shellWord quotes a word for a shell.
func shellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// firstRunText returns the text that the first start prints.
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
