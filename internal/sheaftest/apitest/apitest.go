// Package apitest is the kit for tests of the whole API: a real HTTP server over a real store, a
// clock that the test can set, and a small client. Test functions share nothing, so they can run in
// parallel.
package apitest

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/door"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/httpapi"
	"sheaf.dev/internal/media"
	"sheaf.dev/internal/publish"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/migrated"
	"sheaf.dev/internal/sheaftest/s3test"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/tally"
)

// API is a running service for one test.
type API struct {
	Server  *httptest.Server
	Front   *front.Front    // serves Handler and the other edges
	Handler *httpapi.Server // the API
	App     *app.App
	Store   *store.Store
	Options store.Options // of Store
	Clock   *Clock
	Media   *Files // the bytes of media of all nodes
	// Connecting has the settings of OAuth. A test may change them while there are no requests.
	Connecting *app.Connecting
	// Webhooks is the sender. It sends deliveries after Deliver was called.
	Webhooks *Webhooks
	// MaxRecords bounds the records of a workspace on any plan; 0, the default, means no limit.
	MaxRecords atomic.Int64
	// Quota bounds the bytes of a workspace on any plan; 0, the default, means no limit.
	Quota atomic.Int64
	// disk is the free bytes of the disk, plenty at first. looks make each server read it.
	disk  atomic.Int64
	looks []func()

	t     testing.TB
	nodes []*node // all that serve; one, or two
	log   sheaftest.Output
}

// Files is the store of the bytes of media. A test may replace the Store while there are no
// requests.
type Files struct{ media.Store }

// Config is the configuration of the service.
type Config struct {
	httpapi.Config // its Door is made of the fields below
	Log            *slog.Logger
	RateLimit      func(sheaf.Plan) int
	Limiter        door.Limiter
	Tally          *tally.Tally

	Memory       int64
	TrustedProxy []netip.Prefix
	// Beside are edges that are mounted beside the API.
	Beside []front.Mount

	notFound front.Edge                 // the console, by WithConsole
	later    []func(Config) front.Mount // by Mounting
	shares   *publish.Publisher         // mounted by WithShares
}

// Option changes the configuration before the service starts.
type Option func(*Config)

// PlanLimits enables the contract's rate limits. Without it there are none.
func PlanLimits(c *Config) {
	c.RateLimit = func(p sheaf.Plan) int { return map[sheaf.Plan]int{sheaf.Pro: 100, sheaf.Business: 500}[p] }
}

// Quiet drops the log lines of requests. A long run would have too many.
func Quiet(c *Config) { c.Log = slog.New(slog.DiscardHandler) }

// Run runs the test on SQLite. If SHEAF_TEST_ENGINES is "all", as in `make race`, it runs the test on
// PostgreSQL too, as Each does. Use it for what the code above the store decides: bodies, fields,
// scopes, plans, pages. test/model compares the answers of both engines.
func Run(t *testing.T, test func(t *testing.T, a *API), options ...Option) {
	some := variants[:1]
	if os.Getenv(EnvEngines) == "all" {
		some = variants
	}
	runOn(t, some, test, options)
}

// EnvEngines is the variable that makes Run use both engines.
const EnvEngines = "SHEAF_TEST_ENGINES"

// Each runs the test on both engines, as parallel subtests: on SQLite as one process, on PostgreSQL
// as two nodes behind a balancer. Without PostgreSQL the subtests on it are skipped, except under
// ./scripts/test. Use it for what an engine or a second node can get wrong: lists, search, claims,
// cascades, locks, idempotency, and everything that a node caches.
func Each(t *testing.T, test func(t *testing.T, a *API), options ...Option) {
	runOn(t, variants, test, options)
}

// runOn runs the test as parallel subtests, one for each of the variants.
func runOn(t *testing.T, some []variant, test func(t *testing.T, a *API), options []Option) {
	for _, v := range some {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			test(t, v.start(t, options...))
		})
	}
}

// EachStore is Each for tests of media: with a folder of files on SQLite, and with a bucket of a
// real S3 service on PostgreSQL, as in the program.
func EachStore(t *testing.T, test func(t *testing.T, a *API), options ...Option) {
	Each(t, func(t *testing.T, a *API) {
		if a.Options.DatabaseURL != "" {
			a.Media.Store = s3test.Files(t)
		}
		test(t, a)
	}, options...)
}

