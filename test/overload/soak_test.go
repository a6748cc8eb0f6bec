package overload

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"sheaf.dev/internal/sheaftest/proctest"
	"sheaf.dev/internal/sheaftest/proof"
)

// sample is what a server holds while nobody asks anything.
type sample struct {
	goroutines, files float64
	heap              float64 // what lived at the end of the last collection
	resident          float64
}

// grown says what grew from the first samples, in which the server settles, to the last. What is left over by a
// request shows up thousands of times; a pool that opens one more connection does not.
func grown(all []sample) (out []string) {
	first, last := all[len(all)/3:2*len(all)/3], all[2*len(all)/3:]
	check := func(what string, slack float64, get func(sample) float64) {
		before, after := least(first, get), least(last, get)
		if after > before*1.1+slack {
			out = append(out, fmt.Sprintf("%s grew from %.0f to %.0f", what, before, after))
		}
	}
	check("goroutines", 20, func(s sample) float64 { return s.goroutines })
	check("open files", 20, func(s sample) float64 { return s.files })
	check("the heap", 8<<20, func(s sample) float64 { return s.heap })
	check("resident memory", 48<<20, func(s sample) float64 { return s.resident })
	return out
}

func least(all []sample, get func(sample) float64) float64 {
	values := make([]float64, len(all))
	for i, s := range all {
		values[i] = get(s)
	}
	return slices.Min(values)
}

// Nothing grows with the work that is done.
func TestSoak_NothingGrows(t *testing.T) {
	t.Parallel()
	span := time.Duration(proof.Rounds(5, 600, 3600)) * time.Second
	control := soak(t, startLeaky(t), 2*time.Second)
	x := startSoaked(t)
	all := soak(t, x, span)
	complaints := grown(all)
	for _, c := range complaints {
		t.Error(c)
	}
	caught := grown(control)
	t.Logf("the leaky server: %q", caught)
	first, last := all[len(all)/3], all[len(all)-1]
	between := func(get func(sample) float64) string { return fmt.Sprintf("%.0f → %.0f", get(first), get(last)) }
	proof.Row{Name: "soak",
		Figures: []proof.Figure{{Name: "time", Value: span}, {Name: "requests", Value: x.asked},
			{Name: "goroutines", Value: between(func(s sample) float64 { return s.goroutines })},
			{Name: "files", Value: between(func(s sample) float64 { return s.files })},
			{Name: "heap MB", Value: between(func(s sample) float64 { return s.heap / (1 << 20) })},
			{Name: "resident MB", Value: between(func(s sample) float64 { return s.resident / (1 << 20) })}},
		Lost:    len(complaints),
		Control: "a server that leaves a goroutine, a file and 256 KB a request", Caught: len(caught) >= 3}.Report(t)
}

// soaked is a server at work.
type soaked struct {
	url, metrics, key string
	work              []func(*soaked, *http.Client) // what its clients do
	asked             int
	least             int // that each client asks in a spell, however slow the machine is
}

func startSoaked(t *testing.T) *soaked {
	t.Helper()
	hook, roots := proctest.Endpoint(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	p := proctest.New(t)
	key := p.Workspace(t, "soak")
	s := p.StartWithMetrics(t, "--webhook-allow-cidr", "127.0.0.0/8", "--webhook-ca-file", roots, "--webhook-retry-delays", "10ms,10ms,10ms")
	for _, url := range []string{hook, "https://127.0.0.1:1/nobody"} {
		if status, err := s.Call(key, http.MethodPost, "/api/webhooks/subscriptions",
			map[string]any{"name": "hook", "url": url, "events": []string{"project.created"}}, nil); err != nil || status != http.StatusCreated {
			t.Fatalf("subscribe: %d, %v", status, err)
		}
	}
	// What is kept for the next request is full long before the middle of a proof, also where others have the processors.
	return &soaked{url: s.URL, metrics: s.Metrics, key: key, least: proof.Rounds(0, 1500, 1500),
		work: []func(*soaked, *http.Client){(*soaked).life, (*soaked).read, (*soaked).mistake, (*soaked).stream, (*soaked).half}}
}

// soak lets clients work in spells, and takes a sample after each when all is quiet.
func soak(t *testing.T, x *soaked, span time.Duration) (all []sample) {
	t.Helper()
	spells := max(9, int(span/(20*time.Second)))
	for range spells {
		x.spell(t, span/time.Duration(spells))
		all = append(all, x.quiet(t))
	}
	return all
}

func (x *soaked) spell(t *testing.T, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var mu sync.Mutex // guards asked
	var wg sync.WaitGroup
	for i := range 2 * len(x.work) {
		client := &http.Client{Transport: &http.Transport{}, Timeout: 5 * time.Minute}
		wg.Go(func() {
			defer client.CloseIdleConnections()
			n := 0
			for ; ctx.Err() == nil || n < x.least; n++ {
				x.work[(i+n)%len(x.work)](x, client)
			}
			mu.Lock()
			defer mu.Unlock()
			x.asked += n
		})
	}
	wg.Wait()
}

// quiet waits until the number of goroutines and files no longer falls, and returns the state.
func (x *soaked) quiet(t *testing.T) (s sample) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for still := 0; still < 5; time.Sleep(20 * time.Millisecond) { // between two looks: what is ending says nothing
		m, err := proctest.Figures(client, x.metrics)
		if err != nil {
			t.Fatal(err)
		}
		now := sample{goroutines: m["go_goroutines"], files: m["process_open_fds"], heap: m["go_memstats_next_gc_bytes"] / 2,
			resident: m["process_resident_memory_bytes"]}
		if still++; s.goroutines == 0 || now.goroutines < s.goroutines || now.files < s.files {
			s, still = now, 0
		}
	}
	return s
}

