package render

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// A vector is a text that tries to run or load something.
type vector struct{ name, text string }

// vectors reads all vectors. A vector that loads something loads it from `listener`.
func vectors(t testing.TB, listener string) (all []vector) {
	t.Helper()
	file, err := os.ReadFile("testdata/hostile.txt")
	if err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq("\n"+string(file), "\n=== ") {
		name, text, _ := strings.Cut(part, "\n")
		if name != "" {
			all = append(all, vector{name, strings.ReplaceAll(text, "{{L}}", listener)})
		}
	}
	return all
}

// imageHost is the host whose pictures the tests allow.
const imageHost = "images.example"

func newHostileRenderer() *Renderer { return New(Options{ImageHosts: []string{imageHost}}) }

// D83, D165: for any input, the page consists of harmless elements.
func TestPage_IsHarmless(t *testing.T) {
	r := newHostileRenderer()
	all := vectors(t, "http://127.0.0.1:1")
	if len(all) < 150 {
		t.Fatalf("only %d vectors", len(all))
	}
	for _, v := range all {
		p, spent := r.render(v.text)
		if spent.fault != nil {
			t.Errorf("%s: the parser panics: %v", v.name, spent.fault)
		}
		for _, refs := range []Refs{{}, known, unknown} {
			if err := harmless(p.HTML(refs)); err != nil {
				t.Errorf("%s: %v in\n%s\nof\n%s", v.name, err, p.HTML(refs), v.text)
			}
		}
	}
}

// known finds everything and has all links, and unknown nothing.
var (
	known = Refs{
		Document: func(id string) string { return "/documents/" + id },
		Media:    func(id string) string { return "/media/" + id },
		Selves:   true,
	}
	unknown = Refs{Document: func(string) string { return "" }, Media: func(string) string { return "" }}
)

// Control: the check finds what must not be written.
func TestHarmless_FindsWhatIsNot(t *testing.T) {
	for _, page := range []string{
		`<script>alert(1)</script>`, `<img src="https://images.example/a.png" onerror="alert(1)">`, `<a href="javascript:alert(1)">a</a>`,
		`<a href=" javascript:alert(1)" rel="noopener nofollow">a</a>`, `<a href="https://example.com">a</a>`, `<a href="/logout">a</a>`,
		`<img src="https://example.com/a.png" alt="">`, `<p style="color:red">`, `<p class="admin">`, `<h1 id="location">`, `<h1 id="h-a"></h1><h2 id="h-a"></h2>`,
		`<svg></svg>`, `<form></form>`, `<input type="text">`, `<!-- a -->`, `<p title="a">`, `<a href="https://a.b" rel="noopener nofollow"><a href="#h-a">`,
		`<a href="document:x">a</a>`, `<span class="x y">a</span>`, `<p>a`, `</p>`, `<pre class="plain" tabindex="1"></pre>`, `<a href="mailto:x">`, `<b>`,
		`<details open="1"></details>`, `<details ontoggle="alert(1)"></details>`, `<summary class="x"></summary>`, `<kbd>a<sub></kbd></sub>`, `<div role="alert"></div>`,
	} {
		if err := harmless([]byte(page)); err == nil {
			t.Errorf("nothing is wrong with %s", page)
		}
	}
	if err := harmless([]byte(`<p>a <a href="https://example.com/" rel="noopener nofollow" title="b">c</a></p>`)); err != nil {
		t.Errorf("something is wrong with a link: %v", err)
	}
}

// attributes are the attributes that an element may have, besides those that harmless itself
// allows.
var attributes = map[atom.Atom][]string{
	atom.A: {"href", "rel", "title", "class", "aria-label"}, atom.Blockquote: nil, atom.Br: nil, atom.Code: {"class"}, atom.Del: nil, atom.Details: {"open"},
	atom.Div: {"class", "tabindex", "role"}, atom.Kbd: nil, atom.Mark: nil, atom.Sub: nil, atom.Summary: nil,
	atom.Em: nil, atom.H1: {"id"}, atom.H2: {"id"}, atom.H3: {"id"}, atom.H4: {"id"}, atom.H5: {"id"}, atom.H6: {"id"}, atom.Hr: nil,
	atom.Img: {"src", "alt", "title", "loading", "referrerpolicy"}, atom.Input: {"type", "disabled", "checked", "aria-label"}, atom.Li: {"id", "class"},
	atom.Ol: {"start"}, atom.P: {"class"}, atom.Pre: {"class", "tabindex"}, atom.Section: {"class", "aria-label"}, atom.Span: {"class"}, atom.Strong: nil,
	atom.Sup: {"id"}, atom.Table: nil, atom.Tbody: nil, atom.Td: {"class"}, atom.Th: {"class"}, atom.Thead: nil, atom.Tr: nil, atom.Ul: nil,
}

