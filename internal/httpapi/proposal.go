package httpapi

import (
	"context"
	"net/http"
	"strconv"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

var proposalStates = map[string]sheaf.ProposalState{"open": sheaf.ProposalOpen, "accepted": sheaf.ProposalStateAccepted,
	"rejected": sheaf.ProposalStateRejected, "withdrawn": sheaf.ProposalStateWithdrawn}

func (s *Server) listProposals(x *exchange) (answer, error) {
	var f sheaf.ProposalFilter
	var err error
	if f.Paging, err = x.paging(); err != nil {
		return answer{}, err
	}
	if f.State, err = choice(x, "state", proposalStates, "open, accepted, rejected or withdrawn"); err != nil {
		return answer{}, err
	}
	for name, id := range map[string]*string{"project_id": (*string)(&f.Project), "document_id": (*string)(&f.Document), "user_id": (*string)(&f.User)} {
		if !x.query.Has(name) {
			continue
		}
		var ok bool
		if *id, ok = sheaf.ParseUUID(x.query.Text(name)); !ok {
			return answer{}, sheaf.InvalidField(name, "%s must be a UUID", name)
		}
	}
	if f.UpdatedSince, err = x.since("updated_since"); err != nil {
		return answer{}, err
	}
	page, err := s.App.Proposals(x.Request.Context(), x.Caller, f)
	return pageOf(page), err
}

// createProposal answers POST /api/v1/proposals. Its cost depends on the number of changes, as in a batch.
func (s *Server) createProposal(x *exchange, in *strict.Fields) (answer, error) {
	change, err := x.proposalChange(in)
	if err != nil {
		return answer{}, err
	}
	return once(x, createdProposal, func(c app.Caller) (sheaf.Proposal, error) {
		return s.App.CreateProposal(x.Request.Context(), c, change)
	})
}

func (s *Server) updateProposal(x *exchange, in *strict.Fields) (answer, error) {
	id, err := pathID[sheaf.ProposalID](x)
	if err != nil {
		return answer{}, err
	}
	change, err := x.proposalChange(in)
	if err != nil {
		return answer{}, err
	}
	p, err := s.App.UpdateProposal(x.Request.Context(), x.Caller, id, change, matchOf(x.Request.Header))
	return shownProposal(p), err
}

// proposalChange reads the fields of a proposal.
func (x *exchange) proposalChange(in *strict.Fields) (sheaf.ProposalChange, error) {
	change := sheaf.ProposalChange{Title: in.Text("title"), Message: in.Text("message")}
	objects := in.Objects("changes")
	if err := in.Err(); err != nil || !objects.Set {
		return change, err
	}
	if n := len(objects.Value); n == 0 || n > sheaf.MaxProposed {
		return change, sheaf.InvalidField("changes", "changes must be an array of 1 to %d objects, such as {\"op\": \"edit\", \"document_id\": \"…\", \"base_version\": 3, \"content\": \"…\"}", sheaf.MaxProposed)
	}
	if err := x.Charge(sheaf.BatchCost(len(objects.Value))); err != nil {
		return change, err
	}
	change.Changes = sheaf.Some(make([]sheaf.ProposedChange, len(objects.Value)))
	for i, object := range objects.Value {
		var err error
		if change.Changes.Value[i], err = proposedChange(object.Fields()); err != nil {
			return change, sheaf.AtChange(i, x.Explain(err))
		}
	}
	return change, nil
}

// proposedChange reads one change of a proposal.
func proposedChange(in *strict.Fields) (c sheaf.ProposedChange, err error) {
	in.LetStand(madeEarlier)
	c.Op = sheaf.ProposalOp(in.Text("op").Value)
	c.DocumentID = strict.ID[sheaf.DocumentID](in, "document_id").Value
	c.BaseVersion = in.Int("base_version", 1, sheaf.MaxNumber).Value
	if err := in.Err(); err != nil {
		return c, err
	}
	switch c.Op {
	case sheaf.ProposeEdit:
		c.Document, err = documentChange(in, mergedMetadata)
	case sheaf.ProposeCreate:
		c.Document, err = documentChange(in, wholeMetadata)
	case sheaf.ProposeMove:
		c.Move, err = documentMove(in)
	}
	return c, err
}

func createdProposal(p sheaf.Proposal) answer {
	a := resource(http.StatusCreated, &p, p.Revision)
	a.location = "/api/v1/proposals/" + string(p.ID)
	return a
}

func shownProposal(p sheaf.Proposal) answer { return resource(http.StatusOK, &p, p.Revision) }

func shownProposalDetail(p app.ProposalDetail) answer { return resource(http.StatusOK, &p, p.Revision) }

// decides makes a decision about the proposal whose id is in the path.
func decides(decide func(context.Context, app.Caller, sheaf.ProposalID, sheaf.Match) (sheaf.Proposal, error)) func(*exchange) (answer, error) {
	return func(x *exchange) (answer, error) {
		id, err := pathID[sheaf.ProposalID](x)
		if err != nil {
			return answer{}, err
		}
		x.LiftDeadlines() // it may change many documents
		return once(x, shownProposal, func(c app.Caller) (sheaf.Proposal, error) {
			return decide(x.Request.Context(), c, id, matchOf(x.Request.Header))
		})
	}
}

func (s *Server) rejectProposal(x *exchange, in *strict.Fields) (answer, error) {
	note := in.Text("note")
	if err := in.Err(); err != nil {
		return answer{}, err
	}
	return decides(func(ctx context.Context, c app.Caller, id sheaf.ProposalID, match sheaf.Match) (sheaf.Proposal, error) {
		return s.App.RejectProposal(ctx, c, id, note.Pointer(), match)
	})(x)
}

func (s *Server) takeBackApproval(x *exchange) (answer, error) {
	id, err := pathID[sheaf.ProposalID](x)
	if err != nil {
		return answer{}, err
	}
	return noContent(s.App.TakeBackApproval(x.Request.Context(), x.Caller, id, matchOf(x.Request.Header)))
}

func (s *Server) previewChange(x *exchange) (answer, error) {
	id, err := pathID[sheaf.ProposalID](x)
	if err != nil {
		return answer{}, err
	}
	n, err := pathNumber(x)
	if err != nil {
		return answer{}, err
	}
	v, err := s.App.PreviewChange(x.Request.Context(), x.Caller, id, n)
	body := sheaf.AppendJSON(nil, &v)
	return answer{status: http.StatusOK, body: body, etag: pageTag(body)}, err
}

// pathNumber returns the number of a change or a comment in the path.
func pathNumber(x *exchange) (int, error) {
	text := x.Request.PathValue("n")
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || strconv.Itoa(n) != text { // each record has one address only
		return 0, sheaf.InvalidField("n", "the number in the path must be a whole number such as 1")
	}
	return n, nil
}
