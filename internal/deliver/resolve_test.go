package deliver

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"sheaf.dev/internal/sheaftest"
)

// nameServer answers on loopback over UDP and TCP. An answer that does not fit into a packet is sent only
// over TCP.
type nameServer struct {
	address string
	names   map[string][]netip.Addr // with a dot at the end

	mu    sync.Mutex // guards asked
	asked []string
}

func startNameServer(t *testing.T, names map[string][]netip.Addr) *nameServer {
	t.Helper()
	tcp, udp := listenBoth(t)
	s := &nameServer{address: tcp.Addr().String(), names: names}
	var served sync.WaitGroup
	served.Go(func() { s.packets(udp) })
	served.Go(func() { s.streams(tcp) })
	t.Cleanup(func() {
		tcp.Close()
		udp.Close()
		served.Wait()
	})
	return s
}

// listenBoth listens on one port over TCP and UDP.
func listenBoth(t *testing.T) (tcp net.Listener, udp net.PacketConn) {
	t.Helper()
	for range 100 { // the same port may be taken over UDP
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if c, err := net.ListenPacket("udp", l.Addr().String()); err == nil {
			return l, c
		}
		l.Close()
	}
	t.Fatal("no port is free over TCP and UDP")
	return nil, nil
}

// patiently looks a name up again while the name server has not answered within the seconds of /etc/resolv.conf.
func patiently(t *testing.T, r *net.Resolver, name string) (found []netip.Addr, err error) {
	t.Helper()
	sheaftest.Eventually(t, "an answer about "+name, func() bool {
		var late *net.DNSError
		found, err = r.LookupNetIP(t.Context(), "ip", marked(name))
		return !errors.As(err, &late) || !late.IsTimeout
	})
	return found, err
}

// dial reaches it, whatever address is asked for.
func (s *nameServer) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, s.address)
}

func (s *nameServer) packets(c net.PacketConn) {
	buf := make([]byte, 1500)
	for {
		n, from, err := c.ReadFrom(buf)
		if err != nil {
			return
		}
		_, _ = c.WriteTo(s.answer(buf[:n], 500), from)
	}
}

func (s *nameServer) streams(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		buf := make([]byte, 2000)
		if n, err := c.Read(buf); err == nil && n > 2 {
			_, _ = c.Write(framed(s.answer(buf[2:n], 1<<16-1)))
		}
		c.Close()
	}
}

func (s *nameServer) answer(question []byte, most int) []byte {
	var m dnsmessage.Message
	if m.Unpack(question) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	s.mu.Lock()
	s.asked = append(s.asked, q.Name.String())
	s.mu.Unlock()
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	addresses, ok := s.names[q.Name.String()]
	if !ok {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, ip := range addresses {
		if q.Type == dnsmessage.TypeA {
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class}, Body: &dnsmessage.AResource{A: ip.As4()}})
		}
	}
	out, err := m.Pack()
	if err != nil {
		return nil
	}
	if len(out) > most {
		m.Answers, m.Truncated = nil, true
		out, _ = m.Pack()
	}
	return out
}

// Only DNS is asked, only for the name as it is, by packet and by stream.
func TestResolver_AsksDNSAlone(t *testing.T) {
	t.Parallel()
	many := make([]netip.Addr, 60) // more than a packet holds
	for i := range many {
		many[i] = netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})
	}
	s := startNameServer(t, map[string][]netip.Addr{"one.example.": many[:1], "many.example.": many})
	r := dnsOnly(s.dial)
	for name, want := range map[string][]netip.Addr{"one.example": many[:1], "many.example.": many} {
		got, err := patiently(t, r, name)
		slices.SortFunc(got, netip.Addr.Compare)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s is %v, %v", name, got, err)
		}
	}
	for _, name := range []string{"nowhere.example", "localhost", "short", "127.1", "2130706433"} {
		if got, err := patiently(t, r, name); err == nil {
			t.Errorf("%s is %v", name, got)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range s.asked {
		if !slices.Contains([]string{"one.example.", "many.example.", "nowhere.example.", "localhost.", "short."}, name) {
			t.Errorf("the name server was asked for %s", name)
		}
	}
}

func TestInHosts(t *testing.T) {
	t.Parallel()
	const file = "# comment\n127.0.0.1 localhost\n10.0.0.1\tintra intra.corp # here\n::1 localhost\nnonsense intra\n10.0.0.2 INTRA"
	for name, want := range map[string]string{"intra": "[10.0.0.1 10.0.0.2]", "intra.corp": "[10.0.0.1]", "corp": "[]", "here": "[]"} {
		if got := inHosts(strings.NewReader(file), name); len(got) == 0 && want != "[]" || len(got) > 0 && text(got) != want {
			t.Errorf("%s is %v, want %s", name, got, want)
		}
	}
}

func text(addresses []netip.Addr) string {
	var out []string
	for _, a := range addresses {
		out = append(out, a.String())
	}
	return "[" + strings.Join(out, " ") + "]"
}

// D71: whether a name leads nowhere or inside is not told, neither by the text nor by the phases.
func TestAttempt_NamesInsideAreToldAsNoNames(t *testing.T) {
	t.Parallel()
	s := startNameServer(t, map[string][]netip.Addr{"inner.example.": {netip.MustParseAddr("10.0.0.1")}})
	blocked := errors.New("blocked")
	d := guardedDialer(func(context.Context, string, string, syscall.RawConn) error { return blocked })
	d.Resolver = dnsOnly(s.dial)
	c := NewClient(ClientConfig{Timeout: ampleTimeout, Blocked: func(err error) bool { return errors.Is(err, blocked) },
		DialContext: dialName(d, func(netip.Addr) bool { return false })})
	for _, host := range []string{"inner.example", "nowhere.example"} {
		got := c.Attempt(t.Context(), Request{URL: "https://" + host + "/"})
		if got.Class != ErrorConnection || got.Error != textName || got.Timings.Connect != 0 || got.Timings.DNS == 0 || got.RemoteAddress != "" {
			t.Errorf("%s: %s %q %+v", host, got.Class, got.Error, got.Timings)
		}
	}
}

// If a name could not be looked up because this process was out of file descriptors, that says nothing about
// the endpoint: the attempt is not counted.
func TestAttempt_NoFileForALookUpIsNotTheEndpointsFailure(t *testing.T) {
	t.Parallel()
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE} {
		d := guardedDialer(func(context.Context, string, string, syscall.RawConn) error { return nil })
		d.Resolver = dnsOnly(func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "udp", Err: os.NewSyscallError("socket", errno)}
		})
		c := NewClient(ClientConfig{Timeout: ampleTimeout, DialContext: dialName(d, func(netip.Addr) bool { return false })})
		if got := c.Attempt(t.Context(), Request{URL: "https://hook.example/"}); got.Class != ErrorCanceled || got.Error != textOurs {
			t.Errorf("%v: %s %q", errno, got.Class, got.Error)
		}
	}
}
