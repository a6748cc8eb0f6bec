package httpapi

import (
	"net/http"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

func (s *Server) listReleases(x *exchange) (answer, error) {
	id, err := pathID[sheaf.ProjectID](x)
	if err != nil {
		return answer{}, err
	}
	var f sheaf.ReleaseFilter
	if f.Paging, err = x.paging(); err != nil {
		return answer{}, err
	}
	f.Name = x.query.Text("name")
	page, err := s.App.Releases(x.Request.Context(), x.Caller, id, f)
	return pageOf(page), err
}

// createRelease answers POST /api/v1/projects/{id}/releases.
func (s *Server) createRelease(x *exchange, in *strict.Fields) (answer, error) {
	id, err := pathID[sheaf.ProjectID](x)
	if err != nil {
		return answer{}, err
	}
	change := sheaf.ReleaseChange{Name: in.Text("name"), Notes: in.Text("notes")}
	if err := in.Err(); err != nil {
		return answer{}, err
	}
	x.LiftDeadlines() // it may copy many texts
	return once(x, createdRelease, func(c app.Caller) (sheaf.Release, error) {
		return s.App.CreateRelease(x.Request.Context(), c, id, change)
	})
}

// releasePatch reads the fields of PATCH.
func releasePatch(in *strict.Fields) (sheaf.ReleaseChange, error) {
	return sheaf.ReleaseChange{Notes: in.Text("notes")}, in.Err()
}

func createdRelease(r sheaf.Release) answer {
	a := resource(http.StatusCreated, &r, r.Revision)
	a.location = "/api/v1/releases/" + string(r.ID)
	return a
}

func shownRelease(r sheaf.Release) answer { return resource(http.StatusOK, &r, r.Revision) }

func (s *Server) releaseTree(x *exchange) (answer, error) {
	id, err := pathID[sheaf.ReleaseID](x)
	if err != nil {
		return answer{}, err
	}
	entries, err := s.App.ReleaseTree(x.Request.Context(), x.Caller, id)
	return shownTree(entries), err
}

// diffRelease answers GET /api/v1/releases/{id}/diff.
func (s *Server) diffRelease(x *exchange) (answer, error) {
	id, err := pathID[sheaf.ReleaseID](x)
	if err != nil {
		return answer{}, err
	}
	var to sheaf.ReleaseID
	if name := x.query.Text("to"); name != "" && name != "present" {
		other, ok := sheaf.ParseUUID(name)
		if !ok {
			return answer{}, sheaf.InvalidField("to", "to must be the id of a release, or present")
		}
		to = sheaf.ReleaseID(other)
	}
	d, err := s.App.DiffRelease(x.Request.Context(), x.Caller, id, to)
	body := sheaf.AppendJSON(nil, &d)
	return answer{status: http.StatusOK, body: body, etag: pageTag(body)}, err
}

// released returns the document of a release that the path names.
func (s *Server) released(x *exchange) (sheaf.DocumentText, error) {
	release, err := pathID[sheaf.ReleaseID](x)
	if err != nil {
		return sheaf.DocumentText{}, err
	}
	document, err := pathIDOf[sheaf.DocumentID](x, "document")
	if err != nil {
		return sheaf.DocumentText{}, err
	}
	return s.App.ReleasedDocument(x.Request.Context(), x.Caller, release, document)
}

func (s *Server) releasedDocument(x *exchange) (answer, error) {
	d, err := s.released(x)
	body := sheaf.AppendJSON(nil, &d)
	return answer{status: http.StatusOK, body: body, etag: pageTag(body)}, err
}

// releasedContent answers with the text itself, like getContent.
func (s *Server) releasedContent(x *exchange) (answer, error) {
	format, err := x.textFormat()
	if err != nil {
		return answer{}, err
	}
	d, err := s.released(x)
	if err != nil {
		return answer{}, err
	}
	a := answer{status: http.StatusOK, body: []byte(d.Content), media: markdownType}
	if format == "html" {
		if a, err = s.shownContent(x, d); err != nil {
			return answer{}, err
		}
	}
	a.etag = pageTag(a.body) // a release has no revision of its documents
	return a, nil
}

// releasedMedium answers with the bytes of a medium that a text of the release names.
func (s *Server) releasedMedium(x *exchange) (answer, error) {
	release, err := pathID[sheaf.ReleaseID](x)
	if err != nil {
		return answer{}, err
	}
	id, err := pathIDOf[sheaf.MediumID](x, "medium")
	if err != nil {
		return answer{}, err
	}
	m, err := s.App.ReleasedMedium(x.Request.Context(), x.Caller, release, id)
	return answer{status: http.StatusOK, content: &m, uncached: true}, err
}
