package model

import (
	"maps"
	"slices"
	"strings"
	"time"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// stepNoun makes the steps about projects, folders and documents.
func (r *run) stepNoun(what string) bool {
	switch what {
	case "create project":
		body := r.fields(r.projectPools())
		body["name"] = r.name(200)()
		r.post("/api/v1/projects", body)
	case "change project":
		r.change("PATCH", r.projectPath(), r.fields(r.projectPools()))
	case "move project":
		r.change("POST", r.projectPath()+"/move", r.target("folder_id"))
	case "delete project":
		r.change("DELETE", r.projectPath(), nil)
	case "get project":
		r.get(r.projectPath())
	case "list projects":
		r.get("/api/v1/projects", r.parameters(map[string][]string{"folder_id": r.filter(r.m.folders), "q": queries,
			"external_id":   externalIDs,
			"updated_since": {r.later(-time.Second), r.later(0), "soon"}, "sort": {"name", "sort_order", "created_at", "updated_at", "colour"}})...)
	case "create folder":
		r.post("/api/v1/folders", r.newFolderBody())
	case "change folder":
		r.change("PATCH", r.folderPath(), r.fields(map[string]func() any{"name": r.name(200), "color": r.color(), "sort_order": r.order()}))
	case "move folder":
		r.change("POST", r.folderPath()+"/move", r.target("parent_id"))
	case "delete folder":
		r.change("DELETE", r.folderPath(), nil)
	case "get folder":
		r.get(r.folderPath())
	case "list folders":
		r.get("/api/v1/folders", r.parameters(map[string][]string{"parent_id": r.filter(r.m.folders),
			"q": queries, "external_id": externalIDs, "updated_since": {r.later(-time.Second), r.later(0), "soon"},
			"entity_type": {"project", "branding", "document"}, "sort": {"name", "sort_order", "created_at", "updated_at", "colour"}})...)
	case "put project":
		r.putThing("/api/v1/projects", r.fields(r.projectPools()))
	case "put folder":
		r.putThing("/api/v1/folders", r.newFolderBody())
	default:
		return r.stepDocument(what)
	}
	return true
}

// newFolderBody is mostly of a folder in another one of its type: so it comes to the deepest level.
func (r *run) newFolderBody() record {
	body := r.fields(map[string]func() any{"color": r.color(), "sort_order": r.order()})
	body["name"] = r.name(200)()
	body["entity_type"] = r.value("entity_type", []any{"project", "branding"}, nil, "folder", 1.0)()
	switch {
	case !r.chance("at the root", 3):
		body["parent_id"] = r.id(r.m.folders, "{xf1}")
		if p := find(r.m.folders, body["parent_id"].(string)); p != nil && !r.chance("of any type", 8) {
			body["entity_type"] = p.own["entity_type"]
		}
	case r.chance("said so", 3):
		body["parent_id"] = nil
	}
	return body
}

func (r *run) stepDocument(what string) bool {
	pools := map[string]func() any{"title": r.name(200), "description": r.text(0), "project_id": r.reference(r.m.projects, "{xp1}"),
		"parent_id": r.reference(r.m.documents, "{xd1}"), "sort_order": r.value("sort_order", []any{0.0, 1.0, 2.0, 1.0, 1048576.0, -1.0, 9007199254740991.0}, nil, 9007199254740992.0, 1.5, "1"),
		"content": r.value("content", anys(texts), 5.0, []any{}, "nul\x00"), "external_id": r.externalID(), "url": r.web(), "metadata": r.metadata()}
	switch what {
	case "create document":
		body := r.fields(pools)
		body["title"] = r.name(200)()
		r.post("/api/v1/documents", body)
	case "change document":
		r.change("PATCH", r.documentPath(), r.fields(pools))
	case "delete document":
		r.change("DELETE", r.documentPath(), nil)
	case "put document":
		r.putThing("/api/v1/documents", r.fields(pools))
	case "purge document":
		r.change("DELETE", r.documentPath()+"/permanent", nil)
	case "move document":
		place := map[string]func() any{"project_id": pools["project_id"], "parent_id": pools["parent_id"], "before_id": pools["parent_id"], "after_id": pools["parent_id"]}
		body := r.fields(place)
		if len(body) == 4 || r.chance("beside it alone", 2) {
			body = record{draw(r, "side", "before_id", "after_id"): pools["parent_id"]()}
		}
		r.change("POST", r.documentPath()+"/move", body)
	case "get tree":
		r.get(r.projectPath() + "/tree")
	case "restore document":
		r.change("POST", r.documentPath()+"/restore", nil)
	case "get document":
		r.get(r.documentPath())
	case "list documents":
		r.get("/api/v1/documents", r.parameters(map[string][]string{"project_id": r.filter(r.m.projects), "parent_id": r.filter(r.m.documents), "q": queries,
			"external_id": externalIDs, "updated_since": {r.later(-time.Second), r.later(0), "soon"},
			"deleted": {"true", "true", "false", "maybe"}, "sort": {"title", "created_at", "updated_at", "sort_order", "sort_order", "deleted_at", "name"}})...)
	default:
		return r.stepVersion(what)
	}
	return true
}

// texts are what documents hold: with and without an end of the last line, and with lines in common.
var texts = []string{pages[0], pages[1], pages[3], "", "one\n", "one", "one\ntwo\nthree\n", "one\ntwo and a half\nthree\n", "three\n\n\none\n", "# Ünï\r\n日本語\t<b>\n--- x\n+++ y"}

// stepVersion makes the steps about texts and their versions.
func (r *run) stepVersion(what string) bool {
	switch what {
	case "put content":
		q := request{as: r.as(), method: "PUT", path: r.documentPath() + "/content", text: draw(r, "text", texts...)}
		if r.chance("a bad text", 12) {
			q.text = draw(r, "bad text", "a\x00b", "a\xff", strings.Repeat("x", 1<<20+1))
		}
		r.alter(q)
	case "get content":
		r.get(r.documentPath()+"/content", r.some("format", "markdown", "", "pdf")...)
	case "list versions":
		r.get(r.documentPath()+"/versions", r.parameters(nil)...)
	case "get version":
		r.get(r.versionPath())
	case "diff versions":
		r.get(r.versionPath()+"/diff", r.some("to", "1", "2", "3", "0", "x")...)
	case "restore version":
		r.change("POST", r.versionPath()+"/restore", nil)
	default:
		return false
	}
	return true
}

// versionPath is that of a version of some document, mostly one that is there.
func (r *run) versionPath() string {
	return r.documentPath() + "/versions/" + draw(r, "version", "1", "2", "1", "3", "1000", "0", "x")
}

// some draws one of the values of a parameter, or leaves it out.
func (r *run) some(name string, values ...string) []string {
	if !r.chance("ask "+name, 2) {
		return nil
	}
	return []string{name + "=" + draw(r, name, values...)}
}

func (r *run) projectPath() string  { return "/api/v1/projects/" + r.id(r.m.projects, "{xp1}") }
func (r *run) folderPath() string   { return "/api/v1/folders/" + r.id(r.m.folders, "{xf1}") }
func (r *run) documentPath() string { return "/api/v1/documents/" + r.id(r.m.documents, "{xd1}") }

func (r *run) projectPools() map[string]func() any {
	return map[string]func() any{"name": r.name(200), "description": r.text(0), "icon": r.text(1), "color": r.color(),
		"folder_id": r.reference(r.m.folders, "{xf1}"), "sort_order": r.order(),
		"visibility":  r.value("visibility", []any{"private"}, "public", nil),
		"external_id": r.externalID(), "url": r.web(), "metadata": r.metadata(),
		"review": r.value("review", []any{nil, nil, record{"approvals": 1.0}}, record{"approvals": 0.0}, record{"approvals": 4.0}, record{"approvals": "1"}, 1.0, true)}
}

// target is the body of a move; the field is missing now and then.
func (r *run) target(field string) record {
	if r.chance("no target", 20) {
		return record{"elsewhere": 1.0}
	}
	return record{field: r.reference(r.m.folders, "{xf1}")()}
}

// filter lists what a list may be narrowed to.
func (r *run) filter(things []*thing) []string {
	out := []string{"null"}
	for _, t := range things {
		out = append(out, t.id)
	}
	return append(out, unknown, "nonsense")
}

var externalIDs = []string{"one", "two", "wiki:3 ä", "", strings.Repeat("x", 201)}

func (r *run) externalID() func() any {
	return r.value("external_id", []any{"one", "two", "wiki:3 ä", nil}, "", 5.0, strings.Repeat("x", 201))
}

func (r *run) web() func() any {
	return r.value("url", []any{"https://example.com/a", nil}, "javascript:x", "", 5.0)
}

func (r *run) metadata() func() any {
	return r.value("metadata", []any{record{"a": "1"}, record{"b": "2", "a": "3"}, record{}, record{"a": nil}, nil},
		record{"a b": "x"}, record{"a": 1.0}, []any{}, "x")
}

// putThing sends a PUT by an external id, now and then under a condition.
func (r *run) putThing(path string, body record) {
	q := r.withBody(request{as: r.as(), method: "PUT", path: path}, body)
	if !r.chance("no external id", 20) {
		q.query = []string{"external_id=" + encoded(draw(r, "external id", externalIDs...))}
	}
	if r.chance("conditional", 4) {
		q.match = draw(r, "match", "*", "0 nothing")
	}
	r.send(q)
}
