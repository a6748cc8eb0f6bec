package front_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/apitest"
)

// becomes waits until the front counts what is wanted.
func becomes(t *testing.T, a *apitest.API, what string, want int64, get func(front.Load) int64) {
	t.Helper()
	sheaftest.Eventually(t, fmt.Sprint(what, ": ", want), func() bool { return get(a.Front.Load()) == want })
}

func workingOf(l front.Load) int64 { return l.Working }
func bodiesOf(l front.Load) int64  { return l.Bodies }
func answersOf(l front.Load) int64 { return l.Answers }

// wantNoRoom checks a refusal for want of room.
func wantNoRoom(t *testing.T, got *apitest.Response) {
	t.Helper()
	got.WantError(t, 503, "UNAVAILABLE", "Retry-After")
	if n, err := strconv.Atoi(got.Header.Get("Retry-After")); err != nil || n < 1 || n > 3 {
		t.Errorf("Retry-After is %q", got.Header.Get("Retry-After"))
	}
}

func TestAdmission_RefusesWhatIsTooMuchAndNothingAfter(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	c := a.Workspace(sheaf.Business).Client("")
	a.Front.Crowd(front.MaxWorking)
	wantNoRoom(t, c.POST("/api/v1/projects", map[string]any{"name": "x"}))
	wantNoRoom(t, c.GET("/api/v1/projects"))
	for _, probe := range []string{"/healthz", "/readyz"} {
		a.Client("").GET(probe).Want(t, 200)
	}
	a.Front.Crowd(-1)
	c.POST("/api/v1/projects", map[string]any{"name": "x"}).Want(t, 201)
	a.Front.Crowd(1 - front.MaxWorking)
	if n := a.Front.Load().Refused; n != 2 {
		t.Errorf("%d were counted as refused, want 2", n)
	}
	if strings.Contains(a.Log(), `"level":"ERROR"`) {
		t.Errorf("a refusal is logged as an error: %s", a.Log())
	}
	becomes(t, a, "in work", 0, workingOf)
}

func TestAdmission_AWorkspaceLeavesRoomForOthers(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	one, other := a.Workspace(sheaf.Business), a.Workspace(sheaf.Business)
	a.Front.CrowdWorkspace(string(one.ID), front.WorkspaceWorking)
	wantNoRoom(t, one.Client("").GET("/api/v1/me"))
	other.Client("").GET("/api/v1/me").Want(t, 200)
	a.Front.CrowdWorkspace(string(one.ID), -front.WorkspaceWorking)
	one.Client("").GET("/api/v1/me").Want(t, 200)
}

// However many workspaces have filled their shares, those of other workspaces stay free. Nothing
// is kept about a workspace whose requests have ended.
func TestAdmission_SharesAreExact(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	c := a.Workspace(sheaf.Business).Client("")
	crowd := func(n int64) {
		for i := range 5000 {
			a.Front.CrowdWorkspace(fmt.Sprint("stranger ", i), n)
		}
	}
	crowd(front.WorkspaceWorking)
	c.GET("/api/v1/me").Want(t, 200)
	crowd(-front.WorkspaceWorking)
	becomes(t, a, "in work", 0, workingOf)
	if n := a.Front.Shares(); n != 0 {
		t.Errorf("the shares of %d workspaces are kept though none has a request", n)
	}
}

// begin sends the head of a POST with a body of that size, and returns when the server waits for
// the body or has answered.
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

func TestAdmission_LargeBodiesHaveABudget(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	a.Clock.Freeze() // the time of a body that does not arrive is never over
	ws, other := a.Workspace(sheaf.Business), a.Workspace(sheaf.Business)
	key := ws.Key()
	var open []net.Conn
	for i := range front.MaxBodies / 4 / front.MaxBody {
		c, status := begin(t, a, key, front.MaxBody)
		if status != 100 {
			t.Fatalf("body %d: %d", i, status)
		}
		open = append(open, c)
	}
	becomes(t, a, "in work, though they wait for their bodies", 0, workingOf)
	if _, status := begin(t, a, key, front.MaxBody); status != 503 {
		t.Errorf("a body beyond the workspace's share: %d, want 503", status)
	}
	wantNoRoom(t, ws.Client(key).Do("POST", "/api/v1/projects", io.MultiReader(strings.NewReader(`{"name":"chunked",`),
		strings.NewReader(strings.Repeat(" ", front.MaxBody-64)), strings.NewReader(`"x":1}`))))
	ws.Client(key).POST("/api/v1/projects", map[string]any{"name": "small"}).Want(t, 201)
	if _, status := begin(t, a, other.Key(), front.MaxBody); status != 100 {
		t.Errorf("a body of another workspace: %d", status)
	}
	for _, c := range open {
		c.Close()
	}
	becomes(t, a, "bytes of bodies", front.MaxBody, bodiesOf)
	ws.Client(key).POST("/api/v1/projects", `{"name":"whole","x":"`+strings.Repeat("y", front.MaxBody-100)+`"}`).Want(t, 201)
	becomes(t, a, "bytes of bodies", front.MaxBody, bodiesOf)
}

func TestAdmission_AllBodiesTogetherHaveABudget(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	a.Clock.Freeze() // likewise
	var status, n int
	for status = 100; status == 100; n++ {
		_, status = begin(t, a, a.Workspace(sheaf.Business).Key(), front.MaxBody)
	}
	if want := front.MaxBodies/front.MaxBody + 1; status != 503 || n != want {
		t.Errorf("body %d was answered with %d, want 503 for the %d.", n, status, want)
	}
}

func TestAdmission_LargeAnswersHaveABudget(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	ws := a.Workspace(sheaf.Business)
	c := ws.Client("")
	payload := map[string]any{"text": strings.Repeat("x", 200_000)}
	for range 80 {
		c.POST("/api/v1/events", map[string]any{"type": "media.uploaded", "resource_id": sheaf.NewUUID(time.Now(), zeros{}), "payload": payload}).Want(t, 202)
	}
	key := ws.Key()
	one := sizeOf(t, a, key)
	for held := one; held < front.MaxAnswers/4; held += one {
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

// sizeOf asks for a large page and takes it, without the checks of our own client: they would take
// seconds.
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

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

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

func TestAdmission_StreamsAreCountedByThemselves(t *testing.T) {
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
	if l := a.Front.Load(); l.Streams != 1 || l.Working != 0 {
		t.Errorf("%+v with a stream open", l)
	}
	a.Front.CrowdStreams(front.MaxStreams - 1)
	c.GET("/api/v1/events/stream").WantError(t, 503, "UNAVAILABLE", "streams")
	a.Front.CrowdStreams(1 - front.MaxStreams)
	res.Body.Close()
	becomes(t, a, "streams", 0, func(l front.Load) int64 { return int64(l.Streams) })
	becomes(t, a, "in work", 0, workingOf)
}
