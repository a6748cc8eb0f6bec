package httpapi

import (
	"net/http"

	"sheaf.dev/internal/app"
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
	page, err := s.App.Folders(x.Request.Context(), x.caller, f)
	return pageOf(page), err
}

func (s *Server) getFolder(x *exchange) (answer, error) {
	id, err := pathID[sheaf.FolderID](x)
	if err != nil {
		return answer{}, err
	}
	f, err := s.App.Folder(x.Request.Context(), x.caller, id)
	return shownFolder(f), err
}

// folderFields reads what PATCH writes.
func folderFields(in *strict.Fields) (sheaf.FolderChange, error) {
	return sheaf.FolderChange{Name: in.Text("name"), Color: in.Text("color"), SortOrder: in.Int32("sort_order"),
		ExternalID: in.Text("external_id")}, in.Err()
}

// wholeFolder reads what POST and PUT write.
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

func (s *Server) createFolder(x *exchange, in *strict.Fields) (answer, error) {
	change, err := wholeFolder(in)
	if err != nil {
		return answer{}, err
	}
	return once(x, createdFolder, func(c app.Caller) (sheaf.Folder, error) {
		return s.App.CreateFolder(x.Request.Context(), c, change)
	})
}

func (s *Server) putFolder(x *exchange, in *strict.Fields) (answer, error) {
	id, err := x.externalID()
	if err != nil {
		return answer{}, err
	}
	change, err := wholeFolder(in)
	if err != nil {
		return answer{}, err
	}
	put, err := s.App.PutFolder(x.Request.Context(), x.caller, id, change, matchOf(x.Request.Header))
	if put.Created {
		return createdFolder(put.Record), err
	}
	return shownFolder(put.Record), err
}

func (s *Server) updateFolder(x *exchange, in *strict.Fields) (answer, error) {
	id, err := pathID[sheaf.FolderID](x)
	if err != nil {
		return answer{}, err
	}
	change, err := folderFields(in)
	if err != nil {
		return answer{}, err
	}
	f, err := s.App.UpdateFolder(x.Request.Context(), x.caller, id, change, matchOf(x.Request.Header))
	return shownFolder(f), err
}

func (s *Server) deleteFolder(x *exchange) (answer, error) {
	id, err := pathID[sheaf.FolderID](x)
	if err != nil {
		return answer{}, err
	}
	x.TakeTime()
	return noContent(s.App.DeleteFolder(x.Request.Context(), x.caller, id, matchOf(x.Request.Header)))
}

func (s *Server) moveFolder(x *exchange, in *strict.Fields) (answer, error) {
	id, err := pathID[sheaf.FolderID](x)
	if err != nil {
		return answer{}, err
	}
	parent, err := target(in, "parent_id")
	if err != nil {
		return answer{}, err
	}
	return once(x, shownFolder, func(c app.Caller) (sheaf.Folder, error) {
		return s.App.MoveFolder(x.Request.Context(), c, id, parent, matchOf(x.Request.Header))
	})
}
