package publish

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// look is what a branding makes of a page. The zero value is the plain look.
type look struct {
	Style  template.CSS // stands in the page; empty: none
	Footer string
}

// fonts are the families of a branding's fonts, all of which a reader's machine has.
var fonts = map[sheaf.Font]string{
	sheaf.SystemFont: `system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif`,
	sheaf.SerifFont:  `"Iowan Old Style", "Palatino Linotype", Palatino, "Book Antiqua", Georgia, serif`,
	sheaf.MonoFont:   `ui-monospace, "SF Mono", "Cascadia Code", "JetBrains Mono", Menlo, Consolas, monospace`,
}

// lookOf returns the look of a branding; nil is the plain one.
func lookOf(b *sheaf.Branding) (l look) {
	if b == nil {
		return l
	}
	if b.Footer != nil {
		l.Footer = *b.Footer
	}
	light, dark := sheaf.Palette(b.ColorPrimary)
	var css strings.Builder
	css.WriteString(":root{")
	for _, c := range []struct{ name, light, dark string }{
		{"paper", light.Background, dark.Background}, {"sheet", light.Surface, dark.Surface}, {"line", light.Border, dark.Border},
		{"ink", light.Text, dark.Text}, {"muted", light.Muted, dark.Muted}, {"accent", light.Link, dark.Link},
		{"fill", light.Accent, dark.Accent}, {"accent-ink", light.OnAccent, dark.OnAccent},
	} {
		fmt.Fprintf(&css, "--%s:light-dark(%s,%s);", c.name, c.light, c.dark)
	}
	fmt.Fprintf(&css, "--text:%s}", fonts[b.Font])
	l.Style = template.CSS(css.String()) // #nosec G203 -- colours that Palette wrote, and one of our own fonts
	return l
}

// policy is what a page with this look may load: its own style, by its hash, beside what all may.
func (l look) policy(all string) string {
	if l.Style == "" {
		return all
	}
	sum := sha256.Sum256([]byte(l.Style))
	return strings.Replace(all, "style-src 'self'", "style-src 'self' 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'", 1)
}
