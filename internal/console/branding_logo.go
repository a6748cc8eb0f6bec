package console

import (
	"slices"

	"sheaf.dev/internal/sheaf"
)

// The editor of brandings lets choose the logo from the pictures of the library, of which it shows the
// newest, and with a script takes an upload as well. The form has the field only where the person may see
// the library: where it is missing, the logo stays as it is.

// maxLogos is how many pictures the editor shows; the present logo is always among them.
const maxLogos = 48

// logos are the pictures to choose from.
func (v *visit) logos(now string) ([]sheaf.Medium, error) {
	if !v.caller.May(sheaf.MediaRead) {
		return nil, nil
	}
	page, err := v.console.app.Media(v.r.Context(), v.caller, sheaf.MediumFilter{ContentType: "image/", Paging: sheaf.Paging{Limit: maxLogos, Desc: true}})
	if err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(page.Items, func(m sheaf.Medium) bool { return sheaf.CheckLogo(m) != nil })
	id, ok := sheaf.ParseUUID(now)
	if !ok || slices.ContainsFunc(all, func(m sheaf.Medium) bool { return string(m.ID) == id }) {
		return all, nil
	}
	m, err := v.console.app.Medium(v.r.Context(), v.caller, sheaf.MediumID(id))
	if sheaf.KindOf(err) == sheaf.NotFound {
		return all, nil // it was deleted meanwhile: saving the form says so
	}
	return append([]sheaf.Medium{m}, all...), err
}

// withLogos is the form with the pictures to choose from.
func (v *visit) withLogos(f brandingForm) (brandingForm, error) {
	var err error
	f.Picks = v.caller.May(sheaf.MediaRead)
	f.Logos, err = v.logos(f.Logo)
	return f, err
}

// logoField is the logo as a field of the form. A person is shown that there is one, not its identifier.
func logoField(id string) field {
	f := field{Name: "logo", Label: "Logo", Value: id}
	if id != "" {
		f.Shown = "the picture"
	}
	return f
}

// readLogo reads the choice, where the form has one.
func (v *visit) readLogo(change *sheaf.BrandingChange) error {
	if !v.r.PostForm.Has("logo") {
		return nil
	}
	text := v.typed("logo")
	if text == "" {
		change.LogoMediaID = sheaf.Nil[sheaf.MediumID]()
		return nil
	}
	id, ok := sheaf.ParseUUID(text)
	if !ok {
		return sheaf.Missing("medium")
	}
	change.LogoMediaID = sheaf.Some(sheaf.MediumID(id))
	return nil
}
