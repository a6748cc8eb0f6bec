package model

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// What another system calls a thing, where it is there, and what is kept beside it (D84).

var taken = fail(409, "CONFLICT")

func init() {
	handle("PUT", "/api/v1/projects", operation{need: projectsWrite, fields: whole(projectFields), params: params{"external_id": isExternalID},
		before: (*model).namesItself, act: (*model).putProject})
	handle("PUT", "/api/v1/folders", operation{need: projectsWrite, fields: newFolder, params: params{"external_id": isExternalID},
		before: (*model).namesItself, act: (*model).putFolder})
	handle("PUT", "/api/v1/documents", operation{need: documentsWrite, fields: whole(documentFields), params: params{"external_id": isExternalID},
		before: (*model).namesItself, act: (*model).putDocument})
	handle("DELETE", "/api/v1/documents/{}/permanent", operation{need: documentsWrite, act: (*model).purgeDocument})
}

func isExternalID(s string) bool { return name(200)(s) }

func isMoment(s string) bool { return isTime(s) }

func isWeb(v any) bool {
	s, ok := v.(string)
	return ok && len(s) <= 2048 && regexp.MustCompile(`^https?://[a-z]`).MatchString(s)
}

var metadataName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

func isMetadataPatch(v any) bool {
	m, ok := v.(record)
	for name, text := range m {
		_, isText := text.(string)
		ok = ok && metadataName.MatchString(name) && (isText || text == nil)
	}
	return ok
}

func isMetadata(v any) bool {
	m, _ := v.(record)
	for _, text := range m {
		if text == nil {
			return false
		}
	}
	return isMetadataPatch(v)
}

// whole are the rules of POST and PUT, which take metadata as a whole.
func whole(r rules) rules {
	out := maps.Clone(r)
	out["metadata"] = orNull(isMetadata)
	return out
}

// small judges how much metadata there is.
func small(v any) bool { return v == nil || len(canonical(v)) <= 8192 }

// merged is the change with the metadata that the thing has then (RFC 7396).
func merged(t *thing, in record) record {
	patch, sent := in["metadata"].(record)
	if !sent {
		return in
	}
	out, has := record{}, record{}
	if old, ok := t.own["metadata"].(record); ok {
		has = old
	}
	for name, text := range has {
		out[name] = text
	}
	for name, text := range patch {
		if out[name] = text; text == nil {
			delete(out, name)
		}
	}
	in = maps.Clone(in)
	in["metadata"] = out
	return in
}

// free reports whether no other thing, be it deleted, has the external id.
func free(things []*thing, externalID any, own string) bool {
	return externalID == nil || !slices.ContainsFunc(things, func(t *thing) bool { return t.own["external_id"] == externalID && t.id != own })
}

// referred keeps what has the external id, and was changed since.
func (c *call) referred(things []*thing) []*thing {
	return slices.DeleteFunc(things, func(t *thing) bool {
		id, byID := c.query["external_id"]
		since, bySince := c.query["updated_since"]
		return byID && t.own["external_id"] != id || bySince && t.own["updated_at"].(string) < stamp(*timeOf(since))
	})
}

// namesItself refuses a PUT that has no external id, or another one in its body.
func (m *model) namesItself(c *call) answer {
	id, sent := c.query["external_id"]
	if in, has := c.in["external_id"]; !sent || has && in != id {
		return invalid
	}
	c.in["external_id"] = id
	return answer{}
}

// put finds the thing of the external id, also a deleted one.
func (c *call) put(things []*thing) *thing {
	for _, t := range things {
		if t.own["external_id"] == c.in["external_id"] {
			return t
		}
	}
	return nil
}

func (m *model) putProject(c *call) answer {
	p := c.put(m.projects)
	if p == nil {
		return m.putNew(c, m.mayHold(c.in["folder_id"]), m.createProject, "name")
	}
	if a := inOrder(m.mayHold(c.in["folder_id"]), p.matches(c.request.match)); !a.ok() {
		return a
	}
	if a := c.mayReview(p.own["review"]); !a.ok() {
		return a
	}
	m.change("project", p, c.in)
	return resource(200, p, m.show("project", p))
}

// putNew makes what is not there: not under a condition, and only with what it needs.
func (m *model) putNew(c *call, reference answer, create func(*call) answer, needs ...string) answer {
	if c.request.match != "" {
		return notFound
	}
	for _, name := range needs {
		if _, sent := c.in[name]; !sent && reference.status != 404 {
			return invalid
		}
	}
	return create(c)
}

// putFolder changes a folder, and moves it where a parent was sent; its type stays.
func (m *model) putFolder(c *call) answer {
	parent, moved := c.in["parent_id"]
	f := c.put(m.folders)
	if f == nil {
		return m.putNew(c, m.under(parent, c.in["entity_type"], 1), m.createFolder, "name", "entity_type")
	}
	to := answer{}
	if moved {
		to = m.movable(f, parent)
	}
	if a := inOrder(to, f.matches(c.request.match)); !a.ok() {
		return a
	}
	entity, sent := c.in["entity_type"]
	switch {
	case sent && entity != f.own["entity_type"]:
		return invalid
	case !m.allows(f.own["entity_type"]):
		return planRequired
	}
	if v, sent := c.in["color"]; sent && v == nil {
		c.in["color"] = defaultColor
	}
	m.change("folder", f, c.in)
	return resource(200, f, m.show("folder", f))
}

func (m *model) putDocument(c *call) answer {
	d := c.put(m.documents)
	reference := answer{}
	if !m.hasProject(c.in["project_id"]) {
		reference = notFound
	}
	switch {
	case d == nil:
		if reference.ok() {
			reference = m.mayBe("", 0, c.in["project_id"], c.in["parent_id"])
		}
		return m.putNew(c, reference, m.createDocument, "title")
	case d.deleted && c.request.match != "":
		return notFound
	case !reference.ok():
		return reference
	}
	in, a := m.place(d, c.in)
	if a := inOrder(a, d.matches(c.request.match)); !a.ok() {
		return a
	}
	m.rewriteTree(d, in, c.key)
	return resource(200, d, m.show("document", d))
}

// purgeDocument removes a deleted one for good (D85).
func (m *model) purgeDocument(c *call) answer {
	i := slices.IndexFunc(m.documents, func(d *thing) bool { return d.id == strings.ToLower(c.id) })
	switch {
	case i < 0:
		return notFound
	case !m.documents[i].matches(c.request.match):
		return stale
	case !m.documents[i].deleted:
		return taken
	case m.asks(m.documents[i].own["project_id"]) > 0 && !c.admin().ok():
		return forbidden
	}
	gone := m.documents[i].id
	m.unshareResource(gone)
	m.unlinkMedia(gone)
	for _, d := range m.documents { // deleted ones, without an event
		if d.own["parent_id"] == gone {
			d.own["parent_id"] = nil
		}
	}
	m.documents = slices.Delete(m.documents, i, i+1)
	return noContent
}
