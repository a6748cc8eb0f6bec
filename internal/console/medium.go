package console

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
)

// mediaPage is the data of media.html.
type mediaPage struct {
	Media []sheaf.Medium // the newest first
	Total int64
	More  string
	Kind  string // the filter: how the content type begins; empty for all
}

// Kinds returns the kinds to filter by.
func (mediaPage) Kinds() []struct{ Value, Text string } {
	return []struct{ Value, Text string }{{"", "All"}, {"image/", "Pictures"}, {"video/", "Videos"}, {"audio/", "Audio"}, {sheaf.Binary, "Other files"}}
}

// mediaPage returns a page of the library.
func (v *visit) mediaPage() (mediaPage, error) {
	p := mediaPage{}
	for _, k := range p.Kinds() {
		if k.Value == v.r.URL.Query().Get("kind") {
			p.Kind = k.Value
		}
	}
	from := v.offset("from")
	page, err := v.console.app.Media(v.r.Context(), v.caller, sheaf.MediumFilter{ContentType: p.Kind, Paging: sheaf.Paging{Limit: sheaf.DefaultLimit, Offset: from, Desc: true}})
	p.Media, p.Total, p.More = page.Items, page.Total, v.more(page.More(), from+sheaf.DefaultLimit)
	if p.More != "" && p.Kind != "" {
		p.More += "&kind=" + url.QueryEscape(p.Kind)
	}
	return p, err
}

// uploadMedium answers POST /w/{workspace}/media: it stores the file that was sent. A script gets
// its card.
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
	errFile      = sheaf.Invalidf("The upload was incomplete. Choose the file again, and upload it once more.")
	errNoFile    = sheaf.Invalidf("Choose a file first.")
	errLargeFile = sheaf.Invalidf("The file is larger than 10 MB, the limit of this page. Use the API for larger files: it accepts them in pieces.")
)

// readFile reads the file: the part "file" of a form, or the whole body if a script sent it with
// its name in the address.
func (v *visit) readFile() error {
	if v.r.ContentLength > sheaf.MaxUpload+maxForm {
		return errLargeFile
	}
	body, err := v.ReadBody()
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return errLargeFile
	}
	if err = overloaded(err); err != nil {
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

// readFilePart finds the file in a form of several parts. It hashes the file and does not copy it:
// Open finds the part again.
func (v *visit) readFilePart(body []byte, boundary string) error {
	all := multipart.NewReader(bytes.NewReader(body), boundary)
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
		v.file = app.NewMedium{Filename: part.FileName(), Bytes: size, SHA256: [32]byte(sum.Sum(nil)), Open: func() io.Reader {
			again := multipart.NewReader(bytes.NewReader(body), boundary)
			for range n {
				if _, err := again.NextRawPart(); err != nil {
					return bytes.NewReader(nil)
				}
			}
			part, err := again.NextRawPart()
			if err != nil {
				return bytes.NewReader(nil)
			}
			return part
		}}
		return nil
	}
	return errNoFile
}

// mediumContent answers GET /w/{workspace}/media/{id}/content: the bytes of a file, for the pages
// that show it. Scripts in the file do not run.
func (c *Console) mediumContent(v *visit) error {
	id, err := id[sheaf.MediumID](v, "medium")
	if err != nil {
		return err
	}
	document, _ := sheaf.ParseUUID(v.r.URL.Query().Get("document"))
	m, content, err := c.app.MediumContent(v.r.Context(), v.caller, id, sheaf.DocumentID(document))
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
	Filename string // the stored name, or the one that was typed
	basis
}

func filenameField(name string) field { return field{Name: "filename", Label: "Name", Value: name} }

// renameMediumForm answers GET /w/{workspace}/media/{id}/rename: the form of a file's name.
func (c *Console) renameMediumForm(v *visit) error {
	m, err := find(v, "medium", c.app.Medium)
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "medium-rename", mediumForm{m.ID, m.Filename, basis{Revision: m.Revision, Was: []field{filenameField(m.Filename)}}})
}

// renameMedium answers POST /w/{workspace}/media/{id}/rename: it renames a file. The file's address
// does not change, so texts that show it stay as they are.
func (c *Console) renameMedium(v *visit) error {
	before, err := find(v, "medium", c.app.Medium)
	if err != nil {
		return err
	}
	form := mediumForm{before.ID, v.typed("filename"), v.basis([]field{filenameField("")})}
	err = v.saveForm(&form.basis, []field{filenameField(form.Filename)}, func(m sheaf.Match) error {
		_, err := c.app.ChangeMedium(v.r.Context(), v.caller, before.ID, sheaf.MediumChange{Filename: sheaf.Some(form.Filename)}, m)
		return err
	}, func() (current, error) {
		now, err := c.app.Medium(v.r.Context(), v.caller, before.ID)
		return current{"", now.Revision, []field{filenameField(now.Filename)}}, err
	})
	if err != nil {
		return v.again("medium-rename", form, err)
	}
	return v.done(v.at("media"))
}

// deleteMedium answers POST /w/{workspace}/media/{id}/delete: it deletes a file.
func (c *Console) deleteMedium(v *visit) error {
	m, err := find(v, "medium", c.app.Medium)
	if err != nil {
		return err
	}
	if err := c.app.DeleteMedium(v.r.Context(), v.caller, m.ID, sheaf.Match{}); err != nil {
		return v.again("medium-delete", m, err)
	}
	return v.done(v.at("media"))
}
