package main

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"sheaf.dev/internal/config"
	"sheaf.dev/internal/sheaftest"
)

// bounded returns a listener with room for `most` connections, `share` of them of one address.
func bounded(l net.Listener, most, share int) *connections {
	return &connections{Listener: l, most: most, share: share, by: map[netip.Addr]*network{}, exempt: func(netip.Addr) bool { return false }}
}

// Each connection has a request, so none can be closed for another.
func TestConnections_BeyondTheBoundAreClosedAtOnce(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	l := bounded(inner, 2, 9)
	accepted := make(chan net.Conn)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- c
		}
	}()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	dial()
	dial()
	first, second := <-accepted, <-accepted
	l.track(first, http.StateActive)
	l.track(second, http.StateActive)
	defer second.Close()
	if _, err := dial().Read(make([]byte, 1)); err == nil {
		t.Error("a third connection was served")
	}
	first.Close()
	first.Close() // the second close makes no further room
	dial()
	third := <-accepted
	defer third.Close()
	l.track(third, http.StateActive)
	if _, err := io.WriteString(third, "x"); err != nil {
		t.Error(err)
	}
	if _, ok := third.(io.ReaderFrom); !ok {
		t.Error("the kernel cannot send files by itself on a connection that is counted")
	}
	if _, err := dial().Read(make([]byte, 1)); err == nil {
		t.Error("one too many was served")
	}
	for range 2 {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if open, refused := l.opened(), l.full.Load(); open != 2 || refused != 2 {
		t.Errorf("%d open, %d refused, want 2 and 2", open, refused)
	}
}

// Connections in the kernel's backlog are accepted; later ones are neither accepted nor refused.
func TestConnections_IgnoringNewOnesKeepsTheBacklog(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		sheaftest.Unable(t, "only Linux can")
	}
	l, err := listen("127.0.0.1:0", "--addr")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if !ignoreConnections(l) {
		t.Fatal("the filter is not taken")
	}
	late, err := net.DialTimeout("tcp", l.Addr().String(), 100*time.Millisecond)
	if err == nil {
		late.Close()
		t.Error("one more was taken")
	}
	if n := queued(l); n != 1 {
		t.Errorf("%d are reported in the backlog", n)
	}
	in, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if n := queued(l); n != 0 {
		t.Errorf("%d are reported in the backlog when it is empty", n)
	}
	if _, err := io.WriteString(client, "x"); err != nil {
		t.Error(err)
	}
	if n, err := in.Read(make([]byte, 1)); n != 1 {
		t.Errorf("who was in the queue is not heard: %v", err)
	}
}

func TestConnections_LeaveFilesForTheRest(t *testing.T) {
	t.Parallel()
	for files, want := range map[uint64]int{1 << 20: 16384, 16896: 16384, 16895: 16383, 1024: 512, 256: 128, 4096: 3584} {
		if got := mostConnections(files); got != want {
			t.Errorf("of %d files %d are for clients, want %d", files, got, want)
		}
	}
}

// This was a bug: a stop without a client sometimes ended with 1, because net/http closed the
// listener twice.
func TestConnections_CloseTwice(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := bounded(inner, 1, 1)
	if first, second := l.Close(), l.Close(); first != nil || second != nil {
		t.Errorf("got %v and %v", first, second)
	}
	if _, err := l.Accept(); err == nil {
		t.Error("somebody was let in afterwards")
	}
}

// A client that has sent nothing has more time for its first request than others for the next one.
func TestConnections_SilentClientsMaySendARequest(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := bounded(inner, 1, 1)
	defer l.Close()
	client, err := net.Dial("tcp", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	in, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	want := func(what string, early, late bool) {
		t.Helper()
		if l.mayRequest(0) != early || l.mayRequest(askWithin) != late || l.mayRequest(askMost) {
			t.Errorf("%s: at once %t, later %t, in the end %t", what, l.mayRequest(0), l.mayRequest(askWithin), l.mayRequest(askMost))
		}
	}
	want("silent", true, true)
	if _, err := io.WriteString(client, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	want("heard", true, false)
	in.Close()
	in.Close()
	want("gone", false, false)
}

// peer is a connection from an address.
type peer struct {
	net.Conn
	from   netip.Addr
	closed bool
}

func (p *peer) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(p.from, 5000))
}
func (p *peer) Close() error { p.closed = true; return nil }

func from(ip string) *peer { return &peer{from: netip.MustParseAddr(ip)} }

