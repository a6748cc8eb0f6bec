package main

import (
	"fmt"
	"html"
	"strings"
)

// The chart's measures, in pixels.
const (
	chartWidth = 760
	labelWidth = 190 // of the works' names
	barWidth   = 400 // of the longest bar of each work
	barHeight  = 16
	rowGap     = 14
	chartTop   = 64
)

// chartStyle reads on light and on dark.
const chartStyle = `<style>
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .title { font-size: 16px; font-weight: 600 }
  .faint { fill: #57606a; font-size: 12px }
  .limit { fill: #9aa4af } .sheaf { fill: #2563eb } .second { fill: #7aa2f7 } .peer { fill: #d97706 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .faint { fill: #9aa4af }
    .limit { fill: #6e7681 } .sheaf { fill: #4c8dff } .second { fill: #8fb4ff } .peer { fill: #f0a03c }
  }
</style>
`

// chart draws the rows that have a limit or a peer, at their largest number of clients: a bar for each
// contender, whose length is relative to the largest figure of the work.
func (r *results) chart() string {
	var out strings.Builder
	y := chartTop
	for _, row := range r.Rows {
		if row.Group == "growth" || row.Group == "media" || row.Group == "process" || row.Conns != 64 {
			continue
		}
		y = row.draw(&out, y) + rowGap
	}
	head := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="Sheaf beside the limit and the peer">`+"\n",
		chartWidth, y+40, chartWidth, y+40)
	foot := faint(y+8, fmt.Sprintf("%s · %s · %s · %s", r.Date, r.Machine, r.Version, r.Command)) + faint(y+26, r.tally()) + "</svg>\n"
	return head + chartStyle + legend() + out.String() + foot
}

func legend() string {
	return `<text class="title" x="12" y="24">Operations a second, 64 clients</text>` + "\n" +
		faint(44, "grey: the bare limit of this machine · blue: Sheaf, on SQLite and on PostgreSQL · orange: PocketBase 0.39")
}

func faint(y int, text string) string {
	return fmt.Sprintf(`<text class="faint" x="12" y="%d">%s</text>`+"\n", y, html.EscapeString(text))
}

// draw adds the bars of one work below y and returns where they end.
func (r *row) draw(out *strings.Builder, y int) int {
	most := 0.0
	for _, f := range r.Figures {
		most = max(most, f.Median)
	}
	fmt.Fprintf(out, `<text x="12" y="%d">%s</text>`+"\n", y+13, html.EscapeString(r.Work))
	for _, f := range r.Figures {
		if f.Void != "" || most == 0 {
			continue
		}
		width := max(2, barWidth*f.Median/most)
		fmt.Fprintf(out, `<rect class="%s" x="%d" y="%d" width="%.0f" height="%d" rx="2"/><text class="faint" x="%.0f" y="%d">%s</text>`+"\n",
			barClass(f.Name), labelWidth, y, width, barHeight-2, labelWidth+width+6, y+12, html.EscapeString(short(f.Median)+" "+f.Name))
		y += barHeight
	}
	return y
}

func barClass(name string) string {
	switch name {
	case "limit", "peer", "sheaf":
		return name
	}
	return "second"
}

// tally says how many promises hold.
func (r *results) tally() string {
	held, all := 0, 0
	for _, row := range r.Rows {
		for _, t := range row.Targets {
			all++
			if t.Holds {
				held++
			}
		}
	}
	return fmt.Sprintf("%d of %d promises hold", held, all)
}
