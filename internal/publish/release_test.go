package publish_test

import (
	"fmt"
	"strings"
	"testing"
)

// released makes a project of two documents with a picture, and a release of it. Afterwards it changes
// everything: no page of the release may have the word PRESENT.
func released(w *world) (project, first, second, picture, release string) {
	w.Helper()
	picture = w.c.POST("/api/v1/media", []byte(onePixel(w)), "Content-Type: application/octet-stream").Want(w.T, 201).Text(w.T, "id")
	project = w.make("projects", fields{"name": "Guide"})
	first = w.make("documents", fields{"title": "Begin", "project_id": project})
	second = w.make("documents", fields{"title": "Below", "project_id": project, "parent_id": first, "content": "[up](document:" + first + ") and the end\n"})
	w.c.PATCH("/api/v1/documents/"+first, fields{"content": "frozen words ![it](media:" + picture + ") and [on](document:" + second + ")\n"}).Want(w.T, 200)
	release = w.make("projects/"+project+"/releases", fields{"name": "1.0 <b>"})
	w.c.PATCH("/api/v1/documents/"+first, fields{"title": "PRESENT title", "content": "PRESENT text\n", "description": "PRESENT description"}).Want(w.T, 200)
	w.c.DELETE("/api/v1/documents/"+second).Want(w.T, 204)
	w.c.DELETE("/api/v1/media/"+picture).Want(w.T, 204)
	w.make("documents", fields{"title": "PRESENT other", "project_id": project, "content": "frozen PRESENT"})
	return project, first, second, picture, release
}

// D185: the pages of a share that names a release show it, with its pictures, links, tree and search, and
// nothing of the documents as they are now.
func TestShare_ShowsARelease(t *testing.T) {
	each(t, func(w *world) {
		project, first, second, picture, release := released(w)
		for _, shown := range []string{release, "newest"} {
			_, path := w.share("project", project, fields{"release": shown, "listed": true})
			w.get(path).want(w, 200).has(w, "Begin", "Below", "1.0 &lt;b&gt;", path+"/"+second)
			page := w.get(path+"/"+first).want(w, 200).has(w, "frozen words", path+"/"+first+"/media/"+picture, `href="`+path+"/"+second)
			if strings.Contains(page.body, "<details class=\"releases\"") {
				t.Error("readers can switch")
			}
			w.get(path+"/"+first+"/media/"+picture).want(w, 200)
			w.get(path+"/"+second).want(w, 200).has(w, "the end", "Begin", `href="`+path+"/"+first)
			w.get(path+"/"+first+"/raw").want(w, 200).has(w, "frozen words")
			w.get(path+"/search?q=frozen").want(w, 200).has(w, "1 document", "Begin", "<mark>frozen</mark>")
			w.get(path+"/search?q=PRESENT").want(w, 200).has(w, "No documents match")
			for at, body := range w.walk(path) {
				if strings.Contains(body, "PRESENT") {
					t.Errorf("%s shows the document as it is now: %s", at, body)
				}
			}
			w.get(path+"/releases/"+release).want(w, 404)
		}
	})
}

// D185: without a release, or with one that is gone, a share shows nothing, and never the documents as they
// are now.
func TestShare_NewestWithoutARelease(t *testing.T) {
	each(t, func(w *world) {
		project := w.make("projects", fields{"name": "PRESENT"})
		document := w.make("documents", fields{"title": "PRESENT", "project_id": project, "content": "PRESENT"})
		_, path := w.share("project", project, fields{"release": "newest", "show_releases": true})
		_, locked := w.share("project", project, fields{"release": "newest", "password": "open sesame"})
		nothing := w.get("/s/"+strings.Repeat("x", 22)).want(w, 404)
		for _, p := range []string{path, path + "/raw", path + "/search?q=PRESENT", path + "/" + document, path + "/" + document + "/raw", locked} {
			if r := w.get(p).want(w, 404); r.body != nothing.body {
				t.Errorf("%s is another 404: %s", p, r.body)
			}
		}
		release := w.make("projects/"+project+"/releases", fields{"name": "1"})
		w.get(path).want(w, 200).has(w, "PRESENT")
		w.c.DELETE("/api/v1/releases/"+release).Want(w.T, 204)
		w.get(path).want(w, 404)
	})
}

