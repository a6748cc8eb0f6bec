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
	// maxParts bounds the parts of a form, and maxField the bytes of one that is no file.
	maxParts = 32
	maxField = 4 << 10
)

// takeFile calls a route that takes a file: the body itself, or the part of a form that is called
// file.
func (x *exchange) takeFile(r *route) (answer, error) {
	in, err := x.readFile()
	if err != nil {
		return answer{}, err
	}
	// A program that repeats a form separates its parts by another text each time: what must be the
	// same are the file and the fields.
	if err := x.readIdempotencyKey(fileHash(in)); err != nil {
		return answer{}, err
	}
	return r.takesFile(x, in)
}

// fileHash is what a repetition of an upload must have in common with the first.
func fileHash(in app.NewMedium) [sha256.Size]byte {
	document := ""
	if in.DocumentID != nil {
		document = string(*in.DocumentID)
	}
	return sha256.Sum256(fmt.Appendf(nil, "%x %s %s", in.SHA256, document, in.Filename))
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
			return in, sheaf.InvalidField("document_id", "document_id must be a UUID, or be left out for a file of no document")
		}
		in.DocumentID = (*sheaf.DocumentID)(&id)
	}
	return in, nil
}

// fileForm is what a body of several parts holds. The file is hashed and not copied: it is read from
// the body once more when it is stored.
type fileForm struct {
	filename, document string
	named              bool // filename came in a field of its own, which the name of the part does not replace
	bytes              int64
	sum                [sha256.Size]byte
	open               func() io.Reader // nil: there is no file
}

// errForm refuses a form that is not whole.
var errForm = sheaf.Invalidf("body: it is no multipart/form-data, or did not arrive whole: send the file again, as the part file")

// read reads a body of that Content-Type.
func (f *fileForm) read(body []byte, contentType string) error {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil || params["boundary"] == "" {
		return sheaf.Invalidf("Content-Type: multipart/form-data must name its boundary: let the program that makes the form say it")
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

// nthPart returns the bytes of a part that was read before, so that it is there.
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

// part reads one part; again opens it anew. Parts of other names are passed over, as unknown fields
// are everywhere.
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

// file hashes the file.
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

// baseName is the name that a part gives its file, without the path that some programs send along.
func baseName(p *multipart.Part) string {
	_, params, err := mime.ParseMediaType(p.Header.Get("Content-Disposition"))
	if err != nil {
		return ""
	}
	name := params["filename"]
	return name[strings.LastIndexAny(name, `/\`)+1:]
}

// field reads a part that is a short text.
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
