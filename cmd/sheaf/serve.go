package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/config"
	"sheaf.dev/internal/console"
	"sheaf.dev/internal/disk"
	"sheaf.dev/internal/door"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/httpapi"
	"sheaf.dev/internal/mcp"
	"sheaf.dev/internal/media"
	"sheaf.dev/internal/oauth"
	"sheaf.dev/internal/obs"
	"sheaf.dev/internal/oidc"
	"sheaf.dev/internal/publish"
	"sheaf.dev/internal/render"
	"sheaf.dev/internal/search"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/tally"
)

// Tests set more, because their machine may be busy.
var (
	// stopWithin bounds an orderly stop. Requests and workers that still run then are cut off.
	stopWithin = 30 * time.Second
	// requestsWithin is the part of stopWithin for requests in flight; the workers get the rest.
	requestsWithin = 24 * time.Second
)

const (
	// lastLines is the part of stopWithin for writing the last log lines.
	lastLines = 2 * time.Second
	// drainWithin is the pause between the end of readiness and closing the listener, if the server
	// had a request within busyWithin.
	drainWithin = time.Second
	busyWithin  = 2 * time.Second
	// After we stop accepting, wait queueWithin for handshakes in flight, then up to queueMost to
	// drain the kernel's backlog.
	queueWithin = 200 * time.Millisecond
	queueMost   = 3 * time.Second
	// Connected clients get askWithin to send another request, and askMost if they have sent
	// nothing yet.
	askWithin = 500 * time.Millisecond
	askMost   = 3 * time.Second
)

type serveCommand struct{ config.Serve }

// Run starts everything in order and serves until ctx ends. If a step fails or the server ends,
// everything that was opened is closed in the opposite order.
func (c *serveCommand) Run(ctx context.Context, p *program) error {
	ctx, halt := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer halt()
	context.AfterFunc(ctx, halt) // a second signal ends the process at once

	settings, err := c.Load(p.Env)
	if err != nil {
		return err
	}
	lines := obs.NewLines(p.Stderr)
	defer lines.Close()
	p.Stderr = lines.AtOnce() // a slow reader of standard error blocks nothing
	log := obs.NewLog(lines, settings.LogFormat == config.LogJSON, settings.LogLevel)
	memory, release := p.limitMemory()
	defer release()
	unlock, err := lockData(settings)
	if err != nil {
		return err
	}
	defer unlock()
	if settings.DatabaseURL == "" {
		if err := disk.Relieve(settings.Data); err != nil {
			return err
		}
	}
	defer p.exitAfter(ctx, stopWithin-lastLines)()
	st, err := openForServing(ctx, settings, log)
	if err != nil {
		return err
	}
	defer st.Close()
	index := p.index(settings.StoreSettings, st, log)
	defer index.Close()
	if err := index.Open(ctx); err != nil {
		return err
	}
	masterKey, err := p.masterKey(ctx, st, settings)
	if err != nil {
		return err
	}
	hooks, err := p.webhooks(settings, masterKey, memory)
	if err != nil {
		return err
	}
	// The ports are opened before the first run: if a port is in use, the key that is shown only
	// once must not be used up.
	listener, err := listen(settings.Addr, "--addr")
	if err != nil {
		return err
	}
	defer listener.Close()
	base := baseURL(settings, listener.Addr().String())
	files, err := p.media(settings.StoreSettings)
	if err != nil {
		return err
	}
	provider, err := p.signInProvider(settings, base)
	if err != nil {
		return err
	}
	if provider != nil {
		defer provider.Close()
	}
	room := watchDisk(ctx, settings, st, log)
	index.Paused = func() bool { return room.Level() != disk.Roomy }
	connecting := oauth.Settings(settings.PublicURL)
	if connecting != nil {
		connecting.Document = oauth.Reader(hooks.guard.Control, hooks.roots, "Sheaf/"+version)
	}
	a := app.New(app.Config{Store: st, Now: p.Now, Random: p.Random, Index: index, Connecting: connecting, Media: files, Disk: room, Webhooks: hooks.rules(settings),
		Address: base, MaxMedium: settings.MediaMax, FixedPlans: settings.PlanChanges == config.PlansByOperator, RequireSecondFactor: settings.RequireSecondFactor, Provider: provider, PasswordsOff: !settings.PasswordSignIn, Mails: mailsPeople(settings), MaxRecords: maxRecords(settings.MaxRecords), Quota: quota(settings.Quota)})
	s, err := p.newServer(settings, st, files, room, index, a, hooks, log, lines, listener)
	if err != nil {
		return err
	}
	if settings.DatabaseURL == "" { // the folder is locked, so no other process uses a medium
		if err := a.Operator().AbandonMedia(ctx); err != nil {
			return err
		}
	}
	if err := p.firstRun(ctx, a, settings, base); err != nil {
		return err
	}
	if err := a.Operator().AnnounceAddress(ctx, base); err != nil {
		log.Warn("the address of this server was not kept: sheaf user setup-link and invite do not know it", "error", err)
	}
	warnOfOpenFiles(settings, log)
	for _, u := range config.Unknown(p.Names()) {
		log.Warn("an environment variable is not a setting", "name", u.Name, "meant", u.Meant)
	}
	fmt.Fprintf(p.Stderr, "listening on %s://%s\n", scheme(settings), listener.Addr())
	return s.serve(ctx, halt)
}