// D185: readers switch between releases if the share lets them, and stay on the page if the other release
// has it.
func TestShare_SwitchingReleases(t *testing.T) {
	each(t, func(w *world) {
		project, first, second, _, one := released(w)
		two := w.make("projects/"+project+"/releases", fields{"name": "2.0"})
		_, path := w.share("project", project, fields{"show_releases": true})
		to := func(release string) string { return path + "/releases/" + release }
		w.get(path+"/"+first).want(w, 200).has(w, "PRESENT text", to(one)+"/"+first, to(two)+"/"+first, "Latest changes")
		w.get(to(one)+"/"+first).want(w, 200).has(w, "frozen words", to(one)+"/"+second, `href="`+path+"/"+first+`"`).lacks(w, "PRESENT text")
		w.get(to(one)+"/"+second).want(w, 200).has(w, `href="`+to(two)+`"`, `href="`+path+`"`)
		w.get(to(one)).want(w, 200).has(w, "Below", `action="`+to(one)+`/search"`)
		w.get(to(one)+"/search?q=end").want(w, 200).has(w, to(one)+"/"+second)
		w.get(to(two)+"/"+second).want(w, 404)
		for _, bad := range []string{to("x"), to(strings.ToUpper(one)), to(first), to(one) + "/" + one, path + "/" + first + "/releases/" + one} {
			w.get(bad).want(w, 404)
		}
		// The cookie of a password opens the releases too.
		_, locked := w.share("project", project, fields{"show_releases": true, "password": "open sesame"})
		opened := w.send("POST", locked+"/releases/"+one, "password=open+sesame", "Content-Type: application/x-www-form-urlencoded").want(w, 303)
		if to := opened.Header.Get("Location"); to != locked+"/releases/"+one {
			t.Errorf("the password leads to %s", to)
		}
		cookie := opened.Header.Get("Set-Cookie")
		if !strings.Contains(cookie, "Path="+locked+";") {
			t.Errorf("the cookie is %s", cookie)
		}
		w.get(locked+"/releases/"+one, "Cookie: "+strings.SplitN(cookie, ";", 2)[0]).want(w, 200).has(w, "Below")
		w.get(locked+"/releases/"+one).want(w, 401)

		// Search engines list the share's own pages, and not those to which readers switch.
		_, listed := w.share("project", project, fields{"show_releases": true, "listed": true})
		w.get(listed).want(w, 200).lacks(w, "noindex")
		if got := w.get(listed+"/releases/"+one).want(w, 200).has(w, "noindex"); got.Header.Get("X-Robots-Tag") != "noindex" {
			t.Errorf("X-Robots-Tag %q", got.Header.Get("X-Robots-Tag"))
		}

		// A share of one release offers the others, and not the documents as they are now.
		_, fixed := w.share("project", project, fields{"show_releases": true, "release": one})
		w.get(fixed+"/"+first).want(w, 200).has(w, "frozen words", fixed+"/releases/"+two).lacks(w, "Latest changes")
	})
}

// D185: a page that the shown release does not have is a 404 that names the release, and leads to its first
// page and to the newest release. It is the same for a document that never existed.
func TestShare_APageThatIsNotInTheRelease(t *testing.T) {
	each(t, func(w *world) {
		project, first, second, _, one := released(w)
		two := w.make("projects/"+project+"/releases", fields{"name": "2.0"})
		_, path := w.share("project", project, fields{"show_releases": true})
		const unknown = "01a1e34f-23f9-7ed2-8fe7-6250b1904457"
		to := func(release string) string { return path + "/releases/" + release }
		// The newest release lacks the document that was deleted.
		missing := w.get(to(two)+"/"+second).want(w, 404).has(w, "<h1>This page is not in release 2.0</h1>", `href="`+to(two)+`"`).lacks(w, "The newest release", "Below", "PRESENT")
		if other := w.get(to(two)+"/"+unknown).want(w, 404); other.body != missing.body {
			t.Errorf("a document that never existed has another page: %s", other.body)
		}
		// An earlier release lacks a document that came later. The newest release has it.
		later := w.make("documents", fields{"title": "PRESENT later", "project_id": project})
		three := w.make("projects/"+project+"/releases", fields{"name": "3.0"})
		w.get(to(one)+"/"+later).want(w, 404).has(w, "This page is not in release 1.0 &lt;b&gt;", `href="`+to(one)+`"`, `href="`+to(three)+"/"+later+`"`, "<bdi>3.0</bdi>").lacks(w, "PRESENT")
		// Without switching there is no other release. Without a release, and for programs, nothing is shared there.
		_, fixed := w.share("project", project, fields{"release": one})
		w.get(fixed+"/"+later).want(w, 404).has(w, "This page is not in release 1.0", `href="`+fixed+`"`).lacks(w, "The newest release", "3.0")
		w.get(path+"/"+unknown).want(w, 404).has(w, "Nothing is shared here")
		w.get(fixed+"/"+later+"/raw").want(w, 404).has(w, "Nothing is shared here")
		w.get(fixed+"/"+project).want(w, 404).has(w, "Nothing is shared here")
		w.get(fixed+"/"+first).want(w, 200)
	})
}

// D185: a search in a release with much text says that it looked only at titles, and finds these.
func TestShare_SearchOfALargeRelease(t *testing.T) {
	run(t, func(w *world) {
		project := w.make("projects", fields{"name": "Large"})
		text := strings.Repeat("filler ", 149_000)
		for i := range 22 {
			w.make("documents", fields{"title": fmt.Sprint("Volume ", i), "project_id": project, "content": fmt.Sprint(i, " ", text)})
		}
		w.make("documents", fields{"title": "needle in a title", "project_id": project, "content": "needle"})
		w.make("projects/"+project+"/releases", fields{"name": "1"})
		_, path := w.share("project", project, fields{"release": "newest"})
		w.get(path+"/search?q=needle").want(w, 200).has(w, "needle in a title", "only the titles were searched")
		w.get(path+"/search?q=filler").want(w, 200).has(w, "Volume 0")
	})
}
