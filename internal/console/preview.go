package console

import (
	"context"
	"html/template"
	"net/http"
	"time"

	"sheaf.dev/internal/render"
	"sheaf.dev/internal/sheaf"
)

// shown makes HTML of a text that somebody wrote. Links to documents lead to their pages, and media are
// read with the session; who may not see one, or finds none, is told so there.
func (v *visit) shown(text string) (template.HTML, error) {
	page, err := v.console.Render.Page(v.r.Context(), text)
	if err != nil {
		return "", err
	}
	html := page.HTML(render.Refs{
		Document: func(id string) string { return v.at("documents", id) },
		Media:    func(id string) string { return v.at("media", id, "content") },
	})
	// #nosec G203 -- render writes every element itself, and no text becomes one
	return template.HTML(html), nil
}

// previewWithin is how long a preview waits for its turn. Who types on asks for another anyway.
const previewWithin = 5 * time.Second

// preview answers POST /w/{workspace}/documents/preview: the HTML of the text in the form, for the
// editor. It changes nothing.
func (c *Console) preview(v *visit) error {
	text := v.field("content")
	if err := sheaf.CheckContent("content", text); err != nil {
		return err
	}
	html, err := v.shownInTurn(text)
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

// shownInTurn is shown for a preview: one at once is rendered, and the others wait, though not for
// long.
func (v *visit) shownInTurn(text string) (template.HTML, error) {
	ctx, cancel := context.WithTimeout(v.r.Context(), previewWithin)
	defer cancel()
	mine := false
	v.Outside(func() {
		select {
		case v.console.previewing <- struct{}{}:
			mine = true
		case <-ctx.Done():
		}
	})
	if !mine {
		return "", &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: previewWithin,
			Text: "Others are previewing just now. Try again in a moment."}
	}
	defer func() { <-v.console.previewing }()
	return v.shown(text)
}
