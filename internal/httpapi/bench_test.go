package httpapi_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sheaf.dev/internal/httpapi"
	"sheaf.dev/internal/obs"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// The hot paths, without sockets: compare two states of the tree by
//
//	go test ./internal/httpapi -run '^$' -bench . -count 10 | tee new; benchstat old new

// bench is a handler over a SQLite file with a workspace of 100 projects.
type bench struct {
	handler  *httpapi.Server
	key      string
	projects []string // paths
}

func newBench(b *testing.B) *bench {
	log, flush := obs.NewLog(logFile(b), false, slog.LevelInfo)
	a := apitest.SQLite(b, func(c *httpapi.Config) { c.Log, c.Now = log, time.Now })
	b.Cleanup(flush)
	x := &bench{handler: a.Handler, key: a.Workspace(sheaf.Business).Key()}
	for range 100 {
		created := x.create()
		id := strings.SplitN(created.Body.String(), `"`, 5)[3]
		x.projects = append(x.projects, "/api/v1/projects/"+id)
	}
	b.ReportAllocs()
	return x
}

func (x *bench) request(method, path, body string) *http.Request {
	r := httptest.NewRequest(method, path, nil)
	if body != "" {
		r = httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Authorization", "Bearer "+x.key)
	return r
}

func (x *bench) create() *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	x.handler.ServeHTTP(w, x.request("POST", "/api/v1/projects", `{"name":"Quarterly report","description":"What it is about, in a sentence or two.","icon":"book-open"}`))
	return w
}

// sink is a ResponseWriter that costs next to nothing.
type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(status int)      { s.status = status }
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }

// serve answers the request until the benchmark ends; before each, it calls first.
func (x *bench) serve(b *testing.B, r *http.Request, status int, first func()) {
	w := &sink{header: http.Header{}}
	for b.Loop() {
		first()
		clear(w.header)
		x.handler.ServeHTTP(w, r)
		if w.status != status {
			b.Fatalf("answered %d", w.status)
		}
	}
}

func nothing() {}

func BenchmarkGetProject_Cached(b *testing.B) {
	x := newBench(b)
	x.serve(b, x.request("GET", x.projects[0], ""), 200, nothing)
}

func BenchmarkGetProject_Cold(b *testing.B) {
	x := newBench(b)
	x.serve(b, x.request("GET", x.projects[0], ""), 200, x.handler.ForgetPages)
}

func BenchmarkListProjects_Cached(b *testing.B) {
	x := newBench(b)
	x.serve(b, x.request("GET", "/api/v1/projects?limit=50", ""), 200, nothing)
}

func BenchmarkListProjects_Cold(b *testing.B) {
	x := newBench(b)
	x.serve(b, x.request("GET", "/api/v1/projects?limit=50", ""), 200, x.handler.ForgetPages)
}

func BenchmarkAuthenticate(b *testing.B) {
	x := newBench(b)
	for b.Loop() {
		if _, err := x.handler.App.Authenticate(b.Context(), x.key); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCreateProject_1(b *testing.B)  { benchmarkCreate(b, 1) }
func BenchmarkCreateProject_64(b *testing.B) { benchmarkCreate(b, 64) }

func benchmarkCreate(b *testing.B, clients int) {
	x := newBench(b)
	var left atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	b.ResetTimer()
	for range clients {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if w := x.create(); w.Code != 201 {
					b.Errorf("answered %d", w.Code)
					return
				}
			}
		})
	}
	all.Wait()
}

// logFile is where the log goes by default: a file, not a terminal.
func logFile(b *testing.B) *os.File {
	f, err := os.Create(b.TempDir() + "/log")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	return f
}
