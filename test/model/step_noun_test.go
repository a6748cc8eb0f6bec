package model

import (
	"maps"
	"slices"
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
			"sort": {"name", "sort_order", "created_at", "updated_at", "colour"}})...)
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
			"entity_type": {"project", "branding", "document"}, "sort": {"name", "sort_order", "created_at", "updated_at", "colour"}})...)
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
	pools := map[string]func() any{"title": r.name(200), "description": r.text(0), "project_id": r.reference(r.m.projects, "{xp1}")}
	switch what {
	case "create document":
		body := r.fields(pools)
		body["title"] = r.name(200)()
		r.post("/api/v1/documents", body)
	case "change document":
		r.change("PATCH", r.documentPath(), r.fields(pools))
	case "delete document":
		r.change("DELETE", r.documentPath(), nil)
	case "restore document":
		r.change("POST", r.documentPath()+"/restore", nil)
	case "get document":
		r.get(r.documentPath())
	case "list documents":
		r.get("/api/v1/documents", r.parameters(map[string][]string{"project_id": r.filter(r.m.projects), "q": queries,
			"sort": {"title", "created_at", "updated_at", "name"}})...)
	default:
		return false
	}
	return true
}

func (r *run) projectPath() string  { return "/api/v1/projects/" + r.id(r.m.projects, "{xp1}") }
func (r *run) folderPath() string   { return "/api/v1/folders/" + r.id(r.m.folders, "{xf1}") }
func (r *run) documentPath() string { return "/api/v1/documents/" + r.id(r.m.documents, "{xd1}") }

func (r *run) projectPools() map[string]func() any {
	return map[string]func() any{"name": r.name(200), "description": r.text(0), "icon": r.text(1), "color": r.color(),
		"folder_id": r.reference(r.m.folders, "{xf1}"), "sort_order": r.order(),
		"visibility": r.value("visibility", []any{"private"}, "public", nil)}
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
