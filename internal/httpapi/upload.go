package httpapi

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
)

// Uploads follow the protocol tus 1.0 (https://tus.io/protocols/resumable-upload), so that its clients
// work as they are: core, creation, expiration and termination. What they need to know is in headers.

const (
	tusVersion    = "1.0.0"
	tusExtensions = "creation,expiration,termination"
	pieceType     = "application/offset+octet-stream"
	// maxMetadata bounds the header Upload-Metadata, in bytes.
	maxMetadata = 8 << 10
)

// tus is a route of the protocol: its version must be named, and is in the answer whatever becomes of
// the request.
func tus(method, path string, need []sheaf.Scope, do func(*exchange) (answer, error)) route {
	return route{method: method, path: path, need: need, do: func(x *exchange) (answer, error) {
		h := x.Header()
		h.Set("Tus-Resumable", tusVersion)
		h.Set("Cache-Control", "no-store")
		if got := x.Request.Header.Get("Tus-Resumable"); got != tusVersion {
			h.Set("Tus-Version", tusVersion)
			return answer{}, &sheaf.Error{Kind: sheaf.PreconditionFailed, Code: sheaf.CodePreconditionFailed,
				Text: "Tus-Resumable must be " + tusVersion + ", the version of the upload protocol that is spoken here: use a tus client, or send that header"}
		}
		return do(x)
	}}
}

// uploadOptions says what of the protocol is spoken here.
func (s *Server) uploadOptions(x *exchange) (answer, error) {
	h := x.Header()
	h.Set("Tus-Resumable", tusVersion)
	h.Set("Tus-Version", tusVersion)
	h.Set("Tus-Extension", tusExtensions)
	h.Set("Tus-Max-Size", strconv.FormatInt(s.App.MaxMedium(), 10))
	return answer{status: http.StatusNoContent}, nil
}

func (s *Server) createUpload(x *exchange) (answer, error) {
	in, err := x.readUpload()
	if err != nil {
		return answer{}, err
	}
	u, err := s.App.CreateUpload(x.Request.Context(), x.caller, in)
	if err != nil {
		return answer{}, err
	}
	x.tellExpiry(u)
	return answer{status: http.StatusCreated, location: "/api/v1/uploads/" + string(u.ID)}, nil
}

// readUpload reads what is announced: the length, and what the metadata says of the file.
func (x *exchange) readUpload() (in app.NewUpload, err error) {
	if x.Request.Header.Get("Upload-Defer-Length") != "" {
		return in, sheaf.Invalidf("Upload-Defer-Length is not possible here: send Upload-Length with the size of the file")
	}
	if x.Request.Header.Get("Upload-Concat") != "" {
		return in, sheaf.Invalidf("Upload-Concat is not possible here: send the file as one upload, piece after piece, without parallelUploads")
	}
	if in.Length, err = x.countHeader("Upload-Length"); err != nil {
		return in, err
	}
	metadata, err := parseMetadata(x.Request.Header.Get("Upload-Metadata"))
	if err != nil {
		return in, err
	}
	in.Filename = metadata["filename"]
	if text := metadata["document_id"]; text != "" {
		id, ok := sheaf.ParseUUID(text)
		if !ok {
			return in, sheaf.Invalidf("Upload-Metadata: document_id must be a UUID, or be left out for a file of no document")
		}
		in.DocumentID = (*sheaf.DocumentID)(&id)
	}
	return in, nil
}

// countHeader reads a header that is a number of bytes.
func (x *exchange) countHeader(name string) (int64, error) {
	text := x.Request.Header.Get(name)
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, sheaf.Invalidf("%s must be a number of bytes, not %q", name, sheaf.Clip(text))
	}
	return int64(n), nil
}

