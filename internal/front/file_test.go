package front_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"sheaf.dev/internal/front"
)

// fileEdge answers with a file.
type fileEdge struct {
	named
	content []byte
}

func (e fileEdge) Serve(x *front.Exchange) {
	_ = x.ServeFile(front.File{Name: "a", Type: "text/plain", Inline: true, Tag: "x", Content: bytes.NewReader(e.content)})
}

// slowClient takes a while for whatever it is sent, and refuses what comes after its time.
type slowClient struct {
	*httptest.ResponseRecorder
	now      *time.Time
	takes    time.Duration // for each 64 KB
	deadline time.Time
}

func (c *slowClient) SetWriteDeadline(at time.Time) error {
	c.deadline = at
	return nil
}

func (c *slowClient) Write(b []byte) (int, error) {
	*c.now = c.now.Add(c.takes * time.Duration(len(b)) / (64 << 10))
	if c.now.After(c.deadline) {
		return 0, os.ErrDeadlineExceeded
	}
	return c.ResponseRecorder.Write(b)
}

// A client may take long for a file, as long as each piece arrives in time: 9 KB a second do, 8 do not.
func TestServeFile_EachPieceHasItsTime(t *testing.T) {
	content := bytes.Repeat([]byte("abcd"), 5<<20/4)
	for takes, arrives := range map[time.Duration]bool{7 * time.Second: true, 8 * time.Second: false} {
		now := time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC)
		f := front.New(front.Config{Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }},
			front.Mount{Edge: fileEdge{content: content}, Paths: []string{"/"}})
		c := &slowClient{ResponseRecorder: httptest.NewRecorder(), now: &now, takes: takes}
		f.ServeHTTP(c, httptest.NewRequest(http.MethodGet, "/", nil))
		if got := c.Body.Len() == len(content); got != arrives {
			t.Errorf("%s for 64 KB: %d of %d bytes arrived", takes, c.Body.Len(), len(content))
		}
	}
}
