package console

import (
	"net/http"

	"sheaf.dev/internal/sheaf"
)

// projectPage is the data of project.html.
type projectPage struct {
	Project   sheaf.Project
	Documents []sheaf.Document
	List      listing
	Deleted   sheaf.DocumentID // the document that was just deleted
}

// projectOf finds the project in the path, or NotFound.
func (v *visit) projectOf() (sheaf.ProjectDetail, error) {
	id, err := id[sheaf.ProjectID](v, "project")
	if err != nil {
		return sheaf.ProjectDetail{}, err
	}
	return v.console.app.Project(v.r.Context(), v.caller, id)
}

// project shows a project and its documents.
func (c *Console) project(v *visit) error {
	detail, err := v.projectOf()
	if err != nil {
		return err
	}
	data := projectPage{Project: detail.Project, Deleted: v.deleted()}
	if err := v.listDocuments(&data, sheaf.Some(detail.ID)); err != nil {
		return err
	}
	return v.showBeside(http.StatusOK, "project", string(detail.ID), data)
}

// listDocuments fills in the documents of a project, or those that are in none.
func (v *visit) listDocuments(p *projectPage, of sheaf.Opt[sheaf.ProjectID]) error {
	p.List = v.listing("document", "from", listPage, documentOrders)
	page, err := v.console.app.Documents(v.r.Context(), v.caller, sheaf.DocumentFilter{Project: of, Query: p.List.Query,
		Sort: sheaf.DocumentSort(p.List.Order.sort), Paging: p.List.Paging})
	p.Documents = page.Items
	p.List.has(page.Total, len(page.Items))
	return err
}

// projectForm is for a new project, or a change of one.
type projectForm struct {
	ID          sheaf.ProjectID // empty: a new one
	Name        string
	Description string
	Icon        string
	Color       string
	Folder      sheaf.FolderID
	Inside      string
	basis
}

// fields are those of the form that change the project.
func (f projectForm) fields() []field {
	return []field{{Name: "name", Label: "Name", Value: f.Name}, {Name: "description", Label: "Description", Value: f.Description},
		{Name: "color", Label: "Colour", Value: f.Color}, {Name: "icon", Label: "Icon", Value: f.Icon}}
}

// formOfProject is the form of a project as it is stored.
func formOfProject(p sheaf.Project) projectForm {
	f := projectForm{ID: p.ID, Name: p.Name, Description: text(p.Description), Icon: text(p.Icon), Color: text(p.Color)}
	f.basis = basisOf(p.Revision, f.fields())
	return f
}

// newProject answers GET /w/{workspace}/projects/new: it shows an empty form.
func (c *Console) newProject(v *visit) error {
	f := projectForm{Icon: "file-text", Color: "#2563eb"}
	if folder := v.r.URL.Query().Get("in"); folder != "" {
		id, ok := sheaf.ParseUUID(folder)
		if !ok {
			return sheaf.Missing("folder")
		}
		in, err := c.app.Folder(v.r.Context(), v.caller, sheaf.FolderID(id))
		if err != nil {
			return err
		}
		f.Folder, f.Inside = in.ID, in.Name
	}
	return v.showBeside(http.StatusOK, "project-form", "", f)
}

// projectForm reads the form of a project.
func (v *visit) projectForm() (projectForm, sheaf.ProjectChange) {
	f := projectForm{Name: v.typed("name"), Description: v.typed("description"), Icon: v.typed("icon"), Color: v.typed("color"),
		Folder: sheaf.FolderID(v.field("in")), Inside: v.field("inside")}
	f.basis = v.basis(f.fields())
	return f, sheaf.ProjectChange{Name: sheaf.Some(f.Name), Description: v.typedOr("description"), Icon: v.typedOr("icon"), Color: v.typedOr("color")}
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

// editProject answers GET /w/{workspace}/projects/{id}/edit: it shows the form of a project.
func (c *Console) editProject(v *visit) error {
	d, err := v.projectOf()
	if err != nil {
		return err
	}
	return v.showBeside(http.StatusOK, "project-form", string(d.ID), formOfProject(d.Project))
}

// updateProject answers POST /w/{workspace}/projects/{id}: it changes a project.
func (c *Console) updateProject(v *visit) error {
	id, err := id[sheaf.ProjectID](v, "project")
	if err != nil {
		return err
	}
	form, change := v.projectForm()
	form.ID = id
	err = v.saveOver(&form.basis, form.fields(), func(m sheaf.Match) error {
		_, err := c.app.UpdateProject(v.r.Context(), v.caller, id, change, m)
		return err
	}, func() (present, error) {
		d, err := c.app.Project(v.r.Context(), v.caller, id)
		return present{string(id), d.Revision, formOfProject(d.Project).fields()}, err
	})
	if err != nil {
		return v.again("project-form", form, err)
	}
	return v.done(v.at("projects", string(id)))
}

// projectMove is the form that moves a project, with every place that it may go to.
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

// deleteProjectForm answers GET /w/{workspace}/projects/{id}/delete: it asks whether to delete a
// project.
func (c *Console) deleteProjectForm(v *visit) error {
	d, err := v.projectOf()
	if err != nil {
		return err
	}
	return v.showBeside(http.StatusOK, "project-delete", string(d.ID), d.Project)
}

// deleteProject answers POST /w/{workspace}/projects/{id}/delete: it deletes a project.
func (c *Console) deleteProject(v *visit) error {
	d, err := v.projectOf()
	if err != nil {
		return err
	}
	v.TakeTime()
	if err := c.app.DeleteProject(v.r.Context(), v.caller, d.ID, sheaf.Match{}); err != nil {
		return err
	}
	return v.done(v.inside(d.FolderID))
}
