package console

import (
	"net/http"
	"net/url"
	"testing"

	"sheaf.dev/internal/sheaf"
)

// D177: an owner sets the review of a project with its form. Then its documents are suggested, and not
// written, by every role, and an editor who saves the project's form keeps the review.
func TestReview_InTheConsole(t *testing.T) {
	w := newTown(t)
	const project, document = "/w/{workspace}/projects/{id}", "/w/{workspace}/documents/{id}"
	editor := w.join("ed@example.com", "Ed", sheaf.Editor)
	open := w.fieldsOf(document+"/edit", url.Values{"title": {"Written"}, "content": {"later\n"}})
	page := func(token, path string) string {
		t.Helper()
		got := w.ask(http.MethodGet, w.address(path), token)
		if got.Code != http.StatusOK {
			t.Fatalf("%s: %d", path, got.Code)
		}
		return got.Body.String()
	}
	typed := url.Values{"name": {"Reviewed"}, "description": {""}, "icon": {""}, "color": {""}}
	w.wantIn(page(editor, project+"/edit"), false, "approvals")
	w.wantIn(page(w.owner, document), true, "documents/"+w.ids["documents"]+"/edit")

	form := w.fieldsOf(project+"/edit", typed)
	form.Set("approvals", "2")
	if got := w.sendAs(w.owner, project, form); got.Code != http.StatusSeeOther || w.project().Approvals != 2 {
		t.Fatalf("%d, and %d approvals", got.Code, w.project().Approvals)
	}
	w.wantIn(page(w.owner, project+"/edit"), true, `<option value="2" selected>`)
	w.wantIn(page(editor, project), true, "changes need review")
	w.wantIn(page(editor, project), false, "/documents/new?in=")
	for _, token := range []string{w.owner, editor} {
		w.wantIn(page(token, document), true, "/suggest")
		w.wantIn(page(token, document), false, "documents/"+w.ids["documents"]+"/edit", "documents/"+w.ids["documents"]+"/delete")
	}
	// Somebody had the editor open.
	got := w.sendAs(w.owner, document, open)
	if got.Code != http.StatusForbidden {
		t.Errorf("saved with %d", got.Code)
	}
	w.wantIn(got.Body.String(), true, "suggest the change as a proposal", "later")

	if got := w.sendAs(editor, project, w.fieldsOf(project+"/edit", typed)); got.Code != http.StatusSeeOther || w.project().Approvals != 2 {
		t.Errorf("an editor: %d, and %d approvals", got.Code, w.project().Approvals)
	}
	form = w.fieldsOf(project+"/edit", typed)
	form.Set("approvals", "0")
	if got := w.sendAs(w.owner, project, form); got.Code != http.StatusSeeOther || w.project().Approvals != 0 {
		t.Errorf("lifted: %d, and %d approvals", got.Code, w.project().Approvals)
	}
}
