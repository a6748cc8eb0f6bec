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

// Reply is the answer of a Receiver. The zero value is 200 without a body.
type Reply struct {
	Status int
	Header http.Header
	Body   string
}

// Receiver is a correct webhook endpoint that records its requests. It answers 200, or what Answer
// sets. It is safe for concurrent use.
type Receiver struct {
	// URL is its address, https://127.0.0.1:port/hook.
	URL string

	server *http.Server
	served sync.WaitGroup // the server's goroutine; Close waits for it

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

// Answer sets the function that answers from now on. The sender waits for it, and it may block.
func (r *Receiver) Answer(answer func(Received) Reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// Always makes it answer every request with the status and the body.
func (r *Receiver) Always(status int, body string) {
	r.Answer(func(Received) Reply { return Reply{Status: status, Body: body} })
}

// Requests returns the requests so far.
func (r *Receiver) Requests() []Received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// Await blocks until there are n requests or ctx ends, and returns the requests.
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

// ServeHTTP records the request and answers it.
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

// remember numbers and stores a request, wakes the waiting goroutines, and returns the function
// that answers.
func (r *Receiver) remember(got Received) (Received, func(Received) Reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	got.Number = len(r.got) + 1
	r.got = append(r.got, got)
	close(r.more)
	r.more = make(chan struct{})
	return got, r.answer
}
