package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// event is one line of go test -json; see `go doc test2json`.
type event struct {
	Action     string
	Package    string
	Test       string
	Output     string
	ImportPath string
}

// report gathers what go test says and prints the part that a reader needs.
type report struct {
	mu              sync.Mutex // guards all below: several runs report at once
	out             io.Writer
	passed, failed  int
	skipped         []string
	output          map[string]*pending // by package
	failedInPackage map[string]int
}

// pending is what a package's tests have printed and nobody has seen: it is dropped when they pass.
type pending struct {
	order []string            // tests, in the order of their first line
	lines map[string][]string // by test; the package's own under ""
}

func newReport(out io.Writer) *report {
	return &report{out: out, output: map[string]*pending{}, failedInPackage: map[string]int{}}
}

// read takes events until their end. A line that is no event is printed as it is.
func (r *report) read(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			r.line(line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read from go test: %w", err)
		}
	}
}

// line takes one line of go test.
func (r *report) line(text []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var e event
	if json.Unmarshal(text, &e) == nil {
		r.add(e)
	} else {
		fmt.Fprintf(r.out, "%s", text)
	}
}

func (r *report) add(e event) {
	switch {
	case e.Action == "build-output":
		fmt.Fprint(r.out, e.Output)
	case e.Action == "output":
		r.keep(e)
	case e.Test == "":
		r.endPackage(e)
	default:
		r.endTest(e)
	}
}

func (r *report) endTest(e event) {
	switch e.Action {
	case "pass":
		r.passed++
		r.take(e.Package, e.Test)
	case "skip":
		r.skipped = append(r.skipped, e.Package+" "+e.Test+reason(r.take(e.Package, e.Test)))
	case "fail":
		r.failed++
		r.failedInPackage[e.Package]++
		r.print(r.take(e.Package, e.Test))
	}
}

// endPackage prints go test's line about the package. Before it, when the package failed, comes all
// that is left: a panic, a time-out, the words of a TestMain. If no test of its own failed, the
// package counts as one failure.
func (r *report) endPackage(e event) {
	if e.Action != "pass" && e.Action != "fail" && e.Action != "skip" {
		return
	}
	own := r.take(e.Package, "")
	if e.Action == "fail" {
		if r.failedInPackage[e.Package] == 0 {
			r.failed++
		}
		for _, test := range r.unfinished(e.Package) {
			r.print(r.take(e.Package, test))
		}
		r.print(own)
	} else {
		r.print(slices.DeleteFunc(own, func(line string) bool { return !isPackageLine(line) }))
	}
	delete(r.output, e.Package)
}

func (r *report) keep(e event) {
	p := r.output[e.Package]
	if p == nil {
		p = &pending{lines: map[string][]string{}}
		r.output[e.Package] = p
	}
	if _, ok := p.lines[e.Test]; !ok {
		p.order = append(p.order, e.Test)
	}
	p.lines[e.Test] = append(p.lines[e.Test], e.Output)
}

// take returns what a test has printed, and forgets it.
func (r *report) take(pkg, test string) []string {
	p := r.output[pkg]
	if p == nil {
		return nil
	}
	lines := p.lines[test]
	p.lines[test] = nil
	return lines
}

// unfinished returns the package's tests that still have output.
func (r *report) unfinished(pkg string) []string {
	if p := r.output[pkg]; p != nil {
		return p.order
	}
	return nil
}

func (r *report) print(lines []string) {
	for _, line := range lines {
		if !isProgress(line) {
			fmt.Fprint(r.out, line)
		}
	}
}

// summary prints the skipped tests and the totals.
func (r *report) summary() {
	for _, s := range r.skipped {
		fmt.Fprintln(r.out, "skipped:", s)
	}
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped\n", r.passed, r.failed, len(r.skipped))
}

// verdict returns why the run has failed, or nil; err is the error of go test itself.
func (r *report) verdict(err error) error {
	switch {
	case r.failed > 0:
		return errors.New("tests failed")
	case err != nil:
		return fmt.Errorf("go test: %w", err)
	case len(r.skipped) > 0:
		return errors.New("tests were skipped, which is a failure here")
	case r.passed == 0:
		return errors.New("no test ran")
	}
	return nil
}

// isPackageLine recognises go test's own line about a package.
func isPackageLine(line string) bool {
	for _, start := range []string{"ok  \t", "FAIL\t", "?   \t"} {
		if strings.HasPrefix(line, start) {
			return true
		}
	}
	return false
}

// isProgress recognises the lines that only say which test runs, or again that all passed or not.
func isProgress(line string) bool {
	for _, start := range []string{"=== ", "PASS\n", "FAIL\n"} {
		if strings.HasPrefix(line, start) {
			return true
		}
	}
	return false
}

// reason returns why a test was skipped: the last thing it said.
func reason(lines []string) string {
	for i := len(lines) - 1; i >= 0; i-- {
		said := strings.TrimSpace(lines[i])
		if said != "" && !isProgress(lines[i]) && !strings.HasPrefix(said, "--- ") {
			return ": " + said
		}
	}
	return ""
}
