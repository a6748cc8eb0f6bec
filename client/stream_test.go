package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sheaf.dev/client"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

func event(n int) string {
	return fmt.Sprintf("id: evt_%d\nevent: project.created\ndata: {\"id\":\"evt_%d\",\ndata: \"type\":\"project.created\"}\n\n", n, n)
}

const nothing = `{"data":[],"total":0,"limit":1,"offset":0}`

// script answers the stream's connections one after the other; the log is empty.
type script struct {
	connections []func(*http.Request) (*http.Response, error)
	seen        []string // what each connection asked for
}

func (s *script) serve(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/api/v1/events/stream" {
		return answer(r, 200, nothing), nil
	}
	s.seen = append(s.seen, strings.TrimSpace(r.Header.Get("Last-Event-ID")+" "+r.URL.RawQuery))
	next := s.connections[0]
	s.connections = s.connections[1:]
	return next(r)
}

func streaming(body string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		return answer(r, 200, body, "Content-Type", "text/event-stream"), nil
	}
}

// hanging sends a part and then nothing, until the connection is cut.
func hanging(body string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		res := answer(r, 200, "", "Content-Type", "text/event-stream")
		in, out := io.Pipe()
		context.AfterFunc(r.Context(), func() { out.CloseWithError(context.Cause(r.Context())) })
		go io.WriteString(out, body)
		res.Body = in
		return res, nil
	}
}

func TestStream_ReconnectsBehindTheLastWholeEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cut := event(3)[:40]
		s := &script{connections: []func(*http.Request) (*http.Response, error){
			streaming(": following\n\n"), refused, broken, down, busy,
			streaming(": following\n\n" + event(1) + event(2) + cut),
			streaming(event(3) + ": still here\n\n"), invalid,
		}}
		c := offline(t, s.serve)
		var got []string
		var last error
		for e, err := range c.Events.Stream(t.Context(), client.EventFilter{Type: "project.created"}) {
			if last = err; err == nil {
				got = append(got, e.ID)
			}
		}
		if want := []string{"evt_1", "evt_2", "evt_3"}; !slices.Equal(got, want) || !errors.Is(last, client.ErrValidation) {
			t.Errorf("got %q, then %v", got, last)
		}
		begin := "since=1970-01-01T00%3A00%3A00Z&type=project.created"
		if want := []string{begin, begin, begin, begin, begin, begin, "evt_2 " + begin, "evt_3 " + begin}; !slices.Equal(s.seen, want) {
			t.Errorf("asked for %q", s.seen)
		}
	})
}

func TestStream_LeavesAConnectionThatHasGoneSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{connections: []func(*http.Request) (*http.Response, error){hanging(event(1)), streaming(event(2))}}
		c := offline(t, s.serve)
		began := time.Now()
		for e, err := range c.Events.Stream(t.Context(), client.EventFilter{After: "evt_0"}) {
			if err != nil {
				t.Fatal(err)
			}
			if e.ID == "evt_1" {
				time.Sleep(time.Hour) // a slow reader is not a silent server
			}
			if e.ID == "evt_2" {
				break
			}
		}
		if took := time.Since(began) - time.Hour; took < 45*time.Second || took > 46*time.Second {
			t.Errorf("took %v", took)
		}
		if !slices.Equal(s.seen, []string{"evt_0", "evt_1"}) {
			t.Errorf("asked for %q", s.seen)
		}
	})
}

// A proxy that holds the stream back lets the log through.
func TestStream_ReadsTheLogBehindAProxyThatHoldsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		listed := 0
		c := offline(t, func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/api/v1/events/stream" {
				return hanging("")(r)
			}
			if after := r.URL.Query().Get("after"); after != fmt.Sprintf("evt_%d", listed) {
				t.Errorf("asked for what is after %q", after)
			}
			listed++
			return answer(r, 200, fmt.Sprintf(`{"data":[{"id":"evt_%d"}],"total":1,"limit":100,"offset":0}`, listed)), nil
		})
		var got []string
		for e, err := range c.Events.Stream(t.Context(), client.EventFilter{After: "evt_0"}) {
			if got = append(got, must(t, e, err).ID); len(got) == 2 {
				break
			}
		}
		if !slices.Equal(got, []string{"evt_1", "evt_2"}) {
			t.Errorf("got %q", got)
		}
	})
}

func TestStream_EndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		s := &script{connections: []func(*http.Request) (*http.Response, error){hanging("")}}
		n := 0
		for _, err := range offline(t, s.serve).Events.Stream(ctx, client.EventFilter{}) {
			if n++; !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("ended with %v", err)
			}
		}
		if n != 1 {
			t.Errorf("%d results", n)
		}
	})
}

func TestStream_OfSomethingElseIsRefused(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(*http.Request) (*http.Response, error){
		"a page": func(r *http.Request) (*http.Response, error) {
			return answer(r, 200, "<html>", "Content-Type", "text/html"), nil
		},
		"no events":  streaming("data: nonsense\n\n"),
		"no end":     streaming("data: " + strings.Repeat("x", 9<<20)),
		"a redirect": func(r *http.Request) (*http.Response, error) { return answer(r, 302, ""), nil },
	} {
		s := &script{connections: []func(*http.Request) (*http.Response, error){answer}}
		n := 0
		for _, err := range offline(t, s.serve).Events.Stream(t.Context(), client.EventFilter{}) {
			if n++; err == nil {
				t.Errorf("%s gave an event", name)
			}
		}
		if n != 1 {
			t.Errorf("%s: %d results", name, n)
		}
	}
}

// Against the real thing: every connection is cut after a few bytes, while
// others write, and the stream shows exactly what the log has.
func TestStream_ShowsWhatTheLogHasOverACutLine(t *testing.T) {
	t.Parallel()
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		const events = 60
		key := a.Workspace(sheaf.Business).Key()
		writer := with(t, a, key)
		h := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			res, err := a.Server.Client().Transport.RoundTrip(r)
			if err == nil && strings.HasSuffix(r.URL.Path, "/stream") {
				res.Body = cutting{res.Body, io.LimitReader(res.Body, 7000)}
			}
			return res, err
		})}
		reader := must2(client.New(client.Config{Server: a.Server.URL, Key: key, HTTP: h}))(t)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		must2(writer.Projects.Create(ctx, client.NewProject{Name: "before"}))(t)
		written := make(chan error, 1)
		begun := false
		var got []string
		for e, err := range reader.Events.Stream(ctx, client.EventFilter{Since: time.Unix(0, 0)}) {
			if !begun { // it follows
				begun = true
				go func() { written <- write(ctx, writer, events-1) }()
			}
			if got = append(got, must(t, e, err).ID); len(got) == events {
				break
			}
		}
		if err := <-written; err != nil {
			t.Fatal(err)
		}
		var log []string
		for _, e := range collect(t, writer.Events.All(ctx, client.EventFilter{})) {
			log = append(log, e.ID)
		}
		if !slices.Equal(got, log) {
			t.Errorf("got %q, the log has %q", got, log)
		}
		for _, err := range reader.Events.Stream(ctx, client.EventFilter{After: "evt_00000000-0000-7000-8000-000000000000"}) {
			if !errors.Is(err, client.ErrNotFound) {
				t.Errorf("after an unknown event: %v", err)
			}
		}
	})
}

func write(ctx context.Context, c *client.Client, n int) error {
	for i := range n {
		if _, err := c.Projects.Create(ctx, client.NewProject{Name: fmt.Sprint(i)}); err != nil {
			return err
		}
	}
	return nil
}

type cutting struct {
	io.Closer
	io.Reader
}
