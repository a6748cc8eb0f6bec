package mcp_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// wantCode ends the test unless the answer is an error of JSON-RPC with that code, that id and all
// the words.
func wantCode(t *testing.T, r *apitest.Response, status, code int, id string, words ...string) {
	t.Helper()
	var got struct {
		ID    json.RawMessage
		Error struct {
			Code    int
			Message string
		}
	}
	if err := json.Unmarshal(r.Body, &got); err != nil || r.Status != status || got.Error.Code != code || string(got.ID) != id || got.Error.Message == "" {
		t.Errorf("answered %d %s, want %d with %d for %s", r.Status, r.Body, status, code, id)
	}
	for _, w := range words {
		if !strings.Contains(got.Error.Message, w) {
			t.Errorf("%q does not say %q", got.Error.Message, w)
		}
	}
}

// D145: an id is answered exactly as it was sent. One that cannot be is refused, and nothing is done.
func TestMessage_AnIDIsAnsweredAsSentOrRefused(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t, withMCP)
	c := a.Client(a.Workspace(sheaf.Business).Key())
	call := func(id string) *apitest.Response {
		return post(c, `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"create_project","arguments":{"name":"p"}}}`)
	}
	taken := []string{"0", "7", "-7", "9007199254740991", "-9007199254740991", `""`, `"a\nb"`, `"1.5"`}
	for _, id := range taken {
		var got struct{ ID json.RawMessage }
		if r := call(id); json.Unmarshal(r.Body, &got) != nil || r.Status != 200 || string(got.ID) != id {
			t.Errorf("%s: answered %d %s", id, r.Status, r.Body)
		}
	}
	for _, id := range []string{"1.5", "1.0", "1e3", "-0", "18446744073709551617", "9007199254740992", "-9007199254740992", "1e400", "null", "true", "{}", "[]"} {
		wantCode(t, call(id), 400, -32600, "null", "`id`", "whole number")
	}
	if got := c.GET("/api/v1/projects").Want(t, 200).JSON["total"]; got != float64(len(taken)) {
		t.Errorf("%v projects, want one for each call whose id was taken", got)
	}
}

