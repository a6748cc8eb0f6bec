package model

import (
	"cmp"
	"slices"
	"time"
)

var (
	folderFields = rules{"name": name(200), "color": orNull(isColor), "sort_order": isInt32, "external_id": orNull(name(200))}
	newFolder    = rules{"name": name(200), "color": orNull(isColor), "sort_order": isInt32, "external_id": orNull(name(200)),
		"entity_type": is("project", "branding"), "parent_id": orNull(isIDValue)}
)

const defaultColor = "#6b7280"

func init() {
	handle("GET", "/api/v1/folders", operation{need: projectsRead, act: (*model).listFolders,
		params: paging(params{"entity_type": oneOf("project", "branding"), "parent_id": idOrNull, "sort": sorts,
			"q": isQuery, "external_id": isExternalID, "updated_since": isMoment})})
	handle("POST", "/api/v1/folders", operation{need: projectsWrite, fields: newFolder, must: []string{"name", "entity_type"}, act: (*model).createFolder})
	handle("GET", "/api/v1/folders/{}", operation{need: projectsRead, act: (*model).getFolder})
	handle("PATCH", "/api/v1/folders/{}", operation{need: projectsWrite, fields: folderFields, some: true, act: (*model).changeFolder})
	handle("DELETE", "/api/v1/folders/{}", operation{need: projectsWrite, act: (*model).deleteFolder})
	handle("POST", "/api/v1/folders/{}/move", operation{need: projectsWrite, fields: rules{"parent_id": orNull(isIDValue)},
		must: []string{"parent_id"}, act: (*model).moveFolder})
}

func (m *model) listFolders(c *call) answer {
	by := c.query["sort"]
	if by == "" {
		by = "sort_order"
	}
	things := c.filtered(sorted(m.folders, by, c.query["order"] == "desc"), "parent_id")
	if _, sent := c.query["entity_type"]; sent {
		things = c.filtered(things, "entity_type")
	}
	return c.shown(m, "folder", c.referred(c.searched(things, "name")))
}

// depth is the level, 1 at the root.
func (m *model) depth(f *thing) int {
	parent, _ := f.own["parent_id"].(string)
	if parent == "" {
		return 1
	}
	return 1 + m.depth(find(m.folders, parent))
}

// height is how many levels there are, with its own.
func (m *model) height(f *thing) int {
	most := 0
	for _, child := range m.children(f) {
		most = max(most, m.height(child))
	}
	return 1 + most
}

func (m *model) children(f *thing) []*thing {
	return slices.DeleteFunc(sorted(m.folders, "sort_order", false), func(x *thing) bool { return x.own["parent_id"] != f.id })
}

// under judges a folder, or a tree, of that type and height below a parent (D31, D32).
func (m *model) under(parent, entity any, height int) answer {
	if parent == nil {
		return answer{}
	}
	p := find(m.folders, parent.(string))
	switch {
	case p == nil:
		return notFound
	case p.own["entity_type"] != entity, m.depth(p)+height > m.maxDepth:
		return invalid
	}
	return answer{}
}

// allows judges the plan (D33).
func (m *model) allows(entity any) bool { return m.plan == "business" || entity == "project" }

func (m *model) createFolder(c *call) answer {
	own := record{"parent_id": nil, "color": nil, "sort_order": 0.0, "external_id": nil}
	set(own, c.in)
	if own["color"] == nil {
		own["color"] = defaultColor
	}
	if a := m.under(own["parent_id"], own["entity_type"], 1); !a.ok() {
		return a
	}
	if !free(m.folders, own["external_id"], "") {
		return taken
	}
	if !m.allows(own["entity_type"]) {
		return planRequired
	}
	f := m.add("f", own)
	m.folders = append(m.folders, f)
	m.emit("folder.created", f.id, m.show("folder", f))
	return created(f, m.show("folder", f), "/api/v1/folders/")
}

func (m *model) getFolder(c *call) answer {
	f := find(m.folders, c.id)
	if f == nil {
		return notFound
	}
	return resource(200, f, m.show("folder", f))
}

func (m *model) changeFolder(c *call) answer {
	f := find(m.folders, c.id)
	switch {
	case f == nil:
		return notFound
	case !f.matches(c.request.match):
		return stale
	case !free(m.folders, c.in["external_id"], f.id):
		return taken
	case !m.allows(f.own["entity_type"]):
		return planRequired
	}
	if v, sent := c.in["color"]; sent && v == nil {
		c.in["color"] = defaultColor
	}
	m.change("folder", f, c.in)
	return resource(200, f, m.show("folder", f))
}

func (m *model) moveFolder(c *call) answer {
	f := find(m.folders, c.id)
	if f == nil {
		return notFound
	}
	if a := inOrder(m.movable(f, c.in["parent_id"]), f.matches(c.request.match)); !a.ok() {
		return a
	}
	if !m.allows(f.own["entity_type"]) {
		return planRequired
	}
	m.change("folder", f, c.in)
	return resource(200, f, m.show("folder", f))
}

// movable judges another parent of a folder (D32).
func (m *model) movable(f *thing, parent any) answer {
	if slices.ContainsFunc(m.tree(f), func(x *thing) bool { return x.id == parent }) {
		return invalid
	}
	return m.under(parent, f.own["entity_type"], m.height(f))
}

// tree is the folder and all below it, level by level.
func (m *model) tree(f *thing) []*thing {
	tree := []*thing{f}
	for i := 0; i < len(tree); i++ {
		tree = append(tree, m.children(tree[i])...)
	}
	return tree
}

// leavesUp is the tree level by level from below, each level in the order of creation.
func (m *model) leavesUp(f *thing) []*thing {
	tree, depth := m.tree(f), map[*thing]int{}
	for _, x := range tree {
		for _, child := range m.children(x) {
			depth[child] = depth[x] + 1
		}
	}
	slices.SortFunc(tree, func(a, b *thing) int {
		return cmp.Or(cmp.Compare(depth[b], depth[a]), cmp.Compare(a.number, b.number))
	})
	return tree
}

// deleteFolder removes the tree from its leaves up. The contract leaves the order of the events open; that of both
// engines is: level by level from below, a folder's shares and projects before it.
func (m *model) deleteFolder(c *call) answer {
	f := find(m.folders, c.id)
	if f == nil {
		return notFound
	}
	if !f.matches(c.request.match) {
		return stale
	}
	for _, x := range m.leavesUp(f) {
		last := m.show("folder", x) // as it was
		m.unshareResource(x.id)
		in := m.projectsIn(x.id)
		if len(in) > 0 {
			m.step = m.together()
		}
		for _, p := range in {
			m.change("project", p, record{"folder_id": nil})
		}
		m.step = time.Time{}
		m.unfileBrandings(x.id)
		m.emit("folder.deleted", x.id, last)
		m.folders = without(m.folders, x)
	}
	return noContent
}
