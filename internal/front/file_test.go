package front_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
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

// damaged is a file that is found damaged while it is sent.
type damaged struct {
	*bytes.Reader
	err error
}

func (d damaged) Whole(context.Context) error { return d.err }

// damagedEdge answers with such a file.
type damagedEdge struct {
	named
	file func() damaged
}

func (e damagedEdge) Serve(x *front.Exchange) {
	_ = x.ServeFile(front.File{Name: "a", Type: "text/plain", Tag: "x", Content: e.file()})
}

// If a file turns out to be damaged while it is sent, the connection is cut before the last bytes, so that
// no client takes the file for complete.
func TestServeFile_DamagedBytesCutTheConnection(t *testing.T) {
	content := bytes.Repeat([]byte("abcd"), 3<<20/4)
	for _, fault := range []error{nil, errors.New("differs from its hash")} {
		var log bytes.Buffer
		f := front.New(front.Config{Log: slog.New(slog.NewTextHandler(&log, nil)), Now: time.Now},
			front.Mount{Edge: damagedEdge{file: func() damaged { return damaged{bytes.NewReader(content), fault} }}, Paths: []string{"/"}})
		server := httptest.NewServer(f)
		for ranges, want := range map[string]int{"": len(content), "bytes=100-2000099": 2_000_000, "bytes=0-9": 10} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			if ranges != "" {
				r.Header.Set("Range", ranges)
			}
			got := 0
			res, err := server.Client().Do(r)
			if err == nil {
				var b []byte
				b, err = io.ReadAll(res.Body)
				res.Body.Close()
				got = len(b)
			}
			if fault == nil && (err != nil || got != want) || fault != nil && (err == nil || got >= want) {
				t.Errorf("%q with %v: %d of %d bytes arrived, %v", ranges, fault, got, want, err)
			}
		}
		server.Close()
		if told := strings.Contains(log.String(), "differs from its hash"); told != (fault != nil) {
			t.Errorf("with %v the log has %q", fault, log.String())
		}
	}
}
