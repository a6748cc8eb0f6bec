package clustertest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"strings"
)

// documented is where the pages put the machines.
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

// tryPorts listens on every port that the files name. Only a program that listens on all addresses
// is in the way: nobody else uses ours.
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

// inNamespaces makes a network with the addresses of the pages: a bridge, which has those of all
// machines but the members of PostgreSQL, and for each of these a network namespace of its own at
// the other end of a cable. The process itself must be in a namespace that is nobody else's.
func (c *Cluster) inNamespaces() error {
	c.prefix = documented
	// What is mounted from here on is ours alone.
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

// removeNetwork takes the network away. A cable would go with its namespace, but that stays for as long as a socket in it has
// something to send, which behind a cable that is pulled takes minutes.
func (c *Cluster) removeNetwork() (err error) {
	for _, m := range c.machines() {
		if m.network != "" {
			err = errors.Join(err, ip("link del "+cable(m)), ip("netns del "+m.name))
		}
	}
	return errors.Join(err, ip("link del sheaf0"))
}

// cable is the end of a machine's cable that is at the bridge.
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

// CutOff pulls the cable of a member: etcd and PostgreSQL there live on, and nobody reaches them.
func (c *Cluster) CutOff(member int) error { return c.plug(member, "down") }

// Reconnect plugs it in again.
func (c *Cluster) Reconnect(member int) error { return c.plug(member, "up") }

func (c *Cluster) plug(member int, state string) error {
	if !c.isolated {
		return errNoCable
	}
	return ip("link set " + cable(c.members[member].machine) + " " + state)
}
