package client

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Medium is a file that texts show or lead to, as media:<id>.
type Medium struct {
	Received
	ID          string    `json:"id"`
	Filename    string    `json:"filename"`
	ContentType string    `json:"content_type"` // the type that the server found in the bytes
	Bytes       int64     `json:"bytes"`
	SHA256      string    `json:"sha256"`
	Width       *int      `json:"width"` // width of a picture in pixels; nil: no picture
	Height      *int      `json:"height"`
	DocumentID  *string   `json:"document_id"` // the document that it belongs to; nil: none
	URL         string    `json:"url"`         // path of the bytes on the server
	CreatedAt   time.Time `json:"created_at"`
}

// NewMedium describes a file to upload.
type NewMedium struct {
	Filename   string
	DocumentID string // empty: it belongs to none
}

// MediumChange are the fields to change; those that are left out stay as they are. [Null] takes it
// away from its document.
type MediumChange struct {
	Filename   Opt[string] `json:"filename,omitzero"`
	DocumentID Opt[string] `json:"document_id,omitzero"`
}

// MediumFilter narrows a list of media.
type MediumFilter struct {
	DocumentID  string // the document that they belong to; None: none
	ContentType string // prefix of the type, such as image/
	Paging
}

func (f MediumFilter) values() url.Values {
	q := f.Paging.values()
	set(q, "document_id", f.DocumentID)
	set(q, "content_type", f.ContentType)
	return q
}

// Media are the operations on media. Reading needs the scope media:read, all others media:write.
type Media struct{ c *Client }

const mediaPath = "/api/v1/media"

// file is a body that is sent as it is.
type file []byte

// List returns one page.
func (s Media) List(ctx context.Context, f MediumFilter, opts ...Option) (Page[Medium], error) {
	return list[Medium](ctx, s.c, mediaPath, f.values(), opts)
}

// All returns every medium that matches, as Projects.All does.
func (s Media) All(ctx context.Context, f MediumFilter, opts ...Option) iter.Seq2[Medium, error] {
	return all(f.Paging, func(p Paging) (Page[Medium], error) {
		f.Paging = p
		return s.List(ctx, f, opts...)
	})
}

// Get returns one medium, without its bytes.
func (s Media) Get(ctx context.Context, id string, opts ...Option) (Medium, error) {
	return send[Medium](ctx, s.c, request{method: http.MethodGet, path: mediaPath + "/" + escape(id)}, opts)
}

// Upload stores a file of at most 10 MB. Larger ones go by UploadFrom.
func (s Media) Upload(ctx context.Context, in NewMedium, content []byte, opts ...Option) (Medium, error) {
	q := url.Values{}
	set(q, "filename", in.Filename)
	set(q, "document_id", in.DocumentID)
	return send[Medium](ctx, s.c, request{method: http.MethodPost, path: mediaPath, query: q, body: file(content)}, opts)
}

// Download writes the bytes of a medium to w. It is bounded by its context alone, as a file may be of
// any size, and repeated until the first byte has come.
func (s Media) Download(ctx context.Context, id string, w io.Writer, opts ...Option) error {
	return s.download(ctx, mediaPath+"/"+escape(id)+"/content", w, opts)
}

// download writes the bytes at a path of the server to w.
func (s Media) download(ctx context.Context, path string, w io.Writer, opts []Option) error {
	r := request{method: http.MethodGet, path: path}
	if _, err := r.prepare(opts); err != nil {
		return err
	}
	res, err := s.openContent(ctx, r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(w, res.Body); err != nil {
		return fmt.Errorf("read the file from %s: %w", s.c.base, err)
	}
	return nil
}

// openContent asks for bytes, again where that may help, and returns the answer when they begin.
func (s Media) openContent(ctx context.Context, r request) (*http.Response, error) {
	for try := 0; ; try++ {
		res, err := s.c.open(ctx, &s.c.http, r, nil)
		if err == nil && res.StatusCode == http.StatusOK {
			return res, nil
		}
		if err == nil {
			err = refusal(res)
			res.Body.Close()
		}
		if again, _ := r.repeatable(err); !again || try >= s.c.config.Retries || ctx.Err() != nil {
			return nil, err
		}
		if err := s.c.pause(ctx, err, try); err != nil {
			return nil, err
		}
	}
}

// Update changes the fields that are set, and returns the whole medium.
func (s Media) Update(ctx context.Context, id string, change MediumChange, opts ...Option) (Medium, error) {
	return send[Medium](ctx, s.c, request{method: http.MethodPatch, path: mediaPath + "/" + escape(id), body: change}, opts)
}

// Delete removes the medium for ever. Texts that show it have its alternative text in its place.
func (s Media) Delete(ctx context.Context, id string, opts ...Option) error {
	return s.c.exec(ctx, request{method: http.MethodDelete, path: mediaPath + "/" + escape(id)}, opts)
}
