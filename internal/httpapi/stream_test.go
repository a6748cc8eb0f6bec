package httpapi_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/front"
	"sheaf.dev/internal/httpapi"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/store"
)

// message is one event of a stream, or a comment.
type message struct{ id, event, data, comment string }

// follower reads a stream as a browser does.
type follower struct {
	t        testing.TB
	messages chan message // closed when the stream has ended
	close    func()
}

// follow opens a stream that must be admitted.
func follow(t testing.TB, a *apitest.API, key, query string, headers ...string) *follower {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.Server.URL+stream+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	res, err := a.Server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if got := res.Header.Get("Content-Type"); res.StatusCode != 200 || got != "text/event-stream" {
		body, _ := io.ReadAll(res.Body)
		t.Fatalf("got %d, Content-Type %q: %s", res.StatusCode, got, body)
	}
	f := &follower{t: t, messages: make(chan message), close: cancel}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(f.messages)
		defer res.Body.Close()
		f.read(ctx, res.Body)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	f.comment()
	return f
}

// read parses as the standard for event streams says.
func (f *follower) read(ctx context.Context, body io.Reader) {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	lines.Split(eventLines)
	var m message
	var data []string
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "id":
			m.id = value
		case "event":
			m.event = value
		case "data":
			data = append(data, value)
		}
		switch {
		case strings.HasPrefix(lines.Text(), ":"):
			m.comment = value
		case lines.Text() == "" && (len(data) > 0 || m.comment != ""):
			m.data = strings.Join(data, "\n")
			select {
			case f.messages <- m:
			case <-ctx.Done():
				return
			}
			m, data = message{}, nil
		case field == "id", field == "event", field == "data", field == "":
		default:
			f.t.Errorf("a line that means nothing: %q", lines.Text())
		}
	}
}

// eventLines ends a line at \r\n, \n, or \r alone.
func eventLines(b []byte, eof bool) (int, []byte, error) {
	i := strings.IndexAny(string(b), "\r\n")
	switch {
	case i < 0 && !eof, i >= 0 && b[i] == '\r' && i+1 == len(b) && !eof:
		return 0, nil, nil
	case i < 0:
		return len(b), nil, nil
	case b[i] == '\r' && i+1 < len(b) && b[i+1] == '\n':
		return i + 2, b[:i], nil
	}
	return i + 1, b[:i], nil
}

// next returns the next event; comments are passed over.
func (f *follower) next() message {
	f.t.Helper()
	for late := time.After(patience); ; {
		m, open := f.any(late)
		if !open {
			f.t.Fatal("the stream has ended")
		}
		if m.comment == "" {
			return m
		}
	}
}

func (f *follower) any(late <-chan time.Time) (message, bool) {
	f.t.Helper()
	select {
	case m, open := <-f.messages:
		return m, open
	case <-late:
		f.t.Fatal("nothing came")
	}
	return message{}, false
}

// comment returns the next message, which must be a comment.
func (f *follower) comment() string {
	f.t.Helper()
	m, _ := f.any(time.After(patience))
	if m.comment == "" {
		f.t.Fatalf("got %+v, want a comment", m)
	}
	return m.comment
}

// take returns the next n events' ids.
func (f *follower) take(n int) (ids []string) {
	f.t.Helper()
	for range n {
		ids = append(ids, f.next().id)
	}
	return ids
}

// ended waits for the end and returns the events before it.
func (f *follower) ended() (ids []string) {
	f.t.Helper()
	for late := time.After(patience); ; {
		m, open := f.any(late)
		switch {
		case !open:
			return ids
		case m.comment == "":
			ids = append(ids, m.id)
		}
	}
}

// publish adds n events and returns their ids.
func publish(t testing.TB, c *apitest.Client, n int) (ids []string) {
	t.Helper()
	for range n {
		ids = append(ids, c.POST(events, fields{"type": "share.created", "resource_id": nowhereID, "payload": fields{}}).Want(t, 202).Text(t, "id"))
	}
	return ids
}

