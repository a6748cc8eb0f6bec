package front

import (
	"context"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"strings"
	"time"
)

// File is an uploaded file to answer with.
type File struct {
	Name    string
	Type    string // media type
	Inline  bool   // a browser may show it; otherwise it is a download, sent without its type
	Tag     string // entity tag without quotes; it changes with the bytes
	Content io.ReadSeeker
}

// FileRefusal is the error of ServeFile for a bad precondition or range. ServeFile has written nothing; the
// edge answers in its own form.
type FileRefusal struct {
	Range bool   // the Range cannot be satisfied (416); otherwise a precondition failed (412)
	Text  string // for an API client
}

// Error implements error.
func (r *FileRefusal) Error() string { return r.Text }

// ServeFile answers a GET or HEAD with a file or a part of it (Range, If-Range), or with 304
// (If-None-Match). Nothing in the file can run in a browser: its type is declared and not sniffed, and it
// opens in a sandbox without an origin. If ServeFile returns an error, such as a FileRefusal, it has
// written nothing. If f.Content has a method Whole, ServeFile calls it before the last bytes, and cuts
// the connection if it returns an error.
func (x *Exchange) ServeFile(f File) error {
	h := x.Header()
	before := maps.Clone(h)
	disposition := "inline"
	if !f.Inline {
		f.Type, disposition = "application/octet-stream", "attachment"
	}
	h.Set("Content-Type", f.Type)
	h.Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": f.Name}))
	h.Set("Content-Security-Policy", "sandbox")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Etag", `"`+f.Tag+`"`)
	if strings.Count(x.Request.Header.Get("Range"), ",") >= maxRanges {
		x.Request.Header.Del("Range")
	}
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "private, no-cache")
	}
	w := &fileWriter{Exchange: x}
	w.whole, _ = f.Content.(interface{ Whole(context.Context) error })
	http.ServeContent(w, x.Request, "", time.Time{}, f.Content)
	if w.damaged != nil {
		if x.Request.Context().Err() == nil { // otherwise the client has gone, which ended the check
			x.front.Log.Error("cut off a file whose bytes are damaged", "request_id", x.ID, "error", w.damaged)
		}
		panic(http.ErrAbortHandler)
	}
	if w.refused == 0 {
		return nil
	}
	ranges := h.Get("Content-Range")
	clear(h)
	maps.Copy(h, before)
	if ranges != "" {
		h.Set("Content-Range", ranges)
	}
	switch w.refused {
	case http.StatusRequestedRangeNotSatisfiable:
		return &FileRefusal{Range: true, Text: "the Range is invalid or outside of this file: Content-Range has its size"}
	case http.StatusPreconditionFailed:
		return &FileRefusal{Text: "the file does not match If-Match or If-Unmodified-Since: read it again without them"}
	}
	return fmt.Errorf("serve a file: net/http refused it with %d", w.refused)
}

// maxRanges bounds the ranges of one request. A client that asks for more gets the whole file, as RFC 9110
// allows. In a bucket each range is a request of its own, so one request could cause thousands.
const maxRanges = 8

// A file is sent in pieces of fileChunk bytes, and a client has chunkWithin to receive each. So a large
// file may take any time as long as it makes progress. Smaller pieces cost more: with a quarter of this
// size, a file of 1 MB took half as much processor time again.
const (
	fileChunk   = 1 << 20
	chunkWithin = 2 * time.Minute
)

// fileWriter sends a file in pieces, each with its own deadline.
type fileWriter struct {
	*Exchange
	whole   interface{ Whole(context.Context) error } // nil: the bytes need no check
	damaged error                                     // the error of whole
	refused int                                       // the status of a refusal, which was not sent
}

// WriteHeader sends the status unless it is an error: the error texts of net/http are not ours.
func (w *fileWriter) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		w.refused = status
		return
	}
	w.Exchange.WriteHeader(status)
}

// Write sends b unless it is the text of an error status.
func (w *fileWriter) Write(b []byte) (int, error) {
	if w.refused != 0 {
		return len(b), nil
	}
	return w.Exchange.Write(b)
}

// ReadFrom sends what r has. The connection reads from a file by itself, without a copy.
func (w *fileWriter) ReadFrom(r io.Reader) (n int64, err error) {
	limit, limited := r.(*io.LimitedReader)
	for {
		size := int64(fileChunk)
		if limited {
			size = min(size, limit.N)
		}
		if size == 0 {
			return n, nil
		}
		if w.whole != nil && limited && size == limit.N {
			w.Outside(func() { w.damaged = w.whole.Whole(w.Request.Context()) })
			if w.damaged != nil {
				return n, w.damaged
			}
		}
		part, err := w.send(r, size)
		n += part
		if err != nil || part < size {
			return n, err
		}
	}
}

// send sends at most size bytes of r.
func (w *fileWriter) send(r io.Reader, size int64) (n int64, err error) {
	piece := &io.LimitedReader{R: r, N: size}
	if limit, ok := r.(*io.LimitedReader); ok {
		piece.R = limit.R
		defer func() { limit.N -= n }()
	}
	_ = http.NewResponseController(w.w).SetWriteDeadline(w.front.Now().Add(chunkWithin)) // a writer without one, as in tests, needs none
	if w.status == 0 {
		w.status = http.StatusOK
	}
	w.Outside(func() { n, err = io.Copy(w.w, piece) })
	return n, err
}
