package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"sheaf.dev/internal/front"
	"sheaf.dev/internal/look"
	"sheaf.dev/internal/render"
	"sheaf.dev/internal/sheaf"
)

//go:embed static
var static embed.FS

// files are the scripts, styles and pictures, each under an address that changes with its content,
// so that a browser keeps it for good.
type files struct {
	content map[string][]byte // by name
	packed  map[string][]byte // the same, compressed
	hash    map[string]string // of the content, by name: the v= of its address
}

// readFiles reads the embedded files, with a hash of each in its address, the style sheet of rendered
// texts, and the icons.
func readFiles() *files {
	f := &files{content: map[string][]byte{}, packed: map[string][]byte{}, hash: map[string]string{}}
	entries, err := static.ReadDir("static")
	if err != nil {
		panic("console: " + err.Error()) // the folder is embedded
	}
	for _, e := range entries {
		b, err := static.ReadFile("static/" + e.Name())
		if err != nil {
			panic("console: " + err.Error())
		}
		f.add(e.Name(), b)
	}
	f.add("prose.css", []byte(render.CSS))
	f.add(iconFile, iconSheet())
	return f
}

// add takes a file in.
func (f *files) add(name string, content []byte) {
	sum := sha256.Sum256(content)
	f.content[name], f.packed[name], f.hash[name] = content, packed(content), hex.EncodeToString(sum[:6])
}

// address is where a page finds the file.
func (f *files) address(name string) string {
	if _, ok := f.content[name]; !ok {
		panic("console: no file " + name)
	}
	return "/assets/" + name + "?v=" + f.hash[name]
}

func (c *Console) asset(v *visit) error {
	if css, ok := look.File(v.r.PathValue("file"), ".look"); ok {
		return v.sendLook(css)
	}
	return v.sendFile(v.r.PathValue("file"))
}

// sendLook answers with the style of a branding, whose name says all of it.
func (v *visit) sendLook(css string) error {
	v.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeContent(v, v.r, "look.css", time.Time{}, strings.NewReader(css))
	return nil
}

func (c *Console) favicon(v *visit) error { return v.sendFile("favicon.svg") }

// sendFile answers with a file, which a browser may keep for ever under this address.
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
		content, tag = f.packed[name], tag+"-gz" // other bytes, another strong tag
		v.Header().Set("Content-Encoding", "gzip")
	}
	v.Header().Set("ETag", `"`+tag+`"`)
	http.ServeContent(v, v.r, name, time.Time{}, bytes.NewReader(content))
	return nil
}
