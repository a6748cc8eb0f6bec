package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// D140: sheaf mcp offers a host the same tools as the server's /mcp, with the same errors.
func TestMCP_TheBridgeOffersTheToolsOfTheServer(t *testing.T) {
	t.Parallel()
	s := start(t, "--data", t.TempDir())
	key := s.stdout.wait(t, `(shf_[0-9A-Za-z]{40,})`, s.ended)
	connections := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(connections.CloseIdleConnections)
	direct := session(t, &sdk.StreamableClientTransport{Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: asKey{key, connections}}, DisableStandaloneSSE: true})
	bridged := bridged(t, environment{"SHEAF_SERVER": s.url, "SHEAF_API_KEY": key, "HOME": t.TempDir()})
	if a, b := toolsOf(t, direct), toolsOf(t, bridged); a != b || !strings.Contains(a, `"read_document"`) || !strings.Contains(a, "readOnlyHint") {
		t.Errorf("the server offers\n%s\nand the bridge\n%s", a, b)
	}
	if a, b := direct.InitializeResult(), bridged.InitializeResult(); a.Instructions != b.Instructions || a.Instructions == "" || b.ServerInfo.Name != "sheaf" {
		t.Errorf("the bridge says it is %+v", b)
	}
	made := asked(t, bridged, "create_document", map[string]any{"title": "By the bridge", "content": "# Bridge"})
	var facts struct{ ID string }
	if err := json.Unmarshal([]byte(made), &facts); err != nil {
		t.Fatal(err)
	}
	for _, call := range []string{"read_document", "nope"} {
		in := map[string]any{"document_id": facts.ID}
		if a, b := asked(t, direct, call, in), asked(t, bridged, call, in); a != b {
			t.Errorf("%s: the server says %s, the bridge %s", call, a, b)
		}
	}
	uri := &sdk.ReadResourceParams{URI: "sheaf://document/" + facts.ID}
	if got, err := bridged.ReadResource(t.Context(), uri); err != nil || got.Contents[0].Text != "# Bridge" {
		t.Errorf("read %+v: %v", got, err)
	}
	if got, err := bridged.ListResources(t.Context(), nil); err != nil || len(got.Resources) != 1 {
		t.Errorf("listed %+v: %v", got, err)
	}
	if got, err := bridged.ListResourceTemplates(t.Context(), nil); err != nil || len(got.ResourceTemplates) != 1 {
		t.Errorf("templates %+v: %v", got, err)
	}
	s.stop(t)
	if said := asked(t, bridged, "find", map[string]any{"query": "x"}); !strings.Contains(said, "the server did not answer") {
		t.Errorf("a server that is gone: %s", said)
	}
}

// D140: a script that closes its input at once gets the answers to all its requests.
func TestMCP_AnswersAfterTheEndOfTheInput(t *testing.T) {
	t.Parallel()
	s := start(t, "--data", t.TempDir())
	env := environment{"SHEAF_SERVER": s.url, "SHEAF_API_KEY": s.stdout.wait(t, `(shf_[0-9A-Za-z]{40,})`, s.ended), "HOME": t.TempDir()}
	out := sheafWith(t, env, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"create_project","arguments":{"name":"Handbook"}}}
{"jsonrpc":"2.0","id":3,"method":"tools/list"}
`, "mcp").succeeds(t)
	for _, part := range []string{`"id":1`, `"id":2`, `Handbook`, `"id":3`, `"read_document"`} {
		if !strings.Contains(out, part) {
			t.Errorf("%s is not in %s", part, out)
		}
	}
}

// D145: as by the server, a request whose id cannot be returned unchanged is refused, and nothing
// is done.
func TestMCP_TheBridgeRefusesIDsThatItCannotAnswer(t *testing.T) {
	t.Parallel()
	s := start(t, "--data", t.TempDir())
	env := environment{"SHEAF_SERVER": s.url, "SHEAF_API_KEY": s.stdout.wait(t, `(shf_[0-9A-Za-z]{40,})`, s.ended), "HOME": t.TempDir()}
	in := `{"jsonrpc":"2.0","id":"first","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n"
	wrong := []string{"1.5", "1e3", "18446744073709551617", "9007199254740992", "null", "{}"}
	for _, id := range wrong {
		in += `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"create_project","arguments":{"name":"refused"}}}` + "\n"
	}
	in += `{"jsonrpc":"2.0","id":9007199254740991,"method":"tools/call","params":{"name":"create_project","arguments":{"name":"` + strings.Repeat("long ", 30) + `"}}}` + "\n" +
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"create_document","arguments":{"title":"t","content":"` + strings.Repeat("long ", 100_000) + `"}}}`
	out := sheafWith(t, env, in, "mcp").succeeds(t)
	if got := strings.Count(out, `"id":null,"error":{"code":-32600`); got != len(wrong) {
		t.Errorf("%d of %d were refused: %s", got, len(wrong), out)
	}
	for _, want := range []string{`"id":"first"`, `"id":9007199254740991`, `"id":7`, `\"bytes\":500000`} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is not in %s", want, out)
		}
	}
	if list := sheafWith(t, env, "", "projects", "list", "--json").succeeds(t); strings.Contains(list, "refused") || !strings.Contains(list, "long long") {
		t.Errorf("made %s", list)
	}
}

// An error of the key or the address is reported before the first message, and nothing is written
// to standard output.
func TestMCP_ReportsErrorsOfKeyAndAddress(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	sheafWith(t, r.env, "", "mcp", "--api-key", "shf_x").fails(t, "malformed")
	sheafWith(t, r.env, "", "mcp", "--server", "http://127.0.0.1:1").fails(t, "nothing answers at http://127.0.0.1:1")
	sheafWith(t, r.env, "", "mcp").fails(t, "has no /mcp") // an older server
}

// bridged opens a session with sheaf mcp, which runs in this process.
func bridged(t *testing.T, e environment) *sdk.ClientSession {
	t.Helper()
	theirs, mine := io.Pipe()
	reading, writing := io.Pipe()
	var errs tail
	p := newProgram(e, "", writing, &errs)
	p.Stdin = theirs
	ended := make(chan int, 1)
	go func() {
		ended <- p.run(context.Background(), []string{"mcp"})
		writing.Close()
	}()
	t.Cleanup(func() {
		mine.Close()
		if code := <-ended; code != 0 {
			t.Errorf("sheaf mcp ended with %d: %s", code, errs.String())
		}
	})
	return session(t, &sdk.IOTransport{Reader: reading, Writer: mine})
}

func session(t *testing.T, transport sdk.Transport) *sdk.ClientSession {
	t.Helper()
	s, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// asKey sends a key.
type asKey struct {
	key  string
	next http.RoundTripper
}

func (k asKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+k.key)
	return k.next.RoundTrip(r)
}

// toolsOf returns the tools as a host sees them.
func toolsOf(t *testing.T, s *sdk.ClientSession) string {
	t.Helper()
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.MarshalIndent(list.Tools, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// asked calls a tool and returns its text.
func asked(t *testing.T, s *sdk.ClientSession, tool string, in any) (said string) {
	t.Helper()
	out, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: in})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range out.Content {
		said += c.(*sdk.TextContent).Text
	}
	return said
}
