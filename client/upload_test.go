package client_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"sheaf.dev/client"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// D101: a file of several pieces arrives whole, also when a piece breaks off in its midst.
func TestMedia_UploadFromThroughABreak(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	address, err := url.Parse(a.Server.URL)
	if err != nil {
		t.Fatal(err)
	}
	var pieces atomic.Int32
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(address)
		if r.In.Method == http.MethodPatch && pieces.Add(1) == 2 { // half of it, and then nothing
			r.Out.Body = io.NopCloser(io.MultiReader(io.LimitReader(r.In.Body, 1<<20), breaks{}))
		}
	}, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	c, err := client.New(client.Config{Server: server.URL, Key: a.Workspace(sheaf.Business).Key(), Retries: 3, HTTP: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	content := bytes.Repeat([]byte("0123456789abcdef"), 1_200_000) // three pieces
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	m, err := c.Media.UploadFrom(ctx, client.NewMedium{Filename: "é.bin"}, bytes.NewReader(content), int64(len(content)))
	if err != nil || m.SHA256 != fmt.Sprintf("%x", sha256.Sum256(content)) || m.Filename != "é.bin" || pieces.Load() < 4 {
		t.Errorf("uploaded %+v in %d pieces: %v", m, pieces.Load(), err)
	}
}

// breaks is a connection that ends.
type breaks struct{}

func (breaks) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
