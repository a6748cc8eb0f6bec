package proctest

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"sheaf.dev/internal/sheaftest"
)

// Endpoint receives deliveries on loopback until the test ends. It returns its URL, and the
// certificate file for --webhook-ca-file.
func Endpoint(t testing.TB, h http.Handler) (url, roots string) {
	t.Helper()
	ca, err := sheaftest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := ca.Issue(sheaftest.CertOptions{Hosts: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	roots = filepath.Join(t.TempDir(), "roots.pem")
	if err := ca.WriteFile(roots); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	s.StartTLS()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL + "/hook", roots
}
