package publish

import (
	"html/template"

	"sheaf.dev/internal/brandstyle"
	"sheaf.dev/internal/render"
	"sheaf.dev/internal/sheaf"
)

// The console previews a branding by a sample page in a frame. This package renders that page like any
// other, so the preview cannot differ from what readers see.

// sampleText is the text of that page.
const sampleText = "Your pages look like this. [A link](#text) has your color.\n\n> [!TIP]\n> A callout points something out.\n\n" +
	"```sh\nsheaf serve --addr :8080\n```\n\n| Flag | Meaning |\n|---|---|\n| `--addr` | Where it listens |\n| `--data` | Where it keeps its data |\n"

// Sample returns the sample page in a branding, which need not be stored, and the page's
// Content-Security-Policy: only pages of this service may show it in a frame, and it can submit no form.
// `scheme` is light or dark. `logo` is the address of the branding's logo; empty for none.
func (p *Publisher) Sample(await render.Await, b sheaf.Branding, logo, scheme string) (page []byte, policy string, err error) {
	text, err := p.Render.Page(await, sampleText)
	if err != nil {
		return nil, "", err
	}
	const here = "#text"
	style := brandstyle.Style(b, ":root")
	if scheme == "light" || scheme == "dark" {
		style += ":root { color-scheme: " + scheme + "; }\n"
	}
	l := layout{Title: "Getting started", Home: here, Project: "Handbook",
		Brand: pageBrand{Style: template.CSS(style), Name: b.Name, Logo: logo, Footer: footerOf(b)}} // #nosec G203 -- what brandstyle wrote, and a constant
	data := documentPage{Document: sheaf.Document{Title: l.Title, UpdatedAt: p.Now()}, Home: here, Raw: here,
		HTML: template.HTML(text.HTML(render.Refs{}))} // #nosec G203 -- what render wrote
	page, err = p.write("document", l, data)
	all := "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'none'; frame-ancestors 'self'; base-uri 'none'"
	return page, l.Brand.policy(all), err
}

// footerOf returns the branding's footer; empty for none.
func footerOf(b sheaf.Branding) string {
	if b.Footer == nil {
		return ""
	}
	return *b.Footer
}
