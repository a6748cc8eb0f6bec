package console

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sheaf.dev/internal/sheaf"
)

// send posts a form as the owner.
func (w *town) send(path string, form url.Values) *httptest.ResponseRecorder {
	w.Helper()
	r := httptest.NewRequest(http.MethodPost, w.address(path), strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.AddCookie(&http.Cookie{Name: "sheaf", Value: w.owner})
	return ask(w.T, w.c, r)
}

// text returns the document of the town with its text.
func (w *town) text() sheaf.DocumentText {
	w.Helper()
	d, err := w.a.DocumentText(w.Context(), w.caller, sheaf.DocumentID(w.ids["documents"]))
	w.must(err)
	return d
}

// rewrite changes the text of the document of the town, as another person would.
func (w *town) rewrite(text string) {
	w.Helper()
	_, err := w.a.UpdateDocument(w.Context(), w.caller, sheaf.DocumentID(w.ids["documents"]), sheaf.DocumentChange{Content: sheaf.Some(text)}, sheaf.Match{})
	w.must(err)
}

const documentPath = "/w/{workspace}/documents/{id}"

// edited returns the form of the document with a revision.
func edited(revision int64, content string) url.Values {
	return url.Values{"title": {"Document"}, "content": {content}, "revision": {strconv.FormatInt(revision, 10)}}
}

func TestDocument_ShowsItsTextRendered(t *testing.T) {
	w := newTown(t)
	w.rewrite("# Hello\n\nSee [the other](document:" + w.ids["documents"] + ") and <script>alert(1)</script>.")
	got := w.ask(http.MethodGet, w.address(documentPath), w.owner).Body.String()
	for _, want := range []string{`<h1 id="h-hello">Hello<a class="self" href="#h-hello"`, `href="/w/` + string(w.caller.Workspace) + `/documents/` + w.ids["documents"] + `"`,
		"&lt;script&gt;", "version 2", `class="prose"`, "/assets/prose.css?v="} {
		if !strings.Contains(got, want) {
			t.Errorf("the page has no %s: %s", want, got)
		}
	}
	if strings.Contains(got, "<script>") {
		t.Error("the page has the script of the text")
	}
}

// D165: the page shows the title once, and the preview shows the whole text.
func TestDocument_ShowsItsTitleOnce(t *testing.T) {
	w := newTown(t)
	text := "# document\n\n## More\n"
	w.rewrite(text)
	got := w.ask(http.MethodGet, w.address(documentPath), w.owner).Body.String()
	if n := strings.Count(got, "<h1"); n != 1 || !strings.Contains(got, `<h1 id="h-document" dir="auto">`+w.text().Title+`</h1>`) || !strings.Contains(got, `<h2 id="h-more">More<a class="self"`) {
		t.Errorf("%d titles: %s", n, got)
	}
	got = w.send("/w/{workspace}/documents/preview", url.Values{"content": {text}}).Body.String()
	if !strings.HasPrefix(got, `<h1 id="h-document">document<a class="self"`) {
		t.Errorf("the preview is %s", got)
	}
}

func TestEditor_SavesWithTheRevisionItBeganWith(t *testing.T) {
	w := newTown(t)
	began := w.text().Revision
	got := w.send(documentPath, edited(began, "one\r\ntwo"))
	if to := got.Header().Get("Location"); got.Code != http.StatusSeeOther || !strings.HasSuffix(to, w.ids["documents"]+"?saved") {
		t.Fatalf("it answers %d to %q", got.Code, to)
	}
	if d := w.text(); d.Content != "one\ntwo" {
		t.Errorf("the text is %q", d.Content)
	}
	if got := w.send(documentPath, url.Values{"title": {"x"}, "content": {"y"}}); got.Code != http.StatusBadRequest || w.text().Content != "one\ntwo" {
		t.Errorf("a form without a revision gets %d", got.Code)
	}
}

// If another person saved meanwhile, nothing is written, and the page has both texts and the new
// revision.
func TestEditor_ShowsBothTextsWhenSomebodySavedMeanwhile(t *testing.T) {
	w := newTown(t)
	began := w.text().Revision
	w.rewrite("theirs <b>")
	got := w.send(documentPath, edited(began, "mine <i>"))
	body := got.Body.String()
	if got.Code != http.StatusPreconditionFailed || w.text().Content != "theirs <b>" {
		t.Fatalf("it answers %d, the text is %q", got.Code, w.text().Content)
	}
	now := w.text().Revision
	for _, want := range []string{"theirs &lt;b&gt;</textarea>", "mine &lt;i&gt;</textarea>", "<del>- theirs &lt;b&gt;", "<ins>&#43; mine &lt;i&gt;",
		`name="revision" value="` + strconv.FormatInt(now, 10) + `"`} {
		if !strings.Contains(strings.ReplaceAll(body, "<ins>+", "<ins>&#43;"), want) {
			t.Errorf("the page has no %s: %s", want, body)
		}
	}
	if got := w.send(documentPath, edited(now, "merged")); got.Code != http.StatusSeeOther || w.text().Content != "merged" {
		t.Errorf("saving the merged text gets %d, the text is %q", got.Code, w.text().Content)
	}
}

// If another person deleted the document meanwhile, the text can be saved as a new document.
func TestEditor_KeepsWhatWasWrittenIntoADeletedDocument(t *testing.T) {
	w := newTown(t)
	began := w.text().Revision
	w.must(w.a.DeleteDocument(w.Context(), w.caller, sheaf.DocumentID(w.ids["documents"]), sheaf.Match{}))
	got := w.send(documentPath, edited(began, "hours of work"))
	if body := got.Body.String(); got.Code != http.StatusNotFound || !strings.Contains(body, "hours of work</textarea>") ||
		!strings.Contains(body, `action="/w/`+string(w.caller.Workspace)+`/documents"`) {
		t.Errorf("it answers %d: %s", got.Code, body)
	}
}

// A text whose lines end with CR LF keeps them when only the title is changed.
func TestEditor_KeepsAnUntouchedText(t *testing.T) {
	w := newTown(t)
	w.rewrite("\none\r\ntwo\r\n")
	page := w.ask(http.MethodGet, w.address(documentPath+"/edit"), w.owner).Body.String()
	if !strings.Contains(page, ">\n\none\r\ntwo\r\n</textarea>") {
		t.Errorf("the editor drops the empty line at the beginning: %s", page)
	}
	form := edited(w.text().Revision, "\none\r\ntwo\r\n")
	form.Set("title", "Another")
	w.send(documentPath, form)
	if d := w.text(); d.Title != "Another" || d.Content != "\none\r\ntwo\r\n" {
		t.Errorf("the document is %q, %q", d.Title, d.Content)
	}
}

func TestEditor_TakesTheLongestTextAndNoLonger(t *testing.T) {
	w := newTown(t)
	longest := strings.Repeat("\n", sheaf.MaxContent-1) + "x" // the longest form of a text
	if got := w.send(documentPath, edited(w.text().Revision, strings.ReplaceAll(longest, "\n", "\r\n"))); got.Code != http.StatusSeeOther || w.text().Content != longest {
		t.Fatalf("the longest text gets %d", got.Code)
	}
	got := w.send(documentPath, edited(w.text().Revision, longest+"y"))
	if body := got.Body.String(); got.Code != http.StatusBadRequest || !strings.Contains(body, `id="fault"`) || !strings.Contains(body, "1 MiB") {
		t.Errorf("one that is too long gets %d", got.Code)
	}
	if w.text().Content != longest {
		t.Error("the text that is too long was written")
	}
}

// A fault is shown at its field, and describes the field for screen readers.
func TestEditor_ShowsAFaultAtItsField(t *testing.T) {
	w := newTown(t)
	form := edited(w.text().Revision, "kept")
	form.Set("title", " ")
	body := w.send(documentPath, form).Body.String()
	at := strings.Index(body, `name="title"`)
	if at < 0 || !strings.Contains(body[at:at+300], `aria-invalid="true" aria-describedby="fault"`) || !strings.Contains(body, "kept</textarea>") {
		t.Errorf("the page is %s", body)
	}
}

func TestPreview_RendersWithoutChangingOrCountingAnything(t *testing.T) {
	w := newTown(t)
	before := w.everything()
	got := w.send("/w/{workspace}/documents/preview", url.Values{"content": {"**bold** <img src=x onerror=alert(1)>"}})
	if body := got.Body.String(); got.Code != http.StatusOK || !strings.Contains(body, "<strong>bold</strong>") || strings.Contains(body, "<img") {
		t.Errorf("it answers %d %s", got.Code, body)
	}
	if got := w.send("/w/{workspace}/documents/preview", url.Values{"content": {strings.Repeat("x", sheaf.MaxContent+1)}}); got.Code != http.StatusBadRequest {
		t.Errorf("a text that is too long gets %d", got.Code)
	}
	if w.everything() != before {
		t.Error("a preview changed something")
	}
}

func TestVersions_ListCompareAndRestore(t *testing.T) {
	w := newTown(t)
	w.rewrite("old line\n")
	w.rewrite("new <line>\n")
	list := w.ask(http.MethodGet, w.address(documentPath+"/versions"), w.owner).Body.String()
	if !strings.Contains(list, "3 versions") || !strings.Contains(list, "<bdi>Ada</bdi>") || !strings.Contains(list, "9 bytes") {
		t.Errorf("the list is %s", list)
	}
	for path, want := range map[string]string{"/versions/3": "<del>- <b>old</b> line", "/versions/2?view=now": "<ins>+ <b>new</b> <b>&lt;</b>line<b>&gt;</b>", "/versions/2?view=text": "<p>old line</p>",
		"/versions/1": "This is the first version"} {
		if got := w.ask(http.MethodGet, w.address(documentPath)+path, w.owner); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), want) {
			t.Errorf("%s is %d and has no %s: %s", path, got.Code, want, got.Body)
		}
	}
	restore := w.address(documentPath) + "/versions/2/restore"
	form := func(revision int64) url.Values { return url.Values{"revision": {strconv.FormatInt(revision, 10)}} }
	if got := w.send(restore, form(1)); got.Code != http.StatusPreconditionFailed || w.text().Content != "new <line>\n" {
		t.Errorf("a restore that was asked of another state gets %d", got.Code)
	}
	if got := w.send(restore, form(w.text().Revision)); got.Code != http.StatusSeeOther || w.text().Content != "old line\n" || w.text().Version != 4 {
		t.Errorf("the restore gets %d, the text is %q", got.Code, w.text().Content)
	}
	if got := w.ask(http.MethodGet, w.address(documentPath)+"/versions/99", w.owner); got.Code != http.StatusNotFound {
		t.Errorf("a version that is not there gets %d", got.Code)
	}
}

