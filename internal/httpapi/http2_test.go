package httpapi_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// refusals are requests whose body nobody takes.
var refusals = map[string]struct {
	path         string
	key          func(*apitest.Workspace) string
	size, status int
}{
	"no key":          {"/api/v1/projects", func(*apitest.Workspace) string { return otherKey() }, 3_000_000, 401},
	"no scope":        {"/api/v1/projects", func(ws *apitest.Workspace) string { return ws.Key(sheaf.ProjectsRead) }, 3_000_000, 403},
	"no route":        {"/api/v1/nowhere", func(ws *apitest.Workspace) string { return ws.Key() }, 3_000_000, 404},
	"a byte too much": {"/api/v1/projects", func(ws *apitest.Workspace) string { return ws.Key() }, 10<<20 + 1, 413},
}

// hesitant is a body that stops after its first bytes, until its client has the whole answer.
type hesitant struct {
	sent     bool
	answered context.Context
}

func (h *hesitant) Read(p []byte) (int, error) {
	if h.sent {
		<-h.answered.Done()
		return 0, io.ErrUnexpectedEOF
	}
	h.sent = true
	return min(len(p), 1000), nil
}

// D13: a refused request ends at once, over either protocol: the whole answer is there while the
// client has sent next to nothing of the body.
func TestBody_ThatIsRefusedIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	for protocol, two := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			a := apitest.SQLite(t)
			// The service's clock decides how long the body is waited for: an hour.
			a.Clock.Set(time.Now().Add(time.Hour))
			ws := a.Workspace(sheaf.Pro)
			server := httptest.NewUnstartedServer(a.Front)
			server.EnableHTTP2 = two
			server.StartTLS()
			defer server.Close()
			client := server.Client()
			client.Timeout = patience
			for name, test := range refusals {
				t.Run(name, func(t *testing.T) {
					answered, done := context.WithCancel(context.Background())
					defer done()
					r, _ := http.NewRequest("POST", server.URL+test.path, &hesitant{answered: answered})
					r.ContentLength = int64(test.size)
					r.Header.Set("Authorization", "Bearer "+test.key(ws))
					res, err := client.Do(r)
					if err != nil {
						t.Fatal(err)
					}
					defer res.Body.Close()
					body, err := io.ReadAll(res.Body)
					done() // closing waits for the reader of the request's body
					if err != nil || res.StatusCode != test.status || res.Proto != protocol || !bytes.Contains(body, []byte(`"code":`)) {
						t.Errorf("got %s %d %s, %v", res.Proto, res.StatusCode, body, err)
					}
				})
			}
		})
	}
}

// D13: a client over HTTP/2 may read only after it has sent as much as the flow control allows.
// It then finds the whole answer, and the connection can still be used.
func TestBody_ThatIsRefusedDoesNotHideTheAnswerOverHTTP2(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	server := httptest.NewUnstartedServer(a.Front)
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	config := server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	config.NextProtos = []string{"h2"}
	conn, err := tls.Dial("tcp", server.Listener.Addr().String(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	var head bytes.Buffer
	encoder := hpack.NewEncoder(&head)
	post := func(stream uint32, size int) {
		head.Reset()
		for _, f := range [][2]string{{":method", "POST"}, {":scheme", "https"}, {":authority", "x"}, {":path", "/api/v1/projects"}, {"authorization", "Bearer " + otherKey()}} {
			_ = encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
		}
		if err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: head.Bytes(), EndHeaders: true}); err != nil {
			t.Fatal(err)
		}
		for size > 0 {
			n := min(size, 10_000)
			if err := framer.WriteData(stream, size == n, []byte(strings.Repeat("x", n))); err != nil {
				t.Fatalf("the connection was closed: %v", err)
			}
			size -= n
		}
	}
	post(1, 60_000)
	readRefusal(t, framer, 1)
	post(3, 1000)
	readRefusal(t, framer, 3)
}

// readRefusal reads frames until the stream's answer has ended.
func readRefusal(t *testing.T, framer *http2.Framer, stream uint32) {
	t.Helper()
	var status string
	var body []byte
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatalf("after %s %s: %v", status, body, err)
		}
		if frame.Header().StreamID != stream {
			continue
		}
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			status = f.PseudoValue("status")
		case *http2.DataFrame:
			body = append(body, f.Data()...)
			if f.StreamEnded() {
				if status != "401" || !bytes.Contains(body, []byte("UNAUTHORIZED")) {
					t.Errorf("got %s %s", status, body)
				}
				return
			}
		case *http2.RSTStreamFrame:
			t.Fatalf("the answer was cut off: %s", f)
		}
	}
}

// D13: a body that has not arrived when its 60 s are over is 400.
func TestBody_ThatDoesNotArriveIsRefused(t *testing.T) {
	t.Parallel()
	for protocol, two := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			a := apitest.SQLite(t)
			// By the service's clock the request began long ago.
			a.Clock.Set(time.Now().Add(-time.Hour))
			key := a.Workspace(sheaf.Pro).Key()
			server := httptest.NewUnstartedServer(a.Front)
			server.EnableHTTP2 = two
			server.StartTLS()
			defer server.Close()
			client := server.Client()
			client.Timeout = patience
			answered, done := context.WithCancel(context.Background())
			defer done()
			r, _ := http.NewRequest("POST", server.URL+"/api/v1/projects", &hesitant{answered: answered})
			r.ContentLength = 2000
			r.Header.Set("Authorization", "Bearer "+key)
			res, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			done() // closing waits for the reader of the request's body
			if err != nil || res.StatusCode != 400 || res.Proto != protocol || !bytes.Contains(body, []byte("VALIDATION_ERROR")) || !bytes.Contains(body, []byte("incomplete")) {
				t.Errorf("got %s %d %s, %v", res.Proto, res.StatusCode, body, err)
			}
		})
	}
}