// burst adds n events in one commit, as a cascade does, and returns their ids.
func burst(t testing.TB, a *apitest.API, ws *apitest.Workspace, n int, payload string) (ids []string) {
	t.Helper()
	var all []sheaf.Event
	for range n {
		e := sheaf.Envelope{ID: sheaf.EventID(sheaf.EventPrefix + sheaf.NewUUID(a.Clock.Now(), rand.Reader)), Type: sheaf.ShareCreated,
			At: a.Clock.Now(), UserID: ws.Owner, ResourceID: nowhereID, Payload: []byte(payload)}
		all, ids = append(all, e.Event()), append(ids, string(e.ID))
	}
	err := a.Store.Write(context.Background(), func(tx *store.Tx) error {
		row, err := tx.LockWorkspace(ws.ID)
		if err != nil {
			return err
		}
		if err := tx.AppendEvents(&row, all); err != nil {
			return err
		}
		return tx.SaveWorkspace(row)
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// D63b: the form, from now on, in commit order; the same envelopes as the log's.
func TestStream_Form(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		c := ws.Client("")
		newProject(t, c)
		f := follow(t, a, ws.Key(sheaf.EventsRead), "")
		id := newProject(t, c)
		c.PATCH(at(projects, id), fields{"name": "two\nlines"}).Want(t, 200)
		c.DELETE(at(projects, id)).Want(t, 204)
		a.Workspace(sheaf.Pro).Client("").POST(projects, fields{"name": "another's"}).Want(t, 201)
		published := publish(t, c, 1)
		for _, e := range wholeList(t, c, events, 100)[1:] {
			m := f.next()
			want := message{id: e["id"].(string), event: e["type"].(string), data: string(c.GET(at(events, e["id"].(string))).Want(t, 200).Body)}
			if m != want {
				t.Errorf("got  %+v\nwant %+v", m, want)
			}
			if m.id == published[0] {
				return
			}
		}
		t.Error("the stream ended before the log did")
	})
}

// D63b: a payload keeps its line breaks, which are of three kinds in an event stream.
func TestStream_PayloadOverSeveralLines(t *testing.T) {
	a := apitest.SQLite(t)
	ws := a.Workspace(sheaf.Pro)
	c := ws.Client("")
	f := follow(t, a, ws.Key(), "")
	payload := "{\"a\":\r1,\r\n\"b\":\n2,\r\r\"c\":\n\n3 }"
	c.POST(events, `{"type":"share.created","resource_id":"`+nowhereID+`","payload":`+payload+`}`).Want(t, 202)
	got := f.next()
	if want := "{\"a\":\n1,\n\"b\":\n2,\n\n\"c\":\n\n3 }"; !strings.Contains(got.data, `"payload":`+want) {
		t.Errorf("got %q", got.data)
	}
}

// D63b: after an event, by header or parameter. A browser that reconnects sends both: the header is
// the newer one.
func TestStream_Resumes(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		c, key := ws.Client(""), ws.Key()
		ids := burst(t, a, ws, 230, "{}")
		wantSame(t, "after", follow(t, a, key, "?after="+ids[0]).take(229), ids[1:])
		f := follow(t, a, key, "", "Last-Event-ID: "+ids[10])
		wantSame(t, "Last-Event-ID", f.take(219), ids[11:])
		wantSame(t, "what comes then", publish(t, c, 2), f.take(2))
		wantSame(t, "both", follow(t, a, key, "?after="+ids[0], "Last-Event-ID: "+ids[200]).take(29), ids[201:])
		wantSame(t, "since", follow(t, a, key, "?since=2020-01-01T00:00:00Z").take(232)[:230], ids)

		c.GET(stream+"?after=evt_"+nowhereID).WantError(t, 404, "NOT_FOUND", "no longer kept: start from since")
		c.GET(stream, "Last-Event-ID: evt_"+nowhereID).WantError(t, 404, "NOT_FOUND", "no longer kept: start from since")
		c.GET(stream, "Last-Event-ID: 7").WantError(t, 400, "VALIDATION_ERROR", "Last-Event-ID")
		c.GET(stream+"?after=7").WantError(t, 400, "VALIDATION_ERROR", "after")
		c.GET(stream+"?type=nothing").WantError(t, 400, "VALIDATION_ERROR", "type")
		ws.Client(ws.Key(sheaf.WebhooksRead)).GET(stream).WantError(t, 403, "FORBIDDEN", "events:read")
		if r := c.Do("HEAD", stream, nil).Want(t, 200); r.Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("HEAD: %v", r.Header)
		}
	})
}

// D63b: filters are those of the log.
func TestStream_Filters(t *testing.T) {
	a := apitest.SQLite(t)
	ws := a.Workspace(sheaf.Pro)
	c, key := ws.Client(""), ws.Key()
	first := newProject(t, c)
	byType := follow(t, a, key, "?type=project.updated")
	byID := follow(t, a, key, "?resource_id="+first)
	second := newProject(t, c)
	for _, id := range []string{second, first} {
		c.PATCH(at(projects, id), fields{"name": "new"}).Want(t, 200)
	}
	publish(t, c, 1)
	c.DELETE(at(projects, first)).Want(t, 204)
	c.PATCH(at(projects, second), fields{"name": "newer"}).Want(t, 200)
	log := idsOf(wholeList(t, c, events, 100))
	wantSame(t, "type", byType.take(3), []string{log[2], log[3], log[6]})
	wantSame(t, "resource_id", byID.take(2), []string{log[3], log[5]})
}

