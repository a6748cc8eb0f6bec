package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// asRunner makes this program what go test runs the tests of a package by (-exec): it notes their
// processor time, with that of the processes which they started and waited for, in the file that
// envUsage names.
const (
	asRunner = "run-and-note"
	envUsage = "SHEAF_GOTEST_USAGE"
)

// shown is how many packages the table has.
const shown = 12

// usage is what the tests of a package took.
type usage struct {
	pkg                string
	elapsed, processor time.Duration
}

// runAndNote runs a test binary and returns the code that it ended with.
func runAndNote(args []string) int {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	began := time.Now()
	err := cmd.Run()
	if cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := note(time.Since(began), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		return code
	}
	fmt.Fprintln(os.Stderr, err) // by a signal
	return 1
}

// note adds a line to the file. The tests of a package run in its folder, which names it.
func note(elapsed, processor time.Duration) error {
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(os.Getenv(envUsage), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%d %d %s\n", elapsed, processor, folder)
	return errors.Join(err, f.Close())
}

// readUsage returns what was noted, by the folders below root.
func readUsage(notes io.Reader, root string) (all []usage) {
	for lines := bufio.NewScanner(notes); lines.Scan(); {
		var u usage
		if _, err := fmt.Sscanf(lines.Text(), "%d %d", &u.elapsed, &u.processor); err != nil {
			continue
		}
		fields := strings.SplitN(lines.Text(), " ", 3)
		folder, err := filepath.Rel(root, fields[len(fields)-1])
		if err != nil {
			continue
		}
		u.pkg = path.Clean(filepath.ToSlash(folder))
		all = append(all, u)
	}
	return all
}

// printUsage says where the time went: those that took most of the processors' time, and the sum of
// all.
func printUsage(out io.Writer, all []usage) {
	if len(all) < 2 {
		return
	}
	var sum usage
	for _, u := range all {
		sum.elapsed += u.elapsed
		sum.processor += u.processor
	}
	slices.SortStableFunc(all, func(a, b usage) int { return cmp.Compare(b.processor, a.processor) })
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "elapsed\tprocessor\t  tests of")
	for _, u := range all[:min(shown, len(all))] {
		fmt.Fprintf(table, "%v\t%v\t  %s\n", u.elapsed.Round(time.Second), u.processor.Round(time.Second), u.pkg)
	}
	fmt.Fprintf(table, "%v\t%v\t  all %d, some beside each other; builds are not in it\n", sum.elapsed.Round(time.Second), sum.processor.Round(time.Second), len(all))
	_ = table.Flush()
}
