package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"sheaf.dev/internal/sheaftest"
)

// receiver is the webhook endpoint, in a process of its own. It takes everything at once; below /hang it never answers.
type receiver struct {
	mu    sync.Mutex // guards all below
	tally tally
	times map[string]int64 // when the event about a resource came first, in nanoseconds
	last  posted
}

// tally is how many deliveries came since the last reset.
type tally struct {
	Count       int
	First, Last int64 // when, in nanoseconds
}

// posted is a delivery, to be posted again by the bare client.
type posted struct {
	URL    string
	Header http.Header
	Body   []byte
}

// receiveCommand serves HTTPS on addr until the process is ended. On control it serves what it has
// received.
func receiveCommand(addr, control, cert, key string) error {
	r := &receiver{times: map[string]int64{}}
	go func() { log.Fatal(http.ListenAndServe(control, http.HandlerFunc(r.tell))) }()
	var http1 http.Protocols
	http1.SetHTTP1(true)
	s := &http.Server{Addr: addr, Handler: r, Protocols: &http1, ErrorLog: log.New(io.Discard, "", 0)}
	return s.ListenAndServeTLS(cert, key)
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	now := time.Now().UnixNano()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	if strings.HasPrefix(req.URL.Path, "/hang") {
		<-req.Context().Done()
		return
	}
	r.mu.Lock()
	if r.tally.Count++; r.tally.Count == 1 {
		r.tally.First = now
		r.last = posted{Header: req.Header.Clone(), Body: body}
	}
	r.tally.Last = now
	if strings.HasPrefix(req.URL.Path, "/timed") {
		if id := resource(body); r.times[id] == 0 {
			r.times[id] = now
		}
	}
	r.mu.Unlock()
}

var resourceField = []byte(`"resource_id":"`)

// resource is the id of what an event is about.
func resource(body []byte) string {
	_, rest, _ := bytes.Cut(body, resourceField)
	id, _, _ := bytes.Cut(rest, []byte{'"'})
	return string(id)
}

func (r *receiver) tell(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch req.URL.Path {
	case "/reset":
		r.tally, r.times = tally{}, map[string]int64{}
	case "/times":
		_ = json.NewEncoder(w).Encode(r.times)
	case "/last":
		_ = json.NewEncoder(w).Encode(r.last)
	default:
		_ = json.NewEncoder(w).Encode(r.tally)
	}
}

// endpoint is the receiver as the harness sees it.
type endpoint struct {
	process *process
	url     string // https://127.0.0.1:port
	ca      string // a file
}

// startReceiver makes an authority and a certificate for this run, and starts the receiver.
func (b *bench) startReceiver() (*endpoint, error) {
	cert, key := filepath.Join(b.dir, "cert.pem"), filepath.Join(b.dir, "key.pem")
	if err := writeCertificates(b.caFile(), cert, key); err != nil {
		return nil, err
	}
	addr, control := freeAddr(), freeAddr()
	p, err := b.start("receiver", b.self, nil, "receive", addr, control, cert, key)
	if err != nil {
		return nil, err
	}
	p.addr = control
	_, err = p.ready("/")
	return &endpoint{p, "https://" + addr, b.caFile()}, err
}

func (b *bench) caFile() string { return filepath.Join(b.dir, "ca.pem") }

func writeCertificates(caFile, certFile, keyFile string) error {
	ca, err := sheaftest.NewCA()
	if err != nil {
		return err
	}
	cert, err := ca.Issue(sheaftest.CertOptions{Hosts: []string{"127.0.0.1"}})
	if err != nil {
		return err
	}
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		return err
	}
	for file, block := range map[string]pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: cert.Certificate[0]},
		keyFile:  {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(&block), 0o600); err != nil {
			return err
		}
	}
	return ca.WriteFile(caFile)
}

// ask gets what the receiver tells at a path.
func (e *endpoint) ask(path string, out any) error {
	return persist(func() error {
		answer, err := patient.Get("http://" + e.process.addr + path)
		if err != nil {
			return stalledIf(true, err)
		}
		defer answer.Body.Close()
		if out == nil {
			return nil
		}
		return json.NewDecoder(answer.Body).Decode(out)
	})
}

// await blocks until n deliveries have arrived, and returns the tally.
func (e *endpoint) await(n int, within time.Duration) (t tally, err error) {
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if err := e.ask("/", &t); err != nil || t.Count >= n {
			return t, err
		}
	}
	return t, nil
}

// clientFor returns a client that trusts the authority and keeps up to `conns` connections open.
func clientFor(caFile string, conns int) (*http.Client, error) {
	text, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, MaxIdleConnsPerHost: conns}}, nil
}
