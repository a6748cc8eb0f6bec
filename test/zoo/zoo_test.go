package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/proctest"
	"sheaf.dev/internal/sheaftest/proof"
)

// asProgram makes the test binary the zoo itself, or the careless sender.
const asProgram = "ZOO_TEST_AS"

func TestMain(m *testing.M) {
	switch os.Getenv(asProgram) {
	case "zoo":
		main()
	case "careless":
		careless()
	default:
		goleak.VerifyTestMain(sheaftest.Patient(m), goleak.Cleanup(proctest.Exit))
	}
}

const (
	// mayUse is the memory that the whole program may have resident while it delivers to all of them at once. Whatever it
	// does, the collector lets it come to 120 or 130 MB: to twice what it holds, and its headroom.
	mayUse = 160 << 20
	// mayOverrun is by how much an attempt may be late. A busy machine adds to it, and must not decide: who waits for ever
	// waits longer. The row tells how late the latest was.
	mayOverrun = 5 * time.Minute
)

// deadline of one attempt: --webhook-timeout.
func deadline() time.Duration {
	return time.Duration(proof.Rounds(500, 10_000, 10_000)) * time.Millisecond
}

// The program delivers to every endpoint of the zoo at once. None of them holds it longer than the deadline, none
// makes it swell, and every delivery comes to an end that is written down.
func TestZoo_TheProgramDelivers(t *testing.T) {
	t.Parallel()
	z := startZoo(t)
	var controls sync.WaitGroup
	var late, large bool
	done := make(chan struct{})
	controls.Go(func() { late = overruns(t, z, done) })
	controls.Go(func() { large = swells(t, z) })
	s := startSender(t, z)
	for round := range proof.Rounds(1, 3, 30) {
		s.testAll(t)
		s.deliverToAll(t, round+1)
	}
	close(done)
	peak, err := proctest.PeakMemory(s.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	controls.Wait()
	left := z.heldBy(s.timedOut)
	row := proof.Row{Name: "hostile receivers",
		Figures: []proof.Figure{{Name: "behaviours", Value: len(z.all)}, {Name: "attempts", Value: s.attempts}, {Name: "deadline", Value: deadline()},
			{Name: "worst overrun", Value: s.worst.Round(time.Millisecond)}, {Name: "connections left open", Value: left}, {Name: "peak memory MB", Value: peak >> 20}},
		Lost:    s.broken + left,
		Control: "http.Client and io.ReadAll against the same zoo", Caught: late && large}
	if s.worst > mayOverrun {
		t.Errorf("the worst overrun is %v", s.worst)
		row.Lost++
	}
	if peak > mayUse {
		t.Errorf("the program took %d MB", peak>>20)
		row.Lost++
	}
	row.Report(t)
	if !late || !large {
		t.Errorf("the careless sender: overrun noticed %t, memory noticed %t", late, large)
	}
}

func TestZoo_HasThirtyBehaviours(t *testing.T) {
	t.Parallel()
	if z := startZoo(t); len(z.all) < 30 {
		t.Errorf("%d behaviours", len(z.all))
	}
}

// place is an endpoint of the zoo.
type place struct{ Name, URL string }

// zoo is the program of this folder, in a process of its own.
type zoo struct {
	cmd *exec.Cmd
	ca  string // file of the certificate
	out *bufio.Scanner
	all []place
}

func startZoo(t *testing.T) *zoo {
	t.Helper()
	z := &zoo{ca: filepath.Join(t.TempDir(), "zoo.pem")}
	z.cmd = exec.Command(os.Args[0], "--json", "--ca-file", z.ca)
	z.cmd.Env = append(os.Environ(), asProgram+"=zoo")
	z.cmd.Stderr = os.Stderr
	out, err := z.cmd.StdoutPipe()
	if err == nil {
		err = z.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = z.cmd.Process.Kill()
		_, _ = io.Copy(io.Discard, out)
		_ = z.cmd.Wait()
	})
	z.out = bufio.NewScanner(out)
	// alpn-other is the last of them.
	for len(z.all) == 0 || z.all[len(z.all)-1].Name != "alpn-other" {
		var p place
		if !z.out.Scan() || json.Unmarshal(z.out.Bytes(), &p) != nil {
			t.Fatalf("the zoo says %q", z.out.Text())
		}
		z.all = append(z.all, p)
	}
	return z
}

func (z *zoo) only(want func(name string) bool) (some []place) {
	for _, p := range z.all {
		if want(p.Name) {
			some = append(some, p)
		}
	}
	return some
}

// heldBy stops the zoo and returns how many connections to endpoints that never answered whole were still open.
func (z *zoo) heldBy(timedOut map[string]bool) (open int) {
	_ = z.cmd.Process.Signal(syscall.SIGTERM)
	for z.out.Scan() {
		var seen struct {
			Name string
			Open int
		}
		if json.Unmarshal(z.out.Bytes(), &seen) == nil && timedOut[seen.Name] {
			open += seen.Open
		}
	}
	return open
}

// sender is the program with a subscription for each endpoint.
type sender struct {
	*proctest.Server
	hooks []hook
	keys  []string

	attempts, broken int
	worst            time.Duration   // overrun of the deadline
	timedOut         map[string]bool // by name
}

