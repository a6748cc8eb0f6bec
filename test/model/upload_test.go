package model

import (
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Uploads: files that come in pieces, by tus (D101).

var (
	tooLarge    = fail(413, "PAYLOAD_TOO_LARGE")
	wrongType   = fail(415, "UNSUPPORTED_MEDIA_TYPE")
	tooMany     = fail(403, "UPLOAD_LIMIT_REACHED")
	maxUpload   = 2 << 30
	pieceHeader = "Content-Type: application/offset+octet-stream"
)

func init() {
	handle("POST", "/api/v1/uploads", operation{need: mediaWrite, act: (*model).beginUpload})
	handle("HEAD", "/api/v1/uploads/{}", operation{need: mediaWrite, path: anyID, act: (*model).askUpload})
	handle("PATCH", "/api/v1/uploads/{}", operation{need: mediaWrite, path: anyID, act: (*model).sendPiece})
	handle("DELETE", "/api/v1/uploads/{}", operation{need: mediaWrite, path: anyID, act: (*model).endUpload})
}

// anyID takes what is no id too: whether tus is spoken comes first.
func anyID(string) bool { return true }

// uploading is what an upload has beside what every thing has: its bytes so far are the thing's content.
type uploading struct {
	length   int
	filename string
	document any
	owner    *key
	expires  time.Time
}

// header returns what a request says in a header.
func (c *call) header(name string) string {
	for _, h := range c.request.headers {
		if value, ok := strings.CutPrefix(h, name+": "); ok {
			return value
		}
	}
	return ""
}

func (c *call) speaksTus() bool { return c.header("Tus-Resumable") == "1.0.0" }

// tus refuses a request that is not of the protocol, and then one with an invalid id.
func (c *call) tus() answer {
	switch {
	case !c.speaksTus():
		return stale
	case !isID(c.id):
		return invalid
	}
	return answer{}
}

// countIn reads a header that is a number of bytes; below 0 it is none.
func (c *call) countIn(name string) int {
	n, err := strconv.ParseUint(c.header(name), 10, 63)
	if err != nil {
		return -1
	}
	return int(min(n, math.MaxInt))
}

// metadata reads the pairs of Upload-Metadata; ok is false when one is no base64.
func (c *call) metadata() (pairs map[string]string, ok bool) {
	pairs = map[string]string{}
	for pair := range strings.SplitSeq(c.header("Upload-Metadata"), ",") {
		name, value, _ := strings.Cut(pair, " ")
		if name == "" {
			continue
		}
		if symbolForm.MatchString(value) { // which the engine encodes
			pairs[name] = value
			continue
		}
		text, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return nil, false
		}
		pairs[name] = string(text)
	}
	return pairs, true
}

func (m *model) beginUpload(c *call) answer {
	length := c.countIn("Upload-Length")
	about, ok := c.metadata()
	id := about["document_id"]
	switch {
	case !c.speaksTus():
		return stale
	case length < 0 || !ok || id != "" && !isID(id):
		return invalid
	case length > maxUpload:
		return tooLarge
	case length == 0 || about["filename"] != "" && !isFilename(about["filename"]):
		return invalid
	}
	document := documentOf(id)
	begun := slices.DeleteFunc(slices.Clone(m.uploads), func(u *thing) bool { return u.up.owner != c.key })
	switch {
	case !m.hasDocument(document):
		return notFound
	case len(begun) >= 10:
		return tooMany
	}
	u := &thing{id: m.symbol("m"), own: record{}, up: &uploading{length, about["filename"], document, c.key, m.now.Add(time.Hour)}}
	m.uploads = append(m.uploads, u)
	return answer{status: 201, location: "/api/v1/uploads/" + u.id}
}

// waiting returns an upload that waits for its next piece; nil: none of that id does.
func (m *model) waiting(id string) *thing {
	u := find(m.uploads, id)
	if u == nil || !m.now.Before(u.up.expires) {
		return nil
	}
	return u
}

// finish makes a medium of an upload that has all of its bytes.
func (m *model) finish(u *thing) {
	document := u.up.document
	if !m.hasDocument(document) { // it went meanwhile
		document = nil
	}
	m.newMedium(u.id, u.up.filename, document, u.bytes)
	m.uploads = without(m.uploads, u)
}

func (m *model) askUpload(c *call) answer {
	if a := c.tus(); !a.ok() {
		return a
	}
	if u := m.waiting(c.id); u != nil {
		at, length := len(u.bytes), u.up.length
		if at == length {
			m.finish(u)
		}
		return progress(200, at, length)
	}
	if t := find(m.media, c.id); t != nil {
		return progress(200, len(t.bytes), len(t.bytes))
	}
	return notFound
}