// D62: a test is in no stream and no log.
func TestStream_WithoutTests(t *testing.T) {
	a := apitest.SQLite(t)
	ws := a.Workspace(sheaf.Pro)
	c := ws.Client("")
	to := receiver(t, a)
	sub := subscribe(t, c, fields{"url": to.URL, "events": []string{"webhook.test", "share.created"}})
	f := follow(t, a, ws.Key(), "")
	c.POST(at(subscriptions, idOf(sub))+"/test", nil).Want(t, 200)
	wantSame(t, "the stream", publish(t, c, 1), f.take(1))
	if n := c.GET(events).Want(t, 200).JSON["total"]; n != 1.0 || len(deliveriesOf(t, c, idOf(sub), "")) != 1 {
		t.Errorf("the log has %v events", n)
	}
}

// A stream has events whose note was lost, as when a node dies between its commit and its note. Here
// it is a node whose notices nobody hears.
func TestStream_FindsWhatNoNoteToldOf(t *testing.T) {
	t.Parallel()
	a := apitest.Postgres(t)
	silent := apitest.Open(t, store.Options{DatabaseURL: a.Options.DatabaseURL})
	ws := a.Workspace(sheaf.Pro)
	key := ws.Key()
	f := follow(t, a, key, "")
	for range 2 { // also one after the first look at this log
		wantSame(t, "the stream", publish(t, silent.Client(key), 1), f.take(1))
	}
}

// D63b: a comment shows that the stream lives.
func TestStream_Heartbeat(t *testing.T) {
	if httpapi.Heartbeat != 15*time.Second {
		t.Errorf("every %s", httpapi.Heartbeat)
	}
	a := apitest.SQLite(t)
	a.Handler.BeatEvery(10 * time.Millisecond)
	ws := a.Workspace(sheaf.Pro)
	f := follow(t, a, ws.Key(), "")
	f.comment()
	f.comment()
	wantSame(t, "events between", publish(t, ws.Client(""), 1), f.take(1))
}

// D63b: a key has at most 5 streams, a workspace at most 50. A client that leaves makes room. One stream is
// one request.
func TestStream_Bounds(t *testing.T) {
	a := apitest.SQLite(t, apitest.PlanLimits)
	a.Clock.Freeze() // no request leaves the window
	ws, other := a.Workspace(sheaf.Business), a.Workspace(sheaf.Pro)
	var last *follower
	for range front.StreamsPerWorkspace / front.StreamsPerKey {
		key := ws.Key()
		for range front.StreamsPerKey {
			last = follow(t, a, key, "")
		}
		r := a.Client(key).GET(stream).WantError(t, 429, "RATE_LIMITED", "5", "50", "1 seconds")
		if got := r.Header.Get("Retry-After") + " " + r.Header.Get("RateLimit-Remaining"); got != "1 494" {
			t.Errorf("Retry-After and RateLimit-Remaining are %s", got)
		}
	}
	key := ws.Key()
	a.Client(key).GET(stream).WantError(t, 429, "RATE_LIMITED", "50")
	follow(t, a, other.Key(), "")
	last.close()
	sheaftest.Eventually(t, "a place is free", func() bool { return a.Front.Load().Streams == front.StreamsPerWorkspace }) // and one of the other's
	follow(t, a, key, "")
	a.Client(key).GET(stream).WantError(t, 429, "RATE_LIMITED", "50")
}

// endings are all that ends a stream from the server's side.
var endings = map[string]func(a *apitest.API, ws *apitest.Workspace, k sheaf.Key){
	"revocation": func(_ *apitest.API, ws *apitest.Workspace, k sheaf.Key) { ws.Revoke(k.ID) },
	"rotation":   func(a *apitest.API, ws *apitest.Workspace, k sheaf.Key) { rotate(a, ws, k.ID, 0) },
	"old secret": func(a *apitest.API, ws *apitest.Workspace, k sheaf.Key) {
		rotate(a, ws, k.ID, time.Minute)
		a.Clock.Advance(2 * time.Minute)
	},
	"expiry":    func(a *apitest.API, _ *apitest.Workspace, _ sheaf.Key) { a.Clock.Advance(2 * time.Hour) },
	"free plan": func(_ *apitest.API, ws *apitest.Workspace, _ sheaf.Key) { ws.SetPlan(sheaf.Free) },
	"deletion": func(a *apitest.API, ws *apitest.Workspace, _ sheaf.Key) {
		if _, err := a.App.Operator().DeleteWorkspace(context.Background(), ws.ID, time.Hour); err != nil {
			panic(err)
		}
	},
	"SIGTERM": func(a *apitest.API, _ *apitest.Workspace, _ sheaf.Key) { a.Drain() },
}

