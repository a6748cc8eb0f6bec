package deliver

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/netip"
	"net/url"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest"
)

// want is what an attempt against a behaviour of the zoo ends with.
type want struct {
	class  ErrorClass
	status int
	// slow behaviours last until the deadline, so on real sockets they get a short one. How far they get by then
	// depends on the machine, so their result is checked on simulated time. The others end by themselves, and get
	// a deadline that no busy machine reaches.
	slow bool
	// text is part of the sentence.
	text string
}

var zooOutcomes = map[string]want{
	"never-answers":     {class: ErrorTimeout, slow: true, text: "did not answer within 10 s"},
	"never-reads":       {class: ErrorTimeout, slow: true},
	"header-drip":       {class: ErrorTimeout, slow: true},
	"header-never-ends": {class: ErrorTimeout, slow: true},
	"early-hints-drip":  {class: ErrorTimeout, slow: true},
	"body-never-comes":  {class: ErrorTimeout, status: 200, slow: true},
	"body-drip":         {class: ErrorTimeout, status: 200, slow: true},
	"chunk-drip":        {class: ErrorTimeout, status: 200, slow: true},
	"trailer-drip":      {class: ErrorTimeout, status: 200, slow: true},
	"error-body-drip":   {class: ErrorStatus, status: 500, slow: true},

	"endless-status-line":      {class: ErrorConnection, text: "32 KB"},
	"endless-headers":          {class: ErrorConnection, text: "32 KB"},
	"endless-header-value":     {class: ErrorConnection, text: "32 KB"},
	"endless-body":             {status: 200},
	"endless-chunks":           {status: 200},
	"endless-chunk-extensions": {class: ErrorConnection, status: 200},
	"endless-trailers":         {class: ErrorConnection, status: 200},
	"gzip-bomb":                {status: 200},

	"early-hints-flood":         {class: ErrorConnection, text: "32 KB"},
	"continue-flood":            {class: ErrorConnection, text: "32 KB"},
	"switching-protocols":       {class: ErrorStatus, status: 101},
	"switching-protocols-flood": {class: ErrorStatus, status: 101},
	"switching-without-upgrade": {class: ErrorStatus, status: 101},

	"reset-at-once":           {class: ErrorConnection, text: "closed the connection"},
	"reset-after-request":     {class: ErrorConnection, text: "closed the connection"},
	"close-without-answer":    {class: ErrorConnection, text: "closed the connection"},
	"close-in-headers":        {class: ErrorConnection, text: "closed the connection"},
	"reset-in-body":           {class: ErrorConnection, status: 200, text: "closed the connection"},
	"close-in-body":           {class: ErrorConnection, status: 200, text: "closed the connection"},
	"close-in-chunk":          {class: ErrorConnection, status: 200, text: "closed the connection"},
	"bad-chunk-size":          {class: ErrorConnection, status: 200, text: "not valid HTTP"},
	"two-content-lengths":     {class: ErrorConnection, text: "not valid HTTP"},
	"negative-content-length": {class: ErrorConnection, text: "not valid HTTP"},
	"not-http":                {class: ErrorConnection, text: "not valid HTTP"},
	"http2-frames":            {class: ErrorConnection, text: "not valid HTTP"},
	"status-000":              {class: ErrorConnection, text: "not valid HTTP"},
	"header-without-colon":    {class: ErrorConnection, text: "not valid HTTP"},

	"redirect-inside":      {class: ErrorStatus, status: 307, text: "redirects are not followed"},
	"redirect-to-itself":   {class: ErrorStatus, status: 302, text: "redirects are not followed"},
	"answer-before-body":   {status: 200},
	"refusal-before-body":  {class: ErrorStatus, status: 413, text: "the endpoint answered 413"},
	"two-answers":          {status: 200},
	"no-content-with-body": {status: 204},
	"not-text":             {status: 200},
	"status-999":           {class: ErrorStatus, status: 999},

	"tls-never":          {class: ErrorTimeout, slow: true},
	"tls-drip":           {class: ErrorTimeout, slow: true},
	"tls-plain-http":     {class: ErrorTLS, text: "does not speak TLS"},
	"tls-reset":          {class: ErrorConnection},
	"tls-close":          {class: ErrorConnection},
	"tls-alert":          {class: ErrorTLS, text: "handshake"},
	"tls-warnings-flood": {class: ErrorTLS},
	"tls-huge-message":   {class: ErrorTLS},

	"certificate-expired":     {class: ErrorTLS, text: "expired"},
	"certificate-not-yet":     {class: ErrorTLS, text: "not valid yet"},
	"certificate-self-signed": {class: ErrorTLS, text: "unknown authority"},
	"certificate-other-host":  {class: ErrorTLS, text: "another host name"},
	"certificate-for-clients": {class: ErrorTLS, text: "not trusted"},
	"certificate-wanted":      {class: ErrorTLS, text: "handshake"},
	"tls-1.1-only":            {class: ErrorTLS, text: "handshake"},
	"alpn-other":              {class: ErrorTLS, text: "handshake"},
}

