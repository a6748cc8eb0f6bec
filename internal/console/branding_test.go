package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
)

// page returns a page of the workspace as text, for the owner.
func (w *town) page(path string) string {
	w.Helper()
	got := w.ask(http.MethodGet, w.address("/w/{workspace}"+path), w.owner)
	if got.Code != http.StatusOK {
		w.Errorf("%s: %d", path, got.Code)
	}
	return got.Body.String()
}

func (w *town) wantWords(where, text string, words ...string) {
	w.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			w.Errorf("%s lacks %q", where, word)
		}
	}
}

// D119: brandings are made, shown in their folder, changed, chosen as the default and deleted; what
// people write is escaped everywhere.
func TestBranding_FromTheFirstToTheLastPage(t *testing.T) {
	w := newTown(t)
	f, err := w.a.CreateFolder(t.Context(), w.caller, sheaf.FolderChange{Name: sheaf.Some("Customers"), EntityType: sheaf.Some("branding")})
	w.must(err)
	w.wantWords("the empty folder", w.page("/folders/"+string(f.ID)), "0 brandings", "New branding")
	made := w.send("/w/{workspace}/brandings", url.Values{"name": {"<b>Acme</b>"}, "color": {"#ffcc00"}, "font": {"serif"}, "footer": {"<i>©</i>"}, "in": {string(f.ID)}})
	to := made.Header().Get("Location")
	if made.Code != http.StatusSeeOther || !strings.Contains(to, "/brandings/") {
		t.Fatalf("making one: %d to %q", made.Code, to)
	}
	here := strings.TrimPrefix(to, w.address("/w/{workspace}"))
	page := w.page(here)
	w.wantWords("its page", page, "&lt;b&gt;Acme&lt;/b&gt;", `color=%23ffcc00&amp;font=serif&amp;footer=%3Ci%3E%C2%A9%3C%2Fi%3E&amp;name=%3Cb%3EAcme%3C%2Fb%3E&amp;scheme=light"`, "scheme=dark", "Customers")
	if strings.Contains(page, "<b>Acme") || strings.Contains(page, "<i>©") || strings.Contains(page, " style=") {
		t.Error("what was written is not shown as text alone")
	}
	w.wantWords("its folder", w.page("/folders/"+string(f.ID)), "1 branding", "&lt;b&gt;Acme&lt;/b&gt;")
	w.wantWords("the form", w.page(here+"/edit"), `value="#ffcc00"`, `value="serif" checked`)
	w.wantWords("the form of the settings", w.page("/settings"), "Default branding", "&lt;b&gt;Acme&lt;/b&gt;")
	id := strings.TrimPrefix(here, "/brandings/")
	if got := w.send("/w/{workspace}/settings/branding", url.Values{"branding": {id}}); got.Code != http.StatusSeeOther {
		t.Errorf("choosing it: %d", got.Code)
	}
	w.wantWords("the settings", w.page("/settings"), `value="`+id+`" selected`)
	w.wantWords("its page", w.page(here), "Default of the workspace")
	w.wantWords("the question", w.page(here+"/delete"), "default of this workspace")
	if got := w.send("/w/{workspace}"+here+"/delete", nil); got.Code != http.StatusSeeOther || got.Header().Get("Location") != w.address("/w/{workspace}/folders/"+string(f.ID)) {
		t.Errorf("deleting it: %d to %q", got.Code, got.Header().Get("Location"))
	}
	if now, err := w.a.DefaultBranding(t.Context(), w.caller); err != nil || now != nil {
		t.Errorf("the default is %v, %v", now, err)
	}
}

