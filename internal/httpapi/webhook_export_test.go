package httpapi

import "time"

// The bounds of the event stream.
const (
	Heartbeat = heartbeat
	MaxLag    = maxLag
)

// BeatEvery makes streams that are opened from now on show life so often.
func (s *Server) BeatEvery(d time.Duration) { s.readers.beat = d }

// WaitForReaders sets how long a reader of a stream may take to receive what is sent.
func (s *Server) WaitForReaders(d time.Duration) { s.readers.writeTimeout = d }