// life makes, changes and removes a project and a document.
func (x *soaked) life(c *http.Client) {
	var made struct{ ID string }
	call := func(method, path string, body any) { _, _ = proctest.Call(c, x.url, x.key, method, path, body, &made) }
	call(http.MethodPost, "/api/v1/projects", map[string]any{"name": "soak"})
	id := made.ID
	call(http.MethodPost, "/api/v1/documents", map[string]any{"title": "soak", "project_id": id})
	call(http.MethodPatch, "/api/v1/documents/"+made.ID, map[string]any{"title": fmt.Sprint(rand.Int())})
	call(http.MethodDelete, "/api/v1/documents/"+made.ID, nil)
	call(http.MethodDelete, "/api/v1/projects/"+id, nil)
}

func (x *soaked) read(c *http.Client) {
	for _, path := range []string{"/api/v1/projects", "/api/v1/documents?q=soak", "/api/v1/events?limit=5", "/api/v1/me", "/readyz"} {
		_, _ = proctest.Call(c, x.url, x.key, http.MethodGet, path, nil, nil)
	}
}

// mistake asks for what cannot be.
func (x *soaked) mistake(c *http.Client) {
	_, _ = proctest.Call(c, x.url, fmt.Sprintf("shf_%d", rand.Int()), http.MethodGet, "/api/v1/me", nil, nil)
	_, _ = proctest.Call(c, x.url, x.key, http.MethodGet, fmt.Sprintf("/nowhere/%d", rand.Int()), nil, nil)
	_, _ = proctest.Call(c, x.url, x.key, http.MethodPost, "/api/v1/projects", []int{1}, nil)
	_, _ = proctest.Call(c, x.url, x.key, http.MethodPost, "/api/v1/documents", strings.Repeat("x", 100_000), nil)
}

// stream opens the events and leaves.
func (x *soaked) stream(c *http.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, x.url+"/api/v1/events/stream", nil)
	if err != nil {
		return
	}
	req.Header.Set("Authorization", "Bearer "+x.key)
	if res, err := c.Do(req); err == nil {
		_, _ = bufio.NewReader(res.Body).ReadString('\n')
		res.Body.Close()
	}
}

// half begins a request and is gone.
func (x *soaked) half(*http.Client) {
	c, err := net.Dial("tcp", strings.TrimPrefix(x.url, "http://"))
	if err != nil {
		return
	}
	defer c.Close()
	fmt.Fprintf(c, "POST /api/v1/projects HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 100000\r\n\r\n{", x.key)
}

// leaky is the control of the soak: every request leaves a goroutine, a file and some memory behind.
func leaky() {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	var mu sync.Mutex // guards kept
	var kept [][]byte
	mux.HandleFunc("/api/v1/me", func(w http.ResponseWriter, r *http.Request) {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return // there are no more
		}
		mu.Lock()
		kept = append(kept, bytes.Repeat([]byte{1}, 256<<10)) // written, so that it is resident
		mu.Unlock()
		go func() {
			<-make(chan struct{})
			f.Close()
		}()
	})
	serveControl(mux)
}

func startLeaky(t *testing.T) *soaked {
	t.Helper()
	url, _ := startControl(t, "leaky")
	return &soaked{url: url, metrics: url + "/metrics", least: 60, work: []func(*soaked, *http.Client){func(x *soaked, c *http.Client) {
		_, _ = proctest.Call(c, x.url, "x", http.MethodGet, "/api/v1/me", nil, nil)
		time.Sleep(5 * time.Millisecond) // the pace of the load
	}}}
}
