package console

import (
	"time"

	"sheaf.dev/internal/sheaf"
)

// charts are drawn by the server: bars in an SVG, and the same figures as a table.
type charts struct {
	Day  bool // the last day; otherwise the last hour
	All  []chart
	Rows []chartRow    // rows of the table
	From time.Time     // the beginning of the first column
	step time.Duration // time that a column covers
}

// chart is one drawing, chartHeight high.
type chart struct {
	Name  string
	Parts []part
	Bars  []bar
	Most  string // the value of the highest column
	Width int64
}

// part is the meaning of one colour, and its sum.
type part struct{ Class, Text, Sum string }

// bar is a part of a column.
type bar struct {
	Class           string
	X, Y, W, Height int64
	Title           string
}

// chartRow is a row of the table.
type chartRow struct {
	At time.Time
	sheaf.Counts
}

// P95 returns the 95th percentile of the durations of attempts.
func (r chartRow) P95() string {
	if r.Attempts() == 0 {
		return "–"
	}
	return millis(r.Percentile(95))
}

const (
	chartColumns = 60
	chartHeight  = 100
	columnWidth  = 10
	rowColumns   = 5 // columns in one row of the table
)

// charts reads the last hour, with a column for each minute, or the last day, with a column for 24
// minutes.
func (v *visit) charts(day bool) (charts, error) {
	out := charts{Day: day, step: time.Minute}
	if day {
		out.step = 24 * time.Minute
	}
	end := v.began.UTC().Truncate(time.Minute).Add(time.Minute)
	out.From = end.Add(-chartColumns * out.step)
	minutes, err := v.console.app.Minutes(v.r.Context(), v.caller, out.From)
	if err != nil {
		return out, err
	}
	var columns [chartColumns]sheaf.Counts
	for _, m := range minutes {
		// Another node's clock may be ahead.
		if i := int(m.At.Sub(out.From) / out.step); i >= 0 && i < chartColumns {
			columns[i].Add(m.Counts)
		}
	}
	count := func(n int64) string { return figure(n) }
	micros := func(n int64) string {
		if n == 0 {
			return "–" // there was no attempt
		}
		return millis(time.Duration(n) * time.Microsecond)
	}
	out.All = []chart{
		out.stack("Requests", columns[:], count,
			measure{"good", "answered", func(s *sheaf.Counts) int64 { return s.Requests - s.RateLimited }},
			measure{"warn", "rate-limited", func(s *sheaf.Counts) int64 { return s.RateLimited }}),
		out.stack("Delivery attempts", columns[:], count,
			measure{"good", "delivered", func(s *sheaf.Counts) int64 { return s.Delivered }},
			measure{"warn", "will be retried", func(s *sheaf.Counts) int64 { return s.Retried }},
			measure{"bad", "failed", func(s *sheaf.Counts) int64 { return s.Failed }}),
		out.stack("Time per attempt", columns[:], micros,
			measure{"accent", "p95", func(s *sheaf.Counts) int64 { return s.Percentile(95).Microseconds() }}),
	}
	for i := 0; i < len(columns); i += rowColumns {
		out.Rows = append(out.Rows, chartRow{out.at(i), sum(columns[i : i+rowColumns])})
	}
	return out, nil
}

// at returns the beginning of a column.
func (c *charts) at(column int) time.Time { return c.From.Add(time.Duration(column) * c.step) }

// sum returns the counts of all columns together.
func sum(columns []sheaf.Counts) (out sheaf.Counts) {
	for i := range columns {
		out.Add(columns[i])
	}
	return out
}

// measure is a figure that a chart shows.
type measure struct {
	class, text string
	of          func(*sheaf.Counts) int64
}

// stack draws a column for each time. The measures are parts of the column, from the bottom up. A
// part that is not zero is at least one unit high, so that it can be seen.
func (c *charts) stack(name string, columns []sheaf.Counts, show func(int64) string, measures ...measure) chart {
	out := chart{Name: name, Width: chartColumns * columnWidth}
	most := int64(0) // highest value of all columns
	for i := range columns {
		height := int64(0)
		for _, m := range measures {
			height += m.of(&columns[i])
		}
		most = max(most, height)
	}
	if most > 0 {
		out.Most = show(most)
	}
	whole := sum(columns)
	for _, m := range measures {
		out.Parts = append(out.Parts, part{m.class, m.text, show(m.of(&whole))})
	}
	for i := range columns {
		below := int64(0)
		for _, m := range measures {
			n := m.of(&columns[i])
			if n <= 0 {
				continue
			}
			from := below * chartHeight / most
			below += n
			high := max(below*chartHeight/most-from, 1)
			out.Bars = append(out.Bars, bar{m.class, int64(i) * columnWidth, max(chartHeight-from-high, 0), columnWidth - 2, high,
				c.at(i).Format("15:04 UTC") + ": " + m.text + " " + show(n)})
		}
	}
	return out
}
