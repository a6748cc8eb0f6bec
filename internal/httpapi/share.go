package httpapi

import (
	"net/http"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

func (s *Server) listShares(x *exchange) (answer, error) {
	var f sheaf.ShareFilter
	var err error
	if f.Paging, err = x.paging(); err != nil {
		return answer{}, err
	}
	if x.query.Has("resource_id") {
		id, ok := sheaf.ParseUUID(x.query.Text("resource_id"))
		if !ok {
			return answer{}, sheaf.InvalidField("resource_id", "resource_id must be a UUID: the id of a document or a project")
		}
		f.ResourceID = id
	}
	page, err := s.App.Shares(x.Request.Context(), x.caller, f)
	return pageOf(page), err
}

func (s *Server) getShare(x *exchange) (answer, error) {
	id, err := pathID[sheaf.ShareID](x)
	if err != nil {
		return answer{}, err
	}
	share, err := s.App.Share(x.Request.Context(), x.caller, id)
	return shownShare(share), err
}

// shareChange reads what a client writes.
func shareChange(in *strict.Fields) (sheaf.ShareChange, error) {
	return sheaf.ShareChange{Password: in.Text("password"), ExpiresAt: in.Time("expires_at"),
		BrandingID: strict.ID[sheaf.BrandingID](in, "branding_id"), Listed: in.Bool("listed")}, in.Err()
}

// newShare reads a share that is to be made.
func newShare(in *strict.Fields) (sheaf.ShareChange, error) {
	kind, id := in.Text("resource_type"), strict.ID[string](in, "resource_id")
	change, err := shareChange(in)
	change.ResourceType, change.ResourceID = kind, id
	return change, err
}

func createdShare(s sheaf.Share) answer {
	a := resource(http.StatusCreated, &s, s.Revision)
	a.location = "/api/v1/shares/" + string(s.ID)
	return a
}

func shownShare(s sheaf.Share) answer { return resource(http.StatusOK, &s, s.Revision) }

func (s *Server) createShare(x *exchange, in *strict.Fields) (answer, error) {
	change, err := newShare(in)
	if err != nil {
		return answer{}, err
	}
	return once(x, createdShare, func(c app.Caller) (sheaf.Share, error) {
		return s.App.CreateShare(x.Request.Context(), c, change)
	})
}

func (s *Server) updateShare(x *exchange, in *strict.Fields) (answer, error) {
	id, err := pathID[sheaf.ShareID](x)
	if err != nil {
		return answer{}, err
	}
	change, err := shareChange(in)
	if err != nil {
		return answer{}, err
	}
	share, err := s.App.UpdateShare(x.Request.Context(), x.caller, id, change, matchOf(x.Request.Header))
	return shownShare(share), err
}

func (s *Server) deleteShare(x *exchange) (answer, error) {
	id, err := pathID[sheaf.ShareID](x)
	if err != nil {
		return answer{}, err
	}
	return noContent(s.App.DeleteShare(x.Request.Context(), x.caller, id, matchOf(x.Request.Header)))
}
