package doctor

import (
	"fmt"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// checkBrandings are the promises about brandings. Brandings have no events, so the checks do not compare
// them with the log.
var checkBrandings = []check{
	// Its folder exists in the same workspace, and is one for brandings.
	{name: "branding folder", judge: tells("branding %s is in folder %s, of type %s"), sql: `
SELECT b.id, b.folder_id, f.entity_type
FROM brandings b
LEFT JOIN folders f ON f.ws = b.ws AND f.id = b.folder_id
WHERE b.ws = $1 AND b.folder_id IS NOT NULL AND (f.id IS NULL OR f.entity_type <> 'branding')`},

	// Folders count the brandings that are directly in them.
	{name: "branding count", judge: tells("folder %s counts %s brandings and has %s"), sql: `
SELECT id, says, has
FROM (
  SELECT id, branding_count AS says,
    (SELECT COUNT(*) FROM brandings b WHERE b.ws = folders.ws AND b.folder_id = folders.id) AS has
  FROM folders
  WHERE ws = $1) c
WHERE says <> has`},

	// The folded columns, which are searched, match the shown ones.
	{name: "branding search", judge: folded("branding"), sql: `
SELECT id, name, name_folded, NULL, NULL
FROM brandings
WHERE ws = $1`},

	// Its color and font are such: pages are made of them.
	{name: "branding look", judge: brandingExists, sql: `
SELECT id, color_primary, font
FROM brandings
WHERE ws = $1`},

	// Its logo is a medium of the workspace, and a raster picture.
	{name: "branding logo", judge: tells("branding %s has the logo %s, of type %s"), sql: `
SELECT b.id, b.logo_media_id, m.content_type
FROM brandings b
LEFT JOIN media m ON m.ws = b.ws AND m.id = b.logo_media_id AND m.state = 1
WHERE b.ws = $1 AND b.logo_media_id IS NOT NULL
  AND (m.id IS NULL OR m.content_type NOT IN ('image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif'))`},

	// The default one is there.
	{name: "default branding", judge: tells("its default branding %s is not there"), sql: `
SELECT w.default_branding
FROM workspaces w
WHERE w.ws = $1 AND w.default_branding IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM brandings b WHERE b.ws = w.ws AND b.id = w.default_branding)`},
}

func brandingExists(_ *patient, r *engine.Row) string {
	id, color, font := show(r), r.Text(), r.Text()
	if _, err := sheaf.ParseFont(font); err == nil && sheaf.CheckColor(color) == nil {
		return ""
	}
	return fmt.Sprintf("branding %s has the color %s and the font %s", id, sheaf.Clip(color), sheaf.Clip(font))
}
