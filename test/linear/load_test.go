package linear

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/anishathalye/porcupine"

	"sheaf.dev/internal/sheaftest/proctest"
)

const (
	clients  = 6
	slots    = 3 // projects at a time
	spoilers = 2 // clients whose batches are refused after their first operation
)

// history is what all clients saw.
type history struct {
	operations []porcupine.Operation
	faults     []string // answers that are right at no time
}

func (h *history) lost() (n int) {
	for _, o := range h.operations {
		if o.Output.(output).lost {
			n++
		}
	}
	return n
}

// load is the clients at work on a few projects: when one is deleted, another takes its place.
type load struct {
	client *http.Client
	key    string
	name   string
	begun  time.Time
	group  sync.WaitGroup

	mu      sync.Mutex // guards what follows
	moved   *sync.Cond // when answered grows
	stopped bool
	targets []string
	current [slots]int     // which project is in the slot
	known   map[string]one // what any client knows of a project
	history history
	answers int
	names   int
}

// one is what is known of a project.
type one struct {
	id       string
	revision int
}

// startLoad lets the clients go; through, if it is not nil, stands between them and the server.
func startLoad(c *cluster, through http.RoundTripper) *load {
	if through == nil {
		through = direct
	}
	l := &load{client: &http.Client{Transport: through, Timeout: 5 * time.Minute}, key: c.key, begun: time.Now(), known: map[string]one{},
		name: fmt.Sprintf("p%d", rand.Uint32())}
	l.moved = sync.NewCond(&l.mu)
	l.setTargets(c.nodes)
	for i := range clients {
		l.group.Go(func() {
			for l.goesOn() {
				l.one(i)
			}
		})
	}
	for range spoilers {
		l.group.Go(func() {
			for l.goesOn() {
				l.spoil()
			}
		})
	}
	return l
}

// spoil sends a batch whose second operation is refused. On SQLite it is in one transaction with the
// requests of others, who must not notice.
func (l *load) spoil() {
	l.mu.Lock()
	target := l.targets[rand.IntN(len(l.targets))]
	l.mu.Unlock()
	req, err := http.NewRequest(http.MethodPost, target+"/api/v1/batch", strings.NewReader(`{"operations":[
		{"action":"create","resource_type":"project","body":{"name":"spoiled"}},
		{"action":"delete","resource_type":"project","resource_id":"00000000-0000-4000-8000-000000000000"}]}`))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Authorization", "Bearer "+l.key)
	req.Header.Set("Content-Type", "application/json")
	res, err := l.client.Do(req)
	if err != nil {
		time.Sleep(2 * time.Millisecond) // the server is away: the pace of trying again
		return
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusNotFound && res.StatusCode != http.StatusServiceUnavailable {
		l.fault("a batch that deletes what is not there was answered %d", res.StatusCode)
	}
}

// direct keeps no connection: over one that breaks, Go would send a request again by itself.
var direct = &http.Transport{DisableKeepAlives: true}

func (l *load) setTargets(nodes []*proctest.Server) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.targets = nil
	for _, n := range nodes {
		l.targets = append(l.targets, n.URL)
	}
}

func (l *load) goesOn() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.stopped
}

// await blocks until `more` more answers have come.
func (l *load) await(more int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for upTo := l.answers + more; l.answers < upTo; {
		l.moved.Wait()
	}
}

func (l *load) stop() *history {
	l.mu.Lock()
	l.stopped = true
	l.mu.Unlock()
	l.group.Wait()
	return &l.history
}

