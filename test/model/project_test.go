package model

import (
	"cmp"
	"slices"
	"time"
)

var (
	projectsRead  = []string{"projects:read"}
	projectsWrite = []string{"projects:write"}

	projectFields = rules{"name": name(200), "description": orNull(upTo(0, 2000)), "icon": orNull(upTo(1, 100)),
		"color": orNull(isColor), "folder_id": orNull(isIDValue), "sort_order": isInt32, "visibility": is("private"),
		"external_id": orNull(name(200)), "url": orNull(isWeb), "metadata": orNull(isMetadataPatch), "review": isReview}
	sorts = oneOf("sort_order", "name", "created_at", "updated_at")
)

func init() {
	handle("GET", "/api/v1/projects", operation{need: projectsRead, act: (*model).listProjects,
		params: paging(params{"folder_id": idOrNull, "q": isQuery, "sort": sorts, "external_id": isExternalID, "updated_since": isMoment})})
	handle("POST", "/api/v1/projects", operation{need: projectsWrite, fields: whole(projectFields), must: []string{"name"}, act: (*model).createProject})
	handle("GET", "/api/v1/projects/{}", operation{need: projectsRead, act: (*model).getProject})
	handle("PATCH", "/api/v1/projects/{}", operation{need: projectsWrite, fields: projectFields, some: true, act: (*model).changeProject})
	handle("DELETE", "/api/v1/projects/{}", operation{need: projectsWrite, act: (*model).deleteProject})
	handle("POST", "/api/v1/projects/{}/move", operation{need: projectsWrite, fields: rules{"folder_id": orNull(isIDValue)},
		must: []string{"folder_id"}, act: (*model).changeProject})
}

func (m *model) listProjects(c *call) answer {
	by := c.query["sort"]
	if by == "" {
		by = "sort_order"
	}
	things := c.filtered(sorted(m.projects, by, c.query["order"] == "desc"), "folder_id")
	return c.shown(m, "project", c.referred(c.searched(things, "name", "description")))
}

// mayHold judges the folder of a project (D26).
func (m *model) mayHold(folder any) answer {
	if folder == nil {
		return answer{}
	}
	f := find(m.folders, folder.(string))
	switch {
	case f == nil:
		return notFound
	case f.own["entity_type"] != "project":
		return invalid
	}
	return answer{}
}

func (m *model) createProject(c *call) answer {
	own := record{"description": nil, "icon": nil, "color": nil, "folder_id": nil, "sort_order": 0.0, "visibility": "private", "review": nil,
		"external_id": nil, "url": nil, "metadata": nil}
	set(own, c.in)
	if a := m.mayHold(own["folder_id"]); !a.ok() {
		return a
	}
	if !free(m.projects, own["external_id"], "") {
		return taken
	}
	if a := c.mayReview(nil); !a.ok() {
		return a
	}
	p := m.add("p", own)
	m.projects = append(m.projects, p)
	m.emit("project.created", p.id, m.show("project", p))
	return created(p, m.show("project", p), "/api/v1/projects/")
}

// set takes over the fields of in.
func set(own, in record) {
	for name, v := range in {
		own[name] = v
	}
}

func created(t *thing, body record, path string) answer {
	a := resource(201, t, body)
	a.location = path + t.id
	return a
}

func (m *model) getProject(c *call) answer {
	p := find(m.projects, c.id)
	if p == nil {
		return notFound
	}
	body := m.show("project", p)
	documents := []any{}
	for _, d := range sorted(m.documentsOf(p.id), "updated_at", true) {
		entry := m.show("document", d)
		delete(entry, "project_id")
		delete(entry, "parent_id")
		delete(entry, "sort_order")
		delete(entry, "url")
		delete(entry, "metadata")
		documents = append(documents, entry)
	}
	body["documents"] = documents[:min(100, len(documents))]
	return resource(200, p, body)
}

func (m *model) changeProject(c *call) answer {
	p := find(m.projects, c.id)
	if p == nil {
		return notFound
	}
	folder := m.mayHold(c.in["folder_id"])
	if a := inOrder(folder, p.matches(c.request.match)); !a.ok() {
		return a
	}
	in := merged(p, c.in)
	switch {
	case !small(in["metadata"]):
		return invalid
	case !free(m.projects, in["external_id"], p.id):
		return taken
	}
	if a := c.mayReview(p.own["review"]); !a.ok() {
		return a
	}
	m.change("project", p, in)
	return resource(200, p, m.show("project", p))
}

// inOrder puts 404 before 412, and that before a 400 that needs the stored state (D11).
func inOrder(reference answer, matches bool) answer {
	if !matches && reference.status != 404 {
		return stale
	}
	return reference
}

func (m *model) deleteProject(c *call) answer {
	p := find(m.projects, c.id)
	if p == nil {
		return notFound
	}
	if !p.matches(c.request.match) {
		return stale
	}
	if p.own["review"] != nil {
		if a := c.admin(); !a.ok() {
			return a
		}
	}
	m.removing = true
	defer func() { m.removing = false }()
	m.unshareResource(p.id)
	m.emit("project.deleted", p.id, m.show("project", p))
	m.projects = without(m.projects, p)
	oldest := slices.Clone(m.documents) // whose change is; the contract leaves the order open
	slices.SortFunc(oldest, func(a, b *thing) int { return cmp.Or(a.updated.Compare(b.updated), cmp.Compare(a.number, b.number)) })
	for _, d := range oldest {
		switch {
		case d.own["project_id"] != p.id:
		case d.deleted:
			d.own["project_id"] = nil // without an event (D28)
		default:
			if m.step.IsZero() {
				m.step = m.together()
			}
			m.change("document", d, record{"project_id": nil})
		}
	}
	m.step = time.Time{}
	return noContent
}

// projectsIn returns those directly in a folder, in the order of a list.
func (m *model) projectsIn(folder string) []*thing {
	return slices.DeleteFunc(sorted(m.projects, "sort_order", false), func(p *thing) bool { return p.own["folder_id"] != folder })
}