const (
	shortTimeout = 300 * time.Millisecond
	ampleTimeout = 5 * time.Minute
	// mayAllocate is what an attempt and the receiver beside it, in the same process, may allocate together. What a
	// flood sends within one attempt is hundreds of megabytes.
	mayAllocate = 4 << 20
)

func TestAttempt_HostileReceiver(t *testing.T) {
	ca := newCA(t)
	for _, b := range sheaftest.Zoo() {
		t.Run(b.Name, func(t *testing.T) {
			w, ok := zooOutcomes[b.Name]
			if !ok {
				t.Fatal("no outcome is written down for this behaviour")
			}
			ignore := goleak.IgnoreCurrent()
			t.Cleanup(func() { goleak.VerifyNone(t, ignore) }) // last, once the receiver has ended
			url := listen(t, b, ca)
			got := attemptBounded(t, ca, url, w)
			if w.slow {
				checkBounded(t, got)
			} else {
				w.check(t, got)
			}
			checkTellsNothing(t, got, url)
		})
	}
}

// attemptBounded makes an attempt with a body that fills every socket buffer's first window, and checks what it cost.
func attemptBounded(t *testing.T, ca *sheaftest.CA, url string, w want) Result {
	t.Helper()
	timeout := ampleTimeout
	if w.slow {
		timeout = shortTimeout
	}
	c := newClient(ca, timeout)
	body := make([]byte, 256<<10)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := c.Attempt(t.Context(), Request{URL: url, Body: body})
	runtime.ReadMemStats(&after)
	c.CloseIdle()
	if used := after.TotalAlloc - before.TotalAlloc; used > mayAllocate {
		t.Errorf("allocated %d KB", used>>10)
	}
	return got
}

func (w want) check(t *testing.T, got Result) {
	t.Helper()
	if got.Class != w.class {
		t.Errorf("class %q, want %q (%s)", got.Class, w.class, got.Error)
	}
	if got.StatusCode != w.status {
		t.Errorf("status %d, want %d", got.StatusCode, w.status)
	}
	if !strings.Contains(got.Error, w.text) || (got.Error == "") != (w.class == "") {
		t.Errorf("error %q, want one with %q", got.Error, w.text)
	}
	checkBounded(t, got)
}

func checkBounded(t *testing.T, got Result) {
	t.Helper()
	if len(got.ResponseBody) > maxAnswerBody || !utf8.ValidString(got.ResponseBody) || strings.ContainsRune(got.ResponseBody, 0) {
		t.Errorf("kept %d bytes, or not text: %.40q", len(got.ResponseBody), got.ResponseBody)
	}
}

func checkTellsNothing(t *testing.T, got Result, endpoint string) {
	t.Helper()
	u, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	for _, inner := range []string{u.Hostname(), u.Port(), "127.", "lookup", "dial", "tcp"} {
		if strings.Contains(got.Error, inner) {
			t.Errorf("error %q tells %q", got.Error, inner)
		}
	}
	if got.RemoteAddress != "" {
		t.Errorf("remote address %q is special and was told", got.RemoteAddress)
	}
}

func TestAttempt_EveryOutcomeBelongsToABehaviour(t *testing.T) {
	names := map[string]bool{}
	for _, b := range sheaftest.Zoo() {
		if names[b.Name] {
			t.Errorf("%s is there twice", b.Name)
		}
		names[b.Name] = true
	}
	for name := range zooOutcomes {
		if !names[name] {
			t.Errorf("no behaviour is called %s", name)
		}
	}
}