// one makes one request, and writes down when, what and the answer.
func (l *load) one(client int) {
	in, about, target := l.choose()
	call := time.Since(l.begun).Nanoseconds()
	out, sent := l.ask(target, in, about)
	if !sent {
		time.Sleep(2 * time.Millisecond) // the server is away: the pace of trying again
		return
	}
	end := time.Since(l.begun).Nanoseconds()
	if out.lost {
		end = never
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.learn(in, out)
	if out.lost && (in.kind == read || in.kind == search) {
		return
	}
	l.history.operations = append(l.history.operations, porcupine.Operation{ClientId: client, Input: in, Call: call, Output: out, Return: end})
	if !out.lost {
		l.answers++
		l.moved.Broadcast()
	}
}

// choose draws what to ask, and whom.
func (l *load) choose() (in input, about one, target string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	in.project = fmt.Sprintf("%s-%d-", l.name, l.current[rand.IntN(slots)])
	about = l.known[in.project]
	target = l.targets[rand.IntN(len(l.targets))]
	draw := rand.IntN(20)
	switch {
	case about.id == "" && draw < 16 || draw == 0:
		in.kind = create
	case about.id == "" || draw < 4:
		in.kind = search
	case draw < 10:
		in.kind = read
	case draw < 19:
		l.names++
		in.kind, in.match, in.name = patch, about.revision, fmt.Sprintf("%s %d", in.project, l.names)
	default:
		in.kind = remove
	}
	return in, about, target
}

// learn keeps what an answer tells, and puts another project in the place of one that is gone. l.mu is held.
func (l *load) learn(in input, out output) {
	if k := l.known[in.project]; out.revision > k.revision {
		k.revision = out.revision
		l.known[in.project] = k
	}
	if in.kind != remove || out.lost {
		return
	}
	for i, n := range l.current {
		if in.project == fmt.Sprintf("%s-%d-", l.name, n) {
			l.current[i] = n + slots
		}
	}
}

// ask makes the request. Sent is false when it never left.
func (l *load) ask(target string, in input, about one) (out output, sent bool) {
	req := l.request(target, in, about)
	res, err := l.client.Do(req)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return out, false
	}
	if err != nil {
		return output{lost: true}, true
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode == http.StatusServiceUnavailable {
		return output{lost: true}, true
	}
	return l.answer(in, res, b), true
}

func (l *load) request(target string, in input, about one) *http.Request {
	method, path, body := http.MethodGet, "/api/v1/projects/"+about.id, ""
	switch in.kind {
	case create:
		method, path, body = http.MethodPost, "/api/v1/projects", `{"name":"`+firstName(in.project)+`"}`
	case search:
		path = "/api/v1/projects?q=" + url.QueryEscape(in.project)
	case patch:
		method, body = http.MethodPatch, `{"name":"`+in.name+`"}`
	case remove:
		method = http.MethodDelete
	}
	req, err := http.NewRequest(method, target+path, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Authorization", "Bearer "+l.key)
	switch in.kind {
	case create:
		req.Header.Set("Idempotency-Key", in.project)
	case patch:
		req.Header.Set("If-Match", fmt.Sprintf(`"%d-x"`, in.match))
	}
	return req
}

// answer reads what the model judges.
func (l *load) answer(in input, res *http.Response, b []byte) output {
	var body struct {
		ID, Name string
		Data     []struct{ Name string }
	}
	out := output{status: res.StatusCode, replayed: res.Header.Get("Idempotent-Replayed") == "true"}
	if res.StatusCode/100 == 2 && len(b) > 0 && json.Unmarshal(b, &body) != nil || !possible[in.kind][res.StatusCode] || len(body.Data) > 1 {
		l.fault("%v was answered %d %s", in, res.StatusCode, b)
		return output{lost: true}
	}
	if res.StatusCode/100 == 2 {
		out.name = body.Name
	}
	if in.kind == search {
		if len(body.Data) == 1 {
			out.name = body.Data[0].Name
		}
		return out
	}
	revision, _, _ := strings.Cut(strings.Trim(res.Header.Get("ETag"), `"`), "-")
	out.revision, _ = strconv.Atoi(revision) // 0 when there is none
	if in.kind == create {
		out.id = body.ID
		l.know(in.project, body.ID)
	}
	return out
}

// possible are the answers that a request may get.
var possible = map[kind]map[int]bool{create: {201: true}, read: {200: true, 404: true}, search: {200: true},
	patch: {200: true, 404: true, 412: true}, remove: {204: true, 404: true}}

func (l *load) fault(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.history.faults = append(l.history.faults, fmt.Sprintf(format, args...))
}

func (l *load) know(project, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.known[project]
	k.id = id
	l.known[project] = k
}
