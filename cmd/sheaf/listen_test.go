package main

import (
	"context"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/webhook"
)

// local is the developer's local program.
type local struct {
	*httptest.Server
	events chan webhook.Event
}

func newLocal(t *testing.T, secret *string) *local {
	l := &local{events: make(chan webhook.Event, 100)}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		webhook.Handler(*secret, func(_ context.Context, e webhook.Event) error {
			l.events <- e
			return nil
		}).ServeHTTP(w, r)
	}))
	t.Cleanup(l.Close)
	return l
}

// position returns the listener's position file.
func (r *remote) position(t *testing.T) string {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(r.env["HOME"], ".config", "sheaf", "listen", "*.json"))
	if len(found) != 1 {
		t.Fatalf("found %q", found)
	}
	return found[0]
}

func TestListen_ForwardsSignedFromWhereItEnded(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	var secret string
	app := newLocal(t, &secret)
	r.id(t, "projects", "create", "before") // before the first listen
	first := r.start(t, "listen", "--forward-to", app.URL+"/hook")
	secret = first.stdout.wait(t, `signed with (whsec_\S+)\n\n`, first.ended)
	wantWords(t, first.stdout.String(), "Acme", app.URL+"/hook", "from now on")
	r.id(t, "projects", "create", "one")
	wantWords(t, first.says(t, "project.created", `"one"`), "204 No Content in")
	if e := <-app.events; !strings.Contains(string(e.Payload), `"one"`) {
		t.Errorf("forwarded %s", e.Payload)
	}
	sheafWith(t, r.env, "", "listen", "--forward-to", app.URL).fails(t, "another sheaf listen")
	first.end(t)
	if m := mode(t, r.position(t)); m != 0o600 {
		t.Errorf("the position's mode is %v", m)
	}

	r.id(t, "projects", "create", "two")
	r.id(t, "folders", "create", "three")
	second := r.start(t, "listen", "--forward-to", strings.TrimPrefix(app.URL, "http://")+"/hook", "--events", "folder.created,share.created")
	second.says(t, "folder.created", `"three"`, "204")
	wantWords(t, second.stdout.String(), secret, "from where it ended")
	if e := <-app.events; e.Type != webhook.FolderCreated {
		t.Errorf("forwarded %s", e.Type)
	}
	second.end(t)

	r.id(t, "projects", "create", "four")
	third := r.start(t, "listen", "--forward-to", app.URL, "--from-now")
	third.says(t, "signed with")
	wantWords(t, third.stdout.String(), "from now on")
	r.id(t, "projects", "create", "five")
	third.says(t, `"five"`, "204")
	if e := <-app.events; !strings.Contains(string(e.Payload), `"five"`) {
		t.Errorf("forwarded %s", e.Payload)
	}
}

// An event that no program accepts stays the next one.
func TestListen_WaitsWhileNothingAccepts(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	addr := freeAddress(t)
	waiting := r.start(t, "listen", "--forward-to", addr)
	secret := waiting.stdout.wait(t, `signed with (whsec_\S+)`, waiting.ended)
	for _, name := range []string{"one", "two"} {
		r.id(t, "projects", "create", name)
	}
	waiting.stderr.wait(t, `(nothing listens at)`, waiting.ended)
	waiting.end(t)
	if strings.Contains(waiting.stdout.String(), "project.created") {
		t.Errorf("said %s", waiting.stdout.String())
	}
	app := newLocal(t, &secret)
	again := r.start(t, "listen", "--forward-to", app.URL)
	again.says(t, `"two"`, "204")
	if a, b := <-app.events, <-app.events; !strings.Contains(string(a.Payload), "one") || !strings.Contains(string(b.Payload), "two") {
		t.Errorf("forwarded %s and %s", a.Payload, b.Payload)
	}
}

