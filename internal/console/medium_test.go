package console

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
)

// pixel is the smallest picture: a GIF of one pixel.
const pixel = "GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"

// upload sends a file as the script does.
func (w *town) upload(token, name, content string) (status int, body string) {
	w.Helper()
	got := w.ask(http.MethodPost, w.address("/w/{workspace}/media")+"?filename="+url.QueryEscape(name), token, func(r *http.Request) {
		r.Header.Set("HX-Request", "true")
		r.Header.Set("Content-Type", "image/gif")
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(content)), int64(len(content))
	})
	return got.Code, got.Body.String()
}

// media returns the files of the town.
func (w *town) media() []sheaf.Medium {
	w.Helper()
	page, err := w.a.Media(w.Context(), w.caller, sheaf.MediumFilter{Paging: sheaf.Paging{Limit: 100}})
	w.must(err)
	return page.Items
}

// D103: a file is uploaded by a script and by a form, shown with its Markdown, and deleted.
func TestMedia_UploadShowDelete(t *testing.T) {
	w := newTown(t)
	before := len(w.media())
	status, card := w.upload(w.owner, `a [b] "c".gif`, pixel)
	all := w.media()
	if status != http.StatusOK || len(all) != before+1 {
		t.Fatalf("%d %s", status, card)
	}
	m := all[len(all)-1]
	w.wantIn(card, true, `data-markdown="![a \[b\] &#34;c&#34;](media:`+string(m.ID)+`)"`, "1 × 1")
	w.wantIn(card, false, "<html")

	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	w.must(parts.WriteField("other", "field"))
	part, err := parts.CreateFormFile("file", "notes.txt")
	w.must(err)
	_, err = io.WriteString(part, "plain words")
	w.must(err)
	w.must(parts.Close())
	got := w.ask(http.MethodPost, w.address("/w/{workspace}/media"), w.owner, func(r *http.Request) {
		r.Header.Set("Content-Type", parts.FormDataContentType())
		r.Body, r.ContentLength = io.NopCloser(&form), int64(form.Len())
	})
	if got.Code != http.StatusSeeOther || len(w.media()) != before+2 {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	page := w.ask(http.MethodGet, w.address("/w/{workspace}/media"), w.owner).Body.String()
	w.wantIn(page, true, "notes.txt", "11 bytes", `<img src="`+w.address("/w/{workspace}/media/")+string(m.ID)+`/content"`)
	w.wantIn(w.ask(http.MethodGet, w.address("/w/{workspace}/media")+"?kind=image/", w.owner).Body.String(), false, "notes.txt")
	w.wantIn(w.ask(http.MethodGet, w.address("/w/{workspace}/media"), w.member).Body.String(), false, "/delete", `id="upload"`)
	if got := w.ask(http.MethodPost, w.address("/w/{workspace}/media/")+string(m.ID)+"/delete", w.owner); got.Code != http.StatusSeeOther || len(w.media()) != before+1 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// A form without a file, a file that is too large, and one from a person who may not upload, are
// not stored.
func TestMedia_WhatIsRefusedKeepsNothing(t *testing.T) {
	w := newTown(t)
	before := len(w.media())
	for name, test := range map[string]struct {
		token, file, content string
		want                 int
	}{
		"signed out": {"", "a.gif", pixel, http.StatusUnauthorized},
		"a member":   {w.member, "a.gif", pixel, http.StatusForbidden},
		"empty":      {w.owner, "a.gif", "", http.StatusBadRequest},
		"a path":     {w.owner, "../a.gif", pixel, http.StatusBadRequest},
		"too large":  {w.owner, "a.gif", strings.Repeat("x", sheaf.MaxUpload+1), http.StatusBadRequest},
	} {
		if status, body := w.upload(test.token, test.file, test.content); status != test.want {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if got := w.ask(http.MethodPost, w.address("/w/{workspace}/media"), w.owner); got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), "Choose a file first.") {
		t.Errorf("no file: %d %s", got.Code, got.Body)
	}
	if len(w.media()) != before {
		t.Error("something was kept")
	}
}
