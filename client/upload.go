package client

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// piece is a part of an upload, as the protocol tus sends it.
type piece []byte

const (
	uploadsPath = "/api/v1/uploads"
	// maxPiece is the number of bytes that one request sends. The server accepts up to 10 MB.
	maxPiece = 8 << 20
)

// UploadFrom stores a file of whatever size the server takes, in several requests (tus 1.0). When one
// fails it asks how far the server has come, and goes on from there, as often as other requests are
// repeated without anything arriving in between. It holds a few megabytes of the file.
func (s Media) UploadFrom(ctx context.Context, in NewMedium, content io.ReaderAt, size int64, opts ...Option) (Medium, error) {
	id, err := s.beginUpload(ctx, in, size, opts)
	if err != nil {
		return Medium{}, err
	}
	for at, failed := int64(0), 0; at < size; {
		// Each piece has its own bytes: of a request that failed the transport may still read.
		part := make([]byte, min(size-at, maxPiece))
		if n, err := content.ReadAt(part, at); n < len(part) {
			return Medium{}, fmt.Errorf("read what to upload: %w", err)
		}
		next, err := s.sendPiece(ctx, id, at, part)
		switch {
		case next > at:
			failed = 0
		case err != nil && (failed >= s.c.config.Retries || ctx.Err() != nil):
			return Medium{}, err
		default:
			if failed++; err != nil {
				if err := s.c.pause(ctx, err, failed-1); err != nil {
					return Medium{}, err
				}
			}
		}
		at = next
	}
	return s.Get(ctx, id)
}

// beginUpload announces a file, and returns the id that it will have.
func (s Media) beginUpload(ctx context.Context, in NewMedium, size int64, opts []Option) (string, error) {
	var metadata []string
	for name, value := range map[string]string{"filename": in.Filename, "document_id": in.DocumentID} {
		if value != "" {
			metadata = append(metadata, name+" "+base64.StdEncoding.EncodeToString([]byte(value)))
		}
	}
	opts = append(opts, tusHeader("Upload-Length", strconv.FormatInt(size, 10)))
	if len(metadata) > 0 {
		opts = append(opts, tusHeader("Upload-Metadata", strings.Join(metadata, ",")))
	}
	res, err := s.c.do(ctx, request{method: http.MethodPost, path: uploadsPath}, opts)
	if err != nil {
		return "", err
	}
	id := path.Base(res.header.Get("Location"))
	if id == "." || id == "/" {
		return "", s.c.unreadable(errors.New("it names no upload"))
	}
	return id, nil
}

// sendPiece sends a part of a file, and returns how much of the file the server has then. It does so
// even if sending failed, because some of the piece may have arrived.
func (s Media) sendPiece(ctx context.Context, id string, at int64, part []byte) (int64, error) {
	r := request{method: http.MethodPatch, path: uploadsPath + "/" + escape(id), body: piece(part)}
	body, err := r.prepare([]Option{tusHeader("Upload-Offset", strconv.FormatInt(at, 10))})
	if err != nil {
		return at, err
	}
	if _, err = s.c.attempt(ctx, r, body); err == nil {
		return at + int64(len(part)), nil
	}
	res, asked := s.c.do(ctx, request{method: http.MethodHead, path: uploadsPath + "/" + escape(id)}, []Option{tusHeader("", "")})
	if asked != nil {
		return at, err
	}
	there, unread := strconv.ParseInt(res.header.Get("Upload-Offset"), 10, 64)
	if unread != nil || there < at {
		return at, err
	}
	return there, err
}

// tusHeader sets a header of the protocol, beside the one that every request of it has.
func tusHeader(name, value string) Option {
	return func(r *request) {
		r.header.Set("Tus-Resumable", "1.0.0")
		if name != "" {
			r.header.Set(name, value)
		}
	}
}
