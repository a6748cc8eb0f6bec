package httpapi_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

const (
	markdown = "Content-Type: text/markdown"
	someText = "# Title\r\n\n“quoted” \\ <b>&amp;</b>\t\x01 \U0001F600\n"
)

// put replaces the text of a document; the headers may have another type.
func put(c *apitest.Client, path, text string, headers ...string) *apitest.Response {
	if !slices.ContainsFunc(headers, func(h string) bool { return strings.HasPrefix(h, "Content-Type:") }) {
		headers = append(headers, markdown)
	}
	return c.Do("PUT", path+"/content", text, headers...)
}

// D80: the text is shown by get-one, and everywhere else its version, length and hash.
func TestContent_IsShownByGetOneAlone(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		p := create(t, c, projects, fields{"name": "p"})
		made := c.POST(documents, fields{"title": "d", "project_id": p, "content": someText}).Want(t, 201)
		one := at(documents, made.Text(t, "id"))
		about := func(what string, d fields, version float64, text string) {
			t.Helper()
			if d["version"] != version || d["content_bytes"] != float64(len(text)) || d["content_sha256"] != hashOf(text) {
				t.Errorf("%s is %v, want version %v of %d bytes", what, d, version, len(text))
			}
			if _, has := d["content"]; has {
				t.Errorf("%s has the text", what)
			}
		}
		about("the answer of POST", made.JSON, 1, someText)
		got := c.GET(one).Want(t, 200).JSON
		if got["content"] != someText {
			t.Errorf("get-one has %q", got["content"])
		}
		about("get-one without its text", withoutText(got), 1, someText)
		about("the list", c.GET(documents).Items(t)[0], 1, someText)
		about("the embedded one", c.GET(at(projects, p)).JSON["documents"].([]any)[0].(fields), 1, someText)
		es := emitted(t, c, func() {
			about("the answer of PATCH", c.PATCH(one, fields{"content": "second"}).Want(t, 200).JSON, 2, "second")
			about("the answer of PUT", put(c, one, "third").Want(t, 200).JSON, 3, "third")
			about("the emptied", c.PATCH(one, fields{"content": nil}).Want(t, 200).JSON, 4, "")
		})
		wantSame(t, "events", typesOf(es), []string{"document.updated " + made.Text(t, "id"), "document.updated " + made.Text(t, "id"), "document.updated " + made.Text(t, "id")})
		for i, text := range []string{"second", "third", ""} {
			about("the event", es[i]["payload"].(fields), float64(i+2), text)
		}
		previous := es[0]["payload"].(fields)["previous"].(fields)
		if previous["version"] != 1.0 || previous["content_sha256"] != hashOf(someText) || previous["content_bytes"] != float64(len(someText)) || previous["title"] != nil {
			t.Errorf("previous %v", previous)
		}
		wantJSON(t, "the emptied text", c.GET(one).JSON["content"], "")
		for _, none := range []fields{{"title": "n"}, {"title": "n", "content": nil}, {"title": "n", "content": ""}} {
			about("one without a text", c.POST(documents, none).Want(t, 201).JSON, 1, "")
		}
	})
}

// D80, D81: bounds of the text, in bytes of UTF-8, however it is escaped.
func TestContent_Bounds(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		id := create(t, c, documents, fields{"title": "d"})
		one := at(documents, id)
		most := strings.Repeat("é", sheaf.MaxContent/2)
		c.PATCH(one, fields{"content": most}).Want(t, 200)
		if got := c.GET(one).JSON["content"]; got != most {
			t.Error("the longest text did not come back")
		}
		escaped := strings.Repeat(`\u0001`, sheaf.MaxContent)
		c.PATCH(one, `{"content":"`+escaped+`"}`).Want(t, 200)
		put(c, one, most).Want(t, 200)
		for name, r := range map[string]*apitest.Response{
			"patched": c.PATCH(one, fields{"content": most + "a"}),
			"created": c.POST(documents, fields{"title": "x", "content": most + "a"}),
			"put":     put(c, one, most+"a"),
		} {
			if text := r.WantError(t, 400, "VALIDATION_ERROR", "1048576", "1048577").Text(t, "error"); text == "" {
				t.Error(name)
			}
		}
		put(c, one, strings.Repeat("a", 10<<20)).WantError(t, 400, "VALIDATION_ERROR", "1048576")
		put(c, one, strings.Repeat("a", 10<<20+1)).WantError(t, 413, "PAYLOAD_TOO_LARGE")
		for _, bad := range []string{"a\x00b", "a\xff", "\xed\xa0\x80"} {
			put(c, one, bad).WantError(t, 400, "VALIDATION_ERROR", "the body")
			c.PATCH(one, `{"content":"`+bad+`"}`).WantError(t, 400, "VALIDATION_ERROR")
		}
		for _, bad := range []string{`"\u0000"`, `3`, `["a"]`, `"\ud800"`} {
			c.PATCH(one, `{"content":`+bad+`}`).WantError(t, 400, "VALIDATION_ERROR", "content")
			c.POST(documents, `{"title":"x","content":`+bad+`}`).WantError(t, 400, "VALIDATION_ERROR", "content")
		}
		if got := c.GET(one).JSON; got["content"] != most || got["version"] != 4.0 {
			t.Errorf("the refused ones left version %v", got["version"])
		}
		if n := len(c.GET(documents).IDs(t)); n != 1 {
			t.Errorf("the refused ones made %d documents", n-1)
		}
	})
}

