package deliver

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// burst makes `attempts` attempts to one host at once. The host answers each request after `takes`; 0
// means never. burst returns the results, the number of connections made, and when the last was made.
func burst(t *testing.T, attempts int, takes time.Duration) (results []Result, conns int, last time.Duration) {
	t.Helper()
	began := time.Now()
	var mu sync.Mutex // guards conns and last
	serve := func(c net.Conn) {
		defer c.Close()
		if takes == 0 {
			<-t.Context().Done()
			return
		}
		for serveOne(&slowConn{c, takes}) {
		}
	}
	c := NewClient(ClientConfig{Timeout: 10 * time.Second, PerHost: IdlePerHost, DialContext: func(context.Context, string, string) (net.Conn, error) {
		mu.Lock()
		defer mu.Unlock()
		conns, last = conns+1, time.Since(began)
		ours, theirs := net.Pipe()
		go serve(theirs)
		return ours, nil
	}})
	results = make([]Result, attempts)
	var group sync.WaitGroup
	for i := range results {
		group.Go(func() { results[i] = c.Attempt(t.Context(), Request{URL: "http://hook.example/", Body: []byte("{}")}) })
	}
	group.Wait()
	c.CloseIdle()
	synctest.Wait()
	if n := len(c.hosts.byKey); n != 0 && takes > 0 {
		t.Errorf("%d hosts are remembered without a connection: %+v", n, c.hosts.byKey[hostKey{"hook.example:80", false}])
	}
	mu.Lock()
	defer mu.Unlock()
	return results, conns, last
}

// slowConn waits before its first byte is written.
type slowConn struct {
	net.Conn
	takes time.Duration
}

func (c *slowConn) Write(p []byte) (int, error) {
	time.Sleep(c.takes) // of the fake clock: what an endpoint takes
	return c.Conn.Write(p)
}

// A burst of deliveries to a fast host shares as few connections as are enough: each further one would cost
// a handshake.
func TestHost_ABurstSharesConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		results, conns, _ := burst(t, 4000, 5*time.Millisecond)
		for _, r := range results {
			if r.Class != "" {
				t.Fatal(r.Error)
			}
		}
		if conns != enoughConns {
			t.Errorf("%d connections, want %d", conns, enoughConns)
		}
	})
}

// An endpoint that shares its host with a hanging one waits a moment for its own connection, and not for
// the other endpoint.
func TestHost_NobodyWaitsForOneThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, conns, last := burst(t, 3*enoughConns, 0)
		if conns != 3*enoughConns || last != hostRest {
			t.Errorf("%d connections, the last after %v; want %d after %v", conns, last, 3*enoughConns, hostRest)
		}
	})
}

// Neither does it wait long for connections that become free one by one.
func TestHost_NobodyWaitsForSlowOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		results, conns, last := burst(t, 1600, time.Second)
		if conns != 1600 || last != hostRest {
			t.Errorf("%d connections, the last after %v; want 1600 after %v", conns, last, hostRest)
		}
		for _, r := range results {
			if r.Class != "" || r.Duration > time.Second+2*hostRest {
				t.Fatalf("after %v: %s", r.Duration, r.Error)
			}
		}
	})
}

// If a host is too slow for all attempts that wait for it, those that would wait too long get connections of
// their own.
func TestHost_AsManyWaitAsAreServedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		results, conns, last := burst(t, 4000, 20*time.Millisecond)
		served := enoughConns // by the end of the first rest
		if want := 4000 - served - served*hostRests; conns != want || last != hostRest {
			t.Errorf("%d connections, the last after %v; want %d after %v", conns, last, want, hostRest)
		}
		for _, r := range results {
			if r.Class != "" {
				t.Fatal(r.Error)
			}
		}
	})
}

// A connection that was counted is counted out once, however it ends.
func TestHost_ConnectionsAreCountedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Int32
		c := NewClient(ClientConfig{Timeout: time.Second, PerHost: 1, DialContext: func(context.Context, string, string) (net.Conn, error) {
			switch made.Add(1) {
			case 1:
				return nil, net.ErrClosed
			case 2:
				panic("a dial panics")
			}
			ours, theirs := net.Pipe()
			go func() { defer theirs.Close(); serveOne(theirs) }()
			return ours, nil
		}})
		attempt := func() (r Result) {
			defer func() { _ = recover() }()
			return c.Attempt(t.Context(), Request{URL: "http://hook.example/", Body: []byte("{}")})
		}
		attempt()
		attempt()
		if r := attempt(); r.StatusCode != http.StatusOK {
			t.Error(r.Error)
		}
		synctest.Wait()
		c.CloseIdle()
		synctest.Wait()
		if len(c.hosts.byKey) != 0 {
			t.Errorf("left: %+v", c.hosts.byKey[hostKey{"hook.example:80", false}])
		}
	})
}

// The number of idle connections is limited per host and in all, and so is their time. The most
// recently used ones are kept.
func TestHost_KeepsSomeConnectionsForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewClient(ClientConfig{Timeout: 10 * time.Second, PerHost: 2, Idle: 3, DialContext: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() {
				defer theirs.Close()
				for serveOne(&slowConn{theirs, time.Millisecond}) {
				}
			}()
			return ours, nil
		}})
		kept := func(host string) int {
			synctest.Wait()
			c.hosts.mu.Lock()
			defer c.hosts.mu.Unlock()
			if h := c.hosts.byKey[hostKey{host + ":80", false}]; h != nil {
				return len(h.idle)
			}
			return 0
		}
		attempts := func(host string, n int) {
			var group sync.WaitGroup
			for range n {
				group.Go(func() {
					if r := c.Attempt(t.Context(), Request{URL: "http://" + host + "/", Body: []byte("{}")}); r.Class != "" {
						t.Error(r.Error)
					}
				})
			}
			group.Wait()
		}
		attempts("a.example", 4)
		if n := kept("a.example"); n != 2 {
			t.Errorf("%d are kept of 4, want 2", n)
		}
		time.Sleep(idleTimeout / 2) // of the fake clock
		attempts("b.example", 2)
		if a, b := kept("a.example"), kept("b.example"); a != 1 || b != 2 {
			t.Errorf("%d and %d are kept, want 1 and 2: three in all, and the oldest is closed", a, b)
		}
		time.Sleep(idleTimeout/2 + time.Second) // of the fake clock
		if a, b := kept("a.example"), kept("b.example"); a != 0 || b != 2 {
			t.Errorf("%d and %d are kept after a while, want 0 and 2", a, b)
		}
		time.Sleep(idleTimeout / 2) // of the fake clock
		if a, b := kept("a.example"), kept("b.example"); a != 0 || b != 0 {
			t.Errorf("%d and %d are kept at last, want none", a, b)
		}
	})
}
