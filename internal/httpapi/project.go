package httpapi

import (
	"math"
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

func projectChange(in strict.Object) (sheaf.ProjectChange, error) {
	var c collect
	name, err := in.Text("name")
	out := sheaf.ProjectChange{Name: field(&c, name, err)}
	description, err := in.Text("description")
	out.Description = field(&c, description, err)
	icon, err := in.Text("icon")
	out.Icon = field(&c, icon, err)
	color, err := in.Text("color")
	out.Color = field(&c, color, err)
	folder, err := bodyID[sheaf.FolderID](in, "folder_id")
	out.FolderID = field(&c, folder, err)
	order, err := int32Of(in, "sort_order")
	out.SortOrder = field(&c, order, err)
	visibility, err := in.Text("visibility")
	out.Visibility = field(&c, visibility, err)
	return out, c.err
}

func int32Of(in strict.Object, name string) (sheaf.Opt[int32], error) {
	v, err := in.Int(name, math.MinInt32, math.MaxInt32)
	return sheaf.Opt[int32]{Set: v.Set, Null: v.Null, Value: int32(v.Value)}, err
}

func createdProject(p sheaf.Project) answer {
	a := resource(http.StatusCreated, &p, p.Revision)
	a.location = "/api/v1/projects/" + string(p.ID)
	return a
}

func shownProject(p sheaf.Project) answer { return resource(http.StatusOK, &p, p.Revision) }

func (s *Server) createProject(x *exchange, in strict.Object) (answer, error) {
	change, err := projectChange(in)
	if err != nil {
		return answer{}, err
	}
	return once(x, createdProject, func(c app.Caller) (sheaf.Project, error) {
		return s.App.CreateProject(x.Request.Context(), c, change)
	})
}

func (s *Server) updateProject(x *exchange, in strict.Object) (answer, error) {
	id, err := pathID[sheaf.ProjectID](x)
	if err != nil {
		return answer{}, err
	}
	change, err := projectChange(in)
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

func (s *Server) moveProject(x *exchange, in strict.Object) (answer, error) {
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

// target reads where something is moved: the field must be there, and null is
// the root level.
func target(in strict.Object, name string) (*sheaf.FolderID, error) {
	folder, err := bodyID[sheaf.FolderID](in, name)
	if err == nil && !folder.Set {
		err = sheaf.Invalidf("%s is required: the UUID of a folder, or null for the root level", name)
	}
	return folder.Pointer(), err
}
