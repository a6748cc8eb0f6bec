package sheaf

import (
	"fmt"
	"math"
	"strconv"
)

// MinContrast is the contrast of text with its background: level AA of WCAG for text of any size.
const MinContrast = 4.5

// Colors are the colours of a page, each #rrggbb. Text, Muted and Link are readable on Background
// and Surface, and OnAccent on Accent, with a contrast of at least MinContrast.
type Colors struct {
	Background string // background of the page
	Surface    string // background of code, tables and the table of contents
	Border     string // between Background and Surface
	Text       string
	Muted      string // less prominent text: dates, the footer
	Link       string // links, and all other text in the brand's colour
	Accent     string // the brand's colour itself, for areas
	OnAccent   string // text on such an area
}

// Palette derives the colours of light and dark pages from any colour #RRGGBB. A yellow is darkened
// until it is readable on white, a navy blue is lightened until it is readable on dark pages, and
// both keep their hue. If `primary` is not a colour, DefaultBrandingColor is used.
func Palette(primary string) (light, dark Colors) {
	brand, ok := parseRGB(primary)
	if !ok {
		brand, _ = parseRGB(DefaultBrandingColor)
	}
	return pagePalette(brand, white, rgb{0x14, 0x17, 0x1c}, black), pagePalette(brand, rgb{0x10, 0x12, 0x16}, rgb{0xe8, 0xea, 0xed}, white)
}

// pagePalette derives the colours of a page with this paper and ink. Colours that are too close to
// the paper are shifted towards `far`, black or white, which is readable on anything like the
// paper.
func pagePalette(brand, paper, ink, far rgb) Colors {
	background := paper
	if paper != white {
		background = paper.mix(brand, 0.06) // a dark page with the brand's hue
	}
	surface := background.mix(brand, 0.06).mix(ink, 0.02)
	text := ink.mix(brand, 0.05).readable(far, background, surface)
	muted := ink.mix(background, 0.38).mix(brand, 0.06).readable(far, background, surface)
	onAccent := white
	if contrast(white, brand) < MinContrast {
		onAccent = black // a colour that is too bright for white text is always readable with black
	}
	return Colors{
		Background: background.String(), Surface: surface.String(), Border: surface.mix(ink, 0.14).String(),
		Text: text.String(), Muted: muted.String(), Link: brand.readable(far, background, surface).String(),
		Accent: brand.String(), OnAccent: onAccent.String(),
	}
}

// rgb is a colour of sRGB, eight bits each.
type rgb struct{ r, g, b uint8 }

var (
	white = rgb{0xff, 0xff, 0xff}
	black = rgb{}
)

// parseRGB reads #RRGGBB.
func parseRGB(s string) (rgb, bool) {
	if CheckColor(s) != nil {
		return rgb{}, false
	}
	n, err := strconv.ParseUint(s[1:], 16, 32)
	return rgb{uint8(n >> 16), uint8(n >> 8), uint8(n)}, err == nil
}

// String returns #rrggbb.
func (c rgb) String() string { return fmt.Sprintf("#%02x%02x%02x", c.r, c.g, c.b) }

// mix returns c with that share of another colour.
func (c rgb) mix(other rgb, share float64) rgb {
	part := func(a, b uint8) uint8 { return uint8(math.Round(float64(a)*(1-share) + float64(b)*share)) }
	return rgb{part(c.r, other.r), part(c.g, other.g), part(c.b, other.b)}
}

// readable returns c, or the first colour between c and `far` (black or white) that is readable on
// all of `on`. Only the lightness changes: hue and saturation stay the brand's, where mixing with
// white would turn grey. At the latest it returns `far`.
func (c rgb) readable(far rgb, on ...rgb) rgb {
	const steps = 64
	if c.readableOn(on) {
		return c
	}
	hue, saturation, lightness := c.hsl()
	end := float64(far.r) / 255
	for i := 1; i < steps; i++ {
		if at := fromHSL(hue, saturation, lightness+(end-lightness)*float64(i)/steps); at.readableOn(on) {
			return at
		}
	}
	return far
}

// hsl returns the hue, from 0 to 6, the saturation and the lightness of a colour.
func (c rgb) hsl() (hue, saturation, lightness float64) {
	r, g, b := float64(c.r)/255, float64(c.g)/255, float64(c.b)/255
	high, low := max(r, g, b), min(r, g, b)
	lightness = (high + low) / 2
	spread := high - low
	if spread == 0 {
		return 0, 0, lightness
	}
	switch high {
	case r:
		hue = math.Mod((g-b)/spread+6, 6)
	case g:
		hue = (b-r)/spread + 2
	default:
		hue = (r-g)/spread + 4
	}
	return hue, spread / (1 - math.Abs(2*lightness-1)), lightness
}

// fromHSL returns the colour that hsl describes.
func fromHSL(hue, saturation, lightness float64) rgb {
	part := func(n float64) uint8 {
		k := math.Mod(n+2*hue, 12)
		v := lightness - saturation*min(lightness, 1-lightness)*max(-1, min(k-3, 9-k, 1))
		return uint8(math.Round(255 * max(0, min(1, v))))
	}
	return rgb{part(0), part(8), part(4)}
}

func (c rgb) readableOn(all []rgb) bool {
	for _, ground := range all {
		if contrast(c, ground) < MinContrast {
			return false
		}
	}
	return true
}

// contrast returns the contrast of WCAG 2.2, from 1 to 21.
func contrast(a, b rgb) float64 {
	high, low := a.luminance(), b.luminance()
	if high < low {
		high, low = low, high
	}
	return (high + 0.05) / (low + 0.05)
}

// luminance returns the relative luminance of WCAG 2.2, from 0 to 1.
func (c rgb) luminance() float64 {
	return 0.2126*linear(c.r) + 0.7152*linear(c.g) + 0.0722*linear(c.b)
}

// linear inverts the curve of sRGB.
func linear(part uint8) float64 {
	v := float64(part) / 255
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}
