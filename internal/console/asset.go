package console

import (
	"bytes"
	"net/http"
	"time"

	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
)

// asset answers GET /assets/{file}: one of the files.
func (c *Console) asset(v *visit) error { return v.sendFile(v.r.PathValue("file")) }

func (c *Console) favicon(v *visit) error { return v.sendFile("favicon.svg") }

// sendFile answers with a file. A browser may cache it for ever if the address has the file's hash.
func (v *visit) sendFile(name string) error {
	f := v.console.files
	content, ok := f.content[name]
	if !ok {
		return &sheaf.Error{Kind: sheaf.NotFound, Text: "There is no such file."}
	}
	v.Header().Set("Cache-Control", "no-cache")
	if v.r.URL.Query().Get("v") == f.hash[name] {
		v.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	tag := f.hash[name]
	v.Header().Set("Vary", "Accept-Encoding")
	if front.AcceptsGzip(v.r.Header) {
		content, tag = f.compressed[name], tag+"-gz" // other bytes, another strong tag
		v.Header().Set("Content-Encoding", "gzip")
	}
	v.Header().Set("ETag", `"`+tag+`"`)
	http.ServeContent(v, v.r, name, time.Time{}, bytes.NewReader(content))
	return nil
}
