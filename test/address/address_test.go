// Package address tries to make the program, as it is built for users, connect to addresses that it must not reach. It
// does so in a network namespace of its own, where every address is this machine's and every connection is counted
// outside the program.
package address

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/proctest"
	"sheaf.dev/internal/sheaftest/proof"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(sheaftest.Patient(m), goleak.Cleanup(proctest.Exit))
}

// envInside tells the test that it runs in namespaces of its own.
const envInside = "SHEAF_TEST_INSIDE"

// Whatever is stored, and whatever a name leads to, nothing special is ever connected to: not by creating a
// subscription, nor by testing it, delivering or redelivering.
func TestAddresses_NoneIsReached(t *testing.T) {
	if os.Getenv(envInside) == "1" {
		tryAll(t)
		return
	}
	if os.Geteuid() != 0 {
		sheaftest.Unable(t, "network namespaces need root: run sudo -E go test ./test/address")
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestAddresses_NoneIsReached$", "-test.v")
	cmd.Env = append(os.Environ(), envInside+"=1", proctest.EnvBinary+"="+proctest.Binary(t))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("inside the namespace: %v", err)
	}
}

const redirectPath = "/redirect"

// literals are urls that can be stored while the operator allows their addresses.
var literals = []string{
	"127.0.0.1", "127.1.2.3", "10.0.0.1", "100.64.0.1", "169.254.169.254", "172.16.0.1", "192.168.1.1", "192.0.0.192",
	"198.18.0.1", "203.0.113.1", "168.63.129.16", "0.0.0.0", "localhost", "[::1]", "[fd00::1]", "[fd00:ec2::254]",
	"[::ffff:10.0.0.1]", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::1]", "[2001:db8::1]",
}

// tryAll runs inside the namespaces.
func tryAll(t *testing.T) {
	x := &attempt{world: newWorld(t), program: proctest.New(t)}
	x.keys = []string{x.program.Workspace(t, "literals"), x.program.Workspace(t, "names")}
	x.control(t)
	x.real(t)
	row := proof.Row{Name: "forbidden addresses",
		Figures: []proof.Figure{{Name: "forms refused at creation", Value: x.refused}, {Name: "tests", Value: x.tests},
			{Name: "deliveries", Value: x.deliveries}, {Name: "redeliveries", Value: x.redeliveries},
			{Name: "names asked", Value: x.world.dns.questions()}, {Name: "sockets reached", Value: x.lost}},
		Lost:    x.lost + x.accepted,
		Control: "the same with --webhook-allow-cidr 0.0.0.0/0,::/0", Caught: x.caught}
	row.Report(t)
}

type attempt struct {
	world   *world
	program *proctest.Program
	server  *proctest.Server
	keys    []string
	hooks   []hook

	refused, accepted               int // forms at creation
	tests, deliveries, redeliveries int
	lost                            int
	caught                          bool
}

type hook struct{ key, url, id string }

func (x *attempt) start(t *testing.T, args ...string) {
	t.Helper()
	if x.server != nil {
		if err := x.server.Terminate(); err != nil {
			t.Fatal(err)
		}
	}
	x.server = x.program.Start(t, append(args, "--addr", apiHost+":0", "--webhook-ca-file", x.world.roots,
		"--webhook-timeout", "30s", "--webhook-retry-delays", "10ms,10ms,10ms")...)
}

// control stores and uses everything while it is allowed: every act must be seen to reach special addresses.
func (x *attempt) control(t *testing.T) {
	t.Helper()
	x.start(t, "--webhook-allow-cidr", "0.0.0.0/0,::/0")
	for _, host := range literals {
		x.subscribe(t, x.keys[0], "https://"+host+"/")
	}
	urls := []string{"https://" + publicName + redirectPath}
	for _, name := range names() {
		urls = append(urls, "https://"+name+"/")
	}
	for n := 0; len(urls) < len(literals); n += len(forbidden) / 12 {
		urls = append(urls, "https://"+nameOf(n)+"/")
	}
	for _, url := range urls {
		x.subscribe(t, x.keys[1], url)
	}
	x.caught = true
	for _, act := range x.acts() {
		act.do(t)
		n, where, delivered := x.world.reached(t)
		t.Logf("control: %s reached %d sockets at %d special addresses, %d public deliveries", act.name, n, len(where), delivered)
		x.caught = x.caught && len(where) >= len(literals)/2
	}
	x.tests, x.deliveries, x.redeliveries = 0, 0, 0
}