// If the program answers, even with an error, the event is not sent again.
func TestListen_ShowsARefusalAndContinues(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	wrong := sheaf.NewSigningSecret(strings.NewReader(strings.Repeat("x", 1000)))
	app := newLocal(t, &wrong)
	l := r.start(t, "listen", "--forward-to", app.URL)
	l.says(t, "signed with")
	r.id(t, "projects", "create", "one")
	r.id(t, "projects", "create", "two")
	l.says(t, `"one"`, "400 Bad Request")
	l.says(t, `"two"`, "400 Bad Request")
}

func TestListen_WhereItEndedIsNoLongerKept(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	var secret string
	app := newLocal(t, &secret)
	first := r.start(t, "listen", "--forward-to", app.URL)
	first.says(t, "signed with")
	r.id(t, "projects", "create", "one")
	first.says(t, `"one"`)
	first.end(t)
	content, err := os.ReadFile(r.position(t))
	if err != nil {
		t.Fatal(err)
	}
	last := r.list(t, "events", "list")[0]["id"].(string)
	changed := strings.Replace(string(content), last, "evt_00000000-0000-7000-8000-000000000000", 1)
	if err := os.WriteFile(r.position(t), []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	r.id(t, "projects", "create", "two")
	again := r.start(t, "listen", "--forward-to", app.URL)
	again.says(t, `"two"`)
	wantWords(t, again.stderr.String(), "no longer keeps", "continuing with those since")
}

// --since forwards earlier events again.
func TestListen_SinceReplays(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	var secret string
	app := newLocal(t, &secret)
	first := r.start(t, "listen", "--forward-to", app.URL)
	secret = first.stdout.wait(t, `signed with (whsec_\S+)`, first.ended)
	r.id(t, "projects", "create", "one")
	first.says(t, `"one"`, "204")
	first.end(t)
	<-app.events
	again := r.start(t, "listen", "--forward-to", app.URL, "--since", "1h")
	again.says(t, `"one"`, "204")
	wantWords(t, again.stdout.String(), "with the events since")
	if e := <-app.events; !strings.Contains(string(e.Payload), `"one"`) {
		t.Errorf("forwarded %s", e.Payload)
	}
	again.end(t)
	sheafWith(t, r.env, "", "listen", "--forward-to", app.URL, "--since", "yesterday").fails(t, "--since")
}

// A local HTTPS address whose certificate is trusted only by --ca-file.
func TestListen_TakesARootForTheLocalAddress(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	events := make(chan string, 10)
	app := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { events <- r.Header.Get("webhook-id") }))
	defer app.Close()
	app.Config.ErrorLog = log.New(io.Discard, "", 0)
	root := filepath.Join(t.TempDir(), "root.pem")
	block := &pem.Block{Type: "CERTIFICATE", Bytes: app.Certificate().Raw}
	if err := os.WriteFile(root, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	without := r.start(t, "listen", "--forward-to", app.URL)
	without.says(t, "signed with")
	r.id(t, "projects", "create", "one")
	without.says(t, `"one"`, "failed after", "certificate")
	without.end(t)
	with := r.start(t, "listen", "--forward-to", app.URL, "--since", "1h", "--ca-file", root)
	with.says(t, `"one"`, "200 OK")
	if id := <-events; !strings.HasPrefix(id, "evt_") {
		t.Errorf("forwarded %q", id)
	}
	with.end(t)
	sheafWith(t, r.env, "", "listen", "--forward-to", app.URL, "--ca-file", "/nonexistent").fails(t, "--ca-file")
}

func TestListen_RefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	run := func(args ...string) result { return sheafWith(t, r.env, "", append([]string{"listen"}, args...)...) }
	run("--forward-to", "ftp://localhost").fails(t, "--forward-to")
	run("--forward-to", "localhost:1", "--events", "project.*").fails(t, "project.*")
	if got := run(); got.code != exitUsage {
		t.Errorf("without an address: %+v", got)
	}
	r.env["SHEAF_API_KEY"] = r.Key(sheaf.ProjectsRead)
	run("--forward-to", "localhost:1").fails(t, "events:read")
}
