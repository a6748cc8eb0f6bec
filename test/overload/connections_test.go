package overload

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaftest/proctest"
)

// limited is the program with 1,024 file descriptors; clients get 512 of them.
func limited(t *testing.T) *proctest.Program {
	p := proctest.New(t)
	p.Prefix = []string{"sh", "-c", `ulimit -n 1024 && exec "$@"`, "sh"}
	return p
}

// keptAlive connects from an address of loopback, makes one request, and leaves the connection open.
func keptAlive(t *testing.T, from, url string) (net.Conn, error) {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := dialer.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, ask(c)
}

// ask makes a request on the connection.
func ask(c net.Conn) error {
	if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		return err
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("answered with %d", res.StatusCode)
	}
	return nil
}

func metrics(t *testing.T, s *proctest.Server) map[string]float64 {
	t.Helper()
	f, err := proctest.Figures(newClient(t), s.Metrics)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// One address took all connections: beside 700 idle ones of it, others were reset.
func TestConnections_OneAddressHoldsItsShare(t *testing.T) {
	t.Parallel()
	s := limited(t).StartWithMetrics(t, "--connections-per-address", "128")
	served := 0
	for range 700 {
		if _, err := keptAlive(t, "127.0.0.1", s.URL); err == nil {
			served++
		}
	}
	if served != 128 {
		t.Errorf("one address has %d connections, want 128", served)
	}
	for i := range 20 {
		if _, err := keptAlive(t, "127.0.0.2", s.URL); err != nil {
			t.Fatalf("another address, connection %d: %v", i, err)
		}
	}
	f := metrics(t, s)
	if f["sheaf_connections"] != 148 || f["sheaf_connections_address_refused_total"] != 572 || f["sheaf_connections_refused_total"] != 0 {
		t.Errorf("%v open, %v refused for their address, %v for want of room", f["sheaf_connections"], f["sheaf_connections_address_refused_total"], f["sheaf_connections_refused_total"])
	}
}

// An address without a share, such as a proxy's, takes all connections. Its idle ones make room for others, and
// those keep what they have.
func TestConnections_IdleOnesMakeRoom(t *testing.T) {
	t.Parallel()
	s := limited(t).StartWithMetrics(t)
	pile := func() {
		for range 700 {
			if _, err := keptAlive(t, "127.0.0.1", s.URL); err != nil {
				t.Fatal(err)
			}
		}
	}
	pile()
	var others []net.Conn
	for i := range 20 {
		c, err := keptAlive(t, "127.0.0.2", s.URL)
		if err != nil {
			t.Fatalf("another address, connection %d: %v", i, err)
		}
		others = append(others, c)
	}
	pile()
	for i, c := range others {
		if err := ask(c); err != nil {
			t.Errorf("another address, connection %d, later: %v", i, err)
		}
	}
	f := metrics(t, s)
	if f["sheaf_connections"] != 512 || f["sheaf_connections_refused_total"] != 0 || f["sheaf_connections_idle_closed_total"] != 1420-512 {
		t.Errorf("%v open, %v refused, %v closed", f["sheaf_connections"], f["sheaf_connections_refused_total"], f["sheaf_connections_idle_closed_total"])
	}
}