// D81: the text itself, as it is.
func TestContent_Raw(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		id := create(t, c, documents, fields{"title": "d", "content": someText})
		one := at(documents, id)
		r := c.GET(one+"/content").Want(t, 200)
		if string(r.Body) != someText || r.Header.Get("Content-Type") != "text/markdown; charset=utf-8" || r.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("got %q as %q", r.Body, r.Header.Get("Content-Type"))
		}
		tag := r.Header.Get("ETag")
		c.GET(one+"/content", "If-None-Match: "+tag).Want(t, 304)
		c.Do("HEAD", one+"/content", nil).Want(t, 200)
		for _, kind := range []string{"text/markdown; charset=utf-8", "text/plain", "TEXT/Markdown"} {
			put(c, one, kind, "Content-Type: "+kind).Want(t, 200)
			if got := string(c.GET(one + "/content").Body); got != kind {
				t.Errorf("%s left %q", kind, got)
			}
		}
		c.Do("PUT", one+"/content", "typeless", "Content-Type: ").Want(t, 200)
		c.Do("PUT", one+"/content", strings.NewReader("streamed"), markdown).Want(t, 200)
		for _, kind := range []string{"application/json", "text/html", "multipart/form-data"} {
			put(c, one, "x", "Content-Type: "+kind).WantError(t, 400, "VALIDATION_ERROR", "Content-Type", "text/markdown")
		}
		put(c, one, "x", "If-Match: "+tag).WantError(t, 412, "PRECONDITION_FAILED")
		tag = c.GET(one + "/content").Header.Get("ETag")
		put(c, one, "matched", "If-Match: "+tag).Want(t, 200)
		put(c, one, "matched", "If-Match: "+c.GET(one).Header.Get("ETag")).Want(t, 200)
		put(c, one, "").Want(t, 200)
		if r := c.GET(one+"/content").Want(t, 200); len(r.Body) != 0 || r.Header.Get("Content-Length") != "0" {
			t.Errorf("the empty text is %q", r.Body)
		}
		c.DELETE(one).Want(t, 204)
		c.GET(one+"/content").WantError(t, 404, "NOT_FOUND", "document")
		put(c, one, "x").WantError(t, 404, "NOT_FOUND", "document")
		c.GET(at(documents, nowhereID)+"/content").WantError(t, 404, "NOT_FOUND")
		c.GET(at(documents, "x")+"/content").WantError(t, 400, "VALIDATION_ERROR", "id")
		c.POST(one+"/restore", nil).Want(t, 200)
	})
}

// D6, D82: a change of title or text makes one version, a change of other fields makes none, and a
// request that changes nothing leaves no trace.
func TestContent_VersionsCountChangesOfTitleAndText(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Pro).Client("")
		one := at(documents, create(t, c, documents, fields{"title": "d", "content": "a"}))
		for i, step := range []struct {
			change          fields
			version, events int
		}{
			{fields{"content": "a"}, 1, 0},
			{fields{"title": "d", "content": "a"}, 1, 0},
			{fields{"description": "x"}, 1, 1},
			{fields{"title": "e"}, 2, 1},
			{fields{"title": "f", "content": "b", "description": "y"}, 3, 1},
			{fields{"content": "a"}, 4, 1},
			{fields{"content": nil}, 5, 1},
			{fields{"content": ""}, 5, 0},
		} {
			a.Clock.Advance(time.Second)
			before := c.GET(one).JSON
			es := emitted(t, c, func() { c.PATCH(one, step.change).Want(t, 200) })
			d := c.GET(one).JSON
			if d["version"] != float64(step.version) || len(es) != step.events {
				t.Errorf("%d: %v left version %v and %d events", i, step.change, d["version"], len(es))
			}
			if step.events == 0 {
				wantJSON(t, "what was not changed", d, before)
			}
		}
	})
}