// D63b, D55, D206, D207: each ends the stream within 2 s, and nothing else does. A busy machine may take longer
// to look; the pause between two looks is ours.
func TestStream_Ends(t *testing.T) {
	if httpapi.Recheck > 1500*time.Millisecond {
		t.Errorf("it looks every %s, which leaves no room for the 2 s", httpapi.Recheck)
	}
	for name, end := range endings {
		t.Run(name, func(t *testing.T) {
			apitest.Run(t, func(t *testing.T, a *apitest.API) {
				a.Handler.BeatEvery(time.Hour) // it notices an ending too
				ws := a.Workspace(sheaf.Pro)
				soon := a.Clock.Now().Add(time.Hour)
				key, k := ws.NewKey(func(k *sheaf.Key) { k.ExpiresAt = &soon })
				f := follow(t, a, key, "")
				beside := follow(t, a, ws.Key(), "")
				wantSame(t, "before", publish(t, ws.Client(""), 1), f.take(1))
				beside.next()
				end(a, ws, k)
				if ids := f.ended(); len(ids) != 0 {
					t.Errorf("it ended after %d events", len(ids))
				}
				if name != "free plan" && name != "deletion" && name != "SIGTERM" {
					wantSame(t, "another key's", publish(t, ws.Client(""), 1), beside.take(1))
				}
			})
		})
	}
}

// stuck opens a stream from the beginning of a long log and never reads it.
func stuck(t *testing.T, a *apitest.API, key string) {
	t.Helper()
	conn, err := net.Dial("tcp", a.Server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.(*net.TCPConn).SetReadBuffer(4096)
	fmt.Fprintf(conn, "GET %s?since=2020-01-01T00:00:00Z HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", stream, key)
	// It must be in the middle of a write.
	if _, err := io.ReadFull(conn, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
}

// D63b: also a stream whose reader does not read, and has much before it, ends within 2 s: not only
// when the time for its write is over, which here is never.
func TestStream_EndsThoughNobodyReads(t *testing.T) {
	for _, name := range []string{"revocation", "SIGTERM"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := apitest.SQLite(t)
			ws := a.Workspace(sheaf.Pro)
			key, k := ws.NewKey(nil)
			burst(t, a, ws, 40, `{"a":"`+strings.Repeat("a", 250_000)+`"}`)
			a.Handler.WaitForReaders(time.Hour)
			stuck(t, a, key)
			endings[name](a, ws, k)
			sheaftest.Eventually(t, "the stream has ended", func() bool { return strings.Contains(a.Log(), stream) })
		})
	}
}

// D63b: events of many writers come each once, in commit order.
func TestStream_ManyWriters(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Business)
		c, key := ws.Client(""), ws.Key()
		var fs []*follower
		for range 3 {
			fs = append(fs, follow(t, a, key, ""))
		}
		const writers, each = 8, 30
		got := make([][]string, len(fs))
		together(writers+len(fs), func(i int) {
			if i < len(fs) {
				got[i] = fs[i].take(writers * each)
				return
			}
			publish(t, c, each)
		})
		log := idsOf(wholeList(t, c, events, 100))
		for i := range fs {
			wantSame(t, "a stream", got[i], log)
		}
	})
}

// D63b: a reader that is 1,000 events behind is cut and resumes, without loss: also one that had no
// event yet, and so nothing to resume from.
func TestStream_FarBehindIsCutAndResumes(t *testing.T) {
	for name, first := range map[string]int{"with an event": 1, "without": 0} {
		t.Run(name, func(t *testing.T) {
			apitest.Each(t, func(t *testing.T, a *apitest.API) {
				ws := a.Workspace(sheaf.Business)
				key := ws.Key()
				f := follow(t, a, key, "")
				want := publish(t, ws.Client(""), first)
				got := f.take(first)
				want = append(want, burst(t, a, ws, 2*httpapi.MaxLag, "{}")...)
				got = append(got, f.ended()...)
				if len(got) == len(want) {
					t.Fatal("it was not cut")
				}
				var header []string
				if len(got) > 0 {
					header = []string{"Last-Event-ID: " + got[len(got)-1]}
				}
				got = append(got, follow(t, a, key, "", header...).take(len(want)-len(got))...)
				wantSame(t, "all of it", got, want)
			})
		})
	}
}

// D63b: one that was at most 1,000 behind goes on.
func TestStream_LittleBehindGoesOn(t *testing.T) {
	a := apitest.SQLite(t)
	ws := a.Workspace(sheaf.Business)
	f := follow(t, a, ws.Key(), "")
	want := publish(t, ws.Client(""), 1)
	want = append(want, burst(t, a, ws, httpapi.MaxLag, "{}")...)
	wantSame(t, "the stream", f.take(len(want)), want)
}
