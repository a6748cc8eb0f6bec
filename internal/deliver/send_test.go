package deliver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sheaf.dev/internal/sheaftest"
)

func TestAttempt_SendsTheRequestAsGiven(t *testing.T) {
	var got *http.Request
	var body []byte
	c, url := serveTLS(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Set-Cookie", "a=b")
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "thanks")
	})
	r := Request{URL: url + "/hook?a=b", Body: []byte(`{"a":"<1>"}`), Header: http.Header{
		"Content-Type": {"application/json"},
		"Webhook-Id":   {"evt_1"},
	}}
	first := c.Attempt(t.Context(), r)
	second := c.Attempt(t.Context(), r)
	if first.Class != "" || first.StatusCode != 202 || first.ResponseBody != "thanks" || second.Class != "" {
		t.Fatalf("%+v\n%+v", first, second)
	}
	if got.Method != http.MethodPost || got.RequestURI != "/hook?a=b" || got.Proto != "HTTP/1.1" || string(body) != `{"a":"<1>"}` {
		t.Errorf("%s %s %s %s", got.Method, got.RequestURI, got.Proto, body)
	}
	want := http.Header{
		"Content-Type":   {"application/json"},
		"Content-Length": {"11"},
		"Webhook-Id":     {"evt_1"},
		"User-Agent":     {"Sheaf-Webhooks/test"},
	}
	if diff := cmp.Diff(want, got.Header); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}

func TestAttempt_ReusesTheConnection(t *testing.T) {
	for _, size := range []int{0, 2, maxAnswerBody} {
		var conns atomic.Int32
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write(make([]byte, size))
		}))
		srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				conns.Add(1)
			}
		}
		c, url := start(t, srv)
		first := c.Attempt(t.Context(), Request{URL: url})
		if first.Timings.TLS == 0 || first.Timings.Connect == 0 {
			t.Errorf("the first connection cost nothing: %+v", first.Timings)
		}
		for range 10 {
			got := c.Attempt(t.Context(), Request{URL: url, Body: []byte("{}")})
			if got.Class != "" {
				t.Fatal(got.Error)
			}
			if got.Timings.TLS+got.Timings.Connect+got.Timings.DNS != 0 || got.Timings.FirstByte == 0 {
				t.Errorf("phases of a reused connection: %+v", got.Timings)
			}
		}
		if n := conns.Load(); n != 1 {
			t.Errorf("answers of %d bytes: %d connections, want 1", size, n)
		}
	}
}

func TestAttempt_ConnectionClosedWhileIdleIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var served int
		c := newPipeClient(t, 10*time.Second, sheaftest.Behaviour{Serve: func(_ context.Context, conn net.Conn) {
			served++
			serveOne(conn) // and close
		}})
		for range 3 {
			if got := c.Attempt(t.Context(), Request{URL: "https://hook.example/", Body: []byte("{}")}); got.Class != "" {
				t.Fatal(got.Error)
			}
			synctest.Wait()
		}
		if served != 3 {
			t.Errorf("%d requests arrived, want 3", served)
		}
	})
}

// If an idle connection is closed, or an answer arrives on it that no request asked for, this is noticed before
// the next request is written to it.
func TestAttempt_AConnectionThatIsNotSilentIsReplaced(t *testing.T) {
	for name, then := range map[string]func(net.Conn){
		"it was closed":   func(c net.Conn) { _ = c.Close() },
		"it has answered": func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var conns atomic.Int32
			ended := make(chan net.Conn, 1)
			srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
			srv.Config.ConnState = func(c net.Conn, s http.ConnState) {
				if s == http.StateNew {
					conns.Add(1)
				}
				if s == http.StateIdle && conns.Load() == 1 {
					ended <- c
				}
			}
			c, url := start(t, srv)
			r := Request{URL: url, Body: []byte("{}")}
			if got := c.Attempt(t.Context(), r); got.Class != "" {
				t.Fatal(got.Error)
			}
			idle := c.hosts.idle.Front().Value.(*conn)
			then(<-ended)
			sheaftest.Eventually(t, "something came", func() bool { return !idle.silent() })
			if got := c.Attempt(t.Context(), r); got.Class != "" || got.ResponseBody != "" {
				t.Errorf("%q %q", got.Error, got.ResponseBody)
			}
			if n := conns.Load(); n != 2 {
				t.Errorf("%d connections, want 2", n)
			}
		})
	}
}

// staleConn serves one request. After it, its end is noticed only by writing.
type staleConn struct {
	net.Conn
	used  atomic.Bool
	takes bool // whether a second request is swallowed
}

func (c *staleConn) Write(p []byte) (int, error) {
	if !c.used.Swap(true) {
		return c.Conn.Write(p)
	}
	n := 0
	if c.takes {
		n, _ = c.Conn.Write(p)
	}
	_ = c.Conn.Close()
	return n, syscall.EPIPE
}