// A page of a share is shown in a frame, with the values of the form, which are not stored. What no branding can have is left
// out. Only pages of this service may show it, and only pages with a preview have frames.
func TestBranding_Preview(t *testing.T) {
	w := newTown(t)
	before := w.everything()
	for query, want := range map[string]string{
		"name=%3Cb%3E&color=%231e3a8a&font=mono&footer=below&scheme=dark": "sample|<b>|#1e3a8a|mono|below||dark",
		"name=&color=red&font=comic&footer=&logo=x":                       "sample|Name|#2563eb|system|||",
		"name=" + strings.Repeat("x", 201):                                "sample||#2563eb|system|||",
	} {
		if got := w.page("/brandings/sample?" + query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	if w.everything() != before {
		t.Error("a preview changed something")
	}
	sample := w.ask(http.MethodGet, w.address("/w/{workspace}/brandings/sample"), w.owner).Header()
	if sample.Get("X-Frame-Options") != "SAMEORIGIN" || sample.Get("Content-Security-Policy") != "default-src 'none'; frame-ancestors 'self'" {
		t.Errorf("its headers are %v", sample)
	}
	for path, frames := range map[string]bool{"/brandings/new": true, "/brandings/{id}": true, "/brandings/{id}/edit": true, "/brandings": false, "/projects": false} {
		got := w.ask(http.MethodGet, w.address("/w/{workspace}"+path), w.owner)
		if policy := got.Header().Get("Content-Security-Policy"); strings.Contains(policy, "frame-src 'self'") != frames || !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("%s has the policy %s", path, policy)
		}
		if strings.Contains(got.Body.String(), "<iframe") != frames {
			t.Errorf("%s has a frame: %v", path, !frames)
		}
	}
}

// If another person changed the branding meanwhile, the form is refused and keeps what was typed.
func TestBranding_ChangedMeanwhile(t *testing.T) {
	w := newTown(t)
	here := "/brandings/" + w.ids["brandings"]
	w.wantWords("the form", w.page(here+"/edit"), `name="revision" value="1"`)
	_, err := w.a.UpdateBranding(t.Context(), w.caller, sheaf.BrandingID(w.ids["brandings"]), sheaf.BrandingChange{Name: sheaf.Some("Theirs")}, sheaf.Match{})
	w.must(err)
	form := url.Values{"name": {"Mine"}, "color": {"#111111"}, "font": {"mono"}, "revision": {"1"}}
	got := w.send("/w/{workspace}"+here, form)
	w.wantWords("the answer", got.Body.String(), "Theirs", `value="Mine"`, `value="#111111"`, `name="revision" value="2"`)
	if got.Code != http.StatusPreconditionFailed {
		t.Errorf("a stale form: %d", got.Code)
	}
	form.Set("revision", "2")
	if again := w.send("/w/{workspace}"+here, form); again.Code != http.StatusSeeOther {
		t.Errorf("saving all the same: %d", again.Code)
	}
	w.wantWords("its page", w.page(here), "Mine", "#111111")
}

// D117: on a smaller plan brandings are shown and can be deleted, and the pages offer no change.
func TestBranding_OnASmallerPlan(t *testing.T) {
	w := newTown(t)
	here := "/brandings/" + w.ids["brandings"]
	w.must(w.a.ChangePlan(t.Context(), w.caller, sheaf.Pro, sheaf.Opt[sheaf.Plan]{}))
	page := w.page(here)
	w.wantWords("its page", page, "needs the Business plan", here+"/delete")
	if strings.Contains(page, here+"/edit") || strings.Contains(w.page("/brandings"), "brandings/new") {
		t.Error("something offers what the plan refuses")
	}
	if got := w.send("/w/{workspace}/brandings", url.Values{"name": {"x"}, "color": {"#111111"}}); got.Code != http.StatusForbidden || !strings.Contains(got.Body.String(), "Business plan") {
		t.Errorf("making one: %d", got.Code)
	}
	if got := w.send("/w/{workspace}"+here+"/delete", nil); got.Code != http.StatusSeeOther {
		t.Errorf("deleting it: %d", got.Code)
	}
}

// The logo is one of the library's pictures. A form without the field does not change it.
func TestBranding_LogoIsChosenFromTheLibrary(t *testing.T) {
	w := newTown(t)
	here, picture := "/brandings/"+w.ids["brandings"], w.ids["media"]
	logo := func() string {
		b, err := w.a.Branding(t.Context(), w.caller, sheaf.BrandingID(w.ids["brandings"]))
		w.must(err)
		if b.LogoMediaID == nil {
			return ""
		}
		return string(*b.LogoMediaID)
	}
	typed := url.Values{"name": {"Branding"}, "color": {"#111111"}, "font": {"mono"}, "footer": {""}}
	form := w.fieldsOf("/w/{workspace}"+here+"/edit", typed)
	form.Set("logo", picture)
	w.wantWords("the form", w.page(here+"/edit"), `name="logo" value="" checked`, `name="logo" value="`+picture+`"`, `alt="picture.gif"`)
	if got := w.send("/w/{workspace}"+here, form); got.Code != http.StatusSeeOther || logo() != picture {
		t.Fatalf("choosing it: %d, %q %s", got.Code, logo(), got.Body)
	}
	w.wantWords("the form", w.page(here+"/edit"), `name="logo" value="`+picture+`" checked`)
	w.wantWords("its page", w.page(here), "logo="+picture)
	w.wantWords("the preview", w.page("/brandings/sample?logo="+picture), "/media/"+picture+"/content")
	if got := w.send("/w/{workspace}"+here, w.fieldsOf("/w/{workspace}"+here+"/edit", typed)); got.Code != http.StatusSeeOther || logo() != picture {
		t.Errorf("a form without the choice: %d, %q", got.Code, logo())
	}
	unknown := w.fieldsOf("/w/{workspace}"+here+"/edit", typed)
	unknown.Set("logo", w.ids["projects"])
	if got := w.send("/w/{workspace}"+here, unknown); got.Code != http.StatusNotFound && got.Code != http.StatusBadRequest || logo() != picture {
		t.Errorf("what is no medium: %d, %q", got.Code, logo())
	}
	none := w.fieldsOf("/w/{workspace}"+here+"/edit", typed)
	none.Set("logo", "")
	if got := w.send("/w/{workspace}"+here, none); got.Code != http.StatusSeeOther || logo() != "" {
		t.Errorf("none: %d, %q", got.Code, logo())
	}
}
