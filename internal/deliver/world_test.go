package deliver_test

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/deliver"
	"sheaf.dev/internal/guard"
	"sheaf.dev/internal/seal"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/migrated"
	"sheaf.dev/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sheaftest.Patient(m)) }

const timeout = 10 * time.Second

// world is the real sender over a real SQLite file and a real HTTP client and
// server, on the simulated time of a synctest bubble. Only the network is a
// pipe.
type world struct {
	*testing.T
	folder   string
	began    time.Time
	endpoint *endpoint
	box      *seal.Box
	client   *deliver.Client

	store  *store.Store
	app    *app.App
	caller app.Caller
	stop   func() // ends the sender
}

// simulate runs test in a bubble.
func simulate(t *testing.T, test func(w *world)) {
	t.Helper()
	folder := quickFolder(t)
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, folder: folder, began: time.Now(), stop: func() {}}
		key := make([]byte, 32)
		rand.Read(key)
		box, err := seal.New(key, rand.Reader)
		w.must(err)
		w.box = box
		w.endpoint = newEndpoint(w)
		w.open()
		w.newWorkspace()
		test(w)
		w.close()
		w.client.CloseIdle()
		w.endpoint.server.Close()
	})
}

// quickFolder has a migrated, empty database in it. If the machine has a file system in memory,
// it is there: the tests simulate time, and no power cut.
func quickFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("/dev/shm", "sheaf-deliver-")
	if err != nil {
		folder = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	migrated.Fill(t, folder)
	return folder
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) open() {
	w.Helper()
	s, err := store.Open(w.Context(), store.Options{Folder: w.folder})
	w.must(err)
	w.store = s
	w.app = app.New(app.Config{Store: s, Now: time.Now, Random: rand.Reader, Webhooks: app.Webhooks{Box: w.box,
		Guard: guard.New(nil), SignatureHeader: "X-Service-Signature", Send: w.courier().Send}})
}

// newWorkspace makes a workspace, in which everything happens from then on.
func (w *world) newWorkspace() {
	w.Helper()
	ws, err := w.app.Operator().CreateWorkspace(w.Context(), app.NewWorkspace{Name: "Acme", Plan: sheaf.Business})
	w.must(err)
	w.caller = app.Caller{Workspace: ws.ID, User: ws.Owner, Role: sheaf.Owner}
}

func (w *world) courier() *deliver.Courier { return &deliver.Courier{Client: w.client, Now: time.Now} }

// close stops the sender and the store, as a restart of the program does.
func (w *world) close() {
	w.Helper()
	w.stop()
	w.must(w.store.Close())
}

// start runs a sender; change may alter its configuration first.
func (w *world) start(change ...func(*deliver.Config)) *deliver.Deliverer {
	c := deliver.Config{Store: w.store, Box: w.box, Courier: w.courier(), Log: slog.New(slog.DiscardHandler), Now: time.Now,
		NewToken: rand.Text, Schedule: sheaf.DefaultSchedule, Timeout: timeout, Alone: true}
	for _, f := range change {
		f(&c)
	}
	d := deliver.New(c)
	w.store.OnCommit(d.Notice)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := d.Run(ctx); err != nil {
			w.Errorf("run: %v", err)
		}
	}()
	w.stop = func() {
		cancel()
		<-done
	}
	return d
}

// oneOfMany makes a sender that knows of other nodes.
func oneOfMany(c *deliver.Config) { c.Alone = false }

// at waits until the given time after the beginning, and until all goroutines are idle.
func (w *world) at(d time.Duration) {
	w.Helper()
	left := d - w.elapsed()
	if left < 0 {
		w.Fatalf("it is %v already, not yet %v", w.elapsed(), d)
	}
	time.Sleep(left) // simulated
	synctest.Wait()
}

func (w *world) elapsed() time.Duration { return time.Since(w.began) }

// subscribe makes a subscription to the endpoint's path.
func (w *world) subscribe(path string) sheaf.SubscriptionID {
	w.Helper()
	s, err := w.app.CreateSubscription(w.Context(), w.caller, sheaf.SubscriptionChange{Name: sheaf.Some(path),
		URL: sheaf.Some("https://hook.example" + path), Events: sheaf.Some([]string{"share.created"})})
	w.must(err)
	return s.ID
}

// publish commits n events, one transaction each, and returns their ids.
func (w *world) publish(n int) []sheaf.EventID {
	w.Helper()
	var out []sheaf.EventID
	for range n {
		e, err := w.app.PublishEvent(w.Context(), w.caller, app.NewEvent{Type: sheaf.ShareCreated,
			ResourceID: "0198c0de-0000-7000-8000-000000000000", Payload: []byte(`{}`)})
		w.must(err)
		out = append(out, e.ID)
	}
	return out
}

func (w *world) subscription(id sheaf.SubscriptionID) sheaf.Subscription {
	w.Helper()
	s, err := w.app.Subscription(w.Context(), w.caller, id)
	w.must(err)
	return s
}

