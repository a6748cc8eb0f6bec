package publish

import (
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"strings"

	"sheaf.dev/internal/brandstyle"
	"sheaf.dev/internal/sheaf"
)

// pageBrand is what a branding adds to a page. The zero value adds nothing.
type pageBrand struct {
	Style  template.CSS // style in the page; empty: there is no branding
	Name   string       // name of the branding, shown above the page
	Logo   string       // address of the logo; empty: there is none
	Footer string
}

// brandOf returns what branding b adds to a page; nil adds nothing. The address of the logo changes with the logo.
func (v *visit) brandOf(b *sheaf.Branding) (l pageBrand) {
	if b == nil {
		return l
	}
	l.Name, l.Style = b.Name, template.CSS(brandstyle.Style(*b, ":root")) // #nosec G203 -- colours that Palette wrote, and one of our own fonts
	if b.LogoMediaID != nil {
		l.Logo = v.home() + "/logo?of=" + string(*b.LogoMediaID)
	}
	l.Footer = footerOf(*b)
	return l
}

// policy returns the Content-Security-Policy of a page: `all`, which is that of every page, and the page's own
// style by its hash.
func (l pageBrand) policy(all string) string {
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