// progress is the answer that tells how far an upload has come.
func progress(status, at, length int) answer {
	a := answer{status: status, headers: map[string]string{"Upload-Offset": fmt.Sprint(at), "Tus-Resumable": "1.0.0"}}
	if status == 200 {
		a.headers["Upload-Length"] = fmt.Sprint(length)
	}
	return a
}

func (m *model) sendPiece(c *call) answer {
	if a := c.tus(); !a.ok() {
		return a
	}
	at := c.countIn("Upload-Offset")
	switch {
	case !slices.Contains(c.request.headers, pieceHeader):
		return wrongType
	case at < 0:
		return invalid
	}
	u := m.waiting(c.id)
	if u == nil {
		if find(m.media, c.id) != nil {
			return taken
		}
		return notFound
	}
	if at != len(u.bytes) {
		return taken
	}
	piece := c.request.text
	missing := u.up.length - len(u.bytes)
	if len(piece) > missing {
		return tooLarge // and nothing of it is kept
	}
	if piece != "" {
		u.bytes += piece
		u.up.expires = m.now.Add(24 * time.Hour)
	}
	at = len(u.bytes)
	if at == u.up.length {
		m.finish(u)
	}
	return progress(204, at, u.up.length)
}

func (m *model) endUpload(c *call) answer {
	if a := c.tus(); !a.ok() {
		return a
	}
	u := m.waiting(c.id)
	if u == nil {
		return notFound
	}
	m.uploads = without(m.uploads, u)
	return noContent
}

func (r *run) uploadPath() string {
	things := r.m.uploads
	if len(things) == 0 || r.chance("a finished one", 8) {
		things = r.m.media
	}
	return "/api/v1/uploads/" + r.id(things, "{xm1}")
}

// tus adds the version of the protocol, nearly always.
func (r *run) tus(q request) request {
	if !r.chance("no tus", 25) {
		q.headers = append(q.headers, "Tus-Resumable: 1.0.0")
	}
	return q
}

// stepUpload makes the steps about uploads.
func (r *run) stepUpload(what string) bool {
	switch what {
	case "begin upload":
		r.begin()
	case "send piece":
		r.piece()
	case "ask upload":
		r.send(r.tus(request{as: r.as(), method: "HEAD", path: r.uploadPath()}))
	case "end upload":
		r.send(r.tus(request{as: r.as(), method: "DELETE", path: r.uploadPath()}))
	default:
		return false
	}
	return true
}

func (r *run) begin() {
	q := r.tus(request{as: r.as(), method: "POST", path: "/api/v1/uploads"})
	length := fmt.Sprint(len(draw(r, "file", files...)))
	if r.chance("a bad length", 12) {
		length = draw(r, "length", "0", "-1", "x", "", fmt.Sprint(maxUpload+1))
	}
	q.headers = append(q.headers, "Upload-Length: "+length)
	if r.chance("with metadata", 2) {
		pairs := []string{"filetype " + base64.StdEncoding.EncodeToString([]byte("text/html"))}
		if r.chance("named", 2) {
			pairs = append(pairs, "filename "+base64.StdEncoding.EncodeToString([]byte(draw(r, "filename", filenames...))))
		}
		if r.chance("of a document", 2) {
			pairs = append(pairs, "document_id "+draw(r, "document", r.filter(r.m.documents)[1:]...))
		}
		if r.chance("no base64", 25) {
			pairs = append(pairs, "note ???")
		}
		q.headers = append(q.headers, "Upload-Metadata: "+strings.Join(pairs, ","))
	}
	r.send(q)
}

// piece sends a piece of a file to an upload, mostly where it has come to, and mostly of what fits.
func (r *run) piece() {
	q := r.tus(request{as: r.as(), method: "PATCH", path: r.uploadPath(), headers: []string{pieceHeader}})
	if r.chance("another type", 25) {
		q.headers[0] = "Content-Type: application/json"
	}
	file, at := draw(r, "file", files...), 0
	if u := find(r.m.uploads, q.path[strings.LastIndexByte(q.path, '/')+1:]); u != nil {
		at = len(u.bytes)
		for _, f := range files {
			if len(f) == u.up.length && !r.chance("any file", 8) {
				file = f
			}
		}
	}
	end := len(file)
	if r.chance("a part", 2) {
		end = min((at+end+1)/2, len(file)) // another file may be shorter than what has arrived
	}
	q.text = file[min(at, len(file)):max(end, min(at, len(file)))]
	offset := fmt.Sprint(at)
	if r.chance("another offset", 12) {
		offset = draw(r, "offset", "0", "1", "7", "x", "-1")
	}
	q.headers = append(q.headers, "Upload-Offset: "+offset)
	r.send(q)
}
