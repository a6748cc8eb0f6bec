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

// Names of endpoints are asked of DNS, as absolute names, and of nobody else. The hosts file and
// the search domains belong to the network inside, and a tenant who could ask them by making
// webhooks would list what is there.
//
// Go's resolver does all of that well but cannot leave out the hosts file. So it is asked for the
// name with one more label, which is in no such file, and the label is taken off its questions and
// put back on the answers.

// mark is the label. A name of digits and dots alone stays one with it, which Go's resolver takes
// for no name.
const mark = ".0."

// errStarved is the error of a look-up for which this machine had no file or memory. A
// *net.DNSError keeps the text of its cause, but not the cause, unless that is an error of a
// context: hence this one is such, too.
var errStarved = fmt.Errorf("no file or memory to ask for a name: %w", context.Canceled)

// dnsOnly returns a resolver of marked names that reaches name servers by dial.
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

// packetDNS carries one message a packet.
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

// streamDNS carries messages behind their lengths, as over TCP.
type streamDNS struct {
	net.Conn
	in bytes.Reader // what is left of an answer
}

// Write takes one whole message: Go's resolver writes no other way.
func (c *streamDNS) Write(b []byte) (int, error) {
	if len(b) < 2 {
		return 0, io.ErrShortWrite
	}
	if _, err := c.Conn.Write(framed(renamed(b[2:], unmarked))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Read returns a part of an answer with the mark, which it reads as a whole first.
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

// renamed returns the message with another name in its question. What is no message with one
// question stays as it is, and is no answer to the resolver. Of the rest only the answers are kept:
// nobody looks at more.
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

// hostsFile is read for names whose addresses the operator allows.
const hostsFile = "/etc/hosts"

// inHosts returns the addresses of a name in the hosts file.
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

// known returns the addresses of a name for which nobody is asked: localhost and what is below it
// (RFC 6761), and names that the hosts file gives addresses which the operator allows. A hosts file
// that cannot be read is as good as none, unless that is for want of files.
func known(host string, allowed func(netip.Addr) bool) ([]netip.Addr, error) {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		loopback := []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
		if dialled := only(loopback, allowed); len(dialled) > 0 {
			return dialled, nil
		}
		return loopback, nil // to be refused where it is dialled
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

// dialName dials what the host of an address stands for.
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
