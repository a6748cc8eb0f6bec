package console

import (
	"context"
	"net/http"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// moveForm is the form that moves a folder, project or branding.
type moveForm struct {
	Noun   string // "folder", "project" or "branding"
	Name   string // of the record
	Action string // the address that the form is sent to
	Places pick
	// The folder and the revision of the record when the form was made.
	From     sheaf.FolderID
	Revision int64
}

// moveFormHandler returns the handler of GET …/{id}/move: it shows the form that `form` returns.
func moveFormHandler[T ~string](noun string, form func(*visit, T) (moveForm, error)) func(*visit) error {
	return func(v *visit) error {
		id, err := id[T](v, noun)
		if err != nil {
			return err
		}
		f, err := form(v, id)
		if err != nil {
			return err
		}
		return v.showWithTree(http.StatusOK, "move", string(id), f)
	}
}

// moveHandler returns the handler of POST …/{id}/move: it moves the record to the folder in a field
// of the form. If that is refused, it shows the form again; a record that was dragged has no form.
// After dragging, the person stays on the page, which follows the change.
func moveHandler[T ~string, R any](noun, field string, form func(*visit, T) (moveForm, error),
	move func(context.Context, app.Caller, T, *sheaf.FolderID, sheaf.Match) (R, error)) func(*visit) error {
	return func(v *visit) error {
		id, err := id[T](v, noun)
		if err != nil {
			return err
		}
		to, err := optID[sheaf.FolderID](v, field, "folder")
		match := sheaf.Match{} // a record that was dragged has no form: the person has just seen where it is
		if err == nil && v.r.PostForm.Has("revision") {
			var revision int64
			revision, err = v.revision()
			match = sheaf.Match{Asked: true, Revisions: []int64{revision}}
		}
		for try := 0; err == nil && try < maxSaveTries; try++ {
			if _, err = move(v.r.Context(), v.caller, id, to.Pointer(), match); sheaf.KindOf(err) != sheaf.PreconditionFailed {
				break
			}
			// Only a move by another person matters. After any other change, try again.
			now, missing := form(v, id)
			if missing != nil {
				err = missing
				break
			}
			err = &sheaf.Error{Kind: sheaf.PreconditionFailed, Code: sheaf.CodePreconditionFailed,
				Text: "Another person moved it while you were choosing, and it has stayed there. The form below shows where it is now: choose again"}
			if string(now.From) == v.field("from") && try+1 < maxSaveTries {
				match.Revisions, err = []int64{now.Revision}, nil
			}
		}
		dragged := v.byScript() && !v.inDialog()
		switch {
		case err != nil && dragged:
			return err
		case err != nil:
			f, missing := form(v, id)
			if missing != nil {
				return missing
			}
			f.Places.choose(v.field(f.Places.Name))
			return v.again("move", f, err)
		case dragged:
			v.WriteHeader(http.StatusNoContent)
			return nil
		}
		return v.done(v.at(noun+"s", string(id)))
	}
}
