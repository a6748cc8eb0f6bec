package console

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"sheaf.dev/internal/sheaf"
)

// rightToLeft is in every name of the town: a letter that is written from right to left.
const rightToLeft = "שם"

// Every name is in an element with its own direction, so that a right-to-left name does not change
// the order of the words around it.
func TestNames_HaveADirectionOfTheirOwn(t *testing.T) {
	w := newTown(t)
	w.renameAll()
	for _, r := range w.c.allRoutes() {
		if r.method != http.MethodGet || strings.HasPrefix(r.path, "/assets") || strings.HasSuffix(r.path, "/live") || strings.HasSuffix(r.path, "/content") {
			continue
		}
		got := w.ask(http.MethodGet, w.address(r.path), w.owner)
		page, err := html.Parse(got.Body)
		w.must(err)
		for _, text := range undirected(page, false) {
			t.Errorf("%s: %q has the direction of the words around it", r.path, text)
		}
	}
}

// renameAll gives every record of the town a right-to-left name.
func (w *town) renameAll() {
	w.Helper()
	ctx, name := w.Context(), func(noun string) sheaf.Opt[string] { return sheaf.Some(rightToLeft + " " + noun) }
	_, err := w.a.UpdateProject(ctx, w.caller, sheaf.ProjectID(w.ids["projects"]), sheaf.ProjectChange{Name: name("project"), Description: name("description")}, sheaf.Match{})
	w.must(err)
	_, err = w.a.UpdateFolder(ctx, w.caller, sheaf.FolderID(w.ids["folders"]), sheaf.FolderChange{Name: name("folder")}, sheaf.Match{})
	w.must(err)
	_, err = w.a.UpdateDocument(ctx, w.caller, sheaf.DocumentID(w.ids["documents"]), sheaf.DocumentChange{Title: name("document"), Description: name("description")}, sheaf.Match{})
	w.must(err)
	// The release has a document that was deleted since, and one whose title has changed since.
	gone := w.newDocument(rightToLeft+" deleted", "")
	release, err := w.a.CreateRelease(ctx, w.caller, sheaf.ProjectID(w.ids["projects"]), sheaf.ReleaseChange{Name: name("release"), Notes: name("notes")})
	w.must(err)
	w.must(w.a.DeleteDocument(ctx, w.caller, gone, sheaf.Match{}))
	w.ids["releases"], w.ids["trash"] = string(release.ID), string(gone)
	_, err = w.a.UpdateDocument(ctx, w.caller, sheaf.DocumentID(w.ids["documents"]), sheaf.DocumentChange{Title: name("new title"), Description: name("new description")}, sheaf.Match{})
	w.must(err)
	_, err = w.a.UpdateBranding(ctx, w.caller, sheaf.BrandingID(w.ids["brandings"]), sheaf.BrandingChange{Name: name("branding"), Footer: name("footer")}, sheaf.Match{})
	w.must(err)
	_, err = w.a.ChangeMedium(ctx, w.caller, sheaf.MediumID(w.ids["media"]), sheaf.MediumChange{Filename: name("file")}, sheaf.Match{})
	w.must(err)
	_, err = w.a.UpdateSubscription(ctx, w.caller, sheaf.SubscriptionID(w.ids["webhooks"]), sheaf.SubscriptionChange{Name: name("webhook")}, sheaf.Match{})
	w.must(err)
	w.must(w.a.RenameWorkspace(ctx, w.caller, rightToLeft+" workspace", sheaf.Opt[string]{}))
	for _, token := range []string{w.owner, w.member} {
		s, err := w.a.Session(ctx, token)
		w.must(err)
		w.must(w.a.Rename(ctx, s, rightToLeft+" person", sheaf.Opt[string]{}))
	}
}

// undirected returns the texts with a name that are in no element with a direction.
func undirected(n *html.Node, directed bool) (out []string) {
	if n.Type == html.ElementNode {
		if n.Data == "title" || n.Data == "script" || n.Data == "pre" || n.Data == "code" {
			return nil // the title of the window, or a text for programs
		}
		directed = directed || n.Data == "bdi"
		for _, a := range n.Attr {
			directed = directed || a.Key == "dir" && a.Val == "auto"
			if (a.Key == "value" || a.Key == "placeholder") && n.Data == "input" && !directedHere(n) && strings.Contains(a.Val, rightToLeft) && !hiddenInput(n) {
				out = append(out, fmt.Sprintf("the field %s", a.Val))
			}
		}
	}
	if n.Type == html.TextNode && strings.Contains(n.Data, rightToLeft) && !directed {
		out = append(out, strings.TrimSpace(n.Data))
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		out = append(out, undirected(c, directed)...)
	}
	return out
}

func directedHere(n *html.Node) bool { return attr(n, "dir") == "auto" }

func hiddenInput(n *html.Node) bool { return attr(n, "type") == "hidden" }

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}
