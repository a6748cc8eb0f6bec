package model

import (
	"slices"
)

var (
	documentsRead  = []string{"documents:read"}
	documentsWrite = []string{"documents:write"}
	documentFields = rules{"title": name(200), "description": orNull(upTo(0, 2000)), "project_id": orNull(isIDValue), "parent_id": orNull(isIDValue), "sort_order": isOrder, "content": orNull(isContent),
		"external_id": orNull(name(200)), "url": orNull(isWeb), "metadata": orNull(isMetadataPatch)}
)

func init() {
	handle("GET", "/api/v1/documents", operation{need: documentsRead, before: (*model).sortsDeleted, act: (*model).listDocuments,
		params: paging(params{"project_id": idOrNull, "parent_id": idOrNull, "q": isQuery, "sort": oneOf("created_at", "updated_at", "title", "sort_order", "deleted_at"),
			"external_id": isExternalID, "updated_since": isMoment, "deleted": oneOf("true", "false")})})
	handle("POST", "/api/v1/documents", operation{need: documentsWrite, fields: whole(documentFields), must: []string{"title"}, act: (*model).createDocument})
	handle("GET", "/api/v1/documents/{}", operation{need: documentsRead, act: (*model).getDocument})
	handle("PATCH", "/api/v1/documents/{}", operation{need: documentsWrite, fields: documentFields, some: true, act: (*model).changeDocument})
	handle("DELETE", "/api/v1/documents/{}", operation{need: documentsWrite, act: (*model).deleteDocument})
	handle("POST", "/api/v1/documents/{}/move", operation{need: documentsWrite, before: (*model).movesOnce, act: (*model).moveDocument,
		fields: rules{"project_id": orNull(isIDValue), "parent_id": orNull(isIDValue), "before_id": orNull(isIDValue), "after_id": orNull(isIDValue)}})
	handle("GET", "/api/v1/projects/{}/tree", operation{need: []string{"projects:read", "documents:read"}, act: (*model).getTree})
	handle("POST", "/api/v1/documents/{}/restore", operation{need: documentsWrite, act: (*model).restoreDocument})
}

// sortsDeleted refuses an order that only deleted documents have (D85).
func (m *model) sortsDeleted(c *call) answer {
	if c.query["sort"] == "deleted_at" && c.query["deleted"] != "true" {
		return invalid
	}
	return answer{}
}

func (m *model) listDocuments(c *call) answer {
	deleted := c.query["deleted"] == "true"
	things := inOrderOf(m.documents, c.query["sort"], c.query["order"] == "desc")
	things = slices.DeleteFunc(things, func(d *thing) bool { return d.deleted != deleted })
	things = c.referred(c.searched(c.filtered(c.filtered(things, "project_id"), "parent_id"), "title", "description"))
	if !deleted {
		return c.shown(m, "document", things)
	}
	items := make([]any, len(things))
	for i, d := range things {
		shown := m.show("document", d)
		shown["deleted_at"] = stamp(d.gone)
		items[i] = shown
	}
	return c.page(items)
}

func (m *model) createDocument(c *call) answer {
	own := record{"description": nil, "project_id": nil, "parent_id": nil, "external_id": nil, "url": nil, "metadata": nil, "version": 1.0}
	set(own, described(record{"content": ""}))
	set(own, described(c.in))
	if !m.hasProject(own["project_id"]) {
		return notFound
	}
	if a := m.mayBe("", 0, own["project_id"], own["parent_id"]); !a.ok() {
		return a
	}
	if !free(m.documents, own["external_id"], "") {
		return taken
	}
	d := m.add("d", own)
	if _, sent := c.in["sort_order"]; !sent {
		own["sort_order"] = float64(d.number) * 1048576
	}
	m.documents = append(m.documents, d)
	d.keep(contentOf(c.in, ""), c.key)
	m.emit("document.created", d.id, m.show("document", d))
	return created(d, m.show("document", d), "/api/v1/documents/")
}

func (m *model) hasProject(id any) bool { return id == nil || find(m.projects, id.(string)) != nil }

func (m *model) getDocument(c *call) answer {
	d := find(m.documents, c.id)
	if d == nil {
		return notFound
	}
	body := m.show("document", d)
	body["content"] = d.content()
	return resource(200, d, body)
}

func (m *model) changeDocument(c *call) answer {
	d := find(m.documents, c.id)
	switch {
	case d == nil, !m.hasProject(c.in["project_id"]):
		return notFound
	}
	placed, a := m.place(d, c.in)
	if a := inOrder(a, d.matches(c.request.match)); !a.ok() {
		return a
	}
	in := merged(d, placed)
	switch {
	case !small(in["metadata"]):
		return invalid
	case !free(m.documents, in["external_id"], d.id):
		return taken
	}
	m.rewriteTree(d, in, c.key)
	return resource(200, d, m.show("document", d))
}

// rewriteTree is rewrite for a document that may have got another project, with everything below it.
func (m *model) rewriteTree(d *thing, in record, by *key) {
	was := d.own["project_id"]
	below := m.below(d)
	m.rewrite(d, in, by)
	if d.own["project_id"] != was {
		m.carry(below, d.own["project_id"])
	}
}

func (m *model) deleteDocument(c *call) answer {
	d := find(m.documents, c.id)
	switch {
	case d == nil:
		return notFound
	case !d.matches(c.request.match):
		return stale
	}
	tree := append([]*thing{d}, m.below(d)...)
	if d.deletion = 0; len(tree) > 1 {
		m.number++
		d.deletion = -m.number
	}
	for _, x := range slices.Backward(tree) { // those below first
		m.emit("document.deleted", x.id, m.show("document", x))
		x.deleted, x.gone = true, m.now
		if x != d {
			x.deletion = -d.deletion
		}
	}
	return noContent
}

func (m *model) restoreDocument(c *call) answer {
	i := slices.IndexFunc(m.documents, func(d *thing) bool { return d.id == c.id })
	if i < 0 {
		return notFound
	}
	d := m.documents[i]
	if d.deleted {
		m.restoreTree(d, c.key)
	}
	return resource(200, d, m.show("document", d))
}

// documentsOf returns those in a project.
func (m *model) documentsOf(project string) []*thing {
	return slices.DeleteFunc(slices.Clone(m.documents), func(d *thing) bool { return d.deleted || d.own["project_id"] != project })
}
