// Package apitest is the kit for tests of the whole API: a real HTTP server over a real store, with
// a clock that the test moves, and a small client. Nothing is shared between two test functions, so
// that they run beside each other.
package apitest

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/httpapi"
	"sheaf.dev/internal/media"
	"sheaf.dev/internal/publish"
	"sheaf.dev/internal/ratewindow"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/migrated"
	"sheaf.dev/internal/sheaftest/s3test"
	"sheaf.dev/internal/store"
)

// API is a running service of one test.
type API struct {
	Server  *httptest.Server
	Front   *front.Front    // serves what Handler and other edges answer
	Handler *httpapi.Server // the API
	App     *app.App
	Store   *store.Store
	Options store.Options // by which Store was opened
	Clock   *Clock
	Media   *Files // where all nodes keep the bytes of media
	// Webhooks is what sends: deliveries go out once Deliver was called.
	Webhooks *Webhooks
	// MaxRecords is how many records a workspace of any plan may have; 0, as at first, is any
	// number.
	MaxRecords atomic.Int64
	// Quota is how many bytes a workspace of any plan may store; 0, as at first, is any number.
	Quota atomic.Int64
	// disk is how many bytes the disk has free: plenty at first. looks make each server look at it.
	disk  atomic.Int64
	looks []func()

	t     testing.TB
	nodes []*node // all that serve; one, or two
	log   sheaftest.Output
}

// Files is where the bytes of media are: a test may put another Store in its place while nobody asks.
type Files struct{ media.Store }

// Config is how the service is set up.
type Config struct {
	httpapi.Config
	Memory       int64
	TrustedProxy []netip.Prefix
	// Beside are edges that are mounted beside the API.
	Beside []front.Mount

	leaning []func(Config, *httpapi.Server) front.Mount // of Mounting
	shares  *publish.Publisher                          // that WithShares mounted
}

// Option changes how the service is set up, before it starts.
type Option func(*Config)

// PlanLimits puts the contract's rate limits in force, which are lifted otherwise.
func PlanLimits(c *Config) {
	c.RateLimit = func(p sheaf.Plan) int { return map[sheaf.Plan]int{sheaf.Pro: 100, sheaf.Business: 500}[p] }
}

// Quiet drops the log lines of requests. A long run has too many to keep.
func Quiet(c *Config) { c.Log = slog.New(slog.DiscardHandler) }

// Each runs the test on either engine, as parallel subtests: on SQLite as one process, on
// PostgreSQL as two nodes behind a balancer. What one node on PostgreSQL would show, each of the
// two shows. Without PostgreSQL those on it are skipped, except under ./scripts/test.
func Each(t *testing.T, test func(t *testing.T, a *API), options ...Option) {
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			test(t, v.start(t, options...))
		})
	}
}

// EachStore is Each for tests of media: on SQLite with a folder of files, on the nodes with a bucket of
// a real S3 service, as the program has them.
func EachStore(t *testing.T, test func(t *testing.T, a *API), options ...Option) {
	Each(t, func(t *testing.T, a *API) {
		if a.Options.DatabaseURL != "" {
			a.Media.Store = s3test.Files(t)
		}
		test(t, a)
	}, options...)
}

// variants are the ways in which Each runs a test.
var variants = []struct {
	name  string
	start func(testing.TB, ...Option) *API
}{{"sqlite", SQLite}, {"nodes", Nodes}}

// SQLite starts the API on a SQLite file, for tests to which the engine cannot matter.
func SQLite(t testing.TB, options ...Option) *API {
	t.Helper()
	return Open(t, store.Options{Folder: migrated.Folder(t)}, options...)
}

// Postgres starts the API on a PostgreSQL database.
func Postgres(t testing.TB, options ...Option) *API {
	t.Helper()
	return Open(t, store.Options{DatabaseURL: migrated.URL(t)}, options...)
}

// Open starts the API on a store of the test's own, which is migrated.
func Open(t testing.TB, o store.Options, options ...Option) *API {
	t.Helper()
	return openNodes(t, o, 1, options)
}

// forEver is how long what a busy machine does late is waited for, where the program has a bound of
// seconds: for its turn in the store, for a search, for the end of a removal. Those bounds have tests
// of their own.
const forEver = time.Hour

