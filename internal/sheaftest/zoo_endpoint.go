package sheaftest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"sync"
	"time"
)

// Endpoint is a listener with a Behaviour.
type Endpoint struct {
	// URL is its address, https://127.0.0.1:port/.
	URL string

	listener net.Listener
	behave   Behaviour
	tls      *tls.Config
	stop     context.CancelFunc
	work     sync.WaitGroup

	mu    sync.Mutex // guards what follows
	conns map[net.Conn]time.Time
	stats Stats
}

// Stats are the connections of senders, as an Endpoint sees them.
type Stats struct {
	Connections int           // so far
	Open        int           // now
	Longest     time.Duration // that a connection was, or is, open
}

// Stats returns the figures so far.
func (e *Endpoint) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.stats
	for c, began := range e.conns {
		s.Longest = max(s.Longest, time.Since(began))
		if !hungUp(c) { // its behaviour may not have noticed yet
			s.Open++
		}
	}
	return s
}

// Name returns the name of its behaviour.
func (e *Endpoint) Name() string { return e.behave.Name }

// Listen serves b over TLS on address, until Close is called. The certificate is one of ca for
// 127.0.0.1 and localhost, unless b changes it. Connections are independent of each other.
func (b Behaviour) Listen(address string, ca *CA) (*Endpoint, error) {
	cert, err := ca.Issue(CertOptions{Hosts: []string{"127.0.0.1", "localhost"}})
	if err != nil {
		return nil, err
	}
	cfg := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	if b.TLS != nil {
		if err := b.TLS(cfg, ca); err != nil {
			return nil, err
		}
	}
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen as %s: %w", b.Name, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	e := &Endpoint{
		URL:      "https://" + ln.Addr().String() + "/",
		listener: ln, behave: b, tls: cfg, stop: stop,
		conns: map[net.Conn]time.Time{},
	}
	e.work.Go(func() { e.accept(ctx) })
	return e, nil
}

// Close stops listening, closes every connection and waits until all behaviours have returned.
func (e *Endpoint) Close() {
	e.stop()
	_ = e.listener.Close()
	e.mu.Lock()
	for c := range e.conns {
		_ = c.Close()
	}
	e.mu.Unlock()
	e.work.Wait()
}

func (e *Endpoint) accept(ctx context.Context) {
	for {
		c, err := e.listener.Accept()
		if err != nil {
			return
		}
		if !e.track(ctx, c) {
			_ = c.Close()
			return
		}
		e.work.Go(func() { e.serve(ctx, c) })
	}
}

// track registers c for Close. It returns false if Close has begun.
func (e *Endpoint) track(ctx context.Context, c net.Conn) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.conns[c] = time.Now()
	e.stats.Connections++
	return ctx.Err() == nil
}

func (e *Endpoint) serve(ctx context.Context, c net.Conn) {
	defer func() {
		_ = c.Close()
		e.mu.Lock()
		defer e.mu.Unlock()
		e.stats.Longest = max(e.stats.Longest, time.Since(e.conns[c]))
		delete(e.conns, c)
	}()
	ctx, gone := context.WithCancel(ctx)
	defer gone()
	e.work.Go(func() { watch(ctx, c, gone) })
	if e.behave.Raw {
		e.behave.Serve(ctx, c)
		return
	}
	t := tls.Server(c, e.tls)
	if t.HandshakeContext(ctx) == nil {
		e.behave.Serve(ctx, t)
	}
}

// watch calls gone when the sender has closed its end. A behaviour that reads nothing would not
// notice it.
func watch(ctx context.Context, c net.Conn, gone func()) {
	tick := time.NewTicker(dripEvery)
	defer tick.Stop()
	for !hungUp(c) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
	gone()
}

// CA is a certificate authority for one process.
type CA struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewCA makes a CA.
func NewCA() (*CA, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "Sheaf test authority"},
		NotBefore:             time.Now().Add(-24 * time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &CA{cert: cert, key: key}, err
}

// Pool returns a pool with only this CA.
func (ca *CA) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	return pool
}

// WriteFile writes the CA's own certificate to a file for --webhook-ca-file.
func (ca *CA) WriteFile(path string) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.cert.Raw}), 0o644)
}

// CertOptions describe a server's certificate. If the times are zero, it is valid now and for some
// hours.
type CertOptions struct {
	Hosts      []string // names and addresses
	NotBefore  time.Time
	NotAfter   time.Time
	SelfSigned bool // instead of by the CA
	ClientOnly bool // not for servers
}

// Issue makes a certificate with a key of its own.
func (ca *CA) Issue(o CertOptions) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := o.template()
	parent, signer := ca.cert, ca.key
	if o.SelfSigned {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

func (o CertOptions) template() *x509.Certificate {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: "Sheaf test endpoint"},
		NotBefore:    o.NotBefore,
		NotAfter:     o.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if o.ClientOnly {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	}
	if template.NotBefore.IsZero() {
		template.NotBefore = time.Now().Add(-12 * time.Hour)
	}
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(12 * time.Hour)
	}
	for _, host := range o.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return template
}
