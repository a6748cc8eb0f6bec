// Command bench measures Sheaf beside the bare limit of the machine and beside a peer, all in one run: it starts them,
// lets them do the same work in turn, and prints medians, ratios and whether each promise holds. See README.md.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// bench is one run.
type bench struct {
	quick, postgres, peer bool
	only                  []string
	conns                 []int
	rounds                int
	time                  time.Duration // of one sample
	self, program         string        // this program, and sheaf
	out                   string        // kept between runs: what was built, and the peer's data
	dir                   string        // of this run
	results               results
	body                  posted // a delivery of Sheaf
	endpoint              *endpoint
	fileSeen              bool // the size of the growth seed's file was measured
	postmaster            int  // the process of the last PostgreSQL that was started
	// These are started once, when they are needed first.
	onSQLite, onPostgres, peerServer *contender
	running                          []*process
	closers                          []func() error
}

func main() {
	if err := dispatch(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// dispatch runs the part that this process plays.
func dispatch(args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "load":
			return loadCommand()
		case "limit":
			return limitCommand(args[1], args[2], args[3])
		case "files":
			return filesCommand(args[1], args[2], args[3])
		case "receive":
			return receiveCommand(args[1], args[2], args[3], args[4])
		case "post":
			return postCommand()
		case "pace":
			return paceCommand()
		}
	}
	return runCommand(args)
}

func runCommand(args []string) error {
	b := &bench{}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.BoolVar(&b.quick, "quick", false, "64 clients and short samples only")
	only := f.String("only", "", "the parts to measure, such as get,list; empty: all")
	f.BoolVar(&b.postgres, "postgres", false, "measure Sheaf on PostgreSQL beside it, also when quick")
	f.BoolVar(&b.peer, "peer", true, "measure the peer")
	conns := f.String("conns", "", "numbers of clients, such as 1,16,64")
	f.DurationVar(&b.time, "time", time.Second, "the length of one sample")
	f.IntVar(&b.rounds, "rounds", 0, "alternations; 0: 5, and 3 when quick")
	keep := f.Bool("keep", false, "write results/latest.json and latest.svg")
	before := f.String("before", "", "measure nothing but the processor time of creates, gets and lists, in turns with this other build of sheaf")
	if err := f.Parse(args); err != nil {
		return err
	}
	if err := b.choose(*only, *conns); err != nil {
		return err
	}
	if *before != "" {
		return errors.Join(b.compareWith(*before), b.close())
	}
	began := time.Now()
	err := errors.Join(b.run(), b.close())
	if err != nil && *keep {
		*keep = false // half a table is not what the README shows
	}
	b.results.print(os.Stdout)
	fmt.Println("\n" + b.results.tally())
	fmt.Printf("\ntook %v\n", time.Since(began).Round(time.Second))
	if *keep {
		err = errors.Join(err, b.results.save(filepath.Join(filepath.Dir(b.out), "results")))
	}
	return err
}

// choose fills in what was not said.
func (b *bench) choose(only, conns string) error {
	if only != "" {
		b.only = strings.Split(only, ",")
		for _, name := range b.only {
			if !slices.Contains(parts, name) {
				return fmt.Errorf("-only: there is no %q, but %s", name, strings.Join(parts, ", "))
			}
		}
	}
	b.conns = []int{1, 16, 64}
	if b.quick {
		b.conns = []int{64}
	}
	if conns != "" {
		if err := json.Unmarshal([]byte("["+conns+"]"), &b.conns); err != nil {
			return fmt.Errorf("-conns: %w", err)
		}
	}
	if b.rounds == 0 {
		b.rounds = 5
		if b.quick {
			b.rounds = 3
		}
	}
	b.postgres = b.postgres || !b.quick
	return b.checkPrograms()
}

