// Package brandstyle writes the style sheet of a branding: its colours for light and dark and its font, as the
// CSS variables that shared pages use.
package brandstyle

import (
	"fmt"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// fonts lists the font families of each font. Each list has families of every common system.
var fonts = map[sheaf.Font]string{
	sheaf.SystemFont: `system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif`,
	sheaf.SerifFont:  `Charter, "Bitstream Charter", "Iowan Old Style", "Palatino Linotype", Palatino, Georgia, Cambria, "Liberation Serif", serif`,
	sheaf.MonoFont:   `ui-monospace, "Cascadia Code", "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace`,
}

// Style returns the style sheet of a branding, for the elements that match selector. --accent is the colour of
// links, readable on --paper and --sheet. --fill is the brand's own colour, for areas, and --accent-ink is
// readable on it.
func Style(brand sheaf.Branding, selector string) string {
	light, dark := sheaf.Palette(brand.ColorPrimary)
	var b strings.Builder
	fmt.Fprintf(&b, "%s {\n", selector)
	both := func(name, light, dark string) { fmt.Fprintf(&b, "  --%s: light-dark(%s, %s);\n", name, light, dark) }
	both("paper", light.Background, dark.Background)
	both("sheet", light.Surface, dark.Surface)
	both("sunken", light.Surface, dark.Surface)
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
