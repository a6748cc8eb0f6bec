package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/config"
	"sheaf.dev/internal/sheaf"
)

// healthTimeout bounds the request. Tests set more, because their machine may be busy.
var healthTimeout = 5 * time.Second

type healthcheckCommand struct {
	cli.Output
	Server string  `placeholder:"URL" help:"Address of the server (SHEAF_SERVER). By default that of sheaf serve: --addr, the environment, --config."`
	Addr   *string `placeholder:"127.0.0.1:8080" help:"Listen address of sheaf serve on this machine."`
	Config *string `placeholder:"FILE" help:"File of settings of sheaf serve."`
}

// Run requests /readyz of the server that the settings describe, and fails unless it is ready.
func (c *healthcheckCommand) Run(ctx context.Context, p *program) error {
	base, own, err := c.server(p)
	if err != nil {
		return err
	}
	client := &http.Client{Timeout: healthTimeout}
	if own {
		// The certificate is not for the name localhost, and the answer is only whether the server
		// is ready.
		client.Transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // #nosec G402 -- on loopback, see above
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", nil)
	if err != nil {
		return fmt.Errorf("--server: %q is not an address such as http://127.0.0.1:8080", base)
	}
	answer, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("the server does not answer: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the server is not ready: %s answered %s", request.URL, answer.Status)
	}
	return c.Show(&p.Program, sheaf.RecordFunc(func(o *sheaf.Object) { o.Text("status", "ready") }), func() string { return "ready\n" })
}

// server returns the address of the server. own is true if it is the address that sheaf serve on
// this machine listens on.
func (c *healthcheckCommand) server(p *program) (base string, own bool, err error) {
	given, here := c.Server, c.Addr != nil || c.Config != nil
	switch {
	case given != "" && here:
		return "", false, sheaf.Invalidf("--server is a whole address: leave out --addr and --config, which are of the server on this machine")
	case given == "" && !here:
		given, _ = p.Env("SHEAF_SERVER")
	}
	if given == "" {
		settings, err := config.Serve{Store: config.Store{Config: c.Config}, Addr: c.Addr}.Load(p.Env)
		if err != nil {
			return "", false, err
		}
		settings.PublicURL = nil // ask the server itself, not a proxy before it
		return baseURL(settings, settings.Addr), true, nil
	}
	u, err := url.Parse(given)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", false, sheaf.Invalidf("--server: %q is not an address such as http://127.0.0.1:8080", sheaf.Clip(given))
	}
	return strings.TrimRight(given, "/"), false, nil
}
