package docs

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// Two pages have a table of figures of the last whole run, between these two lines.
const (
	lastRun     = "../../bench/results/latest.json"
	figuresFrom = "<!-- figures of bench/results/latest.json: go test ./test/docs -run TestFigures -update -->\n"
	figuresTo   = "<!-- end of the figures -->\n"
)

// headlines are the works whose promises the page about performance shows, beside those that do not hold.
var headlines = []string{
	"get a project", "list 50 with total", "update a project", "create a project", "deliver, attempts recorded", "commit to arrival at 100/s",
	"ready, 1 million projects", "search, first page", "read a shared page of 10 KB", "resident memory, idle",
}

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

// The figures on both pages are those that make bench has saved.
func TestFigures_AreThoseOfTheLastRun(t *testing.T) {
	var last run
	text, err := os.ReadFile(lastRun)
	if err == nil {
		err = json.Unmarshal(text, &last)
	}
	if err != nil {
		t.Fatal(err)
	}
	all, short := last.table(nil), last.table(headlines)
	if strings.Count(all, "\n") < 20 || strings.Count(short, "\n") < len(headlines) {
		t.Errorf("the last run has few promises:\n%s", all)
	}
	checkFigures(t, "../../bench/results/README.md", all)
	checkFigures(t, "../../docs/performance.md", short)
}

// checkFigures fails unless the table of the page is want. With -update it writes it.
func checkFigures(t *testing.T, path, want string) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(page), figuresFrom)
	shown, after, ends := strings.Cut(rest, figuresTo)
	if !begins || !ends {
		t.Fatalf("%s has no place for the figures", path)
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+figuresFrom+want+figuresTo+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if shown != want {
		t.Errorf("%s shows other figures than the last run has (-update writes them)", path)
	}
}

// table returns a line for each promise of the works, or of all works if there are none, and for each promise
// that does not hold, which is bold. From 10 % of steal on, where make bench calls a row unreliable, the line shows it.
func (r *run) table(works []string) string {
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
			if works != nil && !slices.Contains(works, row.Work) && target.Holds {
				continue
			}
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
