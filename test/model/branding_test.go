package model

import (
	"slices"
	"strings"
	"time"
)

var (
	brandingsRead  = []string{"brandings:read"}
	brandingsWrite = []string{"brandings:write"}

	brandingFields = rules{"name": name(200), "folder_id": orNull(isIDValue), "logo_media_id": orNull(isIDValue), "color_primary": orNull(isColor),
		"font": orNull(is("system", "serif", "mono")), "footer": orNull(upTo(0, 500)), "sort_order": isInt32}
	brandingTypes = rules{"name": orNull(isText), "folder_id": orNull(isIDValue), "logo_media_id": orNull(isIDValue), "color_primary": orNull(isText),
		"font": orNull(isText), "footer": orNull(isText), "sort_order": orNull(isInt32)}
)

func init() {
	handle("GET", "/api/v1/brandings", operation{need: brandingsRead, act: (*model).listBrandings,
		params: paging(params{"folder_id": idOrNull, "q": isQuery, "sort": sorts, "updated_since": isMoment})})
	handle("POST", "/api/v1/brandings", operation{need: brandingsWrite, fields: brandingFields, types: brandingTypes, demand: (*model).mayShow, must: []string{"name"}, act: (*model).createBranding})
	handle("GET", "/api/v1/brandings/{}", operation{need: brandingsRead, act: (*model).getBranding})
	handle("PATCH", "/api/v1/brandings/{}", operation{need: brandingsWrite, fields: brandingFields, types: brandingTypes, demand: (*model).mayShow, some: true, act: (*model).changeBranding})
	handle("DELETE", "/api/v1/brandings/{}", operation{need: brandingsWrite, act: (*model).deleteBranding})
	handle("POST", "/api/v1/brandings/{}/move", operation{need: brandingsWrite, fields: rules{"folder_id": orNull(isIDValue)},
		must: []string{"folder_id"}, act: (*model).changeBranding})
}

func (m *model) listBrandings(c *call) answer {
	by := c.query["sort"]
	if by == "" {
		by = "sort_order"
	}
	things := c.filtered(sorted(m.brandings, by, c.query["order"] == "desc"), "folder_id")
	return c.shown(m, "branding", c.referred(c.searched(things, "name")))
}

// mayWear judges the folder and the logo of a branding (D115, D116): what leads nowhere comes before what may not be.
func (m *model) mayWear(in record) answer {
	fits := true
	if id, ok := in["logo_media_id"].(string); ok {
		logo := find(m.media, id)
		if logo == nil {
			return notFound
		}
		fits = strings.HasPrefix(logo.own["content_type"].(string), "image/")
	}
	if id, ok := in["folder_id"].(string); ok {
		f := find(m.folders, id)
		if f == nil {
			return notFound
		}
		fits = fits && f.own["entity_type"] == "branding"
	}
	if !fits {
		return invalid
	}
	return answer{}
}

// mayShow requires the scope to read media for naming a logo, because readers of shares see it (D121).
func (m *model) mayShow(c *call) answer {
	if c.in["logo_media_id"] != nil && !slices.Contains(c.key.scopes, "media:read") {
		return forbidden
	}
	return answer{}
}

// withDefaults puts the default in the place of a null color or font.
func withDefaults(in record) record {
	for name, otherwise := range map[string]any{"color_primary": "#2563eb", "font": "system"} {
		if v, sent := in[name]; sent && v == nil {
			in[name] = otherwise
		}
	}
	return in
}

func (m *model) createBranding(c *call) answer {
	own := record{"folder_id": nil, "logo_media_id": nil, "color_primary": nil, "font": nil, "footer": nil, "sort_order": 0.0}
	set(own, c.in)
	if a := m.mayWear(own); !a.ok() {
		return a
	}
	if m.plan != "business" { // D117
		return planRequired
	}
	b := m.add("b", withDefaults(own))
	m.brandings = append(m.brandings, b)
	return created(b, m.show("branding", b), "/api/v1/brandings/")
}

func (m *model) getBranding(c *call) answer {
	b := find(m.brandings, c.id)
	if b == nil {
		return notFound
	}
	return resource(200, b, m.show("branding", b))
}

func (m *model) changeBranding(c *call) answer {
	b := find(m.brandings, c.id)
	if b == nil {
		return notFound
	}
	if a := inOrder(m.mayWear(c.in), b.matches(c.request.match)); !a.ok() {
		return a
	}
	if m.plan != "business" {
		return planRequired
	}
	m.changeSilently(b, withDefaults(c.in))
	return resource(200, b, m.show("branding", b))
}

// changeSilently is change for what no event tells of (D118).
func (m *model) changeSilently(t *thing, fields record) {
	changed := false
	for name, v := range fields {
		if canonical(t.own[name]) != canonical(v) {
			t.own[name], changed = v, true
		}
	}
	if changed {
		m.touch(t)
	}
}

func (m *model) deleteBranding(c *call) answer {
	b := find(m.brandings, c.id)
	if b == nil {
		return notFound
	}
	if !b.matches(c.request.match) {
		return stale
	}
	m.undress(b.id)
	m.brandings = without(m.brandings, b)
	return noContent
}

// brandingsIn returns those directly in a folder.
func (m *model) brandingsIn(folder string) []*thing {
	return slices.DeleteFunc(sorted(m.brandings, "sort_order", false), func(b *thing) bool { return b.own["folder_id"] != folder })
}

// unfileBrandings moves the brandings of a folder to the root level, all at one time.
func (m *model) unfileBrandings(folder string) {
	in := m.brandingsIn(folder)
	if len(in) > 0 {
		m.step = m.together()
	}
	for _, b := range in {
		m.changeSilently(b, record{"folder_id": nil})
	}
	m.step = time.Time{}
}

// stepBranding makes the steps about brandings.
func (r *run) stepBranding(what string) bool {
	pools := map[string]func() any{"name": r.name(200), "footer": r.text(0), "color_primary": r.color(), "sort_order": r.order(),
		"font": r.value("font", []any{"system", "serif", "mono", nil}, "Serif", 3.0), "folder_id": r.reference(r.m.folders, "{xf1}"),
		"logo_media_id": r.reference(r.m.media, "{xm1}")}
	path := func() string { return "/api/v1/brandings/" + r.id(r.m.brandings, "{xb1}") }
	switch what {
	case "create branding":
		body := r.fields(pools)
		body["name"] = r.name(200)()
		r.post("/api/v1/brandings", body)
	case "change branding":
		r.change("PATCH", path(), r.fields(pools))
	case "move branding":
		r.change("POST", path()+"/move", r.target("folder_id"))
	case "delete branding":
		r.change("DELETE", path(), nil)
	case "get branding":
		r.get(path())
	case "list brandings":
		r.get("/api/v1/brandings", r.parameters(map[string][]string{"folder_id": r.filter(r.m.folders), "q": queries,
			"updated_since": {r.later(-time.Second), r.later(0), "soon"}, "sort": {"name", "sort_order", "created_at", "updated_at", "font"}})...)
	default:
		return false
	}
	return true
}
