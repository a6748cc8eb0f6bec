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

// Uploads follow tus 1.0 (https://tus.io/protocols/resumable-upload) with the extensions creation, expiration
// and termination, so that existing tus clients work. All values are in headers.

const (
	tusVersion    = "1.0.0"
	tusExtensions = "creation,expiration,termination"
	pieceType     = "application/offset+octet-stream"
	// maxMetadata bounds the header Upload-Metadata, in bytes.
	maxMetadata = 8 << 10
)

// tus is the option of a route of the protocol. The request must name the version of the protocol, and every
// answer names it too, even that of a refused request.
func tus(r *route) {
	do := r.do
	r.do = func(x *exchange) (answer, error) {
		h := x.Header()
		h.Set("Tus-Resumable", tusVersion)
		h.Set("Cache-Control", "no-store")
		if got := x.Request.Header.Get("Tus-Resumable"); got != tusVersion {
			h.Set("Tus-Version", tusVersion)
			return answer{}, &sheaf.Error{Kind: sheaf.PreconditionFailed, Code: sheaf.CodePreconditionFailed,
				Text: "Tus-Resumable must be " + tusVersion + ", the version of the upload protocol that this service uses: use a tus client, or send that header"}
		}
		return do(x)
	}
}

// uploadOptions answers with the supported version and extensions of the protocol.
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
	u, err := s.App.CreateUpload(x.Request.Context(), x.Caller, in)
	if err != nil {
		return answer{}, err
	}
	x.setExpiry(u)
	return answer{status: http.StatusCreated, location: "/api/v1/uploads/" + string(u.ID)}, nil
}

// readUpload reads the length and the metadata of a new upload from the headers.
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
			return in, sheaf.Invalidf("Upload-Metadata: document_id must be a UUID, or be left out if the file belongs to no document")
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

// parseMetadata reads pairs of a name and a value in base64: "filename YS5wbmc=,draft". Callers ignore unknown
// names, as unknown fields are ignored everywhere.
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

// setExpiry sets the header with the time at which the upload expires, if it does.
func (x *exchange) setExpiry(u sheaf.Upload) {
	if !u.Expires.IsZero() {
		x.Header().Set("Upload-Expires", u.Expires.UTC().Format(http.TimeFormat))
	}
}

// uploadAnswer answers with the offset of the upload's next piece.
func (x *exchange) uploadAnswer(status int, u sheaf.Upload) answer {
	x.Header().Set("Upload-Offset", strconv.FormatInt(u.Offset, 10))
	if !u.Whole() {
		x.setExpiry(u)
	}
	return answer{status: status}
}

func (s *Server) headUpload(x *exchange) (answer, error) {
	id, err := pathID[sheaf.MediumID](x)
	if err != nil {
		return answer{}, err
	}
	u, err := s.App.Upload(x.Request.Context(), x.Caller, id)
	if err != nil {
		return answer{}, err
	}
	x.Header().Set("Upload-Length", strconv.FormatInt(u.Length, 10))
	return x.uploadAnswer(http.StatusOK, u), nil
}

func (s *Server) appendUpload(x *exchange) (answer, error) {
	id, err := pathID[sheaf.MediumID](x)
	if err != nil {
		return answer{}, err
	}
	if t := x.Request.Header.Get("Content-Type"); mediaType(t) != pieceType {
		return answer{}, &sheaf.Error{Kind: sheaf.UnsupportedType, Code: sheaf.CodeUnsupportedType,
			Text: "Content-Type must be " + pieceType + ": send a piece of the file with this type"}
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
	u, err := s.App.AppendUpload(x.Request.Context(), x.Caller, id, offset, app.Piece{Reader: body, Interrupt: body.Interrupt})
	if err != nil {
		return answer{}, pieceError(err)
	}
	return x.uploadAnswer(http.StatusNoContent, u), nil
}

// pieceError returns the error for a piece that did not arrive whole. The bytes that arrived are kept.
func pieceError(err error) error {
	var over *http.MaxBytesError
	var ours *sheaf.Error
	var refusal *front.Refusal
	var slow interface{ Timeout() bool } // the client sent too slowly, or another request interrupted it
	switch {
	case errors.As(err, &ours) || errors.As(err, &refusal):
		return err
	case errors.As(err, &over):
		return &sheaf.Error{Kind: sheaf.TooLarge, Code: sheaf.CodeTooLarge,
			Text: "the body is larger than 10 MB (10,485,760 bytes): send pieces of at most that size (chunkSize), after a HEAD for the offset"}
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &slow) && slow.Timeout() || errors.Is(err, io.ErrClosedPipe):
		return sheaf.Invalidf("body: it is incomplete: get the offset with HEAD and continue from there")
	}
	return err
}

func (s *Server) deleteUpload(x *exchange) (answer, error) {
	id, err := pathID[sheaf.MediumID](x)
	if err != nil {
		return answer{}, err
	}
	return noContent(s.App.DeleteUpload(x.Request.Context(), x.Caller, id))
}
