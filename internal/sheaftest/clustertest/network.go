package clustertest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"strings"
)

// documented is the prefix of the addresses in the documentation.
const documented = "10.0.0."

// onLoopback chooses loopback addresses, and ports that are all free there.
func (c *Cluster) onLoopback() (err error) {
	for _, c.shift = range []int{0, 10000, 20000, 30000} {
		c.prefix = fmt.Sprintf("127.%d.%d.", 2+rand.IntN(250), 1+rand.IntN(250))
		if err = c.tryPorts(); err == nil {
			return nil
		}
	}
	return fmt.Errorf("no free ports for the cluster: %w", err)
}

// tryPorts listens on every port in the files, to check that it is free. Only a program that
// listens on all addresses can use one.
func (c *Cluster) tryPorts() error {
	for _, port := range []int{2379, 2380, 5000, 5432, 6379, 6432, 8008, 8080, 26379} {
		l, err := net.Listen("tcp", c.at(balancer.host, port))
		if err != nil {
			return err
		}
		if err := l.Close(); err != nil {
			return err
		}
	}
	return nil
}

// inNamespaces creates a network with the documented addresses: a bridge, which has the addresses
// of all machines except the members of PostgreSQL, and for each member a network namespace that is
// connected to the bridge. The process must be in a network namespace of its own.
func (c *Cluster) inNamespaces() error {
	c.prefix = documented
	// Mounts from here on are visible only to this process.
	for _, line := range []string{"mount --make-rprivate /", "mkdir -p /run/netns", "mount -t tmpfs tmpfs /run/netns"} {
		if out, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", line, err, out)
		}
	}
	script := []string{"link set lo up", "link add sheaf0 type bridge", "link set sheaf0 up", "addr add 10.0.0.1/24 dev sheaf0"}
	for _, m := range c.machines() {
		if m.network == "" {
			script = append(script, "addr add "+c.address(m.host)+"/24 dev sheaf0")
			continue
		}
		script = append(script, "netns add "+m.name, "link add "+cable(m)+" type veth peer name eth0 netns "+m.name,
			"link set "+cable(m)+" master sheaf0 up", "-n "+m.name+" link set lo up",
			"-n "+m.name+" addr add "+c.address(m.host)+"/24 dev eth0", "-n "+m.name+" link set eth0 up")
	}
	for _, line := range script {
		if err := ip(line); err != nil {
			return err
		}
	}
	return nil
}

// removeNetwork deletes the network. A cable would be deleted with its namespace, but the namespace
// stays while a socket in it has something to send, which takes minutes if the cable is cut.
func (c *Cluster) removeNetwork() (err error) {
	for _, m := range c.machines() {
		if m.network != "" {
			err = errors.Join(err, ip("link del "+cable(m)), ip("netns del "+m.name))
		}
	}
	return errors.Join(err, ip("link del sheaf0"))
}

// cable returns the name of the interface that connects the bridge to a machine.
func cable(m machine) string { return "to-" + m.name }

// ip runs a command of iproute2.
func ip(line string) error {
	program, err := exec.LookPath("ip")
	if err != nil {
		program = "/usr/sbin/ip"
	}
	if out, err := exec.Command(program, strings.Fields(line)...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", line, err, out)
	}
	return nil
}

var errNoCable = errors.New("the machines have no network of their own: start the cluster with Isolated")

// CutOff disconnects a member from the network. Its etcd and PostgreSQL keep running.
func (c *Cluster) CutOff(member int) error { return c.plug(member, "down") }

// Reconnect connects it again.
func (c *Cluster) Reconnect(member int) error { return c.plug(member, "up") }

func (c *Cluster) plug(member int, state string) error {
	if !c.isolated {
		return errNoCable
	}
	return ip("link set " + cable(c.members[member].machine) + " " + state)
}
