package look

import (
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
)

// A branding's look is found by its name, however its colour is spelt, and is the palette's.
func TestFile_IsTheLookOfABranding(t *testing.T) {
	t.Parallel()
	b := sheaf.Branding{ColorPrimary: "#FFcc00", Font: sheaf.SerifFont}
	name := Name(b)
	if name != "look-ffcc00-serif.css" {
		t.Errorf("its name is %s", name)
	}
	css, ok := File(name, ".look")
	light, dark := sheaf.Palette(b.ColorPrimary)
	for _, want := range []string{".look {", "--accent: light-dark(" + light.Link + ", " + dark.Link + ");", "--fill: light-dark(#ffcc00, #ffcc00);",
		"--accent-ink: light-dark(#000000, #000000);", "--ink: light-dark(" + light.Text + ", " + dark.Text + ");", "Georgia"} {
		if !ok || !strings.Contains(css, want) {
			t.Errorf("%s lacks %q:\n%s", name, want, css)
		}
	}
}

// Whatever else is asked for is no look: nothing of an address comes into a style sheet.
func TestFile_RefusesEveryOtherName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "look-.css", "look-ffcc00.css", "look-ffcc00-serif", "ffcc00-serif.css", "look-FFCC00-serif.css", "look-ffcc0-serif.css",
		"look-ffcc00-comic.css", "look-ffcc00-serif-mono.css", "look-ffcc00};}-serif.css", "look-red-serif.css", "look-ffcc00-.css", "console.css"} {
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

// Whatever is asked for, a look is one of those that brandings have: its name is that of the branding
// it is made of.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{"look-ffcc00-serif.css", "look-000000-mono.css", "look-FFCC00-serif.css", "look-ffcc00}-serif.css", "console.css", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		css, ok := File(name, ".look")
		if !ok {
			if css != "" {
				t.Errorf("%q is refused and has %s", name, css)
			}
			return
		}
		color, font, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(name, "look-"), ".css"), "-")
		if made := Name(sheaf.Branding{ColorPrimary: "#" + color, Font: sheaf.Font(font)}); made != name || strings.Count(css, "{") != 1 || strings.Contains(css, "<") {
			t.Errorf("%q is the look of %s:\n%s", name, made, css)
		}
	})
}
