package recipes

import (
	"bytes"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaftest/markdown"
	"sheaf.dev/internal/sheaftest/proctest"
)

// surroundings are the programs that a snippet of the console is pasted into. Express is the real one; of Flask there
// is what the snippet needs.
var surroundings = map[string]struct{ lang, text string }{
	"Go": {"go", `package main

import (
	"context"
	"log"
	"net/http"
	"os"

	"sheaf.dev/webhook"
)

func main() {
	SNIPPET
	log.Fatal(http.ListenAndServe("localhost:"+os.Getenv("PORT"), nil))
}
`},
	"Node": {"js", `import express from "express";
const app = express();
SNIPPET
app.use((error, req, res, next) => res.sendStatus(400));
app.listen(process.env.PORT, "localhost");
`},
	"Python": {"python", `import http.server
import os


class Flask:
    def post(self, path):
        return lambda view: setattr(self, "view", view)


class Request:
    def get_data(self, as_text=False):
        return self.body.decode() if as_text else self.body


app, request = Flask(), Request()

SNIPPET


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        request.headers, request.body = self.headers, self.rfile.read(int(self.headers["Content-Length"]))
        try:
            status = app.view()[1]
        except Exception:
            status = 400
        self.send_response(status)
        self.end_headers()


http.server.HTTPServer(("localhost", int(os.environ["PORT"])), Handler).serve_forever()
`},
}

// What the console shows beside a new secret takes what is genuine and refuses what is not, as it is pasted.
func TestConsole_SnippetsTakeOnlyWhatIsGenuine(t *testing.T) {
	t.Parallel()
	secret, snippets := secretPage(t)
	for name, around := range surroundings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(around.text, "SNIPPET", snippets[name], 1)
			port := serve(t, markdown.Block{Lang: around.lang, Text: text}, "SHEAF_SECRET="+secret,
				"PYTHONPATH="+standardWebhooks(t), "PYTHONDONTWRITEBYTECODE=1")
			try(t, http.DefaultClient, "http://localhost:"+port+"/hook", secret)
		})
	}
	t.Run("n8n", func(t *testing.T) {
		t.Parallel()
		need(t, "node")
		input, err := json.Marshal(map[string]any{"snippet": snippets["n8n"], "secret": secret, "deliveries": sent(secret)})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("node", "testdata/snippet.mjs")
		cmd.Stdin, cmd.Stderr = bytes.NewReader(input), t.Output()
		out, err := cmd.Output()
		var genuine []bool
		if err == nil {
			err = json.Unmarshal(out, &genuine)
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		judge(t, genuine)
	})
}

var (
	madeSecret = regexp.MustCompile(`<code id="made-secret">([^<]+)</code>`)
	shown      = regexp.MustCompile(`<summary>(\w+) [^\x00]*?<pre><code>([^<]*)</code></pre>\s*<button[^>]* data-copy="([^"]*)"`)
)

// secretPage makes a webhook in the console, and returns its secret and the snippets that are shown beside it.
func secretPage(t *testing.T) (secret string, snippets map[string]string) {
	t.Helper()
	program := proctest.New(t)
	workspace := program.Ask(t, "workspace", "create", "--name", "Snippets", "--plan", "business")["id"].(string)
	link := program.Ask(t, "user", "invite", "ada@example.com", "--workspace", workspace, "--role", "owner")["url"].(string)
	server := program.Start(t)
	jar, _ := cookiejar.New(nil)
	client := &http.Client{Jar: jar}
	join := server.URL + link[strings.LastIndex(link, "/invite/"):]
	form(t, client, join, url.Values{"name": {"Ada"}, "password": {"long enough"}, "again": {"long enough"}})
	page := form(t, client, server.URL+"/w/"+workspace+"/webhooks",
		url.Values{"name": {"n8n"}, "url": {"https://example.com/"}, "event": {"document.created"}})
	snippets = map[string]string{}
	for _, m := range shown.FindAllStringSubmatch(page, -1) {
		snippets[m[1]] = html.UnescapeString(m[2])
		if html.UnescapeString(m[3]) != snippets[m[1]] {
			t.Errorf("of %s is copied %q", m[1], m[3])
		}
	}
	m := madeSecret.FindStringSubmatch(page)
	if m == nil || len(snippets) != len(surroundings)+1 {
		t.Fatalf("the page shows %d snippets: %s", len(snippets), page)
	}
	return m[1], snippets
}

// form sends a form and returns the page that it leads to.
func form(t *testing.T, client *http.Client, address string, fields url.Values) string {
	t.Helper()
	res, err := client.PostForm(address, fields)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v\n%s", address, res.Status, err, page)
	}
	return string(page)
}

// standardWebhooks is the folder of the library in Python: its repository is a Go module, which other tests use.
func standardWebhooks(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", "{{.Module.Dir}}", "github.com/standard-webhooks/standard-webhooks/libraries/go").Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "python")
}
