package httpapi

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"sheaf.dev/internal/sheaf"
)

// What requests may hold of the process at once; docs/decisions/0010 says why so much.
const (
	// maxWorking bounds the requests in work, those that wait for the store
	// included; workspaceWorking is what one workspace may have of them.
	maxWorking       = 2048
	workspaceWorking = maxWorking / 2
	// maxBodies and maxAnswers bound the bytes of bodies that are read or worked
	// on, and of answers that are not taken yet. A workspace may hold a quarter.
	// In a process with less memory they are parts of that.
	maxBodies   = 256 << 20
	maxAnswers  = 128 << 20
	bodiesPart  = 4
	answersPart = 8
	// freeBody and freeAnswer are not worth counting: buffers of the connection
	// and of its socket hold as much.
	freeBody   = 4 << 10
	freeAnswer = 64 << 10
	// discardWithin is how long a body that nobody reads may take.
	discardWithin = 10 * time.Second
	// quickWrite is what goes into a buffer, and so waits for nobody.
	quickWrite = 2 << 10
)

// gate refuses what the process has no room for, at once: whoever would wait
// longer than a client does is better told to come again. Time that a request
// spends on the network, sending its body or taking its answer, is not work.
type gate struct {
	working atomic.Int64
	shares  shares
	refused atomic.Uint64
	bodies  budget
	answers budget
}

// newGate is the gate of a process that may use so many bytes of memory; 0 is
// plenty.
func newGate(memory int64) *gate {
	bodies, answers := int64(maxBodies), int64(maxAnswers)
	if memory > 0 {
		bodies, answers = min(bodies, max(memory/bodiesPart, 4*maxBody)), min(answers, max(memory/answersPart, 2*maxBody))
	}
	return &gate{shares: shares{by: map[sheaf.WorkspaceID]int64{}}, bodies: newBudget(bodies), answers: newBudget(answers)}
}

// Load is what requests hold, and what became of them, for the metrics.
type Load struct {
	Working int64  // requests in work
	Refused uint64 // since the start
	Bodies  int64  // bytes held
	Answers int64
	Streams int
	// Limited are the requests that the rate limit refused, since the start.
	Limited uint64
	// PageHits and PageMisses are the answers that came from the cache of pages
	// and those that could have, since the start; PageBytes is what it holds.
	PageHits, PageMisses uint64
	PageBytes            int
}

// Load returns the state of the gate, the rate limit and the cache.
func (s *Server) Load() Load {
	return Load{Working: s.gate.working.Load(), Refused: s.gate.refused.Load(), Bodies: s.gate.bodies.size(),
		Answers: s.gate.answers.size(), Streams: s.streams.size(), Limited: s.limited.Load(),
		PageHits: s.cache.hits.Load(), PageMisses: s.cache.misses.Load(), PageBytes: s.cache.bytes()}
}

// passage is a request's part of the gate.
type passage struct {
	working bool  // it is counted
	shared  bool  // in its workspace's share too, once that is known
	body    int64 // bytes that it holds
	answer  int64
}

// enter counts the request in, or refuses it. Probes pass: they must be told
// the truth when it matters.
func (x *exchange) enter() error {
	if path := x.request.URL.Path; path == "/healthz" || path == "/readyz" {
		return nil
	}
	g := x.server.gate
	x.passage.working = true
	if g.working.Add(1) > maxWorking {
		return g.refuse()
	}
	return nil
}

// enterWorkspace counts the request in its workspace, or refuses it.
func (x *exchange) enterWorkspace() error {
	g := x.server.gate
	x.passage.shared = true
	if g.shares.add(x.caller.Workspace, 1) > workspaceWorking {
		return g.refuse()
	}
	return nil
}

// EnterWorkspace is enterWorkspace for the console, which finds out by itself
// which workspace a request is for.
func (x *exchange) EnterWorkspace(ws sheaf.WorkspaceID) error {
	x.caller.Workspace = ws
	return x.enterWorkspace()
}

// leave gives back all that the request has.
func (x *exchange) leave() {
	x.pause()
	g := x.server.gate
	g.bodies.give(x.caller.Workspace, x.passage.body)
	g.answers.give(x.caller.Workspace, x.passage.answer)
	x.passage = passage{}
}

// pause counts the request out while it waits for its client, and resume in
// again: it has begun, so nothing refuses it then.
func (x *exchange) pause() {
	if x.passage.working {
		x.count(-1)
	}
	x.passage.working = false
}

func (x *exchange) resume() {
	x.passage.working = true
	x.count(1)
}

func (x *exchange) count(n int64) {
	if x.passage.shared {
		x.server.gate.shares.add(x.caller.Workspace, n)
	}
	x.server.gate.working.Add(n)
}

// shares count the requests in work of each workspace. Only those who have some
// are in the map, so that it has no more entries than there are requests in work.
type shares struct {
	mu sync.Mutex // guards by
	by map[sheaf.WorkspaceID]int64
}

