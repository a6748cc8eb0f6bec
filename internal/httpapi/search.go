package httpapi

import "sheaf.dev/internal/sheaf"

// search answers GET /api/v1/search. Its answer is cached neither here nor by the client, because it must be
// current.
func (s *Server) search(x *exchange) (answer, error) {
	q, err := x.searchQuery()
	if err != nil {
		return answer{}, err
	}
	page, err := s.App.Search(x.Request.Context(), x.Caller, q)
	if sheaf.KindOf(err) == sheaf.Forbidden {
		x.ChallengeScopes(needs(sheaf.ProjectsRead, sheaf.DocumentsRead)) // the key has one of them, and the search needs the other
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

// searchIn reads the id of the project or folder to search in. nil means everywhere.
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
