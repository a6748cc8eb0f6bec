package httpapi

import (
	"net/http"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

func (s *Server) listMedia(x *exchange) (answer, error) {
	var f sheaf.MediumFilter
	var err error
	if f.Paging, err = x.paging(); err != nil {
		return answer{}, err
	}
	if f.Document, err = queryID[sheaf.DocumentID](x, "document_id"); err != nil {
		return answer{}, err
	}
	if x.query.Has("content_type") {
		f.ContentType = x.query.Text("content_type")
		if err := sheaf.CheckName("content_type", f.ContentType, sheaf.MaxContentType); err != nil {
			return answer{}, err
		}
	}
	page, err := s.App.Media(x.Request.Context(), x.Caller, f)
	return pageOf(page), err
}

func shownMedium(m sheaf.Medium) answer { return resource(http.StatusOK, &m, m.Revision) }

func createdMedium(m sheaf.Medium) answer {
	a := resource(http.StatusCreated, &m, m.Revision)
	a.location = "/api/v1/media/" + string(m.ID)
	return a
}

func (s *Server) uploadMedium(x *exchange, in app.NewMedium) (answer, error) {
	return once(x, createdMedium, func(c app.Caller) (sheaf.Medium, error) {
		return s.App.UploadMedium(x.Request.Context(), c, in)
	})
}

func mediumChange(in *strict.Fields) (sheaf.MediumChange, error) {
	return sheaf.MediumChange{Filename: in.Text("filename"), DocumentID: strict.ID[sheaf.DocumentID](in, "document_id")}, in.Err()
}

// mediumContent answers with the bytes of a medium, or the requested range. The cache keeps only the record of
// the medium, not its bytes. With document_id, the caller needs to see only that document, whose text names the
// medium.
func (s *Server) mediumContent(x *exchange) (answer, error) {
	id, err := pathID[sheaf.MediumID](x)
	if err != nil {
		return answer{}, err
	}
	document, err := queryID[sheaf.DocumentID](x, "document_id")
	if err != nil {
		return answer{}, err
	}
	if document.Given() {
		m, err := s.App.MediumNamedBy(x.Request.Context(), x.Caller, id, document.Value)
		return answer{status: http.StatusOK, content: &m, uncached: true}, err
	}
	m, err := s.App.Medium(x.Request.Context(), x.Caller, id)
	return answer{status: http.StatusOK, content: &m}, err
}

// sendContent sends the bytes of a medium. If the medium was deleted after m was read, and its bytes are
// removed, the answer is 404.
func (x *exchange) sendContent(m *sheaf.Medium) {
	content, err := x.server.App.ContentOf(x.Request.Context(), x.Caller, *m)
	if err != nil {
		x.fail(err)
		return
	}
	defer content.Close()
	err = x.ServeFile(front.File{Name: m.Filename, Type: m.ContentType, Inline: m.Inline(), Tag: m.SHA256, Content: content})
	if err != nil {
		x.fail(err)
	}
}
