// Command proof runs the long form of every harness, one package after the other, and prints their rows as one table
// in Markdown. It ends with 1 when a test failed, or when a harness left no row:
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
	"strings"
	"time"

	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/sheaftest/proof"
)

// A harness is the tests of one package that leave rows.
type harness struct {
	pkg, run string
	rows     int // at least
}

func main() {
	long := flag.Bool("long", false, "the longest form of each harness")
	only := flag.String("only", "", "run only the harnesses whose package or tests contain this")
	flag.Parse()
	if err := run(*long, *only); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(long bool, only string) error {
	folder, err := os.MkdirTemp("", "proof")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	cluster, err := pgtest.Launch()
	if err != nil {
		return err
	}
	env := append(os.Environ(), pgtest.EnvURL+"="+cluster.URL(), "SHEAF_TEST_REQUIRE=1", proof.EnvLevel+"="+level(long))
	return errors.Join(runAll(env, folder, only), cluster.Close())
}

func level(long bool) string {
	if long {
		return "long"
	}
	return "proof"
}

func runAll(env []string, folder, only string) error {
	var errs []error
	fmt.Println("| harness | figures | lost | control | caught |\n|---|---|---|---|---|")
	for i, h := range harnesses {
		if !strings.Contains(h.pkg+" "+h.run, only) {
			continue
		}
		rows := filepath.Join(folder, fmt.Sprintf("%d.ndjson", i))
		if err := h.prove(append(env, proof.EnvRows+"="+rows), rows); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// prove runs the harness and prints its rows.
func (h harness) prove(env []string, file string) error {
	began := time.Now()
	cmd := exec.Command("go", "test", "-count=1", "-vet=off", "-timeout=0", "-run", h.run, h.pkg)
	cmd.Env = env
	out, failed := cmd.CombinedOutput()
	n, err := printRows(os.Stdout, file)
	fmt.Fprintf(os.Stderr, "%s %s: %v\n", h.pkg, h.run, time.Since(began).Round(time.Second))
	if failed != nil {
		return fmt.Errorf("%s %s: %w\n%s", h.pkg, h.run, failed, out)
	}
	if err == nil && n < h.rows {
		err = fmt.Errorf("%s %s left %d rows, want %d", h.pkg, h.run, n, h.rows)
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
		figures[i] = fmt.Sprintf("%s %v", f.Name, f.Value)
	}
	caught := "no"
	if r.Caught {
		caught = "yes"
	}
	fmt.Fprintf(w, "| %s | %s | %d | %s | %s |\n", r.Name, strings.Join(figures, ", "), r.Lost, r.Control, caught)
}
