// Command sheaf is the whole program: the server, and what an operator types beside it. It wires
// the parts together and holds no rule.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
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
	p := &program{cli.Program{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.LookupEnv, Now: time.Now, Random: rand.Reader, Version: version}}
	os.Exit(p.run(context.Background(), os.Args[1:]))
}

// program is what the commands get from outside.
type program struct{ cli.Program }

// run does what the arguments say and returns the code to end with. The end of ctx asks it to stop
// in order.
func (p *program) run(ctx context.Context, args []string) (code int) {
	defer p.recoverExit(&code)
	parser := p.parser()
	command, err := parser.Parse(usual(args))
	if err != nil {
		return p.explain(parser, err)
	}
	command.BindTo(ctx, (*context.Context)(nil))
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

// explain shows how the command is used, and what was wrong.
func (p *program) explain(parser *kong.Kong, err error) int {
	var parse *kong.ParseError
	if errors.As(err, &parse) {
		parser.Stdout = p.Stderr
		_ = parse.Context.PrintUsage(false)
		fmt.Fprintln(p.Stderr)
	}
	fmt.Fprintln(p.Stderr, "sheaf: "+cli.OneLine(err.Error()))
	return exitUsage
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

// exited is how --help leaves the parser.
type exited int

// recoverExit takes the panic by which the parser is left, and no other.
func (p *program) recoverExit(code *int) {
	switch v := recover().(type) {
	case nil:
	case exited:
		*code = int(v)
	default:
		panic(v)
	}
}
