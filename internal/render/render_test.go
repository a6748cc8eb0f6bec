package render

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sheaf.dev/internal/fair"
)

var update = flag.Bool("update", false, "write the golden file anew")

// D83, D165: every construct is rendered as in the golden file, which alternates between a text and its
// HTML.
func TestPage_Golden(t *testing.T) {
	const path = "testdata/golden.txt"
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, now := newHostileRenderer(), ""
	for part := range strings.SplitSeq("\n"+string(file), "\n=== ") {
		name, rest, _ := strings.Cut(part, "\n")
		if name == "" {
			continue
		}
		text, want, _ := strings.Cut(rest, "\n=>\n")
		got := string(r.page(t, text).HTML(Refs{}))
		if diff := cmp.Diff(strings.TrimSuffix(want, "\n"), strings.TrimSuffix(got, "\n")); diff != "" && !*update {
			t.Errorf("%s (- want, + got):\n%s", name, diff)
		}
		now += fmt.Sprintf("=== %s\n%s\n=>\n%s", name, text, got)
	}
	if *update {
		if err := os.WriteFile(path, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (r *Renderer) page(t testing.TB, text string) *Page {
	t.Helper()
	p, err := r.Page(awaitAs(t.Context(), "somebody"), text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const anID = "01a1ddaf-e222-75b0-8b0f-db9056ab7cea"

// D83: the console and shares replace document: and media: by addresses. A picture is shown only to
// readers who may see it.
func TestHTML_PutsAddressesInPlace(t *testing.T) {
	r := New(Options{})
	for _, test := range []struct{ text, zero, known, unknown string }{
		{"[a](document:" + anID + ")",
			`<a href="document:` + anID + `">a</a>`, `<a href="/documents/` + anID + `">a</a>`, `<a class="gone">a</a>`},
		{"[a](document:" + anID + "#Some%20place 't')",
			`<a href="document:` + anID + `#h-some-place" title="t">a</a>`, `<a href="/documents/` + anID + `#h-some-place" title="t">a</a>`, `<a class="gone" title="t">a</a>`},
		{"[a](media:" + anID + ")",
			`<a href="media:` + anID + `">a</a>`, `<a href="/media/` + anID + `">a</a>`, `<a class="gone">a</a>`},
		{"![a \"b\"](media:" + anID + " 't')",
			`<a href="media:` + anID + `" title="t">a &#34;b&#34;</a>`, `<img src="/media/` + anID + `" alt="a &#34;b&#34;" title="t" loading="lazy">`,
			`<span class="gone">a &#34;b&#34;</span>`},
		{"[![](media:" + anID + ")](https://example.com)",
			`<a href="https://example.com" rel="noopener nofollow">picture</a>`,
			`<a href="https://example.com" rel="noopener nofollow"><img src="/media/` + anID + `" alt="" loading="lazy"></a>`,
			`<a href="https://example.com" rel="noopener nofollow"><span class="gone">picture</span></a>`},
		{"[a](document:" + strings.ToUpper(anID) + ") and [b](document:" + anID + ")",
			`<a href="document:` + anID + `">a</a> and <a href="document:` + anID + `">b</a>`,
			`<a href="/documents/` + anID + `">a</a> and <a href="/documents/` + anID + `">b</a>`, `<a class="gone">a</a> and <a class="gone">b</a>`},
	} {
		p := r.page(t, test.text)
		for _, form := range []struct {
			refs Refs
			want string
		}{{Refs{}, test.zero}, {known, test.known}, {unknown, test.unknown}} {
			if got := string(p.HTML(form.refs)); got != "<p>"+form.want+"</p>\n" {
				t.Errorf("%s: got %s, want %s", test.text, got, form.want)
			}
		}
	}
}

func TestHTML_EscapesTheAddressesOfCallers(t *testing.T) {
	p := New(Options{}).page(t, "[a](document:"+anID+")")
	got := string(p.HTML(Refs{Document: func(string) string { return `/x?a=1&b="><script>` }}))
	if want := `<p><a href="/x?a=1&amp;b=&#34;&gt;&lt;script&gt;">a</a></p>` + "\n"; got != want {
		t.Errorf("got %s", got)
	}
}

func TestPage_NamesWhatItRefersTo(t *testing.T) {
	other := strings.Replace(anID, "0", "f", 1)
	p := New(Options{}).page(t, fmt.Sprintf("[a](document:%s) [b](document:%[1]s) ![c](media:%s) `document:%s`", anID, other, other))
	if diff := cmp.Diff([][]string{{anID}, {other}}, [][]string{p.Documents(), p.Media()}); diff != "" {
		t.Error(diff)
	}
}

// D83, D165: a text is plain exactly from its limits on.
func TestPage_BoundsAreExact(t *testing.T) {
	r := New(Options{})
	cells := func(columns, rows int) string {
		return strings.Repeat(strings.Repeat("|a", columns)+"|\n", 1) + strings.Repeat("|-", columns) + "|\n" + strings.Repeat(strings.Repeat("|b", columns)+"|\n", rows)
	}
	for _, test := range []struct{ name, within, beyond string }{
		{"quotes", strings.Repeat("> ", 32) + "a", strings.Repeat("> ", 33) + "a"},
		{"lists", strings.Repeat("- ", 32) + "a", strings.Repeat("- ", 33) + "a"},
		{"items by indentation", nested(32), nested(33)},
		{"blocks", strings.Repeat("a long paragraph, as there are\n\n", 20_000), strings.Repeat("a long paragraph, as there are\n\n", 20_001)},
		{"cells", cells(10, 1998), cells(10, 2000)},
		{"brackets", strings.Repeat("[", 1000) + "a", strings.Repeat("[", 1001) + "a"},
		{"folds", foldsIn(32), foldsIn(33)},
		{"folds in quotes", "> > " + strings.ReplaceAll(foldsIn(30), "\n", "\n> > "), "> > " + strings.ReplaceAll(foldsIn(31), "\n", "\n> > ")},
		{"length", strings.Repeat("a", MaxText), strings.Repeat("a", MaxText+1)},
	} {
		if r.page(t, test.within).Plain() {
			t.Errorf("%s: what is within the bound is plain", test.name)
		}
		if !r.page(t, test.beyond).Plain() {
			t.Errorf("%s: what is beyond the bound is not plain", test.name)
		}
	}
}

// foldsIn returns folds nested `depth` levels deep.
func foldsIn(depth int) string {
	return strings.Repeat("<details>\n\n", depth) + "a" + strings.Repeat("\n\n</details>", depth)
}

// nested returns lists nested `depth` levels deep, one line each.
func nested(depth int) (text string) {
	for i := range depth {
		text += strings.Repeat("  ", i) + "- a\n"
	}
	return text
}

func TestPage_PlainTextIsEscaped(t *testing.T) {
	text := strings.Repeat(">", 100) + "\n<script>alert(\"1\" & '2')</script>\n"
	got := string(New(Options{}).page(t, text).HTML(known))
	want := `<pre class="plain" tabindex="0">` + strings.Repeat("&gt;", 100) + "\n&lt;script&gt;alert(&#34;1&#34; &amp; &#39;2&#39;)&lt;/script&gt;\n</pre>\n"
	if got != want {
		t.Errorf("got %s", got)
	}
}

// Real texts are far from every limit: the pages of this repository, also all of them in one text.
func TestPage_RealTextsAreNotPlain(t *testing.T) {
	r := New(Options{})
	var all strings.Builder
	for _, text := range realTexts(t) {
		if r.page(t, text).Plain() {
			t.Errorf("a page is shown as plain text: %.200s", text)
		}
		if all.Len()+len(text) < MaxText {
			all.WriteString(text + "\n\n")
		}
	}
	if p, spent := r.render(all.String()); p.Plain() {
		t.Errorf("%d bytes are shown as plain text; spent: %+v", all.Len(), spent)
	}
}

// realTexts returns the pages of this repository.
func realTexts(t testing.TB) (texts []string) {
	t.Helper()
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/*/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(text))
		}
	}
	if len(texts) < 30 {
		t.Fatalf("only %d pages were found", len(texts))
	}
	return texts
}

// If a part panics, in goldmark or here, the reader gets the text without its form.
func TestPage_AFaultOfTheParserIsPlainText(t *testing.T) {
	r := New(Options{})
	r.parser = nil
	p, spent := r.render("# a")
	if !p.Plain() || spent.fault == nil {
		t.Errorf("got %s, fault %v", p.HTML(Refs{}), spent.fault)
	}
}

// awaitAs waits for a turn of a workspace.
func awaitAs(ctx context.Context, ws string) Await {
	return func(turns *fair.Turns, cost int64, _ int) (func(), error) { return turns.Take(ctx, ws, cost) }
}

// Texts of one workspace, however many and long, leave a slot to the others. Seven of the longest
// may wait, and none longer than 5 seconds.
func TestPage_OneWorkspaceLeavesAPlaceToTheOthers(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", MaxText)
	synctest.Test(t, func(t *testing.T) {
		r := New(Options{})
		done, err := awaitAs(t.Context(), "one")(r.turns, int64(mostSteps(MaxText)), 0) // renders something
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		var refused []time.Duration // how long each waited
		var mu sync.Mutex
		var waiting sync.WaitGroup
		for i := range 20 {
			waiting.Go(func() {
				_, err := r.Page(awaitAs(t.Context(), "one"), strconv.Itoa(i)+long[8:])
				mu.Lock()
				defer mu.Unlock()
				if !errors.Is(err, fair.ErrBusy) {
					t.Errorf("one more text of the workspace: %v", err)
				}
				refused = append(refused, time.Since(began))
			})
		}
		synctest.Wait()
		if _, waiters := r.turns.Load(); waiters != 7 {
			t.Errorf("%d texts of the workspace wait", waiters)
		}
		r.page(t, "of another workspace")
		if waited := time.Since(began); waited != 0 {
			t.Errorf("a text of another workspace waited for %v", waited)
		}
		waiting.Wait()
		if n := len(refused); n != 20 || refused[12] != 0 || refused[13] != 5*time.Second || refused[19] != 5*time.Second {
			t.Errorf("%d texts were refused, after %v", n, refused)
		}
		done()
	})
}

// A text that another call renders meanwhile is not rendered again. A waiting call ends with its
// context.
func TestPage_WaitsForItsTurnOrUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	r := New(Options{Wait: time.Hour})
	done, err := awaitAs(t.Context(), "one")(r.turns, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the reader left")
	cancel(gone)
	if _, err := r.Page(awaitAs(ctx, "one"), "a"); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	var waiting sync.WaitGroup
	pages := make([]*Page, 8)
	for i := range pages {
		waiting.Go(func() {
			var err error
			if pages[i], err = r.Page(awaitAs(t.Context(), "one"), "a"); err != nil {
				t.Error(err)
			}
		})
	}
	done()
	waiting.Wait()
	for _, p := range pages {
		if p != pages[0] {
			t.Error("the same text was rendered twice")
		}
	}
	if held, waiters := r.turns.Load(); held != 0 || waiters != 0 {
		t.Errorf("%d texts are being rendered, and %d wait", held, waiters)
	}
}

func TestPage_IsRememberedByItsText(t *testing.T) {
	r := New(Options{CacheBytes: 3000})
	a := r.page(t, "a")
	if r.page(t, "a") != a {
		t.Error("the same text was rendered twice")
	}
	if r.page(t, "b") == a {
		t.Error("another text has the same page")
	}
	for i := range 100 {
		r.page(t, fmt.Sprint("text ", i))
		r.page(t, "b")
	}
	if r.cache.bytes > 3000 || len(r.cache.pages) != r.cache.recent.Len() {
		t.Errorf("%d bytes are kept, %d pages, %d in order", r.cache.bytes, len(r.cache.pages), r.cache.recent.Len())
	}
	if r.page(t, "a") == a {
		t.Error("a page that nobody asked for is kept longer than others")
	}
	r.page(t, strings.Repeat("x", 10_000))
	if r.cache.bytes > 3000 {
		t.Errorf("a large page is kept: %d bytes", r.cache.bytes)
	}
}

// tenKilobytes returns the start of one of our pages.
func tenKilobytes(b *testing.B) string {
	b.Helper()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		b.Fatal(err)
	}
	return string(text[:10_000])
}

// BenchmarkPage renders 10 KB without the cache.
func BenchmarkPage(b *testing.B) {
	text, r := tenKilobytes(b), New(Options{})
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if p, _ := r.render(text); p.Plain() {
			b.Fatal("plain")
		}
	}
}

// BenchmarkPage_Remembered renders the same text again.
func BenchmarkPage_Remembered(b *testing.B) {
	text, r := tenKilobytes(b), New(Options{})
	b.ReportAllocs()
	for b.Loop() {
		_ = r.page(b, text).HTML(known)
	}
}

// D165: pages give headings a link to themselves, and leave out the heading that is their title. The API
// does neither.
func TestHTML_HeadingsOfPages(t *testing.T) {
	t.Parallel()
	link := func(id string) string {
		return `<a class="self" href="#` + id + `" aria-label="Link to this section"></a>`
	}
	for _, test := range []struct{ name, text, title, want string }{
		{"no title", "# A & *b*\n\n## C", "", `<h1 id="h-a--b">A &amp; <em>b</em>` + link("h-a--b") + "</h1>\n" + `<h2 id="h-c">C` + link("h-c") + "</h2>\n"},
		{"the title", "<!-- a -->\n# A & *b*\n\n## C", "a  &\tB ", `<h2 id="h-c">C` + link("h-c") + "</h2>\n"},
		{"a title by an underline", "A\n=\n\nb", "A", "<p>b</p>\n"},
		{"another title", "# A", "B", `<h1 id="h-a">A` + link("h-a") + "</h1>\n"},
		{"a title of level 2", "## A", "A", `<h2 id="h-a">A` + link("h-a") + "</h2>\n"},
		{"a title in a quote", "> # A", "A", "<blockquote>\n" + `<h1 id="h-a">A` + link("h-a") + "</h1>\n</blockquote>\n"},
		{"a title that does not come first", "b\n\n# A", "A", "<p>b</p>\n" + `<h1 id="h-a">A` + link("h-a") + "</h1>\n"},
		{"a title with a picture", "# A ![](media:" + anID + ")", "A", `<h1 id="h-a">A <img src="/media/` + anID + `" alt="" loading="lazy">` + link("h-a") + "</h1>\n"},
		{"a title with a link", "# [A](document:" + anID + ")", "A", `<h1 id="h-a"><a href="/documents/` + anID + `">A</a>` + link("h-a") + "</h1>\n"},
		{"links around headings", "[a](document:" + anID + ")\n# B\n![c](media:" + anID + ")", "", `<p><a href="/documents/` + anID + `">a</a></p>` +
			"\n" + `<h1 id="h-b">B` + link("h-b") + "</h1>\n" + `<p><img src="/media/` + anID + `" alt="c" loading="lazy"></p>` + "\n"},
	} {
		refs := known
		refs.Title = test.title
		if diff := cmp.Diff(test.want, string(New(Options{}).page(t, test.text).HTML(refs))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	p := New(Options{}).page(t, "# A\n\nb")
	if got := string(p.HTML(Refs{})); got != `<h1 id="h-a">A</h1>`+"\n<p>b</p>\n" {
		t.Errorf("the API has %s", got)
	}
	if id, ok := p.Titled("a"); id != "h-a" || !ok {
		t.Errorf("the title has the id %q, %t", id, ok)
	}
}

// D165: the links of headings to themselves count against the longest page.
func TestHTML_HeadingsAreWithinTheBound(t *testing.T) {
	t.Parallel()
	r := New(Options{})
	long := "[a]: https://example.com/" + strings.Repeat("x", 500) + "\n\n"
	longest := 0
	for n := 10_000; n <= 12_000; n += 500 {
		p, _ := r.render(long + strings.Repeat("# [a] "+strings.Repeat("b", 50)+"\n", n))
		length := len(p.HTML(Refs{Selves: true}))
		if longest = max(longest, length); length > maxOutput {
			t.Errorf("a page of %d headings has %d bytes", n, length)
		}
	}
	if longest < maxOutput*9/10 {
		t.Errorf("the longest page has %d bytes, which is far from the bound", longest)
	}
}

// D165: only tags of the list are rendered, only whole pairs, and a comment is in no outline.
func TestPage_OutlineOfTags(t *testing.T) {
	t.Parallel()
	p := New(Options{}).page(t, "<!-- secret -->\n\n# <mark>A</mark><br><kbd>b <!-- secret -->\n\n<!-- secret --> H<sub>2</sub>O\n\n<details>\n\n# In\n\n</details>")
	want := []Heading{{Level: 1, ID: "h-a-kbdb", Text: "A <kbd>b", First: true}, {Level: 1, ID: "h-in", Text: "In"}}
	if diff := cmp.Diff(want, p.Headings()); diff != "" || p.Opening() != "H2O" {
		t.Errorf("it opens with %q; the headings (-want +got):\n%s", p.Opening(), diff)
	}
}

func TestPage_Outline(t *testing.T) {
	t.Parallel()
	page := func(text string) *Page {
		p, err := New(Options{}).Page(awaitAs(t.Context(), "somebody"), text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := page("# The *first* `one`\n\n> quoted\n\n  Some\nwords &amp; a [link](https://example.com).\n\n## Twice\n\n- item\n\n### Twice\n\nmore\n")
	want := []Heading{{Level: 1, ID: "h-the-first-one", Text: "The first one", First: true}, {Level: 2, ID: "h-twice", Text: "Twice"}, {Level: 3, ID: "h-twice-1", Text: "Twice"}}
	if diff := cmp.Diff(want, p.Headings()); diff != "" {
		t.Errorf("the headings (-want +got):\n%s", diff)
	}
	if got := p.Opening(); got != "Some words & a link." {
		t.Errorf("it opens with %q", got)
	}
	p = page("words\n\n# Later\n")
	if h := p.Headings(); len(h) != 1 || h[0].First {
		t.Errorf("a heading that does not come first: %+v", h)
	}
	p = page(strings.Repeat("# h\n\n"+strings.Repeat("word ", 200)+"\n\n", 400))
	if n, opening := len(p.Headings()), []rune(p.Opening()); n != 300 || len(opening) != 300 || opening[299] != '…' {
		t.Errorf("%d headings, and an opening of %d characters", n, len(opening))
	}
}
