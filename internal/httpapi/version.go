package httpapi

import (
	"math"
	"net/http"
	"strconv"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// pathVersion returns the id of the document and the number of the version in the path.
func pathVersion(x *exchange) (sheaf.DocumentID, int64, error) {
	id, err := pathID[sheaf.DocumentID](x)
	if err != nil {
		return "", 0, err
	}
	text := x.Request.PathValue("n")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || strconv.FormatInt(n, 10) != text { // one version, one address
		return "", 0, sheaf.InvalidField("n", "the version in the path must be a whole number such as 3")
	}
	return id, n, nil
}

func (s *Server) listVersions(x *exchange) (answer, error) {
	id, err := pathID[sheaf.DocumentID](x)
	if err != nil {
		return answer{}, err
	}
	p, err := x.paging()
	if err != nil {
		return answer{}, err
	}
	p.Desc = x.query.Text("order") != "asc" // the newest first, unless the oldest are asked for
	page, err := s.App.Versions(x.Request.Context(), x.Caller, id, p)
	return pageOf(page), err
}

func (s *Server) getVersion(x *exchange) (answer, error) {
	id, n, err := pathVersion(x)
	if err != nil {
		return answer{}, err
	}
	v, err := s.App.Version(x.Request.Context(), x.Caller, id, n)
	body := sheaf.AppendJSON(nil, &v)
	return answer{status: http.StatusOK, body: body, etag: pageTag(body)}, err
}

func (s *Server) diffVersions(x *exchange) (answer, error) {
	id, n, err := pathVersion(x)
	if err != nil {
		return answer{}, err
	}
	var to *int64
	if x.query.Has("to") {
		m, err := x.query.Int("to", 0, 1, math.MaxInt)
		if err != nil {
			return answer{}, err
		}
		number := int64(m)
		to = &number
	}
	diff, err := s.App.DiffVersions(x.Request.Context(), x.Caller, id, n, to)
	body := []byte(diff)
	return answer{status: http.StatusOK, body: body, media: plainType, etag: pageTag(body)}, err
}

func (s *Server) restoreVersion(x *exchange) (answer, error) {
	id, n, err := pathVersion(x)
	if err != nil {
		return answer{}, err
	}
	return once(x, shownDocument, func(c app.Caller) (sheaf.Document, error) {
		return s.App.RestoreVersion(x.Request.Context(), c, id, n, matchOf(x.Request.Header))
	})
}
