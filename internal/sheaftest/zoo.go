// Package sheaftest is the test kit for several packages' tests and for the harnesses: it simulates
// the outside world. The product must not import it.
package sheaftest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Behaviour is one way in which a webhook endpoint can be hostile or broken. Its name does not
// change.
type Behaviour struct {
	Name string
	// Does describes it for a person.
	Does string
	// Serve serves one connection. It returns when it has finished, when ctx ends, or when the
	// connection ends. The connection is closed afterwards.
	Serve func(ctx context.Context, c net.Conn)
	// Raw: Serve gets the connection before the TLS handshake. Otherwise it gets the connection
	// inside TLS, if there is TLS.
	Raw bool
	// TLS changes the endpoint's TLS configuration before it listens.
	TLS func(*tls.Config, *CA) error
}

// Zoo returns all behaviours. Each of them would block or exhaust a careless client.
func Zoo() []Behaviour {
	var all []Behaviour
	for _, part := range [][]Behaviour{slowAnswers, endlessAnswers, interimAnswers, brokenAnswers, oddAnswers, rawAnswers, badTLS} {
		all = append(all, part...)
	}
	return all
}

// ok is a complete answer that means success.
const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// dripEvery is the pause between two pieces of the behaviours that drip.
const dripEvery = 20 * time.Millisecond

