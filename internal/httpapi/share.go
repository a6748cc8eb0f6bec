package httpapi

import (
	"net/http"

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
			return answer{}, sheaf.InvalidField("resource_id", "resource_id must be a UUID: the id of a document, a project or a folder")
		}
		f.ResourceID = id
	}
	page, err := s.App.Shares(x.Request.Context(), x.Caller, f)
	return pageOf(page), err
}

// shareChange reads the fields of a share that can be changed.
func shareChange(in *strict.Fields) (sheaf.ShareChange, error) {
	return sheaf.ShareChange{Password: in.Text("password"), ExpiresAt: in.Time("expires_at"),
		BrandingID: strict.ID[sheaf.BrandingID](in, "branding_id"), Listed: in.Bool("listed"),
		Release: in.Text("release"), ShowReleases: in.Bool("show_releases")}, in.Err()
}

// newShare reads the fields of a new share.
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