// parseMetadata reads pairs of a name and a value in base64: "filename YS5wbmc=,draft". Names that
// mean nothing here are passed over, as unknown fields are everywhere.
func parseMetadata(header string) (map[string]string, error) {
	if len(header) > maxMetadata {
		return nil, sheaf.Invalidf("Upload-Metadata has more than %d bytes: send filename and document_id", maxMetadata)
	}
	out := map[string]string{}
	for pair := range strings.SplitSeq(header, ",") {
		name, encoded, _ := strings.Cut(strings.TrimSpace(pair), " ")
		if name == "" {
			continue
		}
		value, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
		if err != nil || !utf8.Valid(value) || strings.IndexByte(string(value), 0) >= 0 {
			return nil, sheaf.Invalidf("Upload-Metadata: %s must be UTF-8 without NUL characters, in base64", sheaf.Clip(name))
		}
		out[name] = string(value)
	}
	return out, nil
}

// tellExpiry says until when the upload waits for its next piece.
func (x *exchange) tellExpiry(u sheaf.Upload) {
	if !u.Expires.IsZero() {
		x.Header().Set("Upload-Expires", u.Expires.UTC().Format(http.TimeFormat))
	}
}

// tellUpload answers how far the upload has come.
func (x *exchange) tellUpload(status int, u sheaf.Upload) answer {
	x.Header().Set("Upload-Offset", strconv.FormatInt(u.Offset, 10))
	if !u.Whole() {
		x.tellExpiry(u)
	}
	return answer{status: status}
}

func (s *Server) headUpload(x *exchange) (answer, error) {
	id, err := pathID[sheaf.MediumID](x)
	if err != nil {
		return answer{}, err
	}
	u, err := s.App.Upload(x.Request.Context(), x.caller, id)
	if err != nil {
		return answer{}, err
	}
	x.Header().Set("Upload-Length", strconv.FormatInt(u.Length, 10))
	return x.tellUpload(http.StatusOK, u), nil
}

func (s *Server) appendUpload(x *exchange) (answer, error) {
	id, err := pathID[sheaf.MediumID](x)
	if err != nil {
		return answer{}, err
	}
	if t := x.Request.Header.Get("Content-Type"); mediaType(t) != pieceType {
		return answer{}, &sheaf.Error{Kind: sheaf.UnsupportedType, Code: sheaf.CodeUnsupportedType,
			Text: "Content-Type must be " + pieceType + ": send a piece of the file itself, and say so"}
	}
	offset, err := x.countHeader("Upload-Offset")
	if err != nil {
		return answer{}, err
	}
	body, err := x.StreamBody()
	if err != nil {
		return answer{}, pieceError(err)
	}
	defer body.Release()
	u, err := s.App.AppendUpload(x.Request.Context(), x.caller, id, offset, app.Piece{Reader: body, Interrupt: body.Interrupt})
	if err != nil {
		return answer{}, pieceError(err)
	}
	return x.tellUpload(http.StatusNoContent, u), nil
}

// pieceError returns the error for a piece that did not arrive whole. The bytes that arrived are kept.
func pieceError(err error) error {
	var over *http.MaxBytesError
	var ours *sheaf.Error
	var refusal *front.Refusal
	switch {
	case errors.As(err, &ours) || errors.As(err, &refusal):
		return err
	case errors.As(err, &over):
		return &sheaf.Error{Kind: sheaf.TooLarge, Code: sheaf.CodeTooLarge,
			Text: "the body is larger than 10 MB (10,485,760 bytes): send pieces of that size at most (chunkSize), after a HEAD that says where to go on"}
	case errors.Is(err, io.ErrUnexpectedEOF) || isTimeout(err) || errors.Is(err, io.ErrClosedPipe):
		return sheaf.Invalidf("body: it did not arrive whole: ask for the upload by HEAD and go on from there")
	}
	return err
}

// isTimeout reports whether the client took too long, or was interrupted by another request.
func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

func (s *Server) deleteUpload(x *exchange) (answer, error) {
	id, err := pathID[sheaf.MediumID](x)
	if err != nil {
		return answer{}, err
	}
	return noContent(s.App.DeleteUpload(x.Request.Context(), x.caller, id))
}
