package httpapi

import (
	"net/http"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

func (s *Server) listBrandings(x *exchange) (answer, error) {
	var f sheaf.BrandingFilter
	var err error
	if f.Paging, err = x.paging(); err != nil {
		return answer{}, err
	}
	if f.Folder, err = queryID[sheaf.FolderID](x, "folder_id"); err != nil {
		return answer{}, err
	}
	if f.Query, err = x.search(); err != nil {
		return answer{}, err
	}
	if f.UpdatedSince, err = x.since("updated_since"); err != nil {
		return answer{}, err
	}
	if f.Sort, err = choice(x, "sort", projectSorts, "sort_order, name, created_at or updated_at"); err != nil {
		return answer{}, err
	}
	page, err := s.App.Brandings(x.Request.Context(), x.caller, f)
	return pageOf(page), err
}

func (s *Server) getBranding(x *exchange) (answer, error) {
	id, err := pathID[sheaf.BrandingID](x)
	if err != nil {
		return answer{}, err
	}
	b, err := s.App.Branding(x.Request.Context(), x.caller, id)
	return shownBranding(b), err
}

// brandingChange reads what a client writes.
func brandingChange(in *strict.Fields) (sheaf.BrandingChange, error) {
	return sheaf.BrandingChange{Name: in.Text("name"), FolderID: strict.ID[sheaf.FolderID](in, "folder_id"),
		LogoMediaID: strict.ID[sheaf.MediumID](in, "logo_media_id"), ColorPrimary: in.Text("color_primary"), Font: in.Text("font"),
		Footer: in.Text("footer"), SortOrder: in.Int32("sort_order")}, in.Err()
}

func createdBranding(b sheaf.Branding) answer {
	a := resource(http.StatusCreated, &b, b.Revision)
	a.location = "/api/v1/brandings/" + string(b.ID)
	return a
}

func shownBranding(b sheaf.Branding) answer { return resource(http.StatusOK, &b, b.Revision) }

func (s *Server) createBranding(x *exchange, in *strict.Fields) (answer, error) {
	change, err := brandingChange(in)
	if err != nil {
		return answer{}, err
	}
	return once(x, createdBranding, func(c app.Caller) (sheaf.Branding, error) {
		return s.App.CreateBranding(x.Request.Context(), c, change)
	})
}

func (s *Server) updateBranding(x *exchange, in *strict.Fields) (answer, error) {
	id, err := pathID[sheaf.BrandingID](x)
	if err != nil {
		return answer{}, err
	}
	change, err := brandingChange(in)
	if err != nil {
		return answer{}, err
	}
	b, err := s.App.UpdateBranding(x.Request.Context(), x.caller, id, change, matchOf(x.Request.Header))
	return shownBranding(b), err
}

func (s *Server) deleteBranding(x *exchange) (answer, error) {
	id, err := pathID[sheaf.BrandingID](x)
	if err != nil {
		return answer{}, err
	}
	return noContent(s.App.DeleteBranding(x.Request.Context(), x.caller, id, matchOf(x.Request.Header)))
}

func (s *Server) moveBranding(x *exchange, in *strict.Fields) (answer, error) {
	id, err := pathID[sheaf.BrandingID](x)
	if err != nil {
		return answer{}, err
	}
	folder, err := target(in, "folder_id")
	if err != nil {
		return answer{}, err
	}
	return once(x, shownBranding, func(c app.Caller) (sheaf.Branding, error) {
		return s.App.MoveBranding(x.Request.Context(), c, id, folder, matchOf(x.Request.Header))
	})
}
