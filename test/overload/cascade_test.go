package overload

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest/fill"
	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/sheaftest/plant"
	"sheaf.dev/internal/sheaftest/proctest"
	"sheaf.dev/internal/sheaftest/proof"
)

// cascadeMayUse is the memory that the program may have resident while a folder goes, however much is in it.
const cascadeMayUse = 256 << 20

// cascade is what was seen while a folder was deleted.
type cascade struct {
	took, longest time.Duration // of the deletion, and of another workspace's writes meanwhile
	writes        int
	peak          int64
	failed        string
}

// complaints says which promises the figures break. How long a chunk takes depends on the machine, so that the wait is
// compared with the whole: in one transaction everybody waits for as long as that takes.
func (c cascade) complaints() (out []string) {
	if c.failed != "" {
		out = append(out, c.failed)
	}
	if c.held() {
		out = append(out, fmt.Sprintf("another workspace waited %v of %v", c.longest, c.took))
	}
	if c.peak > cascadeMayUse {
		out = append(out, fmt.Sprintf("it took %d MB", c.peak>>20))
	}
	return out
}

// held reports whether another workspace waited for a large part of the whole. In the quick form, beside others, a chunk is
// a quarter of it, and a busy machine adds to that.
func (c cascade) held() bool {
	return c.longest > c.took*time.Duration(proof.Rounds(2, 1, 1))/3
}

// D36: however large a folder is, deleting it takes bounded memory, and on SQLite, where there is one writer, others
// write meanwhile.
func TestCascade_OthersWriteMeanwhile(t *testing.T) {
	t.Parallel()
	projects, subscriptions := proof.Rounds(11_000, 60_000, 60_000), proof.Rounds(3, 20, 20)
	c := deletions(false, func() cascade { return deleteFolder(t, proctest.New(t), projects, subscriptions) })
	planted := deletions(true, func() cascade {
		control := proctest.New(t)
		control.Binary = proctest.Planted(t, plant.OneTransaction)
		return deleteFolder(t, control, proof.Rounds(5000, 20_000, 60_000), subscriptions)
	})
	report(t, "a large folder goes, SQLite", c, projects, subscriptions, planted)
	c = deletions(false, func() cascade { return deleteFolder(t, onPostgres(t, proctest.New(t)), projects, subscriptions) })
	report(t, "a large folder goes, PostgreSQL", c, projects, subscriptions, planted)
}

// deletions measures up to three times. One transaction holds others each time and chunks never do, but a machine that
// gives one of the two programs no processor for a while makes either look like the other.
func deletions(held bool, measure func() cascade) (c cascade) {
	for range 3 {
		if c = measure(); c.failed != "" || c.held() == held {
			break
		}
	}
	return c
}

func onPostgres(t *testing.T, p *proctest.Program) *proctest.Program {
	p.Database = pgtest.URL(t)
	return p
}

func report(t *testing.T, name string, c cascade, projects, subscriptions int, planted cascade) {
	t.Helper()
	for _, complaint := range c.complaints() {
		t.Error(complaint)
	}
	t.Logf("in one transaction: %q", planted.complaints())
	proof.Row{Name: name,
		Figures: []proof.Figure{{Name: "projects", Value: projects}, {Name: "webhooks", Value: subscriptions},
			{Name: "took", Value: c.took.Round(time.Millisecond)}, {Name: "writes of another workspace meanwhile", Value: c.writes},
			{Name: "the longest of them", Value: c.longest.Round(time.Millisecond)}, {Name: "peak memory MB", Value: c.peak >> 20}},
		Lost:    len(c.complaints()),
		Control: "one transaction on SQLite", Caught: planted.held()}.Report(t)
}

// deleteFolder deletes a folder of that many projects while another workspace writes. The webhooks are inactive, so that
// nothing but the deletion loads the machine: what would be sent is held.
func deleteFolder(t *testing.T, p *proctest.Program, projects, subscriptions int) (c cascade) {
	t.Helper()
	client := newClient(t)
	client.Timeout = 0
	key, other := p.Workspace(t, "large"), p.Workspace(t, "other")
	s := p.Start(t)
	call := func(key, method, path string, body any, want int) map[string]any {
		var answer map[string]any
		var into any = &answer
		if want == http.StatusNoContent {
			into = nil
		}
		if status, err := proctest.Call(client, s.URL, key, method, path, body, into); err != nil || status != want {
			c.failed = fmt.Sprintf("%s %s: %d, %v", method, path, status, err)
		}
		return answer
	}
	folder, _ := call(key, http.MethodPost, "/api/v1/folders", map[string]any{"name": "large", "entity_type": "project"}, http.StatusCreated)["id"].(string)
	for i := range subscriptions {
		made := call(key, http.MethodPost, "/api/webhooks/subscriptions", map[string]any{"name": "held", "url": fmt.Sprintf("https://example.com/%d", i),
			"events": []string{"project.updated", "folder.deleted"}}, http.StatusCreated)
		id, _ := made["subscription"].(map[string]any)["id"].(string)
		call(key, http.MethodPatch, "/api/webhooks/subscriptions/"+id, map[string]any{"active": false}, http.StatusOK)
	}
	if err := s.Terminate(); err != nil {
		t.Fatal(err)
	}
	if err := fill.Folder(p.Data, p.Database, key, folder, projects); err != nil {
		t.Fatal(err)
	}
	s = p.Start(t)
	var going atomic.Bool
	writing, stopped := make(chan struct{}), make(chan struct{})
	begun := sync.OnceFunc(func() { close(writing) })
	going.Store(true)
	go func() {
		defer close(stopped)
		defer begun()
		for ; going.Load(); c.writes++ {
			began := time.Now()
			status, err := proctest.Call(client, s.URL, other, http.MethodPost, "/api/v1/projects", map[string]any{"name": "meanwhile"}, nil)
			if err != nil || status != http.StatusCreated {
				t.Errorf("another workspace: %d, %v", status, err)
				return
			}
			if c.writes > 0 { // the first one opens the connection, before the deletion
				c.longest = max(c.longest, time.Since(began))
			}
			begun()
		}
	}()
	<-writing
	began := time.Now()
	call(key, http.MethodDelete, "/api/v1/folders/"+folder, nil, http.StatusNoContent)
	c.took = time.Since(began)
	going.Store(false)
	<-stopped
	var err error
	if c.peak, err = proctest.PeakMemory(s.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if err := s.Terminate(); err != nil {
		t.Error(err)
	}
	return c
}