func TestConnections_OneAddressHoldsItsShare(t *testing.T) {
	t.Parallel()
	l := bounded(nil, 100, 2)
	l.exempt = func(ip netip.Addr) bool { return ip == netip.MustParseAddr("192.0.2.9") }
	for _, x := range []struct {
		ip   string
		room bool
	}{
		{"192.0.2.1", true}, {"192.0.2.1", true}, {"192.0.2.1", false}, {"::ffff:192.0.2.1", false}, {"192.0.2.2", true},
		{"2001:db8::1", true}, {"2001:db8::2", true}, {"2001:db8:0:0:ffff::3", false}, {"2001:db8:0:1::1", true},
		{"192.0.2.9", true}, {"192.0.2.9", true}, {"192.0.2.9", true},
	} {
		if got := l.admit(from(x.ip)) != nil; got != x.room {
			t.Errorf("%s: let in %t, want %t", x.ip, got, x.room)
		}
	}
	if open, over, full := l.opened(), l.over.Load(), l.full.Load(); open != 9 || over != 3 || full != 0 {
		t.Errorf("%d open, %d refused for their address, %d for want of room", open, over, full)
	}
}

func TestConnections_WhenAllAreTakenAnIdleOneMakesRoom(t *testing.T) {
	t.Parallel()
	l := bounded(nil, 4, 9)
	peers := []*peer{from("192.0.2.1"), from("192.0.2.1"), from("192.0.2.1"), from("192.0.2.2")}
	held := make([]*connection, len(peers))
	for i, p := range peers {
		if held[i] = l.admit(p); held[i] == nil {
			t.Fatal("there is room")
		}
		l.track(held[i], http.StateActive)
	}
	newcomer := func() *connection {
		c := l.admit(from("192.0.2.3"))
		if c != nil {
			l.track(tls.Server(c, nil), http.StateActive) // as net/http names it behind TLS
		}
		return c
	}
	if newcomer() != nil {
		t.Error("one more was let in while all are busy")
	}
	l.track(held[3], http.StateIdle) // idle for longest, but its address holds least
	l.track(held[1], http.StateIdle)
	l.track(held[0], http.StateIdle)
	l.track(held[0], http.StateActive)
	l.track(held[0], http.StateIdle)
	for i, want := range []int{1, 0, 3} { // of the address with most, then of the address with an idle one
		if newcomer() == nil {
			t.Fatalf("newcomer %d was refused", i)
		}
		for j, p := range peers {
			if p.closed && j != want {
				t.Errorf("newcomer %d: connection %d was closed, want %d", i, j, want)
			}
		}
		if !peers[want].closed {
			t.Errorf("newcomer %d: connection %d was not closed", i, want)
		}
		peers[want].closed = false
		if open := l.opened(); open != 4 {
			t.Errorf("%d are open", open)
		}
	}
	if newcomer() != nil {
		t.Error("one more was let in while all are busy")
	}
	held[2].Close()
	held[1].Close() // it was closed before, and makes no further room
	if newcomer() == nil || newcomer() != nil {
		t.Error("one connection that ends makes room for one")
	}
	if closed, full := l.closed.Load(), l.full.Load(); closed != 3 || full != 3 {
		t.Errorf("%d were closed and %d refused", closed, full)
	}
}

func TestConnections_SharesByAddress(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for _, x := range []struct {
		named  int
		exempt map[string]bool
	}{
		{0, map[string]bool{"127.0.0.1": true, "::1": true, "10.1.2.3": true, "192.0.2.1": false, "2001:db8::1": false}},
		{7, map[string]bool{"127.0.0.1": false, "::1": false, "10.1.2.3": true, "192.0.2.1": false}},
	} {
		l := boundConnections(nil, &config.Settings{ConnectionsPerAddress: x.named, TrustedProxy: proxies})
		for ip, want := range x.exempt {
			if got := l.exempt(netip.MustParseAddr(ip)); got != want {
				t.Errorf("share %d: %s is exempt: %t", x.named, ip, got)
			}
		}
		if x.named != 0 && l.share != x.named || l.share > l.most {
			t.Errorf("a share of %d of %d", l.share, l.most)
		}
	}
	for most, want := range map[int]int{16384: 4096, 512: 128, 200: 64, 128: 64, 100: 50} {
		if got := usualShare(most); got != want {
			t.Errorf("of %d one address may hold %d, want %d", most, got, want)
		}
	}
}

func BenchmarkConnections_AllTaken(b *testing.B) {
	l := bounded(nil, maxConnections, maxConnections)
	for i := range maxConnections {
		l.admit(&peer{from: netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})})
	}
	for b.Loop() {
		if l.admit(from("192.0.2.1")) == nil {
			b.Fatal("refused")
		}
	}
}
