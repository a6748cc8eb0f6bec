package console

import (
	"maps"
	"slices"
	"strings"

	"sheaf.dev/internal/icon"
)

// iconFile contains every icon once. Pages refer to it, and a browser caches it.
const iconFile = "icons.svg"

// iconSheet returns an SVG with the icons of the catalogue and of the console, each as a symbol
// with its name.
func iconSheet() []byte {
	symbol := func(id, svg string) string {
		svg = strings.Replace(svg, `<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24"`, `<symbol id="`+id+`"`, 1)
		return strings.Replace(svg, "</svg>", "</symbol>", 1)
	}
	var b strings.Builder
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg">`)
	for _, one := range icon.All() {
		b.WriteString(symbol(one.ID, one.SVG))
	}
	for _, id := range slices.Sorted(maps.Keys(ownIcons)) {
		b.WriteString(symbol(id, ownIcons[id]))
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// ownIcons are icons of the interface that are not in the catalogue.
var ownIcons = map[string]string{
	"more":    ownIcon(`<circle cx="5" cy="12" r="1"/><circle cx="12" cy="12" r="1"/><circle cx="19" cy="12" r="1"/>`),
	"plus":    ownIcon(`<path d="M5 12h14M12 5v14"/>`),
	"chevron": ownIcon(`<path d="m9 6 6 6-6 6"/>`),
	"updown":  ownIcon(`<path d="m7 15 5 5 5-5M7 9l5-5 5 5"/>`),
	"search":  ownIcon(`<circle cx="11" cy="11" r="7"/><path d="m21 21-4.3-4.3"/>`),
	"sun":     ownIcon(`<circle cx="12" cy="12" r="4"/><path d="M12 2v2M12 20v2M4.9 4.9l1.4 1.4M17.7 17.7l1.4 1.4M2 12h2M20 12h2M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4"/>`),
	"moon":    ownIcon(`<path d="M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5Z"/>`),
	"close":   ownIcon(`<path d="M18 6 6 18M6 6l12 12"/>`),
	"check":   ownIcon(`<path d="m4 12 5 5L20 6"/>`),
	"copy":    ownIcon(`<rect x="9" y="9" width="12" height="12" rx="2"/><path d="M5 15H4a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1h10a1 1 0 0 1 1 1v1"/>`),
	"alert":   ownIcon(`<path d="M12 9v4M12 17h.01"/><path d="M10.3 3.9 2.4 18a2 2 0 0 0 1.7 3h15.8a2 2 0 0 0 1.7-3L13.7 3.9a2 2 0 0 0-3.4 0Z"/>`),
	"menu":    ownIcon(`<path d="M4 7h16M4 12h16M4 17h16"/>`),
	"users":   ownIcon(`<circle cx="9" cy="8" r="3.5"/><path d="M2.5 20a6.5 6.5 0 0 1 13 0M16 4.8a3.5 3.5 0 0 1 0 6.4M18 14.3a6.5 6.5 0 0 1 3.5 5.7"/>`),
	"webhook": ownIcon(`<circle cx="12" cy="7" r="3"/><circle cx="6" cy="17" r="3"/><circle cx="18" cy="17" r="3"/><path d="m10.6 9.7-3 4.7M13.4 9.7l3 4.7M9 17h6"/>`),
	"pulse":   ownIcon(`<path d="M2 12h5l3-8 4 16 3-8h5"/>`),
	"bold":    ownIcon(`<path d="M6 12h8a4 4 0 0 1 0 8H6V4h7a4 4 0 0 1 0 8"/>`),
	"italic":  ownIcon(`<path d="M19 4h-9M14 20H5M15 4 9 20"/>`),
	"heading": ownIcon(`<path d="M6 4v16M18 4v16M6 12h12"/>`),
	"anchor":  ownIcon(`<path d="M10 13a5 5 0 0 0 7.500.5l3-3a5 5 0 0 0-7-7l-1.700 1.700"/><path d="M14 11a5 5 0 0 0-7.500-.5l-3 3a5 5 0 0 0 7 7l1.700-1.700"/>`),
	"bullets": ownIcon(`<path d="M9 6h12M9 12h12M9 18h12M4 6h.01M4 12h.01M4 18h.01"/>`),
	"numbers": ownIcon(`<path d="M10 6h11M10 12h11M10 18h11M4 4h1v5M4 9h2M6 19H4c0-1 2-2 2-3s-1-1.500-2-1"/>`),
	"tasks":   ownIcon(`<rect x="3" y="5" width="6" height="6" rx="1"/><path d="m3 17 2 2 4-4M13 6h8M13 12h8M13 18h8"/>`),
	"quote":   ownIcon(`<path d="M8 6H4v6h4V6Zm0 6c0 3-1.500 5-4 6M19 6h-4v6h4V6Zm0 6c0 3-1.500 5-4 6"/>`),
	"grid":    ownIcon(`<rect x="3" y="4" width="18" height="16" rx="2"/><path d="M3 10h18M3 15h18M12 4v16"/>`),
	"outline": ownIcon(`<path d="M4 6h10M8 12h12M8 18h9"/>`),
	"gear":    ownIcon(`<circle cx="12" cy="12" r="3"/><path d="M12 2v3M12 19v3M4.2 4.2l2.1 2.1M17.7 17.7l2.1 2.1M2 12h3M19 12h3M4.2 19.8l2.1-2.1M17.7 6.3l2.1-2.1"/>`),
	"sheaf":   ownIcon(`<path d="M12 21V9M12 9c0-3 1.2-5 0-7-1.2 2 0 4 0 7ZM12 13c-3.500 0-6-2-6.500-6 3.800.5 6.500 2.500 6.500 6ZM12 13c3.500 0 6-2 6.500-6-3.800.5-6.500 2.500-6.500 6ZM7.500 17.500h9"/>`),
}

func ownIcon(paths string) string {
	return `<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round">` + paths + `</svg>`
}
