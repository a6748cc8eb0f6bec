package oauth

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
)

// D195: the reader of documents follows no redirect, reads at most 64 KiB, only JSON, and asks about each address before it
// connects.
func TestReader_IsBounded(t *testing.T) {
	t.Parallel()
	answers := map[string]func(http.ResponseWriter){
		"/good": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.Write([]byte(`{"a":1}`))
		},
		"/redirect": func(w http.ResponseWriter) { w.Header().Set("Location", "/good"); w.WriteHeader(http.StatusFound) },
		"/large": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.Write([]byte(strings.Repeat(" ", mostDocument+1)))
		},
		"/page": func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/html"); w.Write([]byte(`{"a":1}`)) },
		"/gone": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
		},
	}
	asked := map[string]int{}
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked[r.URL.Path]++
		answers[r.URL.Path](w)
	}))
	defer s.Close()
	roots := s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	allow := func(context.Context, string, string, syscall.RawConn) error { return nil }
	read := Reader(allow, roots, "test")
	for path := range answers {
		got, err := read(t.Context(), s.URL+path)
		if (err == nil) != (path == "/good") {
			t.Errorf("%s: %s, %v", path, got, err)
		}
	}
	if asked["/good"] != 1 {
		t.Error("a redirect was followed")
	}
	refuse := func(context.Context, string, string, syscall.RawConn) error { return errors.New("inside the network") }
	if _, err := Reader(refuse, roots, "test")(t.Context(), s.URL+"/good"); err == nil || asked["/good"] != 1 {
		t.Errorf("an address that was refused is read: %v", err)
	}
	if _, err := Reader(allow, nil, "test")(t.Context(), s.URL+"/good"); err == nil {
		t.Error("a certificate that nobody knows is trusted")
	}
}
