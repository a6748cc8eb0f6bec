package httpapi

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"sheaf.dev/internal/sheaf"
)

const (
	// heartbeat is how often a silent stream shows that it lives.
	heartbeat = 15 * time.Second
	// recheck is how often a stream asks whether its key still opens it. The first to ask asks for the
	// keys of all open streams, and the answer serves for checkServes.
	recheck     = time.Second
	checkServes = 500 * time.Millisecond
	// lookAgain is how often a stream looks at the log though nobody woke it.
	lookAgain = 5 * time.Second
	// streamWrite is how long a reader may take for one write.
	streamWrite = 30 * time.Second
	// streamEnd is how long a write under way may take once the stream is to end, so that a reader
	// who does not read cannot keep it open.
	streamEnd = 500 * time.Millisecond
	// maxBehind is how far a reader may fall behind once it had caught up.
	maxBehind = 1000
)

// readers wakes those who follow a log, workspace by workspace: a write would otherwise cost a look
// for every reader of the service.
type readers struct {
	mu sync.Mutex                    // guards all but beat and take
	in map[sheaf.WorkspaceID]*logEnd // the workspaces that somebody follows
	// keys are those of open streams, with how many each has. usable has those of them that can be used,
	// for as long as the last answer serves; then it is nil.
	keys   map[sheaf.KeyHash]int
	usable map[sheaf.KeyHash]sheaf.Credential
	asking bool          // somebody asks the store for usable
	beat   time.Duration // heartbeat; tests have another
	take   time.Duration // streamWrite; likewise
}

// logEnd is where the readers of one workspace wait.
type logEnd struct {
	grown   chan struct{} // closed and replaced when the log has grown
	readers int
}

func newReaders() *readers {
	return &readers{in: map[sheaf.WorkspaceID]*logEnd{}, keys: map[sheaf.KeyHash]int{}, beat: heartbeat, take: streamWrite}
}

// join counts a reader, until leave is called.
func (r *readers) join(ws sheaf.WorkspaceID) (leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	end := r.in[ws]
	if end == nil {
		end = &logEnd{grown: make(chan struct{})}
		r.in[ws] = end
	}
	end.readers++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if end.readers--; end.readers == 0 {
			delete(r.in, ws)
		}
	}
}

// holdKey counts a stream of a key, until leave is called.
func (r *readers) holdKey(hash sheaf.KeyHash) (leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys[hash]++
	r.usable = nil // it has no answer for this key
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.keys[hash]--; r.keys[hash] == 0 {
			delete(r.keys, hash)
		}
	}
}

// credential returns what the key of an open stream stands for. One query asks for the keys of all
// streams. known is false while another stream asks it: then nothing is known yet. A key that cannot be
// used is Unauthorized.
func (r *readers) credential(ctx context.Context, ask askKeys, hash sheaf.KeyHash) (c sheaf.Credential, known bool, err error) {
	r.mu.Lock()
	usable := r.usable
	asks := usable == nil && !r.asking
	hashes := slices.Collect(maps.Keys(r.keys))
	if asks {
		r.asking = true
	}
	r.mu.Unlock()
	if usable == nil && !asks {
		return c, false, nil
	}
	if asks {
		usable, err = ask(ctx, hashes)
		r.mu.Lock()
		if r.asking = false; err == nil && r.holdsOnly(hashes) {
			r.usable = usable
			time.AfterFunc(checkServes, func() {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.usable = nil
			})
		}
		r.mu.Unlock()
		if err != nil {
			return c, true, err
		}
	}
	c, found := usable[hash]
	if !found {
		err = &sheaf.Error{Kind: sheaf.Unauthorized, Code: sheaf.CodeUnauthorized, Text: "the API key can no longer be used"}
	}
	return c, true, err
}

// holdsOnly reports whether every stream has one of these keys: none was opened meanwhile. r is locked.
func (r *readers) holdsOnly(hashes []sheaf.KeyHash) bool {
	held := 0
	for _, hash := range hashes {
		if r.keys[hash] > 0 {
			held++
		}
	}
	return held == len(r.keys)
}

// askKeys is app.AuthenticateAll.
type askKeys func(ctx context.Context, hashes []sheaf.KeyHash) (map[sheaf.KeyHash]sheaf.Credential, error)

// grows returns what is closed when the log has grown. The caller has joined.
func (r *readers) grows(ws sheaf.WorkspaceID) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.in[ws].grown
}

// wake lets the readers of these workspaces look at their logs. The others sleep on.
func (r *readers) wake(in sheaf.WorkspaceSet) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if in.All {
		for _, end := range r.in {
			end.wake()
		}
		return
	}
	for ws := range in.IDs {
		if end := r.in[ws]; end != nil {
			end.wake()
		}
	}
}

func (e *logEnd) wake() {
	close(e.grown)
	e.grown = make(chan struct{})
}

// Wake tells the streams of these workspaces that their log has grown.
func (s *Server) Wake(in sheaf.WorkspaceSet) { s.readers.wake(in) }

