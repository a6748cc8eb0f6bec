package httpapi

import "sheaf.dev/internal/sheaf"

// search finds projects, folders and documents. Its answer is never kept, by us or by anybody: what
// it shows must be true when it is shown.
func (s *Server) search(x *exchange) (answer, error) {
	q, err := x.searchQuery()
	if err != nil {
		return answer{}, err
	}
	page, err := s.App.Search(x.Request.Context(), x.caller, q)
	if sheaf.KindOf(err) == sheaf.Forbidden {
		x.lacksScope(needs(sheaf.ProjectsRead, sheaf.DocumentsRead)) // it holds one, and asked for what the other opens
	}
	a := pageOf(page)
	a.etag = ""
	x.Header().Set("Cache-Control", "no-store")
	return a, err
}

func (x *exchange) searchQuery() (q sheaf.SearchQuery, err error) {
	if q.Paging, err = x.paging(); err != nil {
		return q, err
	}
	if x.query.Has("type") {
		if q.Types, err = sheaf.ParseSearchTypes(x.query.Text("type")); err != nil {
			return q, err
		}
	}
	if q.Project, err = searchIn[sheaf.ProjectID](x, "project_id"); err != nil {
		return q, err
	}
	if q.Folder, err = searchIn[sheaf.FolderID](x, "folder_id"); err != nil {
		return q, err
	}
	q.Text = x.query.Text("q")
	_, err = q.Words()
	return q, err
}

// searchIn reads the identifier of what is searched in; nil is everything.
func searchIn[T ~string](x *exchange, name string) (*T, error) {
	if !x.query.Has(name) {
		return nil, nil
	}
	id, ok := sheaf.ParseUUID(x.query.Text(name))
	if !ok {
		return nil, sheaf.InvalidField(name, "%s must be a UUID", name)
	}
	in := T(id)
	return &in, nil
}
