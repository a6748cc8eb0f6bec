package overload

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest/plant"
	"sheaf.dev/internal/sheaftest/proctest"
	"sheaf.dev/internal/sheaftest/proof"
)

// container is the memory that the program has for the deliveries of large bodies.
const container = 256 << 20

// Webhooks of many workspaces hang, and each has more large events waiting than it may have in flight.
// The program survives in a container of 256 MB, also over restarts, at which all of them wait. What
// another workspace sends meanwhile, small and large, arrives.
func TestBodies_OfHangingEndpointsKeepWithinTheMemory(t *testing.T) {
	t.Parallel()
	a := &attack{workspaces: proof.Rounds(4, 12, 24), posts: proof.Rounds(16, 21, 42), restarts: proof.Rounds(1, 5, 20),
		hang: time.Duration(proof.Rounds(3, 10, 10)) * time.Second}
	f := a.run(t, proctest.New(t))
	// However slow the machine is, none of the control's attempts ends before it holds all of them.
	control := &attack{workspaces: a.workspaces, posts: a.posts, hang: 2 * time.Minute}
	careless := proctest.New(t)
	careless.Binary = proctest.Planted(t, plant.Uncounted)
	c := control.run(t, careless)
	for _, complaint := range f.complaints() {
		t.Error(complaint)
	}
	t.Logf("with the control: %+v, %q", c, c.complaints())
	proof.Row{Name: "hanging endpoints in 256 MB",
		Figures: []proof.Figure{{Name: "workspaces", Value: a.workspaces}, {Name: "webhooks that hang", Value: a.workspaces * hooksEach},
			{Name: "events of 256 KB", Value: f.posted}, {Name: "deliveries of them", Value: f.posted * hooksEach},
			{Name: "restarts", Value: a.restarts}, {Name: "killed", Value: f.killed},
			{Name: "peak memory MB", Value: f.peak >> 20}, {Name: "sent by another workspace", Value: f.sent}, {Name: "arrived", Value: f.arrived},
			{Name: "slowest of them", Value: f.slowest.Round(time.Millisecond)}},
		Lost:    len(f.complaints()),
		Control: "bodies are neither shared nor counted", Caught: c.killed > 0 || c.peak > container}.Report(t)
}

// hooksEach is how many webhooks a workspace of the business plan may have.
const hooksEach = 20

type attack struct {
	workspaces, posts, restarts int
	hang                        time.Duration // how long the program waits for an endpoint
}

type bodyFigures struct {
	posted, killed, sent, arrived int
	peak                          int64
	slowest                       time.Duration
}

func (f bodyFigures) complaints() (out []string) {
	if f.killed > 0 {
		out = append(out, fmt.Sprintf("the program was killed %d times", f.killed))
	}
	if f.peak > container {
		out = append(out, fmt.Sprintf("it took %d MB", f.peak>>20))
	}
	if f.arrived != f.sent {
		out = append(out, fmt.Sprintf("%d of %d events of another workspace arrived", f.arrived, f.sent))
	}
	return out
}

// run makes the attack, and ends at the first kill.
func (a *attack) run(t *testing.T, p *proctest.Program) (f bodyFigures) {
	t.Helper()
	prefix, limited := limitMemory(t, container)
	p.Prefix = prefix
	if !limited {
		p.Env = append(p.Env, fmt.Sprintf("GOMEMLIMIT=%d", container*3/4))
	}
	release := make(chan struct{})
	got := make(chan struct{}, 16) // a request of the other workspace has come
	url, roots := proctest.Endpoint(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/fine"):
			_, _ = io.Copy(io.Discard, r.Body)
			select {
			case got <- struct{}{}:
			case <-release:
			}
			return
		case strings.HasSuffix(r.URL.Path, "/takes"):
			_, _ = io.Copy(io.Discard, r.Body)
		}
		<-release
	}))
	t.Cleanup(func() { close(release) })
	var keys []string
	for i := range a.workspaces {
		keys = append(keys, p.Workspace(t, fmt.Sprint("hangs ", i)))
	}
	other := p.Workspace(t, "other")
	client := newClient(t)
	start := func() *proctest.Server {
		return p.Start(t, "--webhook-allow-cidr", "127.0.0.0/8", "--webhook-ca-file", roots,
			"--webhook-timeout", a.hang.String())
	}
	s := start()
	for _, key := range keys {
		for i := range hooksEach {
			subscribeTo(t, client, s.URL, key, url+[]string{"/unread", "/takes"}[i%2])
		}
	}
	subscribeTo(t, client, s.URL, other, url+"/fine")
	f.posted = a.post(client, s, keys)
	for round := 0; ; round++ {
		f.watch(t, client, s, other, got, a.hang)
		select {
		case <-s.Ended:
			f.killed++
			return f
		default:
		}
		s.Kill()
		if round == a.restarts {
			return f
		}
		s = start()
	}
}

