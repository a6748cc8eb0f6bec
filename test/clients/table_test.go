package clients

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A column is a client. start prepares it, for all of its cells.
type column struct {
	name    string
	start   func(t *testing.T, s *site) func(t *testing.T, task object) object
	instead map[string]func(t *testing.T, c *cell) // rows that it does in a way of its own
	without []string                               // rows that it does not offer
}

// columns are the clients of this build; n8n's is added by its file.
var columns = []column{{name: "Go", start: startGo}, {name: "Python", start: startPython}, {name: "TypeScript", start: startTypeScript}}

// Every client does what every other does: the table of docs/clients.md.
func TestClients_DoTheSame(t *testing.T) {
	s := newSite(t)
	results := newTable()
	t.Run("", func(t *testing.T) {
		for _, c := range columns {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				play, key := c.start(t, s), s.program.Workspace(t, c.name)
				for _, r := range rows {
					if slices.Contains(c.without, r.name) {
						continue
					}
					run := r.run
					if other := c.instead[r.name]; other != nil {
						run = other
					}
					ok := t.Run(r.name, func(t *testing.T) { run(t, &cell{site: s, key: key, play: play}) })
					results.set(r.name, c.name, ok)
				}
			})
		}
	})
	t.Log("\n" + results.String())
}

// table is who did what.
type table struct {
	mu sync.Mutex
	ok map[string]map[string]bool // guarded by mu; by row and column
}

func newTable() *table { return &table{ok: map[string]map[string]bool{}} }

func (t *table) set(row, column string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ok[row] == nil {
		t.ok[row] = map[string]bool{}
	}
	t.ok[row][column] = ok
}

// String draws the table; a cell that was not reached, or is not offered, is empty.
func (t *table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-28s", "")
	for _, c := range columns {
		fmt.Fprintf(&b, "%-12s", c.name)
	}
	for _, r := range rows {
		fmt.Fprintf(&b, "\n%-28s", r.name)
		for _, c := range columns {
			word := ""
			if ok, done := t.ok[r.name][c.name]; done {
				word = map[bool]string{true: "yes", false: "NO"}[ok]
			}
			fmt.Fprintf(&b, "%-12s", word)
		}
	}
	return b.String()
}