// signInProvider returns the OpenID Connect provider, or nil. It sends no request.
func (p *program) signInProvider(s *config.Settings, base string) (*app.SignInProvider, error) {
	if s.OIDC.Issuer == "" {
		return nil, nil
	}
	roots, err := config.Roots(s.WebhookCAs)
	if err != nil {
		return nil, err
	}
	return &app.SignInProvider{Name: s.OIDC.Name, TrustEmail: s.OIDC.TrustEmail, Provider: oidc.New(oidc.Config{Issuer: s.OIDC.Issuer, ClientID: s.OIDC.ClientID,
		ClientSecret: string(s.OIDC.ClientSecret), Redirect: base + console.ProviderCallback, Roots: roots, Now: p.Now})}, nil
}

// mailsPeople reports whether links and notices are mailed to people. It takes a mail server, and the public address
// with which the links begin.
func mailsPeople(s *config.Settings) bool { return s.SMTP != nil && s.PublicURL != nil }

// lockData creates the data folder and locks it for this server. With PostgreSQL it holds only a
// master key, so nodes may share one.
func lockData(s *config.Settings) (unlock func(), err error) {
	if s.DatabaseURL != "" {
		return func() {}, nil
	}
	if err := makeFolder(s.Data); err != nil {
		return nil, err
	}
	return lockFolder(s.Data)
}

// watchDisk watches the disk of the data folder. With PostgreSQL there is nothing to watch: the
// disks are those of its server and of the bucket.
func watchDisk(ctx context.Context, s *config.Settings, st *store.Store, log *slog.Logger) *disk.Watch {
	if s.DatabaseURL != "" {
		return nil
	}
	c := disk.Config{Folder: s.Data, Reserve: s.DiskReserve, Spare: st.SpareBytes, Log: log}
	if s.MediaURL == "" {
		c.Media = filepath.Join(s.Data, mediaFolder)
	}
	return disk.New(ctx, c)
}

// openForServing migrates and opens the store, unless it needs a newer program.
func openForServing(ctx context.Context, s *config.Settings, log *slog.Logger) (*store.Store, error) {
	options := storeOptions(s.StoreSettings)
	options.Log = log
	if err := store.Migrate(ctx, options); err != nil {
		return nil, err
	}
	return openReady(ctx, options)
}

