package publish

import (
	"sheaf.dev/internal/sheaf"
)

// releases is what a page shows about releases.
type releases struct {
	Shown string        // name of the release that the page shows; empty: the documents as they are now
	Items []releaseItem // what readers may switch to; empty: they may not switch
}

// releaseItem is a release, or with an empty name the documents as they are now.
type releaseItem struct {
	Name, Address string
	Current       bool
}

// releases returns what the page shows about releases, or nil. A link leads to the same document in
// the other release, if that has it, and else to its first page.
func (v *visit) releases() (*releases, error) {
	if v.share.Release == nil && !v.share.ShowReleases {
		return nil, nil
	}
	document := sheaf.DocumentID(v.r.PathValue("document"))
	found, err := v.publisher.App.SharedReleases(v.r.Context(), v.share, document)
	if err != nil {
		return nil, err
	}
	out := &releases{}
	if found.Shown != nil {
		out.Shown = found.Shown.Name
	}
	below := func(has bool) string {
		if has {
			return "/" + string(document)
		}
		return ""
	}
	if found.Present {
		out.Items = append(out.Items, releaseItem{"", v.shareHome() + below(found.InPresent), found.Shown == nil})
	}
	for _, r := range found.Offered {
		out.Items = append(out.Items, releaseItem{r.Name, v.shareHome() + "/releases/" + string(r.ID) + below(found.Has[r.Number]), found.Shown != nil && found.Shown.ID == r.ID})
	}
	return out, nil
}
