package backup

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"sheaf.dev/internal/sheaftest/proctest"
)

// fate is what a client knows of one of its projects. Its name says its version.
type fate struct {
	acked, sent            int // versions
	deleted, deletionAcked bool
}

// journal is what the clients know, by the projects' ids.
type journal map[string]fate

// acknowledged counts the answers that the journal stands for.
func (j journal) acknowledged() (n int) {
	for _, f := range j {
		n += 1 + f.acked
		if f.deletionAcked {
			n++
		}
	}
	return n
}

// compare returns what of this journal the copy lacks, and what it has although nobody, by the final journal, ever
// sent it.
func (j journal) compare(final journal, copied map[string]string) (complaints []string) {
	complain := func(format string, args ...any) { complaints = append(complaints, fmt.Sprintf(format, args...)) }
	for id, f := range j {
		name, there := copied[id]
		switch version := version(name); {
		case f.deletionAcked && there:
			complain("project %s was deleted and is back", id)
		case !there && !final[id].deleted:
			complain("project %s is lost", id)
		case there && version < f.acked:
			complain("project %s has version %d, and %d was acknowledged", id, version, f.acked)
		}
	}
	for id, name := range copied {
		if f, sent := final[id]; !sent || version(name) > f.sent {
			complain("project %s, version %d, was sent by nobody", id, version(name))
		}
	}
	return complaints
}

func version(name string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(name, "version "))
	return n
}

// load is clients that create, change and delete projects until they are stopped.
type load struct {
	cancel context.CancelFunc
	group  sync.WaitGroup
	server *proctest.Server
	client *http.Client
	key    string
	media  mediaJournal

	mu      sync.Mutex // guards what follows
	known   journal
	answers int
	err     error
	more    chan struct{} // closed at the next answer
}

func startLoad(s *proctest.Server, key string) *load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{cancel: cancel, server: s, client: &http.Client{Transport: &http.Transport{}}, key: key, known: journal{}, media: newMediaJournal(), more: make(chan struct{})}
	for range 3 {
		l.group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				l.oneProject(ctx, n)
			}
		})
	}
	return l
}

// oneProject leads a project through its life: some are deleted in the end.
func (l *load) oneProject(ctx context.Context, n int) {
	var made struct{ ID string }
	if !l.call("POST", "/api/v1/projects", "version 0", &made, 201) {
		return
	}
	l.note(made.ID, func(f *fate) {})
	l.call("POST", "/api/v1/documents", made.ID, nil, 201)
	l.oneMedium(made.ID, n%2 == 1)
	for v := 1; v <= 2 && ctx.Err() == nil; v++ {
		l.note(made.ID, func(f *fate) { f.sent = v })
		if l.call("PATCH", "/api/v1/projects/"+made.ID, fmt.Sprintf("version %d", v), nil, 200) {
			l.note(made.ID, func(f *fate) { f.acked = v })
		}
	}
	if n%3 == 1 && ctx.Err() == nil {
		l.note(made.ID, func(f *fate) { f.deleted = true })
		if l.call("DELETE", "/api/v1/projects/"+made.ID, "", nil, 204) {
			l.note(made.ID, func(f *fate) { f.deletionAcked = true })
		}
	}
}

// call makes a request, whose answer must be the one that is wanted: nothing fails in a drill.
func (l *load) call(method, path, text string, answer any, want int) bool {
	var body any
	switch {
	case strings.HasSuffix(path, "/documents"):
		body = map[string]any{"title": "t", "project_id": text}
	case text != "":
		body = map[string]any{"name": text}
	}
	status, err := proctest.Call(l.client, l.server.URL, l.key, method, path, body, answer)
	if err == nil && status == want {
		return true
	}
	l.fail(fmt.Errorf("%s %s: %d, %v", method, path, status, err))
	return false
}

// fail ends the load.
func (l *load) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
	l.cancel()
}

func (l *load) note(id string, change func(*fate)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.known[id]
	change(&f)
	l.known[id] = f
	l.answers++
	close(l.more)
	l.more = make(chan struct{})
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.answers
}

// await blocks until `n` changes were noted, or the load has failed.
func (l *load) await(t *testing.T, n int) {
	t.Helper()
	for {
		l.mu.Lock()
		answers, err, more := l.answers, l.err, l.more
		l.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		if answers >= n {
			return
		}
		<-more
	}
}

// journal returns what is known now.
func (l *load) journal() journal {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.known)
}

// stop ends the load and returns what is known in the end.
func (l *load) stop(t *testing.T) journal {
	t.Helper()
	l.cancel()
	l.group.Wait()
	l.client.CloseIdleConnections()
	if l.err != nil {
		t.Error(l.err)
	}
	return l.known
}
