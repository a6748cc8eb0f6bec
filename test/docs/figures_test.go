package docs

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// The page about performance has one table of figures, between these two lines. It is that of the last whole run.
const (
	performancePage = "../../docs/performance.md"
	lastRun         = "../../bench/results/latest.json"
	figuresFrom     = "<!-- figures of bench/results/latest.json: go test ./test/docs -run TestFigures -update -->\n"
	figuresTo       = "<!-- end of the figures -->\n"
)

// run is what of a run of make bench is shown.
type run struct {
	Date, Version string
	Rows          []struct {
		Work    string
		Conns   int
		Targets []struct {
			Text  string
			Value float64
			Holds bool
		}
		Figures []struct {
			Name string
			CPU  float64
		}
		Under struct{ Steal float64 }
	}
}

// What the page promises and has measured is what make bench has written down.
func TestFigures_AreThoseOfTheLastRun(t *testing.T) {
	var last run
	text, err := os.ReadFile(lastRun)
	if err == nil {
		err = json.Unmarshal(text, &last)
	}
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(performancePage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(page), figuresFrom)
	shown, after, ends := strings.Cut(rest, figuresTo)
	if !begins || !ends {
		t.Fatalf("%s has no place for the figures", performancePage)
	}
	want := last.table()
	if strings.Count(want, "\n") < 20 {
		t.Errorf("the last run has few promises:\n%s", want)
	}
	if *update {
		if err := os.WriteFile(performancePage, []byte(before+figuresFrom+want+figuresTo+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if shown != want {
		t.Errorf("%s shows other figures than the last run has (-update writes them)", performancePage)
	}
}

// table has a line for each promise; those that do not hold are bold. From 10 % on, of which make bench
// says that a row is not to be trusted, it tells what the host took.
func (r *run) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "The run of %s, at %s.\n\n| work | clients | promised | measured | Sheaf's processor time |\n|---|---|---|---|---|\n", r.Date, r.Version)
	for _, row := range r.Rows {
		clients, took := "", ""
		if row.Conns > 0 {
			clients = fmt.Sprint(row.Conns)
		}
		for _, f := range row.Figures {
			if f.Name == "sheaf" && f.CPU > 0 {
				took = fmt.Sprintf("%.0f µs", f.CPU)
			}
		}
		for _, target := range row.Targets {
			measured := fmt.Sprintf("%.3g", target.Value)
			if target.Value >= 1000 {
				measured = fmt.Sprintf("%.0f", target.Value)
			}
			if !target.Holds {
				measured = "**" + measured + "**"
			}
			if row.Under.Steal > 0.1 {
				measured += fmt.Sprintf(" (%.0f %% of steal)", 100*row.Under.Steal)
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", row.Work, clients, target.Text, measured, took)
		}
	}
	return b.String()
}
