package app

import (
	"context"
	"slices"

	"sheaf.dev/internal/search"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// Search returns a page of the records that contain every word of the query, of the kinds that the
// caller may read. It returns Forbidden if the caller may read none of the kinds asked for, or
// narrows the search to a folder and may not read folders. Bad words are Invalid.
func (a *App) Search(ctx context.Context, c Caller, q sheaf.SearchQuery) (page sheaf.Page[sheaf.Hit], err error) {
	may := search.Scope{Types: readable(c, q.Types), Folders: c.May(sheaf.ProjectsRead)}
	needs := searching(q, may.Types)
	if err := needs(c); err != nil {
		return page, err
	}
	err = a.index.View(ctx, c.Workspace, q, func(ctx context.Context, v *search.View) (err error) {
		page, err = read(ctx, a, c, needs, func(r *store.Reader) (sheaf.Page[sheaf.Hit], error) {
			if q.MustExist {
				if err := placeExists(r, c.Workspace, q.Project, q.Folder); err != nil {
					return sheaf.Page[sheaf.Hit]{}, err
				}
			}
			return v.Find(r, may)
		})
		return err
	})
	return page, err
}

// readable returns the kinds among `asked` that the caller may read. Empty means all kinds.
func readable(c Caller, asked []sheaf.SearchType) (types []sheaf.SearchType) {
	if len(asked) == 0 {
		asked = sheaf.SearchTypes
	}
	for _, t := range asked {
		if c.May(t.Scope()) {
			types = append(types, t)
		}
	}
	return types
}

// searching requires that the caller may read at least one kind asked for, and folders if the
// search is narrowed to one.
func searching(q sheaf.SearchQuery, readable []sheaf.SearchType) need {
	return func(c Caller) error {
		if q.Folder != nil {
			if err := c.Authorize(sheaf.ProjectsRead); err != nil {
				return err
			}
		}
		if len(readable) > 0 {
			return nil
		}
		if len(q.Types) > 0 && !slices.Contains(q.Types, sheaf.SearchDocument) {
			return c.Authorize(sheaf.ProjectsRead)
		}
		return c.Authorize(sheaf.DocumentsRead)
	}
}
