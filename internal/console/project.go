package console

import (
	"net/http"
	"strconv"
	"time"

	"sheaf.dev/internal/sheaf"
)

// projectPage is the data of project.html.
type projectPage struct {
	Project   sheaf.Project
	Count     int64            // of all documents here
	Changed   time.Time        // the newest change of the project or of a document in it
	Tree      *documentLevel   // the documents as a tree; nil if they are shown as a list
	Documents []sheaf.Document // the list
	List      listing
	Deleted   sheaf.DocumentID // the document that was just deleted
	Removable bool             // the person may delete the project: a restricted person only if it has no documents, and only an admin if it needs review
}

// project answers GET /w/{workspace}/projects/{id}: a project and its documents.
func (c *Console) project(v *visit) error {
	detail, err := find(v, "project", c.app.Project)
	if err != nil {
		return err
	}
	newest, err := c.app.Documents(v.r.Context(), v.caller, sheaf.DocumentFilter{Project: sheaf.Some(detail.ID), Sort: sheaf.DocumentsByUpdated, Paging: sheaf.Paging{Limit: 1, Desc: true}})
	if err != nil {
		return err
	}
	data := projectPage{Project: detail.Project, Count: detail.DocumentCount, Changed: detail.UpdatedAt}
	data.Removable = (detail.Approvals == 0 || v.caller.May(sheaf.ProjectsAdmin)) && mayDelete(v, detail.ID, c.app.ProjectRemoval)
	for _, d := range newest.Items {
		if d.UpdatedAt.After(data.Changed) {
			data.Changed = d.UpdatedAt
		}
	}
	if err := v.listDocuments(&data, sheaf.Some(detail.ID)); err != nil {
		return err
	}
	return v.showWithTree(http.StatusOK, "project", string(detail.ID), data)
}

// looseDocuments answers GET /w/{workspace}/documents: the documents that are in no project.
func (c *Console) looseDocuments(v *visit) error {
	var data projectPage
	if err := v.listDocuments(&data, sheaf.Nil[sheaf.ProjectID]()); err != nil {
		return err
	}
	all, err := c.app.Documents(v.r.Context(), v.caller, sheaf.DocumentFilter{Project: sheaf.Nil[sheaf.ProjectID](), Paging: sheaf.Paging{Limit: 1}})
	if err != nil {
		return err
	}
	data.Count = all.Total
	return v.showWithTree(http.StatusOK, "documents", "", data)
}

// listDocuments reads the documents of a project, or those in none, and the id of the document that
// was just deleted: one click restores it. The documents are a tree, unless the reader filters them
// or chooses another order.
func (v *visit) listDocuments(p *projectPage, of sheaf.Opt[sheaf.ProjectID]) error {
	deleted, _ := sheaf.ParseUUID(v.r.URL.Query().Get("deleted"))
	p.Deleted = sheaf.DocumentID(deleted)
	p.List = v.listing("document", "from", listPage, documentTreeOrders)
	if p.List.Query == "" && p.List.Order.Value == "" {
		tree, err := v.documentTree(&p.List, of.Pointer(), nil)
		p.Tree = &tree
		return err
	}
	if p.List.Query != "" {
		p.List = v.listing("document", "from", listPage, documentOrders)
	}
	page, err := v.console.app.Documents(v.r.Context(), v.caller, sheaf.DocumentFilter{Project: of, Query: p.List.Query,
		Sort: sheaf.DocumentSort(p.List.Order.sort), Paging: p.List.Paging})
	p.Documents = page.Items
	p.List.setResult(page.Total, len(page.Items))
	return err
}

// projectForm is the form of a new project, or of a change.
type projectForm struct {
	ID          sheaf.ProjectID // empty for a new project
	Name        string
	Description string
	Icon        string
	Color       string
	Approvals   int64 // of the review that the project needs; 0: none
	Folder      sheaf.FolderID
	Inside      string
	basis
}

// reviewChoice is an answer to the question whether a project needs review.
type reviewChoice struct {
	Approvals int64
	Text      string
}

// Reviews are the choices of the form.
func (projectForm) Reviews() []reviewChoice {
	return []reviewChoice{{0, "No review: everybody who may write documents changes them directly"}, {1, "Changes need the approval of one other person"},
		{2, "Changes need the approvals of two other people"}, {3, "Changes need the approvals of three other people"}}
}

// fields returns the fields that change the project.
func (f projectForm) fields() []field {
	return []field{{Name: "name", Label: "Name", Value: f.Name}, {Name: "description", Label: "Description", Value: f.Description},
		{Name: "color", Label: "Color", Value: f.Color}, {Name: "icon", Label: "Icon", Value: f.Icon}}
}

// formOfProject returns the form with the project's stored values.
func formOfProject(p sheaf.Project) projectForm {
	f := projectForm{ID: p.ID, Name: p.Name, Description: text(p.Description), Icon: text(p.Icon), Color: text(p.Color), Approvals: p.Approvals}
	f.basis = basis{Revision: p.Revision, Was: f.fields()}
	return f
}

