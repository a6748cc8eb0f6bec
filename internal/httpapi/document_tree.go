package httpapi

import (
	"net/http"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

// getTree answers with all documents of a project in reading order.
func (s *Server) getTree(x *exchange) (answer, error) {
	id, err := pathID[sheaf.ProjectID](x)
	if err != nil {
		return answer{}, err
	}
	entries, err := s.App.DocumentTree(x.Request.Context(), x.Caller, id)
	if err != nil {
		return answer{}, err
	}
	return shownTree(entries), nil
}

// shownTree answers with documents in reading order.
func shownTree(entries []sheaf.TreeEntry) answer {
	body := sheaf.Encode(sheaf.RecordFunc(func(o *sheaf.Object) {
		list := []byte{'['}
		for i := range entries {
			if i > 0 {
				list = append(list, ',')
			}
			list = sheaf.AppendJSON(list, &entries[i])
		}
		o.Raw("data", append(list, ']'))
		o.Int("total", int64(len(entries)))
	}))
	return answer{status: http.StatusOK, body: body, etag: pageTag(body)}
}

func (s *Server) moveDocument(x *exchange, in *strict.Fields) (answer, error) {
	id, err := pathID[sheaf.DocumentID](x)
	if err != nil {
		return answer{}, err
	}
	move, err := documentMove(in)
	if err != nil {
		return answer{}, err
	}
	return once(x, shownDocument, func(c app.Caller) (sheaf.Document, error) {
		return s.App.MoveDocument(x.Request.Context(), c, id, move, matchOf(x.Request.Header))
	})
}

// documentMove reads where a document is moved.
func documentMove(in *strict.Fields) (sheaf.DocumentMove, error) {
	return sheaf.DocumentMove{ProjectID: strict.ID[sheaf.ProjectID](in, "project_id"), ParentID: strict.ID[sheaf.DocumentID](in, "parent_id"),
		BeforeID: strict.ID[sheaf.DocumentID](in, "before_id"), AfterID: strict.ID[sheaf.DocumentID](in, "after_id")}, in.Err()
}