// listen opens the address that a flag names; an error says which flag to change.
func listen(addr, flag string) (net.Listener, error) {
	network := "tcp"
	if host, _, err := net.SplitHostPort(addr); err == nil && net.ParseIP(host).To4() != nil {
		network = "tcp4" // 0.0.0.0 is not [::]
	}
	var plain net.ListenConfig
	plain.SetMultipathTCP(false) // MPTCP sockets accept no filter, which ignoreConnections needs
	l, err := plain.Listen(context.Background(), network, addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is taken by another program: stop it, or choose another address with %s", addr, flag)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be listened on (%w): choose another address with %s", addr, err, flag)
	}
	return l, nil
}

// server has everything that runs until the program stops.
type server struct {
	log      *slog.Logger
	now      func() time.Time
	front    *front.Front
	http     *http.Server
	listener *connections
	cert     [2]string // files of the certificate and its key; empty: no TLS
	// workers run beside the server until their context ends: after the last request, or with the
	// signal. An error of a worker stops the program.
	workers []worker
}

// worker is a background task that runs beside the server.
type worker struct {
	name       string
	run        func(ctx context.Context) error
	withSignal bool // it stops at the signal, while the last requests end
}

// newServer wires everything that serve runs: the edges on the front, the limits, the deliveries,
// the background tasks and the metrics.
func (p *program) newServer(c *config.Settings, st *store.Store, files media.Store, room *disk.Watch, index *search.Index, a *app.App, w *webhooks, log *slog.Logger, lines *obs.Lines, l net.Listener) (*server, error) {
	shared, err := p.limiter(c, log)
	if err != nil {
		return nil, err
	}
	texts := render.New(render.Options{ImageHosts: c.ImageHosts})
	shares := publish.New(publish.Config{App: a, Log: log, Now: p.Now, PublicURL: c.PublicURL, Render: texts, ImageHosts: c.ImageHosts, Admit: shared.reading(sharePages)})
	pages := console.New(console.Config{App: a, Log: log, Now: p.Now, PublicURL: c.PublicURL, Render: texts, ImageHosts: c.ImageHosts,
		Address: baseURL(c, l.Addr().String()), Command: p.called(), Admit: shared.people(c.RateLimit), AdmitReading: shared.reading(consoleReads), Sample: shares.Sample, Mails: c.SMTP != nil})
	counts, requests := tally.New(p.Now), obs.NewRoutes()
	keys := door.New(door.Config{App: a, Log: log, Limiter: shared.limiter(), Tally: counts,
		RateLimit: func(plan sheaf.Plan) int { return rateLimit(c.RateLimit, plan) }})
	api := httpapi.New(httpapi.Config{App: a, Door: keys, Now: p.Now, Requests: requests, PublicURL: c.PublicURL, Render: texts, Memory: w.memory, Origins: c.CORSOrigins})
	connect := oauth.New(oauth.Config{App: a, Log: log, PublicURL: c.PublicURL, Requests: requests})
	agents := mcp.New(mcp.Config{App: a, Door: keys, Version: version, PublicURL: c.PublicURL, Requests: requests})
	st.OnCommit(wake(api, pages))
	// The edges side by side. Another is mounted by a line here.
	entrance := front.New(front.Config{Log: log, Now: p.Now, Memory: w.memory, TrustedProxy: c.TrustedProxy, Requests: requests, NotFound: pages},
		front.Mount{Edge: api, Name: "other", Paths: httpapi.Paths},
		front.Mount{Edge: api.Probes(), Name: "probes", Paths: httpapi.ProbePaths, Unbounded: true},
		front.Mount{Edge: pages, Name: "console", Paths: console.Paths},
		front.Mount{Edge: shares, Name: "share", Paths: publish.Paths},
		front.Mount{Edge: agents, Name: mcp.Path, Paths: []string{mcp.Path}},
		front.Mount{Edge: connect, Name: "connect", Paths: connect.Paths()},
	)
	clients := boundConnections(l, c)
	s := &server{log: log, now: p.Now, front: entrance, listener: clients, http: newHTTP(entrance, log), cert: [2]string{c.TLSCert, c.TLSKey}}
	s.http.ConnState = clients.track
	sender := p.deliverer(c, st, w, counts, room, log)
	sweeper := p.sweeper(c, st, a, log)
	s.workers = []worker{
		{name: "store watch", run: st.Watch},
		{name: "schema watch", run: watchSchema(st)},
		{name: "key usage", run: keys.Run},
		{name: "keys of streams", run: api.WatchKeys},
		{name: "sessions of pages", run: pages.WatchSessions},
		{name: "logs of streams and pages", run: watchLogs(a, api, pages)},
		{name: "views of shares", run: shares.Run},
		{name: "charts", run: charts(counts, a, pages, log)},
		{name: "deliveries", run: sender.Run, withSignal: true},
		{name: "chores", run: sweeper.Run, withSignal: true},
		{name: "index of search", run: index.Run, withSignal: true},
	}
	if room != nil {
		s.workers = append(s.workers, worker{name: "disk", run: room.Run})
	}
	letters, err := p.mailer(c, st, w, baseURL(c, l.Addr().String()), log)
	if err != nil {
		return nil, err
	}
	if letters != nil {
		s.workers = append(s.workers, worker{name: "mail", run: letters.Run, withSignal: true})
	}
	if shared != nil {
		s.workers = append(s.workers, worker{name: "shared limits", run: shared.run})
	}
	doctor := p.doctorTimer(c, st, files, w, log)
	if doctor != nil {
		s.workers = append(s.workers, worker{name: "doctor", run: doctor.run, withSignal: true})
	}
	backups, err := p.backupTimer(c, st, files, log)
	if err != nil {
		return nil, err
	}
	if backups != nil {
		s.workers = append(s.workers, worker{name: "backups", run: backups.run, withSignal: true})
	}
	scrub := newMediaScrub(c, st, files, a, log)
	if files != nil && c.MediaScrubRate > 0 {
		s.workers = append(s.workers, worker{name: "media scrub", run: scrub.run, withSignal: true})
	}
	s.workers = append(s.workers, worker{name: "support", run: supportWorker(c, p.redactor(c), lines, log, l.Addr().(*net.TCPAddr).Port)})
	if c.MetricsAddr != "" {
		l, err := listen(c.MetricsAddr, "--metrics-addr")
		if err != nil {
			return nil, err
		}
		s.workers = append(s.workers, worker{name: "metrics", run: metricsWorker(l, log, lines.Register, room.Register, sweeper.Register, index.Register, shared.register, doctor.register, backups.register, scrub.register, letters.Register, load{entrance, keys, api, requests, clients, st, texts}.register, sender.Register)})
	}
	return s, nil
}

