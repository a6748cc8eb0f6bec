// Package icon holds the catalogue of icons that the service ships for projects, folders and
// brandings. It only describes them: which icon identifiers a record may store is not its business,
// any identifier may be stored.
//
// The drawings come from Lucide; see LICENSE.lucide.
package icon

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
)

// Icon is one entry of the catalogue.
type Icon struct {
	ID   string // kebab-case, stable between releases: "file-text"
	Name string // the readable title: "File text"
	SVG  string // a whole <svg> element of 24 by 24 on one line, drawn in currentColor; safe to put into a page
}

//go:embed svg/*.svg
var drawings embed.FS

// catalogue is sorted by id and never changes after it is made.
var catalogue = sync.OnceValue(func() []Icon {
	entries, err := fs.ReadDir(drawings, "svg")
	if err != nil {
		panic(fmt.Sprintf("icon: list the embedded drawings: %v", err)) // the embed directive guarantees the folder
	}
	icons := make([]Icon, 0, len(entries))
	for _, entry := range entries {
		svg, err := drawings.ReadFile("svg/" + entry.Name())
		if err != nil {
			panic(fmt.Sprintf("icon: read an embedded drawing: %v", err))
		}
		id := strings.TrimSuffix(entry.Name(), ".svg")
		icons = append(icons, Icon{ID: id, Name: title(id), SVG: strings.TrimSpace(string(svg))})
	}
	// File names sort by "file-text.svg" < "file.svg"; ids must sort as ids.
	slices.SortFunc(icons, func(a, b Icon) int { return strings.Compare(a.ID, b.ID) })
	return icons
})

// All returns the 67 icons, ordered by id, the same in every call. The slice is the caller's to
// keep and change.
func All() []Icon {
	return slices.Clone(catalogue())
}

// Lookup returns the icon with exactly this id, or false when the catalogue has none.
func Lookup(id string) (Icon, bool) {
	icons := catalogue()
	i, found := slices.BinarySearchFunc(icons, id, func(icon Icon, id string) int { return strings.Compare(icon.ID, id) })
	if !found {
		return Icon{}, false
	}
	return icons[i], true
}

// title is the name that people see: it turns "file-text" into "File text".
func title(id string) string {
	words := strings.ReplaceAll(id, "-", " ")
	return strings.ToUpper(words[:1]) + words[1:]
}