var slowAnswers = []Behaviour{
	{Name: "never-answers", Does: "reads the request and says nothing", Serve: steps(request, hang)},
	{Name: "never-reads", Does: "accepts and reads nothing", Serve: steps(hang)},
	{Name: "header-drip", Does: "sends a header a byte at a time, for ever", Serve: steps(request, say("HTTP/1.1 200 OK\r\nX-Drip: "), drip("a"))},
	{Name: "header-never-ends", Does: "stops in the middle of a header", Serve: steps(request, say("HTTP/1.1 200 OK\r\nX-Half: a"), hang)},
	{Name: "early-hints-drip", Does: "sends 103 again and again, slowly", Serve: steps(request, drip("HTTP/1.1 103 Early Hints\r\n\r\n"))},
	{Name: "body-never-comes", Does: "announces a body and sends none", Serve: steps(request, say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"), hang)},
	{Name: "body-drip", Does: "sends the body a byte at a time", Serve: steps(request, say("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"), drip("a"))},
	{Name: "chunk-drip", Does: "sends chunks of one byte, slowly", Serve: steps(request, say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), drip("1\r\na\r\n"))},
	{Name: "trailer-drip", Does: "sends a trailer a byte at a time, for ever", Serve: steps(request, say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Drip: "), drip("a"))},
	{Name: "error-body-drip", Does: "answers 500 and drips its body", Serve: steps(request, say("HTTP/1.1 500 No\r\nContent-Length: 1000000\r\n\r\n"), drip("a"))},
}

var endlessAnswers = []Behaviour{
	{Name: "endless-status-line", Does: "never ends the status line", Serve: steps(request, say("HTTP/1.1 200 "), flood(strings.Repeat("a", 4096)))},
	{Name: "endless-headers", Does: "sends headers without end", Serve: steps(request, say("HTTP/1.1 200 OK\r\n"), flood("X-A: "+strings.Repeat("a", 4096)+"\r\n"))},
	{Name: "endless-header-value", Does: "sends one header without end", Serve: steps(request, say("HTTP/1.1 200 OK\r\nX-A: "), flood(strings.Repeat("a", 4096)))},
	{Name: "endless-body", Does: "sends a body without end", Serve: steps(request, say("HTTP/1.1 200 OK\r\n\r\n"), flood(strings.Repeat("a", 65536)))},
	{Name: "endless-chunks", Does: "sends tiny chunks without end", Serve: steps(request, say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), flood(strings.Repeat("1\r\na\r\n", 1000)))},
	{Name: "endless-chunk-extensions", Does: "sends long chunk extensions around each byte", Serve: steps(request, say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), flood("1;"+strings.Repeat("e", 3000)+"\r\na\r\n"))},
	{Name: "endless-trailers", Does: "sends trailers without end", Serve: steps(request, say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"), flood("X-A: "+strings.Repeat("a", 4096)+"\r\n"))},
	{Name: "gzip-bomb", Does: "sends what unpacks to a thousand times its size, without end", Serve: steps(request, say("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"), gzipBomb)},
}

var interimAnswers = []Behaviour{
	{Name: "early-hints-flood", Does: "sends 103 without end", Serve: steps(request, flood(strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", 50)))},
	{Name: "continue-flood", Does: "sends 100 without end", Serve: steps(request, flood(strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 50)))},
	{Name: "switching-protocols", Does: "answers 101 to a POST and keeps the connection", Serve: steps(request, say("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"), hang)},
	{Name: "switching-protocols-flood", Does: "answers 101 and sends without end", Serve: steps(request, say("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"), flood(strings.Repeat("a", 65536)))},
	{Name: "switching-without-upgrade", Does: "answers 101 without saying to what", Serve: steps(request, say("HTTP/1.1 101 Switching Protocols\r\n\r\n"), hang)},
}

var brokenAnswers = []Behaviour{
	{Name: "reset-at-once", Does: "resets before it reads", Serve: steps(reset)},
	{Name: "reset-after-request", Does: "resets instead of an answer", Serve: steps(request, reset)},
	{Name: "close-without-answer", Does: "closes instead of an answer", Serve: steps(request)},
	{Name: "close-in-headers", Does: "closes within a header", Serve: steps(request, say("HTTP/1.1 200 OK\r\nX-Half: a"))},
	{Name: "reset-in-body", Does: "resets within the body", Serve: steps(request, say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc"), reset)},
	{Name: "close-in-body", Does: "closes within the body", Serve: steps(request, say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc"))},
	{Name: "close-in-chunk", Does: "closes within a chunk", Serve: steps(request, say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nabc"))},
	{Name: "bad-chunk-size", Does: "sends a chunk size that is no number", Serve: steps(request, say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc"), hang)},
	{Name: "two-content-lengths", Does: "sends two lengths that disagree", Serve: steps(request, say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok"), hang)},
	{Name: "negative-content-length", Does: "sends a negative length", Serve: steps(request, say("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nok"), hang)},
	{Name: "not-http", Does: "answers as a mail server does", Serve: steps(request, say("220 mail.example ESMTP ready\r\n"), hang)},
	{Name: "http2-frames", Does: "answers in HTTP/2 unasked", Serve: steps(request, say("\x00\x00\x00\x04\x00\x00\x00\x00\x00\r\n"), hang)},
	{Name: "status-000", Does: "answers status 000", Serve: steps(request, say("HTTP/1.1 000 None\r\nContent-Length: 0\r\n\r\n"), hang)},
	{Name: "header-without-colon", Does: "sends a header without a colon", Serve: steps(request, say("HTTP/1.1 200 OK\r\nnonsense\r\n\r\n"), hang)},
}

var oddAnswers = []Behaviour{
	{Name: "redirect-inside", Does: "redirects to the metadata service of a cloud", Serve: steps(request, say("HTTP/1.1 307 Moved\r\nLocation: http://169.254.169.254/latest/meta-data/\r\nContent-Length: 0\r\n\r\n"), hang)},
	{Name: "redirect-to-itself", Does: "redirects in a circle", Serve: steps(request, say("HTTP/1.1 302 Moved\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"), hang)},
	{Name: "answer-before-body", Does: "answers 200 before it has the body, and reads no more", Serve: steps(hello, say(ok), hang)},
	{Name: "refusal-before-body", Does: "answers 413 before it has the body, and reads no more", Serve: steps(hello, say("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"), hang)},
	{Name: "two-answers", Does: "answers twice", Serve: steps(request, say(ok+ok), hang)},
	{Name: "no-content-with-body", Does: "answers 204 with a body", Serve: steps(request, say("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello"), hang)},
	{Name: "not-text", Does: "answers with bytes that are no text", Serve: steps(request, say("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\na\x00\xff\xfeb\x00"), hang)},
	{Name: "status-999", Does: "answers status 999", Serve: steps(request, say("HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n"), hang)},
}

// rawAnswers are behaviours that answer a TLS handshake with something else.
var rawAnswers = []Behaviour{
	{Name: "tls-never", Does: "does not answer the TLS handshake", Raw: true, Serve: steps(hang)},
	{Name: "tls-drip", Does: "drips the TLS handshake", Raw: true, Serve: steps(hello, say("\x16\x03\x03\x40\x00"), drip("\x02"))},
	{Name: "tls-plain-http", Does: "speaks plain HTTP where TLS is expected", Raw: true, Serve: steps(hello, say("HTTP/1.1 400 Bad Request\r\n\r\n"), hang)},
	{Name: "tls-reset", Does: "resets in the handshake", Raw: true, Serve: steps(hello, reset)},
	{Name: "tls-close", Does: "closes in the handshake", Raw: true, Serve: steps(hello)},
	{Name: "tls-alert", Does: "ends the handshake by an alert", Raw: true, Serve: steps(hello, say("\x15\x03\x03\x00\x02\x02\x28"), hang)},
	{Name: "tls-warnings-flood", Does: "sends TLS warnings without end", Raw: true, Serve: steps(hello, flood(strings.Repeat("\x15\x03\x03\x00\x02\x01\x5a", 500)))},
	{Name: "tls-huge-message", Does: "announces a handshake message of 16 MB and sends it", Raw: true, Serve: steps(hello, flood("\x16\x03\x03\x40\x00\x02\xff\xff\xff"+strings.Repeat("\x00", 16380)))},
}

var badTLS = []Behaviour{
	{Name: "certificate-expired", Does: "has a certificate that is over", Serve: steps(request, say(ok), hang), TLS: certificate(func(o *CertOptions) { o.NotAfter = time.Now().Add(-time.Hour) })},
	{Name: "certificate-not-yet", Does: "has a certificate of tomorrow", Serve: steps(request, say(ok), hang), TLS: certificate(func(o *CertOptions) { o.NotBefore = time.Now().Add(time.Hour) })},
	{Name: "certificate-self-signed", Does: "has a certificate of its own making", Serve: steps(request, say(ok), hang), TLS: certificate(func(o *CertOptions) { o.SelfSigned = true })},
	{Name: "certificate-other-host", Does: "has a certificate of another host", Serve: steps(request, say(ok), hang), TLS: certificate(func(o *CertOptions) { o.Hosts = []string{"other.example"} })},
	{Name: "certificate-for-clients", Does: "has a certificate that is not for servers", Serve: steps(request, say(ok), hang), TLS: certificate(func(o *CertOptions) { o.ClientOnly = true })},
	{Name: "certificate-wanted", Does: "wants a certificate of the sender", Serve: steps(request, say(ok), hang), TLS: func(c *tls.Config, _ *CA) error {
		c.ClientAuth = tls.RequireAnyClientCert
		c.MaxVersion = tls.VersionTLS12 // in 1.3 the refusal races with the request
		return nil
	}},
	{Name: "tls-1.1-only", Does: "speaks TLS 1.1 at most", Serve: steps(request, say(ok), hang), TLS: func(c *tls.Config, _ *CA) error {
		c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
		return nil
	}},
	{Name: "alpn-other", Does: "agrees on another protocol than HTTP", Serve: steps(request, say(ok), hang), TLS: func(c *tls.Config, _ *CA) error {
		c.NextProtos = []string{"other"}
		return nil
	}},
}

// A step does something with a connection. It returns false if no further step follows.
type step func(ctx context.Context, c net.Conn) bool

// steps returns a behaviour that runs the steps in order.
func steps(all ...step) func(context.Context, net.Conn) {
	return func(ctx context.Context, c net.Conn) {
		for _, do := range all {
			if !do(ctx, c) {
				return
			}
		}
	}
}

// request reads one whole request.
func request(_ context.Context, c net.Conn) bool {
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, r.Body)
	return err == nil
}

// hello reads the first bytes: the beginning of a TLS handshake, or of a request.
func hello(_ context.Context, c net.Conn) bool {
	_, err := c.Read(make([]byte, 4096))
	return err == nil
}

// say sends a text once.
func say(text string) step {
	return func(_ context.Context, c net.Conn) bool {
		_, err := io.WriteString(c, text)
		return err == nil
	}
}

// hang keeps the connection open and does nothing.
func hang(ctx context.Context, _ net.Conn) bool {
	<-ctx.Done()
	return false
}

// drip sends text again and again, slowly.
func drip(text string) step {
	return func(ctx context.Context, c net.Conn) bool {
		tick := time.NewTicker(dripEvery)
		defer tick.Stop()
		for {
			if _, err := io.WriteString(c, text); err != nil {
				return false
			}
			select {
			case <-ctx.Done():
				return false
			case <-tick.C:
			}
		}
	}
}

// flood sends text again and again, as fast as the sender reads it.
func flood(text string) step {
	b := []byte(text)
	return func(ctx context.Context, c net.Conn) bool {
		for ctx.Err() == nil {
			if _, err := c.Write(b); err != nil {
				break
			}
		}
		return false
	}
}

// reset ends a TCP connection with a reset.
func reset(_ context.Context, c net.Conn) bool {
	raw := c
	if t, ok := c.(*tls.Conn); ok {
		raw = t.NetConn()
	}
	if t, ok := raw.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = raw.Close()
	return false
}

// bomb is 10 MB of zeros in 10 KB.
var bomb = sync.OnceValue(func() string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	zeros := make([]byte, 64<<10)
	for range 160 {
		_, _ = z.Write(zeros)
	}
	_ = z.Close()
	return b.String()
})

// gzipBomb sends bombs without end.
func gzipBomb(ctx context.Context, c net.Conn) bool { return flood(bomb())(ctx, c) }

// certificate returns a function that gives the endpoint a certificate with changed options.
func certificate(change func(*CertOptions)) func(*tls.Config, *CA) error {
	return func(cfg *tls.Config, ca *CA) error {
		o := CertOptions{Hosts: []string{"127.0.0.1", "localhost"}}
		change(&o)
		cert, err := ca.Issue(o)
		cfg.Certificates = []tls.Certificate{cert}
		return err
	}
}
