package overload

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest/plant"
	"sheaf.dev/internal/sheaftest/proctest"
	"sheaf.dev/internal/sheaftest/proof"
)

// D112: readers of one tenant's share who open it all the time, from many addresses, keep no reader of another tenant's out.
func TestPasswords_OneTenantLeavesRoomForOthers(t *testing.T) {
	t.Parallel()
	readers := proof.Rounds(6, 12, 12)
	in := openBeside(t, proctest.New(t), readers)
	control := proctest.New(t)
	control.Binary = proctest.Planted(t, plant.OneLine)
	unfair := openBeside(t, control, readers)
	if in != readers {
		t.Errorf("%d of %d readers got in", in, readers)
	}
	proof.Row{Name: "passwords of shares", Figures: []proof.Figure{{Name: "readers of another tenant", Value: readers}, {Name: "of them got in", Value: in}},
		Lost: readers - in, Control: "one line for all tenants", Caught: unfair < readers}.Report(t)
}

// openBeside returns how many readers of a share, one after the other, open it while readers of another tenant's share
// never stop. For each reader that it counts, at most two readers of the other share got a turn first.
func openBeside(t *testing.T, p *proctest.Program, readers int) (in int) {
	t.Helper()
	client := newClient(t)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	keys := []string{p.Workspace(t, "busy"), p.Workspace(t, "other")}
	s := p.Start(t, "--trusted-proxy", "127.0.0.1")
	var paths []string
	for _, key := range keys {
		var document, share map[string]any
		if status, err := proctest.Call(client, s.URL, key, http.MethodPost, "/api/v1/documents", map[string]any{"title": "d"}, &document); err != nil || status != http.StatusCreated {
			t.Fatalf("document: %d, %v", status, err)
		}
		status, err := proctest.Call(client, s.URL, key, http.MethodPost, "/api/v1/shares",
			map[string]any{"resource_type": "document", "resource_id": document["id"], "password": "open sesame"}, &share)
		if err != nil || status != http.StatusCreated {
			t.Fatalf("share: %d, %v", status, err)
		}
		address, _ := share["url"].(string)
		paths = append(paths, address[strings.Index(address, "/s/"):])
	}
	var addresses atomic.Uint32
	open := func(path string) int {
		n := addresses.Add(1)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(url.Values{"password": {"open sesame"}}.Encode()))
		if err != nil {
			t.Error(err)
			return 0
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("X-Forwarded-For", fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255))
		answer, err := client.Do(r)
		if err != nil {
			t.Errorf("open a share: %v", err)
			return 0
		}
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	var all sync.WaitGroup
	var stop atomic.Bool
	var busy, served atomic.Int64 // openings of the busy share: refused for want of a turn, and done
	for range 32 {
		all.Go(func() {
			for !stop.Load() {
				switch open(paths[0]) {
				case http.StatusSeeOther:
					served.Add(1)
				case http.StatusServiceUnavailable:
					busy.Add(1)
					time.Sleep(10 * time.Millisecond) // the pace of a load
				}
			}
		})
	}
	for busy.Load() < 20 && !t.Failed() { // its line is full
		time.Sleep(10 * time.Millisecond) // between two looks at the load
	}
	for range readers {
		for !t.Failed() {
			before, start := served.Load(), time.Now()
			if open(paths[1]) == http.StatusSeeOther {
				in++
				break
			}
			if time.Since(start) < 4*time.Second || served.Load()-before > 2 {
				break // refused at once, or others got the reader's turns
			}
			// No turn came within 5 seconds, because the machine hashed only one or two passwords
			// in that time. So the reader tries again.
		}
	}
	stop.Store(true)
	all.Wait()
	return in
}
