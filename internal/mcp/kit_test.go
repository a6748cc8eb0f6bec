package mcp_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/prometheus/client_golang/prometheus"

	"sheaf.dev/internal/front"
	"sheaf.dev/internal/mcp"
	"sheaf.dev/internal/obs"
	"sheaf.dev/internal/sheaftest/apitest"
)

// withMCP mounts the edge beside the API, as the program does.
var withMCP = mounting(nil)

// mounting is withMCP for a test that changes the edge first.
func mounting(change func(*mcp.Server)) apitest.Option {
	return apitest.Mounting(func(c apitest.Config) front.Mount {
		edge := mcp.New(mcp.Config{App: c.App, Door: c.Door, Version: "test", PublicURL: c.PublicURL, Requests: c.Requests})
		if change != nil {
			change(edge)
		}
		return front.Mount{Edge: edge, Name: mcp.Path, Paths: []string{mcp.Path}}
	})
}

// agent is the SDK's client with a key.
type agent struct {
	*sdk.ClientSession
	t *testing.T

	mu    sync.Mutex // guards calls
	calls map[string]bool
}

// connect begins a session, which ends with the test.
func connect(t *testing.T, a *apitest.API, key string) *agent {
	t.Helper()
	session, err := dial(t, a, key)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { session.Close() })
	return &agent{ClientSession: session, t: t, calls: map[string]bool{}}
}

func dial(t *testing.T, a *apitest.API, key string) (*sdk.ClientSession, error) {
	t.Helper()
	keyed := &http.Client{Transport: bearer{key, a.Server.Client().Transport}}
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	return client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: a.Server.URL + mcp.Path, HTTPClient: keyed, MaxRetries: -1}, nil)
}

// bearer sends a key.
type bearer struct {
	key  string
	next http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.key)
	return b.next.RoundTrip(r)
}

// args are the arguments of a tool.
type args map[string]any

// try calls a tool and returns its facts, its text, and whether it refused.
func (g *agent) try(name string, in any) (facts map[string]any, text string, refused bool) {
	g.t.Helper()
	g.mu.Lock()
	g.calls[name] = true
	g.mu.Unlock()
	out, err := g.CallTool(g.t.Context(), &sdk.CallToolParams{Name: name, Arguments: in})
	if err != nil {
		g.t.Fatalf("%s: %v", name, err)
	}
	return factsOf(g.t, name, out)
}

// factsOf reads a result: an object as JSON, and perhaps a text behind it.
func factsOf(t *testing.T, name string, out *sdk.CallToolResult) (facts map[string]any, text string, refused bool) {
	t.Helper()
	if len(out.Content) == 0 || len(out.Content) > 2 {
		t.Fatalf("%s: answered with %d pieces", name, len(out.Content))
	}
	first := out.Content[0].(*sdk.TextContent).Text
	if err := json.Unmarshal([]byte(first), &facts); err != nil {
		t.Fatalf("%s: %q: %v", name, first, err)
	}
	if len(out.Content) == 2 {
		text = out.Content[1].(*sdk.TextContent).Text
	}
	return facts, text, out.IsError
}

// do calls a tool that must do its work.
func (g *agent) do(name string, in args) map[string]any {
	g.t.Helper()
	facts, _, refused := g.try(name, in)
	if refused {
		g.t.Fatalf("%s %v: refused: %v", name, in, facts)
	}
	return facts
}

// id calls a tool that makes something, and returns its id.
func (g *agent) id(name string, in args) string {
	g.t.Helper()
	return g.do(name, in)["id"].(string)
}

// read returns the text of a document, and its revision.
func (g *agent) read(id string) (string, int) {
	g.t.Helper()
	facts, text, refused := g.try("read_document", args{"document_id": id})
	if refused {
		g.t.Fatalf("read_document: refused: %v", facts)
	}
	return text, int(facts["revision"].(float64))
}

// fails calls a tool that must refuse, with that code and all the words in its text.
func (g *agent) fails(name string, in any, code string, words ...string) string {
	g.t.Helper()
	facts, _, refused := g.try(name, in)
	said, _ := facts["error"].(string)
	if !refused || facts["code"] != code {
		g.t.Errorf("%s %v: answered %v, want %s", name, in, facts, code)
	}
	for _, w := range words {
		if !strings.Contains(said, w) {
			g.t.Errorf("%s %v: %q does not say %q", name, in, said, w)
		}
	}
	return said
}

// items are the records of a list.
func items(facts map[string]any) (out []map[string]any) {
	for _, v := range facts["data"].([]any) {
		out = append(out, v.(map[string]any))
	}
	return out
}

// post sends a message as it is, and returns the answer.
func post(c *apitest.Client, body any, headers ...string) *apitest.Response {
	return c.POST(mcp.Path, body, append([]string{"Accept: application/json, text/event-stream"}, headers...)...)
}

// message is a call of a method.
func message(method string, params any) map[string]any {
	m := map[string]any{"jsonrpc": "2.0", "id": 7, "method": method}
	if params != nil {
		m["params"] = params
	}
	return m
}

// calling is a call of a tool.
func calling(tool string, in any) map[string]any {
	return message("tools/call", map[string]any{"name": tool, "arguments": in})
}

// gather returns what was counted under the path, by tool and class of status.
func gather(t *testing.T, routes *obs.Routes) map[string]int {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(routes)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if m.GetCounter() != nil && labels["route"] == mcp.Path {
				out[labels["method"]+" "+labels["status"]] = int(m.GetCounter().GetValue())
			}
		}
	}
	return out
}
