package publish_test

import (
	"fmt"
	"strings"
	"testing"
)

// handbooks makes a folder with folders and projects, shares it, and returns the path of the share
// with the ids of what is in it. Its reading order is a, b (in Deep), c (in First), d (in Loose).
func (w *world) handbooks() (path string, ids map[string]string) {
	w.Helper()
	ids = map[string]string{}
	folder := func(name string, in any, order int) {
		if in != nil {
			in = ids[in.(string)]
		}
		ids[name] = w.make("folders", fields{"name": name, "entity_type": "project", "parent_id": in, "sort_order": order})
	}
	project := func(name string, in any, order int) {
		if in != nil {
			in = ids[in.(string)]
		}
		ids[name] = w.make("projects", fields{"name": name, "folder_id": in, "sort_order": order, "description": "About " + name})
	}
	document := func(title, in, text string) {
		ids[title] = w.make("documents", fields{"title": title, "project_id": ids[in], "content": text})
	}
	folder("Site", nil, 0)
	folder("Empty", "Site", 1)
	folder("First", "Site", 2)
	folder("Deep", "First", 1)
	folder("Elsewhere", nil, 0)
	project("Deep guide", "Deep", 1)
	project("Blank", "Deep", 2)
	project("First guide", "First", 1)
	project("Loose", "Site", 1)
	project("Hidden", "Elsewhere", 1)
	document("a", "Deep guide", "heron")
	document("hidden", "Hidden", "a hidden heron")
	document("b", "Deep guide", "")
	document("c", "First guide", "To [a](document:"+ids["a"]+") and [hidden](document:"+ids["hidden"]+").")
	document("d", "Loose", "a grey heron")
	_, path = w.share("folder", ids["Site"])
	return path, ids
}

// D185a: a shared folder is one site: contents of its folders and projects, a navigation of all of
// them, the way to each page, and a reading order from the first document to the last.
func TestPage_OfAFolder(t *testing.T) {
	each(t, func(w *world) {
		path, ids := w.handbooks()
		at := func(name string) string { return path + "/" + ids[name] }
		home := w.get(path).want(w, 200).has(w, "<h1 dir=\"auto\">Site</h1>", at("First"), at("Loose"), "About Loose", `popovertarget="tree"`).lacks(w, "Hidden", "Elsewhere", "Breadcrumb")
		if strings.Index(home.body, at("First")) > strings.Index(home.body, at("Loose")) {
			w.Error("the folders do not come before the projects")
		}
		w.get(at("First")).want(w, 200).has(w, "<h1 dir=\"auto\">First</h1>", "Breadcrumb", at("Deep"), at("First guide"), `class="folder"`).lacks(w, "Hidden")
		w.get(at("Deep guide")).want(w, 200).has(w, "<h1 dir=\"auto\">Deep guide</h1>", "2 documents", `rel="next" href="`+at("a")+`"`).lacks(w, `rel="prev"`)
		w.get(at("Blank")).want(w, 200).has(w, "no documents", `rel="prev" href="`+at("b")+`"`, `rel="next" href="`+at("c")+`"`)
		// The reading order leads through all projects, and past those without documents.
		order := []string{"a", "b", "c", "d"}
		for i, name := range order {
			page := w.get(at(name)).want(w, 200).has(w, `href="`+at(name)+`" aria-current="page"`, `<a href="`+path+`" dir="auto">Site</a>`, "· Site</title>")
			if i > 0 {
				page.has(w, `rel="prev" href="`+at(order[i-1])+`"`)
			} else {
				page.lacks(w, `rel="prev"`)
			}
			if i+1 < len(order) {
				page.has(w, `rel="next" href="`+at(order[i+1])+`"`)
			} else {
				page.lacks(w, `rel="next"`)
			}
		}
		// A link to a document of another project works; one to what is not shared is text.
		w.get(at("c")).has(w, `href="`+at("a")+`"`, `class="gone"`).lacks(w, ids["hidden"])
		w.get(at("c")+"/raw").want(w, 200).has(w, "To [a]")
		w.get(path+"/raw").want(w, 200).has(w, "# Site\n", "[First](", at("First")+"/raw)", at("Loose")+"/raw)")
		w.get(at("Loose")+"/raw").want(w, 200).has(w, "# Loose\n\nAbout Loose\n\n- [d](", at("d")+"/raw)")
		w.get(at("Deep")+"/raw").want(w, 200).has(w, "# Deep\n", "[Deep guide](")
		// Everything outside is not there. Nor has the shared folder a second address.
		for _, name := range []string{"Hidden", "hidden", "Elsewhere", "Site"} {
			w.get(at(name)).want(w, 404)
			w.get(at(name)+"/raw").want(w, 404)
		}
		w.get(path+"?page=2").want(w, 404)
	})
}

// D185a: one search covers the site, and nothing outside of it.
func TestPage_SearchOfAFolder(t *testing.T) {
	each(t, func(w *world) {
		path, ids := w.handbooks()
		w.get(path+"/search?q=heron").want(w, 200).has(w, "2 documents", path+"/"+ids["a"], path+"/"+ids["d"], "Deep guide").lacks(w, "hidden", "Hidden")
		w.c.PATCH("/api/v1/projects/"+ids["Loose"], fields{"folder_id": nil}).Want(w.T, 200)
		w.get(path+"/search?q=heron").want(w, 200).has(w, "1 document<").lacks(w, ids["d"])
		w.c.POST("/api/v1/folders/"+ids["Deep"]+"/move", fields{"parent_id": nil}).Want(w.T, 200)
		w.get(path+"/search?q=heron").want(w, 200).has(w, "No documents match your search")
	})
}

