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

// newForwarder trusts the machine's roots and those of the file, if one is named.
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

// forward posts the event and returns what came of it. While nothing accepts the connection it
// waits: the event is in nobody's hands yet, and the log keeps those behind it. The only error is
// that ctx has ended.
func (l *listener) forward(ctx context.Context, e client.Event) (string, error) {
	for told := false; ; {
		began := l.p.Now()
		status, err := l.post(ctx, e)
		took := l.p.Now().Sub(began).Round(time.Millisecond)
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case err == nil:
			return fmt.Sprintf("→ %s in %v", OneLine(status), took), nil
		case !notAccepted(err):
			return fmt.Sprintf("→ failed after %v: %s", took, OneLine(err.Error())), nil
		}
		if !told {
			told = true
			fmt.Fprintf(l.p.Stderr, "nothing listens at %s: waiting for it\n", l.to)
		}
		if !wait(ctx, time.Second) {
			return "", ctx.Err()
		}
	}
}

// post sends the bytes that a delivery would carry, signed anew.
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
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<20)) // so that the connection can serve again
	return res.Status, nil
}

// notAccepted reports whether the request was not even begun.
func notAccepted(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// wait returns false when ctx ends first.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
