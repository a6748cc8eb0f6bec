package publish_test

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/brandstyle"
	"sheaf.dev/internal/render"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/apitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sheaftest.Patient(m)) }

type fields = map[string]any

// world is a workspace whose shares are read.
type world struct {
	*testing.T
	*apitest.API
	ws *apitest.Workspace
	c  *apitest.Client // has a key with all scopes
}

// each runs a test on each engine.
func each(t *testing.T, test func(w *world)) {
	t.Parallel()
	apitest.Each(t, in(test), apitest.WithShares)
}

// run runs a test to which the engine does not matter.
func run(t *testing.T, test func(w *world)) {
	t.Parallel()
	apitest.Run(t, in(test), apitest.WithShares)
}

// in returns the test in a world of its own.
func in(test func(w *world)) func(*testing.T, *apitest.API) {
	return func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Business)
		test(&world{T: t, API: a, ws: ws, c: ws.Client("")})
	}
}

// make creates a record by the API and returns its id.
func (w *world) make(path string, body fields) string {
	w.Helper()
	return w.c.POST("/api/v1/"+path, body).Want(w.T, 201).Text(w.T, "id")
}

// share shares a record, and returns the id and the path of the share.
func (w *world) share(kind, id string, more ...fields) (share, path string) {
	w.Helper()
	body := fields{"resource_type": kind, "resource_id": id}
	for _, m := range more {
		for k, v := range m {
			body[k] = v
		}
	}
	made := w.c.POST("/api/v1/shares", body).Want(w.T, 201)
	return made.Text(w.T, "id"), strings.TrimPrefix(made.Text(w.T, "url"), apitest.Address)
}

// reply is what a reader gets.
type reply struct {
	*http.Response
	body string
}

// get makes a request like a browser without any cookies.
func (w *world) get(path string, headers ...string) reply {
	w.Helper()
	return w.send(http.MethodGet, path, "", headers...)
}

func (w *world) send(method, path, form string, headers ...string) reply {
	w.Helper()
	r := w.do(method, path, form, headers...)
	if r.Response == nil {
		w.Fatalf("%s %s: no answer", method, path)
	}
	return r
}

// do is send for goroutines, which must not end the test.
func (w *world) do(method, path, form string, headers ...string) reply {
	req, err := http.NewRequest(method, w.Server.URL+path, strings.NewReader(form))
	if err != nil {
		w.Error(err)
		return reply{}
	}
	if form != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	client := *w.Server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := client.Do(req)
	if err != nil {
		w.Error(err)
		return reply{}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		w.Error(err)
	}
	return reply{res, string(body)}
}

// want ends the test unless the reply has the status. It returns the reply.
func (r reply) want(w *world, status int) reply {
	w.Helper()
	if r.StatusCode != status {
		w.Fatalf("%s %s: status %d, want %d: %s", r.Request.Method, r.Request.URL.Path, r.StatusCode, status, r.body)
	}
	return r
}

// has fails the test unless the reply contains all of the texts.
func (r reply) has(w *world, texts ...string) reply {
	w.Helper()
	for _, t := range texts {
		if !strings.Contains(r.body, t) {
			w.Errorf("%s: the page lacks %q:\n%s", r.Request.URL.Path, t, r.body)
		}
	}
	return r
}

// lacks fails the test if the reply contains one of the texts.
func (r reply) lacks(w *world, texts ...string) reply {
	w.Helper()
	for _, t := range texts {
		if strings.Contains(r.body, t) {
			w.Errorf("%s: the page has %q:\n%s", r.Request.URL.Path, t, r.body)
		}
	}
	return r
}

// D111: the page of a document shows it as it is stored now; so does its Markdown.
func TestPage_OfADocument(t *testing.T) {
	run(t, func(w *world) {
		d := w.make("documents", fields{"title": "Getting <started>", "description": "What to do first.", "content": "## One\n\n**bold** <script>alert(1)</script>\n\n## Two\n\n## Three\n"})
		_, path := w.share("document", d)
		page := w.get(path).want(w, 200).has(w, "<h1 dir=\"auto\">Getting &lt;started&gt;</h1>", "What to do first.", "<strong>bold</strong>", "&lt;script&gt;alert(1)",
			`href="#h-two"`, `property="og:title" content="Getting &lt;started&gt;"`, `property="og:description" content="What to do first."`, `name="robots" content="noindex"`).
			lacks(w, "<script", "style=", " onclick")
		for name, want := range map[string]string{"Content-Type": "text/html; charset=utf-8", "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex",
			"Cache-Control": "private, no-cache", "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff"} {
			if got := page.Header.Get(name); got != want {
				w.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		if p := page.Header.Get("Content-Security-Policy"); !strings.HasPrefix(p, "default-src 'none'; style-src 'self'") || strings.Contains(p, "script-src") || strings.Contains(p, "unsafe") {
			w.Errorf("the policy is %q", p)
		}
		if got := w.get(path+"/raw").want(w, 200); got.body != "## One\n\n**bold** <script>alert(1)</script>\n\n## Two\n\n## Three\n" || got.Header.Get("Content-Type") != "text/markdown; charset=utf-8" {
			w.Errorf("the Markdown is %q, %s", got.body, got.Header.Get("Content-Type"))
		}
		etag := page.Header.Get("ETag")
		w.get(path, "If-None-Match: "+etag).want(w, 304)
		if head := w.send(http.MethodHead, path, "").want(w, 200); head.body != "" || head.Header.Get("ETag") != etag {
			w.Errorf("HEAD has %q, ETag %q", head.body, head.Header.Get("ETag"))
		}
		w.c.PATCH("/api/v1/documents/"+d, fields{"content": "# Getting <started>\n\nAnew.\n"}).Want(w.T, 200)
		w.get(path, "If-None-Match: "+etag).want(w, 200).has(w, "Anew.", `<h1 id="h-getting-started" dir="auto">`).lacks(w, "<h1 dir=")
		css := regexp.MustCompile(`href="(/share-assets/[^"]+\.css)"`).FindStringSubmatch(page.body)
		if css == nil {
			w.Fatal("the page has no style sheet")
		}
		if got := w.get(css[1]).want(w, 200).has(w, ".prose", ".sheet"); !strings.Contains(got.Header.Get("Cache-Control"), "immutable") {
			w.Errorf("the style sheet: %q", got.Header.Get("Cache-Control"))
		}
	})
}

// D165: the title is shown once, above the description, and still has the id that links lead to. A text whose
// first heading has a link keeps it, and the page has no title of its own.
func TestPage_ShowsItsTitleOnce(t *testing.T) {
	run(t, func(w *world) {
		d := w.make("documents", fields{"title": "Getting started", "description": "What to do first.",
			"content": "<!-- secret -->\n# Getting Started\n\n## One\n\n> [!TIP]\n> <kbd>A</kbd>\n\n<details><summary>More</summary>b</details>\n"})
		_, path := w.share("document", d)
		page := w.get(path).want(w, 200).has(w, `<h1 id="h-getting-started" dir="auto">Getting started</h1>`, `<h2 id="h-one">One<a class="self" href="#h-one"`,
			`<div class="callout tip" role="note">`, "<kbd>A</kbd>", "<summary>More</summary>").lacks(w, "Getting Started", "secret")
		if n := strings.Count(page.body, "<h1"); n != 1 {
			w.Errorf("%d titles", n)
		}
		w.c.PATCH("/api/v1/documents/"+d, fields{"content": "# [Getting started](https://example.com)\n"}).Want(w.T, 200)
		page = w.get(path).want(w, 200).has(w, `<a href="https://example.com" rel="noopener nofollow">Getting started</a>`)
		if n := strings.Count(page.body, "<h1"); n != 1 {
			w.Errorf("%d titles, one with a link", n)
		}
	})
}

// D111: a listed share may be indexed by search engines, unless it has a password.
func TestPage_Listed(t *testing.T) {
	run(t, func(w *world) {
		d := w.make("documents", fields{"title": "d"})
		_, listed := w.share("document", d, fields{"listed": true})
		_, protected := w.share("document", d, fields{"listed": true, "password": "open sesame"})
		if got := w.get(listed).want(w, 200).lacks(w, "noindex"); got.Header.Get("X-Robots-Tag") != "" {
			w.Errorf("X-Robots-Tag %q", got.Header.Get("X-Robots-Tag"))
		}
		if got := w.get(protected).want(w, 401).has(w, "noindex"); got.Header.Get("X-Robots-Tag") != "noindex" {
			w.Errorf("X-Robots-Tag %q", got.Header.Get("X-Robots-Tag"))
		}
	})
}

// D111: the contents of a project are listed, and each document has its own page, with its
// neighbours.
func TestPage_OfAProject(t *testing.T) {
	run(t, func(w *world) {
		p := w.make("projects", fields{"name": "Handbook", "description": "All of it."})
		first := w.make("documents", fields{"title": "First", "project_id": p, "content": "To the [other](document:" + w.make("documents", fields{"title": "Elsewhere"}) + ")."})
		second := w.make("documents", fields{"title": "Second", "project_id": p, "content": "Back to the [first](document:" + first + "#x)."})
		third := w.make("documents", fields{"title": "Third", "project_id": p})
		_, path := w.share("project", p)
		contents := w.get(path).want(w, 200).has(w, "Handbook", "All of it.", path+"/"+first, path+"/"+second, path+"/"+third, "3 documents").lacks(w, "Elsewhere")
		if strings.Index(contents.body, first) > strings.Index(contents.body, third) {
			w.Error("the documents are not in the order of their creation")
		}
		w.get(path+"/"+first).want(w, 200).has(w, `class="gone"`, `rel="next" href="`+path+"/"+second+`"`).lacks(w, "document:", `rel="prev"`)
		w.get(path+"/"+second).want(w, 200).has(w, path+"/"+first+"#h-x", `rel="prev" href="`+path+"/"+first+`"`, `rel="next" href="`+path+"/"+third+`"`)
		w.get(path+"/"+second+"/raw").want(w, 200).has(w, "document:"+first)
		w.get(path+"/raw").want(w, 200).has(w, "# Handbook\n\nAll of it.\n\n- [First]("+apitest.Address+path+"/"+first+"/raw)\n")
		w.get(path+"?page=2").want(w, 404)
		w.get(path+"?page=x").want(w, 404)
		// A document that leaves the project is no longer shown; one that enters it is.
		w.c.PATCH("/api/v1/documents/"+third, fields{"project_id": nil}).Want(w.T, 200)
		w.get(path+"/"+third).want(w, 404)
		w.get(path).lacks(w, third)
	})
}

// D164: a shared project shows its documents as a tree: in the contents, beside each document, and as
// the way to it.
func TestPage_TreeOfAProject(t *testing.T) {
	run(t, func(w *world) {
		p := w.make("projects", fields{"name": "Handbook"})
		in := func(title string, parent any, order int) string {
			return w.make("documents", fields{"title": title, "project_id": p, "parent_id": parent, "sort_order": order})
		}
		last := in("Appendix", nil, 3)
		guide := in("Guide", nil, 1)
		second := in("Upgrade", guide, 2)
		first := in("Install", guide, 1)
		deep := in("On <Debian>", first, 1)
		_, path := w.share("project", p)
		contents := w.get(path).want(w, 200)
		at := -1
		for _, want := range []string{`class="level1"><a href="` + path + "/" + guide, `class="level2"><a href="` + path + "/" + first, `class="level3"><a href="` + path + "/" + deep,
			`class="level2"><a href="` + path + "/" + second, `class="level1"><a href="` + path + "/" + last} {
			next := strings.Index(contents.body, want)
			if next <= at {
				w.Errorf("the contents do not have %s in its place", want)
			}
			at = next
		}
		w.get(path+"/raw").want(w, 200).has(w, "- [Guide]("+apitest.Address+path+"/"+guide+"/raw)\n  - [Install]("+apitest.Address+path+"/"+first+"/raw)\n    - [On")
		page := w.get(path+"/"+deep).want(w, 200).has(w, `aria-label="Breadcrumb"`, `<details open>`, `On &lt;Debian&gt;`,
			`rel="prev" href="`+path+"/"+first+`"`, `rel="next" href="`+path+"/"+second+`"`, `href="`+path+"/"+deep+`" aria-current="page"`)
		if n := strings.Count(page.body, "<details open>"); n != 2 {
			w.Errorf("%d branches are open, want those of the guide and of the installation", n)
		}
		w.get(path+"/"+last).want(w, 200).has(w, "<details>", `popovertarget="tree"`).lacks(w, "Breadcrumb", "<details open>")
		// A document without a text lists what is directly below it.
		w.get(path+"/"+guide).want(w, 200).has(w, `<ol class="contents">
<li><a href="`+path+"/"+first+`"><b dir="auto">Install</b></a></li>
<li><a href="`+path+"/"+second+`"><b dir="auto">Upgrade</b></a></li>
</ol>`)
		w.get(path+"/"+deep).want(w, 200).lacks(w, `class="contents"`)
		// A document that is moved is elsewhere in the tree at once.
		w.c.PATCH("/api/v1/documents/"+deep, fields{"parent_id": nil, "sort_order": 0}).Want(w.T, 200)
		w.get(path+"/"+deep).want(w, 200).has(w, `rel="next" href="`+path+"/"+guide+`"`).lacks(w, "Breadcrumb", `rel="prev"`)
		_, single := w.share("document", deep)
		w.get(single).want(w, 200).lacks(w, `id="tree"`, "Guide")
	})
}

// D111: the search of a project finds only its documents.
func TestPage_Search(t *testing.T) {
	each(t, func(w *world) {
		p := w.make("projects", fields{"name": "Handbook"})
		inside := w.make("documents", fields{"title": "Inside", "project_id": p, "content": "the <quick> brown fox"})
		w.make("documents", fields{"title": "Outside", "content": "the quick brown fox"})
		w.make("projects", fields{"name": "the quick brown fox"})
		_, path := w.share("project", p)
		w.get(path+"/search?q=QUICK+brown").want(w, 200).has(w, path+"/"+inside, "&lt;<mark>quick</mark>&gt; <mark>brown</mark>", "1 document").lacks(w, "Outside", "0 documents")
		w.get(path+"/search?q=giraffe").want(w, 200).has(w, "No documents match")
		w.get(path+"/search").want(w, 200)
		w.get(path+"/search?q="+strings.Repeat("x", 300)).want(w, 200).has(w, "role=\"alert\"")
		w.get(path+"/search?q=%ff%00").want(w, 200).has(w, "role=\"alert\"")
		_, document := w.share("document", inside)
		w.get(document+"/search?q=quick").want(w, 404)
	})
}

// D112: everything that is not shown is the same page, byte for byte.
func TestPage_NothingIsTheSameForAll(t *testing.T) {
	run(t, func(w *world) {
		w.Clock.Freeze()
		d, p := w.make("documents", fields{"title": "d"}), w.make("projects", fields{"name": "p"})
		gone, gonePath := w.share("document", d)
		w.c.DELETE("/api/v1/shares/"+gone).Want(w.T, 204)
		_, expired := w.share("document", d, fields{"expires_at": w.Clock.Now().Add(time.Second)})
		trashed := w.make("documents", fields{"title": "t"})
		_, inTrash := w.share("document", trashed)
		_, inTrashLocked := w.share("document", trashed, fields{"password": "open sesame"})
		w.c.DELETE("/api/v1/documents/"+trashed).Want(w.T, 204)
		_, project := w.share("project", p)
		_, document := w.share("document", d)
		w.get(expired).want(w, 200)
		w.Clock.Advance(time.Second)
		want := w.get("/s/aaaaaaaaaaaaaaaaaaaaaa").want(w, 404).lacks(w, "mark")
		for name, path := range map[string]string{"deleted": gonePath, "expired": expired, "in the trash": inTrash, "in the trash, with a password": inTrashLocked, "short": "/s/x",
			"odd": "/s/aaaaaaaaaaaaaaaaaaaaa%20", "another document": document + "/" + d, "not in the project": project + "/" + d, "no such page": document + "/more/of/it",
			"upper case": project + "/" + strings.ToUpper(d), "no file": "/share-assets/x.css", "expired raw": expired + "/raw"} {
			if got := w.get(path).want(w, 404); got.body != want.body || !sameHeader(got.Header, want.Header) {
				w.Errorf("%s differs:\n%v %s\n%v %s", name, got.Header, got.body, want.Header, want.body)
			}
		}
		w.c.POST("/api/v1/documents/"+trashed+"/restore", nil).Want(w.T, 200)
		w.get(inTrash).want(w, 200)
		w.get(inTrashLocked).want(w, 401)
		if got := w.send(http.MethodDelete, document, "").want(w, 405); got.Header.Get("Allow") == "" {
			w.Error("a wrong method is not told which are right")
		}
	})
}

// sameHeader compares all headers except those that differ for every answer.
func sameHeader(a, b http.Header) bool {
	a, b = a.Clone(), b.Clone()
	for _, h := range []http.Header{a, b} {
		h.Del("X-Request-Id")
		h.Del("Date")
	}
	return fmt.Sprint(a) == fmt.Sprint(b)
}

// cookieOf returns the cookie that the browser sends after the right password.
func cookieOf(r reply) string {
	for _, c := range r.Cookies() {
		return "Cookie: " + c.Name + "=" + c.Value
	}
	return ""
}

// D112: a password is required with 401. It opens this share for twelve hours, or until the
// password is changed.
func TestPassword(t *testing.T) {
	run(t, func(w *world) {
		w.Clock.Freeze()
		p := w.make("projects", fields{"name": "Secret handbook"})
		d := w.make("documents", fields{"title": "Secret document", "project_id": p, "content": "secret words"})
		id, path := w.share("project", p, fields{"password": "open sesame"})
		_, other := w.share("project", p, fields{"password": "open sesame"})
		for _, page := range []string{"", "/raw", "/search?q=secret", "/" + d, "/" + d + "/raw", "/0190b0a0-0000-7000-8000-00000000dead"} {
			w.get(path+page).want(w, 401).has(w, `type="password"`).lacks(w, "ecret handbook", "ecret document", "secret words", "og:")
		}
		wrong := w.send(http.MethodPost, path+"/"+d, "password=wrong").want(w, 401).has(w, "wrong")
		if len(wrong.Cookies()) != 0 {
			w.Error("a wrong password sets a cookie")
		}
		right := w.send(http.MethodPost, path+"/"+d+"?x=y", "password=open+sesame").want(w, 303)
		if got := right.Header.Get("Location"); got != path+"/"+d+"?x=y" {
			w.Errorf("it leads to %q", got)
		}
		c := right.Cookies()[0]
		if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != path || !c.Expires.Equal(w.Clock.Now().Add(12*time.Hour).Truncate(time.Second)) {
			w.Errorf("the cookie is %+v", c)
		}
		cookie := cookieOf(right)
		if got := w.get(path+"/"+d, cookie).want(w, 200).has(w, "secret words"); got.Header.Get("Cache-Control") != "no-store" || got.Header.Get("ETag") != "" {
			w.Errorf("what is protected is kept: %v", got.Header)
		}
		w.get(other, cookie).want(w, 401)
		w.get(path, cookie+"x").want(w, 401)
		w.get(path, "Cookie: sheaf-share=9999999999.").want(w, 401)
		w.Clock.Advance(12*time.Hour - time.Second)
		w.get(path, cookie).want(w, 200)
		w.Clock.Advance(time.Second)
		w.get(path, cookie).want(w, 401)
		cookie = cookieOf(w.send(http.MethodPost, path, "password=open+sesame").want(w, 303))
		w.c.PATCH("/api/v1/shares/"+id, fields{"listed": true}).Want(w.T, 200)
		w.get(path, cookie).want(w, 200)
		w.c.PATCH("/api/v1/shares/"+id, fields{"password": "another one"}).Want(w.T, 200)
		w.get(path, cookie).want(w, 401)
		w.c.PATCH("/api/v1/shares/"+id, fields{"password": nil}).Want(w.T, 200)
		w.get(path).want(w, 200)
		w.send(http.MethodPost, path, "password=whatever").want(w, 303)
		w.send(http.MethodPost, other, "password=open+sesame", "Sec-Fetch-Site: cross-site").want(w, 403)
		w.send(http.MethodPost, other, strings.Repeat("x", 9<<10)).want(w, 400)
	})
}

// D112: guessing is slowed down by share and address together, and by address, on every node.
// Readers elsewhere are not kept out.
func TestPassword_Guessing(t *testing.T) {
	each(t, func(w *world) {
		w.Clock.Freeze()
		d := w.make("documents", fields{"title": "d"})
		var paths []string
		for range 5 {
			_, path := w.share("document", d, fields{"password": "open sesame"})
			paths = append(paths, path)
		}
		for range 5 {
			w.send(http.MethodPost, paths[0], "password=guess").want(w, 401)
		}
		slow := w.send(http.MethodPost, paths[0], "password=open+sesame").want(w, 429).has(w, "too many attempts")
		if slow.Header.Get("Retry-After") == "" {
			w.Error("it does not say when to try again")
		}
		// Another address is not kept out, and this address may try another share.
		if _, err := w.App.UnlockShare(w.Context(), w.opened(paths[0]), "open sesame", "203.0.113.7", ""); err != nil {
			w.Errorf("a reader elsewhere: %v", err)
		}
		w.send(http.MethodPost, paths[1], "password=open+sesame").want(w, 303)
		for i := range 15 {
			w.send(http.MethodPost, paths[1+i/4], "password=guess").want(w, 401)
		}
		w.send(http.MethodPost, paths[4], "password=open+sesame").want(w, 429)
		w.Clock.Advance(time.Hour)
		w.send(http.MethodPost, paths[4], "password=open+sesame").want(w, 303)
	})
}

// D112: guesses from many addresses slow a share down for unknown browsers, by at most a minute. A
// browser that opened it before is not slowed down by others. Right passwords count too, for their
// address.
func TestPassword_GuessingFromManyAddresses(t *testing.T) {
	each(t, func(w *world) {
		w.Clock.Freeze()
		d := w.make("documents", fields{"title": "d"})
		_, path := w.share("document", d, fields{"password": "open sesame"})
		_, other := w.share("document", d, fields{"password": "open sesame"})
		s := w.opened(path)
		before, err := w.App.UnlockShare(w.Context(), s, "open sesame", "203.0.113.250", "")
		if err != nil {
			w.Fatal(err)
		}
		for i := range 50 {
			if _, err := w.App.UnlockShare(w.Context(), s, "guess", fmt.Sprintf("203.0.113.%d", i), ""); sheaf.KindOf(err) != sheaf.Unauthorized {
				w.Fatalf("guess %d: %v", i, err)
			}
		}
		var refused *sheaf.Error
		_, err = w.App.UnlockShare(w.Context(), s, "open sesame", "203.0.113.200", "")
		if !errors.As(err, &refused) || refused.Kind != sheaf.RateLimited || refused.RetryAfter > time.Minute {
			w.Fatalf("a stranger beside many guesses: %v", err)
		}
		if _, err := w.App.UnlockShare(w.Context(), s, "open sesame", "203.0.113.250", before.Known); err != nil {
			w.Errorf("a browser that opened it before: %v", err)
		}
		if _, err := w.App.UnlockShare(w.Context(), w.opened(other), "open sesame", "203.0.113.201", before.Known); err != nil {
			w.Errorf("another share: %v", err)
		}
		for range 5 {
			_, _ = w.App.UnlockShare(w.Context(), s, "guess", "203.0.113.250", before.Known)
		}
		if _, err := w.App.UnlockShare(w.Context(), s, "open sesame", "203.0.113.250", before.Known); sheaf.KindOf(err) != sheaf.RateLimited {
			w.Errorf("a known browser that guesses: %v", err)
		}
		w.Clock.Advance(time.Minute)
		if _, err := w.App.UnlockShare(w.Context(), s, "open sesame", "203.0.113.202", ""); err != nil {
			w.Errorf("a minute later: %v", err)
		}
		for i := range 61 {
			_, err = w.App.UnlockShare(w.Context(), w.opened(other), "open sesame", "203.0.113.203", "")
			if got := sheaf.KindOf(err) == sheaf.RateLimited; got != (i == 60) {
				w.Fatalf("right password %d of one address: %v", i, err)
			}
		}
		w.Clock.Advance(20 * time.Second)
		if _, err := w.App.UnlockShare(w.Context(), w.opened(other), "open sesame", "203.0.113.203", ""); err != nil {
			w.Errorf("a while later: %v", err)
		}
		// The cookie of a known browser opens nothing; it is sent with the form.
		known := "Cookie: sheaf-share-known=" + before.Known
		w.get(path, known).want(w, 401)
		cookies := w.send(http.MethodPost, other, "password=open+sesame").want(w, 303).Cookies()
		if len(cookies) != 2 || cookies[1].Name != "sheaf-share-known" || !cookies[1].HttpOnly || cookies[1].Path != other {
			w.Errorf("the cookies are %v", cookies)
		}
	})
}

// opened returns the share at a path.
func (w *world) opened(path string) sheaf.Shared {
	w.Helper()
	s, err := w.App.OpenShare(w.Context(), strings.TrimPrefix(path, "/s/"))
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// D112: concurrent guesses, on any node, pass the brake no more often than sequential ones, and
// do not lock out readers at other addresses.
func TestPassword_GuessingAtOnce(t *testing.T) {
	each(t, func(w *world) {
		w.Clock.Freeze()
		_, path := w.share("document", w.make("documents", fields{"title": "d"}), fields{"password": "open sesame"})
		var all sync.WaitGroup
		var slowed, opened atomic.Int64
		for range 24 {
			all.Go(func() {
				switch r := w.do(http.MethodPost, path, "password=guess"); {
				case r.Response == nil || r.StatusCode == http.StatusSeeOther:
					opened.Add(1)
				case r.StatusCode == http.StatusTooManyRequests:
					slowed.Add(1)
				}
			})
		}
		all.Wait()
		if slowed.Load() != 24-5 || opened.Load() != 0 {
			w.Errorf("%d of 24 guesses were slowed down, want 19; %d opened it", slowed.Load(), opened.Load())
		}
		if _, err := w.App.UnlockShare(w.Context(), w.opened(path), "open sesame", "203.0.113.7", ""); err != nil {
			w.Errorf("a reader elsewhere: %v", err)
		}
	})
}

// D112: an address may make 120 requests a minute, for whatever pages.
func TestPage_LimitOfAnAddress(t *testing.T) {
	t.Parallel()
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		w := &world{T: t, API: a, ws: ws, c: ws.Client("")}
		a.Clock.Freeze()
		_, path := w.share("document", w.make("documents", fields{"title": "d"}))
		for i := range 120 {
			if i%2 == 0 {
				w.get(path).want(w, 200)
			} else {
				w.get("/s/guess").want(w, 404)
			}
		}
		if got := w.get(path).want(w, 429); got.Header.Get("Retry-After") == "" {
			w.Error("it does not say when to try again")
		}
		w.c.GET("/api/v1/me").Want(w.T, 200)
		a.Clock.Advance(61 * time.Second)
		w.get(path).want(w, 200)
	}, apitest.WithLimitedShares)
}

// D110: views are counted in batches. No view writes, changes the version or emits an event.
func TestViews(t *testing.T) {
	each(t, func(w *world) {
		w.Clock.Freeze()
		p := w.make("projects", fields{"name": "p"})
		d := w.make("documents", fields{"title": "d", "project_id": p, "content": "words"})
		id, path := w.share("project", p)
		before := w.c.GET("/api/v1/shares/"+id).Want(w.T, 200)
		events := w.c.GET("/api/v1/events?limit=1").JSON["total"]
		version := w.opened(path).Version
		etag := w.get(path).want(w, 200).Header.Get("ETag")
		w.get(path, "If-None-Match: "+etag).want(w, 304)
		w.get(path+"/"+d).want(w, 200)
		w.get(path+"/raw").want(w, 200)
		w.get(path+"/search?q=words").want(w, 200)
		w.send(http.MethodHead, path, "").want(w, 200)
		w.get(path, "Sec-Purpose: prefetch").want(w, 200)
		w.get(path+"/nothing").want(w, 404)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { w.do(http.MethodGet, path, "") })
		}
		wg.Wait()
		if got := w.c.GET("/api/v1/shares/"+id).Want(w.T, 200); string(got.Body) != string(before.Body) {
			w.Errorf("a view was written at once: %s", got.Body)
		}
		w.Clock.Advance(time.Second)
		w.WriteViews()
		after := w.c.GET("/api/v1/shares/"+id).Want(w.T, 200)
		if after.JSON["views"] != 24.0 || after.JSON["last_viewed_at"] == nil || after.JSON["updated_at"] != before.JSON["updated_at"] {
			w.Errorf("after 24 views: %s", after.Body)
		}
		if got := w.c.GET("/api/v1/events?limit=1").JSON["total"]; got != events {
			w.Errorf("views made %v events of %v", got, events)
		}
		if got := w.opened(path).Version; got != version {
			w.Error("views changed the version of the workspace")
		}
		w.WriteViews()
		if got := w.c.GET("/api/v1/shares/" + id).JSON["views"]; got != 24.0 {
			w.Errorf("written twice: %v", got)
		}
	})
}

// D112: the token of a share is in no line of the log, in whatever spelling.
func TestToken_IsInNoLog(t *testing.T) {
	run(t, func(w *world) {
		d := w.make("documents", fields{"title": "d"})
		_, path := w.share("document", d, fields{"password": "open sesame"})
		token := strings.TrimPrefix(path, "/s/")
		for _, p := range []string{path, path + "/raw", path + "/", "/" + path, "/S/" + token, "/x" + path, path + "/a/b/c", path + "?page=" + token, "/s/./" + token, "/s/%2e%2e/s/" + token} {
			w.get(p)
		}
		w.send(http.MethodPost, path, "password=wrong").want(w, 401)
		w.send(http.MethodPost, path, "password=open+sesame").want(w, 303)
		log := w.Log()
		if strings.Contains(strings.ToLower(log), strings.ToLower(token)) {
			w.Errorf("the token is in the log:\n%s", log)
		}
		if strings.Contains(log, "sesame") {
			w.Error("the password is in the log")
		}
		if !strings.Contains(log, `"/s/redacted"`) {
			w.Error("the requests are not in the log")
		}
	})
}

// D112, D121: a reader of a share can reach exactly what it shows, by every link and every id of
// the workspace.
func TestWalk_ReachesWhatIsShownAndNothingElse(t *testing.T) {
	each(t, func(w *world) {
		p, q := w.make("projects", fields{"name": "Shown project"}), w.make("projects", fields{"name": "CANARY project"})
		hidden := w.make("documents", fields{"title": "CANARY elsewhere", "project_id": q, "content": "CANARY text", "description": "CANARY said"})
		loose := w.make("documents", fields{"title": "CANARY loose", "content": "CANARY text"})
		first := w.make("documents", fields{"title": "Shown first", "project_id": p, "content": "To [hidden](document:" + hidden + ") and [loose](document:" + loose + ")."})
		upload := func(content string) string {
			return w.c.POST("/api/v1/media", []byte(content), "Content-Type: application/octet-stream").Want(w.T, 201).Text(w.T, "id")
		}
		pixel := onePixel(w)
		picture, logo, secret, otherLogo := upload(pixel), upload(pixel+"the logo"), upload("CANARY bytes"), upload(pixel+"CANARY")
		w.c.PATCH("/api/v1/documents/"+loose, fields{"content": "CANARY ![](media:" + secret + ")"}).Want(w.T, 200)
		look := w.make("brandings", fields{"name": "Shown look", "logo_media_id": logo})
		otherLook := w.make("brandings", fields{"name": "CANARY look", "footer": "CANARY", "logo_media_id": otherLogo})
		second := w.make("documents", fields{"title": "Shown second", "project_id": p, "content": "Back to [first](document:" + first + "). words ![](media:" + picture + ")"})
		trashed := w.make("documents", fields{"title": "CANARY trashed", "project_id": p, "content": "CANARY text words"})
		folder := w.make("folders", fields{"name": "CANARY folder", "entity_type": "project"})
		site := w.make("folders", fields{"name": "Shown folder", "entity_type": "project"})
		below := w.make("folders", fields{"name": "Shown below", "entity_type": "project", "parent_id": site})
		filed := w.make("projects", fields{"name": "Shown filed", "folder_id": below})
		third := w.make("documents", fields{"title": "Shown third", "project_id": filed, "content": "To [hidden](document:" + hidden + "). words ![](media:" + picture + ")"})
		w.make("projects", fields{"name": "CANARY filed", "folder_id": folder})
		w.c.DELETE("/api/v1/documents/"+trashed).Want(w.T, 204)
		other, _ := w.share("document", hidden)
		share, project := w.share("project", p, fields{"branding_id": look})
		_, document := w.share("document", second)
		_, whole := w.share("folder", site, fields{"branding_id": look})
		ids := []string{site, below, filed, third, p, q, hidden, loose, first, second, trashed, folder, other, share, picture, logo, secret, otherLogo, look, otherLook, string(w.ws.ID), string(w.ws.Owner)}
		for root, shown := range map[string][]string{
			project:  {"", "/" + first, "/" + second, "/search?q=words", "/" + second + "/media/" + picture, "/logo?of=" + logo},
			document: {"", "/" + second + "/media/" + picture},
			whole:    {"", "/" + below, "/" + filed, "/" + third, "/search?q=words", "/" + third + "/media/" + picture, "/logo?of=" + logo},
		} {
			want := map[string]bool{}
			for _, s := range shown {
				want[root+s] = true
			}
			reached := w.walk(root)
			for _, id := range ids {
				tries := []string{"/" + id, "/" + id + "/raw", "/media/" + id, "/documents/" + id, "/projects/" + id, "/search?q=" + id, "/logo/" + id}
				for _, in := range ids {
					tries = append(tries, "/"+in+"/media/"+id)
				}
				for _, at := range tries {
					if r := w.get(root + at); r.StatusCode == 200 {
						reached[root+at] = r.body
					}
				}
			}
			for path, body := range reached {
				if strings.Contains(body, "CANARY") {
					w.Errorf("%s shows what is not shared: %s", path, body)
				}
				plain := strings.TrimSuffix(path, "/raw")
				if !want[plain] && !strings.Contains(path, "/search") && !strings.HasPrefix(path, "/share-assets/") {
					w.Errorf("%s is reached", path)
				}
			}
			for path := range want {
				if _, ok := reached[path]; !ok && !strings.Contains(path, "/search?") {
					w.Errorf("%s is not reached", path)
				}
			}
		}
	})
}

// onePixel returns the bytes of a picture.
func onePixel(w *world) string {
	w.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		w.Fatal(err)
	}
	return b.String()
}

var links = regexp.MustCompile(`(?:href|src|action)="([^"#]+)`)

// walk follows every link from a page on, and returns the pages that it found.
func (w *world) walk(from string) map[string]string {
	found, next := map[string]string{}, []string{from}
	for len(next) > 0 {
		path := next[0]
		next = next[1:]
		if _, seen := found[path]; seen {
			continue
		}
		r := w.get(path)
		if r.StatusCode != 200 {
			w.Errorf("the link to %s leads to %d", path, r.StatusCode)
			continue
		}
		found[path] = r.body
		if !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
			continue
		}
		for _, m := range links.FindAllStringSubmatch(r.body, -1) {
			u, err := url.Parse(strings.ReplaceAll(m[1], "&amp;", "&"))
			if err != nil || u.Host != "" {
				w.Errorf("%s leads elsewhere: %s", path, m[1])
				continue
			}
			next = append(next, u.RequestURI())
		}
	}
	return found
}

// D119: a share has the look of its branding, or of the workspace's default, from the next request
// on.
func TestPage_Branding(t *testing.T) {
	run(t, func(w *world) {
		d := w.make("documents", fields{"title": "d"})
		own := w.make("brandings", fields{"name": "Own", "color_primary": "#b00020", "font": "serif", "footer": "Made by <us>"})
		id, path := w.share("document", d, fields{"branding_id": own})
		page := w.get(path).want(w, 200).has(w, "<style>:root {\n  --paper: light-dark(#", "#b00020", "Georgia", "Made by &lt;us&gt;", `<p class="masthead" dir="auto">Own</p>`)
		if p := page.Header.Get("Content-Security-Policy"); !strings.Contains(p, "style-src 'self' 'sha256-") || strings.Contains(p, "unsafe") {
			w.Errorf("the policy is %q", p)
		}
		w.c.PATCH("/api/v1/brandings/"+own, fields{"color_primary": "#004d40"}).Want(w.T, 200)
		w.get(path).want(w, 200).has(w, "#004d40").lacks(w, "#b00020")
		// Deleting the branding leaves the share without one, with an event.
		w.c.DELETE("/api/v1/brandings/"+own).Want(w.T, 204)
		if got := w.c.GET("/api/v1/shares/"+id).Want(w.T, 200).JSON["branding_id"]; got != nil {
			w.Errorf("the share has the branding %v", got)
		}
		told := w.c.GET("/api/v1/events?type=share.updated&resource_id="+id).Want(w.T, 200).Items(w.T)
		if len(told) != 1 || fmt.Sprint(told[0]["payload"].(fields)["previous"].(fields)["branding_id"]) != own {
			w.Errorf("the events are %v", told)
		}
		w.get(path).want(w, 200).lacks(w, "<style", "masthead")
		standard := sheaf.BrandingID(w.make("brandings", fields{"name": "Default", "footer": "By default"}))
		owner := app.Caller{Workspace: w.ws.ID, User: w.ws.Owner, Role: sheaf.Owner}
		if err := w.App.SetDefaultBranding(w.Context(), owner, &standard, sheaf.Opt[sheaf.BrandingID]{}); err != nil {
			w.Fatal(err)
		}
		w.get(path).want(w, 200).has(w, "By default")
	})
}

// D111: the picture of a link preview is the branding's logo, or else the first picture of the text. The icon has the
// branding's colour and the project's drawing. The page that asks for a password has neither.
func TestPage_IconAndPictureForLinks(t *testing.T) {
	run(t, func(w *world) {
		upload := func() string {
			return w.c.POST("/api/v1/media?filename=a.png", []byte(onePixel(w)), "Content-Type: application/octet-stream").Want(w.T, 201).Text(w.T, "id")
		}
		shown, logo := upload(), upload()
		p := w.make("projects", fields{"name": "p", "icon": "rocket", "color": "#123456"})
		d := w.make("documents", fields{"title": "d", "project_id": p, "content": "[file](media:" + logo + ") ![A \"cat\"](media:" + shown + ")"})
		id, document := w.share("document", d)
		address := w.c.GET("/api/v1/shares/"+id).Want(w.T, 200).Text(w.T, "url")
		w.get(document).want(w, 200).has(w, `<meta property="og:image" content="`+address+"/"+d+"/media/"+shown+`">`,
			`<meta property="og:image:alt" content="A &#34;cat&#34;">`, `content="summary_large_image"`, `href="/share-assets/icon-1c6b50-file-text.svg"`)
		own := w.make("brandings", fields{"name": "Own", "color_primary": "#B00020", "logo_media_id": logo})
		w.c.PATCH("/api/v1/shares/"+id, fields{"branding_id": own}).Want(w.T, 200)
		page := w.get(document).want(w, 200).has(w, `<meta property="og:image" content="`+address+"/logo?of="+logo+`">`, `content="summary"`, "icon-b00020-file-text.svg")
		w.get(strings.TrimPrefix(regexp.MustCompile(`og:image" content="([^"]+)`).FindStringSubmatch(page.body)[1], "https://sheaf.test")).want(w, 200)
		_, project := w.share("project", p)
		for _, path := range []string{project, project + "/" + d, project + "/search?q=file"} {
			w.get(path).want(w, 200).has(w, `<link rel="icon" href="/share-assets/icon-123456-rocket.svg" type="image/svg+xml">`)
		}
		w.get(project).lacks(w, "og:image")
		// The pages of a folder's share have those of the folder, of each project and of each document.
		folder := w.make("folders", fields{"name": "Site", "entity_type": "project"})
		w.c.PATCH("/api/v1/projects/"+p, fields{"folder_id": folder}).Want(w.T, 200)
		site, whole := w.share("folder", folder)
		w.get(whole).want(w, 200).has(w, `href="/share-assets/icon-1c6b50-`).lacks(w, "og:image")
		siteAddress := w.c.GET("/api/v1/shares/"+site).Want(w.T, 200).Text(w.T, "url")
		w.get(whole+"/"+d).want(w, 200).has(w, "icon-123456-rocket.svg", `<meta property="og:image" content="`+siteAddress+"/"+d+"/media/"+shown+`">`)
		w.get(whole+"/"+d+"/media/"+shown).want(w, 200)
		w.c.PATCH("/api/v1/shares/"+site, fields{"branding_id": own}).Want(w.T, 200)
		for _, path := range []string{whole, whole + "/" + d} {
			w.get(path).want(w, 200).has(w, "/logo?of="+logo+`">`, "icon-b00020-")
		}
		svg := w.get("/share-assets/icon-123456-rocket.svg").want(w, 200).has(w, `fill="#123456"`, `color="#ffffff"`, "<path")
		if svg.Header.Get("Content-Type") != "image/svg+xml" || !strings.Contains(svg.Header.Get("Cache-Control"), "immutable") {
			w.Errorf("the icon has the headers %v", svg.Header)
		}
		for _, wrong := range []string{"icon-123456-nothing.svg", "icon-12345-rocket.svg", "icon-ABCDEF-rocket.svg", "icon-123456-rocket", "icon-.svg", "icon-123456-..%2frocket.svg"} {
			w.get("/share-assets/"+wrong).want(w, 404)
		}
		w.c.PATCH("/api/v1/shares/"+id, fields{"password": "open sesame"}).Want(w.T, 200)
		w.get(document).want(w, 401).lacks(w, "og:", "icon-", own, "logo")
	})
}

// A branding tints blocks of code, and every colour of highlighted code is readable on the tint.
func TestBranding_CodeIsReadableOnItsTint(t *testing.T) {
	t.Parallel()
	if css, err := os.ReadFile("static/publish.css"); err != nil || !strings.Contains(string(css), "--prose-sunken: var(--sunken)") {
		t.Errorf("blocks of code do not take the tint: %v", err)
	}
	luminance := func(color string) (l float64) {
		n, err := strconv.ParseUint(color[1:], 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		for i, weight := range []float64{.0722, .7152, .2126} {
			c := float64(n>>(8*i)&255) / 255
			if c <= .03928 {
				l += weight * c / 12.92
			} else {
				l += weight * math.Pow((c+.055)/1.055, 2.4)
			}
		}
		return l
	}
	inks := regexp.MustCompile(`(?m)^\.prose (?:\.[a-z]+|:is\(\.[a-z, .]+\)) \{ color: light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)`).FindAllStringSubmatch(render.CSS, -1)
	if len(inks) < 10 {
		t.Fatalf("%d colours of code", len(inks))
	}
	for r := 0; r < 256; r += 51 {
		for g := 0; g < 256; g += 51 {
			for b := 0; b < 256; b += 51 {
				color := fmt.Sprintf("#%02x%02x%02x", r, g, b)
				light, dark := sheaf.Palette(color)
				if css := brandstyle.Style(sheaf.Branding{ColorPrimary: color, Font: sheaf.SystemFont}, ":root"); !strings.Contains(css, "--sunken: light-dark("+light.Surface+", "+dark.Surface+")") {
					t.Fatalf("the tint of %s is not in %s", color, css)
				}
				for _, ink := range inks {
					for i, ground := range []string{light.Surface, dark.Surface} {
						x, y := luminance(ink[i+1]), luminance(ground)
						if contrast := (max(x, y) + .05) / (min(x, y) + .05); contrast < 4.5 {
							t.Errorf("%s on %s of the branding %s: %.2f", ink[i+1], ground, color, contrast)
						}
					}
				}
			}
		}
	}
}

// D103, D112: the pictures of a text, and no others, are reached through the share that shows the
// text.
func TestPage_Media(t *testing.T) {
	run(t, func(w *world) {
		var file bytes.Buffer
		if err := png.Encode(&file, image.NewGray(image.Rect(0, 0, 8, 4))); err != nil {
			w.Fatal(err)
		}
		upload := func(name string, b []byte) string {
			return w.c.POST("/api/v1/media?filename="+name, b, "Content-Type: application/octet-stream").Want(w.T, 201).Text(w.T, "id")
		}
		shown, page, hidden := upload("a.png", file.Bytes()), upload("b.html", []byte("<script>alert(1)</script>")), upload("c.png", append(file.Bytes(), 0))
		p := w.make("projects", fields{"name": "p"})
		d := w.make("documents", fields{"title": "d", "project_id": p, "content": "![A cat](media:" + shown + ") [file](media:" + page + ")\n\n    media:" + hidden})
		other := w.make("documents", fields{"title": "other", "project_id": p, "content": "![](media:" + hidden + ")"})
		_, document := w.share("document", d)
		_, project := w.share("project", p)
		for root, at := range map[string]string{document: document, project: project + "/" + d} {
			w.get(at).want(w, 200).has(w, `src="`+root+"/"+d+"/media/"+shown+`"`)
			got := w.get(root+"/"+d+"/media/"+shown).want(w, 200)
			if got.body != file.String() || got.Header.Get("Content-Type") != "image/png" {
				w.Errorf("the picture has %d bytes, %v", len(got.body), got.Header)
			}
			got = w.get(root+"/"+d+"/media/"+page).want(w, 200)
			if h := got.Header; h.Get("Content-Type") != "application/octet-stream" || !strings.HasPrefix(h.Get("Content-Disposition"), "attachment") || h.Get("Content-Security-Policy") != "sandbox" {
				w.Errorf("a page as a file has %v", h)
			}
			w.get(root+"/"+d+"/media/"+hidden).want(w, 404) // it is in the text, but not shown
			w.get(root+"/"+d+"/media/"+d).want(w, 404)
			for _, no := range []string{"nonsense", strings.ToUpper(d), "%00", strings.Repeat("a", 36)} {
				w.get(root+"/"+no+"/media/"+shown).want(w, 404)
				w.get(root+"/"+d+"/media/"+no).want(w, 404)
			}
		}
		w.get(document+"/"+other+"/media/"+hidden).want(w, 404)
		w.get(project+"/"+other+"/media/"+hidden).want(w, 200)
		_, locked := w.share("document", d, fields{"password": "a long secret"})
		w.get(locked+"/"+d+"/media/"+shown).want(w, 401)
		w.c.PATCH("/api/v1/documents/"+d, fields{"content": "none"}).Want(w.T, 200)
		w.get(document+"/"+d+"/media/"+shown).want(w, 404)
	})
}

// A share shows the logo of its branding to everyone who may see the share, as long as it is the
// logo.
func TestPage_Logo(t *testing.T) {
	run(t, func(w *world) {
		var file bytes.Buffer
		if err := png.Encode(&file, image.NewGray(image.Rect(0, 0, 8, 4))); err != nil {
			w.Fatal(err)
		}
		logo := w.c.POST("/api/v1/media?filename=logo.png", file.Bytes(), "Content-Type: image/png").Want(w.T, 201).Text(w.T, "id")
		d, own := w.make("documents", fields{"title": "d"}), w.make("brandings", fields{"name": "Own <b>", "logo_media_id": logo})
		_, plain := w.share("document", d, fields{})
		w.get(plain+"/logo").want(w, 404)
		_, path := w.share("document", d, fields{"branding_id": own})
		w.get(path).want(w, 200).has(w, `<img src="`+path+`/logo?of=`+logo+`" alt="Own &lt;b&gt;">`)
		got := w.get(path+"/logo?of="+logo).want(w, 200)
		if got.body != file.String() || got.Header.Get("Content-Type") != "image/png" || got.Header.Get("X-Content-Type-Options") != "nosniff" {
			w.Errorf("the logo has %d bytes, %v", len(got.body), got.Header)
		}
		_, locked := w.share("document", d, fields{"branding_id": own, "password": "a long secret"})
		w.get(locked+"/logo").want(w, 401)
		w.c.DELETE("/api/v1/media/"+logo).Want(w.T, 204)
		w.get(path).want(w, 200).lacks(w, "<img").has(w, "masthead")
		w.get(path+"/logo").want(w, 404)
	})
}