// add counts n more, or fewer, and returns how many there are.
func (s *shares) add(ws sheaf.WorkspaceID, n int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n += s.by[ws]
	if n == 0 {
		delete(s.by, ws)
	} else {
		s.by[ws] = n
	}
	return n
}

// Outside does what waits for somebody else, such as an endpoint: that is not
// work. Whoever calls it bounds by other means how many do so at once.
func (x *exchange) Outside(wait func()) {
	if x.passage.working {
		x.pause()
		defer x.resume()
	}
	wait()
}

// refuse is the answer to what there is no room for. Those who are refused
// together are asked to come again one after the other.
func (g *gate) refuse() error {
	n := g.refused.Add(1)
	return &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: time.Duration(1+n%3) * time.Second,
		Text: "the service has more requests than it can serve at the moment, nothing was done: repeat the request after the seconds that Retry-After names"}
}

// readAll reads the body. What is beyond freeBody counts against the budget
// until the request is over.
func (x *exchange) readAll() ([]byte, error) {
	x.pause()
	defer x.resume()
	size := x.request.ContentLength
	if size < 0 {
		x.request.Body = http.MaxBytesReader(x.ResponseWriter, x.request.Body, maxBody)
		return x.readGrowing(x.request.Body)
	}
	if size > freeBody {
		if err := x.holdBody(size); err != nil {
			return nil, err
		}
	}
	b := make([]byte, size)
	_, err := io.ReadFull(x.request.Body, b)
	return b, err
}

// readGrowing reads a body whose size was not said.
func (x *exchange) readGrowing(r io.Reader) ([]byte, error) {
	b := make([]byte, 0, freeBody)
	for {
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return nil, err
		}
		if len(b) == cap(b) {
			if err := x.holdBody(int64(cap(b))); err != nil {
				return nil, err
			}
			b = append(make([]byte, 0, 2*cap(b)), b...)
		}
	}
}

// unread reports whether the client sends a body that nobody took. Who asks
// first does not send it.
func (x *exchange) unread() bool {
	body := x.request.Body
	return x.body == nil && body != nil && body != http.NoBody && x.request.Header.Get("Expect") == ""
}

// discard takes a body that nobody took, up to the bound, once the answer is on
// its way: many clients of HTTP/1.1 listen only when they have sent everything,
// and a connection that is closed on them hides the answer.
//
// HTTP/2 has a word for it: when the handler returns, net/http ends the answer
// and then tells the client to send no more of this request, and the connection
// stays. Waiting would only keep the end of the answer from a client that has
// stopped sending because it saw the status.
func (x *exchange) discard() {
	if !x.unread() || x.request.ProtoMajor > 1 {
		return
	}
	if x.passage.working {
		x.pause()
		defer x.resume()
	}
	c := http.NewResponseController(x.ResponseWriter)
	_ = c.Flush()
	_ = c.SetReadDeadline(x.started.Add(discardWithin))
	_, _ = io.Copy(io.Discard, io.LimitReader(x.request.Body, maxBody))
	x.request.Body = http.NoBody
}

func (x *exchange) holdBody(n int64) error {
	if !x.server.gate.bodies.take(x.caller.Workspace, n) {
		return x.server.gate.refuse()
	}
	x.passage.body += n
	return nil
}

// holdAnswer counts what a client has not taken yet. Only a read can still be
// refused: what was written must be told.
func (x *exchange) holdAnswer(n int) error {
	if !x.isRead() {
		return nil
	}
	return x.HoldAnswer(n)
}

// HoldAnswer is holdAnswer for the console, which knows by itself what can still
// be refused.
func (x *exchange) HoldAnswer(n int) error {
	if n <= freeAnswer || x.passage.answer > 0 {
		return nil
	}
	if !x.server.gate.answers.take(x.caller.Workspace, int64(n)) {
		return x.server.gate.refuse()
	}
	x.passage.answer = int64(n)
	return nil
}

// unhurried is a body that others read: waiting for it is not work.
type unhurried struct {
	io.ReadCloser
	x *exchange
}

func (u unhurried) Read(b []byte) (int, error) {
	if u.x.passage.working {
		u.x.pause()
		defer u.x.resume()
	}
	return u.ReadCloser.Read(b)
}

// budget bounds how many bytes are held at once, and how many by a workspace.
type budget struct {
	most, share int64

	mu   sync.Mutex // guards what follows
	held int64
	by   map[sheaf.WorkspaceID]int64
}

func newBudget(most int64) budget {
	return budget{most: most, share: most / 4, by: map[sheaf.WorkspaceID]int64{}}
}

// take reports whether there was room for n more. A workspace that holds
// nothing may take more than its share.
func (b *budget) take(ws sheaf.WorkspaceID, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.by[ws]
	if b.held+n > b.most || own > 0 && own+n > b.share {
		return false
	}
	b.held += n
	b.by[ws] = own + n
	return true
}

func (b *budget) give(ws sheaf.WorkspaceID, n int64) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= n
	if b.by[ws] -= n; b.by[ws] == 0 {
		delete(b.by, ws)
	}
}

func (b *budget) size() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}
