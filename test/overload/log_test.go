package overload

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/proctest"
)

// forever is a bound that only a server that hangs meets.
const forever = 2 * time.Minute

// The log's reader stalls: the pipe is full. Requests, probes and the metrics are answered as ever; the reader that is
// back is told how many lines it missed; and a stop ends the program although nobody reads why.
func TestLog_NobodyReadsIt(t *testing.T) {
	t.Parallel()
	w := startUnread(t)
	w.fill(t)
	told := w.readUpTo(t, regexp.MustCompile(`dropped lines of the log: nobody read it" lines=(\d+)`))
	if missed := w.dropped(t); told != strconv.Itoa(missed) {
		t.Errorf("the log reports %s dropped lines, and the metric says %d", told, missed)
	}
	w.fill(t)
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-w.ended:
	case <-time.After(forever):
		t.Fatal("SIGTERM does not end it")
	}
	if code := w.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("it ended with %d", code)
	}
}

// unread is a server whose standard error is read on demand alone.
type unread struct {
	cmd          *exec.Cmd
	url, metrics string
	log          *bufio.Reader
	client       *http.Client
	ended        chan struct{}
}

func startUnread(t *testing.T) *unread {
	t.Helper()
	port, err := sheaftest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	cmd := proctest.New(t).Command("serve", "--addr", "127.0.0.1:0", "--first-run", "none", "--metrics-addr", "127.0.0.1:"+port)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	w := &unread{cmd: cmd, metrics: "http://127.0.0.1:" + port + "/metrics", log: bufio.NewReader(read),
		client: &http.Client{Timeout: forever, Transport: &http.Transport{}}, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(w.ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-w.ended
		read.Close()
		w.client.CloseIdleConnections()
	})
	w.url = w.readUpTo(t, regexp.MustCompile(`listening on (\S+)`))
	return w
}

// readUpTo reads the log up to a line, and returns what its group holds.
func (w *unread) readUpTo(t *testing.T, line *regexp.Regexp) string {
	t.Helper()
	for {
		text, err := w.log.ReadString('\n')
		if found := line.FindStringSubmatch(text); found != nil {
			return found[1]
		}
		if err != nil {
			t.Fatalf("the log ends without %s: %v", line, err)
		}
	}
}

// fill sends requests, whose lines are long, until more lines are dropped than were before, and then asks for the probe.
func (w *unread) fill(t *testing.T) {
	t.Helper()
	before := w.dropped(t)
	for range 100 {
		for range 200 {
			w.get(t, w.url+"/api/v1/"+strings.Repeat("a", 2000), http.StatusUnauthorized)
		}
		if w.dropped(t) > before {
			w.get(t, w.url+"/healthz", http.StatusOK)
			return
		}
	}
	t.Fatal("20,000 lines that nobody reads were all kept")
}

func (w *unread) get(t *testing.T, url string, want int) {
	t.Helper()
	res, err := w.client.Get(url)
	if err != nil {
		t.Fatalf("while nobody reads the log: %v", err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != want {
		t.Fatalf("while nobody reads the log: %d, %v", res.StatusCode, err)
	}
}

func (w *unread) dropped(t *testing.T) int {
	t.Helper()
	figures, err := proctest.Figures(w.client, w.metrics)
	if err != nil {
		t.Fatal(err)
	}
	return int(figures["sheaf_log_lines_dropped_total"])
}
