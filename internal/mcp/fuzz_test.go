package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// D145: FuzzMessage sends any bytes as a message. Each gets an answer in JSON that is not an internal error.
func FuzzMessage(f *testing.F) {
	names, _, _ := pinned()
	for _, name := range names {
		f.Add(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":{"document_id":"` + unknownID + `","project_id":"none","query":"x","edits":[{"old":"a","new":"b"}],"limit":1,"offset":9007199254740991,"revision":1,"since":"2026-01-01T00:00:00Z"}}}`)
	}
	for _, seed := range []string{"", "[]", "null", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, `{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"cursor":"-1"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"sheaf://document/%00"}}`, `{"jsonrpc":"2.0","id":1.5,"method":"tools/list","params":{"cursor":"x"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find","arguments":[]}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_document","arguments":{"document_id":"https://x/s/0123456789012345678901/` + unknownID + `.md","line_with":"x"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete_document","arguments":{"document_id":"https://x/w/y/documents/"}}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt"}}}`, `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"x"}}`} {
		f.Add(seed)
	}
	a := apitest.SQLite(f, withMCP, apitest.Quiet)
	c := a.Client(a.Workspace(sheaf.Business).Key())
	f.Fuzz(func(t *testing.T, body string) {
		got := post(c, body)
		if got.Err != nil || got.Status >= 500 {
			t.Fatalf("%q: %d %s %v", body, got.Status, got.Body, got.Err)
		}
		if len(got.Body) > 0 && (!json.Valid(got.Body) || strings.Contains(string(got.Body), "INTERNAL_ERROR")) {
			t.Fatalf("%q: %s", body, got.Body)
		}
	})
}