func TestAttempt_StaleConnection(t *testing.T) {
	for _, takes := range []bool{false, true} {
		t.Run(fmt.Sprintf("takes the request %t", takes), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var arrived atomic.Int32
				c := NewClient(ClientConfig{
					Timeout: 10 * time.Second, PerHost: 4,
					DialContext: func(context.Context, string, string) (net.Conn, error) {
						ours, theirs := net.Pipe()
						go func() {
							defer theirs.Close()
							if serveOne(theirs) {
								arrived.Add(1)
							}
							if _, err := http.ReadRequest(bufio.NewReader(theirs)); err == nil {
								arrived.Add(1)
							}
						}()
						return &staleConn{Conn: ours, takes: takes}, nil
					},
				})
				defer c.CloseIdle()
				r := Request{URL: "http://hook.example/", Body: []byte("{}")}
				if got := c.Attempt(t.Context(), r); got.Class != "" {
					t.Fatal(got.Error)
				}
				synctest.Wait()
				got := c.Attempt(t.Context(), r)
				synctest.Wait()
				if takes && got.Class != ErrorConnection {
					t.Errorf("class %q, want connection: the request may have arrived", got.Class)
				}
				if !takes && got.Class != "" {
					t.Errorf("class %q, want a second connection: nothing had been sent", got.Class)
				}
				if n := arrived.Load(); n != 2 {
					t.Errorf("%d requests arrived in two attempts", n)
				}
			})
		})
	}
}

// serveOne reads a request and answers it.
func serveOne(c net.Conn) bool {
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, r.Body)
	_, err = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	return err == nil
}

func TestAttempt_GuardIsAskedForTheAddressDialled(t *testing.T) {
	refused := errors.New("not this one: 127.0.0.1")
	var asked []string
	c := NewClient(ClientConfig{
		Timeout: ampleTimeout,
		Control: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			asked = append(asked, address)
			return fmt.Errorf("guard: %w", refused)
		},
		Blocked: func(err error) bool { return errors.Is(err, refused) },
	})
	got := c.Attempt(t.Context(), Request{URL: "https://127.0.0.1:9/"})
	want{class: ErrorBlockedAddress, text: "not allowed"}.check(t, got)
	checkTellsNothing(t, got, "https://127.0.0.1:9/")
	if diff := cmp.Diff([]string{"127.0.0.1:9"}, asked); diff != "" {
		t.Error(diff)
	}
}

func TestGuardedDialer_TriesOnlyTheFirstAddresses(t *testing.T) {
	asked := 0
	d := guardedDialer(func(context.Context, string, string, syscall.RawConn) error {
		asked++
		return errors.New("no")
	})
	ctx := (&dial{}).trace(t.Context())
	for range 3 * maxAddresses {
		if _, err := d.DialContext(ctx, "tcp", "127.0.0.1:9"); err == nil {
			t.Fatal("connected")
		}
	}
	if asked != maxAddresses {
		t.Errorf("%d addresses were tried, want %d", asked, maxAddresses)
	}
}

func TestAttempt_RemoteAddress(t *testing.T) {
	for _, special := range []bool{false, true} {
		srv := httptest.NewTLSServer(http.NotFoundHandler())
		defer srv.Close()
		cfg := trusting(srv)
		cfg.Special = func(netip.Addr) bool { return special }
		c := NewClient(cfg)
		defer c.CloseIdle()
		want := "127.0.0.1"
		if special {
			want = ""
		}
		for range 2 {
			if got := c.Attempt(t.Context(), Request{URL: srv.URL}); got.RemoteAddress != want {
				t.Errorf("special %t: remote address %q, want %q", special, got.RemoteAddress, want)
			}
		}
	}
}

func TestNewClient_WithoutGuardPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a client without a guard came about")
		}
	}()
	NewClient(ClientConfig{Timeout: time.Second})
}

func TestAttempt_RequestThatCannotBeSent(t *testing.T) {
	c := newClient(newCA(t), ampleTimeout)
	for name, r := range map[string]Request{
		"no url":         {URL: ":"},
		"no host":        {URL: "https://"},
		"other scheme":   {URL: "ftp://hook.example"},
		"invalid header": {URL: "https://hook.example", Header: http.Header{"X-A": {"a\nb"}}},
	} {
		if got := c.Attempt(t.Context(), r); got.Class != ErrorConnection || got.Error == "" || strings.Contains(got.Error, "net/http") {
			t.Errorf("%s: %q, %q", name, got.Class, got.Error)
		}
	}
}

