package console

import (
	"net/http"

	"sheaf.dev/internal/sheaf"
)

// folderPage is the data of folder.html.
type folderPage struct {
	Folder    sheaf.Folder
	Folders   []branch
	Inside    listing // of the folders
	Projects  []sheaf.Project
	Brandings []sheaf.Branding
	Filed     listing // of the projects, or brandings
	Plan      bool    // the plan includes making brandings
	Removable bool    // the person may delete the folder; a restricted person only if it has no projects
}

// Count returns the number of projects or brandings directly in the folder.
func (p folderPage) Count() int64 { return p.Folder.Filed() }

// folder answers GET /w/{workspace}/folders/{id}: the folders in a folder, and its projects or
// brandings.
func (c *Console) folder(v *visit) error {
	f, err := find(v, "folder", c.app.Folder)
	if err != nil {
		return err
	}
	p := folderPage{Folder: f, Plan: v.mayMakeBrandings(), Inside: v.listing("folder", "folders", folderPart, treeOrders),
		Filed: v.listing(string(f.EntityType), "from", listPage, treeOrders)}
	p.Removable = mayDelete(v, f.ID, c.app.FolderRemoval)
	in := sheaf.Some(f.ID)
	if p.Folders, err = v.listFolders(&p.Inside, f.EntityType, in); err != nil {
		return err
	}
	if f.EntityType == sheaf.BrandingFolder {
		p.Brandings, err = v.listBrandings(&p.Filed, in)
	} else {
		p.Projects, err = v.listProjects(&p.Filed, in)
	}
	if err != nil {
		return err
	}
	return v.showWithTree(http.StatusOK, "folder", string(f.ID), p)
}

// folderForm is the form of a new folder, or of a change.
type folderForm struct {
	ID     sheaf.FolderID // empty for a new folder
	Name   string
	Color  string
	Type   sheaf.EntityType
	Parent sheaf.FolderID
	Inside string // the parent's name
	basis
}

// fields returns the fields that change the folder.
func (f folderForm) fields() []field {
	return []field{{Name: "name", Label: "Name", Value: f.Name}, {Name: "color", Label: "Color", Value: f.Color}}
}

// formOfFolder returns the form with the folder's stored values.
func formOfFolder(x sheaf.Folder) folderForm {
	f := folderForm{ID: x.ID, Name: x.Name, Color: x.Color, Type: x.EntityType}
	f.basis = basis{Revision: x.Revision, Was: f.fields()}
	return f
}

// newFolder answers GET /w/{workspace}/folders/new: an empty form.
func (c *Console) newFolder(v *visit) error {
	in, err := v.folderIn()
	if err != nil {
		return err
	}
	f := folderForm{Color: sheaf.DefaultFolderColor, Type: sheaf.ProjectFolder, Parent: in.ID, Inside: in.Name}
	if in.ID != "" {
		f.Type = in.EntityType
	} else if sheaf.EntityType(v.r.URL.Query().Get("type")) == sheaf.BrandingFolder {
		f.Type = sheaf.BrandingFolder
	}
	return v.showWithTree(http.StatusOK, "folder-form", "", f)
}

// folderForm reads the form of a folder.
func (v *visit) folderForm() folderForm {
	f := folderForm{Name: v.typed("name"), Color: v.typed("color"), Type: sheaf.EntityType(v.field("type")),
		Parent: sheaf.FolderID(v.field("in")), Inside: v.field("inside")}
	f.basis = v.basis(f.fields())
	return f
}

// createFolder answers POST /w/{workspace}/folders: it makes a folder.
func (c *Console) createFolder(v *visit) error {
	form := v.folderForm()
	parent, err := optID[sheaf.FolderID](v, "in", "folder")
	if err != nil {
		return v.again("folder-form", form, err)
	}
	f, err := c.app.CreateFolder(v.r.Context(), v.caller, sheaf.FolderChange{Name: sheaf.Some(form.Name), Color: v.typedOpt("color"),
		EntityType: sheaf.Some(string(form.Type)), ParentID: parent})
	if err != nil {
		return v.again("folder-form", form, err)
	}
	return v.done(v.at("folders", string(f.ID)))
}

// editFolder answers GET /w/{workspace}/folders/{id}/edit: the form of a folder.
func (c *Console) editFolder(v *visit) error {
	f, err := find(v, "folder", c.app.Folder)
	if err != nil {
		return err
	}
	return v.showWithTree(http.StatusOK, "folder-form", string(f.ID), formOfFolder(f))
}

// updateFolder answers POST /w/{workspace}/folders/{id}: it changes a folder.
func (c *Console) updateFolder(v *visit) error {
	id, err := id[sheaf.FolderID](v, "folder")
	if err != nil {
		return err
	}
	form := v.folderForm()
	form.ID = id
	change := sheaf.FolderChange{Name: sheaf.Some(form.Name), Color: v.typedOpt("color")}
	err = v.saveForm(&form.basis, form.fields(), func(m sheaf.Match) error {
		_, err := c.app.UpdateFolder(v.r.Context(), v.caller, id, change, m)
		return err
	}, func() (current, error) {
		f, err := c.app.Folder(v.r.Context(), v.caller, id)
		return current{string(id), f.Revision, formOfFolder(f).fields()}, err
	})
	if err != nil {
		return v.again("folder-form", form, err)
	}
	return v.done(v.at("folders", string(id)))
}

// folderMove returns the form that moves a folder, with the folders to choose from.
func (v *visit) folderMove(id sheaf.FolderID) (moveForm, error) {
	f, err := v.console.app.Folder(v.r.Context(), v.caller, id)
	if err != nil {
		return moveForm{}, err
	}
	out := moveForm{Noun: "folder", Name: f.Name, Action: v.at("folders", string(id), "move"), From: placeOf(f.ParentID), Revision: f.Revision}
	out.Places, err = v.pickFolders(f.EntityType, id, out.From, v.r.URL.Query().Get("q"))
	out.Places.Name = "parent"
	return out, err
}

// deleteFolder answers POST /w/{workspace}/folders/{id}/delete: it deletes a folder.
func (c *Console) deleteFolder(v *visit) error {
	f, err := find(v, "folder", c.app.Folder)
	if err != nil {
		return err
	}
	v.LiftDeadlines()
	if err := c.app.DeleteFolder(v.r.Context(), v.caller, f.ID, sheaf.Match{}); err != nil {
		return err
	}
	return v.done(v.folderAddress(f.ParentID))
}

// branch answers GET /w/{workspace}/folders/{id}/branch: the content of a folder that the reader
// opened in the tree.
func (c *Console) branch(v *visit) error {
	id, err := id[sheaf.FolderID](v, "folder")
	if err != nil {
		return err
	}
	t, err := c.app.Branch(v.r.Context(), v.caller, id)
	if err != nil {
		return err
	}
	return v.fragment("folder", "branch-rows", treeView{Tree: t}.level(*t.In[id], "folders/"+string(id)))
}

// chooseFolder answers GET /w/{workspace}/folders/choose: the options of a choice of folders.
func (c *Console) chooseFolder(v *visit) error {
	q := v.r.URL.Query()
	kind := sheaf.ProjectFolder
	if sheaf.EntityType(q.Get("type")) == sheaf.BrandingFolder {
		kind = sheaf.BrandingFolder
	}
	p, err := v.pickFolders(kind, sheaf.FolderID(q.Get("without")), sheaf.FolderID(q.Get("now")), q.Get("q"))
	if err != nil {
		return err
	}
	return v.fragment("move", "options", p)
}
