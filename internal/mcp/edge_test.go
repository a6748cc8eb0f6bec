package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/mcp"
	"sheaf.dev/internal/obs"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// wantError ends the test unless the answer is an error of JSON-RPC with that status, code and words.
func wantError(t *testing.T, r *apitest.Response, status int, code string, words ...string) {
	t.Helper()
	r.Want(t, status)
	e, _ := r.JSON["error"].(map[string]any)
	data, _ := e["data"].(map[string]any)
	said, _ := e["message"].(string)
	if r.JSON["jsonrpc"] != "2.0" || data["code"] != code || r.Header.Get("Content-Type") != "application/json; charset=utf-8" {
		t.Fatalf("got %d %s, want an error with %s", r.Status, r.Body, code)
	}
	for _, w := range words {
		if !strings.Contains(said, w) {
			t.Errorf("%q does not say %q", said, w)
		}
	}
}

// D140: one address, POST alone, with a key in the header and nothing else; pages of other sites may
// not ask.
func TestEdge_WhoMayAsk(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t, withMCP)
	w := a.Workspace(sheaf.Business)
	key, list := w.Key(), message("tools/list", nil)
	c, nobody := a.Client(key), a.Client("")
	if got := post(c, list).Want(t, 200); got.JSON["id"] != 7.0 || got.Header.Get("Mcp-Session-Id") != "" || got.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("answered %v %s", got.Header, got.Body)
	}
	for _, method := range []string{"GET", "DELETE", "PUT", "OPTIONS", "PATCH"} {
		got := c.Do(method, mcp.Path, nil, "Accept: text/event-stream")
		wantError(t, got, 405, "METHOD_NOT_ALLOWED", "only POST")
		if got.Header.Get("Allow") != "POST" {
			t.Errorf("%s: allows %q", method, got.Header.Get("Allow"))
		}
	}
	c.Do("HEAD", mcp.Path, nil).Want(t, 405)
	for _, origin := range []string{"https://evil.example", "null", "http://127.0.0.1:1", a.Server.URL + ".evil.example"} {
		wantError(t, post(c, list, "Origin: "+origin), 403, "FORBIDDEN", "Origin")
	}
	post(c, list, "Origin: "+a.Server.URL).Want(t, 200)

	got := post(nobody, list)
	wantError(t, got, 401, "UNAUTHORIZED", "Authorization: Bearer")
	if challenge := got.Header.Get("WWW-Authenticate"); !strings.HasPrefix(challenge, `Bearer resource_metadata="`+apitest.Address+`/.well-known/oauth-protected-resource/mcp", scope="`) || got.JSON["id"] != 7.0 {
		t.Errorf("asks for %q, under %v", got.Header.Get("WWW-Authenticate"), got.JSON["id"])
	}
	wantError(t, post(nobody, list, "Cookie: sheaf_session="+key+"; Authorization="+key), 401, "UNAUTHORIZED")
	wantError(t, post(a.Client(key+"x"), list), 401, "UNAUTHORIZED", "malformed")
	// D207: a secret that was replaced is refused, and the new one works.
	replaced, k := a.Workspace(sheaf.Pro).NewKey(nil)
	post(a.Client(replaced), list).Want(t, 200)
	rotated, err := a.App.Operator().RotateKey(t.Context(), k.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, post(a.Client(replaced), list), 401, "UNAUTHORIZED")
	post(a.Client(*rotated.Secret), list).Want(t, 200)
	free := a.Workspace(sheaf.Free)
	wantError(t, post(a.Client(free.Key()), list), 403, "PLAN_REQUIRED")
	// Its word on what it accepts is no reason to refuse it, and what it says of a session means nothing.
	c.POST(mcp.Path, list, "Accept: application/json", "Mcp-Session-Id: of-another-server").Want(t, 200)
	nobody.GET("/mcp/").WantError(t, 404, "NOT_FOUND")
}

