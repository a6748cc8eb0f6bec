package apitest

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/console"
	"sheaf.dev/internal/deliver"
	"sheaf.dev/internal/disk"
	"sheaf.dev/internal/door"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/httpapi"
	"sheaf.dev/internal/publish"
	"sheaf.dev/internal/ratewindow"
	"sheaf.dev/internal/render"
	"sheaf.dev/internal/search"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// node is one complete service on the store of an API.
type node struct {
	store   *store.Store
	index   *search.Index // it follows the log after Follow, and answers without that too
	app     *app.App
	front   *front.Front
	handler *httpapi.Server
	shares  *publish.Publisher // nil unless WithShares mounted them
}

// Nodes starts the API as two nodes on one PostgreSQL database, behind a balancer that alternates
// between them. They notify each other of commits as in the program, both deliver, and they share
// the rate limit: through one window, where the program uses Redis.
//
// Handler, App and Store are those of the first node.
func Nodes(t testing.TB, options ...Option) *API {
	t.Helper()
	return OpenNodes(t, store.Options{DatabaseURL: Database(t)}, options...)
}

// OpenNodes is Nodes on a migrated PostgreSQL database.
func OpenNodes(t testing.TB, o store.Options, options ...Option) *API {
	t.Helper()
	return openNodes(t, o, 2, options)
}

// Address is the beginning of the addresses of shares.
const Address = "https://sheaf.test"

// plenty is the size of the disk.
const plenty = 1 << 50

// SetDisk sets the free bytes of the disk. Its reserve is 1,000.
func (a *API) SetDisk(free int64) {
	a.disk.Store(free)
	for _, look := range a.looks {
		look()
	}
}

// startNode opens the store once more and serves it.
func (a *API) startNode(l door.Limiter, options []Option) *node {
	a.t.Helper()
	s, err := store.Open(context.Background(), a.Options)
	if err != nil {
		a.t.Fatal(err)
	}
	n := &node{store: s}
	n.index = search.New(search.Config{Store: s, Folder: a.Options.Folder, DatabaseURL: a.Options.DatabaseURL, Log: a.Options.Log, Now: a.Clock.Now, Patience: forEver})
	room := disk.New(context.Background(), disk.Config{Folder: "/nowhere", Media: "/nowhere", Reserve: 1_000, Log: slog.New(slog.DiscardHandler),
		Spare: func(context.Context) (int64, error) { return 0, nil },
		Stat:  func(string) (disk.Space, error) { return disk.Space{Free: a.disk.Load(), Total: plenty}, nil }})
	a.looks = append(a.looks, func() { room.Check(context.Background()) })
	n.app = app.New(app.Config{Store: s, Disk: room, Now: a.Clock.Now, Random: rand.Reader, Index: n.index, Media: a.Media, Webhooks: a.Webhooks.rules(), Address: Address, RemovalWait: forEver, Connecting: a.Connecting,
		PasswordCost: app.PasswordCost{Passes: 1, Memory: 64, Threads: 1},
		MaxRecords:   func(sheaf.Plan) int { return int(a.MaxRecords.Load()) }, Quota: func(sheaf.Plan) int64 { return a.Quota.Load() }})
	c := Config{Config: httpapi.Config{App: n.app, Now: a.Clock.Now, Render: render.New(render.Options{Wait: forEver})},
		Log: a.Options.Log, Limiter: l, RateLimit: func(sheaf.Plan) int { return 0 }}
	for _, change := range options {
		change(&c)
	}
	c.Door = c.newDoor()
	n.handler, n.shares = httpapi.New(c.Config), c.shares
	for _, edge := range c.later {
		c.Beside = append(c.Beside, edge(c))
	}
	n.front = c.mount(n.handler)
	a.t.Cleanup(func() { // after the server has closed
		if held := n.front.Held(); len(held) > 0 {
			a.t.Errorf("no request is under way, and these shares are not empty: %s", strings.Join(held, ", "))
		}
	})
	s.OnCommit(func(note store.Note) {
		if note.Events {
			n.handler.Wake(note.Workspaces)
		}
	})
	return n
}

// newDoor returns the door of all edges.
func (c Config) newDoor() *door.Door {
	return door.New(door.Config{App: c.App, Log: c.Log, RateLimit: c.RateLimit, Limiter: c.Limiter, Tally: c.Tally})
}

// mount returns the API behind a front, as in the program.
func (c Config) mount(api *httpapi.Server) *front.Front {
	return front.New(front.Config{Log: c.Log, Now: c.Now, Memory: c.Memory, TrustedProxy: c.TrustedProxy, Requests: c.Requests, NotFound: c.notFound}, append([]front.Mount{
		{Edge: api, Name: "other", Paths: httpapi.Paths},
		{Edge: api.Probes(), Name: "probes", Paths: httpapi.ProbePaths, Unbounded: true}}, c.Beside...)...)
}

// Serve returns another API, over these rules and behind a front of its own. It has no rate limit.
func (a *API) Serve(rules *app.App) *front.Front {
	c := Config{Config: httpapi.Config{App: rules, Now: a.Clock.Now}, Log: a.Options.Log, RateLimit: func(sheaf.Plan) int { return 0 }}
	c.Door = c.newDoor()
	return c.mount(httpapi.New(c.Config))
}

