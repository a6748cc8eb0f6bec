package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Version is a document's title and text as they were, or are: each change of one of them makes one.
type Version struct {
	Received
	Number        int64     `json:"version"` // from 1 on
	Title         string    `json:"title"`
	ContentBytes  int64     `json:"content_bytes"`
	ContentSHA256 string    `json:"content_sha256"` // SHA-256 of the text, in hex
	UserID        *string   `json:"user_id"`        // the author; nil: unknown
	KeyID         *string   `json:"key_id"`         // the key that was used; nil: the console
	ProposalID    *string   `json:"proposal_id"`    // the proposal whose acceptance made it; nil: none
	CreatedAt     time.Time `json:"created_at"`
	// RestoredVersion is the number of the version that was restored; nil: this one restored none.
	RestoredVersion *int64 `json:"restored_version"`
	// Content is the text. Version alone has it; in lists it is nil.
	Content *string `json:"content"`
}

// markdown is a body that is sent as it is.
type markdown string

func contentPath(id string) string { return documentsPath + "/" + escape(id) + "/content" }

func versionsPath(id string) string { return documentsPath + "/" + escape(id) + "/versions" }

func versionPath(id string, number int64) string {
	return versionsPath(id) + "/" + strconv.FormatInt(number, 10)
}

// Content returns the text of a document, which is Markdown, and the ETag that [IfMatch] takes.
func (s Documents) Content(ctx context.Context, id string, opts ...Option) (text, etag string, err error) {
	res, err := s.c.do(ctx, request{method: http.MethodGet, path: contentPath(id)}, opts)
	if err != nil {
		return "", "", err
	}
	return string(res.body), res.header.Get("Etag"), nil
}

// HTML returns the text of a document as HTML that the service made of it: elements that stand in a
// body, in which nothing runs and nothing is loaded from elsewhere. Links to documents and media are
// href="document:…" and href="media:…".
func (s Documents) HTML(ctx context.Context, id string, opts ...Option) (string, error) {
	res, err := s.c.do(ctx, request{method: http.MethodGet, path: contentPath(id), query: url.Values{"format": {"html"}}}, opts)
	if err != nil {
		return "", err
	}
	return string(res.body), nil
}

// PutContent gives a document this text, of at most 1,048,576 bytes, and returns the whole document
// without it.
func (s Documents) PutContent(ctx context.Context, id, text string, opts ...Option) (Document, error) {
	return send[Document](ctx, s.c, request{method: http.MethodPut, path: contentPath(id), body: markdown(text)}, opts)
}

// Versions returns one page of the versions of a document, newest first: the first is the present one.
// Where the order is reversed, the oldest that is kept is the first.
func (s Documents) Versions(ctx context.Context, id string, p Paging, opts ...Option) (Page[Version], error) {
	query := p.values()
	if p.Desc {
		query.Set("order", "asc")
	}
	return list[Version](ctx, s.c, versionsPath(id), query, opts)
}

// AllVersions returns every version of a document, as Projects.All does.
func (s Documents) AllVersions(ctx context.Context, id string, p Paging, opts ...Option) iter.Seq2[Version, error] {
	return all(p, func(p Paging) (Page[Version], error) { return s.Versions(ctx, id, p, opts...) })
}

// Version returns one version of a document with its text.
func (s Documents) Version(ctx context.Context, id string, number int64, opts ...Option) (Version, error) {
	return send[Version](ctx, s.c, request{method: http.MethodGet, path: versionPath(id, number)}, opts)
}

// Diff returns what changed in the text from a version to another one, or to the present one where to
// is 0, as a unified diff. It is empty where the texts are the same.
func (s Documents) Diff(ctx context.Context, id string, from, to int64, opts ...Option) (string, error) {
	r := request{method: http.MethodGet, path: versionPath(id, from) + "/diff"}
	if to != 0 {
		r.query = url.Values{"to": {strconv.FormatInt(to, 10)}}
	}
	res, err := s.c.do(ctx, r, opts)
	if err != nil {
		return "", err
	}
	return string(res.body), nil
}

// RestoreVersion gives a document the title and the text that it had in a version, as a new version,
// and returns the whole document.
func (s Documents) RestoreVersion(ctx context.Context, id string, number int64, opts ...Option) (Document, error) {
	return send[Document](ctx, s.c, request{method: http.MethodPost, path: versionPath(id, number) + "/restore"}, opts)
}
