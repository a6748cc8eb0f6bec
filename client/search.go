package client

import (
	"context"
	"iter"
	"strings"
	"time"
)

// Hit is a project, a folder or a document that a search found.
type Hit struct {
	Received
	Type  string `json:"type"` // project, folder or document
	ID    string `json:"id"`
	Title string `json:"title"` // the name of a project or a folder
	// Snippet is a piece of the description or the content, and Ranges the start and the length of
	// the words in it, in code points.
	Snippet string   `json:"snippet"`
	Ranges  [][2]int `json:"ranges"`
	// ProjectID and FolderID say where it lies; nil: in none.
	ProjectID *string `json:"project_id"`
	FolderID  *string `json:"folder_id"`
	// Path has the titles of the documents above a document, the one at the top level first.
	Path      []string  `json:"path"`
	UpdatedAt time.Time `json:"updated_at"`
}

// SearchQuery is what is looked for.
type SearchQuery struct {
	// Text has 1 to 10 words, which must all occur. Text between quotation marks is one word.
	Text      string
	Types     []string // project, folder, document; none: all
	ProjectID string   // only what lies in this project
	FolderID  string   // only what lies in this folder, or in one below it
	Paging             // Desc is not for a search
}

// Search returns one page of what has every word: first what has all of them in its title, then the
// newest. The kinds that the key may not read are left out; it needs projects:read (for folders too)
// or documents:read.
func (c *Client) Search(ctx context.Context, q SearchQuery, opts ...Option) (Page[Hit], error) {
	v := q.Paging.values()
	v.Set("q", q.Text)
	set(v, "type", strings.Join(q.Types, ","))
	set(v, "project_id", q.ProjectID)
	set(v, "folder_id", q.FolderID)
	return list[Hit](ctx, c, "/api/v1/search", v, opts)
}

// SearchAll returns everything that has the words.
func (c *Client) SearchAll(ctx context.Context, q SearchQuery, opts ...Option) iter.Seq2[Hit, error] {
	return all(q.Paging, func(p Paging) (Page[Hit], error) {
		q.Paging = p
		return c.Search(ctx, q, opts...)
	})
}
