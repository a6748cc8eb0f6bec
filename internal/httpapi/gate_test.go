package httpapi_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/guard"
	"sheaf.dev/internal/httpapi"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// becomes waits until the gate counts what is wanted.
func becomes(t *testing.T, a *apitest.API, what string, want int64, get func(httpapi.Load) int64) {
	t.Helper()
	var got int64
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if got = get(a.Handler.Load()); got == want {
			return
		}
	}
	t.Fatalf("%s: %d, want %d", what, got, want)
}

func workingOf(l httpapi.Load) int64 { return l.Working }
func bodiesOf(l httpapi.Load) int64  { return l.Bodies }
func answersOf(l httpapi.Load) int64 { return l.Answers }

// wantNoRoom checks a refusal for want of room.
func wantNoRoom(t *testing.T, got *apitest.Response) {
	t.Helper()
	got.WantError(t, 503, "UNAVAILABLE", "Retry-After")
	if n, err := strconv.Atoi(got.Header.Get("Retry-After")); err != nil || n < 1 || n > 3 {
		t.Errorf("Retry-After is %q", got.Header.Get("Retry-After"))
	}
}

func TestGate_RefusesWhatIsTooMuchAndNothingAfter(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	c := a.Workspace(sheaf.Business).Client("")
	a.Handler.Crowd(httpapi.MaxWorking)
	wantNoRoom(t, c.POST("/api/v1/projects", map[string]any{"name": "x"}))
	wantNoRoom(t, c.GET("/api/v1/projects"))
	for _, probe := range []string{"/healthz", "/readyz"} {
		a.Client("").GET(probe).Want(t, 200)
	}
	a.Handler.Crowd(-1)
	c.POST("/api/v1/projects", map[string]any{"name": "x"}).Want(t, 201)
	a.Handler.Crowd(1 - httpapi.MaxWorking)
	if n := a.Handler.Load().Refused; n != 2 {
		t.Errorf("%d were counted as refused, want 2", n)
	}
	if strings.Contains(a.Log(), `"level":"ERROR"`) {
		t.Errorf("a refusal is logged as an error: %s", a.Log())
	}
	becomes(t, a, "in work", 0, workingOf)
}

func TestGate_AWorkspaceLeavesRoomForOthers(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	one, other := a.Workspace(sheaf.Business), a.Workspace(sheaf.Business)
	a.Handler.CrowdWorkspace(one.ID, httpapi.WorkspaceWorking)
	wantNoRoom(t, one.Client("").GET("/api/v1/me"))
	other.Client("").GET("/api/v1/me").Want(t, 200)
	a.Handler.CrowdWorkspace(one.ID, -httpapi.WorkspaceWorking)
	one.Client("").GET("/api/v1/me").Want(t, 200)
}

// However many workspaces have filled their shares, nobody else's is touched; and nothing is kept of who has left.
func TestGate_SharesAreExact(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	c := a.Workspace(sheaf.Business).Client("")
	crowd := func(n int64) {
		for i := range 5000 {
			a.Handler.CrowdWorkspace(sheaf.WorkspaceID(fmt.Sprint("stranger ", i)), n)
		}
	}
	crowd(httpapi.WorkspaceWorking)
	c.GET("/api/v1/me").Want(t, 200)
	crowd(-httpapi.WorkspaceWorking)
	becomes(t, a, "in work", 0, workingOf)
	if n := a.Handler.Shares(); n != 0 {
		t.Errorf("the shares of %d workspaces are kept though none has a request", n)
	}
}

// Tests whose endpoints hang hold no place among the requests in work, are bounded for a subscription and a workspace,
// and leave a third workspace all that it asks for.
func TestGate_HangingTestsTakeNothingFromOthers(t *testing.T) {
	t.Parallel()
	made := apitest.SQLite(t)
	const hangs = "https://hangs.example/"
	arrived, hanging := make(chan struct{}, 1000), make(chan struct{})
	release := sync.OnceFunc(func() { close(hanging) })
	defer release()
	a := sending(t, made, guard.New(nil), func(_ context.Context, out sheaf.Outgoing) sheaf.Attempt {
		if out.URL == hangs {
			arrived <- struct{}{}
			<-hanging
		}
		return sheaf.Attempt{StatusCode: 200}
	})
	const keys, calls, perWorkspace = 3, 60, 8
	var answers [2]map[int]int
	var mu sync.Mutex // guards answers
	var asking sync.WaitGroup
	for i := range answers {
		answers[i] = map[int]int{}
		ws := made.Workspace(sheaf.Business)
		var ids []string
		for range 20 {
			ids = append(ids, idOf(subscribe(t, ws.Client(""), fields{"url": hangs})))
		}
		for range keys {
			key := ws.Key()
			for n := range calls {
				asking.Go(func() {
					r := a.Client(key).POST(at(subscriptions, ids[n%len(ids)])+"/test", nil)
					mu.Lock()
					defer mu.Unlock()
					answers[i][r.Status]++
					if r.Status == 429 && (r.JSON["code"] != "RATE_LIMITED" || r.Header.Get("Retry-After") != "1") {
						t.Errorf("refused with %s", r.Body)
					}
				})
			}
		}
	}
	for range len(answers) * perWorkspace {
		<-arrived
	}
	refused := func() int {
		mu.Lock()
		defer mu.Unlock()
		return answers[0][429] + answers[1][429]
	}
	for refused() < len(answers)*(keys*calls-perWorkspace) {
		time.Sleep(time.Millisecond)
	}
	becomes(t, a, "in work, though tests wait for their endpoints", 0, workingOf)
	third := a.Client(made.Workspace(sheaf.Business).Key())
	for range 59 {
		third.GET("/api/v1/projects").Want(t, 200)
	}
	mine := idOf(subscribe(t, third, fields{}))
	third.POST(at(subscriptions, mine)+"/test", nil).Want(t, 200)
	release()
	asking.Wait()
	for i, got := range answers {
		if got[200] != perWorkspace || got[429] != keys*calls-perWorkspace {
			t.Errorf("workspace %d: answers %v, want %d of 200 and the rest 429", i, got, perWorkspace)
		}
	}
}

