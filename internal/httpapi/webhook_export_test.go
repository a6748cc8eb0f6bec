package httpapi

import "time"

// The bounds of the event stream.
const (
	Heartbeat   = heartbeat
	StreamWrite = streamWrite
	MaxBehind   = maxBehind
)

// BeatEvery makes streams that are opened from now on show life so often.
func (s *Server) BeatEvery(d time.Duration) { s.readers.beat = d }
