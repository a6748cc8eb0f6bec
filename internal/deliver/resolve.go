package deliver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// Endpoint names are resolved by DNS alone, as absolute names. The hosts file and the search domains
// belong to the internal network. If webhooks used them, a tenant could find out which names exist
// there.
//
// Go's resolver cannot skip the hosts file. So we ask it for the name with one more label, which no
// hosts file contains. The connection to the name server removes the label from questions and adds it
// to the answers.

// mark is that label. A name of digits and dots stays one with the mark, and Go's resolver refuses it.
const mark = ".0."

// errStarved means that a look-up failed because this machine is out of file descriptors or memory. It
// wraps a context error because a *net.DNSError unwraps to its cause only for those.
var errStarved = fmt.Errorf("no file or memory to ask for a name: %w", context.Canceled)

// dnsOnly returns a resolver for marked names that connects to name servers by dial.
func dnsOnly(dial func(ctx context.Context, network, address string) (net.Conn, error)) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if isStarved(err) {
			return nil, errStarved
		}
		if err != nil {
			return nil, err
		}
		if udp, ok := c.(*net.UDPConn); ok {
			return &packetDNS{udp}, nil
		}
		return &streamDNS{Conn: c}, nil
	}}
}

// packetDNS carries one message per packet.
type packetDNS struct{ *net.UDPConn }

// Write sends a question without the mark.
func (c *packetDNS) Write(b []byte) (int, error) {
	if _, err := c.UDPConn.Write(renamed(b, unmarked)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Read returns an answer with the mark.
func (c *packetDNS) Read(b []byte) (int, error) {
	n, err := c.UDPConn.Read(b)
	if err != nil {
		return n, err
	}
	return copy(b, renamed(b[:n], marked)), nil
}

// streamDNS carries length-prefixed messages, as over TCP.
type streamDNS struct {
	net.Conn
	in bytes.Reader // the unread rest of an answer
}

// Write sends one whole message without the mark; Go's resolver always writes whole messages.
func (c *streamDNS) Write(b []byte) (int, error) {
	if len(b) < 2 {
		return 0, io.ErrShortWrite
	}
	if _, err := c.Conn.Write(framed(renamed(b[2:], unmarked))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Read returns a part of an answer with the mark. It reads the whole answer first.
func (c *streamDNS) Read(b []byte) (int, error) {
	if c.in.Len() == 0 {
		var length [2]byte
		if _, err := io.ReadFull(c.Conn, length[:]); err != nil {
			return 0, err
		}
		message := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(c.Conn, message); err != nil {
			return 0, err
		}
		c.in.Reset(framed(renamed(message, marked)))
	}
	return c.in.Read(b)
}

func framed(message []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(message))), message...)
}

func marked(name string) string   { return strings.TrimSuffix(name, ".") + mark }
func unmarked(name string) string { return strings.TrimSuffix(name, mark) + "." }

// renamed returns the message with the name in its question changed. Input that is not a message with
// one question is returned unchanged; the resolver ignores it. Authorities and additionals of answers
// are dropped, because nothing reads them.
func renamed(message []byte, rename func(string) string) []byte {
	var m dnsmessage.Message
	if m.Unpack(message) != nil || len(m.Questions) != 1 {
		return message
	}
	name, err := dnsmessage.NewName(rename(m.Questions[0].Name.String()))
	if err != nil {
		return message
	}
	m.Questions[0].Name = name
	if m.Response {
		m.Authorities, m.Additionals = nil, nil
	}
	out, err := m.Pack()
	if err != nil {
		return message
	}
	return out
}

// hostsFile is read only for names whose addresses the operator allows.
const hostsFile = "/etc/hosts"

// inHosts returns the addresses that a hosts file gives for name.
func inHosts(file io.Reader, name string) (found []netip.Addr) {
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		line, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(line)
		if len(fields) < 2 || !slices.ContainsFunc(fields[1:], func(f string) bool { return strings.EqualFold(f, name) }) {
			continue
		}
		if ip, err := netip.ParseAddr(fields[0]); err == nil {
			found = append(found, ip)
		}
	}
	return found
}

// known returns the addresses of names that need no DNS: localhost and names below it (RFC 6761), and
// names in the hosts file whose addresses the operator allows. An unreadable hosts file is ignored,
// except when we are out of file descriptors.
func known(host string, allowed func(netip.Addr) bool) ([]netip.Addr, error) {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		loopback := []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
		if dialled := only(loopback, allowed); len(dialled) > 0 {
			return dialled, nil
		}
		return loopback, nil // the dialer refuses them
	}
	file, err := os.Open(hostsFile)
	if isStarved(err) {
		return nil, errStarved
	}
	if err != nil {
		return nil, nil
	}
	defer file.Close()
	return only(inHosts(file, name), allowed), nil
}

func only(addresses []netip.Addr, allowed func(netip.Addr) bool) []netip.Addr {
	return slices.DeleteFunc(slices.Clone(addresses), func(ip netip.Addr) bool { return !allowed(ip) })
}

// dialName returns a dial function that resolves host names as described at the top of this file.
func dialName(d *net.Dialer, allowed func(netip.Addr) bool) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		if _, err := netip.ParseAddr(host); err == nil {
			return d.DialContext(ctx, network, address)
		}
		addresses, err := known(host, allowed)
		if err != nil {
			return nil, err
		}
		if len(addresses) == 0 {
			return d.DialContext(ctx, network, net.JoinHostPort(marked(host), port))
		}
		var failed []error
		for _, ip := range addresses {
			c, err := d.DialContext(ctx, network, net.JoinHostPort(ip.String(), port))
			if err == nil {
				return c, nil
			}
			failed = append(failed, err)
		}
		return nil, errors.Join(failed...)
	}
}
