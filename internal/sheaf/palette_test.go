package sheaf

import (
	"encoding/hex"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// wcagContrast is the contrast ratio of two colours, written by the text of WCAG 2.2 ("relative
// luminance", "contrast ratio") and not by looking at the program.
func wcagContrast(t interface{ Fatalf(string, ...any) }, first, second string) float64 {
	luminance := func(color string) float64 {
		if len(color) != 7 || color[0] != '#' {
			t.Fatalf("%q is no colour", color)
		}
		parts, err := hex.DecodeString(color[1:])
		if err != nil {
			t.Fatalf("%q is no colour: %v", color, err)
		}
		sum := 0.0
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			s := float64(parts[i]) / 255
			if s <= 0.04045 {
				s /= 12.92
			} else {
				s = math.Pow((s+0.055)/1.055, 2.4)
			}
			sum += weight * s
		}
		return sum
	}
	l1, l2 := luminance(first), luminance(second)
	return (math.Max(l1, l2) + 0.05) / (math.Min(l1, l2) + 0.05)
}

// wantReadable fails unless every text of both palettes can be read on whatever is behind it.
func wantReadable(t interface{ Fatalf(string, ...any) }, primary string) {
	light, dark := Palette(primary)
	for name, c := range map[string]Colors{"light": light, "dark": dark} {
		for _, pair := range []struct{ what, text, ground string }{
			{"text on the page", c.Text, c.Background}, {"text on a surface", c.Text, c.Surface},
			{"muted text on the page", c.Muted, c.Background}, {"muted text on a surface", c.Muted, c.Surface},
			{"a link on the page", c.Link, c.Background}, {"a link on a surface", c.Link, c.Surface},
			{"text on the accent", c.OnAccent, c.Accent},
		} {
			if got := wcagContrast(t, pair.text, pair.ground); got < 4.5 {
				t.Fatalf("%s, %s: %s is %s on %s, a contrast of %.3f", primary, name, pair.what, pair.text, pair.ground, got)
			}
		}
	}
}

// D115: whatever the colour is, text has a contrast of 4.5 : 1 or more, in light and in dark: every
// corner of hue, saturation and lightness, and whatever else rapid thinks of.
func TestPalette_TextIsReadableWhateverTheColor(t *testing.T) {
	t.Parallel()
	for hue := 0.0; hue < 360; hue += 5 {
		for _, saturation := range []float64{0, 0.25, 0.5, 0.75, 1} {
			for lightness := 0.0; lightness <= 1; lightness += 0.05 {
				wantReadable(t, fromHSL(hue/60, saturation, lightness).String())
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		c := rgb{rapid.Byte().Draw(t, "red"), rapid.Byte().Draw(t, "green"), rapid.Byte().Draw(t, "blue")}
		wantReadable(t, c.String())
	})
}

// fromHSL undoes hsl, for every colour that rapid thinks of.
func TestHSL_ThereAndBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := rgb{rapid.Byte().Draw(t, "red"), rapid.Byte().Draw(t, "green"), rapid.Byte().Draw(t, "blue")}
		if back := fromHSL(c.hsl()); back != c {
			t.Fatalf("%s became %s", c, back)
		}
	})
}

// A colour that can be read as it is stays as it is, upper case or not; one that cannot keeps its hue.
func TestPalette_KeepsTheBrand(t *testing.T) {
	t.Parallel()
	light, dark := Palette("#1D4ED8")
	if light.Link != "#1d4ed8" || light.Accent != "#1d4ed8" || dark.Accent != "#1d4ed8" || light.OnAccent != "#ffffff" {
		t.Errorf("a blue that can be read on white became %+v and %+v", light, dark)
	}
	if dark.Link == light.Link {
		t.Errorf("a dark blue is as it was on a dark page: %s", dark.Link)
	}
	yellow, night := Palette("#ffe600")
	if yellow.OnAccent != "#000000" || night.Link != "#ffe600" {
		t.Errorf("a yellow is read as %s on white, %s on it and %s at night", yellow.Link, yellow.OnAccent, night.Link)
	}
	c, _ := parseRGB(yellow.Link)
	if c.r <= c.b || c.g <= c.b || c.b > 0x10 {
		t.Errorf("a yellow became %s, which is none", yellow.Link)
	}
	// A navy blue is lightened until it can be read at night, and is a blue then: it does not turn grey.
	_, navy := Palette("#0b1f4b")
	c, _ = parseRGB(navy.Link)
	hue, saturation, _ := c.hsl()
	was, _ := parseRGB("#0b1f4b")
	wasHue, wasSaturation, _ := was.hsl()
	if math.Abs(hue-wasHue) > 0.05 || math.Abs(saturation-wasSaturation) > 0.02 {
		t.Errorf("a navy blue became %s: hue %.2f of %.2f, saturation %.2f of %.2f", navy.Link, hue, wasHue, saturation, wasSaturation)
	}
	standard, _ := Palette(DefaultBrandingColor)
	if other, _ := Palette("blue"); other != standard {
		t.Errorf("what is no colour became %+v", other)
	}
}