// openNodes starts `count` nodes on one store, which share the clock, what sends, and the window of
// the rate limit, and one server before them.
func openNodes(t testing.TB, o store.Options, count int, options []Option) *API {
	t.Helper()
	a := &API{t: t, Options: o, Clock: new(Clock), Media: &Files{media.Folder(t.TempDir())}}
	a.disk.Store(plenty)
	a.Options.Turn = cmp.Or(o.Turn, forEver)
	a.Options.Log = slog.New(slog.NewJSONHandler(&a.log, nil))
	a.Webhooks = newWebhooks(t, a.Clock)
	shared := sharedWindow{ratewindow.New()}
	for range count {
		n := a.startNode(shared, options)
		a.nodes = append(a.nodes, n)
		t.Cleanup(func() {
			if err := n.index.Close(); err != nil {
				t.Errorf("close the index: %v", err)
			}
			if err := n.store.Close(); err != nil {
				t.Errorf("close the store: %v", err)
			}
		})
	}
	a.Store, a.App, a.Front, a.Handler = a.nodes[0].store, a.nodes[0].app, a.nodes[0].front, a.nodes[0].handler
	t.Cleanup(a.watch())
	a.Server = httptest.NewServer(a.Clock.translate(&balancer{nodes: a.nodes}))
	// Tests ask from many goroutines at once: without this, all but two would connect anew for
	// every request.
	a.Server.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = 128
	t.Cleanup(a.Server.Close)
	return a
}

// Handlers returns those of all nodes.
func (a *API) Handlers() (out []*httpapi.Server) {
	for _, n := range a.nodes {
		out = append(out, n.handler)
	}
	return out
}

// Log returns what was logged so far, a JSON object a line.
func (a *API) Log() string { return a.log.String() }

// WriteUsage writes the last-used times of keys now. The program writes them periodically.
func (a *API) WriteUsage() {
	a.t.Helper()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, n := range a.nodes {
		if err := n.handler.Run(ended); err != nil {
			a.t.Fatal(err)
		}
	}
}

// Clock is the time that the API sees: the real one, until the test moves it. It is safe for
// concurrent use.
type Clock struct {
	mu     sync.Mutex // guards both
	still  time.Time  // zero while it goes on
	offset time.Duration
}

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

// now is Now for who holds the lock.
func (c *Clock) now() time.Time {
	if !c.still.IsZero() {
		return c.still
	}
	return time.Now().Add(c.offset)
}

// Set makes the clock stand still at t.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.still = t
}

// Freeze makes the clock stand still now.
func (c *Clock) Freeze() { c.Set(c.Now()) }

// Advance moves the clock, whether it stands still or goes on.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.still.IsZero() {
		c.offset += d
	} else {
		c.still = c.still.Add(d)
	}
}

// moved reports whether the test has touched the clock.
func (c *Clock) moved() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.still.IsZero() || c.offset != 0
}

// real returns a deadline of this clock in the real time that sockets go by: as far ahead as it is by
// this clock, and none where it lies ahead of a clock that stands still, which never comes to it.
func (c *Clock) real(deadline time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	ahead := deadline.Sub(c.now())
	if deadline.IsZero() || !c.still.IsZero() && ahead > 0 {
		return time.Time{}
	}
	return time.Now().Add(ahead)
}

// translate passes on the deadlines of a moved clock in the real time that sockets go by.
func (c *Clock) translate(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.moved() {
			w = &movedWriter{w, c}
		}
		h.ServeHTTP(w, r)
	})
}

// movedWriter is a connection whose deadlines are told by a clock that the test has moved.
type movedWriter struct {
	http.ResponseWriter
	clock *Clock
}

// SetReadDeadline sets the deadline in real time.
func (w *movedWriter) SetReadDeadline(t time.Time) error {
	return http.NewResponseController(w.ResponseWriter).SetReadDeadline(w.clock.real(t))
}

// SetWriteDeadline does the same for writing.
func (w *movedWriter) SetWriteDeadline(t time.Time) error {
	return http.NewResponseController(w.ResponseWriter).SetWriteDeadline(w.clock.real(t))
}

// Unwrap lets http.ResponseController reach the connection.
func (w *movedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