// D145: what a program asks wrongly has the code that JSON-RPC has for it.
func TestMessage_CodesOfJSONRPC(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t, withMCP)
	c := a.Client(a.Workspace(sheaf.Business).Key())
	for _, body := range []string{"", "{", "nonsense", `{"jsonrpc":"2.0","id":1,"method":"ping"`, `{"jsonrpc":"2.0","id":1,"method":"ping"} x`, "\ufeff{}", "{\"id\":\"\xff\"}", `{"id":"\ud800"}`} {
		wantCode(t, post(c, body), 400, -32700, "null")
	}
	for body, id := range map[string]string{
		"[]": "null", `"x"`: "null", "7": "null", `{"a":1,"a":2}`: "null",
		`{"jsonrpc":"2.0","id":1}`:                                                  "1",
		`{"jsonrpc":"2.0","id":1,"method":null}`:                                    "1",
		`{"jsonrpc":"2.0","id":1,"method":7}`:                                       "1",
		`{"jsonrpc":"1.0","id":1,"method":"ping"}`:                                  "1",
		`{"id":1,"method":"ping"}`:                                                  "1",
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"create_folder"}}`: "null",
		`{"jsonrpc":"2.0","id":1,"method":"notifications/initialized"}`:             "1",
	} {
		wantCode(t, post(c, body), 400, -32600, id)
	}
	for _, method := range []string{"nope", "", "a\x00b", "tools/Call", "notifications/nope", "subscriptions/listen"} {
		wantCode(t, post(c, message(method, nil)), 200, -32601, "7")
		wantCode(t, post(c, message(method, args{"_meta": args{"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}), "MCP-Protocol-Version: 2026-07-28"), 404, -32601, "7")
	}
	wantCode(t, post(c, message("subscriptions/listen", args{})), 200, -32601, "7", "list_changes")
	for _, method := range []string{"resources/list", "resources/templates/list", "tools/list"} {
		for _, cursor := range []any{"x", "-1", "1e3", "99999999999999999999", "a\x00", 7} {
			wantCode(t, post(c, message(method, args{"cursor": cursor})), 200, -32602, "7")
		}
		wantCode(t, post(c, message(method, []int{1})), 200, -32602, "7")
	}
	for _, params := range []any{args{"uri": 7}, 7} {
		wantCode(t, post(c, message("resources/read", params)), 200, -32602, "7")
	}
	for _, params := range []any{nil, []int{}, args{"name": 7}, args{"arguments": args{}}} {
		wantCode(t, post(c, message("tools/call", params)), 200, -32602, "7")
	}
	for _, notification := range []string{"notifications/nope", "nope", "notifications/initialized", "notifications/cancelled"} {
		if got := post(c, map[string]any{"jsonrpc": "2.0", "method": notification}); got.Status != 202 || len(got.Body) != 0 {
			t.Errorf("%s: answered %d %s", notification, got.Status, got.Body)
		}
	}
}

// D140: what one key was answered is for that key alone, whatever keeps answers between it and us.
func TestMessage_AnswersArePrivateToCaches(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t, withMCP)
	key := a.Workspace(sheaf.Business).Key()
	id := connect(t, a, key).id("create_document", args{"title": "x", "content": "y"})
	c := a.Client(key)
	meta := args{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": args{"name": "t", "version": "1"}, "io.modelcontextprotocol/clientCapabilities": args{}}
	for method, params := range map[string]args{"server/discover": {}, "tools/list": {}, "resources/list": {}, "resources/templates/list": {}, "prompts/list": {}, "resources/read": {"uri": "sheaf://document/" + id}} {
		private := func(headers ...string) {
			t.Helper()
			got := post(c, message(method, params), headers...).Want(t, 200)
			result, _ := got.JSON["result"].(map[string]any)
			if result["cacheScope"] != "private" || got.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: answered %v %s", method, got.Header, got.Body)
			}
		}
		if method != "server/discover" { // which the newest version alone has
			private()
		}
		params["_meta"] = meta
		private("MCP-Protocol-Version: 2026-07-28", "Mcp-Method: "+method, "Mcp-Name: sheaf://document/"+id)
	}
}

// D145: a NUL in an argument is told to the language model, as every other wrong argument is.
func TestTools_ANULInAnArgumentIsAResult(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t, withMCP)
	g := connect(t, a, a.Workspace(sheaf.Business).Key())
	g.fails("create_document", args{"title": "a\x00b"}, "VALIDATION_ERROR", "`title` contains a NUL character")
	g.fails("edit_document", args{"document_id": unknownID, "edits": []args{{"old": "a", "new": "\x00"}}}, "VALIDATION_ERROR", "`edits[0].new` contains a NUL character")
	g.fails("find", args{"a\x00": "b"}, "VALIDATION_ERROR", "NUL")
}

// D145: no tool takes a name that its schema does not have, however deep it stands.
func TestTools_TakeNoUnknownNameAtAnyDepth(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t, withMCP)
	g := connect(t, a, a.Workspace(sheaf.Business).Key())
	id := g.id("create_document", args{"title": "x", "content": "one"})
	nested := 0
	for _, tool := range listTools(t, g) {
		g.fails(tool.Name, args{"surprise": 1}, "VALIDATION_ERROR", `"surprise" is not an argument of `+tool.Name)
		for name, s := range tool.InputSchema.(map[string]any)["properties"].(map[string]any) {
			for _, wrong := range surprising(s.(map[string]any)) {
				nested++
				in := args{"title": "t", "document_id": id, name: wrong}
				switch tool.Name {
				case "edit_document":
					delete(in, "title")
				case "propose_changes":
					delete(in, "document_id")
				default:
					t.Fatalf("%s takes %s: this test must know how to call it", tool.Name, name)
				}
				g.fails(tool.Name, in, "VALIDATION_ERROR", "surprise", name+"[0]", "which takes")
			}
		}
	}
	if text, revision := g.read(id); nested == 0 || text != "one" || revision != 1 {
		t.Errorf("after %d calls the text is %q at revision %d", nested, text, revision)
	}
}

// surprising returns valid values of the schema with one unknown name, one value for each object
// in the schema.
func surprising(schema map[string]any) (values []any) {
	switch schema["type"] {
	case "array":
		for _, v := range surprising(schema["items"].(map[string]any)) {
			values = append(values, []any{v})
		}
	case "object":
		right := func(name string, value any) args {
			in := args{name: value}
			for _, must := range schema["required"].([]any) {
				in[must.(string)] = map[string]any{"old": "one", "new": "two", "op": "edit"}[must.(string)]
			}
			return in
		}
		values = append(values, right("surprise", 1))
		for name, inner := range schema["properties"].(map[string]any) {
			for _, v := range surprising(inner.(map[string]any)) {
				values = append(values, right(name, v))
			}
		}
	}
	return values
}

// D143: a document is named by its id, or by the address under which it is a resource.
func TestTools_TakeTheAddressOfADocument(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t, withMCP)
	g := connect(t, a, a.Workspace(sheaf.Business).Key())
	id := g.id("create_document", args{"title": "x", "content": "one"})
	address := "sheaf://document/" + id
	g.do("read_document", args{"document_id": address})
	g.do("edit_document", args{"document_id": address, "append": "two"})
	g.do("rewrite_document", args{"document_id": address, "revision": 2, "content": "three"})
	g.do("move_document", args{"document_id": address, "project_id": "none"})
	g.do("share", args{"document_id": address})
	g.do("delete_document", args{"document_id": address})
	if facts := g.do("restore_document", args{"document_id": address}); facts["id"] != id {
		t.Errorf("restored %v", facts)
	}
	for _, wrong := range []string{"sheaf://document/", "sheaf://project/" + id, address + "/", "SHEAF://document/" + id, "https://x.example/documents/", "https://x.example/s/" + id,
		"https://x.example/w/" + id + "/projects/" + id, "ftp://x.example/documents/" + id, "https://", "https://%/s/"} {
		g.fails("read_document", args{"document_id": wrong}, "VALIDATION_ERROR", "document_id must be an id such as")
	}
}

// D143: a document is read by its address in the console and by that of a share, by the rights of the key alone: a share
// of another workspace, or of what the key does not see, is answered like one that never was.
func TestTools_ReadByTheAddressesOfPages(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		w := a.Workspace(sheaf.Business)
		g := connect(t, a, w.Key())
		folder := g.id("create_folder", args{"name": "f"})
		project := g.id("create_project", args{"name": "p", "folder_id": folder})
		id := g.id("create_document", args{"title": "x", "content": "one", "project_id": project})
		address := func(in args) string { return g.do("share", in)["url"].(string) }
		single, whole, site := address(args{"document_id": id, "password": "a password"}), address(args{"project_id": project}), address(args{"folder_id": folder})
		console := "https://other-name.example/w/" + project + "/documents/" + id
		for _, at := range []string{single, single + "?x=1#part", whole + "/" + id, whole + "/" + id + ".md", site + "/" + id + "/raw", console, console + "/versions/3"} {
			if text, _ := g.read(at); text != "one" {
				t.Errorf("%s is %q", at, text)
			}
		}
		g.fails("read_document", args{"document_id": whole}, "VALIDATION_ERROR", "shows a whole project", "read_tree with project_id "+project)
		g.fails("read_document", args{"document_id": site + "/llms.txt"}, "VALIDATION_ERROR", "shows a whole folder", "folder_id "+folder)
		g.fails("edit_document", args{"document_id": single, "append": "x"}, "VALIDATION_ERROR", "address of a share", "call read_document with it")
		g.do("edit_document", args{"document_id": console, "append": "two"})

		other := g.id("create_project", args{"name": "other"})
		made := w.Client("").POST("/api/v1/api-keys", args{"name": "r", "scopes": []string{"documents:read"}, "restricted_to": args{"project_ids": []string{other}}}).Want(t, 201)
		for _, blind := range []*agent{connect(t, a, a.Workspace(sheaf.Business).Key()), connect(t, a, made.Text(t, "key"))} {
			never := blind.fails("read_document", args{"document_id": "https://x.example/s/0123456789012345678901"}, "NOT_FOUND")
			for _, at := range []string{single, whole, site} {
				if got := blind.fails("read_document", args{"document_id": at}, "NOT_FOUND"); got != never {
					t.Errorf("%s: %q, want %q", at, got, never)
				}
			}
		}
	}, withMCP)
}

// D142: the path of a document has only names that the key may read and sees.
func TestAnswers_NameThePathThatTheKeySees(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		w := a.Workspace(sheaf.Business)
		g := connect(t, a, w.Key())
		outer := g.id("create_folder", args{"name": "Outer"})
		inner := g.id("create_folder", args{"name": "Inner", "parent_id": outer})
		project := g.id("create_project", args{"name": "Book", "folder_id": inner})
		parent := g.id("create_document", args{"title": "Start", "content": "zebra", "project_id": project})
		id := g.id("create_document", args{"title": "Page", "content": "zebra", "project_id": project, "parent_id": parent})
		key := func(scopes []string, to args) *agent {
			return connect(t, a, w.Client("").POST("/api/v1/api-keys", args{"name": "k", "scopes": scopes, "restricted_to": to}).Want(t, 201).Text(t, "key"))
		}
		both := []string{"documents:read", "documents:write", "projects:read"}
		for want, g := range map[string]*agent{
			"Outer / Inner / Book / Start": g,
			"Inner / Book / Start":         key(both, args{"folder_ids": []string{inner}}),
			"Book / Start":                 key(both, args{"project_ids": []string{project}}),
			"Start":                        key(both[:2], nil),
		} {
			read, _, _ := g.try("read_document", args{"document_id": id})
			found := items(g.do("find", args{"query": "zebra page"}))[0]
			listed := items(g.do("list_documents", args{"parent_id": parent}))[0]
			edited := g.do("edit_document", args{"document_id": id, "description": want})
			for _, facts := range []map[string]any{read, found, listed, edited} {
				if facts["path"] != want || facts["title"] != "Page" {
					t.Errorf("%v, want the path %s", facts, want)
				}
			}
		}
		if facts := connect(t, a, w.Key(sheaf.DocumentsWrite)).do("rewrite_document", args{"document_id": id, "revision": 5, "content": "x"}); facts["path"] != nil {
			t.Errorf("a key that may not read is shown %v", facts)
		}
	}, withMCP)
}

// D142: an agent reads the part of a long text that has some words, without the rest.
func TestRead_BeginsNearALine(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t, withMCP)
	g := connect(t, a, a.Workspace(sheaf.Business).Key())
	id := g.id("create_document", args{"title": "Long", "content": strings.Repeat("filler\n", 500) + "The Port is 5432.\n" + strings.Repeat("filler\n", 500) + "port again"})
	facts, text, _ := g.try("read_document", args{"document_id": id, "line_with": "port is", "lines": 5})
	if text != "filler\nfiller\nfiller\nThe Port is 5432.\nfiller\n" || facts["from_line"] != 498.0 || facts["next_line"] != 503.0 || facts["lines"] != 1002.0 {
		t.Errorf("read %v %q", facts, text)
	}
	if facts, text, _ = g.try("read_document", args{"document_id": id, "line_with": "PORT", "from_line": 503}); !strings.HasSuffix(text, "port again") || facts["from_line"] != 999.0 {
		t.Errorf("read %v %q", facts, text)
	}
	g.fails("read_document", args{"document_id": id, "line_with": "host"}, "VALIDATION_ERROR", "no line from line 1 on has", "host")
}

// D142: a list of what is in something that is not there says so, instead of being empty.
func TestLists_OfWhatIsNotThereSaySo(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		w := a.Workspace(sheaf.Business)
		g := connect(t, a, w.Key())
		project, folder := g.id("create_project", args{"name": "p"}), g.id("create_folder", args{"name": "f"})
		gone := g.id("create_project", args{"name": "gone"})
		g.do("delete_project", args{"project_id": gone})
		foreign := connect(t, a, a.Workspace(sheaf.Business).Key()).id("create_project", args{"name": "theirs"})
		for _, id := range []string{unknownID, gone, foreign, folder} {
			g.fails("list_documents", args{"project_id": id}, "NOT_FOUND", "project not found")
			g.fails("find", args{"query": "x", "project_id": id}, "NOT_FOUND", "project not found")
			connect(t, a, w.Key(sheaf.DocumentsRead)).fails("list_documents", args{"project_id": id}, "NOT_FOUND", "project not found")
		}
		document := g.id("create_document", args{"title": "d"})
		g.do("delete_document", args{"document_id": document})
		for _, id := range []string{unknownID, document, project} {
			g.fails("list_documents", args{"parent_id": id}, "NOT_FOUND", "parent document (parent_id) not found")
		}
		g.fails("read_tree", args{"project_id": gone}, "NOT_FOUND", "project not found")
		for _, id := range []string{unknownID, project} {
			g.fails("list_projects", args{"folder_id": id}, "NOT_FOUND", "folder not found")
			g.fails("find", args{"query": "x", "folder_id": id}, "NOT_FOUND", "folder not found")
		}
		for _, in := range []args{{"project_id": project}, {"project_id": "none"}, {}} {
			if facts := g.do("list_documents", in); facts["total"] != 0.0 {
				t.Errorf("%v: listed %v", in, facts)
			}
		}
		g.do("list_projects", args{"folder_id": folder})
		g.do("find", args{"query": "x", "project_id": project})
		g.do("find", args{"query": "x", "folder_id": folder})
	}, withMCP)
}

// D143: a revision that the record never had is not one that somebody has overtaken.
func TestEdit_ARevisionThatNeverWas(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		w := a.Workspace(sheaf.Business)
		g := connect(t, a, w.Key())
		id, project := g.id("create_document", args{"title": "x", "content": "one"}), g.id("create_project", args{"name": "p"})
		never := func(g *agent, tool string, in args, words ...string) {
			t.Helper()
			if said := g.fails(tool, in, "PRECONDITION_FAILED", append(words, "nothing was done")...); strings.Contains(said, "was changed") {
				t.Errorf("%s: told %q", tool, said)
			}
		}
		never(g, "edit_document", args{"document_id": id, "append": "x", "revision": 9}, "never had revision 9", "at revision 1")
		never(g, "rewrite_document", args{"document_id": id, "content": "x", "revision": 9}, "never had revision 9", "at revision 1")
		never(g, "delete_document", args{"document_id": id, "revision": 9}, "never had revision 9", "at revision 1")
		never(g, "edit_project", args{"project_id": project, "name": "q", "revision": 9}, "never had revision 9", "at revision 1")
		never(g, "delete_project", args{"project_id": project, "revision": 9}, "never had revision 9", "at revision 1")
		// A key that may not read is not told more than that it is another one.
		never(connect(t, a, w.Key(sheaf.DocumentsWrite)), "rewrite_document", args{"document_id": id, "content": "x", "revision": 9}, "is not at revision 9")
	}, withMCP)
}

// D142: a search that finds nothing says which of its words are nowhere, so that the next one can be
// better.
func TestFind_SaysWhichWordsAreNowhere(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		g := connect(t, a, a.Workspace(sheaf.Business).Key())
		project := g.id("create_project", args{"name": "Runbooks"})
		g.do("create_document", args{"title": "Restart", "content": "restart the server with care", "project_id": project})
		g.do("create_document", args{"title": "Lamp", "content": "the lamp is red"})
		nothing := func(in args, missing ...any) string {
			t.Helper()
			facts := g.do("find", in)
			if got, _ := facts["not_found"].([]any); facts["total"] != 0.0 || !slices.Equal(got, missing) {
				t.Errorf("%v: found %v, want not_found %v", in, facts, missing)
			}
			note, _ := facts["note"].(string)
			return note
		}
		nothing(args{"query": "restarting server"}, "restarting")
		nothing(args{"query": `restarting "with great care" server`}, "restarting", "with great care")
		nothing(args{"query": "red", "project_id": project}, "red")
		if note := nothing(args{"query": "restart lamp"}); !strings.Contains(note, "none has all of them") {
			t.Errorf("told %q", note)
		}
		if facts := g.do("find", args{"query": "restart"}); facts["not_found"] != nil || facts["note"] != nil || facts["total"] != 1.0 {
			t.Errorf("found %v", facts)
		}
		// Past the last page is not nowhere.
		if facts := g.do("find", args{"query": "restart", "offset": 5}); facts["not_found"] != nil || facts["total"] != 1.0 {
			t.Errorf("past the end %v", facts)
		}
	}, withMCP)
}
