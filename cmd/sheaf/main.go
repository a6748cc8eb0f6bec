// Command sheaf is the whole program: the server, and what an operator types beside it. It wires
// the parts together and holds no rule.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/config"
	"sheaf.dev/internal/sheaf"
)

// The codes with which the program ends.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	// Whatever the program writes, the database and backups too, is for its own user.
	syscall.Umask(0o077)
	p := &program{cli.Program{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.LookupEnv, Names: variables, Now: time.Now, Random: rand.Reader, Version: version}, calledFrom(os.Executable())}
	os.Exit(p.run(context.Background(), os.Args[1:]))
}

// variables are the names of the environment's variables.
func variables() []string {
	var names []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		names = append(names, name)
	}
	return names
}

// program is what the commands get from outside.
type program struct {
	cli.Program
	name string // by which a shell calls it; empty for the usual one
}

// called returns the name by which a shell calls this program, for hints.
func (p *program) called() string { return cmp.Or(p.name, "sheaf") }

// calledFrom returns the name for a program at that path. A program that go run has built is in Go's cache
// and not in PATH, so its name is the go run command.
func calledFrom(path string, err error) string {
	if err == nil && strings.Contains(path, "go-build") {
		return "go run ./cmd/sheaf"
	}
	return ""
}

// run runs the command of the arguments and returns the exit code. When ctx ends, it stops in order.
func (p *program) run(ctx context.Context, args []string) (code int) {
	defer p.recoverExit(&code)
	parser := p.parser()
	command, err := parser.Parse(usual(args))
	if err != nil {
		return p.explain(parser, err)
	}
	command.BindTo(ctx, (*context.Context)(nil))
	p.warnOfVariables(command.Selected())
	if err := command.Run(p, &p.Program); err != nil {
		p.report(err)
		return exitFailed
	}
	return exitDone
}

// usual turns what people type out of habit into this program's words.
func usual(args []string) []string {
	if len(args) == 0 {
		return args
	}
	switch args[0] {
	case "help":
		return append(args[1:len(args):len(args)], "--help")
	case "--version", "-v":
		return []string{"version"}
	}
	return args
}

// warnOfVariables warns of environment variables that look like settings but are none. The server, in its
// log, and sheaf config warn of all of them. Other commands warn only of likely typing errors, because
// scripts have variables of their own.
func (p *program) warnOfVariables(command *kong.Node) {
	if command == nil || command.Hidden || command.Name == "serve" || command.Name == "config" {
		return
	}
	for _, u := range config.Unknown(p.Names()) {
		if u.Meant != "" {
			fmt.Fprintln(p.Stderr, "sheaf: warning: "+u.String())
		}
	}
}

// report says in one line why the command failed; wrong settings get a line each.
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

// exited is the panic by which --help leaves the parser.
type exited int

// recoverExit recovers the panic `exited`, and no other.
func (p *program) recoverExit(code *int) {
	switch v := recover().(type) {
	case nil:
	case exited:
		*code = int(v)
	default:
		panic(v)
	}
}
