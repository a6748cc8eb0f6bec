package console

import (
	"context"
	"net/http"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// folderPage is the data of folder.html.
type folderPage struct {
	Folder   sheaf.Folder
	Folders  []branch
	Inside   listing // of the folders
	Projects []sheaf.Project
	Looks    []sheaf.Branding
	Filed    listing // of the projects, or brandings
	Plan     bool    // the plan includes making brandings
}

// Count is how many projects or brandings are right in it.
func (p folderPage) Count() int64 { return p.Folder.Filed() }

// folderOf finds the folder in the path, or NotFound.
func (v *visit) folderOf() (sheaf.Folder, error) {
	id, err := id[sheaf.FolderID](v, "folder")
	if err != nil {
		return sheaf.Folder{}, err
	}
	return v.console.app.Folder(v.r.Context(), v.caller, id)
}

// folder shows what is in a folder.
func (c *Console) folder(v *visit) error {
	f, err := v.folderOf()
	if err != nil {
		return err
	}
	data := folderPage{Folder: f, Plan: v.mayMakeBrandings()}
	if err := v.fillFolder(&data); err != nil {
		return err
	}
	return v.showBeside(http.StatusOK, "folder", string(f.ID), data)
}

// fillFolder reads what is in a folder: folders, and what it is for.
func (v *visit) fillFolder(p *folderPage) (err error) {
	in := sheaf.Some(p.Folder.ID)
	p.Inside, p.Filed = v.shelf("folder", "folders", folderPart), v.shelf(string(p.Folder.EntityType), "from", listPage)
	if p.Folders, err = v.listFolders(&p.Inside, p.Folder.EntityType, in); err != nil {
		return err
	}
	if p.Folder.EntityType == sheaf.BrandingFolder {
		p.Looks, err = v.listBrandings(&p.Filed, in)
		return err
	}
	p.Projects, err = v.listProjects(&p.Filed, in)
	return err
}

// folderForm is for a new folder, or a change of one.
type folderForm struct {
	ID     sheaf.FolderID // empty: a new one
	Name   string
	Color  string
	Type   sheaf.EntityType
	Parent sheaf.FolderID
	Inside string // the parent's name
	basis
}

// fields are those of the form that change the folder.
func (f folderForm) fields() []field {
	return []field{{Name: "name", Label: "Name", Value: f.Name}, {Name: "color", Label: "Colour", Value: f.Color}}
}

// formOfFolder is the form of a folder as it is stored.
func formOfFolder(x sheaf.Folder) folderForm {
	f := folderForm{ID: x.ID, Name: x.Name, Color: x.Color, Type: x.EntityType}
	f.basis = basisOf(x.Revision, f.fields())
	return f
}

// newFolder answers GET /w/{workspace}/folders/new: it shows an empty form.
func (c *Console) newFolder(v *visit) error {
	q := v.r.URL.Query()
	f := folderForm{Color: sheaf.DefaultFolderColor, Type: sheaf.ProjectFolder}
	if sheaf.EntityType(q.Get("type")) == sheaf.BrandingFolder {
		f.Type = sheaf.BrandingFolder
	}
	if parent := q.Get("in"); parent != "" {
		id, ok := sheaf.ParseUUID(parent)
		if !ok {
			return sheaf.Missing("folder")
		}
		in, err := c.app.Folder(v.r.Context(), v.caller, sheaf.FolderID(id))
		if err != nil {
			return err
		}
		f.Parent, f.Inside, f.Type = in.ID, in.Name, in.EntityType
	}
	return v.showBeside(http.StatusOK, "folder-form", "", f)
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
	f, err := c.app.CreateFolder(v.r.Context(), v.caller, sheaf.FolderChange{Name: sheaf.Some(form.Name), Color: v.typedOr("color"),
		EntityType: sheaf.Some(string(form.Type)), ParentID: parent})
	if err != nil {
		return v.again("folder-form", form, err)
	}
	return v.done(v.at("folders", string(f.ID)))
}

// editFolder answers GET /w/{workspace}/folders/{id}/edit: it shows the form of a folder.
func (c *Console) editFolder(v *visit) error {
	f, err := v.folderOf()
	if err != nil {
		return err
	}
	return v.showBeside(http.StatusOK, "folder-form", string(f.ID), formOfFolder(f))
}

// updateFolder answers POST /w/{workspace}/folders/{id}: it changes a folder.
func (c *Console) updateFolder(v *visit) error {
	id, err := id[sheaf.FolderID](v, "folder")
	if err != nil {
		return err
	}
	form := v.folderForm()
	form.ID = id
	change := sheaf.FolderChange{Name: sheaf.Some(form.Name), Color: v.typedOr("color")}
	err = v.saveOver(&form.basis, form.fields(), func(m sheaf.Match) error {
		_, err := c.app.UpdateFolder(v.r.Context(), v.caller, id, change, m)
		return err
	}, func() (present, error) {
		f, err := c.app.Folder(v.r.Context(), v.caller, id)
		return present{string(id), f.Revision, formOfFolder(f).fields()}, err
	})
	if err != nil {
		return v.again("folder-form", form, err)
	}
	return v.done(v.at("folders", string(id)))
}

// moveForm is where a folder or project may go.
type moveForm struct {
	Noun   string // "folder" or "project"
	Name   string // of what is moved
	Action string // the address that the form is sent to
	Places pick
	// From and Revision are where it was, and what, when the form was made.
	From     sheaf.FolderID
	Revision int64
}

// placeOf is the folder's identifier; empty for the root level.
func placeOf(f *sheaf.FolderID) sheaf.FolderID {
	if f == nil {
		return ""
	}
	return *f
}

// folderMove is the form that moves a folder, with every place that it may go to.
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

// asksMove answers GET …/{id}/move of a noun: it asks where to, in the form that form makes.
func asksMove[T ~string](noun string, form func(*visit, T) (moveForm, error)) func(*visit) error {
	return func(v *visit) error {
		id, err := id[T](v, noun)
		if err != nil {
			return err
		}
		f, err := form(v, id)
		if err != nil {
			return err
		}
		return v.showBeside(http.StatusOK, "move", string(id), f)
	}
}

// moves answers POST …/{id}/move of a noun: it moves what has the id to the folder in a field of the
// form, which is shown again when that is refused.
func moves[T ~string, R any](noun, field string, form func(*visit, T) (moveForm, error),
	move func(context.Context, app.Caller, T, *sheaf.FolderID, sheaf.Match) (R, error)) func(*visit) error {
	return func(v *visit) error {
		id, err := id[T](v, noun)
		if err != nil {
			return err
		}
		to, err := optID[sheaf.FolderID](v, field, "folder")
		if err == nil {
			err = v.moveFrom(func(m sheaf.Match) error {
				_, err := move(v.r.Context(), v.caller, id, to.Pointer(), m)
				return err
			}, func() (moveForm, error) { return form(v, id) })
		}
		if err != nil {
			return v.moveAgain(err, func() (moveForm, error) { return form(v, id) })
		}
		return v.moved(noun+"s", string(id))
	}
}

// moveFrom moves something from where it was when its form was made. When somebody moved it meanwhile,
// it stays there, and the error says so; any other change is no matter. What is dragged has no form: the
// person has just seen where it is.
func (v *visit) moveFrom(move func(sheaf.Match) error, now func() (moveForm, error)) error {
	if !v.r.PostForm.Has("revision") {
		return move(sheaf.Match{})
	}
	revision, err := v.revision()
	for range maxOver {
		if err != nil {
			return err
		}
		err = move(sheaf.Match{Asked: true, Revisions: []int64{revision}})
		if sheaf.KindOf(err) != sheaf.PreconditionFailed {
			return err
		}
		present, missing := now()
		if missing != nil {
			return missing
		}
		if string(present.From) != v.field("from") {
			break
		}
		revision, err = present.Revision, nil
	}
	return &sheaf.Error{Kind: sheaf.PreconditionFailed, Code: sheaf.CodePreconditionFailed,
		Text: "Somebody moved it while you were choosing, and it stays there for now. Below is where it is: choose again"}
}

// moveAgain shows the form of a refused move; one that was dragged has none.
func (v *visit) moveAgain(err error, form func() (moveForm, error)) error {
	if !v.inDialog() && v.byScript() {
		return err
	}
	f, missing := form()
	if missing != nil {
		return missing
	}
	f.Places.choose(v.field(f.Places.Name))
	return v.again("move", f, err)
}

// moved ends a move: who dragged stays on the page, which follows the change.
func (v *visit) moved(path ...string) error {
	if v.byScript() && !v.inDialog() {
		v.WriteHeader(http.StatusNoContent)
		return nil
	}
	return v.done(v.at(path...))
}

// deleteFolderForm answers GET /w/{workspace}/folders/{id}/delete: it asks whether to delete a
// folder, and says what goes with it.
func (c *Console) deleteFolderForm(v *visit) error {
	id, err := id[sheaf.FolderID](v, "folder")
	if err != nil {
		return err
	}
	removal, err := c.app.FolderRemoval(v.r.Context(), v.caller, id)
	if err != nil {
		return err
	}
	return v.showBeside(http.StatusOK, "folder-delete", string(id), removal)
}

// deleteFolder answers POST /w/{workspace}/folders/{id}/delete: it deletes a folder.
func (c *Console) deleteFolder(v *visit) error {
	f, err := v.folderOf()
	if err != nil {
		return err
	}
	v.TakeTime()
	if err := c.app.DeleteFolder(v.r.Context(), v.caller, f.ID, sheaf.Match{}); err != nil {
		return err
	}
	return v.done(v.inside(f.ParentID))
}

// inside is the page of a folder, or of the root level.
func (v *visit) inside(f *sheaf.FolderID) string {
	if f == nil {
		return v.at("projects")
	}
	return v.at("folders", string(*f))
}
