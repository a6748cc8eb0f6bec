package obs

// tailMost is how many bytes of the newest lines are kept for reports of faults.
const tailMost = 256 << 10

// tail keeps the newest bytes of the log. It is a ring: once it is full, each line overwrites the oldest bytes.
type tail struct {
	ring []byte
	at   int // where the next byte goes, once the ring is full
}

// add keeps a copy of the bytes.
func (t *tail) add(b []byte) {
	if len(b) > tailMost {
		b = b[len(b)-tailMost:]
	}
	if room := tailMost - len(t.ring); room > 0 {
		n := min(room, len(b))
		t.ring, b = append(t.ring, b[:n]...), b[n:]
	}
	for len(b) > 0 {
		n := copy(t.ring[t.at:], b)
		t.at, b = (t.at+n)%tailMost, b[n:]
	}
}

// bytes returns a copy of what is kept, oldest first.
func (t *tail) bytes() []byte {
	return append(append(make([]byte, 0, len(t.ring)), t.ring[t.at:]...), t.ring[:t.at]...)
}

// Tail returns the newest lines of the log, at most tailMost bytes, also those that nobody has read yet. The first
// line may lack its beginning.
func (l *Lines) Tail() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tail.bytes()
}