// D140: nothing is kept between requests: a call needs no other before it, on whichever node, in
// whichever version of the protocol.
func TestEdge_NothingIsKeptBetweenRequests(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c := a.Client(a.Workspace(sheaf.Business).Key())
		for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
			begun := post(c, message("initialize", args{"protocolVersion": version, "capabilities": args{}, "clientInfo": args{"name": "t", "version": "1"}})).Want(t, 200)
			if got := begun.JSON["result"].(map[string]any)["protocolVersion"]; got != version {
				t.Errorf("asked for %s, got %v: %s", version, got, begun.Body)
			}
			post(c, map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"}, "MCP-Protocol-Version: "+version).Want(t, 202)
			made := post(c, calling("create_project", args{"name": version}), "MCP-Protocol-Version: "+version).Want(t, 200)
			if made.JSON["result"].(map[string]any)["isError"] == true {
				t.Errorf("%s: %s", version, made.Body)
			}
		}
		meta := args{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": args{"name": "t", "version": "1"}, "io.modelcontextprotocol/clientCapabilities": args{}}
		got := post(c, message("tools/call", args{"name": "list_projects", "arguments": args{}, "_meta": meta}),
			"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: list_projects").Want(t, 200)
		if text := string(got.Body); !strings.Contains(text, `\"total\":4`) {
			t.Errorf("the newest version: %s", text)
		}
	}, withMCP)
}

