package deliver_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/deliver"
	"sheaf.dev/internal/guard"
	"sheaf.dev/internal/seal"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/store"
)

// sink is an HTTPS endpoint on loopback that counts what it takes. A path below
// /hung is never answered.
type sink struct {
	url   string
	roots *x509.CertPool
	taken atomic.Int64
	// came, unless nil, is called for each arrival.
	came func(event string, at time.Time)
}

func newSink(b *testing.B) *sink {
	b.Helper()
	ca, err := sheaftest.NewCA()
	if err != nil {
		b.Fatal(err)
	}
	cert, err := ca.Issue(sheaftest.CertOptions{Hosts: []string{"127.0.0.1"}})
	if err != nil {
		b.Fatal(err)
	}
	s := &sink{roots: ca.Pool()}
	srv := httptest.NewUnstartedServer(s)
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	srv.StartTLS()
	b.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	s.url = srv.URL
	return s
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	if strings.HasPrefix(r.URL.Path, "/hung") {
		<-r.Context().Done()
		return
	}
	if s.came != nil {
		s.came(r.Header.Get("webhook-id"), time.Now())
	}
	s.taken.Add(1)
}

// bare posts the same signed body n times, `at` at once, with only net/http.
// It returns the number of posts per second: the upper limit.
func (s *sink) bare(b *testing.B, n, at int) float64 {
	b.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.roots}, MaxIdleConnsPerHost: at}}
	defer client.CloseIdleConnections()
	body, header := signed()
	began := time.Now()
	var left atomic.Int64
	left.Store(int64(n))
	var all sync.WaitGroup
	for range at {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if err := s.post(client, header, body); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return float64(n) / time.Since(began).Seconds()
}

