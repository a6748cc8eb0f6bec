package publish

import (
	"fmt"
	"html"
	"net/http"
	"strings"

	"sheaf.dev/internal/icon"
	"sheaf.dev/internal/render"
	"sheaf.dev/internal/sheaf"
)

// A page has an icon for the browser's tab, and a picture for previews of links to it. Neither shows
// anything that the page does not show. The page that asks for a password has neither.

// picture is the picture of a link preview. The zero value is none.
type picture struct {
	URL, Alt string
	Large    bool // it is a picture of the text, not a logo
}

// pictureOf returns the picture for previews of a page: the logo of its branding, or else the first
// picture in the text of document `in`.
func (v *visit) pictureOf(b *sheaf.Branding, in sheaf.DocumentID, text *render.Page) (p picture) {
	if b != nil && b.LogoMediaID != nil {
		return picture{URL: v.share.URL + "/logo?of=" + string(*b.LogoMediaID), Alt: b.Name}
	}
	if text == nil {
		return p
	}
	id, alt := text.Picture()
	if id == "" {
		return p
	}
	return picture{URL: v.share.URL + "/" + string(in) + "/media/" + id, Alt: html.UnescapeString(alt), Large: true}
}

// Icons of pages whose project has no icon, and the colour of icons of pages without a colour.
const (
	projectIcon  = "book-open"
	documentIcon = "file-text"
	iconColor    = "#1c6b50"
)

// iconOf returns the address of a page's icon: the drawing of the project in the colour of the branding,
// or of the project. As for the style sheet of a branding, the address has everything that the icon
// shows, so the icon needs no store and reveals nothing.
func (v *visit) iconOf(p *sheaf.Project, b *sheaf.Branding) string {
	color, drawing := iconColor, documentIcon
	if p != nil {
		drawing = projectIcon
		if p.Icon != nil {
			if known, ok := icon.Lookup(*p.Icon); ok {
				drawing = known.ID
			}
		}
		if p.Color != nil {
			color = *p.Color
		}
	}
	if b != nil {
		color = b.ColorPrimary
	}
	light, _ := sheaf.Palette(color)
	return v.publisher.base + "/share-assets/icon-" + light.Accent[1:] + "-" + drawing + ".svg"
}

// readIcon returns the icon of that name. ok is false if no page has an icon of that name.
func readIcon(name string) (svg string, ok bool) {
	middle, isIcon := strings.CutPrefix(name, "icon-")
	middle, isSVG := strings.CutSuffix(middle, ".svg")
	color, drawing, _ := strings.Cut(middle, "-")
	color = "#" + color
	if !isIcon || !isSVG || sheaf.CheckColor(color) != nil || strings.ToLower(color) != color {
		return "", false
	}
	shape, known := icon.Lookup(drawing)
	if !known {
		return "", false
	}
	light, _ := sheaf.Palette(color)
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="%s"/><g color="%s" transform="translate(4 4)">%s</g></svg>`,
		light.Accent, light.OnAccent, shape.SVG), true
}

// icon answers with the icon of that name.
func (v *visit) icon(name string) error {
	svg, ok := readIcon(name)
	if !ok {
		return errNothing
	}
	v.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	v.Header().Set("Content-Type", "image/svg+xml")
	v.WriteHeader(http.StatusOK)
	if v.r.Method != http.MethodHead {
		_, _ = v.Write([]byte(svg)) // a reader who left needs no answer
	}
	return nil
}