type hook struct {
	place
	key, id string
}

// perWorkspace is how many subscriptions the plan allows.
const perWorkspace = 20

func startSender(t *testing.T, z *zoo) *sender {
	t.Helper()
	p := proctest.New(t)
	s := &sender{timedOut: map[string]bool{}}
	for i := 0; i*perWorkspace < len(z.all); i++ {
		s.keys = append(s.keys, p.Workspace(t, fmt.Sprintf("workspace %d", i)))
	}
	s.Server = p.Start(t, "--webhook-timeout", deadline().String(), "--webhook-retry-delays", "10ms,10ms,10ms",
		"--webhook-allow-cidr", "127.0.0.0/8", "--webhook-ca-file", z.ca)
	for i, place := range z.all {
		key := s.keys[i/perWorkspace]
		var answer struct{ Subscription struct{ ID string } }
		status, err := s.Call(key, http.MethodPost, "/api/webhooks/subscriptions",
			map[string]any{"name": place.Name, "url": place.URL, "events": []string{"project.created"}}, &answer)
		if err != nil || status != http.StatusCreated {
			t.Fatalf("subscribe %s: %d, %v", place.Name, status, err)
		}
		s.hooks = append(s.hooks, hook{place, key, answer.Subscription.ID})
	}
	return s
}

// testsAtOnce is how many test calls a workspace may have under way.
const testsAtOnce = 5

// testAll tries every endpoint by the test call, as many at once as a workspace may, and takes the time on this side of
// the API.
func (s *sender) testAll(t *testing.T) {
	var mu sync.Mutex // guards what is noted
	var wg sync.WaitGroup
	places := map[string]chan struct{}{}
	for _, key := range s.keys {
		places[key] = make(chan struct{}, testsAtOnce)
	}
	for _, h := range s.hooks {
		wg.Go(func() {
			places[h.key] <- struct{}{}
			defer func() { <-places[h.key] }()
			began := time.Now()
			status, err := s.Call(h.key, http.MethodPost, "/api/webhooks/subscriptions/"+h.id+"/test", nil, nil)
			took := time.Since(began)
			mu.Lock()
			defer mu.Unlock()
			s.attempts++
			s.worst = max(s.worst, took-deadline())
			if err != nil || status != http.StatusOK {
				s.broken++
				t.Errorf("test %s: %d, %v", h.Name, status, err)
			}
		})
	}
	wg.Wait()
}

// deliverToAll makes an event in every workspace and waits for the end of every delivery.
func (s *sender) deliverToAll(t *testing.T, round int) {
	t.Helper()
	for _, h := range s.hooks {
		// Ten failed deliveries would end it.
		if status, err := s.Call(h.key, http.MethodPatch, "/api/webhooks/subscriptions/"+h.id, map[string]any{"active": true}, nil); err != nil || status != http.StatusOK {
			t.Fatalf("activate %s: %d, %v", h.Name, status, err)
		}
	}
	for _, key := range s.keys {
		if status, err := s.Call(key, http.MethodPost, "/api/v1/projects", map[string]any{"name": "for the zoo"}, nil); err != nil || status != http.StatusCreated {
			t.Fatalf("create: %d, %v", status, err)
		}
	}
	for _, h := range s.hooks {
		s.await(t, h, round)
	}
}

// delivery is what the API shows of one.
type delivery struct {
	ID, State string
	CreatedAt time.Time `json:"created_at"`
	Attempts  []struct {
		DurationMS int    `json:"duration_ms"`
		Class      string `json:"error_class"`
	}
}

func (d delivery) over() bool { return d.State == "delivered" || d.State == "failed" }

// await waits until the delivery of the round is over and notes its attempts.
func (s *sender) await(t *testing.T, h hook, round int) {
	t.Helper()
	var page struct{ Data []delivery }
	sheaftest.Eventually(t, "the delivery to "+h.Name, func() bool {
		status, err := s.Call(h.key, http.MethodGet, "/api/webhooks/subscriptions/"+h.id+"/deliveries?limit=100", nil, &page)
		return err == nil && status == http.StatusOK && len(page.Data) == round &&
			!slices.ContainsFunc(page.Data, func(d delivery) bool { return !d.over() })
	})
	newest := slices.MaxFunc(page.Data, func(a, b delivery) int { return a.CreatedAt.Compare(b.CreatedAt) })
	var one struct{ Delivery delivery }
	if _, err := s.Call(h.key, http.MethodGet, "/api/webhooks/deliveries/"+newest.ID, nil, &one); err != nil {
		t.Fatal(err)
	}
	s.note(t, h, one.Delivery)
}

func (s *sender) note(t *testing.T, h hook, d delivery) {
	t.Helper()
	if n := len(d.Attempts); n == 0 || d.State == "failed" && n != 4 {
		s.broken++
		t.Errorf("%s: %s after %d attempts", h.Name, d.State, n)
	}
	for _, a := range d.Attempts {
		s.attempts++
		s.worst = max(s.worst, time.Duration(a.DurationMS)*time.Millisecond-deadline())
		s.timedOut[h.Name] = a.Class == "timeout"
	}
}
