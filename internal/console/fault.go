package console

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"sheaf.dev/internal/sheaf"
)

// A fault of a form is shown at its field, in the words of the field's label, and the field has the
// focus. A fault that is about no field of the form is shown above it.

// input is the element of a form for a field of the API, and its label.
type input struct{ name, label string }

// inputs has the elements by the field of an error, or by the noun that was not found.
var inputs = map[string]input{
	"name": {"name", "Name"}, "title": {"title", "Title"}, "description": {"description", "Description"}, "content": {"content", "The text"},
	"project_id": {"project", "Project"}, "project": {"project", "Project"}, "folder_id": {"folder", "The folder"}, "parent_id": {"parent", "The folder"},
	"color": {"color", "Color"}, "icon": {"icon", "Icon"}, "url": {"url", "Address"}, "events": {"event", "Events"},
	"headers": {"headers", "Headers"}, "scopes": {"scope", "Permissions"}, "restricted_to": {"reach", "Access"}, "expires_at": {"expires", "Expiry"},
	"e-mail": {"email", "Email"}, "email": {"email", "Email"}, "password": {"password", "The password"}, "again": {"again", "The password"},
	"current": {"current", "The current password"}, "code": {"code", "The code"}, "proof": {"proof", "Password or code"}, "role": {"role", "Role"}, "plan": {"plan", "Plan"}, "filename": {"filename", "Name"},
	"color_primary": {"color", "Color"}, "footer": {"footer", "Footer"}, "font": {"font", "Font"}, "logo_media_id": {"logo", "Logo"}, "medium": {"logo", "Logo"},
	"about": {"about", "What you propose"}, "body": {"body", "The comment"}, "note": {"note", "The note"}, "notes": {"notes", "Notes"}, "message": {"message", "The message"},
}

// formFields are the elements of each page's forms that can show a fault.
var formFields = map[string][]string{
	"project-form":         {"name", "description", "color", "icon"},
	"folder-form":          {"name", "color"},
	"release-form":         {"name", "notes"},
	"document-form":        {"title", "project", "description", "content"},
	"document-suggest":     {"about", "message", "title", "description", "content"},
	"document-suggest-act": {"about", "message"},
	"comment-edit":         {"body"},
	"webhook-form":         {"name", "url", "event", "headers"},
	"key-form":             {"name", "scope", "reach"},
	"invite":               {"email", "reach"},
	"member-access":        {"reach"},
	"setup":                {"email", "password", "again"},
	"reset":                {"password", "again"},
	"invitation":           {"name", "password", "again"},
	"account":              {"name", "current", "password", "again", "proof"},
	"second-factor":        {"code", "current"},
	"sign-in-bind":         {"password", "code"},
	"settings":             {"name"},
	"branding-form":        {"name", "color", "logo", "footer"},
	"move":                 {"folder", "parent"},
	"medium-rename":        {"filename"},
}

// fault is what is wrong with a form.
type fault struct {
	Text string // a sentence; empty if nothing is wrong
	At   string // the element of the form that it is about; empty for none
}

// faultIn returns the fault that an error means for a form of the page.
func faultIn(page string, e *sheaf.Error) fault {
	out := fault{Text: sentence(e)}
	if in, ok := inputs[cmp.Or(e.Field, e.Noun)]; ok && slices.Contains(formFields[page], in.name) {
		out.At = in.name
	}
	return out
}

// faultOf returns the text of a *sheaf.Error as a sentence, and "" for any other error.
func faultOf(err error) string {
	var refusal *sheaf.Error
	if !errors.As(err, &refusal) {
		return ""
	}
	return sentence(refusal)
}

// sentence turns the text of an error, which is written for the API, into a sentence for a page. If
// the text begins with the name of a field, it puts the field's label there.
func sentence(e *sheaf.Error) string {
	s, field := e.Text, cmp.Or(e.Field, e.Noun)
	if e.Person != "" {
		s = e.Person
	} else if in, ok := inputs[field]; ok && e.Kind == sheaf.Invalid {
		if rest, begins := strings.CutPrefix(s, field); begins && (rest == "" || rest[0] == ' ' || rest[0] == ':') {
			s = in.label + rest
		}
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

// typedTwice reports whether both fields have the same password. A program may leave out the second
// one.
func (v *visit) typedTwice() bool {
	form := v.r.PostForm
	return !form.Has("again") || form.Get("password") == form.Get("again")
}

var errPasswordsDiffer = sheaf.InvalidField("again", "The two passwords differ. Type the same one twice.")
