package overload

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest/plant"
	"sheaf.dev/internal/sheaftest/proctest"
	"sheaf.dev/internal/sheaftest/proof"
)

const (
	// hardTexts is more than the cache of rendered texts holds.
	hardTexts = 64
	// renderers is the number of connections on which one API key asks for hard texts.
	renderers = 128
	// mayOvertake bounds how many hard texts of the busy tenant are rendered during one short request of
	// another, at the median. A fair server renders both side by side. In one queue for all, seven hard texts
	// wait before the short one.
	mayOvertake = 3
	// mayTake bounds the p99 of the other tenant, in times that one hard text takes alone.
	mayTake = 4
	// renderMemory is the memory that the program may have resident: 256 MiB for two texts, and answers.
	renderMemory = 512 << 20
)

// rendering is the outcome of short texts being rendered beside hard ones.
type rendering struct {
	hard, alone, beside time.Duration // one hard text alone, and p99 of a short one, alone and beside
	refused             int           // requests of the other tenant
	overtaken           int           // hard texts that were rendered during a short request, at the median
	peak                int64
}

// complaints returns the promises that were broken. A busy machine decides on times, so they count only in
// the long forms.
func (r rendering) complaints() (out []string) {
	if r.refused > 0 {
		out = append(out, fmt.Sprintf("%d requests of another tenant were refused", r.refused))
	}
	if r.overtaken > mayOvertake {
		out = append(out, fmt.Sprintf("%d hard texts were rendered during one short request", r.overtaken))
	}
	if proof.Rounds(0, 1, 1) == 1 && r.beside > mayTake*max(r.hard, r.alone) {
		out = append(out, fmt.Sprintf("another tenant's short text takes %v, a hard one %v", r.beside, r.hard))
	}
	if r.peak > renderMemory {
		out = append(out, fmt.Sprintf("the program took %d MB", r.peak>>20))
	}
	return out
}

// One API key that renders hard texts of 1 MiB on many connections delays no other tenant's short text.
func TestRendering_OneTenantLeavesRoomForOthers(t *testing.T) {
	t.Parallel()
	short := proof.Rounds(10, 100, 300)
	got := renderBeside(t, proctest.New(t), short)
	control := proctest.New(t)
	control.Binary = proctest.Planted(t, plant.OneQueue)
	unfair := renderBeside(t, control, short)
	t.Logf("one queue for all: %+v", unfair)
	complaints := got.complaints()
	for _, c := range complaints {
		t.Error(c)
	}
	proof.Row{Name: "rendering", Figures: []proof.Figure{{Name: "connections", Value: renderers}, {Name: "short texts of another tenant", Value: short},
		{Name: "refused", Value: got.refused}, {Name: "p99 alone", Value: got.alone.Round(time.Millisecond / 10)}, {Name: "p99 beside", Value: got.beside.Round(time.Millisecond / 10)},
		{Name: "one hard text alone", Value: got.hard.Round(time.Millisecond)}, {Name: "hard texts during a short one", Value: got.overtaken}, {Name: "peak memory MB", Value: got.peak >> 20}},
		Lost: len(complaints), Control: "one queue for all tenants", Caught: len(unfair.complaints()) > 0}.Report(t)
}

// renderBeside measures `short` short texts of one tenant alone, and as many while another tenant renders hard
// texts all the time.
func renderBeside(t *testing.T, p *proctest.Program, short int) (r rendering) {
	t.Helper()
	client := newClient(t)
	busy, other := p.Workspace(t, "busy"), p.Workspace(t, "other")
	s := p.Start(t)
	write := func(key, text string) string {
		var d map[string]any
		status, err := proctest.Call(client, s.URL, key, http.MethodPost, "/api/v1/documents", map[string]any{"title": "d"}, &d)
		if err != nil || status != http.StatusCreated {
			t.Fatalf("document: %d, %v", status, err)
		}
		path := "/api/v1/documents/" + d["id"].(string) + "/content"
		if status, err := proctest.Send(client, s.URL, key, http.MethodPut, path, "text/markdown", strings.NewReader(text), nil); err != nil || status != http.StatusOK {
			t.Fatalf("text: %d, %v", status, err)
		}
		return path + "?format=html"
	}
	html := func(key, path string) (status int, took time.Duration) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
		if err != nil {
			t.Error(err)
			return 0, 0
		}
		req.Header.Set("Authorization", "Bearer "+key)
		began := time.Now()
		res, err := client.Do(req)
		if err != nil {
			t.Errorf("HTML of a text: %v", err)
			return 0, 0
		}
		defer res.Body.Close()
		var body bytes.Buffer
		_, _ = body.ReadFrom(res.Body)
		return res.StatusCode, time.Since(began)
	}
	hard, texts := make([]string, hardTexts), make([]string, 2*short)
	for i := range hard {
		hard[i] = write(busy, fmt.Sprintf("%d\n", i)+strings.Repeat("a|", 1<<19-8)) // a paragraph that might be a table
	}
	for i := range texts {
		texts[i] = write(other, fmt.Sprintf("**short** text %05d", i)) // each is rendered once
	}
	var took []time.Duration
	for _, path := range hard[:3] {
		_, one := html(busy, path)
		took = append(took, one)
	}
	slices.Sort(took)
	r.hard = took[1]
	_, r.alone = measureShort(texts[:short], func(path string) time.Duration { _, one := html(other, path); return one })

	var load sync.WaitGroup
	var stop atomic.Bool
	var rendered, refused atomic.Int64
	for n := range renderers {
		load.Go(func() {
			for i := n; !stop.Load(); i++ {
				switch status, _ := html(busy, hard[i%hardTexts]); status {
				case http.StatusOK:
					rendered.Add(1)
				case http.StatusServiceUnavailable:
					refused.Add(1)
					time.Sleep(20 * time.Millisecond) // the pace of the load
				case 0:
					return
				}
			}
		})
	}
	for (refused.Load() < renderers || rendered.Load() < 3) && !t.Failed() { // the busy tenant has more than it gets
		time.Sleep(10 * time.Millisecond) // between two looks at the load
	}
	var overtaken []int
	_, r.beside = measureShort(texts[short:], func(path string) time.Duration {
		before := rendered.Load()
		status, one := html(other, path)
		if status != http.StatusOK {
			r.refused++
		}
		overtaken = append(overtaken, int(rendered.Load()-before))
		return one
	})
	stop.Store(true)
	load.Wait()
	slices.Sort(overtaken)
	r.overtaken = overtaken[len(overtaken)/2]
	var err error
	if r.peak, err = proctest.PeakMemory(s.Process.Pid); err != nil {
		t.Fatal(err)
	}
	return r
}

// measureShort returns the median and the 99th percentile of what ask took.
func measureShort(paths []string, ask func(path string) time.Duration) (median, p99 time.Duration) {
	var took []time.Duration
	for _, path := range paths {
		took = append(took, ask(path))
	}
	slices.Sort(took)
	return took[len(took)/2], took[(len(took)*99-1)/100]
}
