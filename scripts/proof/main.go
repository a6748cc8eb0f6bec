// Command proof runs the long form of every harness, one after the other, and prints their rows as
// one table in Markdown, which it also writes to a file. A harness that fails says why at once, and does
// not stop the others. Those that only wait for minutes to pass run beside all others. It ends with 1 when a
// test failed, or when a harness left no row:
//
//	go run ./scripts/proof          what `make proof` does
//	go run ./scripts/proof -long    without a limit of time
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/sheaftest/proctest"
	"sheaf.dev/internal/sheaftest/proof"
)

// A harness is the tests of one package that leave rows.
type harness struct {
	pkg, run string
	rows     int  // at least
	beside   bool // it loads the machine little, and what others do does not matter to it
	// tags are those of its build, and install is a script that brings what it needs, where ./scripts/test does not.
	tags, install string
}

func main() {
	long := flag.Bool("long", false, "the longest form of each harness")
	only := flag.String("only", "", "run only the harnesses whose package or tests contain this")
	file := flag.String("table", filepath.Join(os.TempDir(), "sheaf-proof.md"), "write the table to this file too")
	flag.Parse()
	began := time.Now()
	err := run(*long, *only, *file)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	fmt.Fprintf(os.Stderr, "all of it: %v; the table is in %s\n", time.Since(began).Round(time.Second), *file)
	if err != nil {
		os.Exit(1)
	}
}

func run(long bool, only, table string) error {
	folder, err := os.MkdirTemp("", "proof")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	cluster, err := pgtest.Launch()
	if err != nil {
		return err
	}
	env := append(append(os.Environ(), cluster.Env()...), sheaftest.EnvRequire+"=1", proof.EnvLevel+"="+level(long),
		proctest.EnvPrograms+"="+folder)
	out, err := os.Create(table)
	if err != nil {
		return errors.Join(err, cluster.Close())
	}
	err = runAll(env, folder, only, io.MultiWriter(os.Stdout, out))
	return errors.Join(err, out.Close(), cluster.Close())
}

func level(long bool) string {
	if long {
		return "long"
	}
	return "proof"
}

func runAll(env []string, folder, only string, table io.Writer) error {
	fmt.Fprintln(table, "| harness | figures | lost | control | caught |\n|---|---|---|---|---|")
	errs := make([]error, len(harnesses))
	var beside sync.WaitGroup
	for i, h := range harnesses {
		if !strings.Contains(h.pkg+" "+h.run, only) {
			continue
		}
		rows := filepath.Join(folder, fmt.Sprintf("%d.ndjson", i))
		prove := func() { errs[i] = h.prove(append(slices.Clone(env), proof.EnvRows+"="+rows), rows, table) }
		if h.beside {
			beside.Go(prove)
		} else {
			prove()
		}
	}
	beside.Wait()
	return errors.Join(errs...)
}

var printing sync.Mutex // one harness prints its rows at a time

// prove runs the harness and prints its rows.
func (h harness) prove(env []string, file string, table io.Writer) error {
	began := time.Now()
	if h.install != "" {
		if out, err := exec.Command(h.install).CombinedOutput(); err != nil {
			err = fmt.Errorf("%s %s: %s: %w\n%s", h.pkg, h.run, h.install, err, out)
			fmt.Fprintln(os.Stderr, "FAILED:", err)
			return err
		}
	}
	cmd := exec.Command("go", "test", "-count=1", "-vet=off", "-timeout=0", "-tags", h.tags, "-run", h.run, h.pkg)
	cmd.Env = append(env, "CGO_ENABLED=0") // as users build it, and as the tests have built it
	out, failed := cmd.CombinedOutput()
	printing.Lock()
	defer printing.Unlock()
	n, err := printRows(table, file)
	fmt.Fprintf(os.Stderr, "%s %s: %v\n", h.pkg, h.run, time.Since(began).Round(time.Second))
	if failed != nil {
		// The whole run may go on for hours. The output is printed here, and the end repeats only which harness it was.
		os.Stderr.Write(out)
		err = fmt.Errorf("%s %s: %w: see above", h.pkg, h.run, failed)
	} else if err == nil && n < h.rows {
		err = fmt.Errorf("%s %s left %d rows, want %d", h.pkg, h.run, n, h.rows)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "FAILED:", err)
	}
	return err
}

func printRows(w io.Writer, file string) (n int, err error) {
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var r proof.Row
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return n, err
		}
		printRow(w, r)
		n++
	}
	return n, lines.Err()
}

func printRow(w io.Writer, r proof.Row) {
	figures := make([]string, len(r.Figures))
	for i, f := range r.Figures {
		figures[i] = fmt.Sprintf("%s %v", f.Name, readable(f.Value))
	}
	caught := "no"
	if r.Caught {
		caught = "yes"
	}
	fmt.Fprintf(w, "| %s | %s | %d | %s | %s |\n", r.Name, strings.Join(figures, ", "), r.Lost, r.Control, caught)
}

// readable writes whole numbers with commas: 1,495,294. In JSON they were floats.
func readable(value any) any {
	f, ok := value.(float64)
	if !ok || f != float64(int64(f)) {
		return value
	}
	digits := strconv.FormatInt(int64(f), 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
