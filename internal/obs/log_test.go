package obs_test

import (
	"bytes"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sheaf.dev/internal/obs"
)

// slogs writes the line by slog itself.
func slogs(json bool, r *obs.Request) string {
	var out bytes.Buffer
	var h slog.Handler = slog.NewTextHandler(&out, nil)
	if json {
		h = slog.NewJSONHandler(&out, nil)
	}
	obs.LogRequest(slog.New(h), r)
	return out.String()
}

var clock = regexp.MustCompile(`(time=|"time":")[0-9T:.+Z-]+`)

func FuzzLogRequest_IsTheLineThatSlogWrites(f *testing.F) {
	f.Add("GET", "/api/v1/projects/0190b0a0-0000-7000-8000-000000000000", 200, int64(571976), "55334cb5596a-481", "0190b0a0")
	f.Add("GET", `/a b"c`, 404, int64(0), "a", "")
	f.Add("", "/é\x00=\\", 0, int64(-1), "<>", "\n")
	f.Fuzz(func(t *testing.T, method, path string, status int, took int64, id, key string) {
		r := &obs.Request{At: time.Date(2026, 11, 15, 6, 23, 48, 303_000_000, time.UTC), Method: method, Path: path, Status: status,
			Duration: time.Duration(took), ID: id, Key: key}
		for _, json := range []bool{false, true} {
			var out bytes.Buffer
			log, flush := obs.NewLog(&out, json, slog.LevelInfo)
			obs.LogRequest(log, r)
			flush()
			got, want := clock.ReplaceAllString(out.String(), "$1"), clock.ReplaceAllString(slogs(json, r), "$1")
			if got != want {
				t.Errorf("json %v:\n%s\nslog writes\n%s", json, got, want)
			}
		}
	})
}

func TestLogRequest_ShowsItsTimeAsSlogDoes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 15, 6, 23, 48, 303_400_000, time.FixedZone("", 3600))
	for json, want := range map[bool]string{false: "time=2026-11-15T06:23:48.303+01:00 ", true: `"time":"2026-11-15T06:23:48.3034+01:00"`} {
		var out bytes.Buffer
		log, flush := obs.NewLog(&out, json, slog.LevelInfo)
		obs.LogRequest(log, &obs.Request{At: at})
		flush()
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %s", want, &out)
		}
	}
}

func TestLogRequest_KeepsWhatWasBoundBefore(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, flush := obs.NewLog(&out, false, slog.LevelInfo)
	obs.LogRequest(log.With("node", "n1"), &obs.Request{Method: "GET"})
	obs.LogRequest(log.WithGroup("http"), &obs.Request{Method: "GET"})
	flush()
	for _, want := range []string{"node=n1 method=GET", "http.method=GET"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %s", want, &out)
		}
	}
}

func TestLogRequest_IsSilentAboveItsLevel(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, flush := obs.NewLog(&out, false, slog.LevelWarn)
	obs.LogRequest(log, &obs.Request{Method: "GET"})
	flush()
	if out.Len() > 0 {
		t.Errorf("wrote %s", &out)
	}
}

// shared is a buffer that may be read while a timer writes to it.
type shared struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(b)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}

func TestLog_HoldsALineBackForATenthOfASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out shared
		log, _ := obs.NewLog(&out, false, slog.LevelInfo)
		for _, word := range []string{"first", "second"} {
			log.Info(word)
			time.Sleep(90 * time.Millisecond)
			synctest.Wait()
			if strings.Contains(out.String(), word) {
				t.Errorf("%s was written at once", word)
			}
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
			if !strings.Contains(out.String(), word) {
				t.Errorf("%s was not written within 100 ms", word)
			}
		}
	})
}

func TestLog_LetsNoWarningWait(t *testing.T) {
	t.Parallel()
	var out shared
	log, _ := obs.NewLog(&out, false, slog.LevelInfo)
	log.Info("before")
	log.With("a", 1).Warn("alarm")
	got := out.String()
	if before, alarm := strings.Index(got, "before"), strings.Index(got, "alarm"); before < 0 || alarm < before {
		t.Errorf("wrote %q", got)
	}
}

func TestLog_WritesWholeLinesInTheirOrder(t *testing.T) {
	t.Parallel()
	var out shared
	log, flush := obs.NewLog(&out, false, slog.LevelInfo)
	const n = 2000 // more than one buffer
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range n / 4 {
				obs.LogRequest(log, &obs.Request{Method: "GET", Path: "/api/v1/projects", Status: 200})
			}
		})
	}
	all.Wait()
	flush()
	if got := strings.Count(out.String(), `method=GET path=/api/v1/projects status=200 duration=0s request_id="" key_id=""`+"\n"); got != n {
		t.Errorf("%d whole lines of %d", got, n)
	}
}

func BenchmarkLogRequest(b *testing.B) {
	r := &obs.Request{At: time.Date(2026, 11, 15, 6, 23, 48, 303_000_000, time.UTC), Method: "GET", Status: 200,
		Path: "/api/v1/projects/0190b0a0-0000-7000-8000-000000000000", Duration: 31_976, ID: "55334cb5596a-481", Key: "0190b0a0-0000-7000-8000-000000000000"}
	own, flush := obs.NewLog(io.Discard, false, slog.LevelInfo)
	defer flush()
	for name, log := range map[string]*slog.Logger{"own": own, "slog": slog.New(slog.NewTextHandler(io.Discard, nil))} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				obs.LogRequest(log, r)
			}
		})
	}
}
