package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"sheaf.dev/client"
	"sheaf.dev/internal/config"
	"sheaf.dev/internal/sheaf"
)

// newForwarder returns a client that trusts the machine's roots, and those in the file if it is not
// empty.
func newForwarder(caFile string) (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if caFile != "" {
		more, err := config.ReadCertificates(caFile)
		if err != nil {
			return nil, sheaf.Invalidf("--ca-file: %v", err)
		}
		roots, err := config.Roots(more)
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return &http.Client{Timeout: forwardTimeout, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, nil
}

// forward posts the event and returns the result as text. While nothing accepts the connection, it
// retries every second: the event was not sent yet, and the log keeps the later ones. The only
// error is the end of ctx.
func (l *listener) forward(ctx context.Context, e client.Event) (string, error) {
	for warned := false; ; {
		var dial *net.OpError
		began := l.p.Now()
		status, err := l.post(ctx, e)
		took := l.p.Now().Sub(began).Round(time.Millisecond)
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case err == nil:
			return fmt.Sprintf("→ %s in %v", OneLine(status), took), nil
		case !errors.As(err, &dial) || dial.Op != "dial": // the request was sent
			return fmt.Sprintf("→ failed after %v: %s", took, OneLine(err.Error())), nil
		}
		if !warned {
			warned = true
			fmt.Fprintf(l.p.Stderr, "nothing listens at %s: waiting for it\n", l.to)
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// post sends the body that a delivery would have, with a signature of its own.
func (l *listener) post(ctx context.Context, e client.Event) (status string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, l.to, bytes.NewReader(e.Raw()))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "Sheaf-Webhooks/"+l.p.Version)
	l.signer.Sign(r.Header, e.ID, l.p.Now(), e.Raw(), []string{l.position.Secret})
	res, err := l.http.Do(r)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<20)) // so that the connection can be reused
	return res.Status, nil
}
