package console

import (
	"html/template"
	"net/http"

	"sheaf.dev/internal/render"
	"sheaf.dev/internal/sheaf"
)

// shown renders a document's text. Links to documents lead to their pages, and media are read with the
// session: those pages answer a reader who may not see them. It is Unavailable when the workspace gets no
// turn to render in time.
func (v *visit) shown(text string) (template.HTML, error) {
	page, err := v.console.Render.Page(v.AwaitTurn, text)
	if err != nil {
		return "", crowded(err)
	}
	html := page.HTML(render.Refs{
		Document: func(id string) string { return v.at("documents", id) },
		Media:    func(id string) string { return v.at("media", id, "content") },
	})
	// #nosec G203 -- render writes every element itself, and no text becomes one
	return template.HTML(html), nil
}

// preview answers POST /w/{workspace}/documents/preview: the HTML of the text in the form, for the
// editor. It changes nothing.
func (c *Console) preview(v *visit) error {
	text := v.field("content")
	if err := sheaf.CheckContent("content", text); err != nil {
		return err
	}
	html, err := v.shown(text)
	if err != nil {
		return err
	}
	if err := crowded(v.HoldAnswer(len(html))); err != nil {
		return err
	}
	v.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.WriteHeader(http.StatusOK)
	v.Write([]byte(html))
	return nil
}
