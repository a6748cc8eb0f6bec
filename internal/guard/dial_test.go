package guard

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// errStop ends an attempt that the guard would have let through: whatever the guard says, no test
// connects to anything but loopback.
var errStop = errors.New("stopped by the test")

// recorder is a dialer's hook that asks the guard and remembers.
type recorder struct {
	guard *Guard
	mu    sync.Mutex // guards seen and passed
	seen  []string
	// passed holds the addresses that the guard let through.
	passed []string
}

func (r *recorder) control(ctx context.Context, network, address string, c syscall.RawConn) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, network+" "+address)
	if err := r.guard.Control(ctx, network, address, c); err != nil {
		return err
	}
	r.passed = append(r.passed, address)
	return errStop
}

func (r *recorder) client() *http.Client {
	d := &net.Dialer{ControlContext: r.control, Resolver: &net.Resolver{PreferGo: true, Dial: dialDNS}}
	return &http.Client{Transport: &http.Transport{DialContext: d.DialContext}, Timeout: 5 * time.Minute}
}

// dnsAnswers are names that point inwards. For other names the resolver behaves like the C library:
// it reads every spelling of an IPv4 address.
var dnsAnswers = map[string]string{
	"vm.":               "127.0.1.1",
	"ip6-localhost.":    "::1",
	"localhost.":        "127.0.0.1",
	"foo.localhost.":    "127.0.0.1",
	"metadata.test.":    "169.254.169.254",
	"rebind.test.":      "10.0.0.1",
	"v6.test.":          "fd00:ec2::254",
	"mapped.test.":      "::ffff:10.0.0.1",
	"nat64.test.":       "64:ff9b::10.0.0.1",
	"6to4.test.":        "2002:7f00:1::1",
	"unspecified.test.": "0.0.0.0",
}

func dnsAnswer(name string) (netip.Addr, bool) {
	if s, ok := dnsAnswers[strings.ToLower(name)]; ok {
		return netip.MustParseAddr(s), true
	}
	return parseIPv4(strings.ToLower(name))
}

// dialDNS returns a connection to a name server in memory.
func dialDNS(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	go func() {
		defer server.Close()
		for serveDNS(server) == nil {
		}
	}()
	return client, nil
}

func serveDNS(c net.Conn) error {
	var size [2]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return err
	}
	msg := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(c, msg); err != nil {
		return err
	}
	var m dnsmessage.Message
	if err := m.Unpack(msg); err != nil {
		return err
	}
	answerDNS(&m)
	out, err := m.AppendPack(size[:])
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint16(out, uint16(len(out)-2))
	_, err = c.Write(out)
	return err
}

func answerDNS(m *dnsmessage.Message) {
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	q := m.Questions[0]
	ip, ok := dnsAnswer(q.Name.String())
	if !ok {
		m.RCode = dnsmessage.RCodeNameError
		return
	}
	h := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, Type: q.Type, TTL: 60}
	switch {
	case q.Type == dnsmessage.TypeA && ip.Is4():
		m.Answers = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.AResource{A: ip.As4()}}}
	case q.Type == dnsmessage.TypeAAAA && ip.Is6():
		m.Answers = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.AAAAResource{AAAA: ip.As16()}}}
	}
}

// dialledHosts reach the dialer: each must be refused in the hook.
var dialledHosts = []string{
	"127.0.0.1", "0x7f000001", "0x7f.0.0.1", "0X7F.1", "127.0x1",
	"localhost", "localhost.", "LOCALHOST", "foo.localhost", "①②⑦.⓪.⓪.①", "127。0。0。1", "１２７.0.0.1",
	"[::1]", "[::]", "0.0.0.0", "0x", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:7f00:1]", "[::127.0.0.1]",
	"[fe80::1%25lo]", "[::1%25lo]", "user@127.0.0.1", "user:pw@127.0.0.1", "example.com@127.0.0.1",
	"ip6-localhost", "0x7f000001.", "vm",
	"10.0.0.1", "169.254.169.254", "[fd00:ec2::254]", "[64:ff9b::a00:1]", "[2002:7f00:1::]", "[2001::1]", "[ff02::1%25lo]",
	"metadata.test", "rebind.test", "REBIND.test.", "v6.test", "mapped.test", "nat64.test", "6to4.test", "unspecified.test",
}

