package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaftest/proctest"
)

// args are the arguments of a tool.
type args map[string]any

// agent calls tools as a careful agent does, and counts what a language model writes and reads for that.
type agent struct {
	t        *testing.T
	url, key string
	tools    []string
	list     int // bytes of tools/list, which every conversation begins with

	calls, bytes int // of the present task
}

// connect reads the tools that the key may use.
func connect(t *testing.T, server *proctest.Server, key string) *agent {
	t.Helper()
	g := &agent{t: t, url: server.URL, key: key}
	var listed struct {
		Tools []struct{ Name string }
	}
	raw := g.send("tools/list", args{})
	if err := json.Unmarshal(raw, &listed); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	for _, tool := range listed.Tools {
		g.tools = append(g.tools, tool.Name)
	}
	g.list = len(raw)
	return g
}

// send sends a message and returns its result.
func (g *agent) send(method string, params any) json.RawMessage {
	g.t.Helper()
	body, err := json.Marshal(args{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		g.t.Fatal(err)
	}
	var answer struct {
		Result json.RawMessage
		Error  json.RawMessage
	}
	status, err := proctest.Send(http.DefaultClient, g.url, g.key, "POST", "/mcp", "application/json", bytes.NewReader(body), &answer)
	if err != nil || status != 200 || answer.Error != nil {
		g.t.Fatalf("%s: %d %s %v", method, status, answer.Error, err)
	}
	return answer.Result
}

// has reports whether the server offers a tool. An agent takes the shorter way where there is one.
func (g *agent) has(tool string) bool { return slices.Contains(g.tools, tool) }

// call calls a tool, which must do its work. It counts the bytes of the name and the arguments, which the model writes,
// and of the texts, which it reads.
func (g *agent) call(tool string, in args) answer {
	g.t.Helper()
	written, err := json.Marshal(in)
	if err != nil {
		g.t.Fatal(err)
	}
	var result struct {
		Content []struct{ Text string }
		IsError bool
	}
	raw := g.send("tools/call", args{"name": tool, "arguments": in})
	if err := json.Unmarshal(raw, &result); err != nil || len(result.Content) == 0 {
		g.t.Fatalf("%s: %s: %v", tool, raw, err)
	}
	if result.IsError {
		g.t.Fatalf("%s %s: %s", tool, written, result.Content[0].Text)
	}
	a := answer{t: g.t, facts: map[string]any{}}
	if err := json.Unmarshal([]byte(result.Content[0].Text), &a.facts); err != nil {
		g.t.Fatalf("%s: %s: %v", tool, raw, err)
	}
	g.calls++
	g.bytes += len(tool) + len(written)
	for i, c := range result.Content {
		g.bytes += len(c.Text)
		if i > 0 {
			a.text += c.Text
		}
	}
	return a
}

// answer is what a tool answered.
type answer struct {
	t     *testing.T
	facts map[string]any
	text  string
}

func (a answer) id() string { return fmt.Sprint(a.facts["id"]) }

// items returns the records of a list.
func (a answer) items() (out []map[string]any) {
	data, _ := a.facts["data"].([]any)
	for _, v := range data {
		out = append(out, v.(map[string]any))
	}
	return out
}

// item returns the id of the record of a list whose field has that value.
func (a answer) item(field, value string) string {
	a.t.Helper()
	for _, v := range a.items() {
		if fmt.Sprint(v[field]) == value {
			return v["id"].(string)
		}
	}
	a.t.Fatalf("no record has %s %q: %v", field, value, a.facts)
	return ""
}

// outline returns the id of a document that read_tree returned: as a line, or before, as a record.
func (a answer) outline(title string) string {
	a.t.Helper()
	for line := range strings.Lines(a.text) {
		if id, name, _ := strings.Cut(strings.TrimSpace(line), " "); name == title {
			return id
		}
	}
	return a.item("title", title)
}