func TestAttempt_KeptAnswer(t *testing.T) {
	secret, header, signature := "whsec_c2VjcmV0c2VjcmV0", `Basic a/b"c`, "v1,a+b/c<d&e'f="
	pad := strings.Repeat("x", maxAnswerBody-10)
	tests := map[string]struct {
		answer, want string
	}{
		"nothing to hide":          {"ok", "ok"},
		"a secret":                 {"got " + secret + "!", "got •••!"},
		"twice, side by side":      {secret + secret, "•••"},
		"a header as JSON":         {`{"auth":"Basic a/b\"c"}`, `{"auth":"•••"}`},
		"a header as PHP's JSON":   {`{"auth":"Basic a\/b\"c"}`, `{"auth":"•••"}`},
		"as .NET's JSON":           {`{"s":"v1,a\u002Bb/c\u003Cd\u0026e\u0027f="}`, `{"s":"•••"}`},
		"as Gson's JSON":           {`{"s":"v1,a+b/c\u003cd\u0026e\u0027f\u003d"}`, `{"s":"•••"}`},
		"an escape that is cut":    {`{"s":"v1,a\u00`, `{"s":"•••`},
		"other escapes":            {`{"a":"\u00e9\n\\","s":"v1,a\u002Bb\/c<d&e'f="}\`, `{"a":"\u00e9\n\\","s":"•••"}\`},
		"parted by NUL":            {"got whsec_c2Vjcm\x00V0c2VjcmV0", "got •••"},
		"parted by the cut":        {pad + secret + "more", pad + mask},
		"parted near its start":    {pad + "........" + secret, pad + "........"},
		"parted by the end":        {"got " + secret[:10], "got •••"},
		"too short to be hidden":   {"abc", "abc"},
		"overlapping":              {"abcdefgh", "•••"},
		"not text":                 {"a\xff\xfeb\x00", "a\uFFFDb"},
		"a character over the cut": {strings.Repeat("x", maxAnswerBody-1) + "é", strings.Repeat("x", maxAnswerBody-1)},
		"a smile over the cut":     {strings.Repeat("x", maxAnswerBody-2) + "😀", strings.Repeat("x", maxAnswerBody-2)},
		"more than is kept":        {strings.Repeat("x", 2*maxAnswerBody), strings.Repeat("x", maxAnswerBody)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, url := serveTLS(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, test.answer) })
			got := c.Attempt(t.Context(), Request{URL: url, Redact: func() []string {
				return []string{"", "abc", secret, header, signature, "abcdef", "defgh"}
			}})
			if got.Class != "" || got.ResponseBody != test.want {
				t.Errorf("%q: kept …%q, want …%q", got.Class, tail(got.ResponseBody), tail(test.want))
			}
		})
	}
}

func tail(s string) string { return s[max(0, len(s)-40):] }

func FuzzAnswerText(f *testing.F) {
	f.Add([]byte("a\x00\xffb secret"), "secret")
	f.Add(bytes.Repeat([]byte("aaaa"), 10), "aaaaa")
	f.Add([]byte(`\/a\/b`), "/a/b")
	f.Add([]byte(`x\u002Ba\ud83d\u0`), "+a\uFFFD")
	f.Fuzz(func(t *testing.T, b []byte, secret string) {
		got := answerText(b, []string{secret})
		if len(got) > maxAnswerBody || strings.ToValidUTF8(got, "") != got || strings.ContainsRune(got, 0) {
			t.Errorf("not text: %q", got)
		}
		// Only a fuzzer's secrets hold a mask, or are no text.
		text := clean(secret) == secret && !strings.ContainsAny(secret, mask)
		if len(secret) >= minRedact && text && strings.Contains(got, secret) {
			t.Errorf("%q still holds %q", got, secret)
		}
	})
}

func serveTLS(t testing.TB, h http.HandlerFunc) (*Client, string) {
	t.Helper()
	return start(t, httptest.NewUnstartedServer(h))
}

func start(t testing.TB, srv *httptest.Server) (*Client, string) {
	t.Helper()
	srv.StartTLS()
	t.Cleanup(srv.Close)
	c := NewClient(trusting(srv))
	t.Cleanup(c.CloseIdle)
	return c, srv.URL
}

func trusting(srv *httptest.Server) ClientConfig {
	return ClientConfig{
		Timeout:   ampleTimeout,
		Control:   func(context.Context, string, string, syscall.RawConn) error { return nil },
		Blocked:   func(error) bool { return false },
		RootCAs:   srv.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs,
		PerHost:   64,
		UserAgent: "Sheaf-Webhooks/test",
	}
}

// The two benchmarks differ only in the client: 64 requests at a time over kept-alive TLS to a server in this process.
func BenchmarkAttempt(b *testing.B) {
	c, url := serveTLS(b, drained)
	body := bytes.Repeat([]byte("a"), 1000)
	redact := func() []string { return []string{"whsec_c2VjcmV0c2VjcmV0", "Bearer something"} }
	b.SetParallelism(32)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			h := http.Header{"Content-Type": {"application/json"}}
			if got := c.Attempt(b.Context(), Request{URL: url, Header: h, Body: body, Redact: redact}); got.Class != "" {
				b.Error(got.Error)
			}
		}
	})
}

func BenchmarkBareClient(b *testing.B) {
	srv := httptest.NewTLSServer(http.HandlerFunc(drained))
	defer srv.Close()
	c := srv.Client()
	c.Timeout = ampleTimeout
	c.Transport.(*http.Transport).MaxIdleConnsPerHost = 64
	body := bytes.Repeat([]byte("a"), 1000)
	b.SetParallelism(32)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			resp, err := c.Post(srv.URL, "application/json", bytes.NewReader(body))
			if err != nil {
				b.Error(err)
				continue
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	})
}

func drained(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	_, _ = io.WriteString(w, `{"ok":true}`)
}
