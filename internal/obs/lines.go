package obs

import (
	"io"
	"sync"
	"time"
)

const (
	// holdBack is how long a line waits for others at most.
	holdBack = 100 * time.Millisecond
	// linesFull is how many bytes are written without waiting.
	linesFull = 32 << 10
)

// lines gathers whole lines, so that a busy server writes many at once.
type lines struct {
	mu    sync.Mutex // guards all below
	w     io.Writer
	buf   []byte
	timer *time.Timer // runs while something waits
}

func newLines(w io.Writer) *lines {
	l := &lines{w: w}
	l.timer = time.AfterFunc(holdBack, l.Flush)
	return l
}

// Write takes one line. It reports no error: there is nobody to tell.
func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = append(l.buf, line...)
	l.added(len(line))
	return len(line), nil
}

// add lets the line be appended where it waits.
func (l *lines) add(line func(b []byte, r *Request) []byte, r *Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := len(l.buf)
	l.buf = line(l.buf, r)
	l.added(len(l.buf) - before)
}

func (l *lines) added(n int) {
	switch {
	case len(l.buf) >= linesFull:
		l.write()
	case len(l.buf) == n: // the first
		l.timer.Reset(holdBack)
	}
}

// Flush writes what waits.
func (l *lines) Flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write()
}

func (l *lines) write() {
	if len(l.buf) == 0 {
		return
	}
	l.timer.Stop()
	l.w.Write(l.buf)
	l.buf = l.buf[:0]
}
