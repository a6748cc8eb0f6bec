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

// File is a file that somebody uploaded, as an edge answers with it.
type File struct {
	Name    string
	Type    string // what its bytes are
	Inline  bool   // a browser may show it; else it may only save it, and learns nothing of its type
	Tag     string // names its bytes: others have another
	Content io.ReadSeeker
}

// FileRefusal is why ServeFile has answered nothing: the edge does, in its own form.
type FileRefusal struct {
	Range bool   // Range asks for what is not there (416); else a precondition failed (412)
	Text  string // for a program
}

// Error returns the text.
func (r *FileRefusal) Error() string { return r.Text }

// ServeFile answers a read with a file, or with the part of it that the client asks for (Range,
// If-Range) and does not have (If-None-Match). Whatever the file is, nothing in it runs here: its type
// is told and not guessed, and a browser opens it in a sandbox of no origin. It returns an error, such as a
// FileRefusal, if it has answered nothing. If f.Content has a method Whole, its verdict comes before the last bytes: an error
// cuts the connection.
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
		return &FileRefusal{Range: true, Text: "Range asks for what this file does not have, or cannot be read: Content-Range says how many bytes it has"}
	case http.StatusPreconditionFailed:
		return &FileRefusal{Text: "the file is not the one that If-Match or If-Unmodified-Since names: read it again without them"}
	}
	return fmt.Errorf("serve a file: net/http refused it with %d", w.refused)
}

// maxRanges is how many parts of a file may be asked for at once: whoever asks for more gets all of it, as
// RFC 9110 allows. In a bucket each part is a request of its own, so that one request could make
// thousands.
const maxRanges = 8

// fileChunk is how much of a file is sent at a time, and chunkWithin how long a client may take for it.
// A file may be of any size: as long as it arrives, nobody ends it. A smaller piece costs: at a quarter of this, a file
// of 1 MB took half as much processor time again.
const (
	fileChunk   = 1 << 20
	chunkWithin = 2 * time.Minute
)

// fileWriter sends a file piece by piece, each with a time of its own.
type fileWriter struct {
	*Exchange
	whole   interface{ Whole(context.Context) error } // nil: the file is verified
	damaged error                                     // what whole said
	refused int                                       // the status of a refusal, which was not sent
}

// WriteHeader sends a status that is no refusal: those of net/http are plain text.
func (w *fileWriter) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		w.refused = status
		return
	}
	w.Exchange.WriteHeader(status)
}

// Write passes on what is not the text of a refusal.
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