// crumbs returns the texts of the links that show where a page is, and the address of the last.
func crumbs(t *testing.T, page string) (out []string, last string) {
	t.Helper()
	_, rest, ok := strings.Cut(page, `<nav class="crumbs"`)
	if !ok {
		t.Fatalf("the page does not say where it is: %s", page)
	}
	list, _, _ := strings.Cut(rest, "</nav>")
	for _, item := range strings.Split(list, "<a ")[1:] {
		_, href, _ := strings.Cut(item, `href="`)
		last, _, _ = strings.Cut(href, `"`)
		_, text, _ := strings.Cut(item, ">")
		text, _, _ = strings.Cut(text, "</a>")
		out = append(out, text)
	}
	return out, last
}

// Every page about a document shows where it is, in the same way: also its editor, the pages that
// ask for confirmation, and those that show a refused form again.
func TestDocument_EveryPageSaysWhereItIs(t *testing.T) {
	w := newTown(t)
	w.rewrite("text")
	place, document := []string{"All projects", "Folder", "Project"}, w.address(documentPath)
	got, _ := crumbs(t, w.ask(http.MethodGet, document, w.owner).Body.String())
	if diff := cmp.Diff(place, got); diff != "" {
		t.Errorf("its own page: %s", diff)
	}
	pages := map[string]string{}
	for _, path := range []string{"/edit", "/versions", "/versions/1", "/versions/1?view=text", "/versions/1/restore", "/share", "/delete"} {
		pages[path] = w.ask(http.MethodGet, document+path, w.owner).Body.String()
	}
	refused := edited(w.text().Revision, "text")
	refused.Set("title", "")
	refused.Set("project", w.ids["projects"])
	conflict := edited(1, "mine")
	conflict.Set("project", w.ids["projects"])
	pages["a conflict"] = w.send(documentPath, conflict).Body.String()
	pages["a refused restore"] = w.send(document+"/versions/1/restore", url.Values{"revision": {"1"}}).Body.String()
	pages["a refused share"] = w.send(document+"/share", url.Values{"password": {"abc"}}).Body.String()
	for path, page := range pages {
		got, last := crumbs(t, page)
		if diff := cmp.Diff(append(place, "Document"), got); diff != "" || last != document {
			t.Errorf("%s leads to %s: %s", path, last, diff)
		}
	}
	// A refused title is not shown. A new document shows where it will be.
	for path, page := range map[string]string{"a refused title": w.send(documentPath, refused).Body.String(),
		"a new one": w.get("documents/new?in=" + w.ids["projects"]), "a project's share": w.get("projects/" + w.ids["projects"] + "/share")} {
		if got, _ := crumbs(t, page); !cmp.Equal(place, got) {
			t.Errorf("%s is at %q", path, got)
		}
	}
	// In a dialog the page below shows it.
	dialog := w.ask(http.MethodGet, document+"/share", w.owner, func(r *http.Request) {
		r.Header.Set("HX-Request", "true")
		r.Header.Set("HX-Target", "dialog-body")
	})
	if strings.Contains(dialog.Body.String(), "crumbs") {
		t.Error("a dialog says where it is")
	}
}

