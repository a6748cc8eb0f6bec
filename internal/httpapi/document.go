package httpapi

import (
	"context"
	"net/http"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/render"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

var documentSorts = map[string]sheaf.DocumentSort{"created_at": sheaf.DocumentsByCreated,
	"updated_at": sheaf.DocumentsByUpdated, "title": sheaf.DocumentsByTitle, "sort_order": sheaf.DocumentsByOrder, "deleted_at": sheaf.DocumentsByDeleted}

func (s *Server) listDocuments(x *exchange) (answer, error) {
	var f sheaf.DocumentFilter
	var err error
	if f.Paging, err = x.paging(); err != nil {
		return answer{}, err
	}
	if f.Project, err = queryID[sheaf.ProjectID](x, "project_id"); err != nil {
		return answer{}, err
	}
	if f.Parent, err = queryID[sheaf.DocumentID](x, "parent_id"); err != nil {
		return answer{}, err
	}
	if f.Query, err = x.search(); err != nil {
		return answer{}, err
	}
	if f.ExternalID, f.UpdatedSince, err = x.references(); err != nil {
		return answer{}, err
	}
	if f.Deleted, err = choice(x, "deleted", map[string]bool{"true": true, "false": false}, "true or false"); err != nil {
		return answer{}, err
	}
	if f.Sort, err = choice(x, "sort", documentSorts, "created_at, updated_at, title, sort_order, or with deleted=true deleted_at"); err != nil {
		return answer{}, err
	}
	if f.Sort == sheaf.DocumentsByDeleted && !f.Deleted {
		return answer{}, sheaf.InvalidField("sort", "sort=deleted_at is for deleted documents: send deleted=true with it, or sort by created_at, updated_at, title or sort_order")
	}
	page, err := s.App.Documents(x.Request.Context(), x.Caller, f)
	if f.Deleted {
		return pageOf(deletedPage(page)), err
	}
	return pageOf(page), err
}

// deletedPage returns the page with deleted documents, whose JSON has the time of the deletion.
func deletedPage(p sheaf.Page[sheaf.Document]) sheaf.Page[sheaf.DeletedDocument] {
	out := sheaf.Page[sheaf.DeletedDocument]{Total: p.Total, Paging: p.Paging}
	for _, d := range p.Items {
		out.Items = append(out.Items, sheaf.DeletedDocument(d))
	}
	return out
}

// getContent answers with the text itself. Its ETag has the revision of the document, so it works in If-Match.
func (s *Server) getContent(x *exchange) (answer, error) {
	id, err := pathID[sheaf.DocumentID](x)
	if err != nil {
		return answer{}, err
	}
	format, err := x.textFormat()
	if err != nil {
		return answer{}, err
	}
	d, err := s.App.DocumentText(x.Request.Context(), x.Caller, id)
	if err != nil {
		return answer{}, err
	}
	if format == "html" {
		return s.shownContent(x, d)
	}
	body := []byte(d.Content)
	return answer{status: http.StatusOK, body: body, media: markdownType, etag: resourceTag(d.Revision, body)}, nil
}

// textFormat reads in which format a text is asked for; empty is Markdown.
func (x *exchange) textFormat() (string, error) {
	format := x.query.Text("format")
	if format != "" && format != "markdown" && format != "html" {
		return "", sheaf.InvalidField("format", "format must be markdown or html, not %q", sheaf.Clip(format))
	}
	return format, nil
}

// purgeDocument answers DELETE /api/v1/documents/{id}/permanent.
func (s *Server) purgeDocument(x *exchange) (answer, error) {
	released, err := choice(x, "releases", map[string]bool{"true": true, "false": false}, "true or false")
	if err != nil {
		return answer{}, err
	}
	return deletes(func(ctx context.Context, c app.Caller, id sheaf.DocumentID, match sheaf.Match) error {
		return s.App.PurgeDocument(ctx, c, id, released, match)
	})(x)
}

// shownContent answers with the text as HTML. If a browser opens it, inertPolicy allows it nothing.
func (s *Server) shownContent(x *exchange, d sheaf.DocumentText) (answer, error) {
	page, err := s.Render.Page(x.AwaitTurn, d.Content)
	if err != nil {
		return answer{}, err
	}
	body := page.HTML(render.Refs{})
	return answer{status: http.StatusOK, body: body, media: htmlType, policy: inertPolicy, etag: resourceTag(d.Revision, body)}, nil
}

func (s *Server) putContent(x *exchange, text string) (answer, error) {
	id, err := pathID[sheaf.DocumentID](x)
	if err != nil {
		return answer{}, err
	}
	// The whole body is the text: nothing in it has a name, so the error has no field.
	if err := sheaf.CheckContent("the body", text); err != nil {
		return answer{}, sheaf.Invalidf("%s", err)
	}
	d, err := s.App.UpdateDocument(x.Request.Context(), x.Caller, id, sheaf.DocumentChange{Content: sheaf.Some(text)}, matchOf(x.Request.Header))
	return shownDocument(d), err
}

// documentChange reads the fields of a document. metadata reads its metadata, which differs by method.
func documentChange(in *strict.Fields, metadata metadataReader) (sheaf.DocumentChange, error) {
	return sheaf.DocumentChange{Title: in.Text("title"), Description: in.Text("description"),
		ProjectID: strict.ID[sheaf.ProjectID](in, "project_id"), ParentID: strict.ID[sheaf.DocumentID](in, "parent_id"),
		SortOrder: in.Int("sort_order", -sheaf.MaxNumber, sheaf.MaxNumber), Content: in.Text("content"),
		ExternalID: in.Text("external_id"), URL: in.Text("url"), Metadata: metadata(in)}, in.Err()
}

func createdDocument(d sheaf.Document) answer {
	a := resource(http.StatusCreated, &d, d.Revision)
	a.location = "/api/v1/documents/" + string(d.ID)
	return a
}

func shownDocument(d sheaf.Document) answer { return resource(http.StatusOK, &d, d.Revision) }

func (s *Server) restoreDocument(x *exchange) (answer, error) {
	id, err := pathID[sheaf.DocumentID](x)
	if err != nil {
		return answer{}, err
	}
	x.LiftDeadlines() // any number of documents may have been deleted with it
	return once(x, shownDocument, func(c app.Caller) (sheaf.Document, error) {
		return s.App.RestoreDocument(x.Request.Context(), c, id)
	})
}

// wholeDocument reads the fields of POST and PUT.
func wholeDocument(in *strict.Fields) (sheaf.DocumentChange, error) {
	return documentChange(in, wholeMetadata)
}

// documentPatch reads the fields of PATCH.
func documentPatch(in *strict.Fields) (sheaf.DocumentChange, error) {
	return documentChange(in, mergedMetadata)
}

func shownText(d sheaf.DocumentText) answer { return resource(http.StatusOK, &d, d.Revision) }
