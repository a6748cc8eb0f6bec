package model

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image"
	"image/png"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Media: files that come in one request, and what is known of them (D100–D104).

var (
	mediaRead  = []string{"media:read"}
	mediaWrite = []string{"media:write"}
)

func init() {
	handle("GET", "/api/v1/media", operation{need: mediaRead, act: (*model).listMedia,
		params: paging(params{"document_id": idOrNull, "content_type": func(s string) bool { return name(100)(s) }})})
	handle("POST", "/api/v1/media", operation{need: mediaWrite, bytes: true, act: (*model).upload, same: sameFile,
		params: params{"filename": orEmpty(isFilename), "document_id": orEmpty(idOrNull)}})
	handle("GET", "/api/v1/media/{}", operation{need: mediaRead, act: (*model).getMedium})
	handle("GET", "/api/v1/media/{}/content", operation{need: mediaRead, act: (*model).mediumContent})
	handle("PATCH", "/api/v1/media/{}", operation{need: mediaWrite, fields: rules{"filename": func(v any) bool { s, ok := v.(string); return ok && isFilename(s) },
		"document_id": orNull(isIDValue)}, some: true, act: (*model).changeMedium})
	handle("DELETE", "/api/v1/media/{}", operation{need: mediaWrite, act: (*model).deleteMedium})
}

// orEmpty takes a parameter that is empty for none.
func orEmpty(valid func(string) bool) func(string) bool {
	return func(s string) bool { return s == "" || valid(s) }
}

