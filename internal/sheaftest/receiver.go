package sheaftest

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Received is one request that a Receiver got.
type Received struct {
	Number int // counted from 1
	At     time.Time
	Method string
	URI    string // path and query
	Host   string
	Proto  string
	Header http.Header
	Body   []byte
}

// Reply is what a Receiver answers; the zero value is 200 with no body.
type Reply struct {
	Status int
	Header http.Header
	Body   string
}

// Receiver is a well-behaved webhook endpoint that remembers what it got and answers as told, 200
// at first. It is safe for concurrent use.
type Receiver struct {
	// URL is where it receives, https://127.0.0.1:port/hook.
	URL string

	server *http.Server
	served sync.WaitGroup // the server's goroutine, which Close waits for

	mu     sync.Mutex // guards what follows
	got    []Received
	answer func(Received) Reply
	more   chan struct{} // closed when got grows
}

// Receive starts a Receiver on loopback, with a certificate of ca for 127.0.0.1 and localhost.
// Close ends it.
func Receive(ca *CA) (*Receiver, error) {
	cert, err := ca.Issue(CertOptions{Hosts: []string{"127.0.0.1", "localhost"}})
	if err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for deliveries: %w", err)
	}
	r := &Receiver{URL: "https://" + ln.Addr().String() + "/hook", more: make(chan struct{}),
		answer: func(Received) Reply { return Reply{} }}
	r.server = &http.Server{Handler: r, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}}
	r.served.Go(func() { _ = r.server.ServeTLS(ln, "", "") })
	return r, nil
}

// Close ends it and every connection to it.
func (r *Receiver) Close() {
	_ = r.server.Close()
	r.served.Wait()
}

// Answer makes it answer otherwise from now on. The function runs while the sender waits, and may
// block.
func (r *Receiver) Answer(answer func(Received) Reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// Always makes it answer every request with the status and the body.
func (r *Receiver) Always(status int, body string) {
	r.Answer(func(Received) Reply { return Reply{Status: status, Body: body} })
}

// Requests returns what it got so far.
func (r *Receiver) Requests() []Received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// Await returns the requests once there are n, or those that came before ctx ended.
func (r *Receiver) Await(ctx context.Context, n int) []Received {
	for {
		r.mu.Lock()
		got, more := slices.Clone(r.got), r.more
		r.mu.Unlock()
		if len(got) >= n {
			return got
		}
		select {
		case <-ctx.Done():
			return got
		case <-more:
		}
	}
}

// ServeHTTP remembers the request and answers it.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	got, answer := r.remember(Received{At: time.Now(), Method: req.Method, URI: req.RequestURI, Host: req.Host, Proto: req.Proto,
		Header: req.Header, Body: body})
	reply := answer(got)
	for name, values := range reply.Header {
		w.Header()[name] = values
	}
	if reply.Status != 0 {
		w.WriteHeader(reply.Status)
	}
	_, _ = io.WriteString(w, reply.Body)
}

// remember numbers and keeps a request, wakes the waiting goroutines, and returns how to answer it.
func (r *Receiver) remember(got Received) (Received, func(Received) Reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	got.Number = len(r.got) + 1
	r.got = append(r.got, got)
	close(r.more)
	r.more = make(chan struct{})
	return got, r.answer
}