// streamEvents follows the log as server-sent events. It answers by itself.
func (s *Server) streamEvents(x *exchange) (answer, error) {
	f, err := x.eventFilter()
	if err != nil {
		return answer{}, err
	}
	// A browser that connects again repeats the address it was opened with, and after in it: how
	// far it came stands in the header.
	if last := x.Request.Header.Get("Last-Event-ID"); last != "" {
		var ok bool
		if f.After, ok = sheaf.ParseEventID(last); !ok {
			return answer{}, sheaf.Invalidf("Last-Event-ID must be an event's id, such as evt_0190b0a0-0000-7000-8000-000000000000")
		}
	}
	leave, err := x.EnterStream(string(x.caller.Key.ID))
	if err != nil {
		return answer{}, err
	}
	defer leave()
	start, err := s.App.FollowEvents(x.Request.Context(), x.caller, f)
	if err != nil {
		return answer{}, err
	}
	if x.Request.Method == http.MethodHead {
		x.Header().Set("Content-Type", "text/event-stream")
		return answer{status: http.StatusOK}, nil
	}
	st := &stream{x: x, filter: f, at: start, resumes: f.After != "" || f.Since != nil,
		control: http.NewResponseController(x)}
	defer s.readers.join(x.caller.Workspace)()
	st.key, _ = sheaf.HashKey(x.secret)
	defer s.readers.holdKey(st.key)()
	st.run(x.Request.Context())
	return answer{}, errStreamed
}

// stream is one reader. It pulls from the log, so that it holds one page at most, however slow the
// reader is.
type stream struct {
	x       *exchange
	key     sheaf.KeyHash
	filter  sheaf.EventFilter
	at      int64 // the number of the last event that was passed
	caught  bool  // it was at the end of the log once
	resumes bool  // the reader has what it needs to go on from where it was
	control *http.ResponseController
}

// run sends events until the reader leaves, the server stops, or the key no longer opens the log.
func (st *stream) run(ctx context.Context) {
	// The server's own deadlines are for requests that end.
	_ = st.control.SetReadDeadline(time.Time{})
	h := st.x.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	st.x.WriteHeader(http.StatusOK)
	ctx, end := context.WithCancel(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer end()
	watch.Go(func() { st.watch(ctx, end) })
	st.follow(ctx)
}

// watch ends the stream when the server stops or the key no longer opens it, also while a write
// waits for the reader.
func (st *stream) watch(ctx context.Context, end context.CancelFunc) {
	check := time.NewTicker(recheck)
	defer check.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-st.x.Stopping():
		case <-check.C:
			if st.allowed(ctx) {
				continue
			}
		}
		end()
		_ = st.control.SetWriteDeadline(st.x.server.Now().Add(streamEnd))
		return
	}
}

// follow writes the log as it grows, until ctx ends or the reader is gone.
func (st *stream) follow(ctx context.Context) {
	beat, look := time.NewTicker(st.x.server.readers.beat), time.NewTicker(lookAgain)
	defer beat.Stop()
	defer look.Stop()
	if st.send(ctx, []byte(": following\n\n")) != nil {
		return
	}
	for {
		grown := st.x.server.readers.grows(st.x.caller.Workspace)
		if !st.forward(ctx) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-grown:
		case <-look.C:
		case <-beat.C:
			if st.send(ctx, []byte(": still here\n\n")) != nil {
				return
			}
		}
	}
}

// allowed reports whether the key still opens the stream.
func (st *stream) allowed(ctx context.Context) bool {
	c, known, err := st.x.server.readers.credential(ctx, st.x.server.App.AuthenticateAll, st.key)
	if err != nil {
		return sheaf.KindOf(err) == sheaf.Unavailable
	}
	return !known || c.Plan.Paid() && c.Key.Scopes.Has(sheaf.EventsRead)
}

// forward writes what the log has behind the position; false ends the stream.
func (st *stream) forward(ctx context.Context) bool {
	for {
		tail, err := st.x.server.App.EventsAfter(ctx, st.x.caller, st.filter, st.at)
		if err != nil {
			return sheaf.KindOf(err) == sheaf.Unavailable && ctx.Err() == nil
		}
		if st.caught && st.resumes && tail.Last-st.at > maxBehind {
			return false // it resumes from its last event
		}
		var b []byte
		for _, e := range tail.Events {
			b = appendEvent(b, e)
		}
		if len(b) > 0 {
			if st.send(ctx, b) != nil {
				return false
			}
			st.resumes = true
		}
		st.at = tail.At
		if !tail.More {
			st.caught = true
			return true
		}
	}
}

// appendEvent writes an event as a stream of server-sent events has it.
func appendEvent(b []byte, e sheaf.Event) []byte {
	b = append(b, "id: "...)
	b = append(b, e.ID...)
	b = append(b, "\nevent: "...)
	b = append(b, e.Type...)
	// A payload that was sent over several lines stays so: a reader joins them.
	for rest, more := e.Body, true; more; {
		var line []byte
		line, rest, more = cutLine(rest)
		b = append(b, "\ndata: "...)
		b = append(b, line...)
	}
	return append(b, "\n\n"...)
}

// cutLine returns what stands before and behind the first end of a line, which a reader of the
// stream sees in a lone carriage return too.
func cutLine(b []byte) (line, rest []byte, more bool) {
	i := bytes.IndexAny(b, "\r\n")
	if i < 0 {
		return b, nil, false
	}
	rest = bytes.TrimPrefix(b[i:], []byte("\r\n"))
	if len(rest) == len(b[i:]) {
		rest = rest[1:]
	}
	return b[:i], rest, true
}

// send writes to the reader, who has streamWrite for it.
func (st *stream) send(ctx context.Context, b []byte) error {
	_ = st.control.SetWriteDeadline(st.x.server.Now().Add(st.x.server.readers.take))
	// Whoever ends the stream has cancelled before it shortened the deadline.
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := st.x.Write(b); err != nil {
		return err
	}
	return st.control.Flush()
}
