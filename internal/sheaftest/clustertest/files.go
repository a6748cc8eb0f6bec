package clustertest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"sheaf.dev/deploy"
	"sheaf.dev/internal/sheaftest/pgtest"
)

// ports matches all ports in the files. If one is in use on the machine, all are shifted together.
var ports = regexp.MustCompile(`\b(2379|2380|5000|5432|6379|6432|8008|8080|26379)\b`)

// machine is a simulated machine.
type machine struct {
	name    string // db1
	host    int    // the last number of its address
	network string // the name of its network namespace; empty: that of the test
}

// write writes a documented file into the folder of a server. The file names that folder instead of
// the folders of a real machine.
func (c *Cluster) write(file string, m machine, dir string) error {
	content, err := c.content(file, m, dir)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, file), []byte(content), 0o644) // the folder is 0700
}

// content returns a documented file for a machine. It differs from the page only in names,
// addresses, passwords, folders and ports.
func (c *Cluster) content(file string, m machine, dir string) (string, error) {
	shown, err := deploy.Cluster.ReadFile("cluster/" + file)
	if err != nil {
		return "", err
	}
	bin, err := pgtest.Binaries()
	if err != nil {
		return "", err
	}
	text := strings.NewReplacer(
		"MEMBER", m.name, "ADDRESS", c.address(m.host), "PASSWORD", c.password,
		"/var/lib/etcd/default", dir+"/etcd", "/usr/lib/postgresql/15/bin", bin, "/var/lib/postgresql/15/sheaf", dir+"/data",
		"/var/lib/postgresql/patroni.pgpass", dir+"/pgpass", "/var/run/postgresql", dir,
		"/etc/pgbouncer/userlist.txt", dir+"/userlist.txt", "/etc/sheaf/master.key", dir+"/master.key",
		"shared_buffers: 256MB", "shared_buffers: 32MB",
		// On loopback every client has the address 127.0.0.1.
		"10.0.0.0/24", c.clients(), "10.0.0.10/32", c.clients(),
		"10.0.0.", c.prefix,
	).Replace(string(shown))
	if c.asynchronous {
		text = strings.Replace(text, "synchronous_mode: true", "synchronous_mode: false", 1)
	}
	return c.shifted(text), nil
}

// shifted returns the text with shifted ports.
func (c *Cluster) shifted(text string) string {
	return ports.ReplaceAllStringFunc(text, func(port string) string {
		n, _ := strconv.Atoi(port)
		return strconv.Itoa(n + c.shift)
	})
}

// address returns the address of a machine.
func (c *Cluster) address(host int) string { return fmt.Sprint(c.prefix, host) }

// at returns the address and the shifted port of a server.
func (c *Cluster) at(host, port int) string {
	return fmt.Sprintf("%s:%d", c.address(host), port+c.shift)
}

// clients returns the network that connections come from.
func (c *Cluster) clients() string {
	if strings.HasPrefix(c.prefix, "127.") {
		return "127.0.0.0/8"
	}
	return c.prefix + "0/24"
}

// environment reads a file of NAME=VALUE lines.
func environment(file string) ([]string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n"), nil
}
