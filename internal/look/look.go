// Package look writes the style of a branding: its colours for light and dark, and its font, as the
// variables that style sheets of pages use. Both the pages of shares and the console's preview take it
// from here, so that a preview shows what readers will see.
//
// The policy of every page forbids inline styles: a look is a file. It depends on a colour and a font
// alone, which are its name, so that it needs no store and a browser may keep it for ever:
//
//	look-ffcc00-serif.css
package look

import (
	"fmt"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// fonts are the families of each font. Each list has some for every common system.
var fonts = map[sheaf.Font]string{
	sheaf.SystemFont: `system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif`,
	sheaf.SerifFont:  `Charter, "Bitstream Charter", "Iowan Old Style", "Palatino Linotype", Palatino, Georgia, Cambria, "Liberation Serif", serif`,
	sheaf.MonoFont:   `ui-monospace, "Cascadia Code", "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace`,
}

// Name is the name of the file that has the look of a branding.
func Name(b sheaf.Branding) string {
	light, _ := sheaf.Palette(b.ColorPrimary)
	return "look-" + light.Accent[1:] + "-" + string(b.Font) + ".css"
}

// File returns the style sheet of that name, which sets the variables for what selector selects; ok is
// false when no look is called so. Each look has one name.
func File(name, selector string) (css string, ok bool) {
	middle, isLook := strings.CutPrefix(name, "look-")
	middle, isSheet := strings.CutSuffix(middle, ".css")
	color, font, parts := strings.Cut(middle, "-")
	color = "#" + color
	if _, known := fonts[sheaf.Font(font)]; !known || !isLook || !isSheet || !parts || sheaf.CheckColor(color) != nil || strings.ToLower(color) != color {
		return "", false
	}
	return Style(sheaf.Branding{ColorPrimary: color, Font: sheaf.Font(font)}, selector), true
}

// Style returns the variables of a branding's look, for what selector selects. accent is the colour of
// text that is the brand's, and can be read on paper and sheet; fill is the brand's own, for areas, on
// which accent-ink can be read.
func Style(brand sheaf.Branding, selector string) string {
	light, dark := sheaf.Palette(brand.ColorPrimary)
	var b strings.Builder
	fmt.Fprintf(&b, "%s {\n", selector)
	both := func(name, light, dark string) { fmt.Fprintf(&b, "  --%s: light-dark(%s, %s);\n", name, light, dark) }
	both("paper", light.Background, dark.Background)
	both("sheet", light.Surface, dark.Surface)
	both("line", light.Border, dark.Border)
	both("line-strong", light.Muted, dark.Muted)
	both("ink", light.Text, dark.Text)
	both("muted", light.Muted, dark.Muted)
	both("accent", light.Link, dark.Link)
	both("fill", light.Accent, dark.Accent)
	both("accent-ink", light.OnAccent, dark.OnAccent)
	fmt.Fprintf(&b, "  --text: %s;\n}\n", fonts[brand.Font])
	return b.String()
}
