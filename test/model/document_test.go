package model

import (
	"maps"
	"slices"
)

var (
	documentsRead  = []string{"documents:read"}
	documentsWrite = []string{"documents:write"}
	documentFields = rules{"title": name(200), "description": orNull(upTo(0, 2000)), "project_id": orNull(isIDValue),
		"external_id": orNull(name(200)), "url": orNull(isWeb), "metadata": orNull(isMetadataPatch)}
)

func init() {
	handle("GET", "/api/v1/documents", operation{need: documentsRead, act: (*model).listDocuments,
		params: paging(params{"project_id": idOrNull, "q": isQuery, "sort": oneOf("created_at", "updated_at", "title"),
			"external_id": isExternalID, "updated_since": isMoment})})
	handle("POST", "/api/v1/documents", operation{need: documentsWrite, fields: whole(documentFields), must: []string{"title"}, act: (*model).createDocument})
	handle("GET", "/api/v1/documents/{}", operation{need: documentsRead, act: (*model).getDocument})
	handle("PATCH", "/api/v1/documents/{}", operation{need: documentsWrite, fields: documentFields, some: true, act: (*model).changeDocument})
	handle("DELETE", "/api/v1/documents/{}", operation{need: documentsWrite, act: (*model).deleteDocument})
	handle("POST", "/api/v1/documents/{}/restore", operation{need: documentsWrite, act: (*model).restoreDocument})
}

func (m *model) listDocuments(c *call) answer {
	things := c.filtered(sorted(m.documents, c.query["sort"], c.query["order"] == "desc"), "project_id")
	return c.shown(m, "document", c.referred(c.searched(things, "title", "description")))
}

func (m *model) createDocument(c *call) answer {
	own := record{"description": nil, "project_id": nil, "external_id": nil, "url": nil, "metadata": nil,
		"version": 1.0, "content_bytes": 0.0, "content_sha256": emptySHA256}
	set(own, c.in)
	if !m.hasProject(own["project_id"]) {
		return notFound
	}
	if !free(m.documents, own["external_id"], "") {
		return taken
	}
	d := m.add("d", own)
	m.documents = append(m.documents, d)
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
	body["content"] = ""
	return resource(200, d, body)
}

// emptySHA256 is the hash of the empty text, the only one that the documents here have.
const emptySHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// versioned adds the number of the version that a change of the title makes (D82).
func versioned(d *thing, in record) record {
	title, sent := in["title"]
	if !sent || title == d.own["title"] {
		return in
	}
	out := maps.Clone(in)
	out["version"] = d.own["version"].(float64) + 1
	return out
}

func (m *model) changeDocument(c *call) answer {
	d := find(m.documents, c.id)
	switch {
	case d == nil, !m.hasProject(c.in["project_id"]):
		return notFound
	case !d.matches(c.request.match):
		return stale
	}
	in := merged(d, c.in)
	switch {
	case !small(in["metadata"]):
		return invalid
	case !free(m.documents, in["external_id"], d.id):
		return taken
	}
	m.change("document", d, versioned(d, in))
	return resource(200, d, m.show("document", d))
}

func (m *model) deleteDocument(c *call) answer {
	d := find(m.documents, c.id)
	switch {
	case d == nil:
		return notFound
	case !d.matches(c.request.match):
		return stale
	}
	m.emit("document.deleted", d.id, m.show("document", d))
	d.deleted = true
	return noContent
}

func (m *model) restoreDocument(c *call) answer {
	i := slices.IndexFunc(m.documents, func(d *thing) bool { return d.id == c.id })
	if i < 0 {
		return notFound
	}
	d := m.documents[i]
	if d.deleted {
		d.deleted = false
		m.touch(d)
		m.emit("document.created", d.id, m.show("document", d))
	}
	return resource(200, d, m.show("document", d))
}

// documentsOf returns those in a project.
func (m *model) documentsOf(project string) []*thing {
	return slices.DeleteFunc(slices.Clone(m.documents), func(d *thing) bool { return d.deleted || d.own["project_id"] != project })
}
