package httpapi

import (
	"net/http"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

var projectSorts = map[string]sheaf.ProjectSort{"sort_order": sheaf.ByOrder, "name": sheaf.ByName,
	"created_at": sheaf.ByCreated, "updated_at": sheaf.ByUpdated}

func (s *Server) listProjects(x *exchange) (answer, error) {
	var f sheaf.ProjectFilter
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
	if f.ExternalID, f.UpdatedSince, err = x.references(); err != nil {
		return answer{}, err
	}
	if f.Sort, err = choice(x, "sort", projectSorts, "sort_order, name, created_at or updated_at"); err != nil {
		return answer{}, err
	}
	page, err := s.App.Projects(x.Request.Context(), x.caller, f)
	return pageOf(page), err
}

func (s *Server) getProject(x *exchange) (answer, error) {
	id, err := pathID[sheaf.ProjectID](x)
	if err != nil {
		return answer{}, err
	}
	p, err := s.App.Project(x.Request.Context(), x.caller, id)
	return resource(http.StatusOK, &p, p.Revision), err
}

// projectChange reads what a client writes; metadata does so as it is written by this method.
func projectChange(in *strict.Fields, metadata metadataReader) (sheaf.ProjectChange, error) {
	return sheaf.ProjectChange{
		Name: in.Text("name"), Description: in.Text("description"), Icon: in.Text("icon"), Color: in.Text("color"),
		FolderID: strict.ID[sheaf.FolderID](in, "folder_id"), SortOrder: in.Int32("sort_order"), Visibility: in.Text("visibility"),
		ExternalID: in.Text("external_id"), URL: in.Text("url"), Metadata: metadata(in),
	}, in.Err()
}

func createdProject(p sheaf.Project) answer {
	a := resource(http.StatusCreated, &p, p.Revision)
	a.location = "/api/v1/projects/" + string(p.ID)
	return a
}

func shownProject(p sheaf.Project) answer { return resource(http.StatusOK, &p, p.Revision) }

func (s *Server) createProject(x *exchange, in *strict.Fields) (answer, error) {
	change, err := projectChange(in, wholeMetadata)
	if err != nil {
		return answer{}, err
	}
	return once(x, createdProject, func(c app.Caller) (sheaf.Project, error) {
		return s.App.CreateProject(x.Request.Context(), c, change)
	})
}

func (s *Server) putProject(x *exchange, in *strict.Fields) (answer, error) {
	id, err := x.externalID()
	if err != nil {
		return answer{}, err
	}
	change, err := projectChange(in, wholeMetadata)
	if err != nil {
		return answer{}, err
	}
	put, err := s.App.PutProject(x.Request.Context(), x.caller, id, change, matchOf(x.Request.Header))
	if put.Created {
		return createdProject(put.Record), err
	}
	return shownProject(put.Record), err
}

func (s *Server) updateProject(x *exchange, in *strict.Fields) (answer, error) {
	id, err := pathID[sheaf.ProjectID](x)
	if err != nil {
		return answer{}, err
	}
	change, err := projectChange(in, mergedMetadata)
	if err != nil {
		return answer{}, err
	}
	p, err := s.App.UpdateProject(x.Request.Context(), x.caller, id, change, matchOf(x.Request.Header))
	return shownProject(p), err
}

func (s *Server) deleteProject(x *exchange) (answer, error) {
	id, err := pathID[sheaf.ProjectID](x)
	if err != nil {
		return answer{}, err
	}
	x.TakeTime()
	return noContent(s.App.DeleteProject(x.Request.Context(), x.caller, id, matchOf(x.Request.Header)))
}

func (s *Server) moveProject(x *exchange, in *strict.Fields) (answer, error) {
	id, err := pathID[sheaf.ProjectID](x)
	if err != nil {
		return answer{}, err
	}
	folder, err := target(in, "folder_id")
	if err != nil {
		return answer{}, err
	}
	return once(x, shownProject, func(c app.Caller) (sheaf.Project, error) {
		return s.App.MoveProject(x.Request.Context(), c, id, folder, matchOf(x.Request.Header))
	})
}

// target reads where something is moved: the field must be there, and null is the root level.
func target(in *strict.Fields, name string) (*sheaf.FolderID, error) {
	folder := strict.ID[sheaf.FolderID](in, name)
	if !folder.Set {
		in.Refuse(sheaf.InvalidField(name, "%s is required: the UUID of a folder, or null for the root level", name))
	}
	return folder.Pointer(), in.Err()
}
