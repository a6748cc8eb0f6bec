package brandstyle

import (
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
)

// A branding's style sheet is found by its name, however its colour is spelt, and is the palette's.
func TestFile_IsTheStyleOfABranding(t *testing.T) {
	t.Parallel()
	b := sheaf.Branding{ColorPrimary: "#FFcc00", Font: sheaf.SerifFont}
	name := Name(b)
	if name != "brand-ffcc00-serif.css" {
		t.Errorf("its name is %s", name)
	}
	css, ok := File(name, ".branded")
	light, dark := sheaf.Palette(b.ColorPrimary)
	for _, want := range []string{".branded {", "--accent: light-dark(" + light.Link + ", " + dark.Link + ");", "--fill: light-dark(#ffcc00, #ffcc00);",
		"--accent-ink: light-dark(#000000, #000000);", "--ink: light-dark(" + light.Text + ", " + dark.Text + ");", "Georgia"} {
		if !ok || !strings.Contains(css, want) {
			t.Errorf("%s lacks %q:\n%s", name, want, css)
		}
	}
}

// No other name has a style sheet: nothing of an address gets into one.
func TestFile_RefusesEveryOtherName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "brand-.css", "brand-ffcc00.css", "brand-ffcc00-serif", "ffcc00-serif.css", "brand-FFCC00-serif.css", "brand-ffcc0-serif.css",
		"brand-ffcc00-comic.css", "brand-ffcc00-serif-mono.css", "brand-ffcc00};}-serif.css", "brand-red-serif.css", "brand-ffcc00-.css", "console.css"} {
		if css, ok := File(name, ":root"); ok {
			t.Errorf("%q is %s", name, css)
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

// Whatever name is asked for, the style sheet is one that brandings have: its name is that of the branding it
// belongs to.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{"brand-ffcc00-serif.css", "brand-000000-mono.css", "brand-FFCC00-serif.css", "brand-ffcc00}-serif.css", "console.css", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		css, ok := File(name, ".branded")
		if !ok {
			if css != "" {
				t.Errorf("%q is refused and has %s", name, css)
			}
			return
		}
		color, font, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(name, "brand-"), ".css"), "-")
		if made := Name(sheaf.Branding{ColorPrimary: "#" + color, Font: sheaf.Font(font)}); made != name || strings.Count(css, "{") != 1 || strings.Contains(css, "<") {
			t.Errorf("%q is the style sheet of %s:\n%s", name, made, css)
		}
	})
}
