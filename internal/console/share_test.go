package console

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
)

// shares returns the shares of the town.
func (w *town) shares() []sheaf.Share {
	w.Helper()
	page, err := w.a.Shares(w.Context(), w.caller, sheaf.ShareFilter{Paging: sheaf.Paging{Limit: 10}})
	w.must(err)
	return page.Items
}

// A link is made, changed and deleted by forms, without a script.
func TestShare_ByForms(t *testing.T) {
	w := newTown(t)
	const path = "/w/{workspace}/projects/{id}/share"
	if got := w.ask(http.MethodGet, w.address("/w/{workspace}/projects/{id}"), w.owner).Body.String(); !strings.Contains(got, "/share\" data-dialog>Share</a>") {
		t.Error("the page of a project does not lead to its links")
	}
	made := w.send(path, url.Values{"password": {"open sesame"}, "expires": {"7"}, "branding": {w.ids["brandings"]}, "listed": {"yes"}})
	if made.Code != http.StatusSeeOther {
		t.Fatalf("making a link: %d %s", made.Code, made.Body)
	}
	all := w.shares()
	s := all[len(all)-1]
	if len(all) != 2 || s.ResourceType != sheaf.ShareOfProject || s.PasswordHash == "" || s.ExpiresAt == nil || !s.Listed || s.BrandingID == nil {
		t.Fatalf("made %+v", s)
	}
	page := w.ask(http.MethodGet, made.Header().Get("Location"), w.owner).Body.String()
	for _, want := range []string{s.URL, `data-copy="` + s.URL + `"`, "with a password", "listed by search engines", "No views yet", `class="fresh"`, "Create another link", " selected>Branding"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q: %s", want, page)
		}
	}
	w.ids["shares"] = string(s.ID)
	form := w.fieldsOf("/w/{workspace}/projects/"+w.ids["projects"]+"/share", url.Values{"open": {"yes"}, "expires": {"keep"}})
	changed := w.send("/w/{workspace}/shares/{id}", form)
	now := w.shares()[1]
	if changed.Code != http.StatusSeeOther || now.PasswordHash != "" || now.Listed || now.BrandingID != nil || !now.ExpiresAt.Equal(*s.ExpiresAt) {
		t.Errorf("changed: %d %+v", changed.Code, now)
	}
	refused := w.send("/w/{workspace}/shares/{id}", url.Values{"password": {"abc"}, "expires": {""}})
	if body := refused.Body.String(); refused.Code != http.StatusBadRequest || !strings.Contains(body, `role="alert"`) || !strings.Contains(body, `class="more" open`) {
		t.Errorf("a short password: %d %s", refused.Code, body)
	}
	if w.shares()[1].ExpiresAt == nil {
		t.Error("what was refused changed something")
	}
	if gone := w.send("/w/{workspace}/shares/{id}/delete", nil); gone.Code != http.StatusSeeOther || len(w.shares()) != 1 {
		t.Errorf("deleting: %d, %d are left", gone.Code, len(w.shares()))
	}
}

// In the dialog the answer to a form is the dialog with the new link.
func TestShare_InTheDialog(t *testing.T) {
	w := newTown(t)
	r := httptest.NewRequest(http.MethodPost, w.address("/w/{workspace}/documents/{id}/share"), strings.NewReader("expires="))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("HX-Request", "true")
	r.Header.Set("HX-Target", "dialog-body")
	r.AddCookie(&http.Cookie{Name: "sheaf", Value: w.owner})
	got := ask(w.T, w.c, r)
	all := w.shares()
	if body := got.Body.String(); got.Code != http.StatusOK || len(all) != 2 || !strings.Contains(body, all[1].URL) || !strings.Contains(body, `id="dialog-title"`) || strings.Contains(body, "<html") {
		t.Errorf("%d %s", got.Code, body)
	}
}

// A member sees the links and cannot make one. On the free plan nobody can, and the page says why.
func TestShare_WhoMay(t *testing.T) {
	w := newTown(t)
	path := w.address("/w/{workspace}/documents/{id}/share")
	if body := w.ask(http.MethodGet, path, w.member).Body.String(); !strings.Contains(body, w.shares()[0].URL) || strings.Contains(body, "<form method=\"post\" action=\""+path) || strings.Contains(body, "Delete link") {
		t.Errorf("a member sees %s", body)
	}
	_, err := w.a.Operator().SetPlan(w.Context(), w.caller.Workspace, sheaf.Free)
	w.must(err)
	if body := w.ask(http.MethodGet, path, w.owner).Body.String(); !strings.Contains(body, "needs the Pro or Business plan") || strings.Contains(body, "Create link") || !strings.Contains(body, "Delete link") {
		t.Errorf("on the free plan: %s", body)
	}
}

// D110, D185a: a folder of projects is shared by its page, and with others that are selected; a folder
// of another kind is not.
func TestShare_OfAFolderByForms(t *testing.T) {
	w := newTown(t)
	page := w.ask(http.MethodGet, w.address("/w/{workspace}/folders/{id}"), w.owner).Body.String()
	if !strings.Contains(page, "/folders/"+w.ids["folders"]+`/share" data-dialog>Share</a>`) {
		t.Error("the page of a folder does not lead to its links")
	}
	made := w.send("/w/{workspace}/folders/{id}/share", url.Values{"listed": {"yes"}})
	all := w.shares()
	s := all[len(all)-1]
	if made.Code != http.StatusSeeOther || s.ResourceType != sheaf.ShareOfFolder || s.ResourceID != w.ids["folders"] || !s.Listed {
		t.Fatalf("made %d %+v", made.Code, s)
	}
	page = w.ask(http.MethodGet, made.Header().Get("Location"), w.owner).Body.String()
	for _, want := range []string{s.URL, "all projects in this folder and below it", "Create another link"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q: %s", want, page)
		}
	}
	activity := w.ask(http.MethodGet, w.address("/w/{workspace}/activity"), w.owner).Body.String()
	if !strings.Contains(activity, "of the folder") {
		t.Error("the activity does not tell what was shared")
	}
	if got := w.ask(http.MethodGet, w.address("/w/{workspace}/selection/share")+"?item=folder:"+w.ids["folders"], w.owner); got.Code != http.StatusOK {
		t.Errorf("selecting a folder to share: %d %s", got.Code, got.Body)
	}
}
