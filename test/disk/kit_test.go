package disk

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest/plant"
	"sheaf.dev/internal/sheaftest/proctest"
)

// program is the built program with the key of a workspace.
type program struct {
	proctest.Program
	key   string
	roots string // file of the certificate to trust
}

// newProgram returns the program with a workspace in the data folder, and with the fault unless it is None.
func newProgram(t *testing.T, data string, fault plant.Control) *program {
	t.Helper()
	binary := proctest.Binary(t)
	if fault != plant.None {
		binary = proctest.Planted(t, fault)
	}
	p := &program{Program: proctest.Program{Binary: binary, Data: data, Log: t.Output()}}
	p.key = p.Workspace(t, "Acme")
	return p
}

// server is a running program.
type server struct {
	*proctest.Server
	key string
}

// start runs the server and returns when it listens.
func (p *program) start(t *testing.T) *server {
	t.Helper()
	args := []string{"--webhook-allow-cidr", "127.0.0.0/8", "--webhook-retry-delays", "50ms,100ms,200ms"}
	if p.roots != "" {
		args = append(args, "--webhook-ca-file", p.roots)
	}
	return &server{Server: p.Start(t, args...), key: p.key}
}

// terminate ends the server as an operator does; that must go well.
func (s *server) terminate(t *testing.T) {
	t.Helper()
	if err := s.Terminate(); err != nil {
		t.Errorf("the server's end: %v", err)
	}
}

// client keeps no connection: the next server is another.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Minute}

// call makes one request and returns the answer.
func (s *server) call(t *testing.T, method, path string, body any) (status int, answer json.RawMessage) {
	t.Helper()
	status, err := proctest.Call(client, s.URL, s.key, method, path, body, &answer)
	if err != nil {
		t.Fatal(err)
	}
	return status, answer
}

// do makes a request that must succeed and returns the id in its answer.
func (s *server) do(t *testing.T, method, path string, body any) (id string) {
	t.Helper()
	status, answer := s.call(t, method, path, body)
	if status/100 != 2 {
		t.Fatalf("%s %s: %d %s", method, path, status, answer)
	}
	return idOf(answer)
}

func idOf(answer []byte) string {
	var v struct {
		ID           string
		Subscription struct{ ID string }
	}
	_ = json.Unmarshal(answer, &v) // none in the answer to a deletion
	return v.ID + v.Subscription.ID
}

// takeAll is an endpoint that takes everything.
var takeAll = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
