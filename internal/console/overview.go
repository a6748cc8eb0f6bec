package console

import (
	"net/http"

	"sheaf.dev/internal/sheaf"
)

// overviewPage is the data of overview.html.
type overviewPage struct {
	Folders []branch
	Inside  listing         // of the folders
	Roots   []sheaf.Project // at the root level, or those anywhere that the query finds
	Filed   listing         // of the projects
	Loose   int64           // documents in no project
	Steps   steps
}

// overview answers GET /w/{workspace}/projects: the folders and projects at the root level. A query
// finds those of that name at any level.
func (c *Console) overview(v *visit) error {
	loose, err := c.app.Documents(v.r.Context(), v.caller, sheaf.DocumentFilter{Project: sheaf.Nil[sheaf.ProjectID](), Paging: sheaf.Paging{Limit: 1}})
	if err != nil {
		return err
	}
	p := overviewPage{Loose: loose.Total, Inside: v.listing("folder", "folders", folderPart, treeOrders), Filed: v.listing("project", "from", listPage, treeOrders)}
	in := sheaf.Nil[sheaf.FolderID]()
	if p.Filed.Query != "" {
		in = sheaf.Opt[sheaf.FolderID]{}
	}
	if p.Folders, err = v.listFolders(&p.Inside, sheaf.ProjectFolder, in); err != nil {
		return err
	}
	if p.Roots, err = v.listProjects(&p.Filed, in); err != nil {
		return err
	}
	if p.Steps, err = v.firstSteps(); err != nil {
		return err
	}
	return v.showWithTree(http.StatusOK, "overview", "", p)
}
