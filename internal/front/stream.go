package front

import (
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	// MaxStreams bounds the open streams, each of which holds a connection.
	// StreamsPerWorkspace and StreamsPerKey bound those of one workspace and one key.
	MaxStreams          = 2000
	StreamsPerWorkspace = 50
	StreamsPerKey       = 5

	// streamRetry is the Retry-After of a stream that was refused because of MaxStreams.
	streamRetry = 10 * time.Second
)

// streams counts the open streams of all edges.
type streams struct {
	mu   sync.Mutex     // guards both below
	open map[string]int // by "key …" and by "workspace …"; those without are not in it
	all  int
}

// EnterStream counts the request as an open stream of its workspace, and of the key unless key is empty,
// until leave is called. The request then holds no place among the requests in work. EnterStream returns a
// *Refusal if there are too many streams.
func (x *Exchange) EnterStream(key string) (leave func(), err error) {
	leave, err = x.front.streams.enter(key, x.workspace)
	if err == nil {
		x.pause()
	}
	return leave, err
}

// enter counts a stream in, or returns a Refusal; leave counts it out.
func (s *streams) enter(key, workspace string) (leave func(), err error) {
	byKey, byWorkspace := "key "+key, "workspace "+workspace
	s.mu.Lock()
	defer s.mu.Unlock()
	if key != "" && s.open[byKey] >= StreamsPerKey || s.open[byWorkspace] >= StreamsPerWorkspace {
		return nil, &Refusal{Status: http.StatusTooManyRequests, RetryAfter: time.Second,
			Text: fmt.Sprintf("too many open streams: %d for each key and %d for each workspace; close one, or retry after 1 seconds", StreamsPerKey, StreamsPerWorkspace)}
	}
	if s.all >= MaxStreams {
		return nil, &Refusal{Status: http.StatusServiceUnavailable, RetryAfter: streamRetry,
			Text: "the service has as many open streams as it can serve: try again later, or read GET /api/v1/events"}
	}
	s.count(byKey, byWorkspace, 1)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.count(byKey, byWorkspace, -1)
	}, nil
}

// count is called with the lock held.
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