// real does the same to the same subscriptions, once nothing is allowed any more.
func (x *attempt) real(t *testing.T) {
	t.Helper()
	x.start(t)
	x.world.reached(t)
	x.createAll(t)
	x.complain(t, "create")
	for _, act := range x.acts() {
		act.do(t)
		if delivered := x.complain(t, act.name); delivered == 0 {
			t.Errorf("%s: not even a public address was reached, so nothing was tried", act.name)
		}
	}
	x.testNames(t)
	x.complain(t, "test of every address by a name")
	x.tellNothing(t)
	x.complain(t, "names that are told apart or not")
}

// tellNothing asks for names that lead inside by DNS, by the hosts file and by the search domain, for this machine's own
// address and for a name that leads nowhere: nobody can tell them apart.
func (x *attempt) tellNothing(t *testing.T) {
	t.Helper()
	h := x.hooks[len(x.hooks)-1]
	told := map[string][]string{}
	for _, name := range []string{"nowhere.test", "nowhere", innerName, cnameName, hostsName, ownName, shortName, nameOf(1)} {
		if status, err := x.server.Call(h.key, http.MethodPatch, "/api/webhooks/subscriptions/"+h.id, map[string]any{"url": "https://" + name + "/"}, nil); err != nil || status != http.StatusOK {
			t.Fatalf("change to %s: %d, %v", name, status, err)
		}
		var answer map[string]any
		if status, err := x.server.Call(h.key, http.MethodPost, "/api/webhooks/subscriptions/"+h.id+"/test", nil, &answer); err != nil || status != http.StatusOK {
			t.Fatalf("test %s: %d, %v", name, status, err)
		}
		delete(answer, "event_id")
		delete(answer, "duration_ms")
		text := fmt.Sprint(answer)
		told[text] = append(told[text], name)
	}
	if len(told) != 1 {
		t.Errorf("names are told apart: %q", told)
		x.lost += len(told) - 1
	}
	if full := shortName + "." + searchDomain; x.world.dns.askedFor(full) {
		t.Errorf("%s was asked for: names are absolute", full)
		x.lost++
	}
	body := map[string]any{"name": "hook", "url": "https://" + own[0].String() + "/", "events": []string{"project.created"}}
	if status, err := x.server.Call(x.keys[0], http.MethodPost, "/api/webhooks/subscriptions", body, nil); err != nil || status != http.StatusBadRequest {
		t.Errorf("this machine's own address: create answers %d, %v, want 400", status, err)
		x.lost++
	}
}

// acts are what connects.
func (x *attempt) acts() []act {
	return []act{{"test", x.testAll}, {"deliver", x.deliver}, {"redeliver", x.redeliver}}
}

type act struct {
	name string
	do   func(*testing.T)
}

// complain notes what was reached and should not be.
func (x *attempt) complain(t *testing.T, what string) (delivered int) {
	t.Helper()
	n, where, delivered := x.world.reached(t)
	if n > 0 {
		t.Errorf("%s: reached %v", what, where)
	}
	x.lost += n
	return delivered
}

func (x *attempt) subscribe(t *testing.T, key, url string) {
	t.Helper()
	var answer struct{ Subscription struct{ ID string } }
	status, err := x.server.Call(key, http.MethodPost, "/api/webhooks/subscriptions",
		map[string]any{"name": "hook", "url": url, "events": []string{"project.created"}}, &answer)
	if err != nil || status != http.StatusCreated {
		t.Fatalf("subscribe to %s: %d, %v", url, status, err)
	}
	x.hooks = append(x.hooks, hook{key, url, answer.Subscription.ID})
}