func TestDiff_IsReadLineByLine(t *testing.T) {
	got := readDiff("--- version 1: a\n+++ version 2: b\n@@ -1,3 +1,3 @@\n same\n---- four\n+++ three\n \n\\ No newline at end of file\n")
	want := diffLines{Lines: []diffLine{{Kind: "at", Text: "@@ -1,3 +1,3 @@"}, {Kind: "same", Text: "same"}, {Kind: "del", Text: "--- four"}, {Kind: "ins", Text: "++ three"},
		{Kind: "same"}, {Kind: "at", Text: "No newline at end of file"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	long := readDiff("@@ -1 +1 @@\n" + strings.Repeat("+x\n", shownLines))
	if !long.Cut || len(long.Lines) != shownLines {
		t.Errorf("of a long diff %d lines are shown, cut %v", len(long.Lines), long.Cut)
	}
}

// The words that changed are marked in replaced lines, and in no other lines.
func TestDiff_MarksChangedWords(t *testing.T) {
	shown := func(unified string) (out []string) {
		for _, line := range readDiff("@@ -1 +1 @@\n" + unified).Lines[1:] {
			text := line.Text
			if line.Parts != nil {
				text = ""
			}
			for _, p := range line.Parts {
				if p.Marked {
					p.Text = "[" + p.Text + "]"
				}
				text += p.Text
			}
			out = append(out, text)
		}
		return out
	}
	long := strings.Repeat("a ", maxMarkedWords)
	for unified, want := range map[string][]string{
		"-Press the button.\n+Press the green button.\n":                 {"Press the button.", "Press the [green] button."},
		"-äpfel und Birnen\n+äpfel oder Birnen\n":                        {"äpfel [und] Birnen", "äpfel [oder] Birnen"},
		"-one two three\n-four five six\n+one two three four five six\n": {"one two three", "four five six", "one two three[ ]four five six"},
		"-all of this goes\n+nothing stays here now\n":                   {"all of this goes", "nothing stays here now"},
		"-gone\n same\n+new\n":                                           {"gone", "same", "new"},
		"+new\n-gone\n":                                                  {"new", "gone"},
		"-" + long + "\n+" + long + "b\n":                                {long, long + "b"},
	} {
		if diff := cmp.Diff(want, shown(unified)); diff != "" {
			t.Errorf("%.60q: %s", unified, diff)
		}
	}
}

func TestSearch_MarksHitsByTheirRanges(t *testing.T) {
	for _, test := range []struct {
		snippet string
		ranges  [][2]int
		want    []piece
	}{
		{"", nil, nil},
		{"plain", nil, []piece{{"plain", false}}},
		{"äöü x", [][2]int{{1, 2}}, []piece{{"ä", false}, {"öü", true}, {" x", false}}},
		{"abc", [][2]int{{0, 1}, {2, 1}}, []piece{{"a", true}, {"b", false}, {"c", true}}},
		{"abc", [][2]int{{2, 5}, {0, 0}, {-1, 2}}, []piece{{"abc", false}}},
	} {
		if diff := cmp.Diff(test.want, pieces(test.snippet, test.ranges)); diff != "" {
			t.Errorf("%q %v: %s", test.snippet, test.ranges, diff)
		}
	}
}

func TestSearch_FindsAndReportsAnInvalidQuery(t *testing.T) {
	w := newTown(t)
	_, err := w.a.UpdateDocument(t.Context(), w.caller, sheaf.DocumentID(w.ids["documents"]), sheaf.DocumentChange{Description: sheaf.Some("The quick <brown> fox")}, sheaf.Match{})
	w.must(err)
	w.must(w.index.CatchUp(t.Context()))
	for q, want := range map[string]string{
		"brown":   `<mark>brown</mark>&gt; fox`,
		"Folder":  w.address(`href="/w/{workspace}/folders/` + w.ids["folders"]),
		"nowhere": "No matches",
		strings.Repeat("w ", 3) + "a b c d e f g h i j k": "at most 10",
	} {
		got := w.ask(http.MethodGet, w.address("/w/{workspace}/search?q="+url.QueryEscape(q)), w.owner)
		if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), want) {
			t.Errorf("%q: %d, no %s in %s", q, got.Code, want, got.Body)
		}
	}
}

func TestTrash_ListsRestoresAndDeletesForGood(t *testing.T) {
	w := newTown(t)
	list := func() string {
		t.Helper()
		return w.ask(http.MethodGet, w.address("/w/{workspace}/trash"), w.owner).Body.String()
	}
	if body := list(); !strings.Contains(body, "Restore Gone") || strings.Contains(body, "Restore Document") {
		t.Errorf("the trash is %s", body)
	}
	if got := w.send("/w/{workspace}/documents/"+w.ids["trash"]+"/restore", nil); got.Code != http.StatusSeeOther || strings.Contains(list(), "Restore Gone") {
		t.Errorf("the restore gets %d", got.Code)
	}
	purge := "/w/{workspace}/trash/{id}/delete"
	if got := w.send(purge, nil); got.Code != http.StatusNotFound {
		t.Errorf("one that is not deleted gets %d", got.Code)
	}
	w.must(w.a.DeleteDocument(t.Context(), w.caller, sheaf.DocumentID(w.ids["trash"]), sheaf.Match{}))
	if got := w.send(purge, nil); got.Code != http.StatusSeeOther || strings.Contains(list(), "Restore Gone") {
		t.Errorf("deleting for good gets %d", got.Code)
	}
	if _, err := w.a.RestoreDocument(t.Context(), w.caller, sheaf.DocumentID(w.ids["trash"])); sheaf.KindOf(err) != sheaf.NotFound {
		t.Errorf("it can be restored: %v", err)
	}
}
