package httpapi

import (
	"net/http"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

func (s *Server) listComments(x *exchange) (answer, error) {
	id, err := pathID[sheaf.ProposalID](x)
	if err != nil {
		return answer{}, err
	}
	p, err := x.paging()
	if err != nil {
		return answer{}, err
	}
	page, err := s.App.Comments(x.Request.Context(), x.Caller, id, p)
	return pageOf(page), err
}

func (s *Server) createComment(x *exchange, in *strict.Fields) (answer, error) {
	id, err := pathID[sheaf.ProposalID](x)
	if err != nil {
		return answer{}, err
	}
	change := sheaf.CommentChange{Body: in.Text("body"), Change: in.Int("change", 0, sheaf.MaxProposed-1)}
	if err := in.Err(); err != nil {
		return answer{}, err
	}
	return once(x, createdComment, func(c app.Caller) (sheaf.Comment, error) {
		return s.App.CreateComment(x.Request.Context(), c, id, change)
	})
}

func createdComment(c sheaf.Comment) answer { return resource(http.StatusCreated, &c, c.Revision) }

func (s *Server) updateComment(x *exchange, in *strict.Fields) (answer, error) {
	id, n, err := pathComment(x)
	if err != nil {
		return answer{}, err
	}
	change := sheaf.CommentChange{Body: in.Text("body")}
	if err := in.Err(); err != nil {
		return answer{}, err
	}
	c, err := s.App.UpdateComment(x.Request.Context(), x.Caller, id, n, change, matchOf(x.Request.Header))
	return resource(http.StatusOK, &c, c.Revision), err
}

func (s *Server) deleteComment(x *exchange) (answer, error) {
	id, n, err := pathComment(x)
	if err != nil {
		return answer{}, err
	}
	return noContent(s.App.DeleteComment(x.Request.Context(), x.Caller, id, n, matchOf(x.Request.Header)))
}

// pathComment returns the id of the proposal and the number of the comment in the path.
func pathComment(x *exchange) (sheaf.ProposalID, int64, error) {
	id, err := pathID[sheaf.ProposalID](x)
	if err != nil {
		return "", 0, err
	}
	n, err := pathNumber(x)
	return id, int64(n), err
}
