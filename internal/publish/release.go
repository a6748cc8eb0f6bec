package publish

import (
	"net/http"

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

// unreleased is the data of the page for a document that the shown release does not have.
type unreleased struct {
	Title   string
	Release string
	Home    string       // address of the release's first page
	Newest  *releaseItem // the newest release; nil if it is shown, or readers may not switch to it
}

// notInRelease answers 404 with a page that leads to the first page of the shown release, and to the newest
// one. It returns cause if the share shows no release. The page is the same for every id that the release
// does not have, so it reveals nothing about other documents.
func (v *visit) notInRelease(cause error) error {
	found, err := v.releases()
	switch {
	case sheaf.KindOf(err) == sheaf.NotFound || err == nil && (found == nil || found.Shown == ""):
		return cause
	case err != nil:
		return err
	}
	data := unreleased{Title: "This page is not in release " + found.Shown, Release: found.Shown, Home: v.home()}
	for i := range found.Items {
		if found.Items[i].Name == "" {
			continue // the documents as they are now
		}
		if !found.Items[i].Current {
			data.Newest = &found.Items[i]
		}
		break // the newest is the first
	}
	v.barePage(http.StatusNotFound, "unreleased", data.Title, data)
	return nil
}