// Mounting mounts an edge that needs the Door of the configuration. So only the tests of an edge with a
// large library compile it.
func Mounting(edge func(Config) front.Mount) Option {
	return func(c *Config) { c.later = append(c.later, edge) }
}

// WithConsole mounts the console beside the API.
func WithConsole(c *Config) {
	pages := console.New(console.Config{App: c.App, Log: c.Log, Now: c.Now, Render: c.Render})
	c.notFound = pages
	c.Beside = append(c.Beside, front.Mount{Edge: pages, Name: "console", Paths: console.Paths})
}

// WithShares mounts the pages of shares beside the API, without a limit by address.
func WithShares(c *Config) { withShares(c, 0) }

// WithLimitedShares is WithShares with the limit by address.
func WithLimitedShares(c *Config) { withShares(c, 120) }

func withShares(c *Config, limit int) {
	limiter := c.Limiter
	c.shares = publish.New(publish.Config{App: c.App, Log: c.Log, Now: c.Now, Render: c.Render, Admit: func(ctx context.Context, name string, now time.Time) time.Duration {
		d := limiter.Admit(ctx, name, limit, ratewindow.Group{}, now)
		if d.Admitted {
			return 0
		}
		return time.Duration(d.RetryAfter) * time.Second
	}})
	c.Beside = append(c.Beside, front.Mount{Edge: c.shares, Name: "share", Paths: publish.Paths})
}

// WriteViews stores the views of shares now. The program does so every few seconds.
func (a *API) WriteViews() {
	a.t.Helper()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, n := range a.nodes {
		if err := n.shares.Run(ended); err != nil {
			a.t.Fatal(err)
		}
	}
}

// watch runs the workers for open streams on every node, and makes several nodes notify each other
// of commits, until stop is called.
func (a *API) watch() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for _, n := range a.nodes {
		workers := []func(context.Context) error{n.handler.WatchKeys, func(ctx context.Context) error {
			return n.app.WatchLogs(ctx, n.handler.Followed, n.handler.Wake)
		}}
		if len(a.nodes) > 1 {
			workers = append(workers, n.store.Watch)
		}
		for _, run := range workers {
			group.Go(func() {
				if err := run(ctx); err != nil {
					a.t.Errorf("watch the store: %v", err)
				}
			})
		}
	}
	return func() {
		cancel()
		group.Wait()
	}
}

// balancer sends requests to the nodes in turn.
type balancer struct {
	nodes []*node
	next  atomic.Uint64
}

// ServeHTTP lets the next node answer.
func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.nodes[b.next.Add(1)%uint64(len(b.nodes))].front.ServeHTTP(w, r)
}

// Drain does on every node what the program does at the beginning of a stop.
func (a *API) Drain() {
	for _, n := range a.nodes {
		n.front.Drain()
	}
}

// LockCascades makes every node wait before a heavy cascade of the workspace, until leave is called.
func (a *API) LockCascades(ws sheaf.WorkspaceID) (leave func()) {
	a.t.Helper()
	var locks []func()
	for _, n := range a.nodes {
		unlock, err := n.store.LockCascade(context.Background(), ws)
		if err != nil {
			a.t.Fatal(err)
		}
		locks = append(locks, unlock)
	}
	return func() {
		for _, unlock := range locks {
			unlock()
		}
	}
}

// CloseStores closes the store under every node.
func (a *API) CloseStores() {
	a.t.Helper()
	for _, n := range a.nodes {
		if err := n.store.Close(); err != nil {
			a.t.Fatalf("close the store: %v", err)
		}
	}
}

// Follow makes the search index of every node follow changes, until the test ends or stop is
// called.
func (a *API) Follow() (stop func()) {
	a.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for _, n := range a.nodes {
		group.Go(func() {
			if err := n.index.Run(ctx); err != nil {
				a.t.Errorf("follow the log: %v", err)
			}
		})
	}
	stop = func() {
		cancel()
		group.Wait()
	}
	a.t.Cleanup(stop)
	return stop
}

// Deliver makes every node send deliveries with the delays of the schedule, until the test ends or
// stop is called.
func (a *API) Deliver(schedule sheaf.Schedule) (stop func()) {
	a.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for _, n := range a.nodes {
		d := deliver.New(deliver.Config{Store: n.store, Box: a.Webhooks.Box, Courier: a.Webhooks.Courier,
			Log: slog.New(slog.NewJSONHandler(&a.log, nil)), Now: a.Clock.Now, NewToken: rand.Text,
			Schedule: schedule, Timeout: a.Webhooks.Timeout, Alone: a.Options.DatabaseURL == ""})
		n.store.OnCommit(d.Notice)
		group.Go(func() {
			if err := d.Run(ctx); err != nil {
				a.t.Errorf("deliver: %v", err)
			}
		})
	}
	stop = func() {
		cancel()
		group.Wait()
	}
	a.t.Cleanup(stop)
	return stop
}

// IndexIsOpen reports whether the first node has opened its search index, which a search does.
func (a *API) IndexIsOpen() bool { return a.nodes[0].index.IsOpen() }
