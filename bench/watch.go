package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// What a row was measured under. On a rented machine the host may give the processors to somebody else (steal), and the
// disk may be slow for a while: a figure taken then says nothing about Sheaf.
type conditions struct {
	Steal  float64 // part of the processors' time that the host took
	Fsync  float64 // ms, the median of a few before and after the row
	Stalls int     // requests that were answered 503 or not in time, and repeated
}

// tooMuchSteal is from where on a row is not to be trusted.
const tooMuchSteal = 0.10

// trusted reports whether the row's figures mean anything.
func (c conditions) trusted() bool { return c.Steal <= tooMuchSteal }

func (c conditions) String() string {
	text := fmt.Sprintf("steal %.0f %%, fsync %s ms", 100*c.Steal, short(c.Fsync))
	if c.Stalls > 0 {
		text += fmt.Sprintf(", %d stalls", c.Stalls)
	}
	if !c.trusted() {
		text += ": NOT TO BE TRUSTED"
	}
	return text
}

// processors is what the kernel has counted of all processors' time, in ticks.
type processors struct{ all, stolen int64 }

// processorsNow reads /proc/stat.
func processorsNow() processors {
	text, _ := os.ReadFile("/proc/stat")
	return parseProcessors(string(text))
}

// parseProcessors reads the first line, "cpu user nice system idle iowait irq softirq steal guest guest_nice"; the last
// two are in user and nice already.
func parseProcessors(text string) (p processors) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	for i := 1; i < min(len(fields), 9); i++ {
		n, _ := strconv.ParseInt(fields[i], 10, 64)
		p.all += n
		if i == 8 {
			p.stolen = n
		}
	}
	return p
}

// stealSince is the part of the processors' time since then that was stolen.
func (p processors) stealSince(before processors) float64 {
	if p.all <= before.all {
		return 0
	}
	return float64(p.stolen-before.stolen) / float64(p.all-before.all)
}

// begin notes under what a row begins; keep notes under what it ended, and adds it to the results.
func (b *bench) begin(r row) *row {
	r.from, r.fsyncs, r.stalled = processorsNow(), b.fsyncs(), stalls.Load()
	return &r
}

func (b *bench) keep(r *row) {
	var times []float64
	for _, d := range append(r.fsyncs, b.fsyncs()...) {
		times = append(times, float64(d.Microseconds())/1e3)
	}
	r.Under = conditions{Steal: processorsNow().stealSince(r.from), Fsync: median(times), Stalls: int(stalls.Load() - r.stalled)}
	b.results.Rows = append(b.results.Rows, r)
	b.logf("%-28s %s\n", r.Work, r.Under)
}

// fsyncs measures a few, on the disk that the run is on, while nothing else is measured.
func (b *bench) fsyncs() (out []time.Duration) {
	if b.dir == "" {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(b.dir, "fsync"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil
	}
	defer f.Close()
	page := make([]byte, 4096)
	for i := range 5 {
		if _, err := f.WriteAt(page, int64(i)*4096); err != nil {
			return out
		}
		began := time.Now()
		if err := f.Sync(); err != nil {
			return out
		}
		out = append(out, time.Since(began))
	}
	return out
}

// A stall is no result: the machine stood still for a while, or the server said that it was busy. It is counted, and
// what was asked is asked again.
const (
	stallAfter = 30 * time.Second // an answer that takes longer is one
	mostStalls = 20               // in a row, and then it is an error
	stallRest  = 200 * time.Millisecond
)

// errStalled is what a request came to that is to be repeated.
var errStalled = errors.New("stalled")

// stalledIf makes an error one that is repeated.
func stalledIf(yes bool, err error) error {
	if yes {
		return fmt.Errorf("%w: %w", errStalled, err)
	}
	return err
}

// stalls counts those of the whole run.
var stalls atomic.Int64

// persist repeats what stalls, and counts it.
func persist(do func() error) error {
	for i := 0; ; i++ {
		err := do()
		if !errors.Is(err, errStalled) || i == mostStalls {
			return err
		}
		stalls.Add(1)
		time.Sleep(stallRest)
	}
}