// D80: 64 clients that write one document at once: each change is a version of its own, and its text
// is the one that its answer tells of.
func TestContent_ManyWritersOfOneDocument(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		one := at(documents, create(t, c, documents, fields{"title": "d"}))
		answers := make([]*apitest.Response, 64)
		together(64, func(i int) { answers[i] = put(c, one, fmt.Sprint("text ", i)) })
		seen := map[any]bool{}
		for i, r := range answers {
			version := r.Want(t, 200).JSON["version"]
			if seen[version] {
				t.Errorf("two answers have version %v", version)
			}
			seen[version] = true
			if v := c.GET(fmt.Sprintf("%s/versions/%v", one, version)).Want(t, 200).JSON; v["content"] != fmt.Sprint("text ", i) {
				t.Errorf("version %v has %q", version, v["content"])
			}
		}
		if d := c.GET(one).JSON; d["version"] != 65.0 {
			t.Errorf("64 changes made version %v", d["version"])
		}
	})
}

// D80, D58: 64 clients add a line each to one text, by reading it and writing it back under If-Match. A slower client
// gets 412 and starts again, and no line is lost.
func TestContent_NoLineIsLostByManyWriters(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		one := at(documents, create(t, c, documents, fields{"title": "d"}))
		var refused atomic.Int64
		together(64, func(i int) {
			for {
				read := c.GET(one).Want(t, 200)
				text := fmt.Sprintf("%sline %d\n", read.Text(t, "content"), i)
				r := put(c, one, text, "If-Match: "+read.Header.Get("Etag"))
				if r.Status == 200 {
					return
				}
				if r.Status != 412 {
					t.Errorf("%d %s", r.Status, r.Body)
					return
				}
				refused.Add(1)
			}
		})
		d := c.GET(one).Want(t, 200)
		lines := strings.Split(strings.TrimSuffix(d.Text(t, "content"), "\n"), "\n")
		slices.Sort(lines)
		if n := len(slices.Compact(lines)); n != 64 || d.JSON["version"] != 65.0 {
			t.Errorf("%d of 64 lines are there, in version %v; %d were refused", n, d.JSON["version"], refused.Load())
		}
	})
}

// D81, D83, D165: the text as HTML, which a browser shows and does nothing with.
func TestContent_AsHTML(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		text := "# A title\n\n<script>alert(1)</script> [b](javascript:alert(1)) ![c](https://images.example/c.png)\n"
		one := at(documents, create(t, c, documents, fields{"title": "d", "content": text}))
		shown := one + "/content?format=html"
		r := c.GET(shown).Want(t, 200)
		want := `<h1 id="h-a-title">A title</h1>` + "\n<p>&lt;script&gt;alert(1)&lt;/script&gt; b " +
			`<a href="https://images.example/c.png" rel="noopener nofollow">c</a></p>` + "\n"
		if got := string(r.Body); got != want {
			t.Errorf("got %s", got)
		}
		for name, want := range map[string]string{"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": "default-src 'none'; sandbox", "X-Content-Type-Options": "nosniff"} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s: %q", name, got)
			}
		}
		tag := r.Header.Get("ETag")
		c.GET(shown, "If-None-Match: "+tag).Want(t, 304)
		if raw := c.GET(one + "/content?format=markdown"); string(raw.Body) != text || raw.Header.Get("ETag") == tag || raw.Header.Get("Content-Security-Policy") != "" {
			t.Errorf("the Markdown is %q, with the tag %s", raw.Body, raw.Header.Get("ETag"))
		}
		put(c, one, strings.Repeat(">", 100), "If-Match: "+tag).Want(t, 200)
		if r := c.GET(shown, "If-None-Match: "+tag).Want(t, 200); !strings.HasPrefix(string(r.Body), `<pre class="plain"`) {
			t.Errorf("a text that nests too deep is %s", r.Body)
		}
		put(c, one, "<!-- a -->\n# d\n\n> [!NOTE]\n> a<br>b <kbd id=x>c</kbd>\n\n<details>d</details>\n").Want(t, 200)
		want = `<h1 id="h-d">d</h1>` + "\n" + `<div class="callout note" role="note">` + "\n" + `<p class="callout-title">Note</p>` +
			"\n<p>a<br>b &lt;kbd id=x&gt;c&lt;/kbd&gt;</p>\n</div>\n<details>\n<p>d</p>\n</details>\n"
		if got := string(c.GET(shown).Want(t, 200).Body); got != want { // D165: neither links of headings nor a title left out
			t.Errorf("got %s, want %s", got, want)
		}
		put(c, one, "").Want(t, 200)
		if r := c.GET(shown).Want(t, 200); len(r.Body) != 0 {
			t.Errorf("the empty text is %q", r.Body)
		}
		c.GET(one+"/content?format=pdf").WantError(t, 400, "VALIDATION_ERROR", "format", "html")
		c.GET(at(documents, nowhereID)+"/content?format=html").WantError(t, 404, "NOT_FOUND")
	})
}
