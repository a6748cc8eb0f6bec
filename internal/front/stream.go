package front

import (
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	// MaxStreams bounds the open streams. Each of them holds a connection.
	// StreamsPerWorkspace and StreamsPerKey bound those of one workspace and one key.
	MaxStreams          = 2000
	StreamsPerWorkspace = 50
	StreamsPerKey       = 5

	// streamRetry is the Retry-After of a stream that was refused because of MaxStreams.
	streamRetry = 10 * time.Second
)

// streams counts the open streams of all edges.
type streams struct {
	mu   sync.Mutex     // guards open and all
	open map[string]int // by "key …" and by "workspace …"; keys and workspaces without streams are left out
	all  int
}

// OpenStream counts the request as an open stream of its workspace, and of the key unless key is empty. The
// caller must call closed when the stream ends. Meanwhile the request holds no place among the requests in
// work. OpenStream returns a *Refusal if there are too many streams.
func (x *Exchange) OpenStream(key string) (closed func(), err error) {
	s, byKey, byWorkspace := &x.front.streams, "key "+key, "workspace "+x.workspace
	s.mu.Lock()
	defer s.mu.Unlock()
	if key != "" && s.open[byKey] >= StreamsPerKey || s.open[byWorkspace] >= StreamsPerWorkspace {
		return nil, &Refusal{Status: http.StatusTooManyRequests, RetryAfter: time.Second,
			Text: fmt.Sprintf("too many open streams: %d for each key and %d for each workspace; close one, or retry after 1 seconds", StreamsPerKey, StreamsPerWorkspace)}
	}
	if s.all >= MaxStreams {
		return nil, &Refusal{Status: http.StatusServiceUnavailable, RetryAfter: streamRetry,
			Text: "the service has reached its maximum of open streams: try again later, or read GET /api/v1/events"}
	}
	s.count(byKey, byWorkspace, 1)
	x.pause()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.count(byKey, byWorkspace, -1)
	}, nil
}

// count adds n to the open streams of the key and the workspace. The caller holds the lock.
func (s *streams) count(byKey, byWorkspace string, n int) {
	s.all += n
	for _, name := range []string{byKey, byWorkspace} {
		if s.open[name] += n; s.open[name] == 0 {
			delete(s.open, name)
		}
	}
}

// size returns how many streams are open.
func (s *streams) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}
