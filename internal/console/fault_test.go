package console

import (
	"net/url"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
)

// A fault is shown at its field, in the words of its label, and only that field has the focus.
func TestFault_IsShownAtItsFieldWithItsLabel(t *testing.T) {
	w := newTown(t)
	for _, test := range []struct {
		path  string
		form  url.Values
		field string // the element, as its tag begins
		text  string
	}{
		{"/w/{workspace}/webhooks", url.Values{"name": {"n"}, "url": {"http://example.com"}, "event": {"document.created"}}, `<input name="url"`, "Address must begin with https://"},
		{"/w/{workspace}/webhooks", url.Values{"name": {""}, "url": {"https://example.com"}, "event": {"document.created"}}, `<input name="name"`, "Name must not be empty"},
		{"/w/{workspace}/webhooks", url.Values{"name": {"n"}, "url": {"https://example.com"}}, `<fieldset class="picker"`, "Events must name at least one"},
		{"/w/{workspace}/projects", url.Values{"name": {"n"}, "description": {strings.Repeat("x", sheaf.MaxDescription+1)}}, `<textarea name="description"`, "Description has 2001 characters"},
		{"/w/{workspace}/folders", url.Values{"name": {" "}, "type": {"project"}}, `<input name="name"`, "Name must not be empty"},
		{"/w/{workspace}/documents", url.Values{"title": {""}}, `<input name="title"`, "Title must not be empty"},
		{"/w/{workspace}/documents", url.Values{"title": {"t"}, "project": {"01a1ddaf-e289-7866-8c99-5e7007eaccda"}}, `<select id="project"`, "Project not found"},
		{"/w/{workspace}/keys", url.Values{"name": {"n"}}, `<fieldset class="checks"`, "Choose at least one permission"},
		{"/w/{workspace}/members/invite", url.Values{"email": {"nobody"}, "role": {"member"}}, `<input name="email"`, "Email: "},
		{"/w/{workspace}/settings/name", url.Values{"name": {""}}, `<input name="name"`, "Name must not be empty"},
		{"/account/password", url.Values{"current": {"long enough"}, "password": {"short"}, "again": {"short"}}, `<input name="password"`, "The password has 5 bytes"},
		{"/account/password", url.Values{"current": {"long enough"}, "password": {"a"}, "again": {"b"}}, `<input name="again"`, "The two passwords differ"},
	} {
		page := w.sendAs(w.owner, test.path, test.form).Body.String()
		at := strings.Index(page, test.field)
		if at < 0 {
			t.Errorf("%s %v has no %s", test.path, test.form, test.field)
			continue
		}
		tag, _, _ := strings.Cut(page[at:], ">")
		if !strings.Contains(tag, `aria-invalid="true" aria-describedby="fault" autofocus`) || strings.Count(page, " autofocus") != 1 ||
			!strings.Contains(page, `id="fault" class="field-fault" role="alert"`) || !strings.Contains(page, test.text) {
			t.Errorf("%s %v: %s is %s, and the page %s", test.path, test.form, test.text, tag, page)
		}
	}
}

// The error of a move does not use the API's words.
func TestFault_OfAMoveUsesTheWordsOfTheConsole(t *testing.T) {
	w := newTown(t)
	form := w.fieldsOf("/w/{workspace}/folders/{id}/move", url.Values{"parent": {w.ids["folders"]}})
	page := w.sendAs(w.owner, "/w/{workspace}/folders/{id}/move", form).Body.String()
	w.wantIn(page, true, "A folder cannot be within itself")
	w.wantIn(page, false, "arent_id")
}

// A page has an element for the fault of each field in formFields: otherwise a fault would be lost.
func TestFault_EveryFieldHasItsPlace(t *testing.T) {
	for page, fields := range formFields {
		source, err := pageFiles.ReadFile("pages/" + page + ".html")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range fields {
			if page != "move" && !strings.Contains(string(source), `"At" "`+name+`"`) {
				t.Errorf("%s.html has no place for what is wrong with %s", page, name)
			}
		}
		if !strings.Contains(string(source), `{{template "fault" .}}`) {
			t.Errorf("%s.html has no place for other faults", page)
		}
	}
	if got := faultIn("settings", sheaf.InvalidField("color", "color must be a hex color")); got.At != "" {
		t.Errorf("a fault of a field that the form lacks stands at %q", got.At)
	}
}

// The choice of a color has one name, in the form of a project and of a folder.
func TestForms_NameTheColorOnce(t *testing.T) {
	w := newTown(t)
	for _, path := range []string{"projects/new", "projects/" + w.ids["projects"] + "/edit", "folders/new", "folders/" + w.ids["folders"] + "/edit"} {
		form := w.get(path)
		if n := strings.Count(form, "<legend>Color</legend>"); n != 1 || strings.Contains(form, ">Color<span") || strings.Count(form, "Color<") != 1 {
			t.Errorf("%s names the color %d times", path, n)
		}
	}
}