// unresolvedHosts never reach the hook either: Go's resolver takes a name of digits and dots alone
// for no name, and asks nobody. The C library would.
var unresolvedHosts = []string{
	"127.1", "127.0.1", "2130706433", "017700000001", "0177.0.0.1", "127.0.0.1.", "0", "127.000.000.001", "00000000127.0.0.1",
}

// unparsedHosts never reach the dialer: net/url refuses them.
var unparsedHosts = []string{
	"127.0.0.1\\@x", "1.1.1.1 &@127.0.0.1", "127.0.0.1%00.example.com", "127.0.0.1%0d%0aHost:x", "[::1]x", "%31%32%37.0.0.1",
}

func TestDial_EveryFormIsRefusedInTheHook(t *testing.T) {
	t.Parallel()
	for _, host := range dialledHosts {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			r := &recorder{guard: New(nil)}
			_, err := r.client().Get("http://" + host + ":8099/")
			if !errors.Is(err, ErrBlocked) || len(r.seen) == 0 || len(r.passed) > 0 {
				t.Errorf("err = %v, the hook saw %q and let %q through", err, r.seen, r.passed)
			}
		})
	}
}

func TestDial_FormsThatAreNotResolved(t *testing.T) {
	t.Parallel()
	for _, host := range unresolvedHosts {
		r := &recorder{guard: New(nil)}
		_, err := r.client().Get("http://" + host + ":8099/")
		if err == nil || len(r.seen) > 0 {
			t.Errorf("%q: err = %v, the hook saw %q: move it to the dialled forms", host, err, r.seen)
		}
	}
}

func TestDial_FormsThatDoNotParse(t *testing.T) {
	t.Parallel()
	for _, host := range unparsedHosts {
		if u, err := url.Parse("http://" + host + ":8099/"); err == nil {
			t.Errorf("%q parses with host %q: move it to the dialled forms", host, u.Host)
		}
	}
}

// The hook cannot blame CheckURL for what it lets through, but the two must agree: no literal that
// the hook refuses may have been stored.
func TestDial_CheckURLRefusesTheSameLiterals(t *testing.T) {
	t.Parallel()
	names := []string{"vm", "ip6-localhost"}
	for _, host := range slices.Concat(dialledHosts, unresolvedHosts, unparsedHosts) {
		if slices.Contains(names, host) || strings.HasSuffix(strings.TrimSuffix(host, "."), ".test") {
			continue
		}
		if New(nil).CheckURL("https://"+host+":8099/") == nil {
			t.Errorf("%q is accepted", host)
		}
	}
}

func TestDial_PublicAddressPassesTheHook(t *testing.T) {
	t.Parallel()
	r := &recorder{guard: New(nil)}
	_, err := r.client().Get("http://8.8.8.8:8099/")
	if !errors.Is(err, errStop) || errors.Is(err, ErrBlocked) || len(r.passed) != 1 {
		t.Errorf("err = %v, let through %q", err, r.passed)
	}
}

func TestDial_ForbiddenPortIsRefusedInTheHook(t *testing.T) {
	t.Parallel()
	r := &recorder{guard: New(prefixes(t, "127.0.0.0/8"))}
	if _, err := r.client().Get("http://127.0.0.1:25/"); !errors.Is(err, ErrBlocked) {
		t.Errorf("err = %v, want ErrBlocked", err)
	}
}

func TestDial_AllowedLoopbackConnects(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	defer srv.Close()
	d := &net.Dialer{ControlContext: New(prefixes(t, "127.0.0.0/8")).Control}
	tr := &http.Transport{DialContext: d.DialContext}
	defer tr.CloseIdleConnections()
	res, err := (&http.Client{Transport: tr}).Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		t.Errorf("status %d", res.StatusCode)
	}
}
