package console

import (
	"cmp"
	"errors"
	"html/template"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"sheaf.dev/internal/sheaf"
)

// What is wrong with a form stands at its field, in the words of the field's label, and the field has the
// focus. What is wrong with no field of the form stands above it.

// input is how forms show a field of the API: the name of the element, and its label.
type input struct{ name, label string }

// inputs are the fields whose rules a form may break, by the field of an error, or by the noun that was
// not found.
var inputs = map[string]input{
	"name": {"name", "Name"}, "title": {"title", "Title"}, "description": {"description", "Description"}, "content": {"content", "The text"},
	"project_id": {"project", "Project"}, "project": {"project", "Project"}, "folder_id": {"folder", "The folder"}, "parent_id": {"parent", "The folder"},
	"color": {"color", "Colour"}, "icon": {"icon", "Icon"}, "url": {"url", "Address"}, "events": {"event", "The choice of events"},
	"headers": {"headers", "Headers"}, "scopes": {"scope", "What the key may do"}, "expires_at": {"expires", "Expiry"},
	"e-mail": {"email", "E-mail"}, "email": {"email", "E-mail"}, "password": {"password", "The password"}, "again": {"again", "The password"},
	"current": {"current", "The current password"}, "role": {"role", "Role"}, "plan": {"plan", "Plan"}, "filename": {"filename", "Name"},
	"color_primary": {"color", "Color"}, "footer": {"footer", "Footer"}, "font": {"font", "Font"}, "logo_media_id": {"logo", "Logo"}, "medium": {"logo", "Logo"},
}

// formFields are the elements of each page's forms at which a fault is shown.
var formFields = map[string][]string{
	"project-form":  {"name", "description", "color", "icon"},
	"folder-form":   {"name", "color"},
	"document-form": {"title", "project", "description", "content"},
	"webhook-form":  {"name", "url", "event", "headers"},
	"key-form":      {"name", "scope"},
	"invite":        {"email"},
	"setup":         {"email", "password", "again"},
	"invitation":    {"name", "password", "again"},
	"account":       {"name", "current", "password", "again"},
	"settings":      {"name"},
	"branding-form": {"name", "color", "logo", "footer"},
	"move":          {"folder", "parent"},
	"medium-rename": {"filename"},
}

// fault is what is wrong with a form.
type fault struct {
	Text string // a sentence; empty when nothing is
	At   string // the element of the form that it is about; empty where it is none
}

// faultIn is what an error says about a form of that page.
func faultIn(page string, e *sheaf.Error) fault {
	out := fault{Text: sentence(e)}
	if in, ok := inputs[fieldIn(e)]; ok && slices.Contains(formFields[page], in.name) {
		out.At = in.name
	}
	return out
}

// fieldIn returns the key of inputs for the error: its field, or the noun that was not found.
func fieldIn(e *sheaf.Error) string { return cmp.Or(e.Field, e.Noun) }

// faultOf is what a rule says about what was typed, as a sentence; of any other error it is empty.
func faultOf(err error) string {
	var refusal *sheaf.Error
	if !errors.As(err, &refusal) {
		return ""
	}
	return sentence(refusal)
}

// sentence makes a rule's text, which is for the API, one for a page: it calls the field as its label does.
func sentence(e *sheaf.Error) string {
	s := e.Text
	if e.Person != "" {
		s = e.Person
	} else if in, ok := inputs[fieldIn(e)]; ok && e.Kind == sheaf.Invalid {
		s = relabel(s, fieldIn(e), in.label)
	}
	first, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return s
	}
	s = string(unicode.ToUpper(first)) + s[size:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

// relabel puts the label in the place of the field's name, with which the text begins.
func relabel(text, field, label string) string {
	rest, ok := strings.CutPrefix(text, field)
	if !ok || rest != "" && rest[0] != ' ' && rest[0] != ':' {
		return text
	}
	return label + rest
}

// invalid marks the element at which the page's fault is: it has the focus, and its text is read with it.
func invalid(p page, name string) template.HTMLAttr {
	if p.Fault.At != name {
		return ""
	}
	return ` aria-invalid="true" aria-describedby="fault" autofocus` // #nosec G203 -- it is a constant
}