// wake returns the function that wakes the streams and pages that show what a commit changed.
func wake(api *httpapi.Server, pages *console.Console) func(store.Note) {
	return func(n store.Note) {
		if n.Events {
			api.Wake(n.Workspaces)
			pages.Wake(console.SignEvents, n.Workspaces)
		}
		if n.Deliveries || n.Subscriptions || n.Recorded {
			pages.Wake(console.SignDeliveries, n.Workspaces)
		}
		if n.Credentials || n.Sessions {
			pages.CheckSessions()
		}
	}
}

// watchLogs returns the worker that finds events whose note was lost, for all open streams and
// pages.
func watchLogs(a *app.App, api *httpapi.Server, pages *console.Console) func(context.Context) error {
	return func(ctx context.Context) error {
		return a.WatchLogs(ctx, func() []sheaf.WorkspaceID {
			both := slices.Concat(api.Followed(), pages.Followed())
			slices.Sort(both)
			return slices.Compact(both)
		}, func(grown sheaf.WorkspaceSet) {
			wake(api, pages)(store.Note{Events: true, Workspaces: grown})
		})
	}
}

// charts returns the worker that stores the counts of each minute, and wakes the pages that show
// them.
func charts(counts *tally.Tally, a *app.App, pages *console.Console, log *slog.Logger) func(context.Context) error {
	write := func(ctx context.Context, minute time.Time, by map[sheaf.WorkspaceID]sheaf.Counts) error {
		var counted sheaf.WorkspaceSet
		for ws := range by {
			counted.Add(ws)
		}
		defer pages.Wake(console.SignMinutes, counted)
		return a.AddMinute(ctx, minute, by)
	}
	return func(ctx context.Context) error { return counts.Run(ctx, write, log) }
}

