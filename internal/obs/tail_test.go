package obs

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

// The newest lines are kept, also those that the reader of the log has not taken.
func TestTail_KeepsTheNewestLines(t *testing.T) {
	t.Parallel()
	l := NewLines(io.Discard)
	defer l.Close()
	var all bytes.Buffer
	for i := range 20_000 {
		line := fmt.Sprintf("line %d %s\n", i, strings.Repeat("x", i%97))
		all.WriteString(line)
		if _, err := l.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
		if i%1_999 != 0 {
			continue
		}
		if got, want := l.Tail(), all.Bytes()[max(0, all.Len()-tailMost):]; !bytes.Equal(got, want) {
			t.Fatalf("after %d lines: %d bytes that begin with %.40q, want %d that begin with %.40q", i, len(got), got, len(want), want)
		}
	}
	var ring tail
	huge := bytes.Repeat([]byte("0123456789"), tailMost/5)
	ring.add([]byte("before"))
	if ring.add(huge); !bytes.Equal(ring.bytes(), huge[len(huge)-tailMost:]) {
		t.Error("a line that is longer than the ring is kept wrongly")
	}
}
