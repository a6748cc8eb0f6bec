package httpapi

import (
	"net/http"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

var entityTypes = map[string]sheaf.EntityType{"project": sheaf.ProjectFolder, "branding": sheaf.BrandingFolder}

func (s *Server) listFolders(x *exchange) (answer, error) {
	var f sheaf.FolderFilter
	var err error
	if f.Paging, err = x.paging(); err != nil {
		return answer{}, err
	}
	if f.EntityType, err = choice(x, "entity_type", entityTypes, "project or branding"); err != nil {
		return answer{}, err
	}
	if f.Parent, err = queryID[sheaf.FolderID](x, "parent_id"); err != nil {
		return answer{}, err
	}
	if f.Query, err = x.search(); err != nil {
		return answer{}, err
	}
	if f.ExternalID, f.UpdatedSince, err = x.references(); err != nil {
		return answer{}, err
	}
	if f.Sort, err = choice(x, "sort", projectSorts, "sort_order, name, created_at or updated_at"); err != nil {
		return answer{}, err
	}
	page, err := s.App.Folders(x.Request.Context(), x.Caller, f)
	return pageOf(page), err
}

// folderFields reads the fields that PATCH can change.
func folderFields(in *strict.Fields) (sheaf.FolderChange, error) {
	return sheaf.FolderChange{Name: in.Text("name"), Color: in.Text("color"), SortOrder: in.Int32("sort_order"),
		ExternalID: in.Text("external_id")}, in.Err()
}

// wholeFolder reads the fields of POST and PUT.
func wholeFolder(in *strict.Fields) (sheaf.FolderChange, error) {
	change, err := folderFields(in)
	if err != nil {
		return change, err
	}
	change.EntityType, change.ParentID = in.Text("entity_type"), strict.ID[sheaf.FolderID](in, "parent_id")
	return change, in.Err()
}

func createdFolder(f sheaf.Folder) answer {
	a := resource(http.StatusCreated, &f, f.Revision)
	a.location = "/api/v1/folders/" + string(f.ID)
	return a
}

func shownFolder(f sheaf.Folder) answer { return resource(http.StatusOK, &f, f.Revision) }
