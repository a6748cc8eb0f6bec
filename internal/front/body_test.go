package front_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaftest"
)

// interrupting reads a streamed body that is interrupted although all of it has arrived.
type interrupting struct {
	named
	t *testing.T
}

func (e interrupting) Serve(x *front.Exchange) {
	if x.Request.Method != http.MethodPatch {
		if err := x.Request.Context().Err(); err != nil {
			e.t.Errorf("the next request on the connection begins with an ended context: %v", err)
		}
		return
	}
	of := x.Request.Context()
	body, err := x.StreamBody()
	if err != nil {
		e.t.Error(err)
		return
	}
	defer body.Release()
	// The body ends below the StreamedBody, as within its Read before that has returned.
	if b, err := io.ReadAll(x.Request.Body); string(b) != "whole" || err != nil {
		e.t.Errorf("read %q, %v", b, err)
	}
	body.Interrupt()
	// net/http listens for the client's leaving, and takes the deadline for it.
	<-of.Done()
	if err := x.Request.Context().Err(); err != nil {
		e.t.Errorf("the request was ended by the interruption: %v", err)
	}
}

// An upload whose last piece had arrived was interrupted by another client's: all later requests on its
// connection, which may be a proxy's, were 503.
func TestStreamedBody_AnInterruptionEndsNoLaterRequest(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newFront(front.Mount{Edge: interrupting{"any", t}, Paths: []string{"/"}}))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	send := func(request string) (*http.Response, error) {
		if _, err := fmt.Fprint(conn, request); err != nil {
			return nil, err
		}
		return http.ReadResponse(answers, nil)
	}
	res, err := send("PATCH / HTTP/1.1\r\nHost: any\r\nContent-Length: 5\r\n\r\nwhole")
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("the piece: %v, %v", res, err)
	}
	res.Body.Close()
	if !res.Close {
		t.Error("the connection goes on after an interruption")
	}
	if res, err := send("GET / HTTP/1.1\r\nHost: any\r\n\r\n"); err == nil {
		res.Body.Close()
		t.Errorf("the connection goes on, and answers %d", res.StatusCode)
	}
}

// leaving waits until the client has left.
type leaving struct {
	named
	began, ended chan struct{}
}

func (e leaving) Serve(x *front.Exchange) {
	body, err := x.StreamBody()
	if err != nil {
		return
	}
	defer body.Release()
	_, _ = io.ReadAll(body)
	body.Release()
	close(e.began)
	<-x.Request.Context().Done()
	close(e.ended)
}

// Without an interruption the context ends when the client leaves.
func TestStreamedBody_TheContextEndsWithTheClient(t *testing.T) {
	t.Parallel()
	edge := leaving{"any", make(chan struct{}), make(chan struct{})}
	server := httptest.NewServer(newFront(front.Mount{Edge: edge, Paths: []string{"/"}}))
	defer server.Close()
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPatch, server.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-edge.began
		leave()
	}()
	if res, err := server.Client().Do(r); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v", res, err)
	}
	sheaftest.Eventually(t, "the context ends", func() bool {
		select {
		case <-edge.ended:
			return true
		default:
			return false
		}
	})
}
