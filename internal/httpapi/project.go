package httpapi

import (
	"net/http"

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
	page, err := s.App.Projects(x.Request.Context(), x.Caller, f)
	return pageOf(page), err
}

// projectChange reads the fields of a project. metadata reads its metadata, which differs by method.
func projectChange(in *strict.Fields, metadata metadataReader) (sheaf.ProjectChange, error) {
	return sheaf.ProjectChange{
		Name: in.Text("name"), Description: in.Text("description"), Icon: in.Text("icon"), Color: in.Text("color"),
		FolderID: strict.ID[sheaf.FolderID](in, "folder_id"), SortOrder: in.Int32("sort_order"), Visibility: in.Text("visibility"),
		ExternalID: in.Text("external_id"), URL: in.Text("url"), Metadata: metadata(in), Approvals: in.IntIn("review", "approvals", 1, sheaf.MaxApprovals),
	}, in.Err()
}

func createdProject(p sheaf.Project) answer {
	a := resource(http.StatusCreated, &p, p.Revision)
	a.location = "/api/v1/projects/" + string(p.ID)
	return a
}

func shownDetail(p sheaf.ProjectDetail) answer { return resource(http.StatusOK, &p, p.Revision) }

func shownProject(p sheaf.Project) answer { return resource(http.StatusOK, &p, p.Revision) }

// wholeProject reads the fields of POST and PUT.
func wholeProject(in *strict.Fields) (sheaf.ProjectChange, error) {
	return projectChange(in, wholeMetadata)
}

// projectPatch reads the fields of PATCH.
func projectPatch(in *strict.Fields) (sheaf.ProjectChange, error) {
	return projectChange(in, mergedMetadata)
}