// post publishes the events of all workspaces, a few at the same time, as long as the server lives.
func (a *attack) post(client *http.Client, s *proctest.Server, keys []string) (posted int) {
	large := strings.Repeat("x", 262_000)
	var n atomic.Int64
	var wg sync.WaitGroup
	next := make(chan string)
	for range 8 {
		wg.Go(func() {
			for key := range next {
				if publish(client, s.URL, key, large) == nil {
					n.Add(1)
				}
			}
		})
	}
	for range a.posts {
		for _, key := range keys {
			select {
			case next <- key:
			case <-s.Ended:
			}
		}
	}
	close(next)
	wg.Wait()
	return int(n.Load())
}

// watch lets another workspace send a small event and a large one, and waits until both have arrived, and for as long
// as endpoints may hang, so that the server becomes as large as it does; or until it is gone.
func (f *bodyFigures) watch(t *testing.T, client *http.Client, s *proctest.Server, key string, got <-chan struct{}, hang time.Duration) {
	t.Helper()
	for len(got) > 0 { // sent again, because a kill came before it was recorded
		<-got
	}
	for _, size := range []int{10, 262_000} {
		began := time.Now()
		if publish(client, s.URL, key, strings.Repeat("x", size)) != nil {
			f.await(s, nil, hang) // a server that was killed may refuse connections before its end is known
			return
		}
		f.sent++
		came, lives := f.await(s, got, forever)
		if !lives {
			return
		}
		if came {
			f.arrived++
			f.slowest = max(f.slowest, time.Since(began))
		}
	}
	f.await(s, nil, hang)
}

// await looks at the server's memory until something comes, for so long at most. It reports
// whether it came, and whether the server is still there and small enough.
func (f *bodyFigures) await(s *proctest.Server, something <-chan struct{}, most time.Duration) (came, lives bool) {
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	late := time.NewTimer(most)
	defer late.Stop()
	for {
		select {
		case <-something:
			return true, true
		case <-s.Ended:
			return false, false
		case <-late.C:
			return false, true
		case <-look.C:
		}
		peak, err := proctest.PeakMemory(s.Process.Pid)
		if f.peak = max(f.peak, peak); err != nil || f.peak > container {
			return false, false
		}
	}
}

func subscribeTo(t *testing.T, client *http.Client, url, key, to string) {
	t.Helper()
	status, err := proctest.Call(client, url, key, http.MethodPost, "/api/webhooks/subscriptions",
		map[string]any{"name": "hook", "url": to, "events": []string{"media.uploaded"}}, nil)
	if err != nil || status != http.StatusCreated {
		t.Fatalf("subscribe: %d, %v", status, err)
	}
}

func publish(client *http.Client, url, key, text string) error {
	status, err := proctest.Call(client, url, key, http.MethodPost, "/api/v1/events", map[string]any{"type": "media.uploaded",
		"resource_id": "0198c0de-0000-7000-8000-000000000000", "payload": map[string]any{"text": text}}, nil)
	if err == nil && status != http.StatusAccepted {
		err = fmt.Errorf("status %d", status)
	}
	return err
}

var groups atomic.Int64

// limitMemory creates a control group of `bytes` bytes, and returns the command that runs a program in
// it. If none can be created, the program's memory is only measured.
func limitMemory(t *testing.T, bytes int64) (prefix []string, limited bool) {
	t.Helper()
	for _, kind := range []struct{ parent, limit string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max"}} {
		group := filepath.Join(kind.parent, fmt.Sprintf("sheaf-overload-%d-%d", os.Getpid(), groups.Add(1)))
		if os.Mkdir(group, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(group) })
		if _, err := os.Stat(filepath.Join(group, kind.limit)); err != nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(group, kind.limit), fmt.Append(nil, bytes), 0o644); err != nil {
			continue
		}
		_ = os.WriteFile(filepath.Join(group, "memory.swap.max"), []byte("0"), 0o644)
		return []string{"sh", "-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, group}, true
	}
	return nil, false
}
