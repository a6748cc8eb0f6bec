// Command sheaf is the whole program: the server, and the commands for operators and clients. It
// connects the packages and contains no rule.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/config"
	"sheaf.dev/internal/sheaf"
)

// The exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	// All files that the program writes are for its own user, the database and backups too.
	syscall.Umask(0o077)
	p := &program{cli.Program{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.LookupEnv, Names: variables, Now: time.Now, Random: rand.Reader, Version: version}, calledFrom(os.Executable())}
	os.Exit(p.run(context.Background(), os.Args[1:]))
}

// variables returns the names of the environment variables.
func variables() []string {
	var names []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		names = append(names, name)
	}
	return names
}

// program is the environment of the commands.
type program struct {
	cli.Program
	name string // name of the subcommand; empty: sheaf itself
}

// called returns the name of this program in a shell, for hints.
func (p *program) called() string { return cmp.Or(p.name, "sheaf") }

// calledFrom returns the name of a program at the path. A program that go run has built is in Go's
// cache and not in PATH, so its name is the go run command.
func calledFrom(path string, err error) string {
	if err == nil && strings.Contains(path, "go-build") {
		return "go run ./cmd/sheaf"
	}
	return ""
}

// exited is the panic by which --help leaves the parser.
type exited int

// run runs the command of the arguments and returns the exit code. When ctx ends, it stops in
// order.
//
// It warns of environment variables that look like settings but are none. The server, in its log,
// and sheaf config warn of all of them. Other commands warn only of likely typing errors, because
// scripts have variables of their own.
func (p *program) run(ctx context.Context, args []string) (code int) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case exited:
			code = int(v)
		default:
			panic(v)
		}
	}()
	if len(args) > 0 { // what people type out of habit
		switch args[0] {
		case "help":
			args = append(args[1:len(args):len(args)], "--help")
		case "--version", "-v":
			args = []string{"version"}
		}
	}
	parser := p.parser()
	command, err := parser.Parse(args)
	if err != nil {
		return p.explain(parser, err)
	}
	command.BindTo(ctx, (*context.Context)(nil))
	if n := command.Selected(); n != nil && !n.Hidden && n.Name != "serve" && n.Name != "config" {
		for _, u := range config.Unknown(p.Names()) {
			if u.Meant != "" {
				fmt.Fprintln(p.Stderr, "sheaf: warning: "+u.String())
			}
		}
	}
	if err := command.Run(p, &p.Program); err != nil {
		p.report(cli.NameFlags(err, ownFlags(command.Selected())))
		return exitFailed
	}
	return exitDone
}

// ownFlags returns the names of the flags that only this command has.
func ownFlags(command *kong.Node) (names []string) {
	if command == nil {
		return nil
	}
	for _, f := range command.Flags {
		if !f.Hidden && !slices.Contains([]string{"help", "server", "api-key", "json"}, f.Name) {
			names = append(names, f.Name)
		}
	}
	return names
}

// report prints in one line why the command failed. Each wrong setting gets a line.
func (p *program) report(err error) {
	var problems config.Problems
	if errors.As(err, &problems) {
		for _, line := range problems {
			fmt.Fprintln(p.Stderr, "sheaf: "+line)
		}
		return
	}
	fmt.Fprintln(p.Stderr, "sheaf: "+cli.OneLine(sheaf.OperatorText(err)))
}