// checkPrograms returns an error for a program that a wanted part needs and that is missing: now, and not after half an hour.
func (b *bench) checkPrograms() error {
	var errs []error
	if b.want("console") {
		_, err := browser()
		errs = append(errs, err)
	}
	if b.postgres {
		_, err := postgresBin()
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// parts are the names that -only takes.
var parts = []string{"get", "list", "cold", "update", "create", "text", "accept", "deliver", "latency", "hung",
	"many", "file", "large", "folder", "tree", "release", "restricted", "leave", "neighbour", "backlog", "subscriptions", "hold", "search", "console", "media", "share", "process", "idle", "streams", "memory"}

func (b *bench) want(part string) bool { return len(b.only) == 0 || slices.Contains(b.only, part) }

func (b *bench) run() error {
	if err := b.prepare(); err != nil {
		return err
	}
	for _, rows := range []func(){b.requestRows, b.deliveryRows, b.growthRows, b.publishRows, b.footprintRows} {
		rows()
	}
	if n := len(b.results.Failed); n > 0 {
		return fmt.Errorf("%d parts were not measured", n)
	}
	return nil
}

// try measures a part, if it is wanted. One that fails is named below the table, and the others are measured.
func (b *bench) try(part string, measure func() error) {
	if !b.want(part) {
		return
	}
	if err := measure(); err != nil {
		b.results.Failed = append(b.results.Failed, part+": "+err.Error())
		b.logf("%s: %v\n", part, err)
	}
}

// prepare builds the programs and makes the run's folder, on the disk and not in memory.
func (b *bench) prepare() (err error) {
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	source, err := sourceDir()
	if err != nil {
		return err
	}
	b.out = filepath.Join(source, "out")
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp(b.out, "run-"); err != nil {
		return err
	}
	b.closers = append(b.closers, func() error { return os.RemoveAll(b.dir) })
	b.endOnSignal()
	b.results.Date, b.results.Machine = time.Now().UTC().Format("2006-01-02"), thisMachine()
	b.results.Command = "make bench"
	if b.quick {
		b.results.Command = "make bench-quick"
	}
	if err := b.build(source); err != nil {
		return err
	}
	b.endpoint, err = b.startReceiver()
	return err
}

// sourceDir is the folder of bench/go.mod.
func sourceDir() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", err
	}
	mod := strings.TrimSpace(string(out))
	text, err := os.ReadFile(mod)
	if err != nil || !bytes.HasPrefix(text, []byte("module sheaf.dev/bench")) {
		return "", errors.New("run it in the folder bench")
	}
	return filepath.Dir(mod), nil
}

// build makes sheaf as make build does, and the peer.
func (b *bench) build(source string) error {
	b.program = filepath.Join(b.dir, "sheaf")
	if err := b.goBuild(filepath.Dir(source), b.program, "./cmd/sheaf"); err != nil {
		return err
	}
	version, _ := exec.Command("git", "-C", source, "describe", "--tags", "--always", "--dirty").Output()
	b.results.Version = strings.TrimSpace(string(version))
	if !b.peer {
		return nil
	}
	return b.goBuild(filepath.Join(source, "peer"), b.peerProgram(), ".")
}

func (b *bench) goBuild(dir, out, pkg string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, pkg)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, text)
	}
	return nil
}

// generate runs the load generator in a process of its own.
func (b *bench) generate(w workload) (m measured, err error) {
	err = b.child("load", w, &m)
	stalls.Add(int64(m.Stalls))
	return m, err
}

// command runs a part of this program and returns what it wrote.
func (b *bench) command(part string, in []byte) ([]byte, error) {
	cmd := exec.Command(b.self, part)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", part, err)
	}
	return out, nil
}

// endOnSignal leaves no process behind.
func (b *bench) endOnSignal() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-signals
		b.close()
		os.Exit(1)
	}()
}

// close stops everything in the opposite order of its start.
func (b *bench) close() (err error) {
	for _, p := range slices.Backward(b.running) {
		err = errors.Join(err, p.stop())
	}
	for _, f := range slices.Backward(b.closers) {
		err = errors.Join(err, f())
	}
	b.running, b.closers = nil, nil
	return err
}

func (b *bench) logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format, args...) }
