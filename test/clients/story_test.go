//go:build clients

package clients

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest"
)

const storyID = "SheafIssueToPage"

// story is the workflow: the document that the trigger names is shared, and the link is posted to a chat.
func story(chat string) object {
	w := &workflow{connections: object{}}
	w.add("Trigger", triggerNode())
	w.connect("Trigger", "publish",
		sheafNode("share", "create", object{"resource_type": "document", "resource_id": "={{ $json.resource_id }}"}),
		node("n8n-nodes-base.httpRequest", 4.2, object{"method": "POST", "url": chat, "sendBody": true, "specifyBody": "json",
			"jsonBody": "={{ JSON.stringify({ text: 'New page: ' + $('Trigger').item.json.payload.title + ' ' + $json.url }) }}", "options": object{}}))
	return object{"id": storyID, "name": "From an issue to a page", "nodes": w.nodes, "connections": w.connections, "settings": object{}, "active": false}
}

// openChat returns the address of a chat, and what is posted there.
func openChat(t *testing.T) (address string, posted <-chan string) {
	t.Helper()
	said := make(chan string, 16)
	chat := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var message struct{ Text string }
		if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
			t.Errorf("the chat cannot read what is posted: %v", err)
		}
		said <- message.Text
	}))
	t.Cleanup(chat.Close)
	return chat.URL, said
}

// An agent writes a page from the text of an issue over MCP. A webhook notifies n8n, which verifies the signature and posts the
// link of a share that shows the page. A forged delivery posts nothing.
func TestClients_AnAgentWritesAPageAndN8NPostsItsLink(t *testing.T) {
	s := newSite(t)
	chat, posted := openChat(t)
	n := launchN8N(t, s, story(chat))
	hook := n.door.hook()
	for _, each := range trials(hook.secret, time.Now()) {
		if each.want == "" || each.want == "BadSecret" || each.exact {
			continue
		}
		if got := n.deliver(t, object{"headers": each.headers, "body": each.body}); got["verdict"] != each.want {
			t.Errorf("%s: %q, not %q", each.name, got["verdict"], each.want)
		}
	}
	const title, text = "Sign-in fails after midnight", "# Sign-in fails after midnight\n\nNobody can sign in between midnight and one.\n"
	var answer object
	status, err := s.Call(hook.key, http.MethodPost, "/mcp", object{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": object{"name": "create_document", "arguments": object{"title": title, "content": text}}}, &answer)
	if err != nil || status != http.StatusOK || answer["error"] != nil {
		t.Fatalf("the agent is answered %d, %v: %v", status, err, answer)
	}
	sheaftest.Eventually(t, "n8n posts the link", func() bool { return len(posted) > 0 })
	message := <-posted
	before, link, _ := strings.Cut(message, " http")
	if before != "New page: "+title {
		t.Fatalf("the chat was sent %q", message)
	}
	if got := fetched(t, "http"+link+"/raw"); got != text {
		t.Errorf("the link leads to %q", got)
	}
	if total := s.read(t, hook.key, "/api/v1/shares")["total"]; total != 1.0 || len(posted) > 0 {
		t.Errorf("there are %v shares, and %d more messages", total, len(posted))
	}
}

// fetched is what a GET without a key returns.
func fetched(t *testing.T, address string) string {
	t.Helper()
	res, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", address, res.StatusCode, err)
	}
	return string(b)
}
