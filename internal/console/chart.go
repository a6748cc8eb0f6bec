package console

import (
	"strconv"
	"time"

	"sheaf.dev/internal/sheaf"
)

// charts are drawn by the server: bars in an SVG, and the same as a table.
type charts struct {
	Day  bool // the last day; else the last hour
	All  []chart
	Rows []chartRow    // the same figures as a table
	From time.Time     // when the first column begins
	step time.Duration // that a column stands for
}

// chart is one drawing, chartHeight high.
type chart struct {
	Name  string
	Parts []part
	Bars  []bar
	Most  string // what the highest column stands for
	Width int64
}

// part is what one colour means, and the sum of it.
type part struct{ Class, Text, Sum string }

// bar is a part of a column.
type bar struct {
	Class           string
	X, Y, W, Height int64
	Title           string
}

// chartRow is a line of the table.
type chartRow struct {
	At time.Time
	sheaf.Counts
}

// P95 is what 95 of 100 attempts did not exceed.
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
	rowColumns   = 5 // are one line of the table
)

// charts reads the last hour, a column a minute, or the last day, one for 24.
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
	out.draw(columns[:])
	return out, nil
}

// draw makes the charts, and the rows of the table that says the same.
func (c *charts) draw(columns []sheaf.Counts) {
	c.All = []chart{
		c.stack("Requests", columns, count,
			measure{"good", "answered", func(s *sheaf.Counts) int64 { return s.Requests - s.RateLimited }},
			measure{"warn", "rate-limited", func(s *sheaf.Counts) int64 { return s.RateLimited }}),
		c.stack("Delivery attempts", columns, count,
			measure{"good", "delivered", func(s *sheaf.Counts) int64 { return s.Delivered }},
			measure{"warn", "to be retried", func(s *sheaf.Counts) int64 { return s.Retried }},
			measure{"bad", "failed for good", func(s *sheaf.Counts) int64 { return s.Failed }}),
		c.stack("Time per attempt", columns, micros,
			measure{"accent", "95 of 100 took at most", func(s *sheaf.Counts) int64 { return s.Percentile(95).Microseconds() }}),
	}
	for i := 0; i < len(columns); i += rowColumns {
		c.Rows = append(c.Rows, chartRow{c.at(i), sum(columns[i : i+rowColumns])})
	}
}

// at is when a column begins.
func (c *charts) at(column int) time.Time { return c.From.Add(time.Duration(column) * c.step) }

// sum adds the counts of all columns.
func sum(columns []sheaf.Counts) (out sheaf.Counts) {
	for i := range columns {
		out.Add(columns[i])
	}
	return out
}

// measure is a figure of some counts.
type measure struct {
	class, text string
	of          func(*sheaf.Counts) int64
}

func count(n int64) string { return strconv.FormatInt(n, 10) }

func micros(n int64) string {
	if n == 0 {
		return "–" // nothing was tried
	}
	return millis(time.Duration(n) * time.Microsecond)
}

// stack draws a column for each time, of measures above each other.
func (c *charts) stack(name string, columns []sheaf.Counts, show func(int64) string, measures ...measure) chart {
	out := chart{Name: name, Width: chartColumns * columnWidth}
	most := int64(0)
	for i := range columns {
		most = max(most, height(&columns[i], measures))
	}
	if most > 0 {
		out.Most = show(most)
	}
	whole := sum(columns)
	for _, m := range measures {
		out.Parts = append(out.Parts, part{m.class, m.text, show(m.of(&whole))})
	}
	for i := range columns {
		out.Bars = append(out.Bars, c.column(i, &columns[i], most, show, measures)...)
	}
	return out
}

// height is how high a column is, in the unit of its measures.
func height(s *sheaf.Counts, measures []measure) (sum int64) {
	for _, m := range measures {
		sum += m.of(s)
	}
	return sum
}

// column draws the parts of one column from the bottom up. A part that is there is at least one
// unit high, so that it is seen.
func (c *charts) column(i int, s *sheaf.Counts, most int64, show func(int64) string, measures []measure) (out []bar) {
	below := int64(0)
	for _, m := range measures {
		n := m.of(s)
		if n <= 0 {
			continue
		}
		from := below * chartHeight / most
		below += n
		high := max(below*chartHeight/most-from, 1)
		out = append(out, bar{m.class, int64(i) * columnWidth, max(chartHeight-from-high, 0), columnWidth - 2, high,
			c.at(i).Format("15:04 UTC") + ": " + m.text + " " + show(n)})
	}
	return out
}
