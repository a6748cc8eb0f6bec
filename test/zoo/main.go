// Command zoo is a collection of hostile and broken webhook endpoints. Point the sender of webhooks
// that you want to try at them, and see whether it keeps its deadline and its memory:
//
//	go run ./test/zoo --addr 127.0.0.1:0 --ca-file zoo.pem
//
// It prints a table of behaviours with their URLs. Every behaviour has a port of its own; with a
// port other than 0 they are that port and those that follow. The certificates are of an authority
// that lives as long as the program: let the sender trust the file that --ca-file names. When it is
// stopped by Ctrl-C, it prints what it saw of the sender: how many connections each behaviour had,
// and how long the longest was open.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
	"text/tabwriter"
	"time"

	"sheaf.dev/internal/sheaftest"
)

func main() {
	o := options{}
	flag.StringVar(&o.addr, "addr", "127.0.0.1:0", "where to listen; port 0 picks free ones")
	flag.StringVar(&o.caFile, "ca-file", "", "write the certificate that the sender must trust to this file")
	flag.BoolVar(&o.json, "json", false, "print JSON, an object a line, instead of tables")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "zoo:", err)
		os.Exit(1)
	}
}

type options struct {
	addr, caFile string
	json         bool
}

// run serves all behaviours until ctx ends.
func run(ctx context.Context, o options, w io.Writer) error {
	ca, err := sheaftest.NewCA()
	if err != nil {
		return err
	}
	if err := writeCA(o.caFile, ca); err != nil {
		return err
	}
	all, err := open(o.addr, ca)
	defer closeAll(all)
	if err != nil {
		return err
	}
	if err := o.announce(w, all); err != nil {
		return err
	}
	<-ctx.Done()
	settle(all)
	return o.summarise(w, all)
}

// grace is what a sender has to close what it has given up: it may note the end of an attempt
// first.
const grace = 5 * time.Second

// settle waits until no connection is open, or the grace is over.
func settle(all []animal) {
	open := func(a animal) bool { return a.Stats().Open > 0 }
	sheaftest.Within(grace, func() bool { return !slices.ContainsFunc(all, open) })
}

func writeCA(file string, ca *sheaftest.CA) error {
	if file == "" {
		return nil
	}
	return ca.WriteFile(file)
}

// animal is a behaviour that listens.
type animal struct {
	*sheaftest.Endpoint
	does string
}

// open lets every behaviour listen. What it returns beside an error is open too.
func open(addr string, ca *sheaftest.CA) (all []animal, err error) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("the port of --addr must be a number, not %q", text)
	}
	for i, b := range sheaftest.Zoo() {
		at := port
		if port != 0 {
			at = port + i
		}
		e, err := b.Listen(net.JoinHostPort(host, strconv.Itoa(at)), ca)
		if err != nil {
			return all, err
		}
		all = append(all, animal{e, b.Does})
	}
	return all, nil
}

func closeAll(all []animal) {
	for _, a := range all {
		a.Close()
	}
}

// announce tells where each behaviour listens.
func (o options) announce(w io.Writer, all []animal) error {
	if o.json {
		return encode(w, all, func(a animal) any {
			return map[string]any{"name": a.Name(), "url": a.URL, "does": a.does}
		})
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "BEHAVIOUR\tURL\tWHAT IT DOES")
	for _, a := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\n", a.Name(), a.URL, a.does)
	}
	fmt.Fprintf(t, "\n%d behaviours listen; Ctrl-C ends them and tells what they saw\n", len(all))
	return t.Flush()
}

// summarise tells what each behaviour saw of the sender.
func (o options) summarise(w io.Writer, all []animal) error {
	if o.json {
		return encode(w, all, func(a animal) any {
			s := a.Stats()
			return map[string]any{"name": a.Name(), "connections": s.Connections, "open": s.Open, "longest_ms": s.Longest.Milliseconds()}
		})
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\nBEHAVIOUR\tCONNECTIONS\tOPEN\tLONGEST")
	for _, a := range all {
		s := a.Stats()
		fmt.Fprintf(t, "%s\t%d\t%d\t%v\n", a.Name(), s.Connections, s.Open, s.Longest.Round(time.Millisecond))
	}
	return t.Flush()
}

func encode(w io.Writer, all []animal, line func(animal) any) error {
	e := json.NewEncoder(w)
	for _, a := range all {
		if err := e.Encode(line(a)); err != nil {
			return err
		}
	}
	return nil
}