// begin sends the head of a POST with a body of that size, and returns when the server waits for the body or has
// answered.
func begin(t *testing.T, a *apitest.API, key string, size int) (c net.Conn, status int) {
	t.Helper()
	c, err := net.Dial("tcp", a.Server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	fmt.Fprintf(c, "POST /api/v1/projects HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", key, size)
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	status, _ = strconv.Atoi(strings.Fields(line)[1])
	return c, status
}

func TestGate_LargeBodiesHaveABudget(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	ws, other := a.Workspace(sheaf.Business), a.Workspace(sheaf.Business)
	key := ws.Key()
	var open []net.Conn
	for i := range httpapi.MaxBodies / 4 / httpapi.MaxBody {
		c, status := begin(t, a, key, httpapi.MaxBody)
		if status != 100 {
			t.Fatalf("body %d: %d", i, status)
		}
		open = append(open, c)
	}
	becomes(t, a, "in work, though they wait for their bodies", 0, workingOf)
	if _, status := begin(t, a, key, httpapi.MaxBody); status != 503 {
		t.Errorf("a body beyond the workspace's share: %d, want 503", status)
	}
	wantNoRoom(t, ws.Client(key).Do("POST", "/api/v1/projects", io.MultiReader(strings.NewReader(`{"name":"chunked",`),
		strings.NewReader(strings.Repeat(" ", httpapi.MaxBody-64)), strings.NewReader(`"x":1}`))))
	ws.Client(key).POST("/api/v1/projects", map[string]any{"name": "small"}).Want(t, 201)
	if _, status := begin(t, a, other.Key(), httpapi.MaxBody); status != 100 {
		t.Errorf("a body of another workspace: %d", status)
	}
	for _, c := range open {
		c.Close()
	}
	becomes(t, a, "bytes of bodies", httpapi.MaxBody, bodiesOf)
	ws.Client(key).POST("/api/v1/projects", `{"name":"whole","x":"`+strings.Repeat("y", httpapi.MaxBody-100)+`"}`).Want(t, 201)
	becomes(t, a, "bytes of bodies", httpapi.MaxBody, bodiesOf)
}

func TestGate_AllBodiesTogetherHaveABudget(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	var status, n int
	for status = 100; status == 100; n++ {
		_, status = begin(t, a, a.Workspace(sheaf.Business).Key(), httpapi.MaxBody)
	}
	if want := httpapi.MaxBodies/httpapi.MaxBody + 1; status != 503 || n != want {
		t.Errorf("body %d was answered with %d, want 503 for the %d.", n, status, want)
	}
}

func TestGate_LargeAnswersHaveABudget(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	ws := a.Workspace(sheaf.Business)
	c := ws.Client("")
	payload := map[string]any{"text": strings.Repeat("x", 200_000)}
	for range 80 {
		c.POST("/api/v1/events", map[string]any{"type": "media.uploaded", "resource_id": sheaf.NewUUID(time.Now(), gateZeros{}), "payload": payload}).Want(t, 202)
	}
	key := ws.Key()
	one := sizeOf(t, a, key)
	for held := one; held < httpapi.MaxAnswers/4; held += one {
		unread(t, a, key)
		becomes(t, a, "bytes of answers that wait", held, answersOf)
	}
	wantNoRoom(t, c.GET("/api/v1/events?limit=80"))
	becomes(t, a, "in work, though they wait for their readers", 0, workingOf)
	c.GET("/api/v1/events?limit=1").Want(t, 200)
	a.Server.CloseClientConnections()
	becomes(t, a, "bytes of answers", 0, answersOf)
	if got := sizeOf(t, a, key); got != one {
		t.Errorf("got %d bytes, want %d", got, one)
	}
}

// sizeOf asks for a large page and takes it, without the checks of our own client: they would take seconds.
func sizeOf(t *testing.T, a *apitest.API, key string) int64 {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, a.Server.URL+"/api/v1/events?limit=80", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := a.Server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	n, err := io.Copy(io.Discard, res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("got %d, %v", res.StatusCode, err)
	}
	return n
}

type gateZeros struct{}

func (gateZeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// unread asks for a large page and does not take it.
func unread(t *testing.T, a *apitest.API, key string) {
	t.Helper()
	c, err := net.Dial("tcp", a.Server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.(*net.TCPConn).SetReadBuffer(4096)
	fmt.Fprintf(c, "GET /api/v1/events?limit=80 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", key)
}

func TestGate_StreamsAreCountedByThemselves(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	c := a.Workspace(sheaf.Business).Client("")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.Server.URL+"/api/v1/events/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	key := a.Workspace(sheaf.Business).Key()
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if l := a.Handler.Load(); l.Streams != 1 || l.Working != 0 {
		t.Errorf("%+v with a stream open", l)
	}
	a.Handler.CrowdStreams(httpapi.MaxStreams - 1)
	c.GET("/api/v1/events/stream").WantError(t, 503, "UNAVAILABLE", "streams")
	a.Handler.CrowdStreams(1 - httpapi.MaxStreams)
	res.Body.Close()
	becomes(t, a, "streams", 0, func(l httpapi.Load) int64 { return int64(l.Streams) })
	becomes(t, a, "in work", 0, workingOf)
}
