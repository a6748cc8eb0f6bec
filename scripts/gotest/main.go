// Command gotest runs go test for ./scripts/test: with one PostgreSQL for all packages, and a
// report that counts. It prints go test's line for each package, the output of what failed, which
// packages took most of the processors' time, and a last line with the totals. It exits 1 when a
// test failed or was skipped, or when none ran. Arguments are passed on; "--" stands between those
// of several runs, beside each other and counted together, and what stands first in a run as
// NAME=value is set in its environment.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"sheaf.dev/internal/sheaftest/pgtest"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == asRunner {
		os.Exit(runAndNote(os.Args[2:]))
	}
	r := newReport(os.Stdout)
	err := measured(os.Args[1:], r)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	r.summary() // always the last line
	if err != nil {
		os.Exit(1)
	}
}

// measured runs, and prints what each package took.
func measured(args []string, r *report) error {
	folder, err := os.MkdirTemp("", "gotest")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	notes := filepath.Join(folder, "usage")
	if err := os.Setenv(envUsage, notes); err != nil {
		return err
	}
	err = run(args, r)
	if f, missing := os.Open(notes); missing == nil { // no test ran
		defer f.Close()
		if root, unknown := os.Getwd(); unknown == nil {
			printUsage(r.out, readUsage(f, root))
		}
	}
	return err
}

// run starts PostgreSQL, unless there is one, and passes the arguments to go test. Whatever is not
// a clean run of at least one test is an error.
func run(args []string, r *report) error {
	if os.Getenv(pgtest.EnvURL) != "" {
		return goTest(args, nil, r)
	}
	cluster, err := pgtest.Launch()
	if err != nil {
		return err
	}
	return errors.Join(goTest(args, cluster.Env(), r), cluster.Close())
}

// goTest makes all runs beside each other, with env in their environment: while the tests of one wait
// for servers and browsers, another compiles.
func goTest(args, env []string, r *report) error {
	runs := split(args)
	broken := make([]error, len(runs)) // of the go command itself; what tests say is in the report
	var group sync.WaitGroup
	for i, one := range runs {
		group.Go(func() { broken[i] = goTestOnce(one, env, r) })
	}
	group.Wait()
	return r.verdict(errors.Join(broken...))
}

// split cuts the arguments at every "--".
func split(args []string) (runs [][]string) {
	for {
		i := slices.Index(args, "--")
		if i < 0 {
			return append(runs, args)
		}
		runs, args = append(runs, args[:i]), args[i+1:]
	}
}

// setting is an argument that belongs to the environment.
var setting = regexp.MustCompile(`^[A-Z_]+=`)

func goTestOnce(args, env []string, r *report) error {
	cmd := exec.Command("go")
	cmd.Env = append(os.Environ(), env...)
	for len(args) > 0 && setting.MatchString(args[0]) {
		cmd.Env, args = append(cmd.Env, args[0]), args[1:]
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd.Args = append(cmd.Args, append([]string{"test", "-json", "-exec", self + " " + asRunner}, args...)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := r.read(events); err != nil {
		return errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	return cmd.Wait()
}
