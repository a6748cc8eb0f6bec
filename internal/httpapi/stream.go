package httpapi

import (
	"bytes"
	"context"
	"errors"
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
	// recheck is how often WatchKeys asks which keys of open streams can still be used.
	recheck = 1500 * time.Millisecond
	// lookAgain is when a stream that could not read the log tries again.
	lookAgain = 5 * time.Second
	// streamWrite is how long a reader may take for one write.
	streamWrite = 30 * time.Second
	// streamEnd is how long a write under way may take once the stream is to end, so that a reader
	// who does not read cannot keep it open.
	streamEnd = 500 * time.Millisecond
	// maxBehind is how far a reader may fall behind once it had caught up.
	maxBehind = 1000
)

// readers are the open streams. A stream reads the log when a note, or App.WatchLogs, wakes its
// workspace, and does nothing otherwise. WatchKeys asks for the keys of all of them at once. So idle
// streams cost nothing but their heartbeats.
type readers struct {
	mu   sync.Mutex                    // guards in and open
	in   map[sheaf.WorkspaceID]*logEnd // the workspaces that have an open stream
	open map[*stream]struct{}
	beat time.Duration // heartbeat; tests have another
	take time.Duration // streamWrite; likewise
}

// logEnd is where the streams of one workspace wait.
type logEnd struct {
	grown   chan struct{} // closed and replaced when the log has grown
	streams int
}

func newReaders() *readers {
	return &readers{in: map[sheaf.WorkspaceID]*logEnd{}, open: map[*stream]struct{}{}, beat: heartbeat, take: streamWrite}
}

// join adds a stream of the workspace, until leave is called.
func (r *readers) join(ws sheaf.WorkspaceID, st *stream) (leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	end := r.in[ws]
	if end == nil {
		end = &logEnd{grown: make(chan struct{})}
		r.in[ws] = end
	}
	end.streams++
	r.open[st] = struct{}{}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.open, st)
		if end.streams--; end.streams == 0 {
			delete(r.in, ws)
		}
	}
}

// followed returns the workspaces that have an open stream.
func (r *readers) followed() []sheaf.WorkspaceID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.in))
}

// checkKeys ends the streams whose key no longer opens them. ask is App.StreamKeys, which is asked once
// for the keys of all streams.
func (r *readers) checkKeys(ctx context.Context, ask func(context.Context, []sheaf.KeyHash) (map[sheaf.KeyHash]bool, error)) {
	r.mu.Lock()
	open := slices.Collect(maps.Keys(r.open))
	r.mu.Unlock()
	keys := map[sheaf.KeyHash]struct{}{}
	for _, st := range open {
		keys[st.key] = struct{}{}
	}
	if len(keys) == 0 {
		return
	}
	usable, err := ask(ctx, slices.Collect(maps.Keys(keys)))
	if ctx.Err() != nil || sheaf.KindOf(err) == sheaf.Unavailable {
		return
	}
	for _, st := range open {
		if err != nil || !usable[st.key] {
			st.end()
		}
	}
}

// grows returns a channel that is closed when the log has grown. The caller has joined.
func (r *readers) grows(ws sheaf.WorkspaceID) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.in[ws].grown
}

// wake makes the streams of these workspaces read their logs. The others sleep on.
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

// Wake makes the streams of these workspaces read their logs, because they have grown.
func (s *Server) Wake(in sheaf.WorkspaceSet) { s.readers.wake(in) }

// Followed returns the workspaces that have an open stream.
func (s *Server) Followed() []sheaf.WorkspaceID { return s.readers.followed() }

// WatchKeys ends streams whose key was revoked or has expired, or whose workspace has the free plan, until
// ctx ends.
func (s *Server) WatchKeys(ctx context.Context) error {
	check := time.NewTicker(recheck)
	defer check.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-check.C:
			s.readers.checkKeys(ctx, s.App.StreamKeys)
		}
	}
}

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
	st.key, _ = sheaf.HashKey(x.secret)
	ctx, end := context.WithCancel(x.Request.Context())
	st.end = end
	defer s.readers.join(x.caller.Workspace, st)()
	st.run(ctx)
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
	end     context.CancelFunc
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
	var watch sync.WaitGroup
	defer watch.Wait()
	defer st.end()
	watch.Go(func() { st.watch(ctx) })
	st.follow(ctx)
}

// watch ends the stream when the server stops. However the stream ends, a write that waits for the
// reader then has streamEnd.
func (st *stream) watch(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-st.x.Stopping():
		st.end()
	}
	_ = st.control.SetWriteDeadline(st.x.server.Now().Add(streamEnd))
}

// follow writes the log as it grows, until ctx ends or the reader is gone.
func (st *stream) follow(ctx context.Context) {
	beat := time.NewTicker(st.x.server.readers.beat)
	defer beat.Stop()
	if st.send(ctx, []byte(": following\n\n")) != nil {
		return
	}
	for {
		grown := st.x.server.readers.grows(st.x.caller.Workspace)
		err := st.forward(ctx)
		if err != nil && sheaf.KindOf(err) != sheaf.Unavailable {
			return
		}
		if !st.sleep(ctx, grown, beat.C, err != nil) {
			return
		}
	}
}

// sleep returns when the log may have grown, or after lookAgain if it could not be read. Meanwhile it
// sends heartbeats. It returns false if the stream is to end.
func (st *stream) sleep(ctx context.Context, grown <-chan struct{}, beat <-chan time.Time, failed bool) bool {
	var again <-chan time.Time
	if failed {
		again = time.After(lookAgain)
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-grown:
			return true
		case <-again:
			return true
		case <-beat:
			if st.send(ctx, []byte(": still here\n\n")) != nil {
				return false
			}
		}
	}
}

// errBehind ends a stream whose reader is too far behind: it resumes from its last event.
var errBehind = errors.New("the reader is too far behind")

// forward writes the events after the position. If it returns an error other than Unavailable, the stream
// ends.
func (st *stream) forward(ctx context.Context) error {
	for {
		tail, err := st.x.server.App.EventsAfter(ctx, st.x.caller, st.filter, st.at)
		if err != nil {
			return err
		}
		if st.caught && st.resumes && tail.Last-st.at > maxBehind {
			return errBehind
		}
		var b []byte
		for _, e := range tail.Events {
			b = appendEvent(b, e)
		}
		if len(b) > 0 {
			if err := st.send(ctx, b); err != nil {
				return err
			}
			st.resumes = true
		}
		st.at = tail.At
		if !tail.More {
			st.caught = true
			return nil
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
	// The stream is cancelled before its deadline is shortened.
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := st.x.Write(b); err != nil {
		return err
	}
	return st.control.Flush()
}
