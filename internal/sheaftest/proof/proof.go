// Package proof has what the harnesses of `make proof` share: how long each of them runs, and the
// row that it adds to the table. A harness is an ordinary test: in ./scripts/test it runs in its
// quick form.
package proof

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// EnvLevel chooses the form: nothing is quick, "proof" or "long". EnvRows names the file that rows
// are appended to.
const (
	EnvLevel = "SHEAF_PROOF"
	EnvRows  = "SHEAF_PROOF_ROWS"
)

// Rounds returns the number of rounds in the chosen form.
func Rounds(quick, proof, long int) int {
	switch level := os.Getenv(EnvLevel); level {
	case "":
		return quick
	case "proof":
		return proof
	case "long":
		return long
	default:
		panic(EnvLevel + " is " + level + ": want proof, long or nothing")
	}
}

// Tries is the number of attempts to notice a fault that shows only by chance, such as a kill in
// the middle of a client's request.
const Tries = 10

// Catches reports whether a try notices the planted fault.
func Catches(try func() bool) bool {
	for range Tries {
		if try() {
			return true
		}
	}
	return false
}

// A Row is the result of one harness. It holds only if nothing was lost and the control was caught.
type Row struct {
	// Name says what was tried, such as "kill -9, SQLite". The table has the rows in the order of
	// their harnesses.
	Name string
	// Figures are the counts, in the order of printing.
	Figures []Figure
	// Lost counts broken promises: acknowledged but lost, shown but not allowed, reached but
	// forbidden.
	Lost int
	// Control is the planted fault, and Caught whether this harness noticed it.
	Control string
	Caught  bool
}

// A Figure is one count with its name: {"kills", 500}. Values are printed by %v.
type Figure struct {
	Name  string
	Value any
}

// String returns the row as a line for a person.
func (r Row) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", r.Name)
	for _, f := range r.Figures {
		fmt.Fprintf(&b, "%s %v, ", f.Name, f.Value)
	}
	fmt.Fprintf(&b, "lost = %d; control (%s) caught: %t", r.Lost, r.Control, r.Caught)
	return b.String()
}

var appending sync.Mutex // one row at a time; several processes append with one write each

// Report logs the row, adds it to the table if one is made, and fails the test unless the row
// holds.
func (r Row) Report(t testing.TB) {
	t.Helper()
	t.Log(r)
	if r.Lost != 0 {
		t.Errorf("%s: lost %d, want 0", r.Name, r.Lost)
	}
	if r.Control == "" || !r.Caught {
		t.Errorf("%s: the planted fault (%s) was not caught, so the row proves nothing", r.Name, r.Control)
	}
	if file := os.Getenv(EnvRows); file != "" {
		if err := r.appendTo(file); err != nil {
			t.Errorf("add the row to the table: %v", err)
		}
	}
}

// appendTo writes the row as one line of JSON; durations become texts.
func (r Row) appendTo(file string) error {
	r.Figures = slices.Clone(r.Figures)
	for i, f := range r.Figures {
		if d, ok := f.Value.(time.Duration); ok {
			r.Figures[i].Value = d.String()
		}
	}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	appending.Lock()
	defer appending.Unlock()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}
