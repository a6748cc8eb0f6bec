package oauth

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"
)

const (
	// readWithin bounds the reading of a document, and mostDocument its bytes.
	readWithin   = 5 * time.Second
	mostDocument = 64 << 10
)

// Reader reads the documents of apps. control judges each address that it connects to. It follows no redirect, keeps no
// connection and uses no proxy.
func Reader(control func(ctx context.Context, network, address string, c syscall.RawConn) error, roots *x509.CertPool, agent string) func(context.Context, string) ([]byte, error) {
	dialer := &net.Dialer{Timeout: readWithin, ControlContext: control}
	client := &http.Client{Timeout: readWithin, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			DisableKeepAlives: true, MaxResponseHeaderBytes: 16 << 10, TLSHandshakeTimeout: readWithin}}
	return func(ctx context.Context, address string) ([]byte, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Accept", "application/json")
		r.Header.Set("User-Agent", agent)
		answer, err := client.Do(r)
		if err != nil {
			return nil, err
		}
		defer answer.Body.Close()
		kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
		if answer.StatusCode != http.StatusOK || kind != "application/json" && !strings.HasSuffix(kind, "+json") {
			return nil, fmt.Errorf("answered %d with %q", answer.StatusCode, kind)
		}
		body, err := io.ReadAll(io.LimitReader(answer.Body, mostDocument+1))
		if err == nil && len(body) > mostDocument {
			err = errors.New("the document is larger than 64 KiB")
		}
		return body, err
	}
}
