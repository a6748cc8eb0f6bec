package console

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"strings"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
)

// mediaPage is the data of media.html.
type mediaPage struct {
	Media []sheaf.Medium // the newest first
	Total int64
	More  string
	Kind  string // how the types begin that are shown; empty for every one
}

// Kinds are the filters of the library.
func (mediaPage) Kinds() []struct{ Value, Text string } {
	return []struct{ Value, Text string }{{"", "All"}, {"image/", "Pictures"}, {"video/", "Films"}, {"audio/", "Sounds"}, {sheaf.Binary, "Other files"}}
}

// media answers GET /w/{workspace}/media: it shows the library.
func (c *Console) media(v *visit) error {
	p, err := v.mediaPage()
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "media", p)
}

// mediaPage reads a page of the library.
func (v *visit) mediaPage() (mediaPage, error) {
	p := mediaPage{}
	for _, k := range p.Kinds() {
		if k.Value == v.r.URL.Query().Get("kind") {
			p.Kind = k.Value
		}
	}
	from := v.offset()
	page, err := v.console.app.Media(v.r.Context(), v.caller, sheaf.MediumFilter{ContentType: p.Kind, Paging: sheaf.Paging{Limit: sheaf.DefaultLimit, Offset: from, Desc: true}})
	p.Media, p.Total, p.More = page.Items, page.Total, v.more(page.More(), from+sheaf.DefaultLimit)
	if p.More != "" && p.Kind != "" {
		p.More += "&kind=" + url.QueryEscape(p.Kind)
	}
	return p, err
}

