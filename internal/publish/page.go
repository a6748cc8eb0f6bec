package publish

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"time"

	"sheaf.dev/internal/render"
	"sheaf.dev/internal/sheaf"
)

const (
	htmlType     = "text/html; charset=utf-8"
	markdownType = "text/markdown; charset=utf-8"
)

//go:embed pages
var pageFiles embed.FS

//go:embed static/publish.css
var pageStyle []byte

// layout is what stands around every page.
type layout struct {
	Title       string
	Description string
	URL         string // of the page, for link previews; empty where it is nobody's to pass on
	Listed      bool   // search engines may list it
	Style       string // the address of the style sheet
	Bare        bool   // nothing but the page itself
	Home        string // the address of the share, where the page stands below it
	Project     string // the name of the project that is shared; empty: it is a document
	Query       string // what is looked for
	Look        pageLook
	Data        any // of the page
}

// readPages parses the templates. One that is broken ends the program at its start.
func readPages() *template.Template {
	return template.Must(template.New("").Option("missingkey=error").Funcs(template.FuncMap{"day": day}).ParseFS(pageFiles, "pages/*.html"))
}

// day shows a day to people, wherever they are.
func day(t time.Time) template.HTML {
	t = t.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s">%s</time>`, t.Format(sheaf.TimeFormat), t.Format("2 January 2006"))) // #nosec G203 -- nothing in it is anybody's text
}

// page makes a page of the template with that name.
func (v *visit) page(name string, l layout, data any) ([]byte, error) {
	l.Style, l.Data = v.publisher.base+v.publisher.styles.address, data
	var b bytes.Buffer
	for _, part := range []string{"begin", name, "end"} {
		if err := v.publisher.pages.ExecuteTemplate(&b, part, l); err != nil {
			return nil, fmt.Errorf("make the page %s of a share: %w", name, err)
		}
	}
	return b.Bytes(), nil
}

// home is the address of the share.
func (v *visit) home() string { return v.publisher.base + sheaf.SharePath + v.share.Token }

// styles are the style sheet of the pages and of rendered texts in one file, whose address changes with
// its content, so that a browser keeps it for good.
type styles struct {
	content       []byte
	name, address string
}

func readStyles() styles {
	content := append(bytes.Clone(pageStyle), render.CSS...)
	sum := sha256.Sum256(content)
	name := hex.EncodeToString(sum[:8]) + ".css"
	return styles{content: content, name: name, address: "/share-assets/" + name}
}

// style answers with the style sheet.
func (v *visit) style() error {
	s := &v.publisher.styles
	if v.r.PathValue("file") != s.name {
		return errNothing
	}
	v.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	v.Header().Set("Content-Type", "text/css; charset=utf-8")
	http.ServeContent(v, v.r, s.name, time.Time{}, bytes.NewReader(s.content))
	return nil
}
