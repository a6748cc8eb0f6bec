package obs_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sheaf.dev/internal/obs"
	"sheaf.dev/internal/sheaftest"
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
		synctest.Test(t, func(t *testing.T) { // in real time Close may give up before a busy machine has written
			for _, json := range []bool{false, true} {
				var out bytes.Buffer
				lines := obs.NewLines(&out)
				obs.LogRequest(obs.NewLog(lines, json, slog.LevelInfo), r)
				lines.Close()
				got, want := clock.ReplaceAllString(out.String(), "$1"), clock.ReplaceAllString(slogs(json, r), "$1")
				if got != want {
					t.Errorf("json %v:\n%s\nslog writes\n%s", json, got, want)
				}
			}
		})
	})
}

func TestLogRequest_ShowsItsTimeAsSlogDoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := time.Date(2026, 11, 15, 6, 23, 48, 303_400_000, time.FixedZone("", 3600))
		for json, want := range map[bool]string{false: "time=2026-11-15T06:23:48.303+01:00 ", true: `"time":"2026-11-15T06:23:48.3034+01:00"`} {
			var out bytes.Buffer
			lines := obs.NewLines(&out)
			log := obs.NewLog(lines, json, slog.LevelInfo)
			obs.LogRequest(log, &obs.Request{At: at})
			lines.Close()
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is not in %s", want, &out)
			}
		}
	})
}

func TestLogRequest_KeepsWhatWasBoundBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		lines := obs.NewLines(&out)
		log := obs.NewLog(lines, false, slog.LevelInfo)
		obs.LogRequest(log.With("node", "n1"), &obs.Request{Method: "GET"})
		obs.LogRequest(log.WithGroup("http"), &obs.Request{Method: "GET"})
		lines.Close()
		for _, want := range []string{"node=n1 method=GET", "http.method=GET"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is not in %s", want, &out)
			}
		}
	})
}

func TestLogRequest_IsSilentAboveItsLevel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		lines := obs.NewLines(&out)
		log := obs.NewLog(lines, false, slog.LevelWarn)
		obs.LogRequest(log, &obs.Request{Method: "GET"})
		lines.Close()
		if out.Len() > 0 {
			t.Errorf("wrote %s", &out)
		}
	})
}

func TestLog_HoldsALineBackForATenthOfASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out sheaftest.Output
		lines := obs.NewLines(&out)
		log := obs.NewLog(lines, false, slog.LevelInfo)
		for _, word := range []string{"first", "second"} {
			log.Info(word)
			time.Sleep(90 * time.Millisecond) // simulated
			synctest.Wait()
			if strings.Contains(out.String(), word) {
				t.Errorf("%s was written at once", word)
			}
			time.Sleep(10 * time.Millisecond) // simulated
			synctest.Wait()
			if !strings.Contains(out.String(), word) {
				t.Errorf("%s was not written within 100 ms", word)
			}
		}
	})
}

func TestLog_LetsNoWarningWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out sheaftest.Output
		log := obs.NewLog(obs.NewLines(&out), false, slog.LevelInfo)
		log.Info("before")
		log.With("a", 1).Warn("alarm")
		got := out.String()
		if before, alarm := strings.Index(got, "before"), strings.Index(got, "alarm"); before < 0 || alarm < before {
			t.Errorf("wrote %q", got)
		}
	})
}

func TestLog_WritesWholeLinesInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out sheaftest.Output
		lines := obs.NewLines(&out)
		log := obs.NewLog(lines, false, slog.LevelInfo)
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
		lines.Close()
		if got := strings.Count(out.String(), `method=GET path=/api/v1/projects status=200 duration=0s request_id="" key_id=""`+"\n"); got != n {
			t.Errorf("%d whole lines of %d", got, n)
		}
	})
}

// stuck is a pipe that nobody reads until it is let go.
type stuck struct {
	sheaftest.Output
	free chan struct{} // closed: it is read
}

func (s *stuck) Write(b []byte) (int, error) {
	<-s.free
	return s.Output.Write(b)
}

// A goroutine that logs a line of any level continues, even if the log is not read. Lines that do not
// fit are counted, and the count is logged when the reader is back.
func TestLog_NobodyReads(t *testing.T) {
	for _, json := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			out := &stuck{free: make(chan struct{})}
			lines := obs.NewLines(out)
			log := obs.NewLog(lines, json, slog.LevelInfo)
			began := time.Now()
			const n = 40_000
			for i := range n / 2 {
				log.Warn("alarm", "number", i)
				obs.LogRequest(log, &obs.Request{Method: "GET", Path: "/api/v1/projects", Status: 200})
			}
			if waited := time.Since(began); waited > time.Second {
				t.Errorf("%d lines took %v", n, waited)
			}
			fmt.Fprintln(lines.AtOnce(), "why it ends")
			lines.Close()
			if waited := time.Since(began); waited > 5*time.Second {
				t.Errorf("the end took %v", waited)
			}
			page := scrape(t, lines.Register)
			close(out.free)
			lines.Close()
			got := out.String()
			whole := strings.Count(got, "alarm") + strings.Count(got, "served request")
			told := regexp.MustCompile(`dropped lines of the log: nobody read it"(?: |,")lines(?:=|":)(\d+)`).FindStringSubmatch(got)
			if told == nil || told[1] != fmt.Sprint(n-whole) || whole < 5_000 || whole == n {
				t.Errorf("of %d lines %d were written, and the log reports %q", n, whole, told)
			}
			shows(t, page, fmt.Sprintf("sheaf_log_lines_dropped_total %d", n-whole))
			if !strings.Contains(got, "why it ends\n") {
				t.Error("why the program ends was dropped")
			}
			log.Info("after")
			lines.Close()
			if !strings.Contains(out.String(), "after") || strings.Count(out.String(), "dropped lines") != 1 {
				t.Error("the log does not go on as before")
			}
		})
	}
}

func BenchmarkLogRequest(b *testing.B) {
	r := &obs.Request{At: time.Date(2026, 11, 15, 6, 23, 48, 303_000_000, time.UTC), Method: "GET", Status: 200,
		Path: "/api/v1/projects/0190b0a0-0000-7000-8000-000000000000", Duration: 31_976, ID: "55334cb5596a-481", Key: "0190b0a0-0000-7000-8000-000000000000"}
	lines := obs.NewLines(io.Discard)
	own := obs.NewLog(lines, false, slog.LevelInfo)
	defer lines.Close()
	for name, log := range map[string]*slog.Logger{"own": own, "slog": slog.New(slog.NewTextHandler(io.Discard, nil))} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				obs.LogRequest(log, r)
			}
		})
	}
}
