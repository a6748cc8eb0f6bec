// Command cluster starts a whole cluster on loopback, prints its addresses, and stops it with Ctrl-C:
//
//	go run ./scripts/cluster -binary ./sheaf    what `make cluster` does
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sheaf.dev/internal/sheaftest/clustertest"
)

func main() {
	binary := flag.String("binary", "./sheaf", "the program of the nodes")
	flag.Parse()
	if err := run(*binary, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run keeps a cluster until somebody stops it. A signal before it is there, and a second one, end the
// process at once, and the servers with it.
func run(binary string, args []string) error {
	path, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	began := time.Now()
	c, err := clustertest.Launch(clustertest.Options{Binary: path, Args: args, Say: func(what string) {
		fmt.Fprintf(os.Stderr, "%5.1fs %s\n", time.Since(began).Seconds(), what)
	}})
	if err != nil {
		return err
	}
	key, err := c.NewKey()
	if err != nil {
		return errors.Join(err, c.Close())
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	fmt.Print(describe(c, key))
	<-stop
	signal.Stop(stop)
	fmt.Fprintln(os.Stderr, "stopping")
	return c.Close()
}

// describe says where everything is.
func describe(c *clustertest.Cluster, key string) string {
	var b strings.Builder
	line := func(what, where string) { fmt.Fprintf(&b, "%-34s %s\n", what, where) }
	line("Sheaf, through haproxy", c.URL())
	for i := range 3 {
		line(fmt.Sprintf("node%d", i+1), c.NodeURL(i))
	}
	line("PostgreSQL, through pgbouncer", c.DatabaseURL())
	line("PostgreSQL, the leader", c.DirectURL())
	for i := range 3 {
		line(fmt.Sprintf("Patroni of db%d", i+1), c.PatroniURL(i))
	}
	line("Redis, by Sentinel", c.RedisURL())
	line("API key of a first workspace", key)
	b.WriteString("files and logs:\n")
	for _, folder := range c.Folders() {
		b.WriteString("  " + folder + "\n")
	}
	b.WriteString("Ctrl-C stops all of it.\n")
	return b.String()
}