// newProject answers GET /w/{workspace}/projects/new: an empty form.
func (c *Console) newProject(v *visit) error {
	in, err := v.folderIn()
	if err != nil {
		return err
	}
	return v.showWithTree(http.StatusOK, "project-form", "", projectForm{Icon: "file-text", Color: "#2563eb", Folder: in.ID, Inside: in.Name})
}

// projectForm reads the form, and returns the change that it asks for.
func (v *visit) projectForm() (projectForm, sheaf.ProjectChange) {
	f := projectForm{Name: v.typed("name"), Description: v.typed("description"), Icon: v.typed("icon"), Color: v.typed("color"),
		Folder: sheaf.FolderID(v.field("in")), Inside: v.field("inside")}
	f.basis = v.basis(f.fields())
	change := sheaf.ProjectChange{Name: sheaf.Some(f.Name), Description: v.typedOpt("description"), Icon: v.typedOpt("icon"), Color: v.typedOpt("color")}
	switch n, err := strconv.ParseInt(v.field("approvals"), 10, 64); {
	case err != nil: // the form has this field only for people who may decide about it
	case n == 0:
		change.Approvals = sheaf.Nil[int64]()
	default:
		f.Approvals, change.Approvals = n, sheaf.Some(n)
	}
	return f, change
}

// createProject answers POST /w/{workspace}/projects: it makes a project.
func (c *Console) createProject(v *visit) error {
	form, change := v.projectForm()
	var err error
	if change.FolderID, err = optID[sheaf.FolderID](v, "in", "folder"); err != nil {
		return v.again("project-form", form, err)
	}
	p, err := c.app.CreateProject(v.r.Context(), v.caller, change)
	if err != nil {
		return v.again("project-form", form, err)
	}
	return v.done(v.at("projects", string(p.ID)))
}

// editProject answers GET /w/{workspace}/projects/{id}/edit: the form of a project.
func (c *Console) editProject(v *visit) error {
	d, err := find(v, "project", c.app.Project)
	if err != nil {
		return err
	}
	return v.showWithTree(http.StatusOK, "project-form", string(d.ID), formOfProject(d.Project))
}

// updateProject answers POST /w/{workspace}/projects/{id}: it changes a project.
func (c *Console) updateProject(v *visit) error {
	id, err := id[sheaf.ProjectID](v, "project")
	if err != nil {
		return err
	}
	form, change := v.projectForm()
	form.ID = id
	err = v.saveForm(&form.basis, form.fields(), func(m sheaf.Match) error {
		_, err := c.app.UpdateProject(v.r.Context(), v.caller, id, change, m)
		return err
	}, func() (current, error) {
		d, err := c.app.Project(v.r.Context(), v.caller, id)
		return current{string(id), d.Revision, formOfProject(d.Project).fields()}, err
	})
	if err != nil {
		return v.again("project-form", form, err)
	}
	return v.done(v.at("projects", string(id)))
}

// projectMove returns the form that moves a project, with the folders to choose from.
func (v *visit) projectMove(id sheaf.ProjectID) (moveForm, error) {
	d, err := v.console.app.Project(v.r.Context(), v.caller, id)
	if err != nil {
		return moveForm{}, err
	}
	f := moveForm{Noun: "project", Name: d.Name, Action: v.at("projects", string(id), "move"), From: placeOf(d.FolderID), Revision: d.Revision}
	f.Places, err = v.pickFolders(sheaf.ProjectFolder, "", f.From, v.r.URL.Query().Get("q"))
	f.Places.Name = "folder"
	return f, err
}

// projectRemoval is the data of project-delete.html.
type projectRemoval struct {
	sheaf.Project
	Releases int64 // how many are deleted with it
}

// deleteProjectForm answers GET /w/{workspace}/projects/{id}/delete: it asks for confirmation.
func (c *Console) deleteProjectForm(v *visit) error {
	p, err := find(v, "project", c.app.ProjectRemoval)
	if err != nil {
		return err
	}
	releases, err := c.app.Releases(v.r.Context(), v.caller, p.ID, sheaf.ReleaseFilter{Paging: sheaf.Paging{Limit: 1}})
	if err != nil {
		return err
	}
	return v.showWithTree(http.StatusOK, "project-delete", string(p.ID), projectRemoval{p, releases.Total})
}

// deleteProject answers POST /w/{workspace}/projects/{id}/delete: it deletes a project.
func (c *Console) deleteProject(v *visit) error {
	d, err := find(v, "project", c.app.Project)
	if err != nil {
		return err
	}
	v.LiftDeadlines()
	if err := c.app.DeleteProject(v.r.Context(), v.caller, d.ID, sheaf.Match{}); err != nil {
		return err
	}
	return v.done(v.folderAddress(d.FolderID))
}

// chooseProject answers GET /w/{workspace}/projects/choose: the options of a choice of projects,
// for a script that searches.
func (c *Console) chooseProject(v *visit) error {
	q := v.r.URL.Query()
	p, err := v.pickProjects(sheaf.ProjectID(q.Get("now")), q.Get("q"))
	if err != nil {
		return err
	}
	return v.fragment("document-form", "options", p)
}
