package publish

import (
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"strings"

	"sheaf.dev/internal/look"
	"sheaf.dev/internal/sheaf"
)

// pageLook is how a branding changes a page. The zero value is the plain look.
type pageLook struct {
	Style  template.CSS // style in the page; empty: there is no branding
	Name   string       // name of the branding, shown above the page
	Logo   string       // address of the logo; empty: there is none
	Footer string
}

// lookOf returns the look of a branding; nil means the plain one. The address of the logo changes
// with the logo.
func (v *visit) lookOf(b *sheaf.Branding) (l pageLook) {
	if b == nil {
		return l
	}
	l.Name, l.Style = b.Name, template.CSS(look.Style(*b, ":root")) // #nosec G203 -- colours that Palette wrote, and one of our own fonts
	if b.LogoMediaID != nil {
		l.Logo = v.home() + "/logo?of=" + string(*b.LogoMediaID)
	}
	if b.Footer != nil {
		l.Footer = *b.Footer
	}
	return l
}

// policy returns what a page with this look may load: its own style, by its hash, besides what all
// pages may.
func (l pageLook) policy(all string) string {
	if l.Style == "" {
		return all
	}
	sum := sha256.Sum256([]byte(l.Style))
	return strings.Replace(all, "style-src 'self'", "style-src 'self' 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'", 1)
}

// logo answers with the logo of the share's branding. Its id is in the address.
func (v *visit) logo() error {
	m, content, err := v.publisher.App.SharedLogo(v.r.Context(), v.share)
	if err != nil {
		return err
	}
	return v.serveMedium(m, content)
}