// variant is a way in which a test is run.
type variant struct {
	name  string
	start func(testing.TB, ...Option) *API
}

// variants are all of them; the first is enough for Run.
var variants = []variant{{"sqlite", SQLite}, {"nodes", Nodes}}

// SQLite starts the API on a SQLite file, for tests that do not depend on the engine.
func SQLite(t testing.TB, options ...Option) *API {
	t.Helper()
	return Open(t, store.Options{Folder: migrated.Folder(t)}, options...)
}

// Database returns the URL of the PostgreSQL database of a test. A package whose tests change rights only by the rules
// sets migrated.GuardedURL.
var Database = migrated.URL

// Postgres starts the API on a PostgreSQL database.
func Postgres(t testing.TB, options ...Option) *API {
	t.Helper()
	return Open(t, store.Options{DatabaseURL: Database(t)}, options...)
}

// Open starts the API on a migrated store.
func Open(t testing.TB, o store.Options, options ...Option) *API {
	t.Helper()
	return openNodes(t, o, 1, options)
}

// SetIssuer sets the address of the service for apps.
func (a *API) SetIssuer(address string) {
	a.Connecting.Issuer, a.Connecting.Resource = address, address+"/mcp"
	a.Connecting.Metadata = address + "/.well-known/oauth-protected-resource/mcp"
}

// forEver replaces the program's bounds of some seconds, which a busy machine might exceed: the
// wait for the store, for a search, for the end of a removal. Those bounds have tests of their own.
const forEver = time.Hour

// openNodes starts `count` nodes on one store, and one server before them. The nodes share the
// clock, the sender, and the window of the rate limit.
func openNodes(t testing.TB, o store.Options, count int, options []Option) *API {
	t.Helper()
	a := &API{t: t, Options: o, Clock: new(Clock), Media: &Files{media.Folder(t.TempDir())}, Connecting: &app.Connecting{}}
	a.SetIssuer(Address)
	a.disk.Store(plenty)
	a.Options.Turn = cmp.Or(o.Turn, forEver)
	a.Options.Log = slog.New(slog.NewJSONHandler(&a.log, nil))
	a.Webhooks = newWebhooks(t, a.Clock)
	shared := door.NewLimiter()
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
	// Tests make requests from many goroutines: without this, all but two would open a connection
	// for every request.
	a.Server.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = 128
	t.Cleanup(a.Server.Close)
	return a
}

// Handlers returns the handlers of all nodes.
func (a *API) Handlers() (out []*httpapi.Server) {
	for _, n := range a.nodes {
		out = append(out, n.handler)
	}
	return out
}

// Log returns the log so far, with one JSON object on each line.
func (a *API) Log() string { return a.log.String() }

// WriteUsage writes the last-used times of keys now. The program writes them periodically.
func (a *API) WriteUsage() {
	a.t.Helper()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, n := range a.nodes {
		if err := n.handler.Door.Run(ended); err != nil {
			a.t.Fatal(err)
		}
	}
}

// Clock is the clock of the API: the real time, until the test changes it. It is safe for
// concurrent use.
type Clock struct {
	mu     sync.Mutex // guards both
	still  time.Time  // zero while it runs
	offset time.Duration
}

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

// now is Now for callers that hold the lock.
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

// Advance moves the clock, whether it stands still or runs.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.still.IsZero() {
		c.offset += d
	} else {
		c.still = c.still.Add(d)
	}
}

// moved reports whether the test has changed the clock.
func (c *Clock) moved() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.still.IsZero() || c.offset != 0
}

// real converts a deadline of this clock into real time, which sockets use. It is as far ahead as
// by this clock. If the clock stands still before the deadline, there is none, because the clock
// never reaches it.
func (c *Clock) real(deadline time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	ahead := deadline.Sub(c.now())
	if deadline.IsZero() || !c.still.IsZero() && ahead > 0 {
		return time.Time{}
	}
	return time.Now().Add(ahead)
}

// translate converts the deadlines of a changed clock into real time, which sockets use.
func (c *Clock) translate(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.moved() {
			w = &movedWriter{w, c}
		}
		h.ServeHTTP(w, r)
	})
}

// movedWriter is a connection whose deadlines come from a clock that the test has changed.
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
