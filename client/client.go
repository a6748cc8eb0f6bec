// Package client talks to a Sheaf server: projects, folders, documents, media, shares, proposals, releases, events,
// API keys and webhooks. It needs nothing but the standard library.
//
// Each noun is a field of [Client] with methods that are named alike: List (one page), All (every
// record, page after page), Get, Create, Update, Delete. Ids, types of events, scopes and states
// are plain strings, as the API has them; docs/contract.md of Sheaf says what each may be.
//
//	c, err := client.New(client.Config{Server: "https://docs.example.com", Key: key})
//	if err != nil {
//		return err
//	}
//	for p, err := range c.Projects.All(ctx, client.ProjectFilter{}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(p.Name)
//	}
//
// # Errors
//
// A refusal by the server is an [*Error]; its code is compared with errors.Is:
//
//	if errors.Is(err, client.ErrNotFound) { … }
//
// # Repetitions
//
// A request that failed temporarily is repeated a few times, with growing, randomly varied pauses. A
// Retry-After of the server is honoured.
//
//   - 429, which the server sends before it does anything, and a connection that could not be made:
//     every request.
//   - 502, 503, 504 and a connection that broke, after which nobody knows whether the request had
//     its effect: reads; every POST that takes an Idempotency-Key, for which one is made, so that
//     it has one effect; DELETE, for which a 404 then means that it is done; and PATCH and PUT, which
//     set the same values once more. One with [IfMatch] is not: its own first attempt would make it
//     look stale. Nor is Subscriptions.Test.
//
// A webhook's secret and an API key are shown only once: in the answer to a repetition they are nil. To get
// one, create another key, or rotate the secret.
package client

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// DefaultRetries is how often a request is repeated unless Config says otherwise.
	DefaultRetries = 4
	// DefaultTimeout bounds one attempt unless Config says otherwise.
	DefaultTimeout = 60 * time.Second
)

// Config has the settings of a client.
type Config struct {
	// Server is the address of the service, such as https://docs.example.com.
	Server string
	// Key is the API key.
	Key string
	// HTTP makes the requests; nil means a new client that uses the environment's proxies. Its
	// timeout is not applied to event streams, and redirects, which the service never sends, are
	// not followed.
	HTTP *http.Client
	// UserAgent is sent with every request; empty is "sheaf-go".
	UserAgent string
	// Retries is how often a request is repeated: 0 is DefaultRetries, less than 0 is never.
	Retries int
	// Timeout bounds one attempt, its answer included: 0 is DefaultTimeout. Event streams are
	// bounded by their context alone.
	Timeout time.Duration
	// OnRetry, if set, is called before the pause that precedes a repetition.
	OnRetry func(err error, pause time.Duration)
}

// Client makes requests with one key. It is safe for concurrent use. Its fields are set by [New].
type Client struct {
	Projects      Projects
	Folders       Folders
	Brandings     Brandings
	Documents     Documents
	Media         Media
	Shares        Shares
	Proposals     Proposals
	Releases      Releases
	Events        Events
	Audit         Audit
	Keys          Keys
	Icons         Icons
	Subscriptions Subscriptions
	Deliveries    Deliveries

	config Config      // with its defaults filled in
	base   string      // Config.Server, without a slash at its end
	http   http.Client // a copy of Config.HTTP, which follows no redirect
}

// New returns a client. It makes no request; the error is about the config.
func New(config Config) (*Client, error) {
	base, err := baseURL(config.Server)
	if err != nil {
		return nil, err
	}
	if config.Key == "" {
		return nil, errors.New("sheaf client: Config.Key is empty")
	}
	c := &Client{config: config.withDefaults(), base: base}
	if config.HTTP != nil {
		c.http = *config.HTTP
	}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.Projects, c.Folders, c.Brandings, c.Documents, c.Events = Projects{c}, Folders{c}, Brandings{c}, Documents{c}, Events{c}
	c.Audit = Audit{c}
	c.Media, c.Shares, c.Proposals, c.Releases = Media{c}, Shares{c}, Proposals{c}, Releases{c}
	c.Keys, c.Icons, c.Subscriptions, c.Deliveries = Keys{c}, Icons{c}, Subscriptions{c}, Deliveries{c}
	return c, nil
}

// baseURL checks the address of a server, and takes off the slash at its end.
func baseURL(server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("sheaf client: %q is not the address of a server, such as https://docs.example.com", server)
	}
	return strings.TrimRight(server, "/"), nil
}

// withDefaults fills in what was left out.
func (c Config) withDefaults() Config {
	if c.UserAgent == "" {
		c.UserAgent = "sheaf-go"
	}
	if c.Retries == 0 {
		c.Retries = DefaultRetries
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.OnRetry == nil {
		c.OnRetry = func(error, time.Duration) {}
	}
	return c
}