// D145: whatever is sent, the answer is one of the protocol, says what to send, and nothing breaks.
func TestEdge_HostileMessages(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t, withMCP)
	w := a.Workspace(sheaf.Business)
	c := a.Client(w.Key())
	deep := strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)
	for body, words := range map[string]string{
		"":   "empty",
		"{":  "ends too early",
		"[]": "one after the other",
		` [{"jsonrpc":"2.0","id":1,"method":"tools/list"}]`: "one after the other",
		`"x"`:                                 "must be a JSON object",
		`{"jsonrpc":"2.0","id":1,"method":7}`: "`method` must be a string",
		`{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}`:       "appears twice",
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":` + deep + `}`: "nested too deeply",
		`{"jsonrpc":"1.0","id":1,"method":"ping"}`:                       "1.0",
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`:                      "",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}":             "UTF-8",
	} {
		wantError(t, post(c, body), 400, "VALIDATION_ERROR", words)
	}
	wantError(t, post(c, strings.Repeat(" ", 10<<20+1)), 413, "PAYLOAD_TOO_LARGE", "10 MB")
	wantError(t, post(c, message("ping", nil), "Content-Type: text/plain"), 415, "VALIDATION_ERROR", "application/json")
	post(c, message("ping", nil)).Want(t, 200)
	post(c, map[string]any{"jsonrpc": "2.0", "id": "a string", "method": "ping"}).Want(t, 200)
	post(c, map[string]any{"jsonrpc": "2.0", "id": 1, "result": args{}}).Want(t, 202)
}

// D145: a tool call with wrong arguments is told what to send.
func TestEdge_WrongArgumentsAreToldWhatToSend(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t, withMCP)
	g := connect(t, a, a.Workspace(sheaf.Business).Key())
	g.fails("read_document", args{}, "VALIDATION_ERROR", "document_id is required", "find and the lists")
	g.fails("read_document", args{"document_id": nil}, "VALIDATION_ERROR", "document_id is required")
	g.fails("read_document", args{"document_id": "Handbook"}, "VALIDATION_ERROR", "document_id must be an id such as", `"Handbook"`)
	g.fails("read_document", args{"document_id": 7}, "VALIDATION_ERROR", "`document_id` must be a string, not a number")
	g.fails("read_document", args{"id": "x"}, "VALIDATION_ERROR", `"id" is not an argument of read_document, which takes document_id, line_with, from_line, lines, version`)
	g.fails("read_document", args{"document_id": unknownID, "lines": 2001}, "VALIDATION_ERROR", "`lines` must be a whole number from 1 to 2000")
	g.fails("read_document", args{"document_id": unknownID}, "NOT_FOUND", "document not found")
	g.fails("find", args{"query": ""}, "VALIDATION_ERROR", "query must have 1 to")
	g.fails("find", args{"query": "x", "type": "poem"}, "VALIDATION_ERROR", "type must be one", "poem")
	g.fails("list_documents", args{"limit": 51}, "VALIDATION_ERROR", "`limit` must be a whole number from 1 to 50")
	g.fails("list_documents", args{"updated_since": "yesterday"}, "VALIDATION_ERROR", "updated_since", "2026-11-15T10:00:00")
	g.fails("list_changes", args{"after": "x"}, "VALIDATION_ERROR", "after must be the id of a change", "evt_")
	g.fails("list_changes", args{"after": "evt_" + unknownID}, "NOT_FOUND", "start from since")
	g.fails("create_document", args{"title": " "}, "VALIDATION_ERROR", "title")
	g.fails("create_document", args{"title": "x", "content": strings.Repeat("x", 1<<20+1)}, "VALIDATION_ERROR", "1 MiB")
	g.fails("create_document", args{"title": "x", "project_id": unknownID}, "NOT_FOUND", "project not found")
	g.fails("rewrite_document", args{"document_id": unknownID, "content": "x"}, "VALIDATION_ERROR", "revision is required", "the one that you read")
	g.fails("edit_project", args{"project_id": unknownID}, "VALIDATION_ERROR", "nothing to change", "name")
	g.fails("share", args{"document_id": unknownID, "password": "x"}, "VALIDATION_ERROR", "password")
	g.fails("edit_project", args{"project_id": unknownID, "folder_id": "here"}, "VALIDATION_ERROR", "folder_id must be an id")
	g.fails("edit_everything", args{}, "VALIDATION_ERROR", `there is no tool "edit_everything"`, "tools/list")
	g.fails("find", []string{"x"}, "VALIDATION_ERROR", "object")
}

const unknownID = "0190b0a0-dead-7000-8000-000000000000"

// D140: every request counts in the rate limit, together with those to the API. A language model that
// calls too often gets a text with the number of seconds to wait.
func TestEdge_ALoopIsToldTheSeconds(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Freeze()
		key := a.Workspace(sheaf.Pro).Key()
		c := a.Client(key)
		for range 50 {
			c.GET("/api/v1/projects").Want(t, 200)
			post(c, calling("list_projects", args{})).Want(t, 200)
		}
		got := post(c, calling("list_projects", args{})).Want(t, 200)
		result := got.JSON["result"].(map[string]any)
		said, seconds := fmt.Sprint(result["content"]), got.Header.Get("Retry-After")
		if result["isError"] != true || got.JSON["id"] != 7.0 || !strings.Contains(said, "100 requests a minute; retry after "+seconds+" seconds") || !strings.Contains(said, "RATE_LIMITED") {
			t.Errorf("the loop was told %s", got.Body)
		}
		if seconds == "" || got.Header.Get("Ratelimit-Remaining") != "0" {
			t.Errorf("its header: %v", got.Header)
		}
		wantError(t, post(c, message("tools/list", nil)), 429, "RATE_LIMITED", "retry after "+seconds+" seconds")
		c.GET("/api/v1/projects").WantError(t, 429, "RATE_LIMITED")
		a.Clock.Advance(61 * time.Second)
		post(c, calling("list_projects", args{})).Want(t, 200)
	}, withMCP, apitest.PlanLimits)
}

// D146: each request has one line in the log, with the tool, and why it was refused; the key is in
// none. The metrics count by tool.
func TestEdge_LogAndMetrics(t *testing.T) {
	t.Parallel()
	routes := obs.NewRoutes()
	a := apitest.SQLite(t, withMCP, func(c *apitest.Config) { c.Requests = routes })
	key := a.Workspace(sheaf.Business).Key()
	c := a.Client(key)
	post(c, calling("create_project", args{"name": "canary"})).Want(t, 200)
	post(c, calling("read_document", args{"document_id": unknownID})).Want(t, 200)
	post(c, calling("no such\ntool", args{})).Want(t, 200)
	post(c, message("tools/list", nil)).Want(t, 200)
	post(a.Client(""), calling("find", args{"query": "x"})).Want(t, 401)
	var got []string
	for line := range strings.Lines(a.Log()) {
		var l struct{ Msg, Path, Tool, Refused string }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Msg == "served request" {
			got = append(got, strings.TrimSpace(l.Path+" "+l.Tool+" "+l.Refused))
		}
	}
	want := []string{"/mcp create_project", "/mcp read_document NOT_FOUND", "/mcp  VALIDATION_ERROR", "/mcp tools/list", "/mcp find UNAUTHORIZED"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("logged %q", got)
	}
	if strings.Contains(a.Log(), key) || strings.Contains(a.Log(), "canary") {
		t.Error("the log has the key, or what was written")
	}
	if counted := gather(t, routes); counted["create_project 2xx"] != 1 || counted["read_document 2xx"] != 1 || counted["any 2xx"] != 2 || counted["find 4xx"] != 1 {
		t.Errorf("counted %v", counted)
	}
}

// D146: a tool that panics is answered with 500 and logged, and nothing else notices.
func TestEdge_APanicIsCaught(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t, mounting(func(s *mcp.Server) { s.Break("find") }))
	c := a.Client(a.Workspace(sheaf.Business).Key())
	wantError(t, post(c, calling("find", args{"query": "x"})), 500, "INTERNAL_ERROR", "request id")
	if !strings.Contains(a.Log(), "planted find") || !strings.Contains(a.Log(), "recovered from a panic") {
		t.Errorf("the log lacks it: %s", a.Log())
	}
	post(c, calling("list_projects", args{})).Want(t, 200)
}
