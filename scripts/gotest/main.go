// Command gotest runs go test for ./scripts/test: with one PostgreSQL for all packages, and a report that counts. It
// prints go test's line for each package, the output of what failed, and a last line with the totals. It exits 1 when
// a test failed or was skipped, or when none ran.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"sheaf.dev/internal/sheaftest/pgtest"
)

func main() {
	r := newReport(os.Stdout)
	err := run(os.Args[1:], r)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	r.summary() // always the last line
	if err != nil {
		os.Exit(1)
	}
}

// run passes its arguments to go test. Whatever is not a clean run of at least one test is an error.
func run(args []string, r *report) error {
	if os.Getenv(pgtest.EnvURL) != "" {
		return goTest(args, r)
	}
	cluster, err := pgtest.Launch()
	if err != nil {
		return err
	}
	if err := os.Setenv(pgtest.EnvURL, cluster.URL()); err != nil {
		return errors.Join(err, cluster.Close())
	}
	return errors.Join(goTest(args, r), cluster.Close())
}

func goTest(args []string, r *report) error {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
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
	return r.verdict(cmd.Wait())
}
