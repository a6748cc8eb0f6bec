package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// progressBar shows the progress of a command on a terminal. Elsewhere, as in a script, it writes
// nothing.
type progressBar struct {
	out   io.Writer // nil: there is no terminal
	total int
	now   func() time.Time
	began time.Time
	shown time.Time
}

// newProgressBar returns a bar that writes only if out is a terminal.
func newProgressBar(out io.Writer, total int, now func() time.Time) *progressBar {
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return &progressBar{now: now}
	}
	return &progressBar{out: out, total: total, now: now, began: now()}
}

// drawEvery is the shortest interval between two drawings.
const drawEvery = 100 * time.Millisecond

// at draws the bar with `done` of its total.
func (b *progressBar) at(done int) {
	now := b.now()
	if b.out == nil || now.Sub(b.shown) < drawEvery {
		return
	}
	b.shown = now
	const width = 30
	part := float64(done) / float64(max(b.total, 1))
	full := min(int(part*width), width)
	fmt.Fprintf(b.out, "\r[%s%s] %3.0f%%  line %d of %d, %.0f a second\x1b[K", strings.Repeat("#", full), strings.Repeat(" ", width-full),
		100*part, done, b.total, float64(done)/max(now.Sub(b.began).Seconds(), 0.001))
}

// clear removes the bar from the terminal.
func (b *progressBar) clear() {
	if b.out != nil && !b.shown.IsZero() {
		fmt.Fprint(b.out, "\r\x1b[K")
		b.shown = time.Time{}
	}
}