func (w *world) setActive(id sheaf.SubscriptionID, active bool) {
	w.Helper()
	_, err := w.app.UpdateSubscription(w.Context(), w.caller, id, sheaf.SubscriptionChange{Active: sheaf.Some(active)}, sheaf.Match{})
	w.must(err)
}

func (w *world) deliveries(id sheaf.SubscriptionID) []sheaf.Delivery {
	w.Helper()
	page, err := w.app.Deliveries(w.Context(), w.caller, id, "", sheaf.Paging{Limit: 1000})
	w.must(err)
	return page.Items
}

// only returns the single delivery of a subscription, with its attempts.
func (w *world) only(id sheaf.SubscriptionID) sheaf.DeliveryDetail {
	w.Helper()
	all := w.deliveries(id)
	if len(all) != 1 {
		w.Fatalf("%d deliveries, want 1", len(all))
	}
	d, err := w.app.Delivery(w.Context(), w.caller, all[0].ID)
	w.must(err)
	return d
}

func (w *world) redeliver(id sheaf.DeliveryID) {
	w.Helper()
	_, err := w.app.Redeliver(w.Context(), w.caller, id)
	w.must(err)
}

func (w *world) recover(id sheaf.SubscriptionID) int64 {
	w.Helper()
	n, err := w.app.RecoverDeliveries(w.Context(), w.caller, id, w.began)
	w.must(err)
	return n.Queued
}

// wantStates checks how many deliveries of a subscription are in each state.
func (w *world) wantStates(id sheaf.SubscriptionID, want map[sheaf.DeliveryState]int) {
	w.Helper()
	got := map[sheaf.DeliveryState]int{}
	for _, d := range w.deliveries(id) {
		got[d.State]++
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.Errorf("at %v deliveries are %v, want %v", w.elapsed(), got, want)
	}
}

func (w *world) wantFailures(id sheaf.SubscriptionID, count int64, active bool) {
	w.Helper()
	if s := w.subscription(id); s.FailureCount != count || s.Active != active {
		w.Errorf("at %v failure_count is %d and active %t, want %d and %t", w.elapsed(), s.FailureCount, s.Active, count, active)
	}
}

// hit is one request that arrived.
type hit struct {
	path  string
	event sheaf.EventID
	n     int // of this event at this path, from 1
	at    time.Duration
}

// endpoint receives everything; answer decides, by path.
type endpoint struct {
	server *http.Server
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
	roots  *x509.CertPool

	mu     sync.Mutex // guards what follows
	hits   []hit
	counts map[string]int
	answer map[string]func(h hit) int
}

func newEndpoint(w *world) *endpoint {
	e := &endpoint{counts: map[string]int{}, answer: map[string]func(hit) int{}}
	ca, err := sheaftest.NewCA()
	w.must(err)
	cert, err := ca.Issue(sheaftest.CertOptions{Hosts: []string{"hook.example"}})
	w.must(err)
	pipes := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	e.server = &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { e.serve(w, rw, r) }),
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	go e.server.Serve(tls.NewListener(pipes, &tls.Config{Certificates: []tls.Certificate{cert}}))
	e.dial, e.roots = pipes.dial, ca.Pool()
	w.client = deliver.NewClient(deliver.ClientConfig{Timeout: timeout, RootCAs: e.roots, PerHost: deliver.LaneCap, DialContext: e.dial})
	return e
}

func (e *endpoint) serve(w *world, rw http.ResponseWriter, r *http.Request) {
	h := hit{path: r.URL.Path, event: sheaf.EventID(r.Header.Get("webhook-id")), at: w.elapsed()}
	e.mu.Lock()
	key := h.path + string(h.event)
	e.counts[key]++
	h.n = e.counts[key]
	e.hits = append(e.hits, h)
	answer := e.answer[h.path]
	e.mu.Unlock()
	_, _ = io.Copy(io.Discard, r.Body) // only then the server notices that a client leaves
	if answer == nil {
		return
	}
	if status := answer(h); status != 0 {
		rw.WriteHeader(status)
		return
	}
	<-r.Context().Done() // 0 hangs
}

// on makes a path answer so; a function that sleeps makes it slow.
func (e *endpoint) on(path string, answer func(h hit) int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answer[path] = answer
}

// arrived returns all requests so far.
func (e *endpoint) arrived() []hit {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.hits
}

// times returns when requests arrived at a path.
func (e *endpoint) times(path string) []time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := []time.Duration{}
	for _, h := range e.hits {
		if h.path == path {
			out = append(out, h.at)
		}
	}
	return out
}

func (w *world) wantTimes(path string, want ...time.Duration) {
	w.Helper()
	if got := w.endpoint.times(path); fmt.Sprint(got) != fmt.Sprint(want) {
		w.Errorf("at %v requests to %s came at %v, want %v", w.elapsed(), path, got, want)
	}
}

func always(status int) func(hit) int { return func(hit) int { return status } }

func hang(hit) int { return 0 }

// slowly answers after a time.
func slowly(d time.Duration, status int) func(hit) int {
	return func(hit) int {
		time.Sleep(d) // simulated
		return status
	}
}

// pipeListener hands out the far ends of pipes.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }
