package publish_test

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/fair"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/publish"
	"sheaf.dev/internal/render"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/sheaftest/fill"
)

var asListed = fields{"listed": true}

// upload stores a picture, which differs from all others by `mark`, and returns its id.
func (w *world) upload(mark string) string {
	w.Helper()
	return w.c.POST("/api/v1/media?filename=a.png", []byte(onePixel(w)+mark), "Content-Type: application/octet-stream").Want(w.T, 201).Text(w.T, "id")
}

// is fails the test unless the reply is exactly that text.
func (r reply) is(w *world, want string) reply {
	w.Helper()
	if r.body != want {
		w.Errorf("%s is\n%s\nwant\n%s", r.Request.URL.Path, r.body, want)
	}
	return r
}

// D185: the twin of a shared document has what its page shows, in Markdown, with the headers of the page.
func TestTwin_OfADocument(t *testing.T) {
	run(t, func(w *world) {
		w.Clock.Freeze()
		d := w.make("documents", fields{"title": "Getting *started*", "description": "What to do\nfirst.",
			"content": "\n\n## One\n\n**bold** `code`\n<!-- secret -->\n"})
		_, path := w.share("document", d, asListed)
		page := w.get(path).want(w, 200).has(w, `<link rel="alternate" type="text/markdown" href="`+path+`/index.md">`,
			`<link rel="alternate" type="text/plain" title="llms.txt" href="`+path+`/llms.txt">`, `<link rel="sitemap" type="application/xml" href="`+path+`/sitemap.xml">`)
		twin := w.get(path+"/index.md").want(w, 200).is(w, "# Getting \\*started\\*\n\n> What to do first.\n\n## One\n\n**bold** `code`\n<!---->\n")
		for name, want := range map[string]string{"Content-Type": "text/markdown; charset=utf-8", "Link": "<" + apitest.Address + path + `>; rel="canonical"`} {
			if got := twin.Header.Get(name); got != want {
				w.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		for _, name := range []string{"Cache-Control", "Content-Security-Policy", "Referrer-Policy", "X-Content-Type-Options", "X-Frame-Options", "X-Robots-Tag"} {
			if got, want := twin.Header.Get(name), page.Header.Get(name); got != want {
				w.Errorf("%s is %q, and %q for the page", name, got, want)
			}
		}
		for _, at := range []string{"/index.md", "/llms.txt", "/sitemap.xml"} {
			etag := w.get(path+at).want(w, 200).Header.Get("ETag")
			w.get(path+at, "If-None-Match: "+etag).want(w, 304)
			if head := w.send(http.MethodHead, path+at, "").want(w, 200); head.body != "" || etag == "" || head.Header.Get("ETag") != etag {
				w.Errorf("HEAD %s has %q, %v", at, head.body, head.Header)
			}
			if got := w.send(http.MethodDelete, path+at, "").want(w, 405); got.Header.Get("Allow") != "GET, HEAD, POST" {
				w.Errorf("DELETE %s: %v", at, got.Header)
			}
		}
		w.get(path+"/llms.txt").is(w, "# Getting \\*started\\*\n\n> What to do first.\n\n## Pages\n\n- [Getting \\*started\\*]("+apitest.Address+path+"/index.md): What to do first.\n")
		// A title in the text is not said twice, and a changed text is read at once.
		etag := twin.Header.Get("ETag")
		w.c.PATCH("/api/v1/documents/"+d, fields{"title": "Title", "content": "Title\n=====\n\nText.\n", "description": nil}).Want(w.T, 200)
		w.get(path+"/index.md", "If-None-Match: "+etag).want(w, 200).is(w, "# Title\n\nText.\n")
		w.c.PATCH("/api/v1/documents/"+d, fields{"content": "# [Title](https://example.com)\n"}).Want(w.T, 200)
		w.get(path+"/index.md").is(w, "# [Title](https://example.com)\n")
		w.c.PATCH("/api/v1/documents/"+d, fields{"content": ""}).Want(w.T, 200)
		w.get(path+"/index.md").is(w, "# Title\n")
		for _, wrong := range []string{"/" + d + ".md", "/" + d, "/index.md.md", "/INDEX.MD", "/index", "/raw.md", "/llms.txt.md", "/llms-full.txt", ".md"} {
			w.get(path+wrong).want(w, 404)
		}
	})
}

// D185: in twins, links between documents of the share lead to their pages, and media to those that the
// share serves. What a page shows as plain text is plain text.
func TestTwin_OfAProject(t *testing.T) {
	run(t, func(w *world) {
		p := w.make("projects", fields{"name": "Handbook", "description": "All of it."})
		hidden, picture := w.make("documents", fields{"title": "Elsewhere"}), w.upload("")
		guide := w.make("documents", fields{"title": "Guide", "project_id": p, "sort_order": 1})
		first := w.make("documents", fields{"title": "Install", "project_id": p, "parent_id": guide, "description": "How to"})
		second := w.make("documents", fields{"title": "Use", "project_id": p, "sort_order": 2,
			"content": "To [it](document:" + first + "#Some-place) and [hidden](document:" + hidden + ").\n\n![cat](media:" + picture + ") [up](../x.md)"})
		_, path := w.share("project", p, asListed)
		at := apitest.Address + path
		w.get(path+"/"+second+".md").want(w, 200).is(w, "# Use\n\nTo [it]("+at+"/"+first+"#h-some-place) and hidden.\n\n![cat]("+at+"/"+second+"/media/"+picture+") up\n")
		w.get(path+"/"+second+"/media/"+picture).want(w, 200)
		// Without a text, the twin lists what is below, as the page does.
		w.get(path+"/"+guide+".md").want(w, 200).is(w, "# Guide\n\n- [Install]("+at+"/"+first+".md)\n")
		w.get(path+"/index.md").want(w, 200).is(w, "# Handbook\n\n> All of it.\n\n- [Guide]("+at+"/"+guide+".md)\n  - [Install]("+at+"/"+first+".md): How to\n- [Use]("+at+"/"+second+".md)\n")
		w.get(path+"/llms.txt").want(w, 200).is(w, "# Handbook\n\n> All of it.\n\n## Pages\n\n- [Guide]("+at+"/"+guide+".md)\n  - [Install]("+at+"/"+first+".md): How to\n- [Use]("+at+"/"+second+".md)\n")
		w.get(path+"/"+second).want(w, 200).has(w, `type="text/markdown" href="`+path+"/"+second+`.md"`)
		w.get(path+"/search?q=cat").want(w, 200).lacks(w, ".md", "llms.txt", "sitemap.xml")
		for _, wrong := range []string{p, hidden, "index", strings.ToUpper(second), second + ".md", second + "/raw", "x"} {
			w.get(path+"/"+wrong+".md").want(w, map[bool]int{true: 200, false: 404}[wrong == "index"])
		}
		w.get(path+"/index.md?page=2").want(w, 404)
		// What leaves the project is gone from all of them with the next request.
		w.c.PATCH("/api/v1/documents/"+first, fields{"parent_id": nil, "project_id": nil}).Want(w.T, 200)
		w.get(path+"/"+first+".md").want(w, 404)
		w.get(path+"/"+second+".md").want(w, 200).has(w, "To it and hidden.")
		w.get(path+"/llms.txt").lacks(w, first)
		w.get(path+"/sitemap.xml").lacks(w, first)
	})
}

// D185: pages of a long list have twins too, which lead from one to the next.
func TestTwin_OfALongList(t *testing.T) {
	run(t, func(w *world) {
		p := w.make("projects", fields{"name": "Long"})
		for range 3 {
			var operations []fields
			for i := range 70 {
				operations = append(operations, fields{"action": "create", "resource_type": "document", "body": fields{"title": fmt.Sprint("d", i), "project_id": p}})
			}
			w.c.POST("/api/v1/batch", fields{"operations": operations}).Want(w.T, 200)
		}
		_, path := w.share("project", p, asListed)
		at := apitest.Address + path
		w.get(path+"?page=2").want(w, 200).has(w, `href="`+path+`/index.md?page=2"`)
		first := w.get(path+"/index.md").want(w, 200).has(w, "\n[Next page]("+at+"/index.md?page=2)\n").lacks(w, "Previous")
		second := w.get(path+"/index.md?page=2").want(w, 200).has(w, "\n[Previous page]("+at+"/index.md)\n").lacks(w, "Next")
		if a, b := strings.Count(first.body, "\n- ["), strings.Count(second.body, "\n- ["); a != 200 || b != 10 {
			w.Errorf("%d and %d documents", a, b)
		}
		if got := second.Header.Get("Link"); got != "<"+at+`?page=2>; rel="canonical"` {
			w.Errorf("Link is %q", got)
		}
		if n := strings.Count(w.get(path+"/llms.txt").want(w, 200).body, "\n- ["); n != 210 {
			w.Errorf("llms.txt has %d documents", n)
		}
	})
}

// urls are the pages of a sitemap.
type urls struct {
	XMLName xml.Name
	URL     []struct {
		Loc     string    `xml:"loc"`
		Lastmod time.Time `xml:"lastmod"`
	} `xml:"url"`
}

// sitemap reads the sitemap of the share, as addresses without the service's own, in order.
func (w *world) sitemap(path string) (pages []string, changed map[string]time.Time) {
	w.Helper()
	r := w.get(path+"/sitemap.xml").want(w, 200)
	var all urls
	if err := xml.Unmarshal([]byte(r.body), &all); err != nil || all.XMLName.Space != "http://www.sitemaps.org/schemas/sitemap/0.9" || all.XMLName.Local != "urlset" {
		w.Fatalf("%v in %s", err, r.body)
	}
	if got := r.Header.Get("Content-Type"); got != "application/xml; charset=utf-8" {
		w.Errorf("Content-Type is %q", got)
	}
	changed = map[string]time.Time{}
	for _, u := range all.URL {
		page, ours := strings.CutPrefix(u.Loc, apitest.Address)
		if !ours {
			w.Errorf("%s is no address of ours", u.Loc)
		}
		pages, changed[page] = append(pages, page), u.Lastmod
	}
	return pages, changed
}

// D185, D185a: llms.txt of a folder has a section for each project, and the sitemap has all pages, in
// reading order. A page above others has changed when they have.
func TestLLMs_OfAFolder(t *testing.T) {
	each(t, func(w *world) {
		w.Clock.Freeze()
		_, ids := w.handbooks()
		_, path := w.share("folder", ids["Site"], asListed)
		at := func(name string) string { return path + "/" + ids[name] }
		twin := func(name string) string { return "](" + apitest.Address + at(name) + ".md)" }
		w.get(path+"/llms.txt").want(w, 200).is(w, "# Site\n\n"+
			"## First / Deep / Deep guide\n\n- [Deep guide"+twin("Deep guide")+": About Deep guide\n  - [a"+twin("a")+"\n  - [b"+twin("b")+"\n\n"+
			"## First / Deep / Blank\n\n- [Blank"+twin("Blank")+": About Blank\n\n"+
			"## First / First guide\n\n- [First guide"+twin("First guide")+": About First guide\n  - [c"+twin("c")+"\n\n"+
			"## Loose\n\n- [Loose"+twin("Loose")+": About Loose\n  - [d"+twin("d")+"\n")
		start := w.Clock.Now()
		w.Clock.Advance(time.Hour)
		w.c.PATCH("/api/v1/documents/"+ids["b"], fields{"description": "b said"}).Want(w.T, 200)
		pages, changed := w.sitemap(path)
		want := []string{path, at("Empty"), at("First"), at("Deep"), at("Deep guide"), at("a"), at("b"), at("Blank"), at("First guide"), at("c"), at("Loose"), at("d")}
		if fmt.Sprint(pages) != fmt.Sprint(want) {
			w.Errorf("the sitemap has\n%v\nwant\n%v", pages, want)
		}
		later := map[string]bool{path: true, at("First"): true, at("Deep"): true, at("Deep guide"): true, at("b"): true}
		for page, when := range changed {
			since := start
			if later[page] {
				since = start.Add(time.Hour)
			}
			if !when.Equal(since.Truncate(time.Millisecond)) {
				w.Errorf("%s was changed at %v, want %v", page, when, since)
			}
			w.get(page).want(w, 200).has(w, `<link rel="sitemap"`)
		}
		w.get(path+"/llms.txt").want(w, 200).has(w, "- [b"+twin("b")+": b said\n")
		// Twins of all kinds of pages.
		w.get(path+"/index.md").want(w, 200).is(w, "# Site\n\n- [Empty"+twin("Empty")+": Folder\n- [First"+twin("First")+": 1 project\n- [Loose"+twin("Loose")+": About Loose\n")
		w.get(at("First")+".md").want(w, 200).has(w, "# First\n\n- [Deep"+twin("Deep"))
		w.get(at("Loose")+".md").want(w, 200).is(w, "# Loose\n\n> About Loose\n\n- [d"+twin("d")+"\n")
		w.get(at("c")+".md").want(w, 200).is(w, "# c\n\nTo [a]("+apitest.Address+at("a")+") and hidden.\n")
		for _, outside := range []string{"Hidden", "hidden", "Elsewhere", "Site"} {
			w.get(at(outside)+".md").want(w, 404)
		}
		// What moves out is gone with the next request.
		w.c.POST("/api/v1/folders/"+ids["Deep"]+"/move", fields{"parent_id": ids["Elsewhere"]}).Want(w.T, 200)
		w.get(path+"/llms.txt").want(w, 200).lacks(w, "Deep", ids["a"])
		w.get(path+"/sitemap.xml").want(w, 200).lacks(w, ids["Deep"], ids["a"])
		w.get(at("a")+".md").want(w, 404)
	})
}

// D185: a list ends after as many pages as were asked for, in reading order, and says that there are more.
func TestLLMs_AreBounded(t *testing.T) {
	each(t, func(w *world) {
		path, ids := w.handbooks()
		s := w.opened(path)
		names := []string{"Site", "Empty", "First", "Deep", "Deep guide", "a", "b", "Blank", "First guide", "c", "Loose", "d"}
		for most := 1; most <= len(names)+1; most++ {
			got, err := w.App.SharedPages(w.Context(), s, most, true)
			if err != nil {
				w.Fatal(err)
			}
			var listed []string
			for _, p := range got.Pages {
				listed = append(listed, p.Title)
				if p.ID != ids[p.Title] {
					w.Errorf("%s has the id %s", p.Title, p.ID)
				}
			}
			if want := names[:min(most, len(names))]; fmt.Sprint(listed) != fmt.Sprint(want) || got.More != (most < len(names)) {
				w.Errorf("at most %d pages are %v, more %t", most, listed, got.More)
			}
		}
	})
}

// D185: shares that are not listed, or have a password, have none of these pages. Their addresses are
// answered as any other address below the share that leads nowhere; so are those of shares that show nothing.
func TestTwin_OnlyOfListedSharesWithoutPassword(t *testing.T) {
	each(t, func(w *world) {
		w.Clock.Freeze()
		p := w.make("projects", fields{"name": "CANARY"})
		d := w.make("documents", fields{"title": "CANARY", "project_id": p, "content": "CANARY"})
		trashed := w.make("documents", fields{"title": "CANARY"})
		folder := w.make("folders", fields{"name": "CANARY", "entity_type": "project"})
		w.c.PATCH("/api/v1/projects/"+p, fields{"folder_id": folder}).Want(w.T, 200)
		_, inTrash := w.share("document", trashed, asListed)
		_, expired := w.share("project", p, asListed, fields{"expires_at": w.Clock.Now().Add(time.Second)})
		deleted, gone := w.share("project", p, asListed)
		w.get(inTrash+"/index.md").want(w, 200)
		w.get(expired+"/llms.txt").want(w, 200)
		w.get(gone+"/sitemap.xml").want(w, 200)
		w.c.DELETE("/api/v1/documents/"+trashed).Want(w.T, 204)
		w.c.DELETE("/api/v1/shares/"+deleted).Want(w.T, 204)
		w.Clock.Advance(time.Second)
		password := fields{"password": "open sesame"}
		for kind, id := range map[string]string{"document": d, "project": p, "folder": folder} {
			_, plain := w.share(kind, id)
			_, locked := w.share(kind, id, password)
			_, both := w.share(kind, id, password, asListed)
			cookie := cookieOf(w.send(http.MethodPost, both, "password=open+sesame").want(w, 303))
			change, once := w.share(kind, id, asListed)
			w.get(once+"/llms.txt").want(w, 200)
			w.c.PATCH("/api/v1/shares/"+change, fields{"listed": false}).Want(w.T, 200)
			for _, test := range []struct {
				path, cookie string
				status       int
			}{{plain, "A: b", 404}, {locked, "A: b", 401}, {both, "A: b", 401}, {both, cookie, 404}, {once, "A: b", 404}, {inTrash, "A: b", 404}, {expired, "A: b", 404}, {gone, "A: b", 404}} {
				for _, at := range []string{"/index.md", "/llms.txt", "/sitemap.xml", "/" + d + ".md", "/" + p + ".md", "/" + folder + ".md", "/" + trashed + ".md"} {
					for _, method := range []string{http.MethodGet, http.MethodHead} {
						want := w.send(method, test.path+"/nothing", "", test.cookie).want(w, test.status)
						got := w.send(method, test.path+at, "", test.cookie).want(w, test.status).lacks(w, "CANARY", d, p, folder)
						if got.body != want.body || !sameHeader(got.Header, want.Header) {
							w.Errorf("%s %s of a %s differs from an address that leads nowhere:\n%v %s\n%v %s", method, at, kind, got.Header, got.body, want.Header, want.body)
						}
					}
				}
			}
			for _, path := range []string{plain, once} {
				w.get(path).want(w, 200).lacks(w, ".md", "llms.txt", "sitemap.xml")
			}
			w.get(both, cookie).want(w, 200).lacks(w, ".md", "llms.txt", "sitemap.xml")
		}
	})
}

// D185: whatever a title or a description contains, each line of llms.txt is one link to a page of the share,
// and the sitemap is XML. A text with links that pages do not write has none in its twin either.
func TestTwin_HostileTexts(t *testing.T) {
	run(t, func(w *world) {
		hostile := []string{"a](https://evil.example) [b", "line\nbreak\r\n- [x](https://evil.example)", "]]> </loc></url> <!-- &amp; &lt;", "\u202eright\u2066to\u200fleft\ufeff",
			"\x00\x01\x1b[31m\x7f\u0085 control", "javascript:alert(1)", "# heading #", "- list", "1. number", "> quote", "`code` **bold** __x__ ~~y~~ <script>", "C\\#", "&#91;x&#93;(https://evil.example)",
			"\u2028\u2029separators\u000b", "***", "[ref]: https://evil.example", "![i](https://evil.example/i.png)", "=", "|a|b|"}
		p := w.make("projects", fields{"name": hostile[0], "description": hostile[1]})
		made := 0
		for i, title := range hostile {
			d := fields{"title": title, "description": hostile[(i+1)%len(hostile)], "project_id": p,
				"content": "[x](javascript:alert(1)) ![y](data:text/html,x) [[z](vbscript:x)](javascript:alert(2)) [r]\n\n[r]: javascript:alert(3)\n\n" + title}
			res := w.c.POST("/api/v1/documents", d)
			if res.Status == 400 { // one of the two may not be stored
				delete(d, "description")
				res = w.c.POST("/api/v1/documents", d)
			}
			if res.Status == 201 {
				made++
			}
		}
		if made < len(hostile)-1 {
			w.Fatalf("%d of %d documents were made", made, len(hostile))
		}
		_, path := w.share("project", p, asListed)
		line := regexp.MustCompile(`^- \[[^\[\]\x00-\x1f\x7f-\x9f\x{2028}-\x{202e}\x{2066}-\x{2069}]+\]\(` + regexp.QuoteMeta(apitest.Address+path) + `/[0-9a-f-]{36}\.md\)(: [^\[\]\x00-\x1f\x7f-\x9f\x{2028}-\x{202e}\x{2066}-\x{2069}]*)?$`)
		list := w.get(path+"/llms.txt").want(w, 200).lacks(w, "](https://evil", "](javascript", "<script", "<!--")
		lines := strings.Split(strings.TrimSuffix(list.body, "\n"), "\n")
		if len(lines) != 6+made || lines[0] != "# a&#93;(https://evil.example) &#91;b" || lines[2] != "> line break - &#91;x&#93;(https://evil.example)" || lines[4] != "## Pages" {
			w.Errorf("llms.txt has %d lines for %d documents:\n%s", len(lines), made, list.body)
		}
		for _, l := range lines[min(6, len(lines)):] {
			if !line.MatchString(l) {
				w.Errorf("llms.txt has the line %q", l)
			}
		}
		pages, _ := w.sitemap(path)
		if len(pages) != 1+made {
			w.Errorf("%d pages of %d", len(pages), 1+made)
		}
		for _, page := range pages[1:] {
			twin := w.get(page+".md").want(w, 200).has(w, "x y [[z](<>)](javascript:alert(2)) r\n\n[r]: <>\n")
			if !regexp.MustCompile("^(# [^\n]*\n\n)?(> [^\n]*\n\n)?x y ").MatchString(twin.body) {
				w.Errorf("the twin begins with %q", twin.body)
			}
		}
	})
}

// D112, D185: twins and lists reach what the share shows, and nothing else of the workspace.
func TestTwin_ReachesWhatIsShownAndNothingElse(t *testing.T) {
	each(t, func(w *world) {
		site := w.make("folders", fields{"name": "Shown folder", "entity_type": "project"})
		outside := w.make("folders", fields{"name": "CANARY folder", "entity_type": "project"})
		p := w.make("projects", fields{"name": "Shown project", "folder_id": site})
		q := w.make("projects", fields{"name": "CANARY project", "description": "CANARY", "folder_id": outside})
		secret, picture := w.upload("CANARY"), w.upload("")
		hidden := w.make("documents", fields{"title": "CANARY elsewhere", "project_id": q, "content": "CANARY ![](media:" + secret + ")", "description": "CANARY"})
		loose := w.make("documents", fields{"title": "CANARY loose", "content": "CANARY"})
		trashed := w.make("documents", fields{"title": "CANARY trashed", "project_id": p, "description": "CANARY", "content": "CANARY"})
		shown := w.make("documents", fields{"title": "Shown", "project_id": p, "content": "[a](document:" + hidden + ") [b][r] ![c](media:" + picture + ") [d](document:" + trashed +
			")\n\n[r]: document:" + loose + " 't'\n[u]: <document:" + hidden + ">\n\n[^n]: [e](document:" + hidden + ")\n"})
		below := w.make("documents", fields{"title": "Shown below", "project_id": p, "parent_id": shown, "content": "[up](document:" + shown + ")"})
		w.c.DELETE("/api/v1/documents/"+trashed).Want(w.T, 204)
		secrets := []string{"CANARY", outside, q, secret, hidden, loose, trashed, string(w.ws.ID), string(w.ws.Owner)}
		ids := append([]string{site, p, shown, below, picture}, secrets[1:]...)
		for kind, test := range map[string]struct {
			of    string
			pages []string
		}{
			"document": {shown, []string{""}},
			"project":  {p, []string{"", "/" + shown, "/" + below}},
			"folder":   {site, []string{"", "/" + p, "/" + shown, "/" + below}},
		} {
			_, root := w.share(kind, test.of, asListed)
			want := map[string]bool{}
			for _, page := range test.pages {
				want[root+page] = true
			}
			for _, list := range []string{"/llms.txt", "/sitemap.xml"} {
				w.get(root+list).want(w, 200).lacks(w, secrets...)
			}
			pages, _ := w.sitemap(root)
			for _, page := range pages {
				if !want[page] {
					w.Errorf("%s is in the sitemap of a %s", page, kind)
				}
				delete(want, page)
			}
			if len(want) > 0 {
				w.Errorf("the sitemap of a %s lacks %v", kind, want)
			}
			reached := w.walk(root)
			for _, page := range pages {
				twin := page + ".md"
				if page == root {
					twin = root + "/index.md"
				}
				w.get(twin).want(w, 200).lacks(w, secrets...)
				if _, ok := reached[twin]; !ok {
					w.Errorf("no page links to %s", twin)
				}
				for _, m := range regexp.MustCompile(`\]\(([^)>]+)\)`).FindAllStringSubmatch(w.get(twin).body, -1) {
					w.get(strings.TrimPrefix(m[1], apitest.Address)).want(w, 200)
				}
			}
			for _, id := range ids {
				page := root + "/" + id
				_, known := reached[page]
				if got := w.get(page + ".md"); (got.StatusCode == 200) != known || strings.Contains(got.body, "CANARY") {
					w.Errorf("%s.md has status %d, and its page is reached: %t", page, got.StatusCode, known)
				}
			}
		}
	})
}

// D110, D185: twins and lists count no view: programs read them.
func TestTwin_CountsNoView(t *testing.T) {
	run(t, func(w *world) {
		p := w.make("projects", fields{"name": "p"})
		d := w.make("documents", fields{"title": "d", "project_id": p})
		id, path := w.share("project", p, asListed)
		for _, at := range []string{"/index.md", "/" + d + ".md", "/llms.txt", "/sitemap.xml"} {
			w.get(path+at).want(w, 200)
			w.get(path+at).want(w, 200) // from the cache
		}
		w.get(path+"/"+d).want(w, 200)
		w.WriteViews()
		if got := w.c.GET("/api/v1/shares/" + id).JSON["views"]; got != 1.0 {
			w.Errorf("%v views, want that of the page", got)
		}
	})
}

// D112, D185: a request for a twin or a list counts for the limit of its address.
func TestTwin_LimitOfAnAddress(t *testing.T) {
	t.Parallel()
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		w := &world{T: t, API: a, ws: ws, c: ws.Client("")}
		a.Clock.Freeze()
		_, path := w.share("document", w.make("documents", fields{"title": "d"}), asListed)
		for i := range 120 {
			w.get(path+[]string{"/index.md", "/llms.txt", "/sitemap.xml"}[i%3]).want(w, 200)
		}
		w.get(path+"/index.md").want(w, 429)
		w.get(path+"/llms.txt").want(w, 429)
		w.get(path+"/sitemap.xml").want(w, 429)
	}, apitest.WithLimitedShares)
}

// D112, D185: a list waits for the turn of its workspace, as a text does that is rendered. Without one in time,
// nothing is read.
func TestLLMs_WaitForATurn(t *testing.T) {
	t.Parallel()
	texts := render.New(render.Options{Wait: time.Millisecond})
	own := apitest.Mounting(func(c apitest.Config) front.Mount {
		return front.Mount{Name: "share", Paths: publish.Paths, Edge: publish.New(publish.Config{App: c.App, Log: c.Log, Now: c.Now, Render: texts})}
	})
	apitest.Run(t, in(func(w *world) {
		_, path := w.share("document", w.make("documents", fields{"title": "d"}), asListed)
		done, err := texts.Turn(func(turns *fair.Turns, cost int64, _ int) (func(), error) {
			return turns.Take(w.Context(), string(w.ws.ID), cost)
		}, 1)
		if err != nil {
			w.Fatal(err)
		}
		for _, at := range []string{"/llms.txt", "/sitemap.xml"} {
			if got := w.get(path+at).want(w, 503).has(w, "Just a moment"); got.Header.Get("Retry-After") == "" {
				w.Errorf("%s does not say when to try again", at)
			}
		}
		done()
		w.get(path+"/llms.txt").want(w, 200)
		w.get(path+"/sitemap.xml").want(w, 200)
	}), own)
}

// D185: a share of a release has the twins and the lists of the release, and nothing that came after it. A
// release to which readers may switch has its own.
func TestTwin_OfARelease(t *testing.T) {
	each(t, func(w *world) {
		w.Clock.Freeze()
		p := w.make("projects", fields{"name": "Handbook"})
		guide := w.make("documents", fields{"title": "Guide", "project_id": p, "description": "Old words"})
		first := w.make("documents", fields{"title": "Install", "project_id": p, "parent_id": guide, "content": "To [it](document:" + guide + ")."})
		owner := app.Caller{Workspace: w.ws.ID, User: w.ws.Owner, Role: sheaf.Owner}
		release, err := w.App.CreateRelease(w.Context(), owner, sheaf.ProjectID(p), sheaf.ReleaseChange{Name: sheaf.Some("1.0")})
		if err != nil {
			w.Fatal(err)
		}
		made := w.Clock.Now().Truncate(time.Millisecond)
		w.Clock.Advance(time.Hour)
		w.c.PATCH("/api/v1/documents/"+guide, fields{"title": "CANARY", "description": "CANARY", "content": "CANARY"}).Want(w.T, 200)
		w.c.PATCH("/api/v1/documents/"+first, fields{"content": "CANARY"}).Want(w.T, 200)
		later := w.make("documents", fields{"title": "CANARY", "project_id": p})
		_, newest := w.share("project", p, asListed, fields{"release": "newest"})
		_, switching := w.share("project", p, asListed, fields{"show_releases": true})
		for _, path := range []string{newest, switching + "/releases/" + string(release.ID)} {
			at := apitest.Address + path
			w.get(path+"/llms.txt").want(w, 200).is(w, "# Handbook\n\n## Pages\n\n- [Guide]("+at+"/"+guide+".md): Old words\n  - [Install]("+at+"/"+first+".md)\n")
			pages, changed := w.sitemap(path)
			if want := []string{path, path + "/" + guide, path + "/" + first}; fmt.Sprint(pages) != fmt.Sprint(want) || !changed[path].Equal(made) {
				w.Errorf("the sitemap has %v, want %v; changed %v", pages, want, changed[path])
			}
			w.get(path+"/"+first+".md").want(w, 200).is(w, "# Install\n\nTo [it]("+at+"/"+guide+").\n")
			w.get(path+"/index.md").want(w, 200).has(w, "- [Guide]("+at+"/"+guide+".md): Old words\n").lacks(w, "CANARY")
			w.get(path+"/"+later+".md").want(w, 404)
		}
		w.get(switching+"/llms.txt").want(w, 200).has(w, later)
		_, gone := w.share("project", w.make("projects", fields{"name": "None"}), asListed, fields{"release": "newest"})
		for _, at := range []string{"/index.md", "/llms.txt", "/sitemap.xml"} {
			w.get(newest+"/releases/"+string(release.ID)+at).want(w, 404)
			w.get(gone+at).want(w, 404)
		}
	})
}

// D185: llms.txt has all documents of the largest project with a tree. A larger project has those that were
// changed last first, and the rest is in the sitemap alone.
func TestLLMs_OfALargeProject(t *testing.T) {
	each(t, func(w *world) {
		p := w.make("projects", fields{"name": "Large"})
		id := w.make("documents", fields{"title": "The first one", "project_id": p})
		if err := fill.Documents(w.Store, w.ws.ID, sheaf.ProjectID(p), sheaf.MaxTree-1); err != nil {
			w.Fatal(err)
		}
		_, path := w.share("project", p, asListed)
		list := w.get(path+"/llms.txt").want(w, 200).lacks(w, "Optional")
		if n := strings.Count(list.body, "\n- ["); n != sheaf.MaxTree {
			w.Errorf("llms.txt has %d documents, want %d", n, sheaf.MaxTree)
		}
		w.Clock.Advance(time.Hour)
		w.make("documents", fields{"title": "The last one", "project_id": p})
		w.Clock.Advance(time.Hour)
		w.c.PATCH("/api/v1/documents/"+id, fields{"description": "changed"}).Want(w.T, 200)
		start := "# Large\n\n## Pages\n\n- [The first one](" + apitest.Address + path + "/" + id + ".md): changed\n- [The last one]("
		end := "\n## Optional\n\n- [Sitemap](" + apitest.Address + path + "/sitemap.xml): more pages than this list has\n"
		list = w.get(path+"/llms.txt").want(w, 200)
		if n := strings.Count(list.body, "\n- ["); n != sheaf.MaxTree+1 || !strings.HasPrefix(list.body, start) || !strings.HasSuffix(list.body, end) {
			w.Errorf("llms.txt has %d lines: %s … %s", n, list.body[:min(len(list.body), 300)], list.body[max(0, len(list.body)-300):])
		}
		if pages, _ := w.sitemap(path); len(pages) != sheaf.MaxTree+2 || pages[1] != path+"/"+id {
			w.Errorf("the sitemap has %d pages, the first %v", len(pages), pages[:2])
		}
	})
}
