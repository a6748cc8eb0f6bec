package main

import (
	"strings"

	"github.com/alecthomas/kong"

	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/sheaf"
)

// commands is the whole command line. Its groups are those of the help.
type commands struct {
	Serve       serveCommand       `cmd:"" group:"server" help:"Serve the API and the console, and deliver webhooks."`
	Config      configCommand      `cmd:"" group:"server" help:"Show every setting, its value and where it came from."`
	Healthcheck healthcheckCommand `cmd:"" group:"server" help:"Ask a running server whether it is ready."`
	Workspace   struct {
		Create  workspaceCreate  `cmd:"" help:"Make a workspace and its owner."`
		SetPlan workspaceSetPlan `cmd:"" help:"Change the plan of a workspace."`
		List    workspaceList    `cmd:"" help:"List the workspaces."`
	} `cmd:"" group:"people" help:"Make and change workspaces."`
	Key struct {
		Create keyCreate `cmd:"" help:"Make an API key for the owner of a workspace."`
		List   keyList   `cmd:"" help:"List the live API keys of a workspace."`
		Revoke keyRevoke `cmd:"" help:"End an API key."`
	} `cmd:"" group:"people" help:"Make and revoke API keys."`
	User struct {
		SetPassword userSetPassword `cmd:"" help:"Set a user's password: asked for twice on a terminal, else one line of standard input."`
		List        userList        `cmd:"" help:"List the users and their workspaces."`
		Invite      userInvite      `cmd:"" help:"Make a one-time link by which somebody joins a workspace."`
		SetupLink   userSetupLink   `cmd:"" help:"Make a new one-time link to finish the set-up, in place of older ones."`
	} `cmd:"" group:"people" help:"Let people in."`
	Migrate      migrateCommand      `cmd:"" group:"data" help:"Bring the database to this program's schema."`
	Backup       backupCommand       `cmd:"" group:"data" help:"Copy the store into a file, also beside a running server. The master key is not in it."`
	Restore      restoreCommand      `cmd:"" group:"data" help:"Fill an empty store with a backup, of either engine."`
	Export       exportCommand       `cmd:"" group:"data" help:"Write one workspace into a file, also beside a running server."`
	Import       importCommand       `cmd:"" group:"data" help:"Add what sheaf export wrote to a workspace, also beside a running server."`
	Doctor       doctorCommand       `cmd:"" group:"data" help:"Check the stored data, also beside a running server. It changes nothing."`
	Repair       repairCommand       `cmd:"" group:"data" help:"Take over the pages of the SQLite file that another program wrote while no server ran."`
	Reindex      reindexCommand      `cmd:"" group:"data" help:"Make the index of search anew, also beside a running server."`
	ConfirmClock confirmClockCommand `cmd:"" group:"data" help:"Say that this machine's clock is right, after a server has doubted it."`

	cli.Commands
	Completion    completionCommand `cmd:"" group:"program" help:"Print a script that completes commands and their values in bash, zsh or fish."`
	Version       versionCommand    `cmd:"" group:"program" help:"Show the version of this program."`
	CompleteWords completeWords     `cmd:"" hidden:"" group:"program" help:"Print what may follow the words, for the scripts of completion."`
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
		kong.Groups{
			"server":  "Run a server:",
			"people":  "Workspaces, people and keys:",
			"data":    "Care for the stored data:",
			"content": "Work with what a server holds:",
			"events":  "Events and webhooks:",
			"program": "This program:",
		},
		kong.Help(help),
	)
}

// help shows the commands in their groups. A command's own help has none of them: its commands are of
// one group.
func help(options kong.HelpOptions, ctx *kong.Context) error {
	if ctx.Selected() != nil {
		for _, child := range ctx.Model.Children {
			child.Group = nil
		}
	} else {
		options.NoExpandSubcommands = true
	}
	return kong.DefaultHelpPrinter(options, ctx)
}
