package httpapi

import (
	"net/http"

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
	page, err := s.App.Brandings(x.Request.Context(), x.Caller, f)
	return pageOf(page), err
}

// brandingChange reads the fields of a branding.
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