// D67: the same receivers on simulated time: the deadline is exact, and nothing else ends an attempt.
func TestAttempt_DeadlineIsExact(t *testing.T) {
	for _, b := range sheaftest.Zoo() {
		w := zooOutcomes[b.Name]
		if !w.slow {
			continue
		}
		t.Run(b.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newPipeClient(t, 10*time.Second, b)
				got := c.Attempt(t.Context(), Request{URL: "https://hook.example/", Body: []byte(`{"a":1}`)})
				w.check(t, got)
				if got.Duration != 10*time.Second {
					t.Errorf("it ended after %s, want 10s", got.Duration)
				}
				if tm := got.Timings; tm.Connect+tm.TLS+tm.FirstByte+tm.Body != 10*time.Second {
					t.Errorf("phases %+v do not add up", tm)
				}
			})
		})
	}
}

func TestAttempt_CancelEndsItAtOnce(t *testing.T) {
	for _, b := range sheaftest.Zoo() {
		w := zooOutcomes[b.Name]
		if !w.slow {
			continue
		}
		t.Run(b.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newPipeClient(t, 10*time.Second, b)
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				got := c.Attempt(ctx, Request{URL: "https://hook.example/", Body: []byte(`{"a":1}`)})
				class := ErrorCanceled
				if w.class == ErrorStatus {
					class = ErrorStatus // known before, and stays known
				}
				if got.Duration != time.Second || got.Class != class {
					t.Errorf("%s, %q; want 1s, %q", got.Duration, got.Class, class)
				}
			})
		})
	}
}

// A dial ends when its attempt gives up. Otherwise hung handshakes would pile up.
func TestAttempt_HungHandshakeEndsWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		var ended time.Duration
		c := newPipeClient(t, 10*time.Second, sheaftest.Behaviour{Raw: true, Serve: func(_ context.Context, conn net.Conn) {
			_, _ = io.Copy(io.Discard, conn)
			ended = time.Since(started)
		}})
		c.Attempt(t.Context(), Request{URL: "https://hook.example/"})
		synctest.Wait()
		if ended != 10*time.Second {
			t.Errorf("the connection ended after %s, want 10s", ended)
		}
	})
}

func TestAttempt_CallersDeadlineCountsToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newPipeClient(t, 10*time.Second, sheaftest.Behaviour{Serve: func(ctx context.Context, _ net.Conn) { <-ctx.Done() }})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		got := c.Attempt(ctx, Request{URL: "https://hook.example/"})
		if got.Duration != 2*time.Second || got.Class != ErrorTimeout || !strings.Contains(got.Error, "within 2 s") {
			t.Errorf("%s, %q, %q", got.Duration, got.Class, got.Error)
		}
	})
}

func TestAttempt_RefusedConnection(t *testing.T) {
	port, err := sheaftest.FreePort() // which nobody else listens on meanwhile
	if err != nil {
		t.Fatal(err)
	}
	url := "https://127.0.0.1:" + port
	got := newClient(newCA(t), ampleTimeout).Attempt(t.Context(), Request{URL: url})
	want{class: ErrorConnection, text: "refused"}.check(t, got)
	checkTellsNothing(t, got, url)
}

// newClient may connect to loopback, as if the operator had allowed it.
func newClient(ca *sheaftest.CA, timeout time.Duration) *Client {
	return NewClient(ClientConfig{
		Timeout:   timeout,
		Control:   func(context.Context, string, string, syscall.RawConn) error { return nil },
		Blocked:   func(error) bool { return false },
		Special:   netip.Addr.IsLoopback,
		RootCAs:   ca.Pool(),
		PerHost:   64,
		UserAgent: "Sheaf-Webhooks/test",
	})
}

// newPipeClient is a client whose every connection leads to b, in TLS unless b is raw. They end with the test.
func newPipeClient(t *testing.T, timeout time.Duration, b sheaftest.Behaviour) *Client {
	t.Helper()
	ca := newCA(t)
	cert, err := ca.Issue(sheaftest.CertOptions{Hosts: []string{"hook.example"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	serve := func(conn net.Conn) {
		defer conn.Close()
		if !b.Raw {
			conn = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{cert}})
		}
		b.Serve(ctx, conn)
	}
	c := NewClient(ClientConfig{
		Timeout: timeout,
		RootCAs: ca.Pool(),
		PerHost: 64,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go serve(theirs)
			return ours, nil
		},
	})
	t.Cleanup(c.CloseIdle)
	return c
}

func newCA(t testing.TB) *sheaftest.CA {
	t.Helper()
	ca, err := sheaftest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func listen(t testing.TB, b sheaftest.Behaviour, ca *sheaftest.CA) string {
	t.Helper()
	e, err := b.Listen("127.0.0.1:0", ca)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e.URL
}
