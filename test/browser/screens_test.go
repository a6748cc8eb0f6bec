package browser

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// handbook is a text as people write it, for the pictures.
const handbook = `# Writing for readers

Somebody reads this who is **in a hurry**. Say what to do first, and why it matters afterwards.

## Before you write

1. Ask who reads it, and what they do next.
2. Look whether it exists already: search finds *any part of a word*.
3. Choose the project in which people would look for it.

> A document that nobody finds was not written.

| Kind | Says | Example |
|---|---|---|
| Guide | how to do one thing | Set up a laptop |
| Reference | what there is | Error codes |
| Decision | why it is so | Why we use Markdown |

## A draft in five minutes

` + "```sh\nsheaf documents create 'Set up a laptop' --project Handbook\nsheaf documents edit 'Set up a laptop'\n```\n" + `
Two people may write at once: the second one to save sees both texts and loses neither.
`

// The ten main pages of a workspace in use, in light and dark and on a phone. scripts/screenshots makes
// these pictures alone, for a person to look at, and for the README.
func TestScreens_TheTenMainPages(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	b.furnish()
	b.picture("screen-projects")
	project := s.find("/api/v1/projects?q=Handbook")
	document := s.created("/api/v1/documents", map[string]any{"title": "Writing for readers", "project_id": project, "content": handbook}, "id")
	branding := s.created("/api/v1/brandings", map[string]any{"name": "Acme handbook", "color_primary": "#7c3aed", "font": "serif", "footer": "© Acme, written with care"}, "id")
	share := s.created("/api/v1/shares", map[string]any{"resource_type": "document", "resource_id": document, "branding_id": branding}, "url")
	s.created("/api/webhooks/subscriptions", map[string]any{"name": "Build the site", "url": "https://hooks.example.com/site", "events": []string{"document.updated"}}, "")

	at, _ := ask[string](b, "document.querySelector('.tabs a').href")
	at = strings.TrimSuffix(at, "/projects")
	for _, page := range []struct{ name, path, heading string }{
		{"project", "/projects/" + project, "Handbook"},
		{"document", "/documents/" + document, "Writing for readers"},
		{"editor", "/documents/" + document + "/edit", "Edit Writing for readers"},
		{"search", "/search?q=writ", "“writ”"},
		{"branding", "/brandings/" + branding, "Acme handbook"},
		{"webhooks", "/webhooks", "Webhooks"},
		{"activity", "/activity", "Activity"},
		{"audit", "/audit", "Audit log"},
		{"keys", "/keys", "Keys"},
		{"settings", "/settings", "Settings"},
	} {
		b.open(at + page.path)
		b.until("the page "+page.name, "document.readyState === 'complete' && (document.querySelector('h1')?.innerText || '').startsWith("+quote(page.heading)+")")
		b.picture("screen-" + page.name)
		if page.name == "document" {
			b.savePacked("screen-readme")
		}
	}
	reader := newTab(t, s)
	reader.open(share)
	reader.see(".prose")
	reader.published("screen-share")

	b.open(at + "/keys")
	b.arrive("Keys")
	b.click("li:has(.tile) strong a")
	b.see("=Revoke all of it")
	b.read("The webhook Build the site")
	b.shot("key")
	b.click("=Revoke all of it")
	b.click("dialog.dialog[open] button.primary")
	b.read("1 key revoked, 1 webhook and 1 share deleted.")
}

// find returns the id of the first record of a list.
func (s *service) find(path string) string {
	s.t.Helper()
	list := s.list(path)
	if len(list) == 0 {
		s.t.Fatalf("GET %s: nothing", path)
	}
	return list[0].ID
}

// record is what these tests read of one.
type record struct {
	ID, Name  string
	SortOrder int `json:"sort_order"`
}

// list returns a list of the API.
func (s *service) list(path string) []record {
	s.t.Helper()
	req, err := http.NewRequest(http.MethodGet, s.URL+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	var list struct{ Data []record }
	if err := json.NewDecoder(res.Body).Decode(&list); err != nil || res.StatusCode != http.StatusOK {
		s.t.Fatalf("GET %s: %d %v", path, res.StatusCode, err)
	}
	return list.Data
}