// D185a: what leaves the folder is gone with the next request, from every page, and what enters it is
// shown; no cache serves the previous page.
func TestPage_OfAFolderFollowsMoves(t *testing.T) {
	each(t, func(w *world) {
		path, ids := w.handbooks()
		at := func(name string) string { return path + "/" + ids[name] }
		gone := func(names ...string) {
			w.Helper()
			for _, name := range names {
				w.get(at(name)).want(w, 404)
				w.get(path).lacks(w, ids[name])
				w.get(at("c")).want(w, 200).lacks(w, ids[name])
			}
		}
		shown := func(names ...string) {
			w.Helper()
			for _, name := range names {
				w.get(at(name)).want(w, 200)
				w.get(at(name)).want(w, 200) // from the cache
			}
		}
		shown("a", "Deep", "Deep guide", "d", "Loose", "c")
		w.c.POST("/api/v1/projects/"+ids["Loose"]+"/move", fields{"folder_id": ids["Elsewhere"]}).Want(w.T, 200)
		gone("Loose", "d")
		w.c.PATCH("/api/v1/documents/"+ids["d"], fields{"project_id": ids["Blank"]}).Want(w.T, 200)
		shown("d")
		w.c.POST("/api/v1/folders/"+ids["Deep"]+"/move", fields{"parent_id": ids["Elsewhere"]}).Want(w.T, 200)
		gone("Deep", "Deep guide", "a", "b", "d")
		w.c.POST("/api/v1/folders/"+ids["Elsewhere"]+"/move", fields{"parent_id": ids["First"]}).Want(w.T, 400) // too deep
		w.c.POST("/api/v1/folders/"+ids["Deep"]+"/move", fields{"parent_id": ids["Site"]}).Want(w.T, 200)
		shown("Deep", "a", "d")
		w.c.DELETE("/api/v1/folders/"+ids["Deep"]).Want(w.T, 204)
		gone("Deep", "Deep guide", "a", "d")
		w.c.DELETE("/api/v1/folders/"+ids["Site"]).Want(w.T, 204)
		w.get(path).want(w, 404)
		w.get(at("c")).want(w, 404)
	})
}

// D185a: the password of a share of a folder closes all its pages.
func TestPage_OfAFolderWithAPassword(t *testing.T) {
	run(t, func(w *world) {
		_, ids := w.handbooks()
		_, path := w.share("folder", ids["Site"], fields{"password": "open sesame"})
		for _, at := range []string{"", "/raw", "/" + ids["First"], "/" + ids["Loose"], "/" + ids["d"], "/" + ids["d"] + "/raw", "/search?q=heron", "/" + ids["hidden"]} {
			w.get(path+at).want(w, 401).lacks(w, "Site", "heron", "Loose")
		}
		cookie := cookieOf(w.send("POST", path, "password=open+sesame").want(w, 303))
		w.get(path+"/"+ids["d"], cookie).want(w, 200).has(w, "grey heron")
	})
}

// D185a: a page of a large site shows a part of each level, with links to the rest, and stays small.
func TestPage_OfALargeFolder(t *testing.T) {
	each(t, func(w *world) {
		site := w.make("folders", fields{"name": "Site", "entity_type": "project"})
		var operations []fields
		flush := func() {
			if len(operations) > 0 {
				w.c.POST("/api/v1/batch", fields{"operations": operations}).Want(w.T, 200)
			}
			operations = nil
		}
		for i := range 600 {
			operations = append(operations, fields{"action": "create", "resource_type": "project", "body": fields{"name": fmt.Sprintf("Project %03d", i), "folder_id": site}})
			if len(operations) == 100 {
				flush()
			}
		}
		flush()
		_, path := w.share("folder", site)
		all := w.c.GET("/api/v1/projects?folder_id="+site+"&limit=1&offset=450").Want(w.T, 200).IDs(w.T)
		first, last := w.make("documents", fields{"title": "In the middle", "project_id": all[0]}), ""
		end := w.c.GET("/api/v1/projects?folder_id="+site+"&limit=1&offset=599").Want(w.T, 200).IDs(w.T)[0]
		last = w.make("documents", fields{"title": "At the end", "project_id": end})
		w.get(path).want(w, 200).has(w, "Project 000", "Project 199", path+"?page=2", "More in Site").lacks(w, "Project 200", "Earlier in Site")
		w.get(path+"?page=3").want(w, 200).has(w, "Project 400", "Project 599", "Earlier in Site").lacks(w, "Project 399", "More in Site")
		w.get(path+"?page=4").want(w, 404)
		page := w.get(path+"/"+first).want(w, 200).has(w, "Project 450", "Project 400", "Earlier in Site", `rel="next" href="`+path+"/"+last+`"`).lacks(w, "Project 399", `rel="prev"`)
		if len(page.body) > 60_000 {
			w.Errorf("the page has %d bytes", len(page.body))
		}
		w.get(path+"/"+last).want(w, 200).has(w, `rel="prev" href="`+path+"/"+first+`"`)
	})
}
