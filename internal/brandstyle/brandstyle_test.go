package brandstyle

import (
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
)

// A branding's style sheet has the colours of the palette, for light and for dark, and its font.
func TestStyle_IsThePalette(t *testing.T) {
	t.Parallel()
	b := sheaf.Branding{ColorPrimary: "#FFcc00", Font: sheaf.SerifFont}
	css := Style(b, ":root")
	light, dark := sheaf.Palette(b.ColorPrimary)
	for _, want := range []string{":root {", "--accent: light-dark(" + light.Link + ", " + dark.Link + ");", "--fill: light-dark(#ffcc00, #ffcc00);",
		"--accent-ink: light-dark(#000000, #000000);", "--ink: light-dark(" + light.Text + ", " + dark.Text + ");", "Georgia"} {
		if !strings.Contains(css, want) {
			t.Errorf("it lacks %q:\n%s", want, css)
		}
	}
}

// Every font that a branding can have has letters.
func TestFonts_AreAllThere(t *testing.T) {
	t.Parallel()
	for _, f := range sheaf.Fonts {
		if fonts[f] == "" {
			t.Errorf("%s has no families", f)
		}
	}
}
