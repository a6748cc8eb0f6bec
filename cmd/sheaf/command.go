package main

import (
	"reflect"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/config"
	"sheaf.dev/internal/sheaf"
)

// commands is the whole command line. Its groups are those of the help.
type commands struct {
	Serve         serveCommand       `cmd:"" group:"server" help:"Serve the API and the console, and deliver webhooks."`
	Config        configCommand      `cmd:"" group:"server" help:"Show every setting, its value and where it came from."`
	Healthcheck   healthcheckCommand `cmd:"" group:"server" help:"Ask a running server whether it is ready."`
	SupportBundle supportCommand     `cmd:"" group:"server" help:"Collect what a report of a fault needs into one file, without secrets: settings, versions, the doctor's report, the newest lines of the log and the goroutines of a running server."`
	Workspace     struct {
		Create   workspaceCreate   `cmd:"" help:"Make a workspace and its owner."`
		SetPlan  workspaceSetPlan  `cmd:"" help:"Change the plan of a workspace."`
		List     workspaceList     `cmd:"" help:"List the workspaces."`
		Delete   workspaceDelete   `cmd:"" help:"Delete a workspace: make it unreachable at once, and remove its data after --delete-after."`
		Undelete workspaceUndelete `cmd:"" help:"Bring back a deleted workspace whose data is not removed yet."`
	} `cmd:"" group:"people" help:"Make and change workspaces."`
	Key struct {
		Create keyCreate `cmd:"" help:"Make an API key for the owner of a workspace."`
		List   keyList   `cmd:"" help:"List the live API keys of a workspace."`
		Rotate keyRotate `cmd:"" help:"Give an API key a new secret."`
		Revoke keyRevoke `cmd:"" help:"Revoke an API key."`
	} `cmd:"" group:"people" help:"Make, rotate and revoke API keys."`
	User struct {
		SetPassword    userSetPassword    `cmd:"" help:"Set a user's password: asked for twice on a terminal, else one line of standard input."`
		ResetFactors   userResetFactors   `cmd:"" help:"Remove a user's second factor and recovery codes, and sign the user out everywhere."`
		AllowPassword  userAllowPassword  `cmd:"" help:"Let a user sign in with a password although --password-sign-in is off."`
		ForgetProvider userForgetProvider `cmd:"" help:"Free the account at the sign-in provider that is bound to a user, and sign the user out everywhere."`
		Erase          userErase          `cmd:"" help:"Erase the name, the e-mail and the sessions of a user, and end the memberships."`
		List           userList           `cmd:"" help:"List the users and their workspaces."`
		Invite         userInvite         `cmd:"" help:"Make a one-time link with which a person joins a workspace."`
		SetupLink      userSetupLink      `cmd:"" help:"Make a new one-time link to finish the set-up, in place of older ones."`
	} `cmd:"" group:"people" help:"Manage the people who may sign in."`
	Audit        auditCommand        `cmd:"" group:"people" help:"Print who did what in a workspace, or in the whole instance, as JSON lines."`
	Migrate      migrateCommand      `cmd:"" group:"data" help:"Migrate the database to this program's schema."`
	Backup       backupCommand       `cmd:"" group:"data" help:"Back up the store into a file or a bucket, also while a server runs. The master key is not in it."`
	Restore      restoreCommand      `cmd:"" group:"data" help:"Restore a backup of either engine, from a file or a bucket, into an empty store."`
	Export       exportCommand       `cmd:"" group:"data" help:"Write one workspace into a file, also while a server runs."`
	Import       importCommand       `cmd:"" group:"data" help:"Add a file of sheaf export to a workspace, also while a server runs."`
	Doctor       doctorCommand       `cmd:"" group:"data" help:"Check the stored data, also while a server runs. Changes nothing."`
	Repair       repairCommand       `cmd:"" group:"data" help:"Accept the pages of the SQLite file that another program wrote while no server ran."`
	Reindex      reindexCommand      `cmd:"" group:"data" help:"Rebuild the search index, also while a server runs."`
	ConfirmClock confirmClockCommand `cmd:"" group:"data" help:"Confirm that this machine's clock is right, after a server has doubted it."`

	cli.Commands
	Completion    completionCommand `cmd:"" group:"program" help:"Print a script that completes commands and their values in bash, zsh or fish."`
	Version       versionCommand    `cmd:"" group:"program" help:"Show the version of this program."`
	CompleteWords completeWords     `cmd:"" hidden:"" group:"program" help:"Print what may follow the words, for the scripts of completion."`
}

// parser returns the parser of the command line. --help leaves it by a panic, which run recovers.
func (p *program) parser() *kong.Kong {
	return kong.Must(&commands{},
		kong.Name("sheaf"),
		kong.Description("Projects, folders and documents over HTTP, with signed webhooks."),
		kong.Vars{"scopes": strings.Join(sheaf.AllScopes.Strings(), ", ")},
		kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(duration)),
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

// duration parses a flag as settings are parsed, so that it accepts days too.
func duration(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("duration", &text); err != nil {
		return err
	}
	d, err := config.ParseDuration(text)
	target.SetInt(int64(d))
	return err
}

// help prints the commands in their groups. The help of one command has no groups, because its
// subcommands all belong to one.
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
