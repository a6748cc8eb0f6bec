package httpapi_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
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
	api      *apitest.API
	handler  *httpapi.Server
	key      string
	projects []string // paths
}

func newBench(b *testing.B) *bench {
	lines := obs.NewLines(logFile(b))
	log := obs.NewLog(lines, false, slog.LevelInfo)
	a := apitest.SQLite(b, func(c *apitest.Config) { c.Log, c.Now = log, time.Now })
	b.Cleanup(func() { lines.Close() })
	x := &bench{api: a, handler: a.Handler, key: a.Workspace(sheaf.Business).Key()}
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
	x.api.Front.ServeHTTP(w, x.request("POST", "/api/v1/projects", `{"name":"Quarterly report","description":"What it is about, in a sentence or two.","icon":"book-open"}`))
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
		x.api.Front.ServeHTTP(w, r)
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

// One workspace writes while other workspaces have silent streams. The result is the processor
// time of both together.
func BenchmarkCreateProject_BesideStreams(b *testing.B) {
	for _, streams := range []int{0, 200, 2000} {
		b.Run(strconv.Itoa(streams), func(b *testing.B) { benchmarkBesideStreams(b, streams) })
	}
}

func benchmarkBesideStreams(b *testing.B, streams int) {
	x := newBench(b)
	ctx, end := context.WithCancel(b.Context())
	var following sync.WaitGroup
	defer following.Wait()
	defer end()
	for range streams {
		r := x.request("GET", "/api/v1/events/stream", "").WithContext(ctx)
		r.Header.Set("Authorization", "Bearer "+x.api.Workspace(sheaf.Business).Key())
		w := &listener{sink: sink{header: http.Header{}}, follows: make(chan struct{})}
		following.Go(func() { x.api.Front.ServeHTTP(w, r) })
		<-w.follows
	}
	b.ResetTimer()
	before := processorTime(b)
	for range b.N {
		if w := x.create(); w.Code != 201 {
			b.Fatalf("answered %d", w.Code)
		}
	}
	b.ReportMetric(float64((processorTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
}

// listener is the reader of a stream.
type listener struct {
	sink
	once    sync.Once
	follows chan struct{} // closed by the first bytes
}

func (l *listener) Write(p []byte) (int, error) {
	l.once.Do(func() { close(l.follows) })
	return len(p), nil
}

func (l *listener) Flush()                           {}
func (l *listener) SetReadDeadline(time.Time) error  { return nil }
func (l *listener) SetWriteDeadline(time.Time) error { return nil }

func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
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

// BenchmarkUploadMedium_16 uploads different files of 1 MB.
func BenchmarkUploadMedium_16(b *testing.B) {
	x := newBench(b)
	var left atomic.Int64
	left.Store(int64(b.N))
	b.SetBytes(1 << 20)
	var all sync.WaitGroup
	b.ResetTimer()
	for range 16 {
		all.Go(func() {
			content := make([]byte, 1<<20)
			for n := left.Add(-1); n >= 0; n = left.Add(-1) {
				copy(content, strconv.FormatInt(n, 10)+" ")
				r := httptest.NewRequest("POST", "/api/v1/media?filename=a", bytes.NewReader(content))
				r.Header.Set("Authorization", "Bearer "+x.key)
				w := &sink{header: http.Header{}}
				if x.api.Front.ServeHTTP(w, r); w.status != 201 {
					b.Errorf("answered %d", w.status)
					return
				}
			}
		})
	}
	all.Wait()
}

// BenchmarkDownloadMedium_16 reads a file of 1 MB over the network, by 16 clients, beside http.ServeFile on the same bytes.
func BenchmarkDownloadMedium_16(b *testing.B) {
	x := newBench(b)
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	upload := httptest.NewRequest("POST", "/api/v1/media?filename=a", bytes.NewReader(content))
	upload.Header.Set("Authorization", "Bearer "+x.key)
	made := httptest.NewRecorder()
	x.api.Front.ServeHTTP(made, upload)
	at, err := made.Result().Location()
	if err != nil {
		b.Fatal(err)
	}
	path := b.TempDir() + "/a"
	if err := os.WriteFile(path, content, 0o600); err != nil {
		b.Fatal(err)
	}
	bare := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, path) })
	for _, by := range []struct {
		name    string
		handler http.Handler
	}{{"bare", bare}, {"sheaf", x.api.Front}} {
		b.Run(by.name, func(b *testing.B) {
			server := httptest.NewServer(by.handler)
			defer server.Close()
			b.SetBytes(int64(len(content)))
			before := processorTime(b)
			x.download(b, server.URL+at.Path+"/content", 16)
			b.ReportMetric(float64((processorTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}

// download reads an address b.N times, with `clients` clients.
func (x *bench) download(b *testing.B, url string, clients int) {
	var left atomic.Int64
	left.Store(int64(b.N))
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer client.CloseIdleConnections()
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				r, _ := http.NewRequest("GET", url, nil)
				r.Header.Set("Authorization", "Bearer "+x.key)
				w, err := client.Do(r)
				if err != nil {
					b.Error(err)
					return
				}
				n, err := io.Copy(io.Discard, w.Body)
				if w.Body.Close(); err != nil || w.StatusCode != 200 || n != 1<<20 {
					b.Errorf("answered %d with %d bytes: %v", w.StatusCode, n, err)
					return
				}
			}
		})
	}
	all.Wait()
}
