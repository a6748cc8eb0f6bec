package main

import (
	"strings"

	"github.com/alecthomas/kong"

	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/sheaf"
)

// commands is the whole command line.
type commands struct {
	Serve     serveCommand `cmd:"" help:"Serve the API and the console, and deliver webhooks."`
	Workspace struct {
		Create  workspaceCreate  `cmd:"" help:"Make a workspace and its owner."`
		SetPlan workspaceSetPlan `cmd:"" help:"Change the plan of a workspace."`
		List    workspaceList    `cmd:"" help:"List the workspaces."`
	} `cmd:"" help:"Make and change workspaces."`
	Key struct {
		Create keyCreate `cmd:"" help:"Make an API key for the owner of a workspace."`
		List   keyList   `cmd:"" help:"List the live API keys of a workspace."`
		Revoke keyRevoke `cmd:"" help:"End an API key."`
	} `cmd:"" help:"Make and revoke API keys."`
	User struct {
		SetPassword userSetPassword `cmd:"" help:"Set a user's password: asked for twice on a terminal, else one line of standard input."`
		List        userList        `cmd:"" help:"List the users and their workspaces."`
		Invite      userInvite      `cmd:"" help:"Make a one-time link by which somebody joins a workspace."`
		SetupLink   userSetupLink   `cmd:"" help:"Make a new one-time link to finish the set-up, in place of older ones."`
	} `cmd:"" help:"Let people in."`
	Migrate      migrateCommand      `cmd:"" help:"Bring the database to this program's schema."`
	Backup       backupCommand       `cmd:"" help:"Copy the store into a file, also beside a running server. The master key is not in it."`
	Restore      restoreCommand      `cmd:"" help:"Fill an empty store with a backup, of either engine."`
	Export       exportCommand       `cmd:"" help:"Write one workspace into a file, also beside a running server."`
	Import       importCommand       `cmd:"" help:"Add what sheaf export wrote to a workspace, also beside a running server."`
	Doctor       doctorCommand       `cmd:"" help:"Check the stored data, also beside a running server. It changes nothing."`
	Repair       repairCommand       `cmd:"" help:"Take over the pages of the SQLite file that another program wrote while no server ran."`
	Reindex      reindexCommand      `cmd:"" help:"Make the index of search anew, also beside a running server."`
	ConfirmClock confirmClockCommand `cmd:"" help:"Say that this machine's clock is right, after a server has doubted it."`
	Config       configCommand       `cmd:"" help:"Show every setting, its value and where it came from."`
	Healthcheck  healthcheckCommand  `cmd:"" help:"Ask a running server whether it is ready."`
	Version      versionCommand      `cmd:"" help:"Show the version of this program."`

	cli.Commands
	Completion completionCommand `cmd:"" help:"Print a script that completes commands in bash."`
}

// parser reads the command line. It leaves --help by a panic, which recoverExit takes.
func (p *program) parser() *kong.Kong {
	return kong.Must(&commands{},
		kong.Name("sheaf"),
		kong.Description("Projects, folders and documents over HTTP, with signed webhooks."),
		kong.Vars{"scopes": strings.Join(sheaf.AllScopes.Strings(), ", ")},
		kong.Writers(p.Stdout, p.Stderr),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
	)
}