// markdownOf is how a text shows the medium: a picture as one, any other file as a link.
func markdownOf(m sheaf.Medium) string {
	name := m.Filename
	if m.Picture() {
		name = strings.TrimSuffix(name, path.Ext(name))
	}
	link := "[" + strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`).Replace(name) + "](media:" + string(m.ID) + ")"
	if m.Picture() {
		return "!" + link
	}
	return link
}

// uploadMedium answers POST /w/{workspace}/media: it keeps a file. A script gets its card.
func (c *Console) uploadMedium(v *visit) error {
	m, err := c.app.UploadMedium(v.r.Context(), v.caller, v.file)
	if err != nil && !v.byScript() {
		p, failed := v.mediaPage()
		if failed != nil {
			return failed
		}
		return v.again("media", p, err)
	}
	if err != nil {
		return err
	}
	if v.byScript() {
		return v.fragment("media", "card", m)
	}
	return v.redirect(v.at("media") + "?uploaded")
}

// maxFileParts bounds the parts of a form that sends a file.
const maxFileParts = 10

var (
	errFile      = sheaf.Invalidf("The file did not arrive whole. Choose it again, and send it once more.")
	errNoFile    = sheaf.Invalidf("Choose a file first.")
	errLargeFile = sheaf.Invalidf("The file is larger than 10 MB, which is the most that can be sent here. The API takes larger ones in pieces.")
)

// takeFile reads the file of somebody who may send it, and asks once more who it was: a file may take a
// minute to arrive.
func (v *visit) takeFile(r *route) error {
	if err := v.readFile(); err != nil {
		return err
	}
	if err := v.identify(); err != nil {
		return err
	}
	caller, _, err := v.session.Caller(v.caller.Workspace)
	if err != nil {
		return err
	}
	v.caller = caller
	return v.caller.Authorize(r.who.scope)
}

// readFile reads the file that somebody sends who may: by a form, as its part "file", or by a script, as
// the body itself with its name in the address.
func (v *visit) readFile() error {
	if v.r.ContentLength > sheaf.MaxUpload+maxForm {
		return errLargeFile
	}
	body, err := v.ReadBody()
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return errLargeFile
	}
	if err = crowded(err); err != nil {
		if sheaf.KindOf(err) == sheaf.Unavailable {
			return err
		}
		return errFile
	}
	v.r.Body = http.NoBody
	q := v.r.URL.Query()
	if !isText(q) {
		return errFile
	}
	if kind, params, err := mime.ParseMediaType(v.r.Header.Get("Content-Type")); err == nil && kind == "multipart/form-data" {
		return v.readFilePart(body, params["boundary"])
	}
	if !q.Has("filename") {
		return errNoFile
	}
	v.file = app.NewMedium{Filename: q.Get("filename"), Bytes: int64(len(body)), SHA256: sha256.Sum256(body), Open: func() io.Reader { return bytes.NewReader(body) }}
	if id, ok := sheaf.ParseUUID(q.Get("document")); ok {
		v.file.DocumentID = (*sheaf.DocumentID)(&id)
	}
	return nil
}

// readFilePart finds the file in a form of several parts. It is hashed and not copied.
func (v *visit) readFilePart(body []byte, boundary string) error {
	parts := func() *multipart.Reader { return multipart.NewReader(bytes.NewReader(body), boundary) }
	all := parts()
	for n := range maxFileParts {
		part, err := all.NextRawPart()
		if err != nil {
			return errNoFile
		}
		if part.FormName() != "file" || part.FileName() == "" {
			continue
		}
		sum := sha256.New()
		size, err := io.Copy(sum, part)
		if err != nil {
			return errFile
		}
		v.file = app.NewMedium{Filename: part.FileName(), Bytes: size, SHA256: [32]byte(sum.Sum(nil)), Open: func() io.Reader { return nthPart(parts(), n) }}
		return nil
	}
	return errNoFile
}

// nthPart returns the bytes of a part that was read before, so that it is there.
func nthPart(r *multipart.Reader, n int) io.Reader {
	for range n {
		if _, err := r.NextRawPart(); err != nil {
			return bytes.NewReader(nil)
		}
	}
	part, err := r.NextRawPart()
	if err != nil {
		return bytes.NewReader(nil)
	}
	return part
}

// mediumOf finds the medium in the path, or NotFound.
func (v *visit) mediumOf() (sheaf.Medium, error) {
	id, err := id[sheaf.MediumID](v, "medium")
	if err != nil {
		return sheaf.Medium{}, err
	}
	return v.console.app.Medium(v.r.Context(), v.caller, id)
}

// mediumContent answers GET /w/{workspace}/media/{id}/content: the bytes of a file, for the pages that show
// it. Nothing in it runs here.
func (c *Console) mediumContent(v *visit) error {
	id, err := id[sheaf.MediumID](v, "medium")
	if err != nil {
		return err
	}
	m, content, err := c.app.MediumContent(v.r.Context(), v.caller, id)
	if err != nil {
		return err
	}
	defer content.Close()
	v.Header().Set("Cache-Control", "private, no-cache")
	return v.ServeFile(front.File{Name: m.Filename, Type: m.ContentType, Inline: m.Inline(), Tag: m.SHA256, Content: content})
}

// mediumForm is the data of medium-rename.html.
type mediumForm struct {
	ID       sheaf.MediumID
	Filename string // the name, or what was typed
	basis
}

func filenameField(name string) field { return field{Name: "filename", Label: "Name", Value: name} }

// renameMediumForm answers GET /w/{workspace}/media/{id}/rename: it asks for another name of a file.
func (c *Console) renameMediumForm(v *visit) error {
	m, err := v.mediumOf()
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "medium-rename", mediumForm{m.ID, m.Filename, basisOf(m.Revision, []field{filenameField(m.Filename)})})
}

// renameMedium answers POST /w/{workspace}/media/{id}/rename: it gives a file another name. Its address,
// and so the texts that show it, stay as they are.
func (c *Console) renameMedium(v *visit) error {
	before, err := v.mediumOf()
	if err != nil {
		return err
	}
	form := mediumForm{before.ID, v.typed("filename"), v.basis([]field{filenameField("")})}
	err = v.saveOver(&form.basis, []field{filenameField(form.Filename)}, func(m sheaf.Match) error {
		_, err := c.app.ChangeMedium(v.r.Context(), v.caller, before.ID, sheaf.MediumChange{Filename: sheaf.Some(form.Filename)}, m)
		return err
	}, func() (present, error) {
		now, err := c.app.Medium(v.r.Context(), v.caller, before.ID)
		return present{"", now.Revision, []field{filenameField(now.Filename)}}, err
	})
	if err != nil {
		return v.again("medium-rename", form, err)
	}
	return v.done(v.at("media"))
}

// deleteMediumForm answers GET /w/{workspace}/media/{id}/delete: it asks whether to delete a file.
func (c *Console) deleteMediumForm(v *visit) error {
	m, err := v.mediumOf()
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "medium-delete", m)
}

// deleteMedium answers POST /w/{workspace}/media/{id}/delete: it deletes a file.
func (c *Console) deleteMedium(v *visit) error {
	m, err := v.mediumOf()
	if err != nil {
		return err
	}
	if err := c.app.DeleteMedium(v.r.Context(), v.caller, m.ID, sheaf.Match{}); err != nil {
		return v.again("medium-delete", m, err)
	}
	return v.done(v.at("media"))
}

// sizeOf says how large a picture is; of what is none, or does not tell, it is empty.
func sizeOf(m sheaf.Medium) string {
	if m.Width == nil || m.Height == nil {
		return ""
	}
	return fmt.Sprintf("%d × %d", *m.Width, *m.Height)
}
