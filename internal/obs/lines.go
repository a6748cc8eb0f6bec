package obs

import (
	"io"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// holdBack is how long a line may wait for others, to be written together with them.
	holdBack = 100 * time.Millisecond
	// linesFull is how many bytes are written without waiting for more.
	linesFull = 32 << 10
	// linesMost is how many bytes may wait; lines beyond it are dropped.
	linesMost = 1 << 20
	// warnWithin is how long logging a warning blocks until the warning is written.
	warnWithin = 100 * time.Millisecond
	// closeWithin is how long Close blocks until everything is written.
	closeWithin = time.Second
)

// Lines is a buffered log writer that never blocks a request, or the end of the program, for long. It
// buffers lines and writes them from its own goroutine. While the reader at the other end does not
// read, up to linesMost bytes are buffered. Further lines are dropped and counted. When the reader is
// back, a line reports their number.
//
//	Write, add ──► buf ──(32 KiB, or after 100 ms)──► drain ──► w
//	               │  full: dropped, counted            │ writes without the lock; buf and spare take turns
//	flush, Close ──┴──► wait until written ≥ queued, a second at most
type Lines struct {
	w io.Writer

	mu      sync.Mutex    // guards all below; never held while w is written to
	buf     []byte        // bytes that wait to be written
	spare   []byte        // the buffer that was written last, to be used again
	timer   *time.Timer   // ends the wait of the first line in buf
	writing bool          // drain is running
	wrote   chan struct{} // closed and replaced when a write has ended
	// queued and written count all bytes ever buffered and written out. To wait for its lines, a caller
	// waits until written has reached the value that queued had then.
	queued, written int64
	// stalled is set when a flush has timed out. Later flushes return at once until a write ends.
	stalled     bool
	dropped     int64                    // lines dropped since the last line that reported drops
	ever        int64                    // lines dropped since the start
	tail        tail                     // the newest lines
	droppedLine func(lines int64) []byte // returns the line that reports the dropped lines
}

// NewLines returns a writer of lines to w.
func NewLines(w io.Writer) *Lines {
	l := &Lines{w: w, wrote: make(chan struct{}), droppedLine: func(int64) []byte { return nil }}
	l.timer = time.AfterFunc(holdBack, l.start)
	return l
}

// Write takes one line, which may wait for others. It returns no error, because the log is where errors go.
func (l *Lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.append(func(b []byte) []byte { return append(b, line...) })
	return len(line), nil
}

// add is Write for the line of a request, which is encoded where it waits and not copied there.
func (l *Lines) add(line func(b []byte, r *Request) []byte, r *Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.append(func(b []byte) []byte { return line(b, r) })
}

// append appends a line, or counts it as dropped. The caller holds the lock.
func (l *Lines) append(line func([]byte) []byte) {
	before := len(l.buf)
	if before >= linesMost {
		l.dropped++
		l.ever++
		return
	}
	l.buf = line(l.buf)
	l.tail.add(l.buf[before:])
	l.queued += int64(len(l.buf) - before)
	switch {
	case l.writing: // drain checks buf again after each write
	case len(l.buf) >= linesFull:
		l.startLocked()
	case before == 0:
		l.timer.Reset(holdBack)
	}
}

// start writes what waits, from a goroutine of its own.
func (l *Lines) start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.startLocked()
}

// startLocked begins to write what was gathered, on a goroutine that ends when nothing is left. l
// is locked.
func (l *Lines) startLocked() {
	if !l.writing && len(l.buf) > 0 {
		l.writing = true
		l.timer.Stop()
		go l.drain()
	}
}

// drain writes until nothing waits.
func (l *Lines) drain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.buf) > 0 {
		l.appendDropped()
		out := l.buf
		l.buf = l.spare[:0]
		l.mu.Unlock()
		l.w.Write(out) // an error cannot be reported: this is the log
		l.mu.Lock()
		l.spare = out
		l.written += int64(len(out))
		l.stalled = false
		close(l.wrote)
		l.wrote = make(chan struct{})
	}
	l.writing = false
}

// appendDropped appends the line that says how many were dropped. It belongs at the end: the
// dropped lines came later than all waiting lines.
func (l *Lines) appendDropped() {
	if l.dropped == 0 {
		return
	}
	line := l.droppedLine(l.dropped)
	l.dropped = 0
	l.queued += int64(len(line))
	l.buf = append(l.buf, line...)
}

// flush starts writing the buffer and blocks until it is written, at most for `limit`. After one flush
// has timed out, later flushes return at once until a write ends.
func (l *Lines) flush(limit time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.startLocked(); !l.stalled {
		l.await(limit)
	}
}

// await waits until all that is queued now is written, or for limit. The caller holds the lock,
// which is free while it waits.
func (l *Lines) await(limit time.Duration) {
	over := time.NewTimer(limit)
	defer over.Stop()
	for all := l.queued; l.written < all; {
		wrote := l.wrote
		l.mu.Unlock()
		select {
		case <-wrote:
			l.mu.Lock()
		case <-over.C:
			l.mu.Lock()
			l.stalled = l.stalled || l.wrote == wrote
			return
		}
	}
}

// Close writes what waits. It comes before the end of the program, and waits for closeWithin at
// most.
func (l *Lines) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.startLocked()
	l.await(closeWithin)
	return nil
}

// AtOnce returns a writer for what is no line of the log, such as why the program ends: it does not
// wait for other lines, and is never dropped.
func (l *Lines) AtOnce() io.Writer { return atOnce{l} }

type atOnce struct{ *Lines }

// Write puts the text behind the lines that wait, and waits for a while until it is written.
func (o atOnce) Write(text []byte) (int, error) {
	o.mu.Lock()
	o.buf = append(o.buf, text...)
	o.queued += int64(len(text))
	o.mu.Unlock()
	o.flush(closeWithin)
	return len(text), nil
}

// Register adds the number of dropped lines to r.
func (l *Lines) Register(r prometheus.Registerer) {
	r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "sheaf_log_lines_dropped_total",
		Help: "Lines of the log that were dropped because nobody read it."}, func() float64 {
		l.mu.Lock()
		defer l.mu.Unlock()
		return float64(l.ever)
	}))
}
