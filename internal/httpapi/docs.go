package httpapi

import (
	"bytes"
	"compress/gzip"
	"embed"
	"io"
	"net/http"
	"strconv"
	"sync"

	"sheaf.dev/internal/front"
)

//go:embed openapi.yaml
var openAPIYAML []byte

//go:embed openapi.json
var openAPIJSON []byte

//go:embed docs
var docsFiles embed.FS

// OpenAPI returns the document that describes the API, in YAML. It must not be changed.
func OpenAPI() []byte { return openAPIYAML }

// docsPolicy allows the page only files and requests of this server. RapiDoc needs inline styles.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// asset is a file of the API reference, plain and compressed.
type asset struct {
	contentType string
	hash        string
	plain, gzip []byte
}

// docsAssets returns the files by their paths. The first request prepares them, so a server whose reference is
// not read needs no memory for them.
var docsAssets = sync.OnceValue(func() map[string]*asset {
	return map[string]*asset{
		"/openapi.yaml":        newAsset("application/yaml; charset=utf-8", openAPIYAML),
		"/openapi.json":        newAsset("application/json; charset=utf-8", openAPIJSON),
		"/docs":                newAsset("text/html; charset=utf-8", docsFile("index.html")),
		"/docs/docs.css":       newAsset("text/css; charset=utf-8", docsFile("docs.css")),
		"/docs/docs.js":        newAsset("text/javascript; charset=utf-8", docsFile("docs.js")),
		"/docs/rapidoc-min.js": newCompressedAsset("text/javascript; charset=utf-8", docsFile("static/rapidoc-min.js.gz")),
		"/docs/LICENSE":        newAsset("text/plain; charset=utf-8", docsFile("static/LICENSE.rapidoc")),
	}
})

// docsFile returns an embedded file of the reference.
func docsFile(name string) []byte {
	b, err := docsFiles.ReadFile("docs/" + name)
	if err != nil {
		panic("httpapi: " + err.Error()) // it is embedded
	}
	return b
}

// newAsset returns the asset of a plain file.
func newAsset(contentType string, plain []byte) *asset {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	z.Write(plain)
	z.Close()
	return &asset{contentType, hashOf(plain), plain, b.Bytes()}
}

// newCompressedAsset returns the asset of a file that is embedded compressed.
func newCompressedAsset(contentType string, compressed []byte) *asset {
	var plain []byte
	z, err := gzip.NewReader(bytes.NewReader(compressed))
	if err == nil {
		plain, err = io.ReadAll(z)
	}
	if err != nil {
		panic("httpapi: " + err.Error()) // it is embedded
	}
	return &asset{contentType, hashOf(plain), plain, compressed}
}

// serveDocs answers with a file of the reference. It needs no key.
func (x *exchange) serveDocs() {
	x.Counted = x.server.docs
	a, ok := docsAssets()[x.Request.URL.Path]
	if !ok {
		x.fail(x.noSuchRoute())
		return
	}
	if !x.IsRead() {
		x.notAllowed("GET, HEAD")
		return
	}
	h := x.Header()
	body, tag := a.plain, `"`+a.hash+`"`
	if front.AcceptsGzip(x.Request.Header) {
		// A strong tag names these bytes, so the compressed ones need their own.
		body, tag = a.gzip, `"`+a.hash+`-gz"`
		h.Set("Content-Encoding", "gzip")
	}
	h["Etag"] = []string{tag}
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Security-Policy", docsPolicy)
	h.Set("Referrer-Policy", "no-referrer")
	if front.HasTag(x.Request.Header, tag) {
		h.Del("Content-Encoding")
		x.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", a.contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	x.WriteHeader(http.StatusOK)
	x.Write(body)
}
