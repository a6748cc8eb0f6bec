package console

import (
	"net/http"
	"strings"
	"testing"
)

// The script of the editor is large, so the pages of the editor alone load it: no other page of the console does.
func TestEditor_ItsScriptIsOnItsPagesAlone(t *testing.T) {
	w := newTown(t)
	pages, editors := 0, 0
	for _, r := range w.c.allRoutes() {
		if r.method != http.MethodGet || strings.HasPrefix(r.path, "/assets") || strings.HasSuffix(r.path, "/live") {
			continue
		}
		answer := w.ask(r.method, w.address(r.path), w.owner)
		if answer.Code != http.StatusOK || !strings.HasPrefix(answer.Header().Get("Content-Type"), "text/html") {
			continue
		}
		pages++
		want := strings.HasSuffix(r.path, "/documents/new") || strings.HasSuffix(r.path, "/documents/{id}/edit") ||
			strings.HasSuffix(r.path, "/documents/suggest") || strings.HasSuffix(r.path, "/documents/{id}/suggest")
		if want {
			editors++
		}
		for _, name := range []string{"codemirror.js", "/editor.js", "editor.css"} {
			if got := strings.Contains(answer.Body.String(), name); got != want {
				t.Errorf("%s loads %s: %v", r.path, name, got)
			}
		}
	}
	if pages < 50 || editors != 4 {
		t.Errorf("%d pages and %d editors were looked at", pages, editors)
	}
}