// values are all values that an attribute may have, if they are a short list.
var values = map[string][]string{
	"rel": {"noopener nofollow"}, "type": {"checkbox"}, "tabindex": {"0"}, "loading": {"lazy"}, "referrerpolicy": {"no-referrer"}, "disabled": {""}, "checked": {""},
	"role": {"note"}, "open": {""},
	"class": append([]string{"self", "callout note", "callout tip", "callout important", "callout warning", "callout caution", "callout-title", "task", "table", "right", "center", "plain", "chroma", "footnotes", "gone"},
		strings.Fields("c s m k kt kc nb nf nv nt na nd ni o gh gi gd gu gp go gs")...),
}

// harmless returns an error if a page has anything that is not listed above, is not well-formed, or
// has ids of others.
func harmless(page []byte) error {
	tokens := html.NewTokenizer(strings.NewReader(string(page)))
	var open []atom.Atom
	ids := map[string]bool{}
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			if len(open) > 0 {
				return fmt.Errorf("<%s> is not closed", open[len(open)-1])
			}
			return nil
		case html.CommentToken, html.DoctypeToken:
			return fmt.Errorf("a comment: %s", tokens.Raw())
		case html.EndTagToken:
			token := tokens.Token()
			if len(open) == 0 || open[len(open)-1] != token.DataAtom {
				return fmt.Errorf("</%s> closes nothing", token.Data)
			}
			open = open[:len(open)-1]
		case html.StartTagToken, html.SelfClosingTagToken:
			token := tokens.Token()
			if err := checkElement(token, open, ids); err != nil {
				return err
			}
			if !slices.Contains([]atom.Atom{atom.Br, atom.Hr, atom.Img, atom.Input}, token.DataAtom) {
				open = append(open, token.DataAtom)
			}
		}
	}
}

func checkElement(token html.Token, open []atom.Atom, ids map[string]bool) error {
	allowed, ok := attributes[token.DataAtom]
	if !ok || token.DataAtom == 0 {
		return fmt.Errorf("the element <%s>", token.Data)
	}
	if token.DataAtom == atom.A && slices.Contains(open, atom.A) {
		return fmt.Errorf("a link in a link")
	}
	found := map[string]string{}
	for _, a := range token.Attr {
		if !slices.Contains(allowed, a.Key) {
			return fmt.Errorf("the attribute %s of <%s>", a.Key, token.Data)
		}
		list, short := values[a.Key]
		if short && !slices.Contains(list, a.Val) && !(token.DataAtom == atom.Code && languageNamed(strings.TrimPrefix(a.Val, "language-")) != nil) {
			return fmt.Errorf("%s=%q of <%s>", a.Key, a.Val, token.Data)
		}
		found[a.Key] = a.Val
	}
	if id, ok := found["id"]; ok {
		if ids[id] || !strings.HasPrefix(id, headingPrefix) && !strings.HasPrefix(id, notePrefix) && !strings.HasPrefix(id, notedPrefix) {
			return fmt.Errorf("the id %q", id)
		}
		ids[id] = true
	}
	if token.DataAtom == atom.Input && found["type"] != "checkbox" {
		return fmt.Errorf("an input that is no box")
	}
	return checkAddress(token.DataAtom, found)
}

// checkAddress checks the destination of a link or picture.
func checkAddress(element atom.Atom, found map[string]string) error {
	if src, ok := found["src"]; ok && !strings.HasPrefix(src, "https://"+imageHost+"/") && !strings.HasPrefix(src, "/media/") {
		return fmt.Errorf("a picture of %q", src)
	}
	href, ok := found["href"]
	if !ok {
		return nil
	}
	scheme, rest, _ := strings.Cut(href, ":")
	switch scheme {
	case "http", "https":
		if !strings.HasPrefix(rest, "//") || found["rel"] == "" {
			return fmt.Errorf("a link to %q, rel=%q", href, found["rel"])
		}
		return nil
	case "mailto":
		if strings.Contains(rest, "@") {
			return nil
		}
	case "document", "media":
		if id, _, _ := strings.Cut(rest, "#"); isID(id) {
			return nil
		}
	}
	if strings.HasPrefix(href, "#") || strings.HasPrefix(href, "/documents/") || strings.HasPrefix(href, "/media/") {
		return nil
	}
	return fmt.Errorf("a link to %q", href)
}
