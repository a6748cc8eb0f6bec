package main

import (
	"context"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// remote is a server for the commands that talk to one, and their environment.
type remote struct {
	*apitest.API
	*apitest.Workspace
	env environment
}

func newRemote(t *testing.T) *remote {
	t.Helper()
	a := apitest.SQLite(t)
	w := a.Workspace(sheaf.Business)
	return &remote{a, w, environment{"SHEAF_SERVER": a.Server.URL, "SHEAF_API_KEY": w.Key(), "HOME": t.TempDir()}}
}

// do runs a command, which must succeed, and returns its output.
func (r *remote) do(t *testing.T, args ...string) string {
	t.Helper()
	return sheafWith(t, r.env, "", args...).succeeds(t)
}

// json runs a command with --json and returns the object of the output.
func (r *remote) json(t *testing.T, args ...string) map[string]any {
	t.Helper()
	return decoded[map[string]any](t, r.do(t, append(args, "--json")...))
}

// list runs a command with --json and returns the array of the output.
func (r *remote) list(t *testing.T, args ...string) []map[string]any {
	t.Helper()
	return decoded[[]map[string]any](t, r.do(t, append(args, "--json")...))
}

// id runs a command that creates a record, and returns its id.
func (r *remote) id(t *testing.T, args ...string) string {
	t.Helper()
	return r.json(t, args...)["id"].(string)
}

// background is a command that runs until end is called.
type background struct {
	stdout, stderr tail
	code           int
	ended          chan struct{}
	cancel         context.CancelFunc
}

func (r *remote) start(t *testing.T, args ...string) *background {
	t.Helper()
	b := &background{ended: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel = cancel
	p := newProgram(r.env, "", &b.stdout, &b.stderr)
	go func() {
		defer close(b.ended)
		b.code = p.run(ctx, args)
	}()
	t.Cleanup(func() { b.end(t) })
	return b
}

// end interrupts it, and checks for exit 0.
func (b *background) end(t *testing.T) {
	t.Helper()
	b.cancel()
	<-b.ended
	if b.code != 0 {
		t.Errorf("ended with %d: %s", b.code, b.stderr.String())
	}
}

// says waits for a line with all the words, in this order, and returns it.
func (b *background) says(t *testing.T, words ...string) string {
	t.Helper()
	found := b.stdout.wait(t, `(?m)^(.*`+strings.Join(words, ".*")+`.*)\n`, b.ended)
	if found == "" {
		t.Fatalf("ended with %d before it said %q: %s%s", b.code, words, b.stdout.String(), b.stderr.String())
	}
	return found
}

// wantWords fails if a word is missing in the text.
func wantWords(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in %q", w, text)
		}
	}
}
