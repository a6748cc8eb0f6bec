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
	page, err := s.App.Media(x.Request.Context(), x.caller, f)
	return pageOf(page), err
}

func (s *Server) getMedium(x *exchange) (answer, error) {
	id, err := pathID[sheaf.MediumID](x)
	if err != nil {
		return answer{}, err
	}
	m, err := s.App.Medium(x.Request.Context(), x.caller, id)
	return shownMedium(m), err
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

func (s *Server) updateMedium(x *exchange, in *strict.Fields) (answer, error) {
	id, err := pathID[sheaf.MediumID](x)
	if err != nil {
		return answer{}, err
	}
	change := sheaf.MediumChange{Filename: in.Text("filename"), DocumentID: strict.ID[sheaf.DocumentID](in, "document_id")}
	if err := in.Err(); err != nil {
		return answer{}, err
	}
	m, err := s.App.ChangeMedium(x.Request.Context(), x.caller, id, change, matchOf(x.Request.Header))
	return shownMedium(m), err
}

func (s *Server) deleteMedium(x *exchange) (answer, error) {
	id, err := pathID[sheaf.MediumID](x)
	if err != nil {
		return answer{}, err
	}
	return noContent(s.App.DeleteMedium(x.Request.Context(), x.caller, id, matchOf(x.Request.Header)))
}

// mediumContent answers with the bytes, or the part of them that was asked for. What is kept of the answer
// is the medium alone.
func (s *Server) mediumContent(x *exchange) (answer, error) {
	id, err := pathID[sheaf.MediumID](x)
	if err != nil {
		return answer{}, err
	}
	m, err := s.App.Medium(x.Request.Context(), x.caller, id)
	return answer{status: http.StatusOK, content: &m}, err
}

// sendContent sends the bytes of a medium. One that was deleted since its version was read is NotFound
// from when its bytes are gone.
func (x *exchange) sendContent(m *sheaf.Medium) {
	content, err := x.server.App.ContentOf(x.Request.Context(), x.caller, *m)
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