func (s *sink) post(client *http.Client, header http.Header, body []byte) error {
	req, err := http.NewRequest(http.MethodPost, s.url+"/0", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = header
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.Body.Close()
}

// signed is a body and the header that a delivery of it has.
func signed() ([]byte, http.Header) {
	id := sheaf.SubscriptionID("01a1ddaf-e222-7e20-9ba3-ce5b1c063253")
	e := sheaf.Envelope{ID: sheaf.EventID(sheaf.EventPrefix + string(id)), Type: sheaf.ShareCreated, At: time.Now().UTC(),
		UserID: sheaf.UserID(id), ResourceID: string(id), Payload: payload}
	body := e.Event().Body
	h := http.Header{"Content-Type": {"application/json"}, "User-Agent": {"Sheaf-Webhooks/bench"}}
	deliver.Signer{}.Sign(h, sheaf.EventPrefix+string(id), time.Now(), body, []string{sheaf.NewSigningSecret(rand.Reader)})
	return body, h
}

// payload is about as large as a project.
var payload = []byte(`{"id":"01a1ddaf-e289-7866-8c99-5e7007eaccda","name":"Handbook","description":"How we work, and why.","icon":"book-open",` +
	`"color":"#2563eb","folder_id":"01a1ddaf-e259-73b2-9c89-ccb127ef2bea","sort_order":0,"visibility":"private","document_count":0,` +
	`"created_at":"2026-11-15T05:30:53.961Z","updated_at":"2026-11-15T05:30:53.961Z"}`)

// service is the rules and the sender over a real database.
type service struct {
	*testing.B
	sink   *sink
	store  *store.Store
	app    *app.App
	caller app.Caller
	config deliver.Config
}

// benchEngines runs a benchmark on both databases.
func benchEngines(b *testing.B, run func(s *service)) {
	b.Run("SQLite", func(b *testing.B) { run(newService(b, store.Options{Folder: b.TempDir()})) })
	b.Run("PostgreSQL", func(b *testing.B) { run(newService(b, store.Options{DatabaseURL: pgtest.URL(b)})) })
}

func newService(b *testing.B, o store.Options) *service {
	b.Helper()
	s := &service{B: b, sink: newSink(b)}
	s.must(store.Migrate(b.Context(), o))
	st, err := store.Open(b.Context(), o)
	s.must(err)
	b.Cleanup(func() { s.must(st.Close()) })
	box, err := seal.New(make([]byte, 32), rand.Reader)
	s.must(err)
	g := guard.New([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	client := deliver.NewClient(deliver.ClientConfig{Timeout: timeout, Control: g.Control, Blocked: func(error) bool { return false },
		RootCAs: s.sink.roots, PerHost: deliver.IdlePerHost, UserAgent: "Sheaf-Webhooks/bench"})
	b.Cleanup(client.CloseIdle)
	courier := &deliver.Courier{Client: client, Now: time.Now}
	s.store = st
	s.app = app.New(app.Config{Store: st, Now: time.Now, Random: rand.Reader, Webhooks: app.Webhooks{Box: box, Guard: g, Send: courier.Send}})
	s.config = deliver.Config{Store: st, Box: box, Courier: courier, Log: slog.New(slog.DiscardHandler), Now: time.Now, NewToken: rand.Text,
		Schedule: sheaf.DefaultSchedule, Timeout: timeout, Alone: o.DatabaseURL == ""}
	s.workspace()
	return s
}

func (s *service) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// workspace makes a new workspace, in which everything happens from then on.
func (s *service) workspace() {
	ws, err := s.app.Operator().CreateWorkspace(s.Context(), app.NewWorkspace{Name: "Acme", Plan: sheaf.Business})
	s.must(err)
	s.caller = app.Caller{Workspace: ws.ID, User: ws.Owner, Role: sheaf.Owner}
}

// subscribe makes subscriptions, each to a path of its own.
func (s *service) subscribe(n int, path string) (ids []sheaf.SubscriptionID) {
	for i := range n {
		if i > 0 && i%20 == 0 {
			s.workspace()
		}
		made, err := s.app.CreateSubscription(s.Context(), s.caller, sheaf.SubscriptionChange{Name: sheaf.Some("Hook"),
			URL: sheaf.Some(fmt.Sprintf("%s%s/%d", s.sink.url, path, i)), Events: sheaf.Some([]string{"share.created"})})
		s.must(err)
		ids = append(ids, made.ID)
	}
	return ids
}

// publish commits n events.
func (s *service) publish(n int) {
	var left atomic.Int64
	left.Store(int64(n))
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				_, err := s.app.PublishEvent(s.Context(), s.caller, app.NewEvent{Type: sheaf.ShareCreated,
					ResourceID: "0198c0de-0000-7000-8000-000000000000", Payload: payload})
				if err != nil {
					s.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// start runs a sender until the benchmark ends or stop is called.
func (s *service) start() (d *deliver.Deliverer, stop func()) {
	d = deliver.New(s.config)
	s.store.OnCommit(d.Notice)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = d.Run(ctx)
	}()
	return d, sync.OnceFunc(func() {
		cancel()
		<-done
	})
}

// recorded waits until no delivery of the subscriptions is waiting or sending.
func (s *service) recorded(ids []sheaf.SubscriptionID, want int) {
	for _, id := range ids {
		sheaftest.Eventually(s, "all is recorded", func() bool {
			page, err := s.app.Deliveries(s.Context(), s.caller, id, sheaf.Delivered, sheaf.Paging{Limit: 1})
			s.must(err)
			return page.Total == int64(want)
		})
	}
}

// BenchmarkDeliveries sends a backlog: events that were committed earlier, for some subscriptions
// to one host. An operation is a delivery, from its claim to its recorded attempt; limit is the
// rate of the bare client, for comparison.
func BenchmarkDeliveries(b *testing.B) {
	for _, subscriptions := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("subscriptions=%d", subscriptions), func(b *testing.B) {
			benchEngines(b, func(s *service) { s.backlog(subscriptions) })
		})
	}
}

func (s *service) backlog(subscriptions int) {
	ids := s.subscribe(subscriptions, "")
	events := max(1, s.N/subscriptions)
	s.publish(events)
	posts := max(events*subscriptions/2, 64)
	used := processTime()
	limit := s.sink.bare(s.B, posts, 64)
	bare := (processTime() - used) / time.Duration(posts)
	s.sink.taken.Store(0)
	used = processTime()
	s.ResetTimer()
	_, stop := s.start()
	for s.sink.taken.Load() < int64(events*subscriptions) {
		time.Sleep(time.Millisecond) // until the next look: a signal for each would be measured too
	}
	stop() // returns when all is recorded
	s.StopTimer()
	own := (processTime() - used) / time.Duration(events*subscriptions)
	rate := float64(events*subscriptions) / s.Elapsed().Seconds()
	s.recorded(ids, events)
	limit = (limit + s.sink.bare(s.B, posts, 64)) / 2
	s.ReportMetric(rate, "deliveries/s")
	s.ReportMetric(limit, "limit/s")
	s.ReportMetric(rate/limit, "of-limit")
	s.ReportMetric(float64(own.Microseconds()), "cpu-µs/op")
	s.ReportMetric(float64(bare.Microseconds()), "bare-cpu-µs/op")
}

// processTime is the processor time that this process has used, sink included,
// which a busy machine distorts less than the clock.
func processTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkArrival commits events one by one, 100 in a second, and measures the time from the
// commit to the arrival; bare is the time of a POST alone.
func BenchmarkArrival(b *testing.B) {
	benchEngines(b, func(s *service) {
		s.subscribe(1, "")
		var mu sync.Mutex // guards came
		came := map[string]time.Time{}
		s.sink.came = func(event string, at time.Time) {
			mu.Lock()
			defer mu.Unlock()
			came[event] = at
		}
		_, stop := s.start()
		defer stop()
		sent := map[string]time.Time{}
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		s.ResetTimer()
		for range s.N {
			<-tick.C
			e, err := s.app.PublishEvent(s.Context(), s.caller, app.NewEvent{Type: sheaf.ShareCreated,
				ResourceID: "0198c0de-0000-7000-8000-000000000000", Payload: payload})
			s.must(err)
			sent[string(e.ID)] = time.Now()
		}
		for s.sink.taken.Load() < int64(s.N) {
			time.Sleep(time.Millisecond) // until the next look: a signal for each would be measured too
		}
		s.StopTimer()
		mu.Lock()
		defer mu.Unlock()
		var took []time.Duration
		for id, at := range sent {
			took = append(took, came[id].Sub(at))
		}
		slices.Sort(took)
		p50 := took[len(took)/2]
		s.ReportMetric(float64(p50.Microseconds()), "p50-µs")
		s.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		s.ReportMetric(float64(p50)/float64(s.bareArrival()), "of-bare")
	})
}

// bareArrival returns the median time of a bare POST, at 100 in a second.
func (s *service) bareArrival() time.Duration {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.sink.roots}}}
	defer client.CloseIdleConnections()
	var at time.Time
	s.sink.came = func(_ string, when time.Time) { at = when }
	var took []time.Duration
	body, header := signed()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 200 {
		<-tick.C
		began := time.Now()
		s.must(s.sink.post(client, header, body))
		took = append(took, at.Sub(began))
	}
	slices.Sort(took)
	return took[len(took)/2]
}
