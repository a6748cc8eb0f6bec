package address

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sheaf.dev/internal/sheaftest"
)

const (
	// apiHost is where the program listens: an address of its own, so that connections to any
	// other address of the same machine, even to the API's port, are noticed.
	apiHost = "127.9.9.9"
	dnsHost = "127.9.9.53"
)

// public are the addresses that stand for the Internet. Whatever else is reached is special.
var public = []netip.Addr{netip.MustParseAddr("93.184.216.34"), netip.MustParseAddr("2606:2800:220:1:248:1893:25c8:1946")}

// own is an address that looks public and belongs to an interface of this machine.
var own = []netip.Addr{netip.MustParseAddr("93.184.216.77")}

// world is a network namespace in which every address belongs to this machine. Connections to an
// address are counted by their first packets, whether or not a program listens there.
type world struct {
	roots string // file of the certificate to trust
	dns   *dns
	wire  int // the packet socket

	mu        sync.Mutex // guards what follows
	flows     map[flow]bool
	delivered int // requests that a public address answered
}

// flow is one attempt to connect.
type flow struct {
	from uint16
	to   netip.AddrPort
}

// newWorld makes the network. The process must be in a network and a mount namespace of its own.
func newWorld(t *testing.T) *world {
	t.Helper()
	command(t, "ip", "link", "set", "lo", "up")
	command(t, "ip", "route", "add", "local", "0.0.0.0/0", "dev", "lo")
	command(t, "ip", "-6", "route", "add", "local", "::/0", "dev", "lo")
	command(t, "ip", "addr", "add", own[0].String()+"/32", "dev", "lo")
	w := &world{flows: map[flow]bool{}, roots: filepath.Join(t.TempDir(), "roots.pem")}
	w.replaceFiles(t)
	w.dns = serveDNS(t)
	w.listen(t)
	w.watch(t)
	return w
}

func command(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
}

// replaceFiles gives the processes of this namespace our resolver and our hosts.
func (w *world) replaceFiles(t *testing.T) {
	t.Helper()
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		"/etc/resolv.conf": "nameserver " + dnsHost + "\nsearch " + searchDomain + "\noptions timeout:30 attempts:2\n",
		"/etc/hosts":       "127.0.0.1 localhost\n10.0.0.1 " + hostsName + "\n",
	} {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount(file, path, "", syscall.MS_BIND, ""); err != nil {
			t.Fatalf("mount over %s: %v", path, err)
		}
	}
}

// listen serves HTTPS on every address there is.
func (w *world) listen(t *testing.T) {
	t.Helper()
	ca, err := sheaftest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := ca.Issue(sheaftest.CertOptions{Hosts: append(names(), "localhost", "169.254.169.254")})
	if err != nil {
		t.Fatal(err)
	}
	if err := ca.WriteFile(w.roots); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "[::]:443")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: w, ErrorLog: log.New(io.Discard, "", 0), TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}}}
	var served sync.WaitGroup
	served.Go(func() { _ = s.ServeTLS(l, "", "") })
	t.Cleanup(func() {
		s.Close()
		served.Wait()
	})
}

// ServeHTTP redirects requests for redirectPath to an inner address, and accepts all others.
func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if r.URL.Path == redirectPath {
		http.Redirect(rw, r, "https://169.254.169.254/", http.StatusTemporaryRedirect)
		return
	}
	if to, err := netip.ParseAddrPort(r.Context().Value(http.LocalAddrContextKey).(net.Addr).String()); err == nil && isPublic(to.Addr()) {
		w.mu.Lock()
		w.delivered++
		w.mu.Unlock()
	}
}

func isPublic(ip netip.Addr) bool {
	for _, p := range public {
		if ip.Unmap() == p {
			return true
		}
	}
	return false
}

// watch looks at every packet of the namespace.
func (w *world) watch(t *testing.T) {
	t.Helper()
	const all = 0x0300 // ETH_P_ALL in the network's order
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM, all)
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20)
	w.wire = fd
	wake := unix.Timeval{Usec: 20_000}
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wake); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() { w.read(t, stop) })
	t.Cleanup(func() {
		close(stop)
		done.Wait()
		_ = unix.Close(fd)
	})
}

func (w *world) read(t *testing.T, stop <-chan struct{}) {
	buf := make([]byte, 256)
	for {
		n, _, err := unix.Recvfrom(w.wire, buf, 0)
		switch {
		case err == nil:
			w.note(buf[:n])
		case err != unix.EAGAIN && err != unix.EINTR:
			t.Errorf("watch the wire: %v", err)
			return
		}
		select {
		case <-stop:
			return
		default:
		}
	}
}

// note counts a packet that begins a TCP connection, or any of UDP that is no question of a name.
func (w *world) note(packet []byte) {
	f, ok := begins(packet)
	if !ok || f.to.Addr() == netip.MustParseAddr(apiHost) || f.to.Addr() == netip.MustParseAddr(dnsHost) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flows[f] = true
}

// begins returns the flow of a packet that opens one.
func begins(b []byte) (f flow, ok bool) {
	const tcp, udp, syn, ack = 6, 17, 0x02, 0x10
	var protocol byte
	var from, to netip.Addr
	switch {
	case len(b) > 40 && b[0]>>4 == 4:
		protocol, from, to = b[9], netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20]))
		b = b[int(b[0]&15)*4:]
	case len(b) > 54 && b[0]>>4 == 6:
		protocol, from, to = b[6], netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40]))
		b = b[40:]
	default:
		return flow{}, false
	}
	f = flow{binary.BigEndian.Uint16(b), netip.AddrPortFrom(to, binary.BigEndian.Uint16(b[2:]))}
	switch protocol {
	case tcp:
		return f, b[13]&(syn|ack) == syn
	case udp:
		return f, from != netip.MustParseAddr(dnsHost)
	}
	return flow{}, false
}

// mark sends a packet of our own and returns when the watch has seen it, and so all before it.
func (w *world) mark(t *testing.T, port uint16) {
	t.Helper()
	to := netip.AddrPortFrom(netip.MustParseAddr("127.7.7.7"), port)
	c, err := net.Dial("udp", to.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	from := uint16(c.LocalAddr().(*net.UDPAddr).Port)
	seen := func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		defer delete(w.flows, flow{from, to})
		return w.flows[flow{from, to}]
	}
	for range 60_000 { // five minutes and more
		if _, err := c.Write(make([]byte, 64)); err == nil && seen() {
			return
		}
		unix.Nanosleep(&unix.Timespec{Nsec: 5e6}, nil)
	}
	t.Fatal("the watch sees no packet")
}

// reached returns how often something special was connected to since the last call, which addresses, and how often a
// public one took a delivery.
func (w *world) reached(t *testing.T) (special int, where map[netip.Addr]int, delivered int) {
	t.Helper()
	w.mark(t, 7)
	w.mu.Lock()
	defer w.mu.Unlock()
	where = map[netip.Addr]int{}
	for f := range w.flows {
		if !isPublic(f.to.Addr()) && f.to.Addr() != netip.MustParseAddr("127.7.7.7") {
			special++
			where[f.to.Addr()]++
		}
	}
	delivered = w.delivered
	w.flows, w.delivered = map[flow]bool{}, 0
	return special, where, delivered
}