// createAll tries to make, and to change into, a subscription to every forbidden form.
func (x *attempt) createAll(t *testing.T) {
	t.Helper()
	forms := sheaftest.ForbiddenHosts()
	for _, s := range sheaftest.ForbiddenAddresses() {
		if strings.Contains(s, ":") {
			s = "[" + s + "]"
		}
		forms = append(forms, s)
	}
	for _, host := range forms {
		body := map[string]any{"name": "hook", "url": "https://" + host + "/", "events": []string{"project.created"}}
		made, err := x.server.Call(x.keys[0], http.MethodPost, "/api/webhooks/subscriptions", body, nil)
		if err != nil {
			t.Fatal(err)
		}
		changed, err := x.server.Call(x.keys[0], http.MethodPatch, "/api/webhooks/subscriptions/"+x.hooks[0].id, map[string]any{"url": body["url"]}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if made == http.StatusBadRequest && changed == http.StatusBadRequest {
			x.refused++
			continue
		}
		x.accepted++
		t.Errorf("%q: create answers %d, change %d, want 400", host, made, changed)
	}
}

func (x *attempt) test(t *testing.T, h hook) {
	t.Helper()
	if status, err := x.server.Call(h.key, http.MethodPost, "/api/webhooks/subscriptions/"+h.id+"/test", nil, nil); err != nil || status != http.StatusOK {
		t.Errorf("test %s: %d, %v", h.url, status, err)
	}
	x.tests++
}

func (x *attempt) testAll(t *testing.T) {
	for _, h := range x.hooks {
		x.test(t, h)
	}
}

// testNames points a subscription at a name of every forbidden address, one after the other.
func (x *attempt) testNames(t *testing.T) {
	t.Helper()
	h := x.hooks[len(x.hooks)-1]
	for n := 0; n < len(forbidden); n += proof.Rounds(3, 1, 1) {
		h.url = "https://" + nameOf(n) + "/"
		if status, err := x.server.Call(h.key, http.MethodPatch, "/api/webhooks/subscriptions/"+h.id, map[string]any{"url": h.url}, nil); err != nil || status != http.StatusOK {
			t.Fatalf("change to %s: %d, %v", h.url, status, err)
		}
		x.test(t, h)
	}
}

// deliver makes an event in either workspace and waits for the end of every delivery.
func (x *attempt) deliver(t *testing.T) {
	t.Helper()
	for _, key := range x.keys {
		if status, err := x.server.Call(key, http.MethodPost, "/api/v1/projects", map[string]any{"name": "event"}, nil); err != nil || status != http.StatusCreated {
			t.Fatalf("create a project: %d, %v", status, err)
		}
	}
	for _, h := range x.hooks {
		sheaftest.Eventually(t, "delivery to "+h.url, func() bool {
			waiting, _ := x.newest(t, h)
			return !waiting
		})
		x.deliveries++
	}
}

// redeliver asks for one more attempt of each, and waits for it.
func (x *attempt) redeliver(t *testing.T) {
	t.Helper()
	for _, h := range x.hooks {
		_, d := x.newest(t, h)
		if status, err := x.server.Call(h.key, http.MethodPost, "/api/webhooks/deliveries/"+d.ID+"/redeliver", nil, nil); err != nil || status != http.StatusAccepted {
			t.Fatalf("redeliver to %s: %d, %v", h.url, status, err)
		}
		sheaftest.Eventually(t, "redelivery to "+h.url, func() bool {
			_, now := x.newest(t, h)
			return now.Attempts > d.Attempts
		})
		x.redeliveries++
	}
}

type delivery struct {
	ID, State string
	Attempts  int    `json:"attempt_count"`
	CreatedAt string `json:"created_at"`
}

// newest returns the delivery of the last event, and whether any is still under way.
func (x *attempt) newest(t *testing.T, h hook) (waiting bool, last delivery) {
	t.Helper()
	var page struct{ Data []delivery }
	path := fmt.Sprintf("/api/webhooks/subscriptions/%s/deliveries?limit=100", h.id)
	if status, err := x.server.Call(h.key, http.MethodGet, path, nil, &page); err != nil || status != http.StatusOK {
		t.Fatalf("deliveries to %s: %d, %v", h.url, status, err)
	}
	for _, d := range page.Data {
		waiting = waiting || d.State == "waiting" || d.State == "sending"
		if d.CreatedAt >= last.CreatedAt {
			last = d
		}
	}
	return waiting || last.ID == "", last
}