// newHTTP returns a server whose timeouts bound idle and slow clients. The edges bound the bodies.
func newHTTP(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		// These bound clients that send or read too slowly. Event streams set their own deadlines.
		ReadTimeout:    75 * time.Second,
		WriteTimeout:   120 * time.Second,
		IdleTimeout:    120 * time.Second,
		MaxHeaderBytes: 64 << 10,
		// OPTIONS * is answered like any other method that is not allowed.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// serve serves until ctx ends, and then stops in order. If something fails, it calls halt, which
// ends ctx, and returns the error after the stop.
func (s *server) serve(ctx context.Context, halt func()) error {
	// Workers outlive the requests, so their context is not the caller's.
	working, stopWorkers := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWorkers()
	group, broken := errgroup.WithContext(working)
	context.AfterFunc(broken, halt)
	group.Go(s.accept)
	for _, w := range s.workers {
		group.Go(func() error { return w.until(broken, ctx) })
	}
	<-ctx.Done()
	halt() // from here on, for certain, a second signal ends the process
	// The stop order: readiness off, requests in flight end, then the workers. Run closes the
	// store.
	s.log.Info("stopping")
	s.front.Drain()
	if s.front.Busy(s.now(), busyWithin) {
		// Every answer now closes its connection. Clients and balancers notice that the server is
		// not ready when they ask next.
		time.Sleep(drainWithin) // there is no signal for that
		s.stopAccepting()
	}
	finish, cancel := context.WithTimeout(context.Background(), requestsWithin)
	defer cancel()
	var err error
	if s.http.Shutdown(finish) != nil {
		s.http.Close()
		err = fmt.Errorf("requests were cut off: they did not end within %v", requestsWithin)
	}
	stopWorkers()
	err = errors.Join(err, group.Wait())
	s.log.Info("stopped")
	return err
}

// until runs the worker until broken ends. If withSignal is set, the end of `signal` stops it too.
func (w worker) until(broken, signal context.Context) error {
	running, stop := context.WithCancel(broken)
	defer stop()
	if w.withSignal {
		defer context.AfterFunc(signal, stop)()
	}
	if err := w.run(running); err != nil {
		return fmt.Errorf("%s: %w", w.name, err)
	}
	return nil
}

// accept serves connections until the listener is closed.
func (s *server) accept() error {
	var err error
	if s.cert[0] != "" {
		err = s.http.ServeTLS(s.listener, s.cert[0], s.cert[1])
	} else {
		err = s.http.Serve(s.listener)
	}
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return fmt.Errorf("accept connections: %w", err)
}

// stopAccepting stops accepting connections, and gives connected clients time to send a request,
// because net/http drops requests that it reads after its Shutdown has begun.
func (s *server) stopAccepting() {
	if ignoreConnections(s.listener.Listener) {
		time.Sleep(queueWithin) // the kernel does not report handshakes in flight
		for end := s.now().Add(queueMost); queued(s.listener.Listener) > 0 && s.now().Before(end); {
			time.Sleep(5 * time.Millisecond) // the kernel reports the length of its backlog, but does not signal when it is empty
		}
	}
	s.listener.Close()
	for closed := s.now(); s.listener.mayRequest(s.now().Sub(closed)); {
		time.Sleep(5 * time.Millisecond) // at most three seconds, once in the life of the process: polling is simpler than a signal
	}
}

// exitAfter ends the process if the stop, which begins with the end of ctx, takes longer than
// limit. done cancels it.
func (p *program) exitAfter(ctx context.Context, limit time.Duration) (done func()) {
	called := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(limit):
			p.report(fmt.Errorf("the stop took longer than %v: what still ran was cut off", limit))
			os.Exit(exitFailed)
		case <-called:
		}
	})
	return func() {
		stop()
		close(called)
	}
}
