package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// results is what one run writes as JSON.
type results struct {
	Date    string
	Machine machine
	Command string
	Version string // of Sheaf
	Rows    []*row
	Failed  []string `json:",omitempty"` // the parts that ended with an error, and which
}

// row is one kind of work, done by each contender.
type row struct {
	Work    string
	Group   string // requests, deliveries, growth, media, process
	Conns   int    `json:",omitempty"`
	Unit    string
	Figures []*figure
	Targets []target
	Note    string `json:",omitempty"`
	Under   conditions

	// When it began.
	from    processors
	fsyncs  []time.Duration
	stalled int64
}

// figure is what one contender reached, once for each alternation.
type figure struct {
	Name    string // limit, sheaf, sheaf on PostgreSQL, peer; or a point of a curve
	Values  []float64
	Median  float64
	CPU     float64 `json:",omitempty"` // µs of a request
	Bytes   float64 `json:",omitempty"` // allocated for a request
	P50     float64 `json:",omitempty"` // ms
	P99     float64 `json:",omitempty"` // ms
	Void    string  `json:",omitempty"` // the error that voids it
	samples []sample
}

// sample is one alternation's.
type sample struct{ value, cpu, bytes, p50, p99 float64 }

// target is a promise, and whether it held.
type target struct {
	Text  string
	Value float64
	Bound float64
	Most  bool // the value must not be above the bound; else not below
	Holds bool
}

func (f *figure) add(s sample) {
	f.samples = append(f.samples, s)
	f.Values = append(f.Values, s.value)
	pick := func(of func(sample) float64) float64 {
		var all []float64
		for _, s := range f.samples {
			all = append(all, of(s))
		}
		return median(all)
	}
	f.Median = pick(func(s sample) float64 { return s.value })
	f.CPU = pick(func(s sample) float64 { return s.cpu })
	f.Bytes = pick(func(s sample) float64 { return s.bytes })
	f.P50 = pick(func(s sample) float64 { return s.p50 })
	f.P99 = pick(func(s sample) float64 { return s.p99 })
}

func median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// figure returns the one of that name, and makes it.
func (r *row) figure(name string) *figure {
	for _, f := range r.Figures {
		if f.Name == name {
			return f
		}
	}
	f := &figure{Name: name}
	r.Figures = append(r.Figures, f)
	return f
}

func (r *row) has(name string) bool {
	return slices.ContainsFunc(r.Figures, func(f *figure) bool { return f.Name == name && f.Void == "" && len(f.Values) > 0 })
}

// ratio is of two figures' medians, 0 when one is missing or void.
func (r *row) ratio(of, to string) float64 {
	if !r.has(of) || !r.has(to) {
		return 0
	}
	return r.figure(of).Median / r.figure(to).Median
}

// atLeast promises that of is at least bound times to.
func (r *row) atLeast(bound float64, of, to, text string) {
	if !r.has(to) {
		return // that contender does not take part in this run
	}
	v := r.ratio(of, to)
	r.Targets = append(r.Targets, target{Text: fmt.Sprintf(text, bound), Value: v, Bound: bound, Holds: v >= bound})
}

// atMost promises that a value does not exceed the bound.
func (r *row) atMost(bound, value float64, text string) {
	r.Targets = append(r.Targets, target{Text: text, Value: value, Bound: bound, Most: true, Holds: value <= bound && value > 0})
}

// print writes the table.
func (r *results) print(out io.Writer) {
	fmt.Fprintf(out, "\n%s, %s\n\n", r.Date, r.Machine)
	w := tabwriter.NewWriter(out, 2, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "work\tclients\tby\tmedian\tunit\tCPU µs\tp50 ms\tp99 ms\talloc B\tsteal %\tfsync ms\tstalls\t")
	for _, row := range r.Rows {
		for _, f := range row.Figures {
			u := row.Under
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", row.Work, blank(float64(row.Conns), "%.0f"), f.Name, f.shown(), row.Unit,
				blank(f.CPU, "%.0f"), blank(f.P50, "%.3f"), blank(f.P99, "%.3f"), blank(f.Bytes, "%.0f"),
				fmt.Sprintf("%.0f", 100*u.Steal), blank(u.Fsync, "%.2f"), blank(float64(u.Stalls), "%.0f"), row.doubt())
		}
	}
	w.Flush()
	fmt.Fprintln(out)
	r.printTargets(out)
	for _, failed := range r.Failed {
		fmt.Fprintf(out, "\nnot measured: %s", failed)
	}
}

func (r *results) printTargets(out io.Writer) {
	w := tabwriter.NewWriter(out, 2, 8, 2, ' ', 0)
	fmt.Fprintln(w, "work\tclients\tpromise\tmeasured\t")
	for _, row := range r.Rows {
		for _, t := range row.Targets {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s%s\n", row.Work, blank(float64(row.Conns), "%.0f"), t.Text, short(t.Value), t.verdict(), row.doubt())
		}
	}
	w.Flush()
}

// doubt marks a row whose figures mean nothing.
func (r *row) doubt() string {
	if r.Under.trusted() {
		return ""
	}
	return " (not to be trusted)"
}

func (t target) verdict() string {
	if t.Holds {
		return "holds"
	}
	return "MISSED"
}

func (f *figure) shown() string {
	if f.Void != "" {
		return "void: " + strings.ReplaceAll(f.Void[:min(len(f.Void), 60)], "\n", " ")
	}
	return short(f.Median)
}

func blank(v float64, format string) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf(format, v)
}

// short writes three digits, more where there are more before the point.
func short(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}
