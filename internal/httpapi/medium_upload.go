package httpapi

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"strings"
	"unicode/utf8"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

const (
	// maxParts bounds the number of parts of a form, and maxField the bytes of each part but the file.
	maxParts = 32
	maxField = 4 << 10
)

// callWithFile calls a route that takes a file: the body itself, or the part of a form that is named file.
func (x *exchange) callWithFile(r *route) (answer, error) {
	in, err := x.readFile()
	if err != nil {
		return answer{}, err
	}
	// A repeated form may have another boundary, so the whole body may differ. Only the file and the
	// fields must be the same.
	// A repetition with the same Idempotency-Key must repeat these.
	document := ""
	if in.DocumentID != nil {
		document = string(*in.DocumentID)
	}
	if err := x.readIdempotencyKey(fmt.Appendf(nil, "%x %s %s", in.SHA256, document, in.Filename)); err != nil {
		return answer{}, err
	}
	return r.doFile(x, in)
}

// readFile reads the file and its fields from the body and the query.
func (x *exchange) readFile() (in app.NewMedium, err error) {
	form := fileForm{filename: x.query.Text("filename"), document: x.query.Text("document_id")}
	if t := x.Request.Header.Get("Content-Type"); mediaType(t) == "multipart/form-data" {
		err = form.read(x.body, t)
	} else {
		form.open = func() io.Reader { return bytes.NewReader(x.body) }
		form.bytes, form.sum = int64(len(x.body)), sha256.Sum256(x.body)
	}
	if err != nil {
		return in, err
	}
	in = app.NewMedium{Filename: form.filename, Bytes: form.bytes, SHA256: form.sum, Open: form.open}
	if form.document != "" && form.document != "null" {
		id, ok := sheaf.ParseUUID(form.document)
		if !ok {
			return in, sheaf.InvalidField("document_id", "document_id must be a UUID, or be left out if the file belongs to no document")
		}
		in.DocumentID = (*sheaf.DocumentID)(&id)
	}
	return in, nil
}

// fileForm has the fields of an upload. The file is hashed but not copied: open reads it from the body again
// when it is stored.
type fileForm struct {
	filename, document string
	named              bool // filename comes from its own field, so the name in the part of the file is ignored
	bytes              int64
	sum                [sha256.Size]byte
	open               func() io.Reader // nil: no file yet
}

// errForm is the error for a malformed or incomplete form.
var errForm = sheaf.Invalidf("body: it is not multipart/form-data, or is incomplete: send the file again, as the part named file")

// read parses a body of type multipart/form-data.
func (f *fileForm) read(body []byte, contentType string) error {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil || params["boundary"] == "" {
		return sheaf.Invalidf("Content-Type: multipart/form-data must name its boundary: let your HTTP library set this header")
	}
	parts := func() *multipart.Reader { return multipart.NewReader(bytes.NewReader(body), params["boundary"]) }
	f.named = f.filename != ""
	reader := parts()
	for n := 0; ; n++ {
		part, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errForm
		}
		if n == maxParts {
			return sheaf.Invalidf("body: the form has more than %d parts: send file, filename and document_id", maxParts)
		}
		if err := f.part(part, func() io.Reader { return nthPart(parts(), n) }); err != nil {
			return err
		}
	}
	if f.open == nil {
		return sheaf.InvalidField("file", "file is required: send the file as the part of that name")
	}
	return nil
}

// nthPart returns the bytes of part n, counted from 0. The part must exist.
func nthPart(r *multipart.Reader, n int) io.Reader {
	for {
		part, err := r.NextRawPart()
		if err != nil {
			return bytes.NewReader(nil)
		}
		if n == 0 {
			return part
		}
		n--
	}
}

// part reads one part; again opens the same part a second time. Parts of other names are ignored, as unknown
// fields are everywhere.
func (f *fileForm) part(p *multipart.Part, again func() io.Reader) (err error) {
	switch p.FormName() {
	case "file":
		return f.file(p, again)
	case "filename":
		f.filename, err = field(p)
		f.named = f.filename != ""
	case "document_id":
		f.document, err = field(p)
	default:
		if _, err := io.Copy(io.Discard, p); err != nil {
			return errForm
		}
	}
	return err
}

// file hashes the part with the file, and notes its name.
func (f *fileForm) file(p *multipart.Part, again func() io.Reader) error {
	if f.open != nil {
		return sheaf.InvalidField("file", "file was sent twice: send one file in a request")
	}
	if t := p.Header.Get("Content-Transfer-Encoding"); t != "" && !strings.EqualFold(t, "binary") && !strings.EqualFold(t, "8bit") && !strings.EqualFold(t, "7bit") {
		return sheaf.InvalidField("file", "file: Content-Transfer-Encoding %q is not possible: send the bytes as they are", sheaf.Clip(t))
	}
	if !f.named {
		if f.filename = baseName(p); !utf8.ValidString(f.filename) {
			return sheaf.InvalidField("file", "file: its filename is not valid UTF-8: send it in that encoding")
		}
	}
	hash := sha256.New()
	n, err := io.Copy(hash, p)
	if err != nil {
		return errForm
	}
	f.bytes, f.sum, f.open = n, [sha256.Size]byte(hash.Sum(nil)), again
	return nil
}

// baseName returns the file name of a part, without the path that some programs send.
func baseName(p *multipart.Part) string {
	_, params, err := mime.ParseMediaType(p.Header.Get("Content-Disposition"))
	if err != nil {
		return ""
	}
	name := params["filename"]
	return name[strings.LastIndexAny(name, `/\`)+1:]
}

// field reads a text of at most maxField bytes.
func field(p *multipart.Part) (string, error) {
	text, err := io.ReadAll(io.LimitReader(p, maxField+1))
	switch {
	case err != nil:
		return "", errForm
	case len(text) > maxField:
		return "", sheaf.InvalidField(p.FormName(), "%s has more than %d bytes: shorten it", p.FormName(), maxField)
	case !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0:
		return "", sheaf.InvalidField(p.FormName(), "%s is not valid UTF-8 without NUL characters: correct it", p.FormName())
	}
	return string(text), nil
}
