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
	// heartbeat is the interval of the comments that keep an idle stream open.
	heartbeat = 15 * time.Second
	// recheck is how often WatchKeys asks which keys of open streams can still be used.
	recheck = 1500 * time.Millisecond
	// retryRead is the pause before a stream that could not read the log tries again.
	retryRead = 5 * time.Second
	// streamWrite is the timeout of one write to a reader.
	streamWrite = 30 * time.Second
	// streamEnd is the timeout of a write in progress once the stream must end. So a reader that does not
	// read cannot keep it open.
	streamEnd = 500 * time.Millisecond
	// maxLag is the number of events that a reader may be behind the end of the log, once it had
	// caught up.
	maxLag = 1000
)

// readers has the open streams. A stream reads the log only when a note or App.WatchLogs wakes its
// workspace. WatchKeys checks the keys of all streams with one query. So an idle stream costs only its
// heartbeats.
type readers struct {
	mu           sync.Mutex                    // guards in and open
	in           map[sheaf.WorkspaceID]*logEnd // the workspaces that have an open stream
	open         map[*stream]struct{}
	beat         time.Duration // heartbeat; tests set another
	writeTimeout time.Duration // streamWrite; tests set another
}

// logEnd wakes the streams of one workspace.
type logEnd struct {
	grown   chan struct{} // closed and replaced when the log has grown
	streams int
}

func newReaders() *readers {
	return &readers{in: map[sheaf.WorkspaceID]*logEnd{}, open: map[*stream]struct{}{}, beat: heartbeat, writeTimeout: streamWrite}
}

// join adds a stream of the workspace. The caller must call remove when the stream ends.
func (r *readers) join(ws sheaf.WorkspaceID, st *stream) (remove func()) {
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

// checkKeys ends the streams whose key can no longer be used. ask is App.StreamKeys; checkKeys calls it once,
// with the keys of all streams.
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

// grows returns a channel that is closed when the log has grown. The caller must have joined.
func (r *readers) grows(ws sheaf.WorkspaceID) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.in[ws].grown
}

// wake makes the streams of these workspaces read their logs.
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

// Wake makes the streams of these workspaces read their logs. Call it when the logs have grown.
func (s *Server) Wake(in sheaf.WorkspaceSet) { s.readers.wake(in) }

// Followed returns the workspaces that have an open stream.
func (s *Server) Followed() []sheaf.WorkspaceID {
	s.readers.mu.Lock()
	defer s.readers.mu.Unlock()
	return slices.Collect(maps.Keys(s.readers.in))
}

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

// streamEvents answers GET /api/v1/events/stream: it sends the log as server-sent events as it grows.
func (s *Server) streamEvents(x *exchange) (answer, error) {
	f, err := x.eventFilter()
	if err != nil {
		return answer{}, err
	}
	// A browser that reconnects repeats its first address with the old `after`. Its position is in the
	// header, which therefore wins.
	if last := x.Request.Header.Get("Last-Event-ID"); last != "" {
		var ok bool
		if f.After, ok = sheaf.ParseEventID(last); !ok {
			return answer{}, sheaf.Invalidf("Last-Event-ID must be an event's id, such as evt_0190b0a0-0000-7000-8000-000000000000")
		}
	}
	closed, err := x.OpenStream(string(x.Caller.Key.ID))
	if err != nil {
		return answer{}, err
	}
	defer closed()
	start, err := s.App.FollowEvents(x.Request.Context(), x.Caller, f)
	if err != nil {
		return answer{}, err
	}
	if x.Request.Method == http.MethodHead {
		x.Header().Set("Content-Type", "text/event-stream")
		return answer{status: http.StatusOK}, nil
	}
	st := &stream{x: x, filter: f, at: start, resumes: f.After != "" || f.Since != nil,
		control: http.NewResponseController(x), key: x.KeyHash()}
	ctx, end := context.WithCancel(x.Request.Context())
	st.end = end
	defer s.readers.join(x.Caller.Workspace, st)()
	st.run(ctx)
	return answer{}, errStreamed
}

// stream sends the log to one reader. It reads one page at a time, so that a slow reader costs no more
// memory than that page.
type stream struct {
	x       *exchange
	key     sheaf.KeyHash
	filter  sheaf.EventFilter
	at      int64 // the number of the last event that was sent or filtered out
	caught  bool  // it has reached the end of the log at least once
	resumes bool  // the reader knows a position from which it can resume
	end     context.CancelFunc
	control *http.ResponseController
}

// run sends events until the reader leaves, the server stops, or the key no longer opens the log.
func (st *stream) run(ctx context.Context) {
	// The server's deadline is for requests that end.
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

// follow writes the log as it grows, until ctx ends or the reader disconnects.
func (st *stream) follow(ctx context.Context) {
	beat := time.NewTicker(st.x.server.readers.beat)
	defer beat.Stop()
	if st.send(ctx, []byte(": following\n\n")) != nil {
		return
	}
	for {
		grown := st.x.server.readers.grows(st.x.Caller.Workspace)
		err := st.forward(ctx)
		if err != nil && sheaf.KindOf(err) != sheaf.Unavailable {
			return
		}
		if !st.sleep(ctx, grown, beat.C, err != nil) {
			return
		}
	}
}

// sleep returns when the log may have grown, or after retryRead if it could not be read. Meanwhile it
// sends heartbeats. It returns false if the stream must end.
func (st *stream) sleep(ctx context.Context, grown <-chan struct{}, beat <-chan time.Time, failed bool) bool {
	var again <-chan time.Time
	if failed {
		again = time.After(retryRead)
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

// errLagging ends a stream whose reader exceeds maxLag. The reader connects again and resumes from its last event.
var errLagging = errors.New("the reader is too far behind")

// forward writes the events after st.at. If it returns an error other than Unavailable, the stream must end.
func (st *stream) forward(ctx context.Context) error {
	for {
		tail, err := st.x.server.App.EventsAfter(ctx, st.x.Caller, st.filter, st.at)
		if err != nil {
			return err
		}
		if st.caught && st.resumes && tail.Last-st.at > maxLag {
			return errLagging
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

// appendEvent appends an event in the format of server-sent events.
func appendEvent(b []byte, e sheaf.Event) []byte {
	b = append(b, "id: "...)
	b = append(b, e.ID...)
	b = append(b, "\nevent: "...)
	b = append(b, e.Type...)
	// A body of several lines becomes several data lines, which the reader joins again.
	for rest, more := e.Body, true; more; {
		var line []byte
		line, rest, more = cutLine(rest)
		b = append(b, "\ndata: "...)
		b = append(b, line...)
	}
	return append(b, "\n\n"...)
}

// cutLine splits b at its first line end, which is CR, LF or CRLF, as for readers of server-sent events.
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

// send writes to the reader, with a timeout of streamWrite.
func (st *stream) send(ctx context.Context, b []byte) error {
	_ = st.control.SetWriteDeadline(st.x.server.Now().Add(st.x.server.readers.writeTimeout))
	// Ending the stream cancels ctx first, and then shortens the deadline that was just set.
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := st.x.Write(b); err != nil {
		return err
	}
	return st.control.Flush()
}
