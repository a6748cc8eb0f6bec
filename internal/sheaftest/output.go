package sheaftest

import (
	"bytes"
	"sync"
)

// Output collects what is written to it, such as a log or the output of a process. It can be read
// at any time. The zero value is empty.
type Output struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

// Write appends b.
func (o *Output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

// String returns all that was written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