// isFilename judges the name of a file, which leads nowhere.
func isFilename(s string) bool {
	return name(200)(s) && s != "." && s != ".." && !strings.ContainsAny(s, `/\`) && strings.IndexFunc(s, unicode.IsControl) < 0
}

// onePicture is a PNG of 3 × 2 pixels.
var onePicture = func() string {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		panic(err)
	}
	return b.String()
}()

// The first pictureSignature bytes identify a picture, and pictureHeader bytes also its size. Pieces of
// several files may follow.
const pictureSignature, pictureHeader = 16, 33

// files are what is uploaded, more than once: equal bytes are kept once, and go with the last.
var files = []string{onePicture, "some words", "<svg onload=x>", "%PDF-1.7", "x"}

func sumOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// describedFile is what the bytes tell of themselves.
func describedFile(content string) record {
	out := record{"content_type": "application/octet-stream", "bytes": float64(len(content)), "sha256": sumOf(content), "width": nil, "height": nil}
	if strings.HasPrefix(content, onePicture[:pictureSignature]) {
		out["content_type"] = "image/png"
	}
	if strings.HasPrefix(content, onePicture[:pictureHeader]) {
		out["width"], out["height"] = 3.0, 2.0
	}
	return out
}

// newMedium makes a medium of these bytes, with its event.
func (m *model) newMedium(id, filename string, document any, content string) *thing {
	if filename == "" {
		filename = "untitled"
	}
	own := describedFile(content)
	set(own, record{"id": id, "filename": filename, "document_id": document, "url": "/api/v1/media/" + id + "/content", "created_at": stamp(m.now)})
	m.number++
	t := &thing{id: id, own: own, number: m.number, revision: 1, bytes: content}
	m.media = append(m.media, t)
	m.emit("media.uploaded", id, m.show("medium", t))
	return t
}

// sameFile is what a repetition of an upload has in common with the first: not how it was sent, nor how it said that
// the file is of no document.
func sameFile(c *call) string {
	return fmt.Sprint(sumOf(c.request.text), documentOf(c.query["document_id"]), c.query["filename"])
}

// documentOf is the document that a file is to belong to; null: none.
func documentOf(text string) any {
	if text == "" || text == "null" {
		return nil
	}
	return strings.ToLower(text)
}

func (m *model) hasDocument(id any) bool { return id == nil || find(m.documents, id.(string)) != nil }

func (m *model) upload(c *call) answer {
	document := documentOf(c.query["document_id"])
	if !m.hasDocument(document) {
		return notFound
	}
	t := m.newMedium(m.symbol("m"), c.query["filename"], document, c.request.text)
	return created(t, m.show("medium", t), "/api/v1/media/")
}

func (m *model) listMedia(c *call) answer {
	things := c.filtered(inOrderOf(m.media, "", c.query["order"] == "desc"), "document_id")
	if kind, sent := c.query["content_type"]; sent {
		things = slices.DeleteFunc(things, func(t *thing) bool { return !strings.HasPrefix(t.own["content_type"].(string), kind) })
	}
	return c.shown(m, "medium", things)
}

func (m *model) getMedium(c *call) answer {
	t := find(m.media, c.id)
	if t == nil {
		return notFound
	}
	return resource(200, t, m.show("medium", t))
}

func (m *model) mediumContent(c *call) answer {
	t := find(m.media, c.id)
	if t == nil {
		return notFound
	}
	return answer{status: 200, text: true, body: t.bytes, tag: "the bytes " + sumOf(t.bytes)}
}

// changeMedium changes its name or its document: no event tells of it, and it has no time of its last change.
func (m *model) changeMedium(c *call) answer {
	t := find(m.media, c.id)
	if t == nil {
		return notFound
	}
	reference := answer{}
	if !m.hasDocument(c.in["document_id"]) {
		reference = notFound
	}
	if a := inOrder(reference, t.matches(c.request.match)); !a.ok() {
		return a
	}
	t.put(c.in)
	return resource(200, t, m.show("medium", t))
}

// put sets fields, and raises the revision where they were others.
func (t *thing) put(fields record) {
	changed := false
	for name, v := range fields {
		if canonical(t.own[name]) != canonical(v) {
			t.own[name], changed = v, true
		}
	}
	if changed {
		t.revision++
	}
}

// deleteMedium removes it for good, also from the brandings whose logo it is.
func (m *model) deleteMedium(c *call) answer {
	t := find(m.media, c.id)
	if t == nil {
		return notFound
	}
	if !t.matches(c.request.match) {
		return stale
	}
	for _, b := range sorted(m.brandings, "", false) {
		if b.own["logo_media_id"] == t.id {
			if m.step.IsZero() {
				m.step = m.together()
			}
			m.changeSilently(b, record{"logo_media_id": nil})
		}
	}
	m.step = time.Time{}
	m.media = without(m.media, t)
	return noContent
}

// unlinkMedia takes the media of a document, which goes for good, out of it.
func (m *model) unlinkMedia(document string) {
	for _, t := range m.media {
		if t.own["document_id"] == document {
			t.put(record{"document_id": nil})
		}
	}
}

var filenames = []string{"a.png", "größe 1.txt", "<b>.html", "", "a/b", "..", "a\nb", strings.Repeat("n", 201)}

func (r *run) mediumPath() string { return "/api/v1/media/" + r.id(r.m.media, "{xm1}") }

// stepMedium makes the steps about media.
func (r *run) stepMedium(what string) bool {
	switch what {
	case "upload medium":
		q := request{as: r.as(), method: "POST", path: "/api/v1/media", text: draw(r, "file", files...)}
		if r.chance("an empty file", 20) {
			q.text = ""
		}
		if r.chance("named", 2) {
			q.query = append(q.query, "filename="+encoded(draw(r, "filename", filenames...)))
		}
		if r.chance("of a document", 2) {
			q.query = append(q.query, "document_id="+draw(r, "document", r.filter(r.m.documents)...))
		}
		r.maybeOnce(&q)
		r.send(q)
	case "change medium":
		r.change("PATCH", r.mediumPath(), r.fields(map[string]func() any{"document_id": r.reference(r.m.documents, "{xd1}"),
			"filename": r.value("filename", []any{"a.png", "größe 1.txt"}, "", "a/b", nil, 5.0)}))
	case "delete medium":
		r.change("DELETE", r.mediumPath(), nil)
	case "get medium":
		r.get(r.mediumPath())
	case "medium content":
		r.get(r.mediumPath() + "/content")
	case "list media":
		r.get("/api/v1/media", r.parameters(map[string][]string{"document_id": r.filter(r.m.documents), "content_type": {"image/", "application", "x", ""}})...)
	default:
		return r.stepUpload(what)
	}
	return true
}
