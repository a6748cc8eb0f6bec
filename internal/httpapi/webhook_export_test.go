package httpapi

import "time"

// The bounds of the event stream.
const (
	Heartbeat = heartbeat
	MaxLag    = maxLag
)

// BeatEvery makes streams that are opened from now on show life so often.
func (s *Server) BeatEvery(d time.Duration) { s.readers.beat = d }

// WaitForReaders gives the readers of streams so long to take what is sent.
func (s *Server) WaitForReaders(d time.Duration) { s.readers.writeTimeout = d }
